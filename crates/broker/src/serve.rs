//! The broker as a daemon: sockets and the clock around the core.
//!
//! The paper's server thread is the one loop here. It waits for sockets, gives what they bring to the core, and does what
//! the core says; nobody here decides anything that the core could. The client thread of the paper is an
//! [`Application`], its transceiver thread a [`Transceiver`]: roles of this loop, so that a request that finds the
//! device idle meets no other thread on its way.
//!
//! Invariant: the loop waits for nothing but its sockets and the clock.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use tokio::sync::oneshot;

use crate::application::Application;
use crate::device::{Choice, Device, Driver, OpenBus, Pool, Transceiver};
use crate::engine::Engine;
use crate::error::{Error, LinkFault};
use crate::journal::{Entry, Journal, Reader};
use crate::limits::{
    ACCEPT_PAUSE, ACCEPTS_PER_TURN, BUSY_MS_MAX, CROWDED_MS, FLUSH_MAX, HEADER_BYTES, READ_BYTES,
    RESTED_PER_TURN, TICK, TURN_BYTES,
};
use crate::listen::{Bound, Endpoint};
use crate::memory;
use crate::orders::{Order, Orders, control};
use crate::peer::Peer;
use crate::queue::Piece;
use crate::rounds::Rounds;
use crate::stats::Stats;
use crate::watch::{self, About, Happened, Watch};
use crate::wiped::Wiped;
use crate::wire::{Connection, Head, Pdu, Status};
use crate::{Action, Broker, Event, Link, Settings};

/// What a broker is told at its start.
pub struct Config {
    /// Where applications connect.
    pub endpoint: Endpoint,
    /// The device: of several, the first that can be opened. After a loss they are tried again from the first on.
    pub devices: Vec<Choice>,
    /// Limits that are chosen.
    pub settings: Settings,
    /// Called once, when applications can connect and the device is open.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The broker ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Shares a device until `stop`: then answers what is at the device, refuses what waits, and returns. Must be called
/// within a tokio runtime; the broker's loop has a thread of its own.
///
/// # Errors
/// When the endpoint cannot be used, or the device cannot be opened in [`Settings::start_max`] at the start. A device
/// that is lost later is no error: it is opened again.
///
/// # Panics
/// When there is no device, or a setting is over its limit.
pub async fn serve(config: Config) -> Result<Stats, Error> {
    let (_, orders) = control()?;
    serve_operated(config, orders, Box::new(|_| {})).await
}

/// The same for an operator, who has the other end of `orders`, and reads what happens.
///
/// # Errors
/// As [`serve`].
///
/// # Panics
/// As [`serve`].
pub async fn serve_operated(config: Config, orders: Orders, journal: Reader) -> Result<Stats, Error> {
    let Config { endpoint, devices, settings, ready, stop } = config;
    let bound = Bound::open(endpoint)?;
    memory::keep();
    let stops = orders.stops_at_end();
    let mut server = Server::new(bound, devices, settings, ready, orders, Journal::new(journal))?;
    let (ended, end) = oneshot::channel();
    let spawned = thread::Builder::new().name("broker".into()).spawn(move || {
        let result = server.run();
        drop(server);
        // Who does not wait any more has asked for the end.
        let _ = ended.send(result);
    });
    let loop_thread = spawned.map_err(Error::Loop)?;
    let mut end = end;
    let result = tokio::select! {
        result = &mut end => result,
        () = stop => {
            drop(stops);
            end.await
        }
    };
    // The loop sends unless it panics, and that is a bug of ours which ends the process.
    result.unwrap_or_else(|_| std::panic::resume_unwind(loop_thread.join().expect_err("it panicked")))
}

fn cannot_wait(errno: Errno) -> Error {
    Error::Loop(errno.into())
}

fn refuse(mut stream: UnixStream, notice: &Pdu) {
    // A new socket has room for a header; if not, the application sees it closed.
    let _ = stream.write_all(notice.bytes());
}

fn spare_descriptor() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Whether descriptors are short, this process's or the system's.
fn is_short(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

fn touch(touched: &mut VecDeque<Connection>, application: &mut Application) {
    if !std::mem::replace(&mut application.is_touched, true) {
        touched.push_back(application.connection);
    }
}

/// A device of the list, and the threads that it has from its first opening on.
struct Place {
    device: Device,
    transfer_bytes_max: usize,
    /// Of a device on a bus.
    driver: Option<Driver>,
    /// Of a device in this process.
    pool: Option<Pool>,
}

/// The open device.
enum Opened {
    Stream(Box<Transceiver>),
    Inline(Link),
    Bus,
    Lanes(Link),
}

/// The core and what its actions act on.
struct Server {
    broker: Broker,
    started: Instant,
    watch: Watch,
    bound: Bound,
    orders: Orders,
    journal: Journal,
    /// Given up for a moment when descriptors are short, so that who connects is told so.
    spare: Option<File>,
    places: Vec<Place>,
    /// The one that was opened last.
    choice: usize,
    opened: Option<Opened>,
    device_interest: EventFlags,
    open_fault: Option<LinkFault>,
    applications: HashMap<Connection, Application>,
    /// Those that something can be read from or written to, in the order in which that is done.
    ready_ones: Rounds<Connection, EventFlags>,
    /// Those of which something changed, each once, by their own word.
    touched: VecDeque<Connection>,
    /// Those that are closed and not gone, by the time at which they go anyway.
    leaving: BTreeSet<(Duration, Connection)>,
    /// Those that are not read from until a time, because they asked for too much.
    resting: BTreeSet<(Duration, Connection)>,
    /// Events that follow from what was done, before anything else is waited for.
    events: Vec<Event>,
    actions: Vec<Action>,
    buffer: Wiped,
    ready: Option<Box<dyn FnOnce() + Send>>,
    start_max: Duration,
    accepts_from: Option<Duration>,
    tick_at: Duration,
    is_stopped: bool,
    /// Who was read from last, and until when it is worth looking out for more before the loop sleeps.
    attended: Option<Connection>,
    attentive_until: Duration,
}

impl Server {
    fn new(
        bound: Bound,
        devices: Vec<Choice>,
        settings: Settings,
        ready: Box<dyn FnOnce() + Send>,
        orders: Orders,
        journal: Journal,
    ) -> Result<Server, Error> {
        let watch = Watch::new().map_err(cannot_wait)?;
        watch.add(orders.bell(), About::Orders, EventFlags::IN).map_err(cannot_wait)?;
        watch.add(&bound, About::Listener, EventFlags::IN).map_err(cannot_wait)?;
        let fits = devices.iter().map(|choice| choice.fit).collect();
        let place = |Choice { device, fit }| {
            let transfer_bytes_max = settings.fitting(fit).transfer_bytes_max;
            Place { device, transfer_bytes_max, driver: None, pool: None }
        };
        Ok(Server {
            start_max: settings.start_max,
            broker: Broker::among(settings, fits),
            started: Instant::now(),
            watch,
            bound,
            orders,
            journal,
            spare: spare_descriptor(),
            places: devices.into_iter().map(place).collect(),
            choice: 0,
            opened: None,
            device_interest: EventFlags::empty(),
            open_fault: None,
            applications: HashMap::new(),
            ready_ones: Rounds::default(),
            touched: VecDeque::new(),
            leaving: BTreeSet::new(),
            resting: BTreeSet::new(),
            events: Vec::new(),
            actions: Vec::new(),
            buffer: Wiped::new(vec![0; READ_BYTES]),
            ready: Some(ready),
            accepts_from: None,
            tick_at: Duration::ZERO,
            is_stopped: false,
            attended: None,
            attentive_until: Duration::ZERO,
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn run(&mut self) -> Result<Stats, Error> {
        let mut happened = Happened::new();
        while !(self.is_stopped && self.leaving.is_empty()) {
            let is_idle = self.ready_ones.is_idle() && !self.is_attentive() && !self.has_heard();
            let pause = if is_idle { self.timeout() } else { Some(Duration::ZERO) };
            self.watch.wait(pause, &mut happened).map_err(cannot_wait)?;
            for (about, flags) in happened.list.drain(..) {
                self.hear(about, flags);
            }
            self.hear_lanes();
            self.serve_some();
            self.pass_time();
            self.tidy_up();
            self.report_ready()?;
        }
        Ok(self.broker.stats().clone())
    }

    /// Whether the loop looks out instead of sleeping, and lets others have the processor meanwhile.
    fn is_attentive(&self) -> bool {
        let is_attentive = self.attentive_until > self.now();
        if is_attentive {
            thread::yield_now();
        }
        is_attentive
    }

    /// Somebody asked for something. Who asks twice and nobody else between is likely to ask again soon; several keep the loop
    /// awake by themselves.
    fn attend(&mut self, connection: Connection) {
        let is_alone = self.attended.replace(connection) == Some(connection);
        self.attentive_until = if is_alone { self.now() + self.broker.attention() } else { Duration::ZERO };
    }

    /// Whether a lane has said something that was not heard. If not, it wakes the loop when it does.
    fn has_heard(&mut self) -> bool {
        let mut pools = self.places.iter_mut().filter_map(|place| place.pool.as_mut());
        pools.any(|pool| pool.hear_last(&mut self.events))
    }

    /// What the lanes have said, which wake the loop only when it waits.
    fn hear_lanes(&mut self) {
        for pool in self.places.iter_mut().filter_map(|place| place.pool.as_mut()) {
            pool.hear(&mut self.events);
        }
        self.settle();
        self.tidy_up();
    }

    /// How long the loop may sleep.
    fn timeout(&self) -> Option<Duration> {
        let tick_at = self.needs_ticks().then_some(self.tick_at);
        let rests_until = self.resting.first().map(|(until, _)| *until);
        let times = [rests_until, self.accepts_from, self.broker.ends_at(), self.journal.says_at()];
        let next = tick_at.into_iter().chain(times.into_iter().flatten()).min();
        next.map(|at| at.saturating_sub(self.now()))
    }

    fn needs_ticks(&self) -> bool {
        self.broker.needs_ticks() || !self.leaving.is_empty() || self.ready.is_some()
    }

    /// Something can be done with one of those that are looked at.
    fn hear(&mut self, about: About, flags: EventFlags) {
        match about {
            About::Orders => self.obey(),
            About::Listener => self.accept(),
            About::Device => {
                for place in &mut self.places {
                    if let Some(driver) = &place.driver {
                        driver.hear(&mut self.events);
                    }
                    if let Some(pool) = &place.pool {
                        pool.wake();
                    }
                }
                if let Some(Opened::Stream(transceiver)) = &mut self.opened {
                    if flags.contains(EventFlags::OUT) {
                        transceiver.write(&mut self.events);
                    }
                    if flags.intersects(!EventFlags::OUT) {
                        transceiver.read(&mut self.buffer, &mut self.events);
                    }
                }
            }
            About::Connection(connection) => *self.ready_ones.enter(connection) = flags,
        }
        self.settle();
        self.tidy_up();
    }

    fn obey(&mut self) {
        for order in self.orders.take() {
            match order {
                Order::Set(settings) => {
                    self.events.push(Event::Set { settings });
                    self.journal.say(Entry::Set);
                }
                // Who asked may be gone.
                Order::Status(asks) => drop(asks.send(self.broker.stats().exposition(&self.broker.gauges()))),
                Order::Stop => {
                    self.events.push(Event::Stop);
                    self.journal.say(Entry::Draining);
                }
            }
        }
    }

    /// Reads from applications in turn, those that send little first, and no longer than until it is worth a look whether
    /// there are others. Each is done with before the next one is read, so that whoever waits for its answer works
    /// meanwhile.
    fn serve_some(&mut self) {
        let mut cost_bytes = 0;
        while cost_bytes < TURN_BYTES
            && let Some(connection) = self.ready_ones.turn()
        {
            let flags = self.ready_ones.get(connection).map_or(EventFlags::empty(), |flags| *flags);
            let (mut read_bytes, mut has_asked) = (0, false);
            if let Some(application) = self.applications.get_mut(&connection) {
                let taken = application.taken();
                touch(&mut self.touched, application);
                // What is to be written is written when all has been done that follows.
                if flags.intersects(!EventFlags::OUT) {
                    let has_hung_up = flags.contains(EventFlags::HUP);
                    let bytes_max = application.read_bytes_max(self.broker.unfinished());
                    if bytes_max == 0 && application.wants_more() {
                        let until = application.rest(self.started.elapsed(), CROWDED_MS);
                        self.resting.insert((until, connection));
                    }
                    let buffer = &mut self.buffer[..bytes_max];
                    read_bytes = application.read(buffer, has_hung_up, &mut self.events);
                }
                has_asked = application.taken() > taken;
            }
            if self.applications.contains_key(&connection) {
                self.ready_ones.served(connection, read_bytes.max(HEADER_BYTES), true);
            } else {
                self.ready_ones.remove(connection);
            }
            cost_bytes += read_bytes.max(HEADER_BYTES);
            self.settle();
            self.tidy_up();
            if has_asked {
                self.attend(connection);
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            let stream = match self.bound.accept() {
                Ok(stream) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if is_short(&error) && self.turn_away() => continue,
                // A resource is short: those who wait are taken when there may be some again.
                Err(_) => {
                    self.accepts_from = Some(self.now() + ACCEPT_PAUSE);
                    self.watch.remove(&self.bound);
                    return;
                }
            };
            match Peer::of(&stream) {
                Ok(Some(Peer { user, groups })) => {
                    self.take(Event::Connected { user, groups }, Some(stream));
                    self.settle();
                }
                Ok(None) => {
                    self.events.push(Event::TurnedAway);
                    self.settle();
                    self.refuse(stream, Status::UnknownUser);
                }
                // A peer whose credentials cannot be had has hung up already.
                Err(_) => {}
            }
        }
    }

    /// Tells whoever waits first that there is no descriptor for it, with the one that is kept for this.
    fn turn_away(&mut self) -> bool {
        if self.spare.take().is_none() {
            return false;
        }
        let accepted = self.bound.accept();
        let is_told = accepted.is_ok();
        if let Ok(stream) = accepted {
            refuse(stream, &Pdu::empty(Head::default().answer(Status::ConnectionsFull)));
            self.journal.refused(self.now(), "descriptors");
            self.events.push(Event::TurnedAway);
            self.settle();
        }
        self.spare = spare_descriptor();
        is_told
    }

    fn refuse(&mut self, stream: UnixStream, status: Status) {
        self.journal.refused(self.now(), status.name());
        refuse(stream, &Pdu::empty(Head::default().answer(status)));
    }

    /// Gives the core all that follows from what was done, until nothing does.
    fn settle(&mut self) {
        while !self.events.is_empty() {
            for event in std::mem::take(&mut self.events) {
                self.take(event, None);
            }
        }
    }

    /// Gives one event to the core and does what it says. `stream` is the new connection of a `Connected`.
    fn take(&mut self, event: Event, mut stream: Option<UnixStream>) {
        match &event {
            Event::DeviceLost { fault, .. } => {
                self.open_fault = Some(*fault);
                let name = || self.places[self.choice].device.name();
                self.journal.device_lost(self.choice, name, *fault);
            }
            Event::DeviceOpened { .. } => self.journal.device_opened(self.places[self.choice].device.name()),
            _ => {}
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
            Action::Admit { connection, user } => {
                let stream = stream.take().expect("only a new connection is admitted");
                self.admit(connection, user, stream);
            }
            Action::Refuse { notice } => {
                let reason = notice.status().map_or("connection-refused", Status::name);
                self.journal.refused(self.now(), reason);
                refuse(stream.take().expect("only a new connection is refused"), &notice);
            }
            Action::Answer { connection, answer } => {
                let application = self.applications.get_mut(&connection);
                let application = application.expect("the core answers open connections");
                if answer.status() == Ok(Status::Busy) && !application.rests() {
                    let until = application.rest(self.started.elapsed(), answer.head().time_ms);
                    self.resting.insert((until, connection));
                }
                application.answer(answer);
                touch(&mut self.touched, application);
            }
            Action::Close { connection, flush } => {
                let now = self.now();
                let application = self.applications.get_mut(&connection);
                let application = application.expect("the core closes open connections");
                let lingers = flush && application.may_linger(self.broker.unfinished());
                let until = if lingers { now + FLUSH_MAX } else { Duration::ZERO };
                application.close(until);
                application.tell(self.broker.unfinished());
                touch(&mut self.touched, application);
                self.leaving.insert((until, connection));
            }
            Action::OpenDevice { link, choice } => self.open_device(link, choice),
            Action::CloseDevice => self.close_device(),
            Action::Transmit { pieces } => self.transmit(pieces),
            Action::Stopped => self.is_stopped = true,
        }
    }

    fn transmit(&mut self, pieces: Vec<Piece>) {
        let place = &mut self.places[self.choice];
        match (&mut self.opened, &mut place.device) {
            (Some(Opened::Stream(transceiver)), _) => {
                transceiver.transmit(pieces);
                transceiver.write(&mut self.events);
            }
            (Some(Opened::Bus), _) => {
                place.driver.as_ref().expect("an open bus has a thread").transmit(pieces);
            }
            (&mut Some(Opened::Inline(link)), Device::Inline(device)) => {
                self.events.push(Event::DeviceTook { link });
                for piece in pieces {
                    let answer = device.execute(&piece.request);
                    self.events.extend(answer.map(|answer| Event::DeviceAnswered { link, answer }));
                }
            }
            (&mut Some(Opened::Lanes(link)), _) => {
                self.events.push(Event::DeviceTook { link });
                let pool = place.pool.as_mut().expect("open lanes have threads");
                for piece in pieces {
                    pool.take(piece.request, &mut self.events);
                }
            }
            _ => unreachable!("the core sends to an open device"),
        }
    }

    fn admit(&mut self, connection: Connection, user: u32, stream: UnixStream) {
        let mut application = Application::new(connection, user, stream.into());
        application.interest = application.wants();
        match self.watch.enter(user, connection, &application, application.interest) {
            Ok(seat) => application.seat = Some(seat),
            // Watches are short: this connection's loss, not the broker's.
            Err(_) => self.events.push(Event::Disconnected { connection }),
        }
        self.applications.insert(connection, application);
    }

    fn open_device(&mut self, link: Link, choice: usize) {
        let now = self.now();
        let before = std::mem::replace(&mut self.choice, choice);
        if let Some(driver) = self.places[before].driver.as_ref().filter(|_| before != choice) {
            driver.give_up();
        }
        let opened = match &mut self.places[choice].device {
            Device::Inline(device) => {
                device.opened();
                self.events.push(Event::DeviceOpened { link, info: device.info() });
                Ok(Opened::Inline(link))
            }
            Device::Lanes { engines, .. } => {
                let engines = std::mem::take(engines);
                self.start_lanes(engines, link).map_err(|error| LinkFault::Io(error.kind()))
            }
            Device::Bus(device) => {
                let device = device.clone();
                self.drive(device, link).map_err(|error| LinkFault::Io(error.kind()))
            }
            Device::Stream(device) => {
                let opened = Transceiver::open(&**device, link, now);
                opened.map(|transceiver| Opened::Stream(Box::new(transceiver)))
            }
        };
        let watched = opened.and_then(|opened| {
            if let Opened::Stream(transceiver) = &opened {
                self.device_interest = EventFlags::IN | EventFlags::OUT;
                let added = self.watch.add(&**transceiver, About::Device, self.device_interest);
                added.map_err(|errno| LinkFault::Io(io::Error::from(errno).kind()))?;
            }
            Ok(opened)
        });
        match watched {
            Ok(opened) => self.opened = Some(opened),
            Err(fault) => self.events.push(Event::DeviceLost { link, fault }),
        }
    }

    /// Opens a bus, by its thread.
    fn drive(&mut self, device: Arc<dyn OpenBus>, link: Link) -> io::Result<Opened> {
        let place = &mut self.places[self.choice];
        let driver = match place.driver.take() {
            Some(driver) => driver,
            None => {
                let driver = Driver::start(device, place.transfer_bytes_max)?;
                self.watch.add(&driver, About::Device, EventFlags::IN)?;
                driver
            }
        };
        place.driver.insert(driver).open(link);
        Ok(Opened::Bus)
    }

    /// Opens a device of this process, whose threads are started once, with these engines.
    fn start_lanes(&mut self, mut engines: Vec<Box<dyn Engine>>, link: Link) -> io::Result<Opened> {
        let pool = match &mut self.places[self.choice].pool {
            Some(pool) => pool,
            fresh => {
                let here = engines.remove(0);
                let pool = Pool::start(here, engines)?;
                self.watch.add(&pool, About::Device, EventFlags::IN)?;
                fresh.insert(pool)
            }
        };
        let info = pool.open(link);
        self.events.push(Event::DeviceOpened { link, info });
        Ok(Opened::Lanes(link))
    }

    /// A stream's descriptor leaves epoll by itself when it is closed.
    fn close_device(&mut self) {
        if let (Some(Opened::Bus), Some(driver)) = (&self.opened, &self.places[self.choice].driver) {
            driver.close();
        }
        self.opened = None;
    }

    fn pass_time(&mut self) {
        let now = self.now();
        self.journal.pass_time(now);
        if self.accepts_from.is_some_and(|from| from <= now) {
            self.accepts_from = None;
            if self.watch.add(&self.bound, About::Listener, EventFlags::IN).is_err() {
                self.accepts_from = Some(now + ACCEPT_PAUSE);
            }
        }
        // A few at a time: thousands may have rested as long, and others are served in between.
        for _ in 0..RESTED_PER_TURN {
            let Some(&(_, connection)) = self.resting.first().filter(|(until, _)| *until <= now) else {
                break;
            };
            self.resting.pop_first();
            let application = self.applications.get_mut(&connection).expect("it is not gone");
            // What it sends would be refused, or has no room; and reading it takes the others' time.
            let is_crowded = application.is_crowded(self.broker.unfinished());
            if self.broker.is_stuck(connection) {
                self.resting.insert((application.rest(now, BUSY_MS_MAX), connection));
            } else if is_crowded {
                self.resting.insert((application.rest(now, CROWDED_MS), connection));
            } else {
                application.wake();
                touch(&mut self.touched, application);
            }
        }
        let is_over = self.broker.ends_at().is_some_and(|ends_at| ends_at <= now);
        if is_over || self.needs_ticks() && self.tick_at <= now {
            self.tick_at = now + TICK;
            if let Some(Opened::Stream(transceiver)) = &mut self.opened {
                transceiver.tick(now, &mut self.events);
            }
            for (_, connection) in self.leaving.iter().take_while(|(until, _)| *until <= now) {
                let application = self.applications.get_mut(connection).expect("it is not gone");
                touch(&mut self.touched, application);
            }
            self.events.push(Event::Tick);
            self.settle();
        }
    }

    /// Writes what there is to write, and tells epoll what is waited for now.
    fn tidy_up(&mut self) {
        // What is written makes room for requests that were read before, whose answers are written in turn.
        while let Some(connection) = self.touched.pop_front() {
            let now = self.now();
            let Some(application) = self.applications.get_mut(&connection) else { continue };
            application.is_touched = false;
            let written = application.write(&mut self.events);
            if application.resume(&mut self.events) {
                touch(&mut self.touched, application);
            }
            application.tell(self.broker.unfinished());
            application.tell_begun(&mut self.events);
            if let Some(until) = application.closes_at()
                && (written.is_err() || application.is_gone(now))
            {
                self.leaving.remove(&(until, connection));
                if let Some(rests_until) = application.wake() {
                    self.resting.remove(&(rests_until, connection));
                }
                application.tell_end(self.broker.unfinished());
                self.applications.remove(&connection);
                self.ready_ones.remove(connection);
            } else {
                let wants = application.wants();
                if wants != application.interest
                    && let Some(seat) = &application.seat
                {
                    watch::change(seat, connection, &*application, wants);
                    application.interest = wants;
                }
            }
            self.settle();
        }
        if let Some(Opened::Stream(transceiver)) = &self.opened {
            let mut wants = EventFlags::IN;
            wants.set(EventFlags::OUT, transceiver.is_full());
            if wants != self.device_interest {
                self.device_interest = wants;
                let changed = self.watch.change(&**transceiver, About::Device, wants);
                changed.expect("it is watched, and to change that takes nothing");
            }
        }
    }

    fn report_ready(&mut self) -> Result<(), Error> {
        if self.broker.is_open() {
            if let Some(ready) = self.ready.take() {
                ready();
            }
        } else if self.ready.is_some() && self.now() > self.start_max {
            let fault = self.open_fault.unwrap_or(LinkFault::OpenTimeout);
            return Err(Error::DeviceClosed { device: self.places[self.choice].device.name(), fault });
        }
        Ok(())
    }
}
