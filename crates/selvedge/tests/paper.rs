//! `selvedge paper sti`: what its rows say of a few cells, and with `SELVEDGE_SOAK=1` of all.
//!
//! What is a cycle count here is one by hand, from the datasheet's table of instructions and its chapter on interrupts.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use report::paper::{PaperRow, Verdict, read_ndjson};
use report::row::Value;
use soak::is_soak;

/// Each scheme once: weaving is what takes time.
const SCHEMES: &str = "busy-wait,isr-compiled,isr-by-hand,sti";

/// Whole bytes each second of a 16 MHz clock, when one is started every 8 N + 2 cycles.
fn line_rate(divider: u32) -> f64 {
    16e6 / f64::from(8 * divider + 2)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the cells that are asked for; none after saying that there is no compiler.
fn rows(words: &[&str]) -> Option<Vec<PaperRow>> {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        println!("skip: the paper's measurements: avr-gcc is not installed");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = command.args(["paper", "sti", "--json", "--root"]).arg(root()).args(words).output();
    let output = output.expect("selvedge runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let (rows, errors) = read_ndjson(&String::from_utf8(output.stdout).expect("rows are text"));
    assert_eq!(errors, []);
    assert!(!rows.is_empty());
    Some(rows)
}

/// The numbers of a metric, by case.
fn numbers<'a>(rows: &'a [PaperRow], metric: &str) -> BTreeMap<&'a str, f64> {
    let of_metric = rows.iter().filter(|row| row.metric() == metric);
    of_metric.filter_map(|row| Some((row.case(), row.ours()?.number()?))).collect()
}

/// The divider in a case's name.
fn divider(case: &str) -> u32 {
    case.rsplit_once("f/").expect("a cell has a divider").1.parse().expect("it is a number")
}

fn is_woven(case: &str) -> bool {
    case.contains("STI")
}

/// What must hold of any rows.
fn check(rows: &[PaperRow]) {
    assert!(rows.iter().all(|row| row.verdict() != Verdict::Missing));
    let rows: Vec<PaperRow> = rows.iter().filter(|row| row.table() != "system").cloned().collect();
    let rows = &rows[..];
    for (case, cycles) in numbers(rows, "jitter") {
        assert!(!is_woven(case) || cycles == 0.0, "{case}: {cycles}");
    }
    let shares = numbers(rows, "host bytes per byte");
    for (case, rate) in numbers(rows, "bus rate") {
        assert!(
            rate <= line_rate(divider(case)) * 1.000_001,
            "{case}: {rate} bytes/s are more than the line has"
        );
        if is_woven(case) && case.contains("transmit") {
            assert!(rate > line_rate(divider(case)) * 0.999_999, "{case}: {rate} bytes/s");
        }
        assert_eq!(case.contains("busy-wait"), shares[case] == 0.0, "{case}: {} %", shares[case]);
    }
    for (case, percent) in numbers(rows, "recovered") {
        assert!(is_woven(case) && percent > 0.0 && percent < 100.0, "{case}: {percent} %");
    }
}

#[test]
fn the_handlers_take_what_their_instructions_take_and_interrupt_entry_counts() {
    let words = [
        "--cipher",
        "rc4",
        "--build",
        "c,assembly",
        "--divider",
        "16",
        "--scheme",
        "isr-by-hand,isr-compiled",
    ];
    let Some(rows) = rows(&words) else { return };
    check(&rows);
    let handlers = numbers(&rows, "handler");
    for (build, direction, cycles) in [
        // Entry 4; out 1, ld 2, sbrc 1; reti 4.
        ("today's C", "encrypt and transmit", 12.0),
        // Entry 4; out 1, in 1, st 2, sbrc 1; reti 4.
        ("today's C", "decrypt and receive", 13.0),
        // And movw four times.
        ("today's assembly", "encrypt and transmit", 16.0),
        ("today's assembly", "decrypt and receive", 17.0),
    ] {
        assert_eq!(handlers[&*format!("RC4, {build}, {direction}, ISR, best by hand, f/16")], cycles);
    }
    // Entry 4, the vector's jmp 3, reti 4, and r0, r1 and SREG at least saved, cleared and restored.
    let compiled = handlers.iter().filter(|(case, _)| case.contains("compiled"));
    assert!(compiled.clone().count() > 0);
    compiled.for_each(|(case, &cycles)| assert!(cycles > 11.0 + 13.0, "{case}: {cycles}"));
}

#[test]
fn what_the_paper_prints_stands_beside_ours() {
    let words = [
        "--cipher",
        "rc4",
        "--build",
        "textbook-o0",
        "--direction",
        "send",
        "--divider",
        "8,32",
        "--scheme",
        SCHEMES,
    ];
    let Some(rows) = rows(&words) else { return };
    check(&rows);
    let printed: Vec<(&str, &str, &str)> = { rows.iter() }
        .filter_map(|row| Some((row.case(), row.metric(), row.printed()?.literal())))
        .collect();
    let case = "RC4, textbook -O0, encrypt and transmit";
    let at = |divider| format!("{case}, STI, f/{divider}");
    let [f8, f32] = [at(8), at(32)];
    assert_eq!(
        printed,
        [
            (case, "cycles per byte", "350"),
            (&*f8, "host bytes per byte", "16"),
            (&*f32, "host bytes per byte more than with the compiled ISR", "50"),
            (&*f32, "host bytes/s more than with the compiled ISR", "50"),
        ]
    );
    // The paper's kind of code, at about its speed; and what it found at f/8: a handler leaves next to nothing.
    let alone = numbers(&rows, "cycles per byte")[case];
    assert!((250.0..=400.0).contains(&alone), "{alone} cycles a byte");
    let shares = numbers(&rows, "host bytes per byte");
    let (woven, compiled) = (shares[&*f8], shares[&*format!("{case}, ISR, compiled, f/8")]);
    assert!(woven > 2.0 * compiled, "{woven} % and {compiled} %");
}

#[test]
fn weaving_gives_a_cipher_more_beside_a_fast_bus_and_the_best_handler_beside_a_slow_one() {
    let words = ["--cipher", "rc4", "--build", "assembly", "--direction", "send", "--divider", "4,64"];
    let Some(rows) = rows(&[&words[..], &["--scheme", "isr-by-hand,sti"]].concat()) else { return };
    check(&rows);
    let gains = numbers(&rows, "host bytes/s more than with the best ISR");
    let gain = |divider| gains[&*format!("RC4, today's assembly, encrypt and transmit, STI, f/{divider}")];
    assert!(gain(4) > 0.0 && gain(64) < 0.0, "{gains:?}");
    for how in ["computed", "measured"] {
        let metric = format!("dividers with more host work than with the best ISR, {how}");
        let even: Vec<&PaperRow> = rows.iter().filter(|row| row.metric() == metric).collect();
        assert_eq!(even.len(), 1);
        assert_eq!(even[0].ours(), Some(&Value::Text("f/4".to_owned())), "{metric}");
    }
}

#[test]
fn equal_seeds_give_equal_rows_and_a_coupled_cipher_keeps_up_with_the_fastest_line() {
    let words = [
        "--cipher",
        "rc4-line,rc4",
        "--build",
        "assembly",
        "--divider",
        "2",
        "--scheme",
        "sti-coupled,busy-wait",
    ];
    let Some(first) = rows(&words) else { return };
    assert_eq!(rows(&words).expect("there is a compiler"), first);
    check(&first);
    // A write every 18 cycles, and what is written is the cipher's result.
    let case = "RC4 of 32 bytes, today's assembly, encrypt and transmit, STI, coupled, f/2";
    assert_eq!(numbers(&first, "bus rate")[case], line_rate(2));
}

/// Of whole nodes at f/16, by what a handler's instructions take: 64 at least as avr-gcc compiles it, at most half of that by
/// hand. Woven ones are for when there is time.
#[test]
fn in_a_whole_node_the_best_handler_leaves_sealing_more_than_the_compiled_one_and_busy_waiting_nothing() {
    let schemes = if is_soak() { SCHEMES } else { "busy-wait,isr-compiled,isr-by-hand" };
    let words = ["--table", "system", "--divider", "16", "--scheme", schemes];
    let Some(rows) = rows(&words) else { return };
    let of = |metric: &str| {
        let numbers = numbers(&rows, metric);
        let at = |scheme: &str| numbers.get(&*format!("node, {scheme}, f/16")).copied();
        ["busy-wait", "ISR, compiled", "ISR, best by hand", "STI"].map(at)
    };
    let [polled, compiled, by_hand, woven] = of("byte to byte").map(|cycles| cycles.unwrap_or(f64::NAN));
    assert!(polled > 130.0 && by_hand > 130.0 && compiled > by_hand + 20.0);
    let [no_share, compiled_share, by_hand_share, woven_share] = of("into sealing");
    assert_eq!(no_share, Some(0.0));
    let handler = |cycles: f64, share: Option<f64>| cycles * (1.0 - share.expect("it seals") / 100.0);
    let (compiled, by_hand) = (handler(compiled, compiled_share), handler(by_hand, by_hand_share));
    assert!(compiled > 64.0 && (16.0..40.0).contains(&by_hand), "{compiled} and {by_hand} cycles a byte");
    if is_soak() {
        assert_eq!(woven, 130.0);
        assert!(woven_share.is_some_and(|share| share > 50.0), "{woven_share:?}");
    }
    let count = if is_soak() { 4 } else { 3 };
    for (metric, least, most) in [
        ("highest sample rate", 360.0, 2581.0),
        ("slot off", 0.0, 100.0),
        ("sample off", 0.0, 42.5),
        ("energy per byte", 1.0, 100.0),
        ("awake per byte", 400.0, 4000.0),
    ] {
        let found: Vec<f64> = of(metric).into_iter().flatten().collect();
        assert!(
            found.len() == count && found.iter().all(|value| (least..most).contains(value)),
            "{metric}: {found:?}"
        );
    }
}

#[test]
fn a_page_shows_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("a/b");
    let out_text = out.display().to_string();
    let mut words = vec!["--cipher", "rc4", "--build", "assembly", "--direction", "send", "--divider", "16"];
    words.extend(["--scheme", SCHEMES, "--out", &out_text]);
    let Some(printed) = rows(&words) else { return };
    let page = std::fs::read_to_string(out.join("sti.html")).expect("the page is written");
    for words in ["T_trans", "T_push", "what is left", "Figures 10 and 11", "ISR, best by hand"] {
        assert!(page.contains(words), "the page says nothing of `{words}`");
    }
    let kept = std::fs::read_to_string(out.join("sti.ndjson")).expect("the rows are written");
    assert_eq!(read_ndjson(&kept).0, printed);
}

/// All cells; a few minutes.
#[test]
fn every_cell_is_measured() {
    if !is_soak() {
        return;
    }
    let Some(rows) = rows(&[]) else { return };
    check(&rows);
    let words = |row: &PaperRow| match row.ours() {
        Some(Value::Text(words)) if row.metric() == "host bytes per byte" => Some(words.clone()),
        _ => None,
    };
    let cells = rows.iter().filter(|row| row.metric() == "host bytes per byte").count();
    // 8 hosts at 7 dividers in 5 schemes, 8 at 5 in 4, both ways; and one that is coupled.
    assert_eq!(cells, 2 * (8 * 7 * 5 + 8 * 5 * 4) + 1);
    rows.iter()
        .filter_map(|row| Some((row.case(), words(row)?)))
        .for_each(|(case, why)| println!("{case}: {why}"));
}
