//! The library of `firmware/crypto` on this machine, where its routines count what their cycles depend on.
//!
//! Owns the seam to C: what is linked (`build.rs`), the call, and what was counted as numbers: features, and contexts,
//! which are who was called for whom. C's side is `firmware/bench/explore.h` and `firmware/crypto/estimate.h`. What counts
//! are worth in cycles is `model`'s, and what contexts are in bytes of a stack.

// The library is C. It is given bytes that live through the call and room that it says is enough, keeps no pointer, and
// has its state per thread.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

use crate::error::Error;
use crate::request::{RESPONSE_BYTES_MAX, Request, Response};

/// Features of a routine at most, calls first: `ESTIMATE_FEATURES`.
pub const FEATURES_MAX: usize = 6;
/// State of an operation that does not tell of any.
const UNTOLD: usize = usize::MAX;

/// Numbers of a routine in a block of the library.
type Row = [u64; FEATURES_MAX];

/// Of a feature, the least of a call and the most.
pub type Extent = [f64; 2];

unsafe extern "C" {
    fn explore_run(request: *const u8, request_bytes: usize, response: *mut u8) -> usize;
    fn explore_operations() -> usize;
    fn explore_operation_name(operation: usize) -> *const c_char;
    fn estimate_routines() -> usize;
    fn estimate_routine_name(routine: usize) -> *const c_char;
    fn estimate_routine_layer(routine: usize) -> *const c_char;
    fn estimate_routine_features(routine: usize) -> *const c_char;
    fn estimate_block() -> *const u64;
    fn estimate_clear();
    fn estimate_contexts_bytes() -> usize;
    fn estimate_contexts_in(memory: *mut u64);
    fn estimate_contexts_count() -> usize;
    fn estimate_contexts_list() -> *const Context;
    fn estimate_memory(state_bytes: usize, scratch_bytes: usize);
    fn estimate_state_bytes() -> usize;
    fn estimate_scratch_bytes() -> usize;
}

/// A routine that was called in another context.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    caller: u16,
    routine: u16,
}

impl Context {
    /// The context of its caller, which is an earlier one of the list; 0 is whoever counts.
    pub fn caller(self) -> usize {
        self.caller.into()
    }

    /// Its place in [`ROUTINES`].
    pub fn routine(self) -> usize {
        self.routine.into()
    }
}

/// A routine of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    /// Its symbol.
    pub name: String,
    /// Its layer: basic, complex, primitive.
    pub layer: String,
    /// What its cycles depend on; the first is its calls.
    pub features: Vec<String>,
}

/// The layer of routines that are no library's.
const BENCH_LAYER: &str = "bench";

impl Routine {
    /// Whether it is one of the library's, and not of what asks it.
    pub fn is_library(&self) -> bool {
        self.layer != BENCH_LAYER
    }
}

/// The routines, in the order in which they count.
pub static ROUTINES: LazyLock<Vec<Routine>> = LazyLock::new(|| {
    // SAFETY: each index is below the count, and names are literals of the library.
    let text =
        |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_str().expect("names are ASCII").to_owned();
    // SAFETY: as above.
    let routines = (0..unsafe { estimate_routines() }).map(|routine| unsafe {
        let features = text(estimate_routine_features(routine));
        Routine {
            name: text(estimate_routine_name(routine)),
            layer: text(estimate_routine_layer(routine)),
            features: features.split(", ").map(str::to_owned).collect(),
        }
    });
    routines.collect()
});

static OPERATIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    // SAFETY: each index is below the count, and names are literals of the library.
    let name = |operation| unsafe { CStr::from_ptr(explore_operation_name(operation)) };
    // SAFETY: it takes nothing.
    let operations = 0..unsafe { explore_operations() };
    operations.map(|operation| name(operation).to_str().expect("names are ASCII").to_owned()).collect()
});

/// The names of all operations, in the order of their numbers.
pub fn operations() -> &'static [String] {
    &OPERATIONS
}

/// The number of an operation in requests.
pub fn operation_number(name: &str) -> Option<u16> {
    let place = OPERATIONS.iter().position(|operation| operation == name)?;
    Some(u16::try_from(place).expect("there are few operations"))
}

/// What every routine counted, in the order of [`ROUTINES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    sums: Vec<Row>,
    /// The most that a call began with.
    most: Vec<Row>,
    /// The complement of the least that a call began with.
    least: Vec<Row>,
    /// From the first that was entered on: context 1.
    contexts: Vec<Context>,
}

impl Counts {
    /// What a routine counted, calls first.
    pub fn of(&self, routine: usize) -> &[u64; FEATURES_MAX] {
        &self.sums[routine]
    }

    /// Contexts in the order in which they were entered. The first of them is context 1.
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// Routines that were called, and what they counted.
    pub fn called(&self) -> impl Iterator<Item = (usize, &[u64; FEATURES_MAX])> {
        self.sums.iter().enumerate().filter(|(_, features)| features[0] > 0)
    }

    /// The least and the most of each feature in a call of a routine that was called; of calls, and of those features
    /// that a call counts as it goes, since it begins with none of them, the mean twice.
    pub fn extents(&self, routine: usize) -> [Extent; FEATURES_MAX] {
        let sums = &self.sums[routine];
        std::array::from_fn(|at| {
            let mean = sums[at] as f64 / sums[0] as f64;
            let begun = [!self.least[routine][at] as f64, self.most[routine][at] as f64];
            if (begun[0]..=begun[1]).contains(&mean) { begun } else { [mean; 2] }
        })
    }
}

/// A request that was done here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    /// What it answered.
    pub response: Response,
    /// What was counted while it was done, each time.
    pub turns: Vec<Counts>,
    /// Bytes that its state lies in and of scratch that it took at most, what it was given as an operand included; the stack
    /// is a processor's. Nothing where an operation does not tell.
    pub memory_bytes: Option<usize>,
}

impl Native {
    /// What was counted the last time: of a warm request, when it was warm.
    pub fn counts(&self) -> &Counts {
        self.turns.last().expect("a request is done once at least")
    }
}

thread_local! {
    static COUNTED: RefCell<Vec<Counts>> = const { RefCell::new(Vec::new()) };
    /// Where the library has this thread's contexts.
    static CONTEXTS: RefCell<Vec<u64>> = RefCell::new(vec![
        0;
        // SAFETY: it takes nothing.
        unsafe { estimate_contexts_bytes() }.div_ceil(size_of::<u64>())
    ]);
}

/// What counts begins; the library calls it.
#[unsafe(no_mangle)]
extern "C" fn explore_begin() {
    // SAFETY: it clears counts of this thread.
    unsafe { estimate_clear() }
}

/// What counts is over; the library calls it.
#[unsafe(no_mangle)]
extern "C" fn explore_end() {
    // SAFETY: there are three blocks, one behind the other, of so many rows each, and they are this thread's.
    let blocks =
        unsafe { std::slice::from_raw_parts(estimate_block().cast::<Row>(), 3 * estimate_routines()) };
    let (sums, others) = blocks.split_at(ROUTINES.len());
    let (most, least) = others.split_at(ROUTINES.len());
    // SAFETY: there are so many contexts, they are this thread's, and the first is nobody's.
    let contexts = unsafe { std::slice::from_raw_parts(estimate_contexts_list(), estimate_contexts_count()) };
    let contexts = contexts[1..].to_vec();
    let counts = Counts { sums: sums.to_vec(), most: most.to_vec(), least: least.to_vec(), contexts };
    COUNTED.with_borrow_mut(|counted| counted.push(counts));
}

/// Does a request.
///
/// # Errors
/// The library refused it.
pub fn run(request: &Request) -> Result<Native, Error> {
    let asked = request.bytes();
    let mut answered = vec![0; RESPONSE_BYTES_MAX];
    COUNTED.with_borrow_mut(Vec::clear);
    // SAFETY: the memory is of that many bytes, was zeros at first, and stays where it is as long as this thread counts.
    CONTEXTS.with_borrow_mut(|memory| unsafe { estimate_contexts_in(memory.as_mut_ptr()) });
    // SAFETY: it sets numbers of this thread, which an operation that does not tell leaves as they are.
    unsafe { estimate_memory(UNTOLD, 0) };
    // SAFETY: the request is read for its length, and the response has the room that the contract asks for.
    let length = unsafe { explore_run(asked.as_ptr(), asked.len(), answered.as_mut_ptr()) };
    let response = Response::read(request.operation, &answered[..length])?;
    // SAFETY: they read numbers of this thread.
    let (state_bytes, scratch_bytes) = unsafe { (estimate_state_bytes(), estimate_scratch_bytes()) };
    let memory_bytes = (state_bytes != UNTOLD).then(|| state_bytes + scratch_bytes);
    Ok(Native { response, turns: COUNTED.take(), memory_bytes })
}
