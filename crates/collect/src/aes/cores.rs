//! The modes of `block` over all cores: section 3.1 of the paper. By its equation (6) stripe `i` of a message belongs
//! to core `i mod n`. There are no more stripes than cores, unless somebody asks for shorter ones: where two stripes meet, each
//! core prefetches what the other one writes, so that each is the slower the more there are (`cargo bench -p collect --bench
//! aes` has lengths from 2 KiB on).
//!
//! Owns the pool. The caller is its first core; the others have a thread each, pinned, that lives as long as the
//! pool. It watches for the next call for a while before it sleeps, as waking up takes longer than a stripe.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::block;
use super::{BLOCK_BYTES, Backend, Block, Key};
use crate::error::Error;

/// A stripe is a whole number of pages.
const PAGE_BYTES: usize = 4096;
/// How often a thread looks for the next call before it sleeps: some 50 microseconds.
const LOOKS: usize = 4000;

/// What each core does, given its number.
type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// Cores that work on one message at a time.
pub struct Cores {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    cpus: Vec<usize>,
    /// `None`: a share of the message for each.
    stripe_bytes: Option<usize>,
}

#[derive(Default)]
struct Shared {
    /// Counts calls: a thread works when it has changed.
    call: AtomicUsize,
    /// Threads that are still at work.
    busy: AtomicUsize,
    /// A thread panicked.
    is_broken: AtomicBool,
    /// What to do; `None` ends the threads.
    job: Mutex<Option<&'static Job<'static>>>,
}

impl Shared {
    /// Begins a call.
    fn begin(&self, threads: &[JoinHandle<()>], job: Option<&'static Job<'static>>) {
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = job;
        self.busy.store(threads.len(), Ordering::Relaxed);
        self.call.fetch_add(1, Ordering::Release);
        for thread in threads {
            thread.thread().unpark();
        }
    }

    /// What a thread does all its life.
    fn serve(&self, core: usize) {
        let mut last = 0;
        loop {
            let mut looks = 0;
            while self.call.load(Ordering::Acquire) == last {
                looks += 1;
                if looks < LOOKS { std::hint::spin_loop() } else { thread::park() }
            }
            last += 1;
            let job = *self.job.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(job) = job else { return };
            if catch_unwind(AssertUnwindSafe(|| job(core))).is_err() {
                self.is_broken.store(true, Ordering::Relaxed);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits until every thread has ended the call.
    fn wait(&self) {
        let mut looks = 0;
        while self.busy.load(Ordering::Acquire) != 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

impl Cores {
    /// So many cores: the caller's thread, and one more for each of the others, pinned to the CPUs that this process
    /// may use, in turn.
    ///
    /// # Errors
    /// [`Error::Io`]: a thread could not be started or pinned.
    pub fn new(cores: NonZero<usize>) -> Result<Cores, Error> {
        let allowed = sched_getaffinity(None).map_err(|cause| Error::io("read", "the CPUs")(cause.into()))?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let cpus: Vec<usize> = allowed.iter().copied().cycle().take(cores.get()).collect();
        let shared = Arc::new(Shared::default());
        let mut pool = Cores { shared, threads: Vec::new(), cpus, stripe_bytes: None };
        for core in 1..cores.get() {
            let (shared, cpu) = (Arc::clone(&pool.shared), pool.cpus[core]);
            let (pinned, outcome) = channel();
            let thread = thread::Builder::new().name(format!("aes-{core}")).spawn(move || {
                let outcome = pin(cpu);
                let is_pinned = outcome.is_ok();
                if pinned.send(outcome).is_ok() && is_pinned {
                    shared.serve(core);
                }
            });
            pool.threads.push(thread.map_err(Error::io("start", "a thread"))?);
            outcome.recv().expect("the thread says how it went")?;
        }
        Ok(pool)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Pins the calling thread to the first core's CPU, where no other thread of the pool is.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn pin_caller(&self) -> Result<(), Error> {
        pin(self.cpus[0])
    }

    /// Deals stripes of this length, for an experiment.
    ///
    /// # Panics
    /// When it is not a whole number of blocks, or none.
    pub fn set_stripe(&mut self, bytes: usize) {
        assert!(
            bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES),
            "stripes of {bytes} bytes are not whole blocks"
        );
        self.stripe_bytes = Some(bytes);
    }

    /// Bytes of a message's stripes.
    fn stripe(&self, message: &[u8]) -> usize {
        let share = || message.len().div_ceil(self.count()).next_multiple_of(PAGE_BYTES);
        self.stripe_bytes.unwrap_or_else(|| share().max(PAGE_BYTES))
    }

    /// [`block::ecb_encrypt`].
    pub fn ecb_encrypt(&mut self, backend: Backend, key: &Key, data: &mut [u8]) {
        let stripes = data.chunks_mut(self.stripe(data));
        self.deal(stripes, |stripe| block::ecb_encrypt(backend, key, stripe));
    }

    /// [`block::ecb_decrypt`].
    pub fn ecb_decrypt(&mut self, backend: Backend, key: &Key, data: &mut [u8]) {
        let stripes = data.chunks_mut(self.stripe(data));
        self.deal(stripes, |stripe| block::ecb_decrypt(backend, key, stripe));
    }

    /// [`block::cbc_decrypt`].
    pub fn cbc_decrypt(&mut self, backend: Backend, key: &Key, iv: &Block, data: &mut [u8]) {
        let mut iv = *iv;
        let stripes = data.chunks_mut(self.stripe(data)).map(|stripe| {
            // The block before the next stripe, as long as it is ciphertext. A last one that is not whole is refused
            // below.
            let last = stripe.last_chunk().copied().unwrap_or(iv);
            (std::mem::replace(&mut iv, last), stripe)
        });
        self.deal(stripes, |(iv, stripe)| block::cbc_decrypt(backend, key, &iv, stripe));
    }

    /// [`block::ctr`].
    pub fn ctr(&mut self, backend: Backend, key: &Key, counter: &Block, data: &mut [u8]) {
        let first = u128::from_be_bytes(*counter);
        let stripe_bytes = self.stripe(data);
        let blocks = (stripe_bytes / BLOCK_BYTES) as u128;
        let stripes = data.chunks_mut(stripe_bytes).enumerate();
        self.deal(stripes, |(index, stripe)| {
            let counter = first.wrapping_add(blocks.wrapping_mul(index as u128)).to_be_bytes();
            block::ctr(backend, key, &counter, stripe);
        });
    }

    /// Streams or messages of `multi` and `ccm`: each core takes a share of them, in order.
    pub fn share<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut [T]) + Sync) {
        let share = items.len().div_ceil(self.count()).max(1);
        self.deal(items.chunks_mut(share), work);
    }

    /// Does `work` on every part; part `i` is for core `i mod n`.
    ///
    /// # Panics
    /// When `work` does.
    fn deal<T: Send>(&mut self, parts: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
        let mut hands: Vec<Vec<T>> = Vec::new();
        hands.resize_with(self.count(), Vec::new);
        for (index, part) in parts.enumerate() {
            hands[index % self.cpus.len()].push(part);
        }
        if hands.get(1).is_none_or(Vec::is_empty) {
            return hands.into_iter().flatten().for_each(work);
        }
        let hands: Vec<Mutex<Vec<T>>> = hands.into_iter().map(Mutex::new).collect();
        self.call(&|core| {
            let hand = std::mem::take(&mut *hands[core].lock().unwrap_or_else(PoisonError::into_inner));
            hand.into_iter().for_each(&work);
        });
    }

    /// Calls `job` once on every core and waits for all of them.
    #[allow(unsafe_code)]
    fn call(&mut self, job: &Job<'_>) {
        // SAFETY: only the lifetime changes. The threads use it from `begin` until they are no longer busy; `wait`
        // returns after that and is reached whatever happens, as a panic here is caught. `&mut self` keeps other
        // calls away.
        let unbound = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(job) };
        self.shared.begin(&self.threads, Some(unbound));
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        self.shared.wait();
        let is_broken = self.shared.is_broken.swap(false, Ordering::Relaxed);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!is_broken, "a core panicked");
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        self.shared.begin(&self.threads, None);
        for thread in self.threads.drain(..) {
            // One that could not be pinned has ended before; none panics outside a job.
            let _ = thread.join();
        }
    }
}

/// Pins the calling thread.
fn pin(cpu: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|cause| Error::io("pin", "a thread")(cause.into()))
}
