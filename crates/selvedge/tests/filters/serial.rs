//! A serial line and a timer beside a filter that keeps interrupts off for a frame: woven with servers it loses none of
//! their bytes and ticks, and without it does.
//!
//! The same program both times (`serial.c`), whose handlers do what servers do, when interrupts are on. Left out: a
//! receiver's own alignment to the start bit, which the simulated USART has none of.

use std::ops::{Range, RangeInclusive};

use isa::avr::usart;
use isa::avr::{Effect, Observer, Pin};

use super::*;

/// What the node's USART takes a byte to be, ten bits of 16 * (UBRR + 1) cycles each.
const BYTE_CYCLES: Cycles = 10 * 16 * 13;
/// How much longer a sender's byte is: from one with the same UBRR to one that is exact, 2083 1/3 cycles, and beyond both
/// what two crystals differ.
const LONGER_PPM: RangeInclusive<i64> = -DRIFT_PPM..=1603 + DRIFT_PPM;
/// Some of them beside the frame, and some behind it.
const BYTES: usize = 40;
const TICK_CYCLES: Cycles = 8_000;
/// DOR and FE of UCSR0A.
const FAULTS: u8 = 1 << 3 | 1 << 4;
/// The longest frame that a node sends, and the longest that it hears: `SENT_BYTES_MAX` and `LINK_BYTES_MAX` of
/// `firmware/node/limits.h`.
const LINE_BYTES: [usize; 2] = [255, 96];
/// Of a function that has a chip for itself. Servers take the host's cycles, and so it is woven in more phases.
const GROWTH: &str = "growth=9";

/// A filter that seals beside what its line does.
#[derive(Clone, Copy)]
struct Case {
    /// Of `CHIPS`.
    chip: usize,
    way: Way,
    divider_log2: u8,
}

const SHORT: [Case; 3] = [
    Case { chip: 0, way: Way::Transmits, divider_log2: 3 },
    Case { chip: 0, way: Way::Transmits, divider_log2: 4 },
    Case { chip: 0, way: Way::Receives, divider_log2: 3 },
];

impl Case {
    fn all() -> Vec<Case> {
        let chips = if is_soak() { CHIPS.len() } else { 1 };
        (0..chips).flat_map(|chip| SHORT.map(|case| Case { chip, ..case })).collect()
    }

    fn function(self) -> &'static str {
        if self.way == Way::Transmits { "ascon_seal_transmit" } else { "ascon_seal_receive" }
    }

    fn period_cycles(self) -> u32 {
        match self.way {
            Way::Transmits => Line { divider_log2: self.divider_log2, ..LINE }.sent_byte_cycles(),
            Way::Receives => LINE.heard_byte_cycles,
        }
    }

    /// The filter as the build weaves it, with servers for the line and the ticks or without.
    fn built(self, compiler: &Compiler, is_served: bool) -> Built {
        let function = self.function();
        let besides = format!(
            "flag -DONLY={function}\nsource serial.c\nsource server_uart_rx.S\nsource server_tick.S\n"
        );
        let change = |list: String| {
            let (others, woven): (Vec<_>, Vec<_>) =
                list.lines().partition(|line| !line.starts_with("woven "));
            let own = woven.into_iter().filter(|line| line.split(' ').nth(1) == Some(function));
            let own = own.map(|line| self.words(line, is_served));
            own.chain(others.into_iter().map(str::to_owned)).map(|line| line + "\n").collect()
        };
        Built::changed(compiler, self.chip, SEALERS[0], self.divider_log2, change, &besides)
    }

    /// A line of the list for one filter, and maybe with servers. At f/8 a frame needs none for samples.
    fn words(self, line: &str, is_served: bool) -> String {
        // A receiver asks for its first byte, and nobody else runs meanwhile: 128 times ASK, less than two bytes' time.
        let within = if self.way == Way::Transmits { "WITHIN=2000" } else { "ASK=30 WITHIN=4100" };
        let servers = "server=server_uart_rx.S:server_uart_rx server=server_tick.S:server_tick";
        let word = |word: &str| match word.split_once('=') {
            Some(("growth", _)) => Some(GROWTH.to_owned()),
            Some(("WITHIN", _)) if is_served => Some(format!("{within} {servers}")),
            Some(("server", _)) if is_served && self.divider_log2 == 3 => None,
            _ => Some(word.to_owned()),
        };
        line.split(' ').filter_map(word).collect::<Vec<_>>().join(" ")
    }
}

/// What is seen of a call, and of the serial line and the timer beside it.
struct Watched {
    seen: Seen,
    /// Addresses of UCSR0A, of the ring's head, and of the ticks' count.
    status: u32,
    head: u32,
    count: u32,
    /// The timer's, which each tick toggles.
    pin: Pin,
    /// The errors that were seen in UCSR0A.
    faults: u8,
    taken: Vec<Cycles>,
    counted: Vec<Cycles>,
    ticks: Vec<Cycles>,
    interrupts: Vec<Cycles>,
}

impl Watched {
    fn of(built: &Built) -> Watched {
        let is_larger = built.profile.name == "ATmega128";
        Watched {
            seen: Seen::of(built),
            status: built.profile.register("UCSR0A").expect("both chips have a USART").address.into(),
            head: built.at("server_uart_rx_head").into(),
            count: built.at("server_tick_count").into(),
            pin: if is_larger { Pin { port: b'B', bit: 4 } } else { Pin { port: b'D', bit: 6 } },
            faults: 0,
            taken: Vec::new(),
            counted: Vec::new(),
            ticks: Vec::new(),
            interrupts: Vec::new(),
        }
    }
}

impl isa::Observer for Watched {
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.seen.load(cycle, address, value);
        if address == self.status {
            self.faults |= value & FAULTS;
        }
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.seen.store(cycle, address, value);
        if address == self.head {
            self.taken.push(cycle);
        }
        if address == self.count {
            self.counted.push(cycle);
        }
    }
}

impl Observer for Watched {
    fn interrupt(&mut self, cycle: Cycles, _vector: u8) {
        self.interrupts.push(cycle);
    }

    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        if matches!(effect, Effect::Value { pin, high: Some(_) } if *pin == self.pin) {
            self.ticks.push(cycle);
        }
    }
}

/// What happens beside a frame, and the frame.
struct Given {
    frames: Frames,
    /// Whether there is a frame to hear: without one, a receiver waits the longest.
    is_sent: bool,
    /// What the gateway's clock is faster.
    gateway_ppm: i64,
    /// Over the serial line: from which cycle behind the call on, and how much longer each takes.
    bytes: Vec<u8>,
    begins: Cycles,
    longer_ppm: i64,
    tick_phase: u8,
}

impl Given {
    fn random(rng: &mut ChaCha20Rng, built: &Built, case: Case) -> Given {
        let mut below = |count: u64| rng.next_u64() % count;
        let ppms = (LONGER_PPM.end() - LONGER_PPM.start() + 1) as u64;
        Given {
            begins: below(BYTE_CYCLES),
            longer_ppm: LONGER_PPM.start() + below(ppms) as i64,
            is_sent: below(2) == 0,
            gateway_ppm: if below(2) == 0 { -DRIFT_PPM } else { DRIFT_PPM },
            tick_phase: below(124) as u8,
            bytes: random_bytes(rng, BYTES),
            frames: Frames::random(rng, built, 255, LINE_BYTES[case.way as usize - 1]),
        }
    }

    /// When the byte of this number begins.
    fn byte_at(&self, number: usize) -> Cycles {
        self.begins + number as Cycles * BYTE_CYCLES * (1_000_000 + self.longer_ppm) as Cycles / 1_000_000
    }
}

/// A filter that was called beside all that.
struct Called {
    chip: Chip,
    watched: Watched,
    /// The line, from the first byte to the last.
    frame: Range<Cycles>,
    at: String,
}

impl Called {
    /// Calls it. What it does with both frames is as ever.
    fn of(built: &Built, case: Case, given: &Given) -> Called {
        let filter = Filter { line: Some(case.way), security: Some(Security::Seals) };
        let frames = &given.frames;
        let mut chip = built.given(filter, frames);
        assert!(chip.set_memory(built.at("tick_phase"), given.tick_phase), "it is in SRAM");
        for (number, &byte) in given.bytes.iter().enumerate() {
            chip.receive(0, built.calls + given.byte_at(number), usart::Frame::new(byte.into()));
        }
        let heard = if given.is_sent { &frames.line[..] } else { &[] };
        let levels = match case.way {
            Way::Transmits => Vec::new(),
            Way::Receives => built.gateway(given.gateway_ppm, heard),
        };
        let mut watched = Watched::of(built);
        let left = built.run(&mut chip, frames, &levels, &mut watched);

        let at = format!("{}, {}, f/{}", case.function(), built.profile.name, 1 << case.divider_log2);
        assert!(left.text == frames.sealed(built).text, "{at}: what the library makes of it");
        let (carried, is_carried) = match case.way {
            Way::Transmits => (watched.seen.sent.iter().map(|&(_, byte)| byte).collect(), true),
            Way::Receives => (left.bytes, given.is_sent),
        };
        assert_eq!((carried == frames.line, left.is_over), (is_carried, is_carried), "{at}: on the line");
        let instants = watched.seen.instants(case.way);
        assert_eq!(instants.len(), frames.line.len(), "{at}: bytes on the line");
        let period = Cycles::from(case.period_cycles());
        assert!(instants.windows(2).all(|pair| pair[1] - pair[0] == period), "{at}: {instants:?}");
        let frame = instants[0]..instants[instants.len() - 1];
        let called = Called { chip, watched, frame, at };
        assert_eq!(called.beside(&called.watched.interrupts), 0, "{}: interrupts are off", called.at);
        called
    }

    /// How many of them were beside the frame.
    fn beside(&self, instants: &[Cycles]) -> usize {
        instants.iter().filter(|cycle| self.frame.contains(cycle)).count()
    }

    /// Bytes and ticks that are lost.
    fn lost(&self, built: &Built) -> [usize; 2] {
        [BYTES - self.came(built).len(), self.ticks().len() - self.count(built)]
    }

    /// What came in over the serial line.
    fn came(&self, built: &Built) -> Vec<u8> {
        let memory = |at: u16| self.chip.memory(at).expect("it is in SRAM");
        let head = memory(built.at("server_uart_rx_head"));
        (built.at("server_uart_rx_ring")..).take(head.into()).map(memory).collect()
    }

    fn ticks(&self) -> &[Cycles] {
        // The pin's first level is none.
        &self.watched.ticks[1..]
    }

    /// Whether the last tick comes as the filter returns.
    fn is_tick_pending(&self) -> bool {
        self.ticks().last() > self.watched.counted.last()
    }

    /// Ticks that were counted, and one that is pending.
    fn count(&self, built: &Built) -> usize {
        let counted = self.chip.memory(built.at("server_tick_count")).expect("it is in SRAM");
        usize::from(counted) + usize::from(self.is_tick_pending())
    }

    /// Nothing is lost, and what came beside the frame was served there.
    fn assert_whole(&self, built: &Built, given: &Given) {
        let (at, returns) = (&self.at, self.watched.seen.stages[1]);
        let over: Vec<Cycles> = (0..BYTES).map(|byte| built.calls + given.byte_at(byte + 1)).collect();
        assert!(over[BYTES - 1] < returns, "{at}: all bytes have come when it returns");
        assert_eq!(self.came(built), given.bytes, "{at}: what comes in over the serial line");
        assert_eq!(self.watched.faults, 0, "{at}");
        let ticks = self.ticks();
        assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == TICK_CYCLES), "{at}: {ticks:?}");
        assert_eq!(self.count(built), ticks.len(), "{at}: ticks");
        assert!(!self.is_tick_pending() || ticks[ticks.len() - 1] + 100 > returns, "{at}: the last tick");
        // But for one that waits for the next run.
        assert!(self.beside(&self.watched.taken) + 1 >= self.beside(&over), "{at}: bytes beside the frame");
        assert!(self.beside(&self.watched.counted) + 1 >= self.beside(ticks), "{at}: ticks beside the frame");
    }
}

#[test]
fn no_byte_of_a_serial_line_and_no_tick_is_lost_beside_a_frame() {
    let Some(compiler) = compiler() else { return };
    let mut rng = seeded();
    let columns = [
        Column::new("chip"),
        Column::new("filter"),
        Column::new("period").unit("cycles"),
        Column::new("frame").unit("cycles"),
        Column::new("bytes served"),
        Column::new("ticks served"),
        Column::new("bytes lost without"),
        Column::new("ticks lost without"),
        Column::new("takes").unit("cycles"),
        Column::new("takes without").unit("cycles"),
    ];
    let mut table = Table::new("38,400 bit/s and a tick each millisecond beside a frame, at 8 MHz", columns);
    for case in Case::all() {
        let [served, unserved] = [true, false].map(|is_served| case.built(&compiler, is_served));
        for _ in 0..if is_soak() { 200 } else { 4 } {
            let given = Given::random(&mut rng, &served, case);
            let [with, without] = [&served, &unserved].map(|built| Called::of(built, case, &given));
            with.assert_whole(&served, &given);
            let [bytes_lost, ticks_lost] = without.lost(&unserved);
            assert!(bytes_lost > 0 && ticks_lost > 0, "{}: without servers some are lost", without.at);
            table.push([
                Entry::from(served.profile.name),
                case.function().into(),
                case.period_cycles().into(),
                (with.frame.end - with.frame.start).into(),
                with.beside(&with.watched.taken).into(),
                with.beside(&with.watched.counted).into(),
                bytes_lost.into(),
                ticks_lost.into(),
                with.watched.seen.cycles().into(),
                without.watched.seen.cycles().into(),
            ]);
        }
    }
    println!("{}", table.text(None));
}
