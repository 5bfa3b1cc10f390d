//! The broker as a daemon: sockets, tasks and the clock around the core.
//!
//! The paper's server thread is the loop in [`serve`]: it accepts, gives each event to the core and does what
//! the core says. Each connection has one client task, which reads requests and writes answers side by side.
//! The device has one transceiver task. Nobody here decides anything that the core could.
//!
//! Invariant: the loop waits for nothing but events. All it does is put things into channels: those are
//! unbounded by type and bounded by the core, which counts what is in them.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::device::{Connect, transceive};
use crate::error::{Error, LinkFault};
use crate::limits::{
    ACCEPT_PAUSE, ANSWERS_PER_CONNECTION_MAX, EVENTS_MAX, EVENTS_PER_TURN, FLUSH_MAX, PDUS_PER_WRITE,
    START_MAX, TICK,
};
use crate::listen::{Endpoint, Listener};
use crate::stats::Stats;
use crate::stream::{End, Framing, Incoming, write, write_group};
use crate::wire::{Connection, Pdu};
use crate::{Action, Broker, Event, Settings};

/// What a broker is told at its start.
pub struct Config {
    /// Where applications connect.
    pub endpoint: Endpoint,
    /// The device.
    pub device: Arc<dyn Connect>,
    /// Limits that are chosen.
    pub settings: Settings,
    /// Called once, when applications can connect and the device is open.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The broker ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Shares a device until `stop`: then answers what is at the device, refuses what waits, and returns.
///
/// # Errors
/// When the endpoint cannot be used, or the device cannot be opened in [`START_MAX`] at the start. A device
/// that is lost later is no error: it is opened again.
pub async fn serve(config: Config) -> Result<Stats, Error> {
    let Config { endpoint, device, settings, ready, mut stop } = config;
    let listener = Listener::open(endpoint)?;
    let (events, mut incoming) = mpsc::channel(EVENTS_MAX);
    let mut server = Server::new(device, settings, events);
    let mut ready = Some(ready);
    let mut stopping = false;
    let mut accept_after = Instant::now();
    let mut tick_at = Instant::now();
    let mut batch = Vec::with_capacity(EVENTS_PER_TURN);
    while !server.stopped {
        tokio::select! {
            () = &mut stop, if !stopping => {
                stopping = true;
                server.take(Event::Stop, None);
            }
            _ = incoming.recv_many(&mut batch, EVENTS_PER_TURN) => {
                for event in batch.drain(..) {
                    server.take(event, None);
                }
            }
            () = sleep_until(tick_at), if server.broker.needs_ticks() => {
                tick_at = Instant::now() + TICK;
                server.take(Event::Tick, None);
            }
            stream = accept(&listener, accept_after) => match stream {
                Ok(stream) => server.connected(stream),
                // The other end is gone, or a resource is short: this connection's loss, not the broker's.
                Err(_) => accept_after = Instant::now() + ACCEPT_PAUSE,
            },
            Some(ended) = server.tasks.join_next() => pass_panic(ended),
        }
        if server.broker.is_open() {
            if let Some(ready) = ready.take() {
                ready();
            }
        } else if ready.is_some() && server.started.elapsed() > START_MAX {
            let fault = server.open_fault.unwrap_or(LinkFault::OpenTimeout);
            return Err(Error::DeviceClosed { device: server.device.name(), fault });
        }
    }
    drop(incoming); // so that no client task waits for the core while it writes its last answers
    let mut tasks = server.tasks;
    let flushed = async {
        while let Some(ended) = tasks.join_next().await {
            pass_panic(ended);
        }
    };
    // Who does not read its last answers in this time does not get them.
    let _ = timeout(FLUSH_MAX, flushed).await;
    Ok(server.broker.stats().clone())
}

async fn accept(listener: &Listener, after: Instant) -> std::io::Result<UnixStream> {
    sleep_until(after).await;
    listener.accept().await
}

/// A task that panicked is a bug of ours and ends the process; one that was aborted is not.
fn pass_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

/// The core and what its actions act on.
struct Server {
    broker: Broker,
    started: Instant,
    clients: HashMap<Connection, Client>,
    device: Arc<dyn Connect>,
    transceiver: Option<Transceiver>,
    open_fault: Option<LinkFault>,
    tasks: JoinSet<()>,
    events: mpsc::Sender<Event>,
    actions: Vec<Action>,
    stopped: bool,
}

/// The loop's end of a client task. Dropping it lets the task write what it has and end.
struct Client {
    answers: mpsc::UnboundedSender<Pdu>,
    task: AbortHandle,
    _open: oneshot::Sender<()>,
}

/// The loop's end of the transceiver.
struct Transceiver {
    requests: mpsc::UnboundedSender<Pdu>,
    task: AbortHandle,
}

impl Server {
    fn new(device: Arc<dyn Connect>, settings: Settings, events: mpsc::Sender<Event>) -> Server {
        Server {
            broker: Broker::new(settings),
            started: Instant::now(),
            clients: HashMap::new(),
            device,
            transceiver: None,
            open_fault: None,
            tasks: JoinSet::new(),
            events,
            actions: Vec::new(),
            stopped: false,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn connected(&mut self, stream: UnixStream) {
        // A peer whose credentials cannot be had has hung up already.
        if let Ok(credentials) = stream.peer_cred() {
            self.take(Event::Connected { user: credentials.uid() }, Some(stream));
        }
    }

    /// Gives one event to the core and does what it says. `stream` is the new connection of a `Connected`.
    fn take(&mut self, event: Event, mut stream: Option<UnixStream>) {
        if let Event::DeviceLost { fault, .. } = &event {
            self.open_fault = Some(*fault);
        }
        let mut actions = std::mem::take(&mut self.actions);
        self.broker.step(self.now(), event, &mut actions);
        for action in actions.drain(..) {
            self.perform(action, &mut stream);
        }
        self.actions = actions;
    }

    fn perform(&mut self, action: Action, stream: &mut Option<UnixStream>) {
        match action {
            Action::Admit { connection } => {
                let stream = stream.take().expect("only a new connection is admitted");
                self.admit(connection, stream);
            }
            Action::Refuse { notice } => {
                let stream = stream.take().expect("only a new connection is refused");
                // A new socket has room for a header; if not, the application sees it closed.
                let _ = stream.into_std().and_then(|mut stream| stream.write_all(notice.bytes()));
            }
            Action::Answer { connection, answer } => {
                let client = self.clients.get(&connection).expect("the core answers open connections");
                // A task that ended has sent a `Disconnected`, which is on its way.
                let _ = client.answers.send(answer);
            }
            Action::Close { connection, flush } => {
                let client = self.clients.remove(&connection).expect("the core closes open connections");
                if !flush {
                    client.task.abort();
                }
            }
            Action::OpenDevice { link } => {
                let (requests, receiver) = mpsc::unbounded_channel();
                let device = self.device.clone();
                let task = self.tasks.spawn(transceive(device, link, receiver, self.events.clone()));
                self.transceiver = Some(Transceiver { requests, task });
            }
            Action::CloseDevice => {
                if let Some(transceiver) = self.transceiver.take() {
                    transceiver.task.abort();
                }
            }
            Action::Transmit { request } => {
                let transceiver = self.transceiver.as_ref().expect("the core sends to an open device");
                // A transceiver that ended has sent a `DeviceLost`, which is on its way.
                let _ = transceiver.requests.send(request);
            }
            Action::Stopped => self.stopped = true,
        }
    }

    fn admit(&mut self, connection: Connection, stream: UnixStream) {
        let (answers, receiver) = mpsc::unbounded_channel();
        let (open, closed) = oneshot::channel();
        let task = self.tasks.spawn(client(stream, connection, receiver, closed, self.events.clone()));
        self.clients.insert(connection, Client { answers, task, _open: open });
    }
}

/// The client task of one connection.
async fn client(
    mut stream: UnixStream,
    connection: Connection,
    answers: mpsc::UnboundedReceiver<Pdu>,
    closed: oneshot::Receiver<()>,
    events: mpsc::Sender<Event>,
) {
    let (reader, mut writer) = stream.split();
    let mut requests = Incoming::new(reader, Framing::Plain);
    // Who leaves its answers unread is not read from either: each request takes a slot until its answer is
    // written.
    let slots = Semaphore::new(ANSWERS_PER_CONNECTION_MAX);
    tokio::select! {
        () = read_requests(&mut requests, connection, &slots, &events) => {}
        () = write_answers(&mut writer, connection, answers, &slots, &events) => {}
        () = async { let _ = closed.await; sleep(FLUSH_MAX).await } => {}
    }
}

/// Reads until the application hangs up or is not understood, tells the core, and waits to be ended by it.
async fn read_requests<R: tokio::io::AsyncRead + Unpin>(
    requests: &mut Incoming<R>,
    connection: Connection,
    slots: &Semaphore,
    events: &mpsc::Sender<Event>,
) {
    loop {
        let (event, last) = match requests.next().await {
            Ok(request) => (Event::Requested { connection, request }, false),
            Err(End::Broken(broken)) => (Event::Garbled { connection, broken }, true),
            Err(End::HungUp | End::Io(_)) => (Event::Disconnected { connection }, true),
        };
        slots.acquire().await.expect("the slots are never closed").forget();
        if events.send(event).await.is_err() || last {
            return pending().await;
        }
    }
}

/// Writes until the core has closed the connection and all that it had answered before is written.
async fn write_answers<W: tokio::io::AsyncWrite + Unpin>(
    writer: &mut W,
    connection: Connection,
    mut answers: mpsc::UnboundedReceiver<Pdu>,
    slots: &Semaphore,
    events: &mpsc::Sender<Event>,
) {
    let mut batch = Vec::new();
    while answers.recv_many(&mut batch, PDUS_PER_WRITE).await > 0 {
        while !batch.is_empty() {
            let group = write_group(&batch);
            if write(writer, &batch[..group], Framing::Plain).await.is_err() {
                let _ = events.send(Event::Disconnected { connection }).await;
                return pending().await;
            }
            batch.drain(..group);
            slots.add_permits(group);
            // The core may have ended; the rest is written all the same.
            let _ = events.send(Event::Written { connection, answers: group }).await;
        }
    }
}
