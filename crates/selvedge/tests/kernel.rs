//! The kernel on the simulated chips: every call does what avrx.h says, whenever interrupts come.
//!
//! An interrupt is forced at every cycle of a program. Each time all that the interrupted task can see of its processor
//! is as before when it goes on, the queues are in order, and what the program says is the same text. Pairs of
//! interrupts are random, from a printed seed; with `SELVEDGE_SOAK=1` some begin at every cycle.
//!
//! Random calls at random cycles leave the kernel's queues as a model of it does (`avrx/model.rs`), which is its second
//! witness.

mod avrx;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;
mod tasks;

use std::fs;

use avrx::budget::{Budget, Costs, Sizes};
use avrx::calls::TASKS;
use avrx::follow::{Call, Follow, HANDLER};
use avrx::{CHIPS, EEPROM, KERNEL, OBEY, PROGRAMS, Program, Source};
use expect_test::expect_file;
use isa::Cycles;
use isa::avr::{ATMEGA328P, Chip, Effect, Image, Pin, Settings, SleepMode};
use rand_chacha::rand_core::Rng;
use seeded::seeded;
use soak::is_soak;
use tasks::{Stacks, compile, root};

/// INT0's.
const VECTOR: u32 = 4;
/// Pairs of interrupts, and cycles between the two at most.
const PAIRS: usize = 3_000;
/// A node's clock, at which a write takes tens of thousands of cycles; and how many of them a task may take that does
/// nothing but begin it and wait, from its main() on.
const NODE_HZ: u64 = 8_000_000;
const AWAKE_MAX: Cycles = 2_000;
/// Power cuts of a program.
const CUTS: usize = 300;
/// Cycles of random calls, and so many in a long run; cycles between two interrupts, at most.
const RANDOM_CYCLES: Cycles = 3_000_000;
const SOAK_RANDOM_CYCLES: Cycles = 100_000_000;
const BETWEEN_MAX: Cycles = 700;
/// What random calls cannot do without.
const MADE: [&str; 19] = [
    "AvrXCancelTimer",
    "AvrXCancelTimerMessage",
    "AvrXChangePriority",
    "AvrXInitTask",
    "AvrXIntReschedule",
    "AvrXIntSendMessage",
    "AvrXIntSetSemaphore",
    "AvrXRecvMessage",
    "AvrXResetSemaphore",
    "AvrXResume",
    "AvrXSendMessage",
    "AvrXSetSemaphore",
    "AvrXStartTimer",
    "AvrXStartTimerMessage",
    "AvrXSuspend",
    "AvrXTerminate",
    "AvrXTestSemaphore",
    "AvrXTimerHandler",
    "AvrXYield",
];
/// In a long run as many begin at each cycle.
const SOAK_PAIRS_OF_A_CYCLE: usize = 8;
const APART_MAX: Cycles = 400;

/// A random number below `limit`.
fn below(rng: &mut impl Rng, limit: Cycles) -> Cycles {
    (u64::from(rng.next_u32()) * limit) >> 32
}

/// What a task sees of its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    pc: u32,
    sp: u16,
    sreg: u8,
    registers: [u8; 32],
}

impl Context {
    fn of(chip: &Chip) -> Context {
        let registers = std::array::from_fn(|number| chip.register(number as u8));
        Context { pc: chip.pc(), sp: chip.sp(), sreg: chip.sreg(), registers }
    }
}

impl Program {
    /// Whether it has begun to answer the forced interrupt.
    fn is_answering(&self, chip: &Chip) -> bool {
        chip.pc() == VECTOR
    }

    /// Runs to the end; the queues are in order all the while.
    fn finish_checked(&self, mut chip: Chip, at: &str) -> Chip {
        while !self.step(&mut chip, &mut ()) {
            self.check(&chip, at);
        }
        chip
    }

    /// Goes on until the forced interrupt was answered and its task goes on, and compares what the task sees. True when
    /// it came to that: a core that was asleep has nothing to see, and the last task does not go on.
    fn check_answer(&self, chip: &mut Chip, stacks: &mut Stacks, at: &str) -> bool {
        let (mut before, mut was_asleep) = (Context::of(chip), chip.is_asleep());
        while !self.is_answering(chip) {
            (before, was_asleep) = (Context::of(chip), chip.is_asleep());
            if self.step(chip, stacks) {
                return false;
            }
        }
        let running = self.running(chip);
        loop {
            if self.step(chip, stacks) {
                return false;
            }
            self.check(chip, at);
            let is_back = (chip.pc(), chip.sp()) == (before.pc, before.sp);
            if is_back && self.is_outside(chip) && self.running(chip) == running {
                assert_eq!(Context::of(chip), before, "{at}");
                return !was_asleep;
            }
            if was_asleep && self.is_outside(chip) {
                return false;
            }
        }
    }

    /// Forces an interrupt at every cycle; returns how many there are, and after how many a task saw that it was not
    /// there; and how deep each stack was.
    fn interrupt_everywhere(&self, says: &str, name: &str) -> ([usize; 2], Stacks) {
        let (mut cycles, mut seen) = (0, 0);
        let mut stacks = self.stacks.clone();
        let mut base = self.chip.clone();
        let mut is_over = false;
        while !is_over {
            let before = base.clone();
            // While all sleep, one cycle is like another.
            let asleep = before.next_wake().filter(|_| before.is_asleep());
            let all = match asleep {
                Some(wakes) => {
                    base.run_until(wakes.max(before.cycle() + 1), &mut ());
                    before.cycle()..before.cycle() + 1
                }
                None => {
                    is_over = self.step(&mut base, &mut ());
                    before.cycle()..base.cycle()
                }
            };
            for cycle in all {
                let at = format!("{name}, interrupted at cycle {cycle}");
                let mut chip = before.clone();
                self.pulse(&mut chip, cycle);
                seen += usize::from(self.check_answer(&mut chip, &mut stacks, &at));
                self.finish(chip, &mut stacks, says, 1, &at);
                cycles += 1;
            }
        }
        ([cycles, seen], stacks)
    }
}

#[test]
fn every_call_does_what_its_contract_says() {
    for profile in CHIPS {
        for source in &PROGRAMS {
            let Some(program) = source.load(profile) else { return };
            let Source { name, says, .. } = source;
            let ended = program.finish_checked(program.chip.clone(), name);
            assert_eq!(program.said(&ended), *says, "{name} on the {}", profile.name);
            let went_on = program.image.symbol("went_on").map(|symbol| symbol.address as u16);
            let went_on = went_on.is_some_and(|address| program.byte(&ended, address) != 0);
            assert!(!went_on, "{name}: a handler changes turns");
            println!("{name} on the {}: {} cycles", profile.name, ended.cycle());
        }
    }
}

#[test]
fn an_interrupt_at_any_cycle_changes_nothing_that_a_task_sees() {
    for profile in CHIPS {
        for source in &PROGRAMS {
            let Some(program) = source.load(profile) else { return };
            let Source { name, says, .. } = source;
            let ([cycles, seen], stacks) = program.interrupt_everywhere(says, name);
            println!(
                "{name} on the {}: {cycles} interrupts, {seen} of them in a task that went on",
                profile.name
            );
            stacks.check();
            assert!(seen * 2 > cycles, "{name}: in most cycles a task runs, or the kernel for it");
        }
    }
}

#[test]
fn two_interrupts_near_each_other_change_nothing_either() {
    let mut rng = seeded();
    for profile in CHIPS {
        for source in &PROGRAMS {
            let Some(program) = source.load(profile) else { return };
            let Source { name, says, .. } = source;
            let begins = program.chip.cycle();
            let mut stacks = program.stacks.clone();
            let ends = program.finish(program.chip.clone(), &mut stacks, says, 0, name).cycle();
            let starts: Vec<Cycles> = if is_soak() {
                (begins..ends).flat_map(|cycle| [cycle; SOAK_PAIRS_OF_A_CYCLE]).collect()
            } else {
                (0..PAIRS).map(|_| begins + below(&mut rng, ends - begins)).collect()
            };
            for one in starts {
                let two = one + 2 + below(&mut rng, APART_MAX - 2);
                let mut chip = program.chip.clone();
                for cycle in [one, two] {
                    chip.run_until(cycle, &mut ());
                    let now = chip.cycle();
                    program.pulse(&mut chip, now);
                }
                let at = format!("{name}, interrupted at cycles {one} and {two}");
                program.finish(chip, &mut stacks, says, 2, &at);
            }
        }
    }
}

#[test]
fn every_call_keeps_within_its_budget() {
    let budget = Budget::read();
    for profile in CHIPS {
        let (Some(sizes), Some(costs)) = (Sizes::measure(profile), Costs::measure(profile)) else { return };
        println!("{}: {} bytes of flash, {} of RAM", profile.name, sizes.flash, sizes.ram);
        println!("{} and {} more for access to the EEPROM", sizes.eeprom_flash, sizes.eeprom_ram);
        let title = format!("The kernel's calls on the {}: cycles and bytes", profile.name);
        println!("{}", costs.table(&budget, &sizes, &title).text(None));
        assert_eq!(costs.faults(&budget, &sizes), Vec::<String>::new(), "on the {}", profile.name);
    }
}

#[test]
fn the_documentation_says_what_is_measured() {
    let (Some(sizes), Some(costs)) = (Sizes::measure(CHIPS[0]), Costs::measure(CHIPS[0])) else { return };
    let path = root().join("docs/kernel.md");
    let page = fs::read_to_string(&path).expect("the kernel has a page");
    let (above, rest) = page.split_once("<!-- measured -->\n").expect("there is a place for it");
    let (_, below) = rest.split_once("<!-- end -->").expect("the place ends");
    let measured = costs.paragraphs(&Budget::read(), &sizes);
    expect_file![path].assert_eq(&format!("{above}<!-- measured -->\n{measured}<!-- end -->{below}"));
}

/// When the level of a pin changed.
struct Edges(Pin, Vec<Cycles>);

impl isa::Observer for Edges {}

impl isa::avr::Observer for Edges {
    fn level(&mut self, cycle: Cycles, pin: Pin, _high: bool) {
        self.1.extend((pin == self.0).then_some(cycle));
    }
}

#[test]
fn the_example_of_the_documentation_blinks_twice_a_second() {
    const HZ: u64 = 16_000_000;
    let page = fs::read_to_string(root().join("docs/kernel.md")).expect("the kernel has a page");
    let example = page.split("```").find_map(|block| block.strip_prefix("c\n")).expect("there is an example");
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let [source, elf] = ["blink.c", "blink.elf"].map(|name| scratch.path().join(name));
    fs::write(&source, example).expect("it can be written");
    let source = source.to_str().expect("a temporary path is UTF-8");
    if compile(&ATMEGA328P, &["-DF_CPU=16000000UL"], &[source, KERNEL], &elf).is_none() {
        return;
    }
    let image =
        Image::parse(&fs::read(&elf).expect("it was linked")).expect("what avr-gcc links is an image");
    let mut chip = Chip::with_settings(&ATMEGA328P, Settings { clock_hz: HZ, ..Settings::default() });
    chip.load(&image).expect("the program fits the chip");
    let mut edges = Edges(Pin { port: b'B', bit: 5 }, Vec::new());
    chip.run_until(3 * HZ, &mut edges);
    let between: Vec<Cycles> = edges.1.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(between, [HZ / 2; 4]);
}

/// What was written to the EEPROM, and when it was over.
#[derive(Default)]
struct Written(Vec<(Cycles, u16, u8)>);

impl isa::Observer for Written {}

impl isa::avr::Observer for Written {
    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        if let Effect::EepromWritten { address, value } = *effect {
            self.0.push((cycle, address, value));
        }
    }
}

#[test]
fn a_power_cut_spoils_no_byte_but_the_one_that_is_written() {
    let mut rng = seeded();
    for profile in CHIPS {
        let Some(program) = EEPROM.load(profile) else { return };
        let mut written = Written::default();
        let mut chip = program.chip.clone();
        let (begins, first) = (chip.cycle(), chip.eeprom().to_vec());
        while !program.step(&mut chip, &mut written) {}
        let ends = chip.cycle();
        assert_eq!(written.0.len(), 9, "it writes nine bytes, one after another");
        for _ in 0..CUTS {
            let cycle = begins + below(&mut rng, ends - begins);
            let mut chip = program.chip.clone();
            chip.run_until(cycle, &mut ());
            let cut = chip.cut_power(rng.next_u64());
            let mut expected = first.clone();
            let over = written.0.iter().take_while(|write| write.0 <= chip.cycle()).count();
            for &(_, address, value) in &written.0[..over] {
                expected[usize::from(address)] = value;
            }
            if let Some(&(_, address, _)) = written.0.get(over) {
                expected[usize::from(address)] = cut.eeprom()[usize::from(address)];
            }
            assert!(cut.eeprom() == expected, "the power is cut at cycle {cycle}: {over} bytes are written");
            let at = format!("again, after power was cut at cycle {cycle}");
            program.finish(program.begin(cut), &mut program.stacks.clone(), EEPROM.says, 0, &at);
        }
    }
}

#[test]
fn who_waits_for_a_write_sleeps() {
    for profile in CHIPS {
        let Some(program) = EEPROM.load_at(profile, NODE_HZ) else { return };
        let mut chip = program.chip.clone();
        let mut written = Written::default();
        while written.0.is_empty() {
            program.step(&mut chip, &mut written);
        }
        let [asleep, all] = [chip.asleep_cycles(SleepMode::Idle), chip.cycle() - program.chip.cycle()];
        println!("the first write on the {}: {asleep} of {all} cycles asleep", profile.name);
        assert!(all - asleep < AWAKE_MAX, "{asleep} of {all} cycles asleep");
    }
}

#[test]
fn random_calls_do_what_a_model_of_the_kernel_does() {
    let mut rng = seeded();
    for profile in CHIPS {
        let Some(program) = OBEY.load(profile) else { return };
        let mut follow = Follow::new(&program);
        let ends = if is_soak() { SOAK_RANDOM_CYCLES } else { RANDOM_CYCLES };
        let mut pulse = 0;
        while follow.chip.cycle() < ends {
            if let Some(caller) = follow.run(pulse) {
                if caller < TASKS {
                    follow.scramble(&mut rng);
                }
                let call = follow.random_call(&mut rng, caller);
                follow.tell(caller, call);
            } else {
                follow.pulse(u8::from(rng.next_u32().is_multiple_of(3)));
                pulse = follow.chip.cycle() + 2 + below(&mut rng, BETWEEN_MAX);
            }
        }
        let asleep = 100 * follow.chip.asleep_cycles(SleepMode::Idle) / ends;
        println!("on the {}, {asleep} % of it asleep: {:?}", profile.name, follow.made);
        for service in MADE {
            assert!(follow.made.contains_key(service), "no task or handler has called {service}");
        }
        follow.seen.stacks.check();
    }
}

/// Plays calls on a chip where nobody has called anything, beside the model. Who asked for one, in that order.
fn play(calls: impl Fn(&Follow) -> Vec<(u8, Call)>) -> Option<Vec<u8>> {
    let program = OBEY.load(CHIPS[0])?;
    let mut follow = Follow::new(&program);
    let calls = calls(&follow);
    Some(follow.play(calls))
}

// Bugs that AvrX is known for. Queues and registers are compared after every call.

#[test]
fn a_handler_that_changes_turns_changes_the_run_queue() {
    // AvrX writes to address 0 instead.
    let asked = play(|_| {
        vec![
            (1, Call::new("AvrXSelf", 0, 0, 0)),
            (HANDLER, Call::new("AvrXIntReschedule", 0, 0, 0).quietly()),
        ]
    });
    assert!(asked.is_none_or(|asked| asked[..4] == [0, 1, HANDLER, 2]), "task 2 before task 1 asks again");
}

#[test]
fn the_last_timer_of_the_list_is_cancelled_without_a_trace() {
    // AvrX adds what is left of it to the timer behind it, where there is none: to r4 and r5.
    play(|follow| {
        let timers = follow.program.array("timers");
        vec![
            (0, Call::new("AvrXStartTimer", timers[0], 5, 0)),
            (0, Call::new("AvrXStartTimer", timers[1], 9, 0)),
            (0, Call::new("AvrXCancelTimer", timers[1], 0, 0)),
            (0, Call::new("AvrXCancelTimer", timers[0], 0, 0)),
        ]
    });
}

#[test]
fn a_cancelled_timer_is_out_of_the_list_before_its_task_goes_on() {
    // AvrX wakes first, so that a task which starts it again has it in the list twice.
    play(|follow| {
        let timer = follow.program.array("timers")[0];
        vec![
            (0, Call::new("AvrXDelay", timer, 5, 0)),
            (1, Call::new("AvrXCancelTimer", timer, 0, 0)),
            (0, Call::new("AvrXStartTimer", timer, 7, 0)),
            (1, Call::new("AvrXCancelTimer", timer, 0, 0)),
        ]
    });
}

#[test]
fn a_changed_priority_changes_the_queue_that_its_task_is_in() {
    // AvrX leaves the queue as it is.
    play(|follow| {
        let mutex = follow.program.array("mutexes")[0];
        vec![
            (0, Call::new("AvrXWaitSemaphore", mutex, 0, 0)),
            (1, Call::new("AvrXWaitSemaphore", mutex, 0, 0)),
            (2, Call::new("AvrXChangePriority", follow.task(1), 0, 0)),
            (2, Call::new("AvrXSetSemaphore", mutex, 0, 0)),
            (2, Call::new("AvrXChangePriority", follow.task(5), 1, 0)),
            (2, Call::new("AvrXChangePriority", follow.task(2), 9, 0)),
            (2, Call::new("AvrXSetSemaphore", mutex, 0, 0)),
        ]
    });
}

#[test]
fn who_waits_for_a_message_with_interrupts_off_has_them_off_afterwards() {
    // AvrX turns them on.
    play(|follow| {
        let [queue, message] = ["queues", "messages"].map(|name| follow.program.array(name)[0]);
        vec![
            (0, Call::new("AvrXSendMessage", queue, message, 0)),
            (0, Call::new("AvrXWaitMessage", queue, 0, 0).quietly()),
            (0, Call::new("AvrXWaitMessage", queue, 0, 0).quietly()),
            (1, Call::new("AvrXSendMessage", queue, message, 0)),
            (0, Call::new("AvrXSelf", 0, 0, 0)),
        ]
    });
}
