//! What a user brings to `selvedge weave` that no file test can prepare, because it takes a compiler or a link: C that
//! asks the preprocessor and the library, what was woven as `.S`, an output that is a source by another name.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use soak::is_soak;

/// The files of the command line's tests.
fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/weave")
}

/// Whether there is a compiler; says so where there is none.
fn is_compiled(what: &str) -> bool {
    let found = Command::new("avr-gcc").arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
    if !found {
        println!("skip: {what}: avr-gcc is not installed");
    }
    found
}

fn selvedge(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(words.split_whitespace()).current_dir(folder).output().expect("selvedge runs")
}

/// It ended with `code` and says all of `words`.
#[track_caller]
fn assert_ends(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "expected {words:?}: {said}");
}

/// A folder with the guest `pulse.s` and a host `sum` in C.
fn folder(host: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(files().join("pulse.s"), folder.path().join("pulse.s")).expect("it is there");
    fs::write(folder.path().join("sum.c"), host).expect("it can be written");
    folder
}

const WEAVE: &str = "weave sum.c --host sum --host-arguments 2,1 --guest pulse.s --guest-fn pulse --chip atmega128 \
                     -D PERIOD=140";

#[test]
fn a_value_that_only_the_preprocessor_asks_for_is_used() {
    if !is_compiled("values that the preprocessor asks for") {
        return;
    }
    let folder = folder(
        "#ifndef STEP\n#define STEP 1\n#endif\n\
         unsigned sum(const unsigned char *data, unsigned char count)\n\
         {\n    unsigned sum = 0;\n    while (count--) {\n        sum += *data++ * STEP;\n    }\n    return sum;\n}\n",
    );
    let weave = |more: &str| selvedge(folder.path(), &format!("{WEAVE} -o both.s {more}"));
    assert_ends(&weave("-D STEP=3"), 0, &["woven: sum_pulse"]);
    assert_ends(
        &weave("-D STEPS=3"),
        2,
        &["`STEPS`, which nothing has a use for", "one of `PERIOD`, `STEP`"],
    );
    assert_ends(&weave("--sweep STEP=3,4"), 0, &["Values of STEP"]);
    assert_ends(&weave("-D PERIOD=x"), 2, &["expected a number"]);
}

#[test]
fn what_is_woven_for_the_preprocessor_says_its_chip() {
    if !is_compiled("a woven file for the preprocessor") {
        return;
    }
    let sum = fs::read_to_string(files().join("sum.c")).expect("it is there");
    let folder = folder(&sum);
    assert_ends(
        &selvedge(folder.path(), &format!("{WEAVE} -D F_CPU=16000000 -o both.S")),
        0,
        &["woven: sum_pulse"],
    );
    let check = |more: &str| selvedge(folder.path(), &format!("weave check both.S --fn sum_pulse {more}"));
    assert_ends(&check(""), 0, &["proved", "cycles of: atmega128"]);
    assert_ends(&check("--chip atmega128 -D F_CPU=16000000"), 0, &["proved"]);
    assert_ends(&check("--chip atmega328p"), 1, &["is timed for atmega128"]);
    assert_ends(&check("-D F_CPU=8000000"), 1, &["is timed for 16000000 Hz"]);
    // A file that says nothing of a chip has to be asked for.
    fs::write(folder.path().join("plain.S"), "f:\n        ret\n").expect("it can be written");
    assert_ends(&selvedge(folder.path(), "weave check plain.S --fn f"), 1, &["help: name it with `--chip`"]);
}

#[test]
fn an_output_that_links_to_a_source_is_refused_and_the_source_stays() {
    let sum = fs::read_to_string(files().join("sum.s")).expect("it is there");
    let folder = folder("");
    fs::write(folder.path().join("sum.s"), &sum).expect("it can be written");
    fs::hard_link(folder.path().join("sum.s"), folder.path().join("hard.s")).expect("one file system");
    symlink("sum.s", folder.path().join("soft.s")).expect("a link");
    for out in ["hard.s", "soft.s"] {
        let words = WEAVE.replace("sum.c", "sum.s");
        let refused = selvedge(folder.path(), &format!("{words} -o {out}"));
        assert_ends(&refused, 2, &[out, "the same file as `sum.s`"]);
        assert_eq!(fs::read_to_string(folder.path().join("sum.s")).expect("it is there"), sum);
    }
}

#[test]
fn an_output_in_the_place_of_what_a_source_comes_from_is_refused() {
    if !is_compiled("outputs that a source comes from") {
        return;
    }
    let sum = fs::read_to_string(files().join("sum.c")).expect("it is there");
    let folder = folder(&format!("#include \"limits.h\"\n{sum}"));
    let header = "#define LIMIT 12\n";
    fs::write(folder.path().join("limits.h"), header).expect("it can be written");
    let refused = selvedge(folder.path(), &format!("{WEAVE} -o both.s --header limits.h"));
    assert_ends(&refused, 2, &["found `limits.h` as an output", "the same file as `limits.h`"]);
    assert_eq!(fs::read_to_string(folder.path().join("limits.h")).expect("it is there"), header);
    // What a compiler has made says of what.
    let compiled = Command::new("avr-gcc")
        .args(["-mmcu=atmega128", "-O2", "-S", "sum.c"])
        .current_dir(folder.path())
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let words = WEAVE.replace("sum.c", "sum.s");
    let refused = selvedge(folder.path(), &format!("{words} -o ./sum.c"));
    assert_ends(&refused, 2, &["found `./sum.c` as an output", "the same file as `sum.c`"]);
    assert!(fs::read_to_string(folder.path().join("sum.c")).is_ok_and(|text| text.ends_with(&sum)));
}

#[test]
fn a_name_that_the_hosts_code_uses_is_taken() {
    if !is_compiled("names that C uses") {
        return;
    }
    let folder = folder(
        "extern volatile unsigned char counter;\nstatic volatile unsigned char own;\nunsigned both(void);\n\
         unsigned sum(const unsigned char *data, unsigned char count)\n{\n    unsigned sum = 0;\n    \
         while (count--) {\n        sum += *data++;\n        counter++;\n        own++;\n    }\n    return sum;\n}\n\
         unsigned use(void)\n{\n    return both();\n}\n",
    );
    let weave = |name: &str| selvedge(folder.path(), &format!("{WEAVE} -o both.s --name {name}"));
    for name in ["counter", "own"] {
        let said = format!("found `{name}` as the woven function's name, which `sum.c` has already");
        assert_ends(&weave(name), 2, &[&said]);
    }
    // Who calls what is woven may stand beside the host.
    assert_ends(&weave("both"), 0, &["woven: both"]);
}

#[test]
fn a_callee_that_is_nowhere_is_named_whether_the_compiler_knows_the_chip_or_not() {
    if !is_compiled("chips that the compiler does not know") {
        return;
    }
    let folder = folder("");
    fs::copy(files().join("sum.s"), folder.path().join("sum.s")).expect("it is there");
    let words = format!("{} -o both.s", WEAVE.replace("sum.c --host sum", "sum.s --host sums"));
    let known = selvedge(folder.path(), &words);
    assert_ends(&known, 1, &["the code of `elsewhere` is not here\n"]);
    assert!(!String::from_utf8_lossy(&known.stderr).contains("not looked at"));
    // avr-gcc knows this one from version 10 on.
    let unknown = selvedge(folder.path(), &words.replace("atmega128", "atmega4809"));
    assert_ends(&unknown, 1, &["the code of `elsewhere` is not here\n"]);
}

#[test]
fn a_function_of_the_library_with_data_of_its_own_is_refused() {
    if !is_compiled("functions of the library with data of their own") {
        return;
    }
    let folder = folder(
        "#include <stdlib.h>\n\
         unsigned sum(const unsigned char *data, unsigned char count)\n{\n    return *data + count * rand();\n}\n",
    );
    let refused = selvedge(folder.path(), &format!("{WEAVE} -o both.s"));
    let why = "sum.c:4: `rand` of the library cannot be woven: `libc.a(rand.o)`: `rand` needs at 0x";
    let line = "expected a symbol that others see\n    \tcall rand\n    \t^^^^^^^^^\nhelp: let the host do without it";
    assert_ends(&refused, 1, &[why, line]);
    assert!(!folder.path().join("both.s").exists());
}

#[test]
fn a_function_that_the_library_calls_is_refused_where_the_host_calls_into_it() {
    if !is_compiled("functions that the library calls") {
        return;
    }
    let folder = folder(
        "#include <stdlib.h>\n\
         unsigned sum(const unsigned char *data, unsigned char count)\n{\n    if (count == 0)\n        abort();\n    \
         return *data;\n}\n",
    );
    let refused = selvedge(folder.path(), &format!("{WEAVE} -o both.s"));
    assert_ends(&refused, 1, &["sum.c:5: `_exit` of the library cannot be woven: ", "\n    \tcall abort\n"]);
}

#[test]
fn parameters_that_the_hosts_definition_contradicts_are_refused() {
    if !is_compiled("parameters that C contradicts") {
        return;
    }
    let folder = folder(
        "#include <stdint.h>\nuint16_t sum(const uint8_t *data,\n             uint8_t count)\n{\n    \
         uint16_t sum = 0;\n    while (count--) {\n        sum += *data++;\n    }\n    return sum;\n}\n",
    );
    for (found, says) in [("2", "2 bytes"), ("2,2", "2,2 bytes"), ("0", "no bytes")] {
        let words = WEAVE.replace("--host-arguments 2,1", &format!("--host-arguments {found}"));
        let refused = selvedge(folder.path(), &format!("{words} -o both.s"));
        let says = format!("found parameters of {says}");
        let expected =
            "`sum(const uint8_t *data, uint8_t count)`, as `sum.c` has it\nhelp: these are 2,1 bytes";
        assert_ends(&refused, 2, &[&says, expected]);
    }
    assert_ends(&selvedge(folder.path(), &format!("{WEAVE} -o both.s")), 0, &["woven: sum_pulse"]);
}

#[test]
fn what_only_the_chips_own_library_has_is_woven() {
    if !is_compiled("functions of the chip's library") {
        return;
    }
    let folder = folder(
        "#include <avr/eeprom.h>\n\
         unsigned sum(const unsigned char *data, unsigned char count)\n{\n    unsigned sum = 0;\n    \
         while (count--) {\n        sum += eeprom_read_byte(data++);\n    }\n    return sum;\n}\n\
         unsigned char copy(unsigned char *data, unsigned char byte)\n{\n    \
         eeprom_write_byte(data, byte);\n    return 1;\n}\n",
    );
    for host in ["sum", "copy"] {
        let words = WEAVE.replace("--host sum", &format!("--host {host}"));
        assert_ends(&selvedge(folder.path(), &format!("{words} -o {host}.s")), 0, &["woven: "]);
    }
    // The write has to come within four cycles of what permits it: nothing of the guest comes between.
    let copy = fs::read_to_string(folder.path().join("copy.s")).expect("it was woven");
    let code: Vec<&str> = copy.lines().filter(|line| !line.contains(['#', ';'])).map(str::trim).collect();
    let permits = || code.iter().enumerate().filter(|(_, line)| **line == "sbi 0x1c, 2");
    assert!(permits().count() > 0 && permits().all(|(at, _)| code[at + 1] == "sbi 0x1c, 1"), "{copy}");
}

#[test]
fn branches_are_written_as_the_hosts_author_spells_them() {
    let folder = folder("");
    let host = "sum:\n        ;@weave arguments 1\n        ldi r25, 7\n1:      cp r25, r24\n        brlo 2f\n        \
                brcs 2f\n        CLR r24\n2:      dec r25\n        brne 1b\n        ret\n";
    fs::write(folder.path().join("sum.s"), host).expect("it can be written");
    let words = WEAVE.replace("sum.c", "sum.s");
    assert_ends(&selvedge(folder.path(), &format!("{words} -o both.s --growth 12")), 0, &["woven: "]);
    let woven = fs::read_to_string(folder.path().join("both.s")).expect("it was woven");
    let count =
        |word: &str| woven.lines().filter(|line| line.split_whitespace().next() == Some(word)).count();
    // What weaving adds of its own has other names.
    assert!(["brlo", "brcs", "clr"].into_iter().all(|word| count(word) > 0), "{woven}");
}

/// Ten seconds: all states of the limit are visited.
#[test]
fn a_host_with_too_many_states_is_refused_with_what_helps() {
    if !is_soak() || !is_compiled("hosts that calculate with float") {
        return;
    }
    let folder = folder(
        "float sum(const unsigned char *data, unsigned char count)\n{\n    float sum = 0;\n    \
         while (count--) {\n        sum += *data++ * 0.37f;\n    }\n    return sum;\n}\n",
    );
    let refused = selvedge(folder.path(), &format!("{} -o both.s", WEAVE.replace("140", "514")));
    assert_ends(&refused, 1, &["are not proved in 4000000 states", "help: they come from branches on data"]);
}
