//! What Ascon costs, many messages at once and one after the other by `ascon-aead`, in clock cycles per byte.
//!
//! `cargo bench -p collect --bench ascon`. Ours and the library's take turns in short windows; what is printed is the second
//! percentile of each. Virtual machines often hide the processor's cycle counter, so cycles are told by a chain of
//! products that wait for each other, timed in the same turns (`products`).

mod products;

use std::time::Instant;

use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use collect::ascon::{Backend, Message, open_on, seal_on};
use products::{PRODUCT_CYCLES, multiply};

const TURNS: usize = 1000;
const PRODUCTS: u64 = 25_000;
/// Between messages, so that equal places of them do not fall into one set of the cache.
const GAP_BYTES: usize = 192;

struct Case {
    name: &'static str,
    lengths: Vec<usize>,
    aad_bytes: usize,
}

/// Cycles per byte.
struct Costs {
    seal: f64,
    seal_library: f64,
    open: f64,
    open_library: f64,
}

fn main() {
    let mixed = (0..64).map(|n| n * 37 % 64 * 64 + n).collect();
    let cases = [
        Case { name: "4 KiB", lengths: vec![4096; 16], aad_bytes: 16 },
        Case { name: "4 KiB, 4 messages", lengths: vec![4096; 4], aad_bytes: 16 },
        Case { name: "64 B", lengths: vec![64; 256], aad_bytes: 0 },
        Case { name: "64 B, 16 B of associated data", lengths: vec![64; 256], aad_bytes: 16 },
        Case { name: "0 to 4 KiB, mixed", lengths: mixed, aad_bytes: 16 },
    ];
    println!("backend: {:?}", Backend::best());
    for backend in Backend::all() {
        for case in &cases {
            let Costs { seal, seal_library, open, open_library } = measure(case, backend);
            println!(
                "{backend:?}, {}: seal {seal:.2}, open {open:.2}; library: seal {seal_library:.2}, open {open_library:.2}",
                case.name
            );
        }
    }
    let goals = |case: &Case| measure(case, Backend::best());
    let long = goals(&cases[0]);
    goal("Ascon of 4 KiB, sealed, cycles/B", long.seal, long.seal_library, "<= 2.2");
    goal("Ascon of 4 KiB, opened, cycles/B", long.open, long.open_library, "<= 2.2");
    let short = goals(&cases[2]);
    goal("Ascon of 64 B, sealed, times the library's speed", short.seal_library / short.seal, 1.0, ">= 3");
    goal("Ascon of 64 B, opened, times the library's speed", short.open_library / short.open, 1.0, ">= 3");
}

fn goal(what: &str, value: f64, library: f64, wanted: &str) {
    println!("goal\t{what}\t{value:.2}\tascon-aead\t{library:.2}\t{wanted}");
}

fn measure(case: &Case, backend: Backend) -> Costs {
    let bytes_max = case.lengths.iter().max().expect("there is a message") + GAP_BYTES;
    let mut memory = vec![0; bytes_max * case.lengths.len()];
    let keys: Vec<[u8; 16]> = (0..case.lengths.len()).map(|n| [n as u8; 16]).collect();
    let libraries: Vec<_> = keys.iter().map(|key| AsconAead128::new(key.into())).collect();
    let aad = vec![7; case.aad_bytes];
    let mut messages: Vec<_> = memory
        .chunks_mut(bytes_max)
        .zip(&keys)
        .zip(&case.lengths)
        .map(|((data, key), &length)| Message {
            key,
            nonce: [1; 16],
            aad: &aad,
            data: &mut data[..length],
            tag: [0; 16],
        })
        .collect();
    let bytes = case.lengths.iter().sum::<usize>() as f64;

    // A turn opens what it sealed, so that both see the right tags.
    let (mut ours, mut theirs, mut opens, mut opens_theirs, mut products) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..TURNS {
        products.push(timed(|| multiply(PRODUCTS)));
        ours.push(timed(|| seal_on(backend, &mut messages)));
        opens.push(timed(|| assert!(open_on(backend, &mut messages).iter().all(|&is_right| is_right))));
        theirs.push(timed(|| {
            for (message, library) in messages.iter_mut().zip(&libraries) {
                let tag =
                    library.encrypt_inout_detached(&message.nonce.into(), &aad, (&mut *message.data).into());
                message.tag = tag.expect("it is short enough").into();
            }
        }));
        opens_theirs.push(timed(|| {
            for (message, library) in messages.iter_mut().zip(&libraries) {
                let (nonce, tag) = (message.nonce.into(), message.tag.into());
                let data = (&mut *message.data).into();
                library.decrypt_inout_detached(&nonce, &aad, data, &tag).expect("the tag is right");
            }
        }));
    }
    let cycle_ns = low(products) / (PRODUCT_CYCLES * PRODUCTS) as f64;
    let [seal, open, seal_library, open_library] =
        [ours, opens, theirs, opens_theirs].map(|times| low(times) / cycle_ns / bytes);
    Costs { seal, seal_library, open, open_library }
}

/// The second percentile: others on the machine only ever make a window longer.
fn low(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 50]
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64
}
