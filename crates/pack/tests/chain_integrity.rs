//! Lines that are not what was sealed end the run with their address before anything of them leaves the core, whether
//! the core waits for checks or goes on meanwhile; and what checks cost is counted by hand.

mod packets;

use std::sync::Arc;

use isa::Cycles;
use isa::sparc::machine::{Settings as Core, Spent};
use isa::sparc::{FaultKind, Files, Stop, Timing, User, user};
use pack::chain::integrity::{self, Check, Group};
use pack::chain::run::{self, End};
use pack::chain::{Outcome, Protection, Settings, Shape, Unsealed, Work};
use pack::code::packet::Format;
use pack::image::{Image, Kind, Section};
use packets::{CODE, DATA, Word, mixed, packet, plain};

const MEMORY_BYTES: u32 = 0x2_0000;
/// Where MACs are.
const MACS: u32 = 0x4000_8000;

/// Sums with a key, in the place of MACs.
#[derive(Clone, Copy)]
struct Sums {
    first: u32,
    end: u32,
    group_lines: u32,
    mac_bytes: u32,
}

impl Sums {
    fn mac(self, group: Group, lines: &[u8]) -> Vec<u8> {
        let fold = |seed: u64| lines.iter().fold(mixed(seed), |sum, &byte| mixed(sum ^ u64::from(byte)));
        let halves = [fold(u64::from(group.first)), fold(!u64::from(group.first))];
        halves.iter().flat_map(|half| half.to_be_bytes()).take(self.mac_bytes as usize).collect()
    }
}

impl Check for Sums {
    fn group(&self, address: u32) -> Option<Group> {
        let group_bytes = self.group_lines * 16;
        let number = address.checked_sub(self.first).filter(|_| address < self.end)? / group_bytes;
        let first = self.first + number * group_bytes;
        Some(Group { first, bytes: group_bytes.min(self.end - first), mac: MACS + number * self.mac_bytes })
    }

    fn mac_bytes(&self) -> u32 {
        self.mac_bytes
    }

    fn is_sound(&self, group: Group, lines: &[u8], mac: &[u8]) -> bool {
        self.mac(group, lines) == mac
    }
}

/// An image's code with MACs, and which bit of memory is another one.
fn protection(image: &Image, group_lines: u32, mac_bytes: u32, flipped: Option<(u32, u8)>) -> Protection {
    let code = &image.sections[0];
    let mut bytes = code.bytes.clone();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let end = code.first + bytes.len() as u32;
    let sums = Sums { first: code.first, end, group_lines, mac_bytes };
    let mut macs = Vec::new();
    let mut at = code.first;
    while at < end {
        let group = sums.group(at).expect("it has one");
        let from = (group.first - code.first) as usize;
        macs.extend(sums.mac(group, &bytes[from..from + group.bytes as usize]));
        at = group.first + group.bytes;
    }
    if let Some((address, bit)) = flipped {
        bytes[(address - code.first) as usize] ^= 1 << bit;
    }
    Protection {
        memory: Some(vec![(code.first, bytes), (MACS, macs)]),
        cipher: Some(Arc::new(Unsealed(Work::Block))),
        sealed: std::iter::once(code.first..end).collect(),
        check: Some(Arc::new(sums)),
    }
}

/// How checks are done: whether the core goes on, and with which cache of MACs.
fn settings(speculative: bool, mac_cache: Option<Shape>) -> Settings {
    let integrity = integrity::Settings { latency_cycles: 80, speculative, mac_cache };
    Settings { integrity, ..Settings::default() }
}

/// Runs on a board on which everything takes a cycle, with traps off: the first trap ends the program.
fn on_board(image: &Image, protection: &Protection, settings: &Settings) -> Outcome {
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    let started = run::on_board(image, protection, settings, core, MEMORY_BYTES, &[]);
    let mut machine = started.expect("it fits");
    machine.set_register(1, 0x8000_0100);
    run::finish_board(&mut machine, 1_000_000, &mut ())
}

/// Sends the letters from `a` on, one for two words, each computed with the one before.
fn letters(count: u32) -> Vec<Word> {
    let mut words = vec![plain("nop"), plain("mov 96, %g2")];
    for _ in 0..count {
        words.extend([plain("add %g2, 1, %g2"), plain("st %g2, [%g1]")]);
    }
    words.push(plain("ta 0"));
    words
}

const LETTERS: u32 = 21;

fn all() -> Vec<u8> {
    (b'a'..).take(LETTERS as usize).collect()
}

#[test]
fn a_flipped_bit_in_any_line_ends_the_run_before_anything_of_its_group_is_sent() {
    let image = packets::image(&letters(LETTERS));
    let end = CODE + image.sections[0].bytes.len() as u32;
    for (group_lines, mac_bytes) in [(1, 8), (1, 16), (4, 8), (8, 16)] {
        for (speculative, cached) in [(false, false), (false, true), (true, false), (true, true)] {
            let settings = settings(speculative, cached.then(|| Shape::direct(64)));
            let sound = on_board(&image, &protection(&image, group_lines, mac_bytes, None), &settings);
            assert!(
                matches!(sound.end, End::Fault(fault) if matches!(fault.kind, FaultKind::ErrorMode { .. }))
            );
            assert_eq!(sound.output, all());
            for line in (CODE..end.next_multiple_of(16)).step_by(16) {
                let random = mixed(u64::from(line));
                let flipped = (line + (random % 16) as u32, (random >> 8) as u8 % 8);
                let protection = protection(&image, group_lines, mac_bytes, Some(flipped));
                let outcome = on_board(&image, &protection, &settings);
                let group = CODE + (line - CODE) / (16 * group_lines) * (16 * group_lines);
                let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
                assert_eq!(fault.kind, FaultKind::LineCheck { line: group }, "{flipped:x?}");
                // Two words come before the letters, each of which takes two.
                let sent = ((group - CODE) / 4).saturating_sub(2) / 2;
                assert_eq!(outcome.output, all()[..sent as usize], "{flipped:x?} {speculative}");
            }
        }
    }
}

#[test]
fn without_checks_a_flipped_bit_is_executed() {
    let image = packets::image(&letters(LETTERS));
    // The constant of the first letter.
    let mut tampered = protection(&image, 1, 8, Some((CODE + 7, 1)));
    tampered.check = None;
    assert_ne!(on_board(&image, &tampered, &Settings::default()).output, all());
}

#[test]
fn a_mac_that_is_not_in_memory_fits_nothing() {
    let image = packets::image(&letters(2));
    let mut without = protection(&image, 1, 8, None);
    without.memory.as_mut().expect("it was given").truncate(1);
    let End::Fault(fault) = on_board(&image, &without, &settings(false, None)).end else { panic!("it ends") };
    assert_eq!(fault.kind, FaultKind::LineCheck { line: CODE });
}

#[test]
fn a_loop_that_was_put_there_is_left_when_its_check_has_ended() {
    let mut words = letters(4);
    words[2] = plain("ba .+0");
    words[3] = plain("nop");
    let looping = packets::image(&words);
    let image = packets::image(&letters(4));
    let mut protection = protection(&image, 4, 8, None);
    let memory = protection.memory.as_mut().expect("it was given");
    memory[0].1[..16].copy_from_slice(&looping.sections[0].bytes[..16]);
    let outcome = on_board(&image, &protection, &settings(true, None));
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!((fault.kind, outcome.output), (FaultKind::LineCheck { line: CODE }, vec![]));
    // The line; then the group's other two, and the MAC; then the check.
    let known = 80 + 2 * 4 + 80 + 80;
    assert!((known..known + 3).contains(&outcome.cycles), "{} cycles", outcome.cycles);
}

/// Words that do nothing, to the end of a line that ends the program.
fn nothing(lines: u32) -> Image {
    let mut words = vec![plain("nop"); 4 * lines as usize - 1];
    words.push(plain("ta 0"));
    packets::image(&words)
}

/// Instructions, then cycles for lines, and what was waited for checks.
fn cost(lines: u32, group_lines: u32, mac_bytes: u32, settings: &Settings) -> (Cycles, Outcome) {
    let image = nothing(lines);
    let outcome = on_board(&image, &protection(&image, group_lines, mac_bytes, None), settings);
    assert_eq!(outcome.counts.misses, lines.into());
    (outcome.cycles - outcome.spent.instructions, outcome)
}

#[test]
fn a_core_that_waits_for_checks_waits_for_lines_macs_and_the_check() {
    let lines = 16;
    // The line, its MAC, the check: the cipher is faster.
    let (cycles, outcome) = cost(lines, 1, 8, &settings(false, None));
    assert_eq!(cycles, 16 * (80 + 80 + 80));
    let checks = outcome.counts.transfers.checks;
    assert_eq!((checks.groups, checks.mac_lines, checks.lines_beside), (16, 16, 0));
    assert_eq!(outcome.counts.transfers.bus_bytes, 16 * (16 + 16));
    let transfers = outcome.counts.transfers;
    let by_cause = (transfers.memory_cycles, transfers.cipher_cycles, transfers.check_cycles);
    assert_eq!(by_cause, (16 * 80, 16 * 40, 16 * 120));
    // Two MACs of 8 bytes are in a line.
    let (cycles, outcome) = cost(lines, 1, 8, &settings(false, Some(Shape::direct(64))));
    assert_eq!(cycles, 8 * (80 + 80 + 80) + 8 * (80 + 80));
    assert_eq!((outcome.counts.transfers.checks.mac_lines, outcome.counts.transfers.checks.mac_hits), (8, 8));
    // Four lines to a MAC: for each of them the others come, too, a word in a cycle.
    let (cycles, outcome) = cost(lines, 4, 16, &settings(false, None));
    assert_eq!(cycles, 16 * (80 + 3 * 4 + 80 + 80));
    assert_eq!(outcome.counts.transfers.checks.lines_beside, 16 * 3);
    // Lines of the cache as long as those: once.
    let long = Shape { line_bytes: 64, ..Shape::direct(1024) };
    let image = nothing(16);
    let settings = Settings { cache: long, ..settings(false, None) };
    let outcome = on_board(&image, &protection(&image, 4, 16, None), &settings);
    let checks = outcome.counts.transfers.checks;
    assert_eq!((checks.groups, checks.lines_beside, checks.mac_lines), (4, 0, 4));
    assert_eq!(outcome.cycles - outcome.spent.instructions, 4 * (80 + 3 * 4 + 80 + 80));
}

#[test]
fn a_core_that_goes_on_waits_when_something_leaves_it() {
    let (cycles, outcome) = cost(1, 1, 8, &settings(true, None));
    // Three instructions after 120 cycles, and then the end waits for the line, the MAC and the check.
    let Spent { fetch_cycles, settle_cycles, .. } = outcome.spent;
    assert_eq!((cycles + 3, fetch_cycles, settle_cycles), (80 + 80 + 80, 120, 117));
    // Where lines follow each other, the bus is busy with a MAC when the next one is wanted.
    let (waits, _) = cost(16, 1, 8, &settings(false, None));
    let (goes_on, outcome) = cost(16, 1, 8, &settings(true, None));
    assert!(goes_on < waits, "{goes_on} {waits}");
    assert!(outcome.counts.transfers.memory_cycles > 16 * 80);
    let (without, _) = cost(16, 1, 8, &settings(true, Some(Shape::direct(256))));
    assert!(without < goes_on, "{without} {goes_on}");
}

#[test]
fn stores_wait_for_checks_if_they_leave_the_core() {
    let words = [plain("nop"), plain("st %g0, [%g3]"), plain("nop"), plain("ta 0")];
    let image = packets::image(&words);
    let protection = protection(&image, 1, 8, None);
    for (holds_stores, data_cycles) in [(false, 0), (true, 240 - 121)] {
        let settings = Settings { holds_stores, ..settings(true, None) };
        let core = Core { timing: Timing::ideal(), ..Core::default() };
        let started = run::on_board(&image, &protection, &settings, core, MEMORY_BYTES, &[]);
        let mut machine = started.expect("it fits");
        machine.set_register(3, DATA);
        assert!(matches!(machine.run(1_000, &mut ()), Stop::Fault(_)));
        assert_eq!(machine.spent().data_cycles, data_cycles);
        assert!(machine.cycle() >= 240, "{}", machine.cycle());
    }
}

/// A program under Linux' calls that writes eight bytes of constants and ends.
fn writer() -> Image {
    let mut image = packets::image(&[
        packet(Format::Three, &["mov 4, %g1", "mov 1, %o0", "mov 8, %o2"]),
        plain("sethi %hi(0x40002000), %o1"),
        plain("ta 0x10"),
        plain("mov 1, %g1"),
        plain("mov 0, %o0"),
        plain("ta 0x10"),
    ]);
    let bytes = b"constant".to_vec();
    image.sections.push(Section {
        name: ".rodata".to_owned(),
        kind: Kind::Constants,
        first: 0x4000_2000,
        bytes,
    });
    image
}

fn under_linux(image: &Image, protection: &Protection, speculative: bool) -> (user::Stop, Vec<u8>) {
    let (settings, user) = (settings(speculative, None), user::Settings::default());
    let started = run::under_linux(image, protection, &settings, &["writer"], Files::default(), user);
    let mut program: User<_> = started.expect("it fits");
    let stop = program.run(1_000_000, &mut ());
    (stop, program.files.output)
}

#[test]
fn what_a_system_call_takes_from_memory_is_checked_too() {
    let image = writer();
    for speculative in [false, true] {
        let constants = &image.sections[1];
        let sums = Sums { first: constants.first, end: constants.first + 16, group_lines: 1, mac_bytes: 8 };
        let mut line = constants.bytes.clone();
        line.resize(16, 0);
        let group = sums.group(constants.first).expect("it has one");
        let macs = sums.mac(group, &line);
        for tampered in [false, true] {
            line[3] ^= u8::from(tampered);
            let code = &image.sections[0];
            let memory =
                vec![(code.first, code.bytes.clone()), (constants.first, line.clone()), (MACS, macs.clone())];
            let check: Option<Arc<dyn Check>> = Some(Arc::new(sums));
            let protection = Protection { memory: Some(memory), check, ..Protection::default() };
            let (stop, output) = under_linux(&image, &protection, speculative);
            if tampered {
                let user::Stop::Fault(fault) = stop else { panic!("{stop:?}") };
                let expected = FaultKind::LineCheck { line: constants.first };
                assert_eq!((fault.kind, output), (expected, vec![]));
            } else {
                assert_eq!((stop, output), (user::Stop::Exit(0), b"constant".to_vec()));
            }
        }
    }
}
