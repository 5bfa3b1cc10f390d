//! Every candidate computes the same, cold and warm, and counts what it is made of.

use explore::candidate::{Caching, Candidate};
use explore::native;
use explore::space::Space;
use explore::workload::Key;

const SEED: u64 = 1;

#[test]
fn every_candidate_does_the_private_operation_alike() {
    let key = Key::generate(SEED, 512).expect("it has a size");
    let mut expected = None;
    // All of them in a long run; in a short one every so manieth, which meets each choice with others.
    let step = if std::env::var("SELVEDGE_SOAK").is_ok_and(|asked| asked == "1") { 1 } else { 23 };
    for candidate in Space::All.candidates().into_iter().step_by(step) {
        let request = key.private(candidate, SEED);
        for request in [request.clone(), request.warm()] {
            let answered = native::run(&request).unwrap_or_else(|error| panic!("{candidate}: {error}"));
            let operands = answered.response.operands;
            let expected = expected.get_or_insert_with(|| operands.clone());
            assert_eq!(&operands, expected, "{candidate}");
        }
    }
}

#[test]
fn what_is_kept_is_not_counted_again() {
    let key = Key::generate(SEED, 512).expect("it has a size");
    let calls = |candidate: Candidate, is_warm: bool| {
        let request = key.private(candidate, SEED);
        let request = if is_warm { request.warm() } else { request };
        let native = native::run(&request).expect("it is a candidate");
        native.counts().called().map(|(_, features)| features[0]).sum::<u64>()
    };
    let kept = |caching| Candidate { caching, ..explore::workload::fast() };
    assert_eq!(calls(kept(Caching::Nothing), false), calls(kept(Caching::Nothing), true));
    for caching in [Caching::Constants, Caching::Tables] {
        assert!(calls(kept(caching), true) < calls(kept(caching), false), "{caching:?}");
    }
}
