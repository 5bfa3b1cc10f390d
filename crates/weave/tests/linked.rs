//! Linked files: real ones, made here by avr-gcc, and broken ones.

use std::path::Path;
use std::process::Command;

use isa::avr::CoreType;
use proptest::prelude::*;
use weave::linked::{LinkedError, program, records};
use weave::program::{Callee, Flow, Origin};
use weave::proof::{Kind, Options, Proof, Violation, Window, prove};

/// A byte every 34 cycles, 18 of them in a callee that is called the long way.
const TEXT: &str = r#"
    .macro weave text
7701:
    .pushsection .weave,"",@progbits
    .long 7701b
    .asciz "\text"
    .popsection
    .endm

    .global send
    .type send, @function
send:
    weave "clock tx period=34"
    in r19, 0x3f
    cli
    ldi r24, 16
again:
    weave "trip 16"
    weave "event tx at=0"
    out 0x0f, r18
    call pause
    ld r18, X+
    nop
    nop
    nop
    dec r24
    brne again
    weave "over tx"
    out 0x3f, r19
    ret
    .size send, .-send

    .global pause
    .type pause, @function
pause:
    ldi r25, 5
1:
    dec r25
    brne 1b
    nop
    nop
    ret
    .size pause, .-pause

    .global main
    .type main, @function
main:
    call send
    ret
    .size main, .-main
"#;

/// Assembles and links a text; what the compiler says goes to the test's output.
fn link(text: &str, chip: &str, options: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let [source, elf] = ["send.S", "send.elf"].map(|name| folder.path().join(name));
    std::fs::write(&source, text).expect("a file");
    let run = |path: &Path| {
        Command::new("avr-gcc")
            .arg(format!("-mmcu={chip}"))
            .args(["-nostartfiles", "-Wl,-e,main", "-o"])
            .args([&elf, path])
            .args(options)
            .output()
            .expect("avr-gcc, which scripts/install.sh installs")
    };
    let output = run(&source);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&elf).expect("the linked file")
}

fn check(elf: &[u8]) -> Result<Proof, Box<Violation>> {
    let program = program(elf, "send").unwrap_or_else(|error| panic!("{error}"));
    prove(&program, program.function("send").expect("it was asked for"), Options::default())
}

#[test]
fn a_linked_function_is_proved_with_its_records() {
    let elf = link(TEXT, "atmega128", &[]);
    assert_eq!(records(&elf).unwrap().len(), 4);
    let program = program(&elf, "send").unwrap();
    assert_eq!(program.core, CoreType::AvrePc2);
    let names: Vec<&str> = program.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["send", "pause"], "main is not reached from `send`");
    let pause = program.function("pause").unwrap().entry;
    assert!(program.code.iter().any(|step| step.flow == Flow::Call(Callee::Known(pause))));
    let proof = check(&elf).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(proof.events[0].states, 16);
    assert_eq!(proof.events[0].deviation, Some((0, 0)));
    assert_eq!(proof.window, Window::Cycles(1 + 16 * 34 - 1 + 1));
    assert_eq!(proof.stack.bytes, 2);
    assert!(proof.trusted.is_empty());
}

#[test]
fn a_call_that_the_linker_shortens_moves_the_event_and_is_reported() {
    let violation = check(&link(TEXT, "atmega128", &["-mrelax"])).unwrap_err();
    let Kind::Untimely { event, expected, found, .. } = &violation.kind else { panic!("{violation}") };
    assert_eq!((event.as_str(), expected.as_slice(), *found), ("tx", [34].as_slice(), 33));
    let Origin::Address(_) = violation.origin else { panic!("{violation}") };
    let words = violation.to_string();
    assert!(words.contains("at cycle 33, expected cycle 34"), "{words}");
}

#[test]
fn a_chip_with_a_longer_program_counter_takes_longer_to_call() {
    let violation = check(&link(TEXT, "atmega2560", &[])).unwrap_err();
    // A call and a return of 5 cycles each: the next write is due at 34, and comes at 36.
    assert!(matches!(violation.kind, Kind::NoNextStart { found: 35, .. }), "{violation}");
}

#[test]
fn an_extended_core_needs_its_chip_named() {
    let elf = link(TEXT, "atxmega32a4", &[]);
    assert!(matches!(program(&elf, "send"), Err(LinkedError::NoChip { architecture: 102 })));
    let named = TEXT.replace("weave \"clock", "weave \"chip atxmega32a4\"\n    weave \"clock");
    let elf = link(&named, "atxmega32a4", &[]);
    assert_eq!(program(&elf, "send").unwrap().core, CoreType::Avrxm);
    let other = named.replace("chip atxmega32a4", "chip atmega128");
    let elf = link(&other, "atxmega32a4", &[]);
    assert!(matches!(program(&elf, "send"), Err(LinkedError::NoChip { .. })));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let said = |text: &str| program(&link(text, "atmega128", &[]), "send").unwrap_err().to_string();
    assert_eq!(
        program(&link(TEXT, "atmega128", &[]), "sned").unwrap_err().to_string(),
        "no such function: found `sned`, expected one of `send`, `pause`, `main`"
    );
    let broken = said(&TEXT.replace("trip 16", "trap 16"));
    assert!(broken.starts_with("directive `trap 16` at 0x0006: "), "{broken}");
    let dead = said(
        &TEXT.replace("    .size send", "    weave \"event late at=1\"\n    nop\n    ret\n    .size send"),
    );
    assert_eq!(dead, "directive `event late at=1` stands at 0x001c, where no instruction is reached");
    let outside = said(&TEXT.replace("call pause", "call 0x1fffe"));
    assert_eq!(outside, "execution comes to 0x1fffe, where the file has no flash");
    let data = said(&TEXT.replace("    ld r18, X+", "    .word 0xffff"));
    assert!(data.starts_with("found 0xffff at 0x000c, expected an instruction"), "{data}");
    let cut = said(&TEXT.replace(".asciz", ".ascii"));
    assert!(cut.starts_with("section `.weave` has no record at byte"), "{cut}");
}

proptest! {
    #[test]
    fn random_bytes_are_refused_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert!(program(&bytes, "send").is_err());
    }
}

#[test]
fn truncated_and_changed_files_never_panic() {
    let elf = link(TEXT, "atmega128", &[]);
    for length in (0..elf.len()).step_by(7) {
        let _ = program(&elf[..length], "send");
    }
    proptest!(|(changes in prop::collection::vec((0..elf.len(), any::<u8>()), 1..8))| {
        let mut changed = elf.clone();
        for (at, byte) in changes {
            changed[at] = byte;
        }
        if let Ok(program) = program(&changed, "send")
            && let Some(function) = program.function("send")
        {
            let _ = prove(&program, function, Options::default());
        }
    });
}
