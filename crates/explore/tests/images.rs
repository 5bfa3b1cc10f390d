//! The library as a program for the processor does what it does natively, and its cycles are told by routine.

mod compiled;

use explore::image::Leaves;
use explore::measure::Bench;
use explore::native;
use explore::workload::{self, Key};
use isa::rv32::Profile;

const SEED: u64 = 2;

#[test]
fn a_program_answers_what_the_library_answers_natively_and_calls_what_it_counts() {
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let bench = Bench::new(&image, Profile::Pico);
    let key = Key::generate(SEED, 512).expect("it has a size");
    let requests = [key.private(workload::fast(), SEED), key.private(workload::fast(), SEED).warm()];
    let measured = bench.measure(&requests).expect("it is done");
    for (request, measured) in requests.iter().zip(&measured) {
        let native = native::run(request).expect("it is done");
        assert_eq!(native.response, measured.response);
        for (routine, of) in native::ROUTINES.iter().zip(&measured.last().local_cycles).enumerate() {
            assert_eq!(native.counts().of(routine)[0] > 0, *of.1 > 0, "{}", of.0.name);
        }
        assert_eq!(
            measured.last().local_cycles.iter().sum::<u64>() + measured.last().bench_cycles,
            measured.last().cycles
        );
        assert!(measured.last().bench_cycles < 200, "{} cycles are nobody's", measured.last().bench_cycles);
    }
}
