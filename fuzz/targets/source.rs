//! Looks for a text on which weave's reader of assembly, its analyses or its proof panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::directive::Parameters;
use weave::program::Program;
use weave::proof::{Options, prove};
use weave::source::Source;

fuzz_target!(|text: &str| {
    let Ok(source) = Source::parse("fuzzed.s", text) else { return };
    let core = Some(isa::avr::CoreType::AvrePc2);
    if let Ok((program, _)) = Program::read(&[source], &["f"], &Parameters::new(), core)
        && let Some(function) = program.function("f")
    {
        let _ = prove(&program, function, Options::default());
    }
});
