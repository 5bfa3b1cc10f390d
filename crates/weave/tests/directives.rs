//! Directives in texts: what each stands on, from comments and from the records that `firmware/node/weave.h` makes,
//! and that those records are in the linked file.

mod tools;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use isa::avr::CoreType;
use object::{Object, ObjectSection};
use proptest::prelude::*;
use weave::directive::{Directive, Parameters};
use weave::program::{Callee, Flow, Origin, Program};
use weave::source::Source;

fn read(text: &str, roots: &[&str]) -> Program {
    let sources = [Source::parse("a.s", text).unwrap_or_else(|error| panic!("{error}"))];
    let parameters: Parameters = [("N", 16)].into_iter().collect();
    let read = Program::read(&sources, roots, &parameters, Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}")).0
}

/// The program in a line an instruction: point, text, flow, expression, directives.
fn listed(program: &Program) -> String {
    let mut out = String::new();
    for function in &program.functions {
        writeln!(out, "{}:", function.name).unwrap();
        for written in &function.directives {
            writeln!(out, "    ({})", written.directive).unwrap();
        }
        for point in function.entry..function.end {
            let step = &program.code[point];
            write!(out, "{point:4} {}", step.instruction).unwrap();
            if let Some(expression) = &step.expression {
                write!(out, " <{expression}>").unwrap();
            }
            match &step.flow {
                Flow::Next => {}
                Flow::Call(Callee::Known(to)) => write!(out, " calls {to}").unwrap(),
                Flow::Call(Callee::Unknown(name)) => write!(out, " calls {name}").unwrap(),
                Flow::TailCall(Callee::Known(to)) => write!(out, " becomes {to}").unwrap(),
                Flow::TailCall(Callee::Unknown(name)) => write!(out, " becomes {name}").unwrap(),
                flow => write!(out, " {flow:?}").unwrap(),
            }
            for written in &step.directives {
                write!(out, " ({})", written.directive).unwrap();
            }
            out.push('\n');
        }
    }
    out
}

fn check(text: &str, roots: &[&str], expected: Expect) {
    expected.assert_eq(&listed(&read(text, roots)));
}

#[test]
fn comments_stand_on_their_line_or_on_the_next_instruction() {
    check(
        ".type f, @function
        ;@weave chip atmega128
f:      ;@weave clock tx period=8*N+2
        ldi r24, 3
        ;@weave trip 3
1:      nop $ out 0x0f, r0 ; @weave event tx at=0
        ; @weaver is another word
        dec r24     ;@weave produce
        brne 1b
        ret
        ;@weave f_cpu 16000000
        .size f, .-f
        ;@weave server g within=9
        .type g, @function
g:      ret ;@weave over
        ",
        &["f", "g"],
        expect![[r#"
            f:
                (chip atmega128)
                (clock tx period=130)
                (f_cpu 16000000)
               0 ldi r24, 0x03
               1 nop (trip 3)
               2 out 0x0f, r0 (event tx at=0)
               3 dec r24 (produce)
               4 brne .-8 Branch(1)
               5 ret Return
            g:
                (server g within=9)
               6 ret Return (over)
        "#]],
    );
}

#[test]
fn what_a_function_reaches_is_read_and_nothing_else() {
    check(
        ".global f, g, spare
f:      rcall g
        sbrc r24, 0
        call outside
        brne 2f
        ;@weave targets h
        icall
        rjmp 1f
1:      ret
2:      rcall .
        jmp far+2
g:      sbiw r24, lo8(-(-1))
        subi r30, -lo8(table)
h:      lds r24, table + 1
        ret
spare:  .word 0xffff
        ijmp
        .type h, @function
        ",
        &["f"],
        expect![[r#"
            f:
               0 rcall .+0 <g> calls 9
               1 sbrc r24, 0 Skip
               2 call 0x0 <outside> calls outside
               3 brne .+6 Branch(7)
               4 icall Indirect (targets h)
               5 rjmp .+0 Jump(6)
               6 ret Return
               7 rcall .+0
               8 jmp 0x0 <far+2> becomes far+2
            g:
               9 sbiw r24, 0x01
              10 subi r30, 0x00 <lo8(-(table))> becomes 11
            h:
              11 lds r24, 0x0000 <table + 1>
              12 ret Return
        "#]],
    );
}

#[test]
fn a_call_that_ends_its_function_ends_it_only_when_nothing_returns() {
    check(
        ".type f, @function
f:      call stop
.size f, .-f
.type stop, @function
stop:   call abort
.size stop, .-stop
        ",
        &["f"],
        expect![[r#"
            f:
               0 call 0x0 <stop> becomes 1
            stop:
               1 call 0x0 <abort> becomes abort
        "#]],
    );
    let text = "f: call stop\n.byte 0\nstop: sbrc r24, 0\n ret\n rjmp stop\n";
    let source = Source::parse("a.s", text).unwrap();
    let error = Program::read(&[source], &["f"], &Parameters::new(), Some(CoreType::AvrePc2)).unwrap_err();
    assert!(error.to_string().contains("past the end of `f` when `stop` returns"), "{error}");
}

#[test]
fn functions_in_other_texts_are_found_when_they_are_shown() {
    let texts = [
        (
            ".global f\nf: rcall g\n rcall hidden\n rcall h\n ret\n.weak g\ng: ret\n.weak h\nh: wdr\n ret\n",
            "one.s",
        ),
        (".global g\ng: rjmp hidden\nhidden: nop\n ret\n", "two.s"),
    ];
    let sources = texts.map(|(text, name)| Source::parse(name, text).unwrap());
    let (program, listing) =
        Program::read(&sources, &["f"], &Parameters::new(), Some(CoreType::AvrePc2)).unwrap();
    // The weak `g` yields to the other one, the weak `h` to none; `hidden` is not shown.
    expect![[r#"
        f:
           0 rcall .+0 <g> calls 6
           1 rcall .+0 <hidden> calls hidden
           2 rcall .+0 <h> calls 4
           3 ret Return
        h:
           4 wdr
           5 ret Return
        g:
           6 rjmp .+0 Jump(7)
           7 nop
           8 ret Return
    "#]]
    .assert_eq(&listed(&program));
    assert_eq!(listing.labels[&(1, "g".to_owned())], program.function("g").unwrap().entry);
    assert_eq!(listing.extents.iter().map(|extent| extent.source).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn a_program_without_a_chip_takes_the_given_core_and_its_own_before_that() {
    for (text, core) in [
        ("f: ret\n", CoreType::AvrePc2),
        ("f: ret ;@weave chip atmega4809\n", CoreType::Avrxt),
        ("f: ret ;@weave chip atmega2560\n", CoreType::AvrePc3),
        ("f: ret ;@weave chip atxmega32a4u\n", CoreType::Avrxm),
    ] {
        assert_eq!(read(text, &["f"]).core, core, "{text}");
    }
}

/// Runs a compiler over a text in a fresh folder, and returns what it wrote.
fn compiled(test: &str, file: &str, text: &str, tool: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("directives").join(test);
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    std::fs::write(folder.join(file), text).expect("write the text");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/node");
    let mut command = Command::new(tool);
    command.args(arguments).arg("-I").arg(include).args([file, "-o", "out"]).current_dir(&folder);
    let output = command.output().expect(tool);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    std::fs::read(PathBuf::from(&folder).join("out")).expect("read what was written")
}

/// The records of an ELF file: address and text.
fn records(elf: &[u8]) -> Vec<(u32, String)> {
    let file = object::File::parse(elf).expect("an ELF file");
    let section = file.section_by_name(".weave").expect("the section");
    let mut bytes = section.data().expect("its bytes");
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (address, rest) = bytes.split_at(4);
        let end = rest.iter().position(|byte| *byte == 0).expect("a zero");
        let text = String::from_utf8(rest[..end].to_vec()).expect("text");
        found.push((u32::from_le_bytes(address.try_into().unwrap()), text));
        bytes = &rest[end + 1..];
    }
    found
}

const ASSEMBLY: &str = "#include \"weave.h\"
    .global f
    .type f, @function
f:
    WEAVE(\"clock tx period=130|260\")
    ldi r24, 8
1:  WEAVE(\"event tx at=0\")
    out 0x0f, r24
    dec r24
    WEAVE(\"trip 8\") $ brne 1b
    ret
    .size f, .-f
";

const C: &str = "#include \"weave.h\"
void f(unsigned char byte)
{
    WEAVE_C(\"chip atmega128\");
    WEAVE_C(\"clock tx period=130|260\");
    do
        __asm__ volatile(WEAVE_TEXT(\"event tx at=0\") \"out %0, %1\" : : \"I\"(0x0f), \"r\"(byte));
    while (--byte);
}
";

#[test]
fn records_of_the_header_are_read_from_assembly_and_found_in_the_linked_file() {
    if !tools::present("weave.h in assembly", &["avr-gcc"]) {
        return;
    }
    let text = compiled("cpp", "a.S", ASSEMBLY, "avr-gcc", &["-mmcu=atmega128", "-E"]);
    check(
        std::str::from_utf8(&text).unwrap(),
        &["f"],
        expect![[r#"
        f:
            (clock tx period=130|260)
           0 ldi r24, 0x08
           1 out 0x0f, r24 (event tx at=0)
           2 dec r24
           3 brne .-6 Branch(1) (trip 8)
           4 ret Return
    "#]],
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/node/weave.ld");
    let options = format!("-Wl,--gc-sections,-e,f,-Ttext=0x100,-T,{}", script.display());
    let link = ["-mmcu=atmega128", "-nostartfiles", &options];
    let elf = compiled("link", "a.S", ASSEMBLY, "avr-gcc", &link);
    let file = object::File::parse(&*elf).unwrap();
    let code = file.section_by_name(".text").unwrap();
    let first = code.address() as u32;
    let words = [(first, "clock tx period=130|260"), (first + 2, "event tx at=0"), (first + 6, "trip 8")];
    assert_eq!(records(&elf), words.map(|(address, text)| (address, text.to_owned())));
}

#[test]
fn records_of_the_header_are_read_from_what_compilers_make_of_c() {
    if !tools::present("weave.h in C", &["avr-gcc", "clang"]) {
        return;
    }
    let clang = ["--target=avr", "-mmcu=atmega128", "-O2", "-S"];
    for (tool, arguments) in [
        ("avr-gcc", &["-mmcu=atmega128", "-Os", "-S"][..]),
        ("avr-gcc", &["-mmcu=atmega128", "-O0", "-S"]),
        ("clang", &clang),
    ] {
        let text = compiled(&format!("{tool}{}", arguments.len()), "a.c", C, tool, arguments);
        let program = read(std::str::from_utf8(&text).unwrap(), &["f"]);
        let function = program.function("f").unwrap();
        let of_function: Vec<String> =
            function.directives.iter().map(|written| written.directive.to_string()).collect();
        assert_eq!(of_function, ["chip atmega128", "clock tx period=130|260"], "{tool}");
        let events = program.code.iter().filter(|step| !step.directives.is_empty());
        let events: Vec<_> = events.collect();
        assert_eq!(events.len(), 1, "{tool}");
        assert_eq!(events[0].instruction.to_string().split(' ').next(), Some("out"), "{tool}");
        assert!(matches!(&events[0].directives[0].directive, Directive::Event { at: 0, .. }));
        assert!(matches!(events[0].directives[0].origin, Origin::Line { .. }));
    }
}

/// Lines that texts are made of, from the fixtures and from what breaks parsers.
fn lines() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut lines: Vec<String> = Vec::new();
    for file in [
        "source/hand.s",
        "source/macros.s",
        "source/ascon_p_avr.s",
        "source/ring_gcc54_O2_g.s",
        "source/ring_clang14_O2.s",
        "source/ring_gcc54_O0.s",
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a fixture");
        lines.extend(text.lines().map(str::to_owned));
    }
    let odd = [
        "f: g: 1:",
        "7701: .pushsection .weave,\"\",@progbits $ .long 7701b $ .asciz \"trip 3\" $ .popsection",
        ";@weave event e at=0",
        ".rept 3",
        ".endr",
        ".endm",
        ".macro m",
        ".macro m a, b=2, c:vararg",
        ".macro \\a b:req",
        "m",
        "m 1, \\a",
        "m \\a, \\c \\b",
        ".irp a, 1, 2",
        ".irpc a, 12",
        "\\a: ldi r16, \\a",
        ".exitm",
        ".else",
        ".elseif a",
        ".ifdef f",
        ".purgem m",
        ".if 1",
        ".endif",
        "a = b",
        "b = a + 1",
        "a = a + a",
        ".size f, .-f",
        ".type f, @function",
        "rjmp .-2",
        "call f+2",
        "\"",
        "'",
        "/*",
        "*/",
        "µ: nop",
        ".popsection",
        ".previous",
        ".subsection 1",
        "rcall 1b",
        "icall",
        "ret",
        ".set f, g",
        ".weak f",
    ];
    lines.extend(odd.map(str::to_owned));
    lines.sort();
    lines.dedup();
    lines
}

/// Reads without a panic; what the text was is kept, and what was read holds together.
fn survives(text: &str) {
    let Ok(source) = Source::parse("a.s", text) else { return };
    assert_eq!(source.text(), text);
    for roots in [&["f"][..], &["ring_put", "main"], &["first"]] {
        let read =
            Program::read(std::slice::from_ref(&source), roots, &Parameters::new(), Some(CoreType::Avrxt));
        match read {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok((program, _)) => holds(&program),
        }
    }
}

/// The invariants of a program.
fn holds(program: &Program) {
    let mut end = 0;
    for function in &program.functions {
        assert!(function.entry == end && function.end > end);
        end = function.end;
    }
    assert_eq!(end, program.code.len());
    for (point, step) in program.code.iter().enumerate() {
        let function = program.function_at(point).unwrap();
        let inside = |to: usize| (function.entry..function.end).contains(&to);
        match &step.flow {
            Flow::Next => assert!(inside(point + 1)),
            Flow::Branch(to) => assert!(inside(point + 1) && inside(*to)),
            Flow::Skip => assert!(inside(point + 2)),
            Flow::Jump(to) => assert!(inside(*to)),
            Flow::Call(callee) => {
                assert!(inside(point + 1));
                begins(program, callee);
            }
            Flow::TailCall(callee) => begins(program, callee),
            Flow::Return | Flow::ReturnFromInterrupt | Flow::Indirect | Flow::Stop => {}
        }
    }
}

fn begins(program: &Program, callee: &Callee) {
    if let Callee::Known(to) = callee {
        // A subroutine may stand within a function whose extent is written.
        assert!(program.function_at(*to).is_some());
    }
}

/// Lines that often make a whole block, and often one that runs away.
const MACROS: &[&str] = &[
    ".macro m a, b=2, c:vararg",
    ".macro n a",
    ".endm",
    ".endm",
    "m",
    "m 1, \\a, \\c",
    "n \\a\\@",
    "n \"\\a, \\a\"",
    ".irp a, 1, 2",
    ".irpc a, 12",
    ".rept 2",
    ".rept count",
    ".endr",
    ".endr",
    ".if count < 3",
    ".ifb \\c",
    ".else",
    ".endif",
    ".endif",
    ".exitm",
    ".set count, count + 1",
    "count = 0",
    "l\\@: ldi r16, \\a",
    "nop ;@weave event e\\a at=\\a",
    "1: rjmp 1b",
    ".if . - 1b == 2",
];

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n\tµ]{0,120}") {
        survives(&text);
    }

    #[test]
    fn any_soup_of_lines_is_read_or_refused(
        picks in proptest::collection::vec((proptest::sample::select(lines()), proptest::sample::select(&["\n", "$", " "][..])), 0..40)
    ) {
        let mut text = String::from("f:\n");
        picks.iter().for_each(|(line, end)| write!(text, "{line}{end}").unwrap());
        survives(&text);
    }

    #[test]
    fn any_soup_of_macros_is_read_or_refused(
        picks in proptest::collection::vec(proptest::sample::select(MACROS), 0..24)
    ) {
        survives(&format!("f:\n{}\n", picks.join("\n")));
    }

    #[test]
    fn any_beginning_of_a_fixture_is_read_or_refused(
        file in proptest::sample::select(&["hand.s", "macros.s", "rc5_avr.s", "ring_gcc54_Os.s", "ring_clang14_Os.s"][..]), at in any::<proptest::sample::Index>()
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/source").join(file);
        let text = std::fs::read_to_string(path).expect("a fixture");
        survives(&text[..at.index(text.len() + 1)]);
    }
}
