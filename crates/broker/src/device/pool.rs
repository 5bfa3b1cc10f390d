//! A device that computes in this process, on as many threads as it has lanes: `soft` on every core.
//!
//! Owns what is computed where. What is quick is computed by the broker's loop itself, where it was read: to hand it to
//! a thread and back takes longer. What looks for primes has all lanes but one, so that it never keeps them all. Answers
//! come in any order, but those of the operations in parts, which a connection's requests build upon each other: of those
//! a connection has one under way.
//!
//! To hand something over costs no system call while the other side is awake: lanes look into the queue before they sleep,
//! and the loop hears them before it waits.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::bell::{Bell, RingsAtEnd};
use crate::engine::Engine;
use crate::info::DeviceInfo;
use crate::limits::QUICK_BYTES_MAX;
use crate::wire::{Connection, Operation, Pdu, random_bytes};
use crate::{Event, Link};

/// How long something takes, in classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Less than to hand it over.
    Quick,
    /// More; it may wait for a disk.
    Long,
    /// Nobody knows.
    Endless,
}

impl Effort {
    fn of(operation: Operation, request: &Pdu) -> Effort {
        let is_short = request.payload().len() <= QUICK_BYTES_MAX;
        match operation {
            _ if operation.looks_for_primes(request) => Effort::Endless,
            Operation::Random if random_bytes(request) > Some(QUICK_BYTES_MAX as u32) => Effort::Long,
            Operation::Sign
            | Operation::Verify
            | Operation::RsaDecrypt
            | Operation::Agree
            | Operation::Derive
            | Operation::KeyGenerate
            | Operation::KeyImport
            | Operation::KeyUnwrap
            | Operation::KeyDestroy
            | Operation::KeyAttest => Effort::Long,
            _ if is_short => Effort::Quick,
            _ => Effort::Long,
        }
    }
}

/// Whether what it does depends on what the connection asked before, and did not wait for.
fn is_in_parts(operation: Operation) -> bool {
    matches!(operation, Operation::Begin | Operation::Update | Operation::Finish | Operation::Cancel)
}

struct Job {
    /// One more than that of the job before.
    order: u64,
    link: Link,
    request: Arc<Pdu>,
}

/// What the lanes have to do.
#[derive(Default)]
struct Queue {
    long: VecDeque<Job>,
    endless: VecDeque<Job>,
    order_last: u64,
    /// Lanes that do what is endless.
    endless_count: usize,
    endless_max: usize,
    /// Lanes that sleep, or have not yet noticed that they were woken.
    idle_count: usize,
    is_over: bool,
}

impl Queue {
    fn push(&mut self, link: Link, request: Arc<Pdu>, effort: Effort) {
        self.order_last += 1;
        let jobs = if effort == Effort::Endless { &mut self.endless } else { &mut self.long };
        jobs.push_back(Job { order: self.order_last, link, request });
    }

    /// The job that has waited longest. Were others always first, one that looks for primes would wait for ever while
    /// enough of them come, and the broker would take the device for silent.
    fn take(&mut self) -> Option<(Job, Effort)> {
        let may_be_endless = self.endless_count < self.endless_max;
        let endless = self.endless.front().filter(|_| may_be_endless).map(|job| job.order);
        let long = self.long.front().map_or(u64::MAX, |job| job.order);
        if endless.is_some_and(|endless| endless < long) {
            self.endless_count += 1;
            return Some((self.endless.pop_front()?, Effort::Endless));
        }
        self.long.pop_front().map(|job| (job, Effort::Long))
    }
}

#[derive(Default)]
struct Work {
    queue: Mutex<Queue>,
    has_more: Condvar,
    has_panicked: AtomicBool,
    /// Whether the loop waits, or is about to, and has to be woken.
    is_awaited: AtomicBool,
}

impl Work {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nothing panics while it holds the queue")
    }
}

/// The device, as the loop sees it.
pub(crate) struct Pool {
    link: Link,
    /// The loop's own lane.
    here: Box<dyn Engine>,
    work: Arc<Work>,
    /// Of each connection with something in parts at a lane, what waits for that.
    waiting: HashMap<Connection, VecDeque<Arc<Pdu>>>,
    events: Receiver<Event>,
    heard: Bell,
    lanes: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts a thread for each engine; `here` is for the loop itself, and all of them hold the same.
    pub(crate) fn start(here: Box<dyn Engine>, engines: Vec<Box<dyn Engine>>) -> io::Result<Pool> {
        let (work, heard) = (Arc::new(Work::default()), Bell::new()?);
        work.queue().endless_max = engines.len().saturating_sub(1).max(1);
        let (told, events) = channel();
        let (waiting, lanes) = (HashMap::new(), Vec::new());
        let mut pool = Pool { link: 0, here, work, waiting, events, heard, lanes };
        for engine in engines {
            let lane =
                Lane { engine, work: pool.work.clone(), told: told.clone(), heard: pool.heard.clone() };
            pool.lanes.push(thread::Builder::new().name("lane".into()).spawn(move || lane.run())?);
        }
        Ok(pool)
    }

    /// Forgets what is under way, and says what the device is.
    pub(crate) fn open(&mut self, link: Link) -> DeviceInfo {
        self.link = link;
        let mut queue = self.work.queue();
        queue.long.clear();
        queue.endless.clear();
        drop(queue);
        self.waiting.clear();
        self.here.opened();
        self.here.info()
    }

    /// Takes a request; what is answered at once is an event at once.
    pub(crate) fn take(&mut self, request: Arc<Pdu>, events: &mut Vec<Event>) {
        let operation = request.operation().expect("the core looked at it");
        if is_in_parts(operation)
            && let Some(waiting) = self.waiting.get_mut(&request.head().connection)
        {
            return waiting.push_back(request);
        }
        self.begin(operation, request, events);
    }

    fn begin(&mut self, operation: Operation, request: Arc<Pdu>, events: &mut Vec<Event>) {
        let link = self.link;
        let effort = Effort::of(operation, &request);
        if effort == Effort::Quick {
            let answer = self.here.execute(&request);
            events.extend(answer.map(|answer| Event::DeviceAnswered { link, answer }));
            return;
        }
        if is_in_parts(operation) {
            self.waiting.entry(request.head().connection).or_default();
        }
        let mut queue = self.work.queue();
        queue.push(link, request, effort);
        let is_one_idle = queue.idle_count > 0;
        drop(queue);
        if is_one_idle {
            self.work.has_more.notify_one();
        }
    }

    /// Takes note of having been woken.
    pub(crate) fn wake(&self) {
        self.heard.quiet();
    }

    /// Appends what happened, before the loop waits: whether anything did. If nothing did, the loop is woken when
    /// something does.
    pub(crate) fn hear_last(&mut self, events: &mut Vec<Event>) -> bool {
        let before = events.len();
        self.work.is_awaited.store(true, Ordering::SeqCst);
        // Either a lane sees that it is awaited, or what it said is seen here.
        fence(Ordering::SeqCst);
        self.hear_some(events);
        let has_heard = events.len() > before;
        if has_heard {
            self.work.is_awaited.store(false, Ordering::Relaxed);
        }
        has_heard
    }

    /// Appends what happened, and begins what waited for it.
    pub(crate) fn hear(&mut self, events: &mut Vec<Event>) {
        self.work.is_awaited.store(false, Ordering::Relaxed);
        self.hear_some(events);
    }

    fn hear_some(&mut self, events: &mut Vec<Event>) {
        while let Ok(event) = self.events.try_recv() {
            let done = match &event {
                Event::DeviceAnswered { link, answer } if *link == self.link => Some(answer.head()),
                _ => None,
            };
            events.push(event);
            if let Some(head) = done
                && Operation::from_number(head.operation).is_some_and(is_in_parts)
            {
                self.go_on(head.connection, events);
            }
        }
        if self.work.has_panicked.load(Ordering::Relaxed) {
            self.end(); // and so does who waits for it
        }
    }

    /// Begins what waited, until one of it is at a lane.
    fn go_on(&mut self, connection: Connection, events: &mut Vec<Event>) {
        let mut waiting = self.waiting.remove(&connection).unwrap_or_default();
        while let Some(request) = waiting.pop_front() {
            let operation = request.operation().expect("the core looked at it");
            self.begin(operation, request, events);
            if let Some(under_way) = self.waiting.get_mut(&connection) {
                *under_way = waiting;
                return;
            }
        }
    }

    /// Ends the lanes once each has finished what it does.
    fn end(&mut self) {
        self.work.queue().is_over = true;
        self.work.has_more.notify_all();
        for lane in self.lanes.drain(..) {
            if let Err(panic) = lane.join()
                && !thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl AsFd for Pool {
    /// What can be read when something happened.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

struct Lane {
    engine: Box<dyn Engine>,
    work: Arc<Work>,
    told: Sender<Event>,
    heard: Bell,
}

/// Says that a lane has panicked, and wakes the loop.
struct TellsPanic {
    work: Arc<Work>,
    _rings: RingsAtEnd,
}

impl Drop for TellsPanic {
    fn drop(&mut self) {
        self.work.has_panicked.fetch_or(thread::panicking(), Ordering::Relaxed);
    }
}

impl Lane {
    fn run(mut self) {
        let _tells = TellsPanic { work: self.work.clone(), _rings: RingsAtEnd(self.heard.clone()) };
        // The last one is kept until the next one is done: by then the loop has let go of it, so that it is wiped here,
        // where it is in the cache.
        let mut last = None;
        while let Some((Job { link, request, .. }, effort)) = self.next(&mut last) {
            let answer = self.engine.execute(&request);
            if effort == Effort::Endless {
                self.work.queue().endless_count -= 1;
                self.work.has_more.notify_one();
            }
            if let Some(answer) = answer {
                // A loop that does not listen any more has ended.
                let _ = self.told.send(Event::DeviceAnswered { link, answer });
                fence(Ordering::SeqCst);
                if self.work.is_awaited.swap(false, Ordering::SeqCst) {
                    self.heard.ring();
                }
            }
            last = Some(request);
        }
    }

    /// What is to be done next; a lane that sleeps keeps nothing of what it did `last`.
    fn next(&self, last: &mut Option<Arc<Pdu>>) -> Option<(Job, Effort)> {
        let mut queue = self.work.queue();
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(taken) = queue.take() {
                return Some(taken);
            }
            if last.is_some() {
                drop(queue);
                *last = None;
                queue = self.work.queue();
                continue;
            }
            queue.idle_count += 1;
            queue = self.work.has_more.wait(queue).expect("nothing panics while it holds the queue");
            queue.idle_count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;
    use crate::engine::SoftwareEngine;
    use crate::wire::{Head, KeyHandle};

    #[test]
    fn a_loop_that_waits_is_woken_by_what_it_has_not_heard() {
        let engine = SoftwareEngine::new(Vec::new()).unwrap();
        let engines = (0..2).map(|_| Box::new(engine.clone()) as Box<dyn Engine>).collect();
        let mut pool = Pool::start(Box::new(engine.clone()), engines).unwrap();
        pool.open(1);
        let mut waits = 0;
        for number in 0..2000 {
            // Long or longer, so that they are done before the loop waits or after that.
            let payload = vec![0x5E; QUICK_BYTES_MAX + 1 + 16 * number as usize];
            let head = Head::request(Operation::Hash, number, KeyHandle::NONE);
            let request = Pdu::new(head, &[2], &payload).unwrap();
            let mut events = Vec::new();
            pool.take(Arc::new(request), &mut events);
            assert!(events.is_empty(), "it is not computed here");
            while events.is_empty() {
                if !pool.hear_last(&mut events) {
                    waits += 1;
                    poll(&mut [PollFd::new(&pool, PollFlags::IN)], None).unwrap();
                    pool.wake();
                }
                pool.hear(&mut events);
            }
            let [Event::DeviceAnswered { link: 1, answer }] = &events[..] else { panic!("{events:?}") };
            assert_eq!((answer.head().request, answer.payload().len()), (number, 32));
        }
        assert!(waits > 0, "it never had to wait");
    }

    #[test]
    fn what_looks_for_primes_has_its_turn_and_never_all_lanes() {
        let mut queue = Queue { endless_max: 1, ..Queue::default() };
        let request = || Arc::new(Pdu::empty(Head::default()));
        for effort in [Effort::Long, Effort::Endless, Effort::Endless, Effort::Long] {
            queue.push(1, request(), effort);
        }
        let take = |queue: &mut Queue| queue.take().map(|(_, effort)| effort);
        assert_eq!(take(&mut queue), Some(Effort::Long));
        queue.push(1, request(), Effort::Long);
        assert_eq!(take(&mut queue), Some(Effort::Endless), "though others wait");
        assert_eq!(take(&mut queue), Some(Effort::Long), "another lane");
        assert_eq!(take(&mut queue), Some(Effort::Long));
        assert_eq!(take(&mut queue), None, "one lane looks for primes already");
        queue.endless_count -= 1;
        assert_eq!(take(&mut queue), Some(Effort::Endless));
    }
}
