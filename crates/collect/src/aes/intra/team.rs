//! Threads that stay, meet at barriers, and each do their rows and columns of what the first of them is asked.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::{array, hint, thread};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use zeroize::Zeroize;

use super::basic::{Keys, WORDS_MAX};
use super::steps::{S_BOX, add, double, inverse_mix, inverse_shift_and_sub, mix, sub_and_shift};
use super::{Block, Direction, Meeting, SUBVECTORS, chain};

/// What a team does together. A thread learns which by its number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Expand,
    Block(Direction),
    Subvectors(Direction),
    End,
}

const TASKS: [Task; 6] = [
    Task::Expand,
    Task::Block(Direction::Encrypt),
    Task::Block(Direction::Decrypt),
    Task::Subvectors(Direction::Encrypt),
    Task::Subvectors(Direction::Decrypt),
    Task::End,
];

/// What the threads share.
struct Shared {
    threads: usize,
    barrier: AnyBarrier,
    task: AtomicUsize,
    rounds: AtomicUsize,
    keys: [[AtomicU8; 4]; WORDS_MAX],
    /// Row r, column c is `[c][r]`.
    state: [[AtomicU8; 4]; 4],
    subvectors: [Mutex<Subvector>; SUBVECTORS],
}

/// A part of a waveform, and what its first block is chained to.
#[derive(Default)]
struct Subvector {
    iv: Block,
    blocks: Vec<Block>,
}

/// The first thread of a team, which is the one that asks.
pub(super) struct Team<'s> {
    shared: &'s Shared,
    /// It stays in the thread that was pinned.
    _here: PhantomData<*const ()>,
}

/// Calls `work` with a team, whose other threads live until it returns. Each thread calls `enter` first, once it is
/// placed; the first one does so when it has started the others, as there are classes whose threads may start none.
///
/// # Errors
/// The system refuses a thread, or refuses to pin one; those of `enter`.
pub(super) fn with_team<R>(
    threads: usize,
    meeting: Meeting,
    is_pinned: bool,
    enter: &(dyn Fn() -> io::Result<()> + Sync),
    work: impl FnOnce(Team<'_>) -> R,
) -> io::Result<R> {
    let shared = Shared::new(threads, meeting);
    let allowed = sched_getaffinity(None)?;
    let pin = |number| if is_pinned { pin(&allowed, number) } else { Ok(()) };
    let _released = Released(allowed);
    pin(0)?;
    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        let mut gates = Vec::new();
        for number in 1..threads {
            let (gate, opened) = mpsc::channel::<()>();
            let (report, shared) = (report.clone(), &shared);
            let life = move || {
                let placed = pin(number).and_then(|()| enter());
                let is_placed = placed.is_ok();
                // The gate opens when every thread is there; it breaks when one of them failed.
                if report.send(placed).is_ok() && is_placed && opened.recv().is_ok() {
                    Member { shared, number }.serve();
                }
            };
            thread::Builder::new().name(format!("aes-{number}")).spawn_scoped(scope, life)?;
            gates.push(gate);
        }
        reports.iter().take(threads - 1).collect::<io::Result<()>>()?;
        enter()?;
        gates.iter().for_each(|gate| gate.send(()).expect("the thread waits for it"));
        Ok(work(Team { shared: &shared, _here: PhantomData }))
    })
}

/// Pins this thread to the allowed core of its number, or of the rest where there are fewer cores.
fn pin(allowed: &CpuSet, number: usize) -> io::Result<()> {
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let mut one = CpuSet::new();
    one.set(cores[number % cores.len()]);
    Ok(sched_setaffinity(None, &one)?)
}

/// Gives this thread its cores back when it is dropped.
struct Released(CpuSet);

impl Drop for Released {
    fn drop(&mut self) {
        // They were its own before; that the system takes them away meanwhile is not ours to mend.
        let _ = sched_setaffinity(None, &self.0);
    }
}

impl Team<'_> {
    /// Expands a key; figure 4.
    pub(super) fn expand(&mut self, key: &[u8]) {
        let keys = Keys::unexpanded(key);
        self.shared.rounds.store(keys.rounds, Ordering::Relaxed);
        for (shared, word) in self.shared.keys.iter().zip(&keys.words) {
            put(shared, *word);
        }
        self.perform(Task::Expand);
    }

    /// Takes one block through figure 2 or 3.
    pub(super) fn crypt(&mut self, direction: Direction, block: &mut Block) {
        for (shared, column) in self.shared.state.iter().zip(block.as_chunks::<4>().0) {
            put(shared, *column);
        }
        self.perform(Task::Block(direction));
        for (shared, column) in self.shared.state.iter().zip(block.as_chunks_mut::<4>().0) {
            *column = get(shared);
        }
    }

    /// Takes each subvector through its chain in one thread.
    pub(super) fn crypt_subvectors<'a>(
        &mut self,
        direction: Direction,
        parts: impl Iterator<Item = (&'a Block, &'a mut [Block])>,
    ) {
        let mut parts: Vec<_> = parts.collect();
        for (shared, (iv, blocks)) in self.shared.subvectors.iter().zip(&parts) {
            let mut shared = shared.lock().expect("no thread panics with it");
            shared.iv = **iv;
            shared.blocks.extend_from_slice(blocks);
        }
        self.perform(Task::Subvectors(direction));
        for (shared, (_, blocks)) in self.shared.subvectors.iter().zip(&mut parts) {
            let mut shared = shared.lock().expect("no thread panics with it");
            blocks.copy_from_slice(&shared.blocks);
            shared.blocks.as_flattened_mut().zeroize();
            shared.blocks.clear();
        }
    }

    /// Asks the others, takes part, and returns when all are done.
    fn perform(&mut self, task: Task) {
        let is_keyed = self.shared.rounds.load(Ordering::Relaxed) > 0;
        assert!(is_keyed || matches!(task, Task::Expand | Task::End), "a key was expanded");
        let number = TASKS.iter().position(|&listed| listed == task).expect("every task is listed");
        self.shared.task.store(number, Ordering::Relaxed);
        self.shared.barrier.wait();
        Member { shared: self.shared, number: 0 }.perform(task);
        self.shared.barrier.wait();
    }
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        self.perform(Task::End);
    }
}

impl Shared {
    fn new(threads: usize, meeting: Meeting) -> Shared {
        Shared {
            threads,
            barrier: AnyBarrier::new(threads, meeting),
            task: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            keys: array::from_fn(|_| Default::default()),
            state: Default::default(),
            subvectors: Default::default(),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.keys.iter().chain(&self.state).for_each(|word| put(word, [0; 4]));
    }
}

/// One thread's part. Row or column n is dealt to thread n modulo their number.
struct Member<'s> {
    shared: &'s Shared,
    number: usize,
}

impl Member<'_> {
    /// Does what the team does, until that is to end.
    fn serve(&self) {
        loop {
            self.meet();
            let task = TASKS[self.shared.task.load(Ordering::Relaxed)];
            self.perform(task);
            self.meet();
            if task == Task::End {
                return;
            }
        }
    }

    fn perform(&self, task: Task) {
        match task {
            Task::Expand => self.expand(),
            Task::Block(Direction::Encrypt) => self.encrypt(),
            Task::Block(Direction::Decrypt) => self.decrypt(),
            Task::Subvectors(direction) => self.crypt_subvectors(direction),
            Task::End => {}
        }
    }

    fn meet(&self) {
        self.shared.barrier.wait();
    }

    /// The rows or columns of this thread.
    fn own(&self) -> impl Iterator<Item = usize> + use<> {
        (self.number..4).step_by(self.shared.threads)
    }

    /// Figure 2, each step of it in rows or columns.
    fn encrypt(&self) {
        let rounds = self.shared.rounds.load(Ordering::Relaxed);
        self.columns(0, add);
        for round in 1..rounds {
            self.rows(sub_and_shift);
            self.columns(round, |column, key| add(mix(column), key));
        }
        self.rows(sub_and_shift);
        self.columns(rounds, add);
    }

    /// Figure 3, likewise.
    fn decrypt(&self) {
        let rounds = self.shared.rounds.load(Ordering::Relaxed);
        self.columns(rounds, add);
        for round in (1..rounds).rev() {
            self.rows(inverse_shift_and_sub);
            self.columns(round, |column, key| inverse_mix(add(column, key)));
        }
        self.rows(inverse_shift_and_sub);
        self.columns(0, add);
    }

    /// A step on this thread's rows, when all columns are done.
    fn rows(&self, step: fn([u8; 4], usize) -> [u8; 4]) {
        self.meet();
        for row in self.own() {
            let before = array::from_fn(|column| self.shared.state[column][row].load(Ordering::Relaxed));
            for (column, after) in self.shared.state.iter().zip(step(before, row)) {
                column[row].store(after, Ordering::Relaxed);
            }
        }
        self.meet();
    }

    /// A step on this thread's columns with the key of a round.
    fn columns(&self, round: usize, step: fn([u8; 4], [u8; 4]) -> [u8; 4]) {
        for column in self.own() {
            let (state, key) = (&self.shared.state[column], &self.shared.keys[4 * round + column]);
            put(state, step(get(state), get(key)));
        }
    }

    /// Figure 4 by rows. RotWord takes the row below, so all rows of a word must be there before.
    fn expand(&self) {
        let rounds = self.shared.rounds.load(Ordering::Relaxed);
        let (keys, key_words) = (&self.shared.keys, rounds - 6);
        let at = |word: usize, row: usize| keys[word][row].load(Ordering::Relaxed);
        let mut constant = 1;
        for i in key_words..4 * (rounds + 1) {
            if i % key_words == 0 {
                self.meet();
            }
            for row in self.own() {
                let byte = if i % key_words == 0 {
                    S_BOX[usize::from(at(i - 1, (row + 1) % 4))] ^ if row == 0 { constant } else { 0 }
                } else if key_words > 6 && i % key_words == 4 {
                    S_BOX[usize::from(at(i - 1, row))]
                } else {
                    at(i - 1, row)
                };
                keys[i][row].store(byte ^ at(i - key_words, row), Ordering::Relaxed);
            }
            if i % key_words == 0 {
                constant = double(constant);
            }
        }
    }

    /// This thread's subvectors, each with the steps of one thread.
    fn crypt_subvectors(&self, direction: Direction) {
        let keys = Keys {
            words: array::from_fn(|word| get(&self.shared.keys[word])),
            rounds: self.shared.rounds.load(Ordering::Relaxed),
        };
        for number in self.own() {
            let mut subvector = self.shared.subvectors[number].lock().expect("no thread panics with it");
            let Subvector { iv, blocks } = &mut *subvector;
            chain(direction, iv, blocks, |block| keys.crypt(direction, block));
        }
    }
}

fn get(word: &[AtomicU8; 4]) -> [u8; 4] {
    array::from_fn(|n| word[n].load(Ordering::Relaxed))
}

fn put(word: &[AtomicU8; 4], bytes: [u8; 4]) {
    for (shared, byte) in word.iter().zip(bytes) {
        shared.store(byte, Ordering::Relaxed);
    }
}

/// Where threads wait for each other.
enum AnyBarrier {
    Spinning(SpinBarrier),
    Blocking(Barrier),
}

impl AnyBarrier {
    fn new(threads: usize, meeting: Meeting) -> AnyBarrier {
        match meeting {
            Meeting::Spinning => AnyBarrier::Spinning(SpinBarrier::new(threads)),
            Meeting::Blocking => AnyBarrier::Blocking(Barrier::new(threads)),
        }
    }

    fn wait(&self) {
        match self {
            AnyBarrier::Spinning(barrier) => barrier.wait(),
            AnyBarrier::Blocking(barrier) => drop(barrier.wait()),
        }
    }
}

/// A barrier that is never slept at.
struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
}

impl SpinBarrier {
    /// How often a thread looks before it gives its turn away to a thread that may wait for its core: some microseconds.
    const LOOKS: usize = 1 << 7;

    fn new(threads: usize) -> SpinBarrier {
        SpinBarrier { threads, arrived: AtomicUsize::new(0), met: AtomicUsize::new(0) }
    }

    fn wait(&self) {
        let met = self.met.load(Ordering::Acquire);
        // Each arrival hands on what was written before it; the last one hands all of it to those who wait.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.met.store(met.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.met.load(Ordering::Acquire) == met {
            looks += 1;
            if looks < Self::LOOKS { hint::spin_loop() } else { thread::yield_now() }
        }
    }
}
