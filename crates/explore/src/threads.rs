//! Many things on all cores.
//!
//! Owns the threads, and that what comes of them is in the order of what went in. What is told of progress is the
//! caller's.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Does `work` for each of these on every core, and tells of each that is done. After an error nothing is begun.
///
/// # Errors
/// The first one, by order of the items, of those that were done.
pub fn each<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
    done: impl Fn(usize, &R) + Sync,
) -> Result<Vec<R>, E> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Vec<Mutex<Option<Result<R, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while !is_over.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = work(item);
            match &result {
                Ok(result) => done(at, result),
                Err(_) => is_over.store(true, Ordering::Relaxed),
            }
            *results[at].lock().expect("nobody panics with it") = Some(result);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads.min(items.len())).for_each(|_| drop(scope.spawn(worker))));
    let results = results.into_iter().map(|result| result.into_inner().expect("nobody panicked with it"));
    // What an error kept from being done lies behind it or is as good as it.
    let mut all = Vec::with_capacity(items.len());
    let mut results: Vec<_> = results.collect();
    if let Some(at) = results.iter().position(|result| matches!(result, Some(Err(_)))) {
        return Err(results.swap_remove(at).expect("it is there").err().expect("it is one"));
    }
    for result in results {
        all.extend(result.transpose()?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_are_in_the_order_of_items_and_an_error_is_told() {
        let items: Vec<u32> = (0..1000).collect();
        let told = AtomicUsize::new(0);
        let tell = |_: usize, _: &u32| {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let doubled = each(&items, |item| Ok::<_, Error>(2 * item), tell).expect("nothing fails");
        assert!(doubled.iter().zip(&items).all(|(doubled, item)| *doubled == 2 * item));
        assert_eq!(told.into_inner(), items.len());
        let refuse = |item: &u32| match item {
            500 => Err(Error::Refused { operation: "modexp", status: 4 }),
            _ => Ok(*item),
        };
        let error = Error::Refused { operation: "modexp", status: 4 };
        assert_eq!(each(&items, refuse, |_, _| ()), Err(error));
    }
}
