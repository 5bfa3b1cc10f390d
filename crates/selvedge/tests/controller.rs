//! The thread controller on a simulated chip: its slots, its frames and its reasons.
//!
//! `firmware/kernel/slots.c` runs it with an SPI line and the node's filters under Ascon, as the node's build makes and
//! weaves them. What the line does in which slot, when frames come, what is heard and when interrupts fall is random, from
//! a printed seed.

#[path = "controller/built.rs"]
mod built;
#[path = "controller/plan.rs"]
mod plan;
#[allow(dead_code)] // it finds the compiler
mod rig;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;
#[path = "line/spi.rs"]
#[allow(dead_code)] // nobody answers
mod spi;
mod tasks;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use built::{LINE, VARIANTS, elves};
use cell::decision::{Decision, Decisions, FILTERS, PIPES, REASONS, STANDINGS};
use cell::registered::Registered;
use cipher::nonces::node_nonce;
use cipher::suites::{Aead, Suite};
use isa::Cycles;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Drive, Image, Pin, Stop};
use plan::{Plan, RECEIVES, Regime, Spoken, TAKEN, TRANSMITS, below};
use rand_chacha::ChaCha20Rng;
use report::table::{Column, Entry, Table};
use seeded::seeded;
use soak::is_soak;
use tasks::{Stacks, data, root};

const SLOT_CYCLES: Cycles = 60_000;
const SLOTS: usize = 400;
const RUNS: usize = 3;
const SOAK_RUNS: usize = 30;
/// From the timer's alarm to a slot's instant, as slots.c has it.
const LEAD_CYCLES: Cycles = 6000;
/// Slots that may begin before a frame is sealed, or opened.
const MAY_WAIT_SLOTS: [u16; 2] = [2, 2];
/// How far apart the falls of SS are from their instants: a round of the loop that waits for the timer.
const JITTER_CYCLES_MAX: Cycles = 10;

const NODE: u32 = 7;
const EPOCH: u8 = 1;
const DOWN: u32 = 0x8000_0000;
const HEADER_BYTES: usize = 10;
const TEXT_BYTES: usize = 16;
const FRAME_BYTES: u16 = (HEADER_BYTES + TEXT_BYTES + 16) as u16;
/// Of the key and of the iv, with zeros behind them.
const KEY: [u8; 3] = [0x51, 0x07, 0xA5];
/// Beside a filter that is woven, around what the line takes: handlers, and the way in and out.
const SEAMS_CYCLES: Cycles = 1000;

const SS: Pin = Pin { port: b'B', bit: 0 };
const ARRIVAL: Pin = Pin { port: b'D', bit: 0 };
/// Its vector.
const INT0: u8 = 1;
const INTERRUPTION: Pin = Pin { port: b'D', bit: 1 };

fn iv() -> [u8; 16] {
    std::array::from_fn(|index| KEY.get(index).copied().unwrap_or(0))
}

fn aead() -> Aead {
    Aead::new(Suite::AsconAead128, &iv())
}

/// The counter's lowest byte of what the node sent, which is authentic.
fn opened(bytes: &[(Cycles, u8)]) -> u8 {
    let mut frame: Vec<u8> = bytes.iter().map(|&(_, byte)| byte).collect();
    assert_eq!(frame.len(), usize::from(FRAME_BYTES));
    let (header, text) = frame.split_at_mut(HEADER_BYTES);
    let counter = u32::from_le_bytes(header[6..].try_into().expect("four bytes"));
    let text = aead().open_tail(&node_nonce(&iv(), NODE, EPOCH, counter), header, text);
    let text = text.expect("what the node sends is authentic");
    assert!(text.iter().all(|&byte| byte == counter as u8), "the text is the frame's own");
    counter as u8
}

/// What is seen from outside.
struct Watch {
    decisions: Decisions,
    stacks: Stacks,
    /// Where the program says what it accepted, refused and reported; SPI's data and control; the timer's control.
    addresses: [u32; 6],
    slot_address: u32,
    slots_begun: [u8; 2],
    /// When the source's interrupt was served.
    served: Vec<Cycles>,
    /// Counters, with the slots that had begun.
    accepted: Vec<(u8, u16)>,
    refused: Vec<(u8, u16)>,
    reported: Vec<u8>,
    /// What was sent, each byte with its cycle, and the cycle of SS's fall.
    sent: Vec<(Cycles, Vec<(Cycles, u8)>)>,
    /// When the SPI was switched on.
    ready: Vec<Cycles>,
    timer_starts: Cycles,
}

impl Watch {
    fn new(image: &Image) -> Watch {
        let register = |name| ATMEGA128.register(name).expect("the chip has it").address.into();
        let own = |name| u32::from(data(image, name));
        let record = data(image, "controller_record");
        Watch {
            decisions: Decisions::new(record),
            stacks: Stacks::of(image),
            addresses: [
                own("accepted"),
                own("refused"),
                own("reported"),
                register("SPDR"),
                register("SPCR"),
                register("TCCR1B"),
            ],
            slot_address: record.into(),
            slots_begun: [0; 2],
            served: vec![],
            accepted: vec![],
            refused: vec![],
            reported: vec![],
            sent: vec![],
            ready: vec![],
            timer_starts: 0,
        }
    }
}

impl isa::Observer for Watch {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.decisions.store(cycle, address, value);
        self.stacks.store(cycle, address, value);
        if let Some(byte) = (self.slot_address..).zip(&mut self.slots_begun).find(|&(at, _)| at == address) {
            *byte.1 = value;
        }
        let slots = u16::from_le_bytes(self.slots_begun);
        match self.addresses.iter().position(|&own| own == address) {
            Some(0) => self.accepted.push((value, slots)),
            Some(1) => self.refused.push((value, slots)),
            Some(2) => self.reported.push(value),
            Some(3) => self.sent.last_mut().expect("SS falls first").1.push((cycle, value)),
            Some(4) if value != 0 => self.ready.push(cycle),
            Some(5) => self.timer_starts = cycle,
            _ => {}
        }
    }
}

impl isa::avr::Observer for Watch {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        if vector == INT0 {
            self.served.push(cycle);
        }
    }

    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        if pin == SS && drive == Drive::Low {
            self.sent.push((cycle, vec![]));
        }
    }
}

/// The controller's frames in RAM, by the layout of `struct frame`.
struct Frames {
    first: u16,
    count: u16,
    /// With the pipe that each is; none for those of empty frames.
    queues: Vec<(u16, Option<u8>)>,
    places: u16,
    places_max: [u8; PIPES.len()],
    run: [u16; 2],
    level: u16,
}

const FRAME_STRIDE: u16 = 10;
const PIPE_AT: u16 = 5;

impl Frames {
    fn of(image: &Image, registered: Registered) -> Frames {
        let symbol = image.symbol("controller_frames").expect("the controller has frames");
        let pipes = data(image, "controller_pipes");
        let empties = data(image, "controller_empties");
        let mut queues: Vec<_> = (0..4).map(|pipe| (pipes + 4 * u16::from(pipe), Some(pipe))).collect();
        queues.extend([empties, empties + 4].map(|queue| (queue, None)));
        Frames {
            first: symbol.address as u16,
            count: symbol.bytes as u16 / FRAME_STRIDE,
            queues,
            places: data(image, "controller_places"),
            places_max: registered.places,
            run: [data(image, "avrx_running"), data(image, "controllerPid")],
            level: data(image, "avrx_level"),
        }
    }

    /// Each frame is in one place, and each place has one frame; true when that can be said, because nobody is about to
    /// change it.
    fn check(&self, chip: &Chip, at: &str) -> bool {
        let byte = |address| chip.memory(address).expect("the controller's data is in RAM");
        let word = |address| u16::from_le_bytes([byte(address), byte(address + 1)]);
        // A task that is not the controller runs, and is not in the kernel.
        if byte(self.level) != 0xFF || chip.sreg() & 0x80 == 0 || word(self.run[0]) == self.run[1] {
            return false;
        }
        let mut queued = BTreeMap::new();
        let mut empties = Vec::new();
        for &(queue, pipe) in &self.queues {
            let mut frame = word(queue);
            while frame != 0 {
                assert!(queued.insert(frame, pipe).is_none(), "{at}: frame {frame:#x} is in two queues");
                match pipe {
                    Some(pipe) => assert_eq!(byte(frame + PIPE_AT), pipe, "{at}: its place is where it is"),
                    None => empties.push(frame),
                }
                frame = word(frame);
            }
        }
        let mut places = [0; PIPES.len()];
        let mut owned = [0; PIPES.len()];
        for frame in (self.first..).step_by(FRAME_STRIDE.into()).take(self.count.into()) {
            if !empties.contains(&frame) {
                let pipe = usize::from(byte(frame + PIPE_AT));
                places[pipe] += 1;
                owned[pipe] += u8::from(!queued.contains_key(&frame));
            }
        }
        let counted: [u8; PIPES.len()] = std::array::from_fn(|pipe| byte(self.places + pipe as u16));
        assert_eq!(counted, places, "{at}: places");
        for (pipe, (&count, max)) in places.iter().zip(self.places_max).enumerate() {
            assert!(count <= max, "{at}: {count} frames have their place in {}", PIPES[pipe]);
        }
        // The source has one at most, the report one, and the security task one.
        assert!(owned[0] <= 1 && owned[2] == 0 && owned[1] + owned[3] <= 2, "{at}: {owned:?} are nowhere");
        true
    }
}

/// What `filter` does of security: 0 nothing, 1 sealing, 2 opening.
fn security(filter: usize) -> usize {
    filter % 3
}

/// The slots of those in which the line did this, by their numbers.
fn slots<'a>(decisions: impl Iterator<Item = &'a Decision>, line: u8) -> Vec<usize> {
    let decisions = decisions.filter(|decision| decision.filter / 3 == usize::from(line));
    // A frame that is for nobody here costs a decision more.
    let mut slots: Vec<usize> = decisions.map(|decision| usize::from(decision.slot) - 1).collect();
    slots.dedup();
    slots
}

/// How often each filter ran, for which reasons.
fn table(title: &str, decisions: &[Decision]) -> Table {
    let mut counts = BTreeMap::<(usize, usize), u64>::new();
    for decision in decisions {
        *counts.entry((decision.filter, decision.reason)).or_default() += 1;
    }
    let columns = ["filter", "ran"].map(Column::new).into_iter().chain(REASONS.map(Column::new));
    let mut table = Table::new(title, columns);
    for (filter, name) in FILTERS.iter().enumerate() {
        let of = |reason: usize| counts.get(&(filter, reason)).copied();
        let all: u64 = (0..REASONS.len()).filter_map(of).sum();
        let reasons = (0..REASONS.len()).map(|reason| of(reason).map_or(Entry::Blank, Entry::from));
        table.push([Entry::from(*name), Entry::from(all)].into_iter().chain(reasons));
    }
    table
}

/// A run of slots.c.
struct Run {
    watch: Watch,
    decisions: Vec<Decision>,
    plan: Plan,
    spoken: Spoken,
    /// Frames for which the plain pipe has room.
    plain_places: u8,
    /// `struct losses`.
    refused_plain: u16,
    unfit: u16,
    unsent: u16,
    unheard: u16,
    checks: usize,
}

/// What a program says of its controller.
fn registered(elf: &[u8]) -> Registered {
    Registered::of(elf).expect("it is an image").expect("it has a controller")
}

impl Run {
    /// Of a random plan.
    fn random(rng: &mut ChaCha20Rng, elf: &[u8]) -> Run {
        let image = Image::parse(elf).expect("what avr-gcc links is an image");
        let plan = Plan::random(rng);
        let mut chip = tasks::at_main(&ATMEGA128, &image);
        let planned = data(&image, "plan");
        for (slot, &line) in (planned..).zip(plan.lines.iter().chain(&[0])) {
            assert!(chip.set_memory(slot, line), "the plan is in SRAM");
        }
        for pin in [SS, ARRIVAL, INTERRUPTION] {
            let cycle = chip.cycle();
            chip.set_input(pin, Some(true), cycle, &mut ());
        }
        let mut watch = Watch::new(&image);
        while watch.timer_starts == 0 {
            chip.run_until(chip.cycle() + 1, &mut watch);
        }
        let (levels, spoken) = plan.levels(watch.timer_starts);
        let frames = Frames::of(&image, registered(elf));
        let mut checks = 0;
        for (cycle, pin, level) in levels {
            let mut stop = Stop::Reached;
            while chip.cycle() < cycle && stop == Stop::Reached {
                // What is true at random cycles is looked at now and then, since it takes longer than to run.
                stop = chip.run_until(cycle.min(chip.cycle() + 1 + below(rng, 4000)), &mut watch);
                checks += usize::from(frames.check(&chip, &format!("cycle {}", chip.cycle())));
            }
            assert_eq!(stop, Stop::Reached, "a report is what was sent, and slots are left");
            chip.set_input(pin, Some(level), cycle, &mut watch);
        }
        let ends = watch.timer_starts + (SLOTS as Cycles + 2) * SLOT_CYCLES;
        assert_eq!(chip.run_until(ends, &mut watch), Stop::Break, "the last slot ends");
        let losses = data(&image, "controller_losses");
        let loss = |at| {
            let byte = |address| chip.memory(address).expect("the controller's data is in RAM");
            u16::from_le_bytes([byte(losses + at), byte(losses + at + 1)])
        };
        let decisions = watch.decisions.take();
        let [refused_plain, unfit, unsent, unheard] = [loss(0), loss(8), loss(10), loss(12)];
        Run {
            watch,
            decisions,
            plan,
            spoken,
            plain_places: frames.places_max[0],
            refused_plain,
            unfit,
            unsent,
            unheard,
            checks,
        }
    }

    /// What was decided and done: where somebody else had the line, a frame may still have been dropped before that was
    /// seen, and another one have come in its place.
    fn done(&self) -> impl Iterator<Item = &Decision> {
        let next = self.decisions.iter().skip(1).map(Some).chain([None]);
        let is_beside_line = |decision: &Decision| decision.filter >= 3;
        let is_done = move |&(decision, next): &(&Decision, Option<&Decision>)| {
            let is_last = next.is_none_or(|next| !is_beside_line(next) || next.slot != decision.slot);
            !(is_beside_line(decision) && is_last && self.is_taken(decision))
        };
        self.decisions.iter().zip(next).filter(is_done).map(|(decision, _)| decision)
    }

    fn is_taken(&self, decision: &Decision) -> bool {
        decision.slot > 0 && self.plan.lines[usize::from(decision.slot) - 1] & TAKEN != 0
    }

    /// The slots in which the line did this, by their numbers.
    fn slots_of(&self, line: u8) -> Vec<usize> {
        slots(self.decisions.iter().filter(|decision| !self.is_taken(decision)), line)
    }

    /// How many slots in which the line was to do this somebody else had.
    fn taken(&self, line: u8) -> usize {
        slots(self.decisions.iter().filter(|decision| self.is_taken(decision)), line).len()
    }

    /// Every slot in which the node sends begins at its instant; prints how late at worst, and how long the way there is.
    fn check_instants(&self) {
        let instant = |slot: usize| self.watch.timer_starts + (slot as Cycles + 1) * SLOT_CYCLES;
        let slots: Vec<usize> = self.slots_of(TRANSMITS);
        assert_eq!(slots.len(), self.watch.sent.len(), "one frame a slot");
        let late = slots.iter().zip(&self.watch.sent).map(|(&slot, &(falls, _))| {
            assert!(falls >= instant(slot), "slot {slot} begins too early");
            falls - instant(slot)
        });
        let late: Vec<Cycles> = late.collect();
        let [least, most] =
            [late.iter().min(), late.iter().max()].map(|late| *late.expect("something is sent"));
        let since_alarm = |ready| (ready - self.watch.timer_starts + LEAD_CYCLES) % SLOT_CYCLES;
        let mut ready: Vec<Cycles> = self.watch.ready.iter().map(since_alarm).collect();
        ready.sort_unstable();
        println!(
            "{} slots begin {least} to {most} cycles after their instant: a jitter of {}",
            late.len(),
            most - least
        );
        println!(
            "the line is ready {} to {} cycles after the alarm, mostly {}; the alarm comes {LEAD_CYCLES} before",
            ready[0],
            ready[ready.len() - 1],
            ready[ready.len() / 2]
        );
        assert!(most - least <= JITTER_CYCLES_MAX, "{} cycles apart", most - least);
        assert_eq!(
            usize::from(self.unsent),
            self.taken(TRANSMITS),
            "it misses no slot but those that somebody else had"
        );
    }

    /// What a woven filter sends goes over the line as it is woven to; prints how many frames that are.
    fn check_cadence(&self) {
        // The last decision of a slot is what ran.
        let sends = |decision: &&Decision| decision.filter / 3 == usize::from(TRANSMITS);
        let decisions = self.decisions.iter().filter(|decision| sends(decision) && !self.is_taken(decision));
        let slots: BTreeMap<_, _> = decisions.map(|decision| (decision.slot, decision.filter)).collect();
        assert_eq!(slots.len(), self.watch.sent.len(), "one frame a slot");
        let woven = slots.values().zip(&self.watch.sent).filter(|&(&filter, _)| security(filter) > 0);
        let mut frames = 0;
        for (filter, (_, bytes)) in woven {
            let apart = bytes.windows(2).map(|pair| pair[1].0 - pair[0].0);
            let expected = Cycles::from(LINE.sent_byte_cycles());
            assert!({ apart }.all(|cycles| cycles == expected), "{}: {bytes:?}", FILTERS[*filter]);
            frames += 1;
        }
        println!("{frames} frames by woven filters, a byte every {} cycles exactly", LINE.sent_byte_cycles());
    }

    /// Each pulse at the source's pin is a frame that is offered, and is accepted or refused; but for those that come
    /// while the one before them waits for its interrupt, off for as long as a frame is on the line: the chip keeps one
    /// request of a pin, and nobody ever knew of the others. Prints how many they are.
    fn check_offers(&self) {
        let pulses: Vec<Cycles> = self.plan.arrivals().collect();
        let served = &self.watch.served;
        let waited = pulses.iter().map(|pulse| {
            let pulse = self.watch.timer_starts + pulse;
            let next = served.partition_point(|&cycle| cycle < pulse);
            served.get(next).expect("each pulse has its interrupt") - pulse
        });
        let most = waited.max().expect("frames come");
        let merged = pulses.len() - served.len();
        println!(
            "{} pulses, {merged} merged with the one before; they waited {most} cycles at most",
            pulses.len()
        );
        assert!(
            most <= Cycles::from(LINE.heard_cycles()) + SEAMS_CYCLES,
            "{most} cycles with interrupts off"
        );
        assert!(merged < served.len(), "most frames are offered");
        let mut counters: Vec<u8> =
            self.watch.accepted.iter().chain(&self.watch.refused).map(|&(counter, _)| counter).collect();
        let mut expected: Vec<u8> = (1..=served.len()).map(|counter| counter as u8).collect();
        counters.sort_unstable();
        expected.sort_unstable();
        assert_eq!(counters, expected, "what is offered is accepted or refused, once");
    }

    /// The pipes were empty, full and fed in bursts; prints for how many slots, and what came of it.
    fn check_regimes(&self) {
        let columns = ["slots", "pulses", "accepted", "refused", "began with none", "began with all"];
        let mut counts = Regime::ALL.map(|_| [0_u64; 6]);
        let mut count = |slot: usize, column: usize| counts[self.plan.regimes[slot] as usize][column] += 1;
        (0..SLOTS).for_each(|slot| count(slot, 0));
        self.plan.arrivals().for_each(|pulse| count(self.plan.slot_at(pulse), 1));
        for (column, frames) in [(2, &self.watch.accepted), (3, &self.watch.refused)] {
            frames.iter().for_each(|&(_, begun)| count(usize::from(begun).saturating_sub(1), column));
        }
        let mut seen = 0;
        for decision in self.decisions.iter().filter(|decision| decision.slot > 0) {
            if decision.slot > seen {
                seen = decision.slot;
                match decision.waiting[0] {
                    0 => count(usize::from(seen) - 1, 4),
                    waiting if waiting == self.plain_places => count(usize::from(seen) - 1, 5),
                    _ => {}
                }
            }
        }
        let mut table = Table::new(
            "How frames came, and what was in the plain pipe when a slot began",
            ["frames come"].into_iter().chain(columns).map(Column::new),
        );
        for (regime, counts) in Regime::ALL.iter().zip(counts) {
            table.push([Entry::from(regime.name())].into_iter().chain(counts.map(Entry::from)));
        }
        println!("{}", table.text(None));
        let [empty, _, bursts, full] = counts;
        assert!(counts.iter().all(|counts| counts[0] > 0));
        assert!(empty[4] > 0, "the pipe runs empty");
        assert!(bursts[2] > 0, "frames come in bursts");
        assert!(full[3] > 0 && full[5] > 0, "the pipe is full, and refuses");
    }

    /// What was accepted went over the line, in its order, and what was heard was reported.
    fn check_frames(&self) {
        let accepted: Vec<u8> = self.watch.accepted.iter().map(|&(counter, _)| counter).collect();
        let sent: Vec<u8> = self.watch.sent.iter().map(|(_, bytes)| opened(bytes)).collect();
        assert_eq!(sent, accepted);
        assert_eq!(self.watch.refused.len(), usize::from(self.refused_plain), "it counts what it refuses");
        let in_slots: Vec<usize> = self.slots_of(RECEIVES);
        let heard: Vec<u8> = in_slots.iter().filter_map(|slot| *self.spoken.get(slot)?).collect();
        assert_eq!(self.watch.reported, heard);
        let silent = usize::from(self.unheard) - self.taken(RECEIVES);
        let rest = in_slots.len() - heard.len() - silent;
        assert_eq!(rest, usize::from(self.unfit), "what was not reported was silence, or not authentic");
        println!(
            "{} frames accepted and sent, {} refused; {} heard and reported, {} unfit, {} times silence",
            sent.len(),
            self.refused_plain,
            heard.len(),
            self.unfit,
            silent
        );
    }

    /// No frame waited for more slots than it may, unless for room behind it or for those before it; prints for how many.
    fn check_bounds(&self) {
        let [due, blocked, full, waiting] = ["due", "blocked", "full", "waiting"]
            .map(|own| STANDINGS.iter().position(|name| *name == own).expect("it is one"));
        for decision in &self.decisions {
            let is_left = decision.filter == 0 && decision.standings.contains(&due);
            assert!(!is_left, "what is due is left: {decision:?}");
            let expected = if decision.waiting[0] == self.plain_places { full } else { waiting };
            let may_wait = [full, waiting].contains(&decision.standings[0]);
            assert!(!may_wait || decision.standings[0] == expected, "full is full: {decision:?}");
        }
        let times = self.decisions.iter().filter(|decision| decision.standings[0] == full).count();
        println!("{times} times the plain pipe would refuse the next frame and nothing in it was due");
        let heard = self.slots_of(RECEIVES).into_iter().filter(|slot| self.spoken.contains_key(slot));
        let heard: Vec<u16> = heard.map(|slot| slot as u16 + 1).collect();
        let accepted = self.watch.accepted.iter().map(|&(_, slot)| slot).collect();
        for (job, came) in [accepted, heard].into_iter().enumerate() {
            let begun = self.done().filter(|decision| security(decision.filter) == job + 1);
            let mut histogram = BTreeMap::<u16, usize>::new();
            let mut blocked_frames = 0;
            for (came, begun) in came.iter().zip(begun) {
                let passed = begun.slot - came;
                *histogram.entry(passed).or_default() += 1;
                let over = came + MAY_WAIT_SLOTS[job]..begun.slot;
                blocked_frames += usize::from(!over.is_empty());
                for slot in over {
                    let mut decided = self.decisions.iter().filter(|decision| decision.slot == slot);
                    // There was no room, or one before it was begun.
                    let is_blocked = |decision: &Decision| {
                        decision.standings[job] == blocked || security(decision.filter) == job + 1
                    };
                    assert!(
                        decided.any(is_blocked),
                        "in slot {slot} a {} waits for nothing",
                        FILTERS[job + 1]
                    );
                }
            }
            println!(
                "{}: slots that begin before a frame is begun, and such frames: {histogram:?}; {blocked_frames} waited for others or for room",
                FILTERS[job + 1]
            );
        }
    }
}

#[test]
fn slots_begin_at_their_instants_and_no_frame_is_lost_or_waits_too_long() {
    let Some(elves) = elves() else { return };
    let mut rng = seeded();
    for (variant, elf) in VARIANTS.iter().zip(elves) {
        let mut ran = BTreeSet::new();
        for _ in 0..if is_soak() { SOAK_RUNS } else { RUNS } {
            let run = Run::random(&mut rng, elf);
            println!("{}", table(variant.name, &run.decisions).text(None));
            run.check_instants();
            run.check_cadence();
            run.check_offers();
            run.check_regimes();
            run.check_frames();
            run.check_bounds();
            println!("each frame was in one place, {} times", run.checks);
            assert!(run.checks > SLOTS, "there is something to look at");
            ran.extend(run.decisions.iter().map(|decision| decision.filter));
            run.watch.stacks.check();
        }
        let missing: Vec<_> = variant.ran.iter().filter(|filter| !ran.contains(filter)).collect();
        assert!(missing.is_empty(), "filters {missing:?} never ran");
        assert!(!variant.never.iter().any(|filter| ran.contains(filter)), "a filter ran that there is not");
    }
}

#[test]
fn the_policy_decides_on_the_chip_as_it_does_here() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let program = scratch.path().join("decisions");
    let sources = ["kernel/decisions.c", "node/policy.c"];
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let firmware = root().join("firmware");
    let built = Command::new(compiler)
        .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(firmware.join("node"))
        .args(sources.map(|source| firmware.join(source)))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(built.expect("there is a C compiler").success());
    let here = Command::new(&program).output().expect("it runs").stdout;
    for profile in [&ATMEGA128, &ATMEGA328P] {
        let Some(image) = tasks::image(profile, &["-fshort-enums"], &sources) else { return };
        let mut chip = tasks::at_main(profile, &image);
        let mut said = Said { address: data(&image, "said").into(), bytes: vec![] };
        assert_eq!(chip.run_until(100_000_000, &mut said), Stop::Break, "it ends");
        assert!(said.bytes == here, "{}: another decision", profile.name);
    }
    println!("{} decisions", here.len() / 2);
}

/// Stores to one byte.
struct Said {
    address: u32,
    bytes: Vec<u8>,
}

impl isa::Observer for Said {
    fn store(&mut self, _cycle: Cycles, address: u32, value: u8) {
        if address == self.address {
            self.bytes.push(value);
        }
    }
}

impl isa::avr::Observer for Said {}

/// The second argument of the lines of a table of macros.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("X(")?.split('"').nth(1)).collect()
}

#[test]
fn reports_call_reasons_and_pipes_what_the_firmware_calls_them() {
    let read = |name: &str| fs::read_to_string(root().join("firmware/node").join(name)).expect("it is there");
    let policy = read("policy.h");
    assert_eq!(names(&policy), REASONS);
    let enumerated = |text: &str, prefix: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(prefix));
        let words = lines.filter_map(|line| Some(line.split_once(',')?.0.to_lowercase()));
        words.filter(|word| word.chars().all(char::is_alphanumeric)).collect()
    };
    assert_eq!(enumerated(&policy, "STANDS_"), STANDINGS);
    assert_eq!(enumerated(&read("controller.h"), "PIPE_"), PIPES);
}

#[test]
fn an_image_says_which_filters_are_registered_and_by_which_rows_they_are_chosen() {
    let Some([larger, small, discrete]) = elves() else { return };
    let registered = registered(larger);
    let functions = [
        "seal",
        "open",
        "transmit",
        "seal_transmit",
        "open_transmit",
        "receive",
        "seal_receive",
        "open_receive",
    ];
    let expected: Vec<Option<&str>> = [None].into_iter().chain(functions.map(Some)).collect();
    assert_eq!(registered.filters.each_ref().map(Option::as_deref)[..], expected);
    assert_eq!(registered.places, [3, 2, 2, 2]);
    let tasks: Vec<_> = registered.tasks.iter().map(|task| (task.name.as_str(), task.priority)).collect();
    assert_eq!(tasks, [("controller", 0), ("mac", 1), ("source", 10), ("report", 20), ("security", 250)]);
    // The first row and the one that postpones, as policy.c has them.
    let first = registered.rows[0];
    assert_eq!((first.lines(), first.standings(), first.now()), (vec![], vec!["due"], Some(true)));
    assert_eq!((first.next(), first.is_done, REASONS[first.reason]), (None, true, "due"));
    let postponed =
        registered.rows.iter().find(|row| REASONS[row.reason] == "postponed").expect("there is one");
    assert_eq!((postponed.lines(), postponed.next(), postponed.is_done), (vec!["idle"], Some(true), false));
    let reasons: BTreeSet<usize> = registered.rows.iter().map(|row| row.reason).collect();
    assert_eq!(reasons.len(), REASONS.len(), "each reason has a row");
    assert_eq!(self::registered(small).places, [2, 1, 2, 1]);
    let filters = self::registered(discrete).filters;
    let never = VARIANTS[2].never;
    for (filter, name) in FILTERS.iter().enumerate() {
        let is_registered = filter > 0 && !never.contains(&filter);
        assert_eq!(filters[filter].is_some(), is_registered, "{name}");
    }
    let without = tasks::elf(&ATMEGA128, &["-fshort-enums"], &["kernel/decisions.c", "node/policy.c"]);
    let without = without.expect("there is a compiler");
    assert_eq!(Registered::of(&without).expect("it is an image"), None, "a program without a controller");
}
