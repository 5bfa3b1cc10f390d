//! Real time: the scheduling class of a thread, its core, and memory that is there before it is needed, in
//! large pages where that counts.
//!
//! [`Class`] is how a thread enters a class of Linux; [`Realtime`] is what a deployment asks of the server's threads that
//! open and store. What the system refuses is an error before anything is served, and never left out in silence.
//!
//! The threads of a transport stay in the class that they begin in: who is not yet known to be a bridge must not take the
//! cores from what was accepted.
//!
//! The calls are made here and not by a library: the one that offers classes hands the kernel another number than the
//! thread's, and loses the system's reason.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::param::page_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::{self, Runtime};

use crate::error::Error;
use crate::limits::{HEAP_CHUNK_BYTES, HEAP_FILLED_BYTES};

/// How long a thread asks for its share while others have it.
const PATIENCE: Duration = Duration::from_secs(1);
/// A thread with deadlines has its runtime in each of these.
const PERIOD: Duration = Duration::from_millis(5);
/// Nine tenths of the cores are dealt to threads with deadlines: the kernel keeps a twentieth for all others.
const DEALT_TENTHS: u32 = 9;

/// The advice to make large pages of what is there, of Linux 6.1 (linux/mman.h): `libc` has it for GNU's library alone.
const MADV_COLLAPSE: libc::c_int = 25;

/// More than a limit: some pages of any architecture.
const BEYOND_BYTES: usize = 1 << 20;

/// Threads of a log besides those that open frames: one that hands groups to them, one that commits, one that writes, and one
/// that answers.
pub(crate) const THREADS_BESIDES: usize = 4;

/// A scheduling class of Linux, with what a thread has in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_OTHER`: the general-purpose one.
    #[default]
    Other,
    /// `SCHED_FIFO`: real time, first in, first out.
    Fifo {
        /// 1 to 99; who has more goes first.
        priority: u32,
    },
    /// `SCHED_DEADLINE`: real time, earliest deadline first.
    Deadline {
        /// Time on a core in each period.
        runtime: Duration,
        /// The period, and its deadline.
        period: Duration,
    },
}

impl Class {
    /// Puts the calling thread into it, until it ends.
    ///
    /// # Errors
    /// The system does not permit it, or says afterwards that the thread is in another one.
    pub fn enter(self) -> io::Result<()> {
        let wanted = match self {
            // Where a thread begins; to ask for it again would need a right where it was lowered.
            Class::Other => return Ok(()),
            Class::Fifo { priority } => libc::sched_attr {
                sched_policy: libc::SCHED_FIFO as u32,
                sched_priority: priority,
                ..ATTRIBUTES
            },
            Class::Deadline { runtime, period } => libc::sched_attr {
                sched_policy: libc::SCHED_DEADLINE as u32,
                sched_runtime: runtime.as_nanos() as u64,
                sched_deadline: period.as_nanos() as u64,
                sched_period: period.as_nanos() as u64,
                ..ATTRIBUTES
            },
        };
        let begin = Instant::now();
        loop {
            match ask(&wanted) {
                // The share of a thread that has ended is free again when its period ends, and not before.
                Err(error) if is_full(&error) && begin.elapsed() < PATIENCE => thread::sleep(PERIOD),
                answer => break answer?,
            }
        }
        // A sandbox may say yes and do nothing.
        let has = |of: &libc::sched_attr| {
            (of.sched_policy, of.sched_priority, of.sched_runtime, of.sched_deadline, of.sched_period)
        };
        let found = entered()?;
        let words = || format!("it was granted, and the thread is in policy {}", found.sched_policy);
        if has(&found) == has(&wanted) { Ok(()) } else { Err(io::Error::other(words())) }
    }

    /// The same in words.
    fn words(self) -> String {
        match self {
            Class::Other => "SCHED_OTHER".to_owned(),
            Class::Fifo { priority } => format!("SCHED_FIFO with priority {priority}"),
            Class::Deadline { runtime, period } => {
                format!("SCHED_DEADLINE with {} of every {} us", runtime.as_micros(), period.as_micros())
            }
        }
    }
}

const ATTRIBUTES: libc::sched_attr = libc::sched_attr {
    size: size_of::<libc::sched_attr>() as u32,
    sched_policy: libc::SCHED_OTHER as u32,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

fn ask(wanted: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the structure lives over the call, says its own size, and is only read; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *wanted, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel has of the calling thread.
fn entered() -> io::Result<libc::sched_attr> {
    let mut found = ATTRIBUTES;
    // SAFETY: the structure lives over the call, which writes no more than the size that it is told; 0 is this thread.
    match unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, found.size, 0) } {
        0 => Ok(found),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Which class the threads that open and store are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The general-purpose one.
    #[default]
    Other,
    /// Real time, first in, first out, all with this priority.
    Fifo(u32),
    /// The same for those that commit and write alone: they go on as soon as the disk has answered, and the others share what
    /// is left with those of the transport.
    FifoCommit(u32),
    /// Real time by deadlines: nine tenths of the cores, dealt to all of them alike, in every 5 ms. For a server with one
    /// log: a second one would find nothing left.
    Deadline,
}

/// What a thread of a log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It opens, or hands over what is to be opened.
    Opens,
    /// It commits, or writes what is committed.
    Commits,
}

/// What the threads that open and store are given. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realtime {
    /// Their class.
    pub policy: Policy,
    /// Each thread that opens has a core of its own, in turn where there are fewer. The kernel pins no thread that has
    /// deadlines.
    pub is_pinned: bool,
    /// No page of the process leaves memory, and what its threads are likely to need is there when they begin.
    pub locks_memory: bool,
}

impl Realtime {
    /// Prepares the process, before its threads are started.
    ///
    /// # Errors
    /// [`Error::LockMemory`].
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        if self.locks_memory { lock_memory().map_err(|cause| Error::LockMemory { cause }) } else { Ok(()) }
    }

    /// The runtime of a transport, whose workers have their heaps filled. Threads of it that only wait, for a disk or for
    /// who answers, come and go, and have not.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn runtime(self) -> Result<Runtime, Error> {
        let workers = thread::available_parallelism().map_err(Error::io("count", "cores"))?.get();
        runtime(workers, move || self.fill_heap())
    }

    /// Fills what the calling thread allocates from, when memory is locked.
    fn fill_heap(&self) {
        if self.locks_memory {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            let share_bytes = HEAP_FILLED_BYTES / (2 * cores + THREADS_BESIDES);
            let fill = |_| vec![1_u8; HEAP_CHUNK_BYTES];
            // All of them at once, or it would be the same one again and again.
            let chunks: Vec<Vec<u8>> = (0..share_bytes / HEAP_CHUNK_BYTES).map(fill).collect();
            black_box(&chunks);
        }
    }

    /// The class of one of `threads`.
    fn class(&self, role: Role, threads: usize) -> Class {
        match (self.policy, role) {
            (Policy::Other, _) | (Policy::FifoCommit(_), Role::Opens) => Class::Other,
            (Policy::Fifo(priority), _) | (Policy::FifoCommit(priority), Role::Commits) => {
                Class::Fifo { priority }
            }
            (Policy::Deadline, _) => {
                let cores = thread::available_parallelism().map_or(1, usize::from);
                let share = PERIOD * DEALT_TENTHS / 10;
                let runtime = share.mul_f64((cores as f64 / threads.max(1) as f64).min(1.0));
                Class::Deadline { runtime, period: PERIOD }
            }
        }
    }

    /// Starts a thread, one of `threads`, that goes to its core, fills its heap and enters its class before it runs.
    /// Returns when it has.
    ///
    /// # Errors
    /// [`Error::Scheduling`], and [`Error::Io`] when it cannot be started or pinned.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        name: String,
        role: Role,
        core: Option<usize>,
        threads: usize,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Thread<T>, Error> {
        let (report, entered) = sync_channel(1);
        let (realtime, class) = (*self, self.class(role, threads));
        let core = core.filter(|_| self.is_pinned);
        let life = move || {
            let enter = || {
                core.map_or(Ok(()), pin).map_err(Error::io("pin", "a thread"))?;
                realtime.fill_heap();
                class.enter().map_err(|cause| Error::Scheduling { class: class.words(), cause })
            };
            let result = enter();
            let is_there = result.is_ok();
            // Who has started it waits for this.
            let _ = report.send(result);
            is_there.then(run)
        };
        let thread = thread::Builder::new().name(name.clone()).spawn(life);
        let thread = thread.map_err(Error::io("start", name))?;
        match entered.recv() {
            Ok(result) => result.map(|()| Thread(thread)),
            Err(_) => Err(Error::io("start", "a thread")(io::Error::other("it ended before it began"))),
        }
    }
}

/// A runtime with so many workers, each of which calls `begin` first.
fn runtime(workers: usize, begin: impl Fn() + Send + Sync + 'static) -> Result<Runtime, Error> {
    let started = AtomicUsize::new(0);
    let begin = move || {
        // The workers are the first threads: all of them are asked for before there is anybody to ask for another.
        if started.fetch_add(1, Ordering::Relaxed) < workers {
            begin();
        }
    };
    let mut builder = runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(workers).enable_all().on_thread_start(begin).build();
    runtime.map_err(Error::io("start", "runtime"))
}

/// A thread that runs.
#[derive(Debug)]
pub(crate) struct Thread<T>(JoinHandle<Option<T>>);

impl<T> Thread<T> {
    /// Waits for its end; an error is its panic.
    pub(crate) fn join(self) -> thread::Result<T> {
        self.0.join().map(|made| made.expect("it runs"))
    }
}

/// Pins the calling thread to the core of that number, of those that it may use; in turn where there are fewer.
fn pin(number: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let mut one = CpuSet::new();
    one.set(cores[number % cores.len()]);
    Ok(sched_setaffinity(None, &one)?)
}

/// Keeps all pages of this process in memory, those of later as well, and has the allocator keep what it was given back.
fn lock_memory() -> io::Result<()> {
    // Allowed for now, perhaps; but an allocation would fail later, and end the process.
    lift_limit()?;
    keep_heap()?;
    // SAFETY: it changes where pages are, and no byte of them.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sees to it that this process may lock more than it is limited to, or has no limit.
fn lift_limit() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Memlock);
    match (current, maximum) {
        (None, _) => Ok(()),
        (Some(_), None) => Ok(setrlimit(Resource::Memlock, Rlimit { current: None, maximum })?),
        (Some(limit_bytes), Some(_)) => lock_beyond(limit_bytes),
    }
}

/// Locks more than `limit_bytes`, of addresses without memory, and lets go of it. Who may has CAP_IPC_LOCK where it counts:
/// in a namespace of users a process has all capabilities, and the kernel asks for none of those.
fn lock_beyond(limit_bytes: u64) -> io::Result<()> {
    let too_many = || io::Error::from_raw_os_error(libc::EPERM);
    let bytes = usize::try_from(limit_bytes).ok().and_then(|bytes| bytes.checked_add(BEYOND_BYTES));
    let bytes = bytes.ok_or_else(too_many)?;
    let (nobody, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: it maps addresses that nothing else has, and that nobody reads or writes.
    let begin = unsafe { libc::mmap(ptr::null_mut(), bytes, nobody, flags, -1, 0) };
    if begin == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the one that was mapped; on fault, no page of it comes into being.
    let answer = match unsafe { libc::syscall(libc::SYS_mlock2, begin, bytes, libc::MLOCK_ONFAULT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: as above, and nothing points there any more.
    match unsafe { libc::munmap(begin, bytes) } {
        0 => answer,
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where the C library is not GNU's this does nothing: it is that library's rule.
fn keep_heap() -> io::Result<()> {
    #[cfg(target_env = "gnu")]
    for (option, bytes) in [(libc::M_TRIM_THRESHOLD, libc::c_int::MAX), (libc::M_MMAP_THRESHOLD, 32 << 20)] {
        // SAFETY: it sets a number of the allocator's, under its lock, and touches no memory of ours.
        if unsafe { libc::mallopt(option, bytes) } != 1 {
            return Err(io::Error::other("the allocator does not keep what it is given back"));
        }
    }
    Ok(())
}

/// Asks for what lies in `memory` in whole pages to be of few large ones, at once where it is there already. Where the system
/// has none, or none that is free, it is of small ones as before, and only slower: nobody is told.
pub(crate) fn join_pages(memory: &mut [MaybeUninit<u8>]) {
    let page_bytes = page_size();
    let (begin, end) = (memory.as_ptr().addr(), memory.as_ptr_range().end.addr());
    let (first, end) = (begin.next_multiple_of(page_bytes), end / page_bytes * page_bytes);
    let Some(bytes) = end.checked_sub(first) else { return };
    let first = memory.as_mut_ptr().wrapping_add(first - begin).cast();
    // Of what nobody has touched the first touch makes a large page; MADV_COLLAPSE copies what was, which takes milliseconds
    // (madvise(2)).
    for advice in [libc::MADV_HUGEPAGE, MADV_COLLAPSE] {
        // SAFETY: the pages are of `memory`, which is ours, and keep what is in them.
        let _ = unsafe { libc::madvise(first, bytes, advice) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    /// The policy and priority that the kernel has of the calling thread (proc(5), `stat`), and how many cores it may use.
    fn policy() -> (i32, u32, u32) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux says it");
        let (_, fields) = stat.rsplit_once(") ").expect("the name ends");
        let fields: Vec<&str> = fields.split(' ').collect();
        let cores = sched_getaffinity(None).expect("Linux says it").count();
        (fields[38].parse().expect("a policy"), fields[37].parse().expect("a priority"), cores)
    }

    #[test]
    fn a_thread_is_in_the_class_that_was_asked_for_before_it_runs_or_there_is_none() {
        let start = |policy| {
            let realtime = Realtime { policy, ..Realtime::default() };
            realtime.start("test".to_owned(), Role::Commits, None, 4, self::policy)
        };
        let (number, before, all) = start(Policy::Other).unwrap().join().unwrap();
        assert_eq!(number, 0);
        let real = [
            (Policy::Fifo(10), (1, 10, all)),
            (Policy::FifoCommit(9), (1, 9, all)),
            (Policy::Deadline, (6, 0, all)),
        ];
        for (policy, expected) in real {
            match start(policy) {
                Ok(thread) => assert_eq!(thread.join().unwrap(), expected, "{policy:?}"),
                Err(Error::Scheduling { class, cause }) => {
                    assert!(
                        class.starts_with("SCHED_") && cause.raw_os_error().is_some(),
                        "{class}: {cause}"
                    );
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(policy().1, before, "who starts it stays where it is");
    }

    #[test]
    fn who_opens_stays_in_its_class_where_only_the_commit_is_to_leave_it() {
        let realtime = Realtime { policy: Policy::FifoCommit(9), ..Realtime::default() };
        let opens = realtime.start("test".to_owned(), Role::Opens, None, 4, policy).unwrap().join().unwrap();
        assert_eq!(opens.0, 0);
    }

    #[test]
    fn a_priority_that_no_thread_may_have_is_refused_with_the_class_in_words() {
        let realtime = Realtime { policy: Policy::Fifo(100), ..Realtime::default() };
        let refused =
            realtime.start("test".to_owned(), Role::Opens, None, 1, || ()).expect_err("there are 99");
        let words = refused.to_string();
        assert!(words.starts_with("cannot put a thread into SCHED_FIFO with priority 100: "), "{words}");
        assert!(refused.is_environment());
    }

    #[test]
    fn a_pinned_thread_has_one_core_and_others_have_all() {
        let realtime = Realtime { is_pinned: true, ..Realtime::default() };
        let cores =
            |core| realtime.start("test".to_owned(), Role::Opens, core, 1, policy).unwrap().join().unwrap().2;
        assert_eq!([cores(Some(0)), cores(Some(usize::MAX)), cores(None)], [1, 1, policy().2]);
    }

    #[test]
    fn workers_begin_with_what_is_asked_of_them_and_threads_that_wait_do_not() {
        let begun = Arc::new(AtomicUsize::new(0));
        let (counted, gate) = (begun.clone(), Arc::new(Barrier::new(5)));
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let runtime = runtime(2, count).unwrap();
        let waiting = [(); 4].map(|()| {
            let gate = gate.clone();
            runtime.spawn_blocking(move || gate.wait())
        });
        // Four at once wait, so there are as many threads besides the workers.
        gate.wait();
        runtime.block_on(async {
            for wait in waiting {
                wait.await.unwrap();
            }
        });
        drop(runtime);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn locking_beyond_the_limit_is_what_the_kernel_says_and_leaves_nothing_locked() {
        let locked = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            status.lines().find(|line| line.starts_with("VmLck:")).unwrap().to_owned()
        };
        let before = locked();
        match lock_beyond(64 << 20) {
            Ok(()) => {}
            Err(error) => assert!([Some(libc::EPERM), Some(libc::ENOMEM)].contains(&error.raw_os_error())),
        }
        assert_eq!(locked(), before);
        assert_eq!(lock_beyond(u64::MAX).unwrap_err().raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn threads_with_deadlines_share_what_the_kernel_admits() {
        let realtime = Realtime { policy: Policy::Deadline, ..Realtime::default() };
        let cores = thread::available_parallelism().unwrap().get();
        for threads in [1, cores, 2 * cores, 100 * cores] {
            let Class::Deadline { runtime, period } = realtime.class(Role::Opens, threads) else { panic!() };
            let used = runtime.as_secs_f64() / period.as_secs_f64() * threads as f64;
            assert!(used <= 0.901 * cores as f64 && runtime < period, "{threads}: {runtime:?}");
        }
    }
}
