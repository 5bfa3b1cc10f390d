//! Cycles of the core: cases that take turns, and what each of them costs.
#![allow(unsafe_code)]

use std::arch::x86_64::__rdtscp;

use crate::products::{PRODUCT_CYCLES, multiply};

/// Windows of each case.
const WINDOWS: usize = 400;
/// Products in front of a window.
const PRODUCTS: u64 = 1500;

/// What is measured: something that is done to so many bytes.
pub struct Case<'a> {
    /// Whose it is.
    pub name: String,
    /// Bytes that it is done to.
    pub bytes: usize,
    /// Does it once.
    pub run: Box<dyn FnMut() + 'a>,
}

/// A case.
pub fn case<'a>(name: impl Into<String>, bytes: usize, run: impl FnMut() + 'a) -> Case<'a> {
    Case { name: name.into(), bytes, run: Box::new(run) }
}

/// Ticks of the time stamp counter, whose rate is not the core's.
fn ticks() -> u64 {
    let mut core = 0;
    // SAFETY: the core's number goes to a variable.
    unsafe { __rdtscp(&mut core) }
}

/// Cycles per byte of each case: the 10th percentile of its windows, which alternate with those of the others. In front of a
/// window it is done once: else what the case before it left in caches and branch predictors would be measured, too.
pub fn per_byte(cases: &mut [Case<'_>]) -> Vec<f64> {
    let mut windows = vec![Vec::with_capacity(WINDOWS); cases.len()];
    for _ in 0..WINDOWS {
        for (case, windows) in cases.iter_mut().zip(&mut windows) {
            (case.run)();
            let start = ticks();
            multiply(PRODUCTS);
            let begin = ticks();
            (case.run)();
            let end = ticks();
            let cycles = (end - begin) as f64 / (begin - start) as f64 * (PRODUCT_CYCLES * PRODUCTS) as f64;
            windows.push(cycles / case.bytes as f64);
        }
    }
    for windows in &mut windows {
        windows.sort_by(f64::total_cmp);
    }
    windows.iter().map(|windows| windows[WINDOWS / 10]).collect()
}
