//! Cells that are measured on all cores at once, with a bar for who waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use selvedge::error::Error;

/// A bar over so many cells.
pub fn progress(cells: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cells, {eta} left");
    ProgressBar::new(cells as u64).with_style(style.expect("the template is ours"))
}

/// What `work` makes of each item, in order; the first error of any.
pub fn on_all_cores<T: Sync, R: Send>(
    items: &[T],
    bar: &ProgressBar,
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(index)
        {
            let made = work(item);
            let is_error = made.is_err();
            done.lock().expect("a worker that panics ends the process").push((index, made));
            bar.inc(1);
            if is_error {
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut done = done.into_inner().expect("a worker that panics ends the process");
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, made)| made).collect()
}
