//! A client for any program: from any thread, without a runtime, and without a thread of its own.
//!
//! Owns one connection at a time, who waits on it, and when there is another. Of the threads that wait for answers one
//! reads, for all; it wakes exactly those whose answers came, and hands the reading on when it has its own. After the
//! broker went away the next request connects anew; one that was under way is asked once more if that does no harm
//! (the table of operations says so) or if the broker cannot have had all of it, and fails otherwise. After `fork` a child
//! connects for itself, and touches nothing that another thread of its parent may have held.
//!
//! ```no_run
//! # fn example() -> Result<(), broker::Error> {
//! use broker::client::blocking::Client;
//! use broker::client::call::{FindKey, Random, SealAes256Gcm};
//! let client = Client::at(broker::client::place(), Default::default());
//! let key = client.call(&FindKey { name: b"batch/7" })?;
//! let sealed = client.call(&SealAes256Gcm { key, associated_data: b"header", plaintext: b"frames" })?;
//! # let _ = sealed;
//! # Ok(())
//! # }
//! ```

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use super::call::{Call, Request};
use super::fork::Identity;
use super::{Place, check, fork};
use crate::error::Error;
use crate::limits::{
    ATTENTION, ATTENTION_MAX, BUFFERED_BYTES, INATTENTIVE_MAX, REQUESTS_PER_CONNECTION_MAX, RETRY_PAUSE,
};
use crate::stream::{Decoder, Framing};
use crate::wiped::{Wiped, wipe};
use crate::wire::{Connection, Head, Lane, Pdu, Status};

/// How patient a client is.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long a request is asked again while the broker is busy, with the pauses that it says.
    pub busy_max: Duration,
    /// How long a broker is waited for that does not listen.
    pub connect_max: Duration,
    /// In which lane requests wait.
    pub lane: Lane,
    /// How long an answer is looked out for before the thread sleeps, a millisecond at most. Where answers take longer this
    /// is seldom tried.
    pub attention: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let (busy_max, connect_max) = (Duration::ZERO, Duration::ZERO);
        Settings { busy_max, connect_max, lane: Lane::default(), attention: ATTENTION }
    }
}

/// A client of the broker at a place. Any number of threads may call at a time.
pub struct Client {
    place: Place,
    settings: Settings,
    own: ManuallyDrop<Process>,
}

/// What of a client belongs to one process.
struct Process {
    generation: u64,
    line: Mutex<Option<Arc<Line>>>,
    /// The line's socket, or -1, and what tells it from others: a child must not look behind the lock.
    socket: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
    /// Of a child.
    next: OnceLock<Box<Process>>,
}

/// A connection.
struct Line {
    socket: UnixStream,
    /// One request is written at a time.
    writing: Mutex<()>,
    /// Held by the thread that reads for all.
    reading: Mutex<Reader>,
    waiting: Mutex<Waiting>,
    /// Somebody may ask who waited for others to be answered.
    room: Condvar,
}

struct Reader {
    decoder: Decoder,
    buffer: Wiped,
    attention: Attention,
}

/// Whether it is worth looking out before sleeping: as long as it helps.
struct Attention {
    length: Duration,
    /// Times in a row that it was in vain.
    vain_count: u32,
    /// Times to come that it is left out.
    left_out: u32,
}

/// Who waits for which answer.
#[derive(Default)]
struct Waiting {
    request_last: u32,
    seats: HashMap<u32, Seat>,
    /// How many wait for a seat.
    standing: usize,
    is_read: bool,
    /// What the broker calls the connection, once it has answered.
    number: Option<Connection>,
    ended: Option<Ended>,
}

#[derive(Default)]
struct Seat {
    answer: Option<Pdu>,
    /// Of who has slept here while somebody else read. To wake one who has not is a system call for nothing.
    woken: Option<Arc<Condvar>>,
}

impl Seat {
    fn wake(&self) {
        self.woken.iter().for_each(|woken| woken.notify_one());
    }
}

/// No answer will come any more; and why, if the broker said it.
#[derive(Clone, Copy)]
struct Ended {
    notice: Option<Status>,
}

/// Why a request has no answer.
struct Unanswered {
    notice: Option<Status>,
    /// The broker may have had all of it.
    is_sent: bool,
}

impl Client {
    /// A client, which connects when it is first asked for something.
    pub fn new(path: &Path) -> Client {
        Client::with(path, Settings::default())
    }

    /// A client that is so patient.
    pub fn with(path: &Path, settings: Settings) -> Client {
        Client::at(Place::Socket(path.to_owned()), settings)
    }

    /// A client of the broker that is there. A user's own is started when something is asked and it is not there.
    pub fn at(place: Place, settings: Settings) -> Client {
        let own = ManuallyDrop::new(Process::new(fork::generation()));
        Client { place, settings, own }
    }

    /// Asks for something, and waits for the answer.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Io`] when there is no broker, [`Error::Refused`] with its status,
    /// [`Error::Disconnected`] or [`Error::Answer`].
    pub fn call<C: Call>(&self, call: &C) -> Result<C::Answer, Error> {
        let request = call.request();
        request.check()?;
        let until = Instant::now() + self.settings.busy_max;
        loop {
            let answer = self.ask(&request)?;
            let left = until.saturating_duration_since(Instant::now());
            if answer.status() != Ok(Status::Busy) || left.is_zero() {
                return call.read(&check(request.operation, answer)?).map_err(Error::Answer);
            }
            thread::sleep(Duration::from_millis(answer.head().time_ms.max(1).into()).min(left));
        }
    }

    /// Asks once, or once more on another connection.
    fn ask(&self, request: &Request<'_>) -> Result<Pdu, Error> {
        let operation = request.operation;
        let mut is_again = false;
        loop {
            let process = self.own.current();
            let line = self.line(process)?;
            if request.only_on.is_some_and(|only| line.waiting().number != Some(only)) {
                return Err(Error::Refused { operation, status: Status::UnknownContext });
            }
            let Unanswered { notice, is_sent } = match line.ask(request, self.settings.lane) {
                Ok(answer) => return Ok(answer),
                Err(unanswered) => unanswered,
            };
            process.forget(&line);
            if let Some(status) = notice {
                return Err(Error::Refused { operation, status });
            }
            let harms = is_sent && !operation.row().may_repeat;
            if is_again || harms || request.only_on.is_some() {
                return Err(Error::Disconnected);
            }
            is_again = true;
        }
    }

    /// The connection, made if there is none.
    fn line(&self, process: &Process) -> Result<Arc<Line>, Error> {
        let mut kept = lock(&process.line);
        if let Some(line) = kept.as_ref().filter(|line| line.waiting().ended.is_none()) {
            return Ok(line.clone());
        }
        let socket = match &self.place {
            Place::Socket(path) => self.connect(path)?,
            Place::Own(starter) => starter.find_or_start()?,
        };
        process.note(&socket);
        let line = Arc::new(Line::new(socket, self.settings.attention));
        *kept = Some(line.clone());
        Ok(line)
    }

    fn connect(&self, path: &Path) -> Result<UnixStream, Error> {
        let until = Instant::now() + self.settings.connect_max;
        loop {
            match UnixStream::connect(path) {
                Ok(socket) => return Ok(socket),
                Err(error) if is_absence(&error) && Instant::now() < until => thread::sleep(RETRY_PAUSE),
                Err(source) => return Err(Error::Io { doing: "connect to", path: path.to_owned(), source }),
            }
        }
    }
}

/// Whether a broker may be there soon.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

impl Drop for Client {
    fn drop(&mut self) {
        let first = &self.own;
        if first.generation == fork::generation() {
            let own = std::mem::replace(&mut self.own, ManuallyDrop::new(Process::new(0)));
            drop(ManuallyDrop::into_inner(own));
        } else {
            // Another thread of the parent may have been changing it, so it stays as it is.
            first.leave();
        }
    }
}

impl Process {
    fn new(generation: u64) -> Process {
        let (line, socket, next) = (Mutex::default(), AtomicI32::new(-1), OnceLock::new());
        Process { generation, line, socket, device: AtomicU64::new(0), inode: AtomicU64::new(0), next }
    }

    /// What a child has to close. A child that is made meanwhile finds none, or this one.
    fn note(&self, socket: &UnixStream) {
        self.socket.store(-1, Ordering::Release);
        let Identity { device, inode } = Identity::of(socket.as_raw_fd()).unwrap_or_default();
        self.device.store(device, Ordering::Release);
        self.inode.store(inode, Ordering::Release);
        self.socket.store(socket.as_raw_fd(), Ordering::Release);
    }

    /// This process's own: itself, or that of a child.
    fn current(&self) -> &Process {
        let generation = fork::generation();
        let mut process = self;
        while process.generation != generation {
            process.leave();
            process = process.next.get_or_init(|| Box::new(Process::new(generation)));
        }
        process
    }

    /// A child leaves what was its parent's.
    fn leave(&self) {
        match self.socket.swap(-1, Ordering::AcqRel) {
            -1 => {}
            socket => {
                let (device, inode) =
                    (self.device.load(Ordering::Acquire), self.inode.load(Ordering::Acquire));
                fork::close_copy(socket, Identity { device, inode });
            }
        }
    }

    /// The connection is no more.
    fn forget(&self, line: &Arc<Line>) {
        let mut kept = lock(&self.line);
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, line)) {
            self.socket.store(-1, Ordering::Release);
            *kept = None;
        }
    }
}

impl Line {
    fn new(socket: UnixStream, attention: Duration) -> Line {
        let (decoder, buffer) = (Decoder::new(Framing::Plain), Wiped::new(vec![0; BUFFERED_BYTES]));
        let reader = Reader { decoder, buffer, attention: Attention::new(attention) };
        let (writing, waiting, room) = (Mutex::default(), Mutex::default(), Condvar::new());
        Line { socket, writing, reading: Mutex::new(reader), waiting, room }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    fn ask(&self, request: &Request<'_>, lane: Lane) -> Result<Pdu, Unanswered> {
        let id = self.enrol()?;
        let head = Head { lane, ..Head::request(request.operation, id, request.key) };
        let front = Pdu::front(head, &request.parameters, request.payload.len());
        let front = front.expect("the lengths were checked");
        let is_sent = self.send([IoSlice::new(&front), IoSlice::new(request.payload)]).is_ok();
        if !is_sent {
            // Whoever reads finds the end, and perhaps what the broker says of it.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
        self.wait(id).map_err(|Ended { notice }| Unanswered { notice, is_sent })
    }

    /// Takes a seat, once there is one, under an id that no unanswered request has.
    fn enrol(&self) -> Result<u32, Unanswered> {
        let mut waiting = self.waiting();
        while waiting.ended.is_none() && waiting.seats.len() >= REQUESTS_PER_CONNECTION_MAX {
            waiting.standing += 1;
            waiting = self.room.wait(waiting).expect("no holder of this lock panics");
            waiting.standing -= 1;
        }
        if let Some(Ended { notice }) = waiting.ended {
            return Err(Unanswered { notice, is_sent: false });
        }
        let id = loop {
            waiting.request_last = waiting.request_last.wrapping_add(1);
            if !waiting.seats.contains_key(&waiting.request_last) {
                break waiting.request_last;
            }
        };
        waiting.seats.insert(id, Seat::default());
        Ok(id)
    }

    /// From where they lie, and without a signal when the broker is gone: the program may not expect one.
    fn send(&self, mut parts: [IoSlice<'_>; 2]) -> io::Result<()> {
        let _one_at_a_time = lock(&self.writing);
        let mut rest = &mut parts[..];
        while rest.iter().any(|part| !part.is_empty()) {
            match sendmsg(&self.socket, rest, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL) {
                Ok(sent_bytes) => IoSlice::advance_slices(&mut rest, sent_bytes),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Waits for the answer, reading for all if nobody else does.
    fn wait(&self, id: u32) -> Result<Pdu, Ended> {
        let mut waiting = self.waiting();
        loop {
            let Waiting { seats, is_read, ended, .. } = &mut *waiting;
            let seat = seats.get_mut(&id).expect("a seat is kept until it is left");
            if let Some(answer) = seat.answer.take() {
                self.leave(&mut waiting, id);
                return Ok(answer);
            }
            if let Some(ended) = *ended {
                self.leave(&mut waiting, id);
                return Err(ended);
            }
            if *is_read {
                let woken = seat.woken.get_or_insert_default().clone();
                waiting = woken.wait(waiting).expect("no holder of this lock panics");
                continue;
            }
            waiting.is_read = true;
            drop(waiting);
            let came = lock(&self.reading).next(&self.socket);
            waiting = self.waiting();
            waiting.is_read = false;
            match came {
                Ok(answers) => waiting.deliver(answers),
                Err(()) => waiting.end(None),
            }
            if waiting.ended.is_some() {
                waiting.seats.values().for_each(Seat::wake);
                self.room.notify_all();
            }
        }
    }

    /// Gives up a seat; somebody else reads now.
    fn leave(&self, waiting: &mut Waiting, id: u32) {
        waiting.seats.remove(&id);
        if waiting.standing > 0 {
            self.room.notify_one();
        }
        // One who has not slept finds by itself that nobody reads.
        let sleeps = |seat: &&Seat| seat.answer.is_none() && seat.woken.is_some();
        if !waiting.is_read
            && let Some(seat) = waiting.seats.values().find(sleeps)
        {
            seat.wake();
        }
    }
}

impl Waiting {
    fn deliver(&mut self, answers: Vec<Pdu>) {
        for answer in answers {
            let Head { connection, request, .. } = answer.head();
            if connection == Connection::BROKER {
                return self.end(answer.status().ok()); // only a connection that is refused has no number
            }
            self.number = Some(connection);
            if let Some(seat) = self.seats.get_mut(&request) {
                seat.answer = Some(answer);
                seat.wake();
            }
        }
    }

    fn end(&mut self, notice: Option<Status>) {
        self.ended.get_or_insert(Ended { notice });
    }
}

impl Reader {
    /// The answers that one read completes; an error when there will be no more.
    fn next(&mut self, socket: &UnixStream) -> Result<Vec<Pdu>, ()> {
        let buffered_bytes = loop {
            match self.read(socket) {
                Ok((0, _)) => return Err(()),
                Ok((_, buffered_bytes)) => break buffered_bytes,
                Err(Errno::INTR) => {}
                Err(_) => return Err(()),
            }
        };
        let mut answers = Vec::new();
        let mut input = &self.buffer[..buffered_bytes];
        let is_whole = loop {
            match self.decoder.next(&mut input) {
                Ok(Some(answer)) => answers.push(answer),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        wipe(&mut self.buffer[..buffered_bytes]);
        if is_whole || !answers.is_empty() { Ok(answers) } else { Err(()) }
    }

    /// Reads once, when something has come. Who waits in `read` is woken by Linux when the broker takes the request, too,
    /// and goes to sleep again: two switches for nothing.
    fn read(&mut self, socket: &UnixStream) -> Result<(usize, usize), Errno> {
        if !self.decoder.wants_rest() && !self.attention.look_out(socket)? {
            poll(&mut [PollFd::new(socket, PollFlags::IN)], None)?;
        }
        self.decoder.read(socket, &mut self.buffer[..])
    }
}

impl Attention {
    fn new(length: Duration) -> Attention {
        Attention { length: length.min(ATTENTION_MAX), vain_count: 0, left_out: 0 }
    }

    /// Whether something came while it looked out. Others have the processor meanwhile, if there are any.
    fn look_out(&mut self, socket: &UnixStream) -> Result<bool, Errno> {
        if self.left_out > 0 || self.length.is_zero() {
            self.left_out = self.left_out.saturating_sub(1);
            return Ok(false);
        }
        let began = Instant::now();
        loop {
            if poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&Timespec::default()))? > 0 {
                self.vain_count = 0;
                return Ok(true);
            }
            if began.elapsed() >= self.length {
                break;
            }
            thread::yield_now();
        }
        self.vain_count = (self.vain_count + 1).min(INATTENTIVE_MAX.ilog2());
        self.left_out = (1 << self.vain_count) - 1;
        Ok(false)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn who_looks_out_in_vain_leaves_it_out_for_longer_each_time_until_it_helps() {
        let (socket, mut broker) = UnixStream::pair().expect("a pair");
        let mut attention = Attention::new(Duration::from_micros(1));
        let mut vain_after = |times: u32| {
            (0..times).for_each(|_| assert_eq!(attention.look_out(&socket), Ok(false)));
            (attention.vain_count, attention.left_out)
        };
        assert_eq!(vain_after(1), (1, 1));
        assert_eq!(vain_after(1), (1, 0), "not tried");
        assert_eq!(vain_after(1), (2, 3));
        assert_eq!(vain_after(4), (3, 7));
        assert_eq!(
            vain_after(8 + 16 + 32 + 64),
            (INATTENTIVE_MAX.ilog2(), INATTENTIVE_MAX - 1),
            "and no longer"
        );
        broker.write_all(&[0]).expect("there is room");
        (0..INATTENTIVE_MAX - 1).for_each(|_| assert_eq!(attention.look_out(&socket), Ok(false)));
        assert_eq!(attention.look_out(&socket), Ok(true));
        assert_eq!((attention.vain_count, attention.left_out), (0, 0));
        let mut never = Attention::new(Duration::ZERO);
        assert_eq!(never.look_out(&socket), Ok(false), "who is told to sleep sleeps");
    }
}
