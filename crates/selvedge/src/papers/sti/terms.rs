//! What the processor and the bus do for one byte, in the paper's terms (section 2.1, figures 1 to 3), as measured.
//!
//! Owns the cut of a few bytes of a trace into spans. A handler is its way in, its pushes, its body, its pops and its
//! return; a poll begins at the first look at SPSR and ends with the last.

use std::ops::Range;

use isa::Cycles;
use isa::avr::{Image, Instruction, Opcode};

use super::cells::Scheme;
use super::trace::{SHOWN, Step, Trace};

/// Edges of SCK in a byte.
const EDGES: usize = 16;

/// What goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The cipher's work; woven, also what keeps time.
    Cipher,
    /// From the program to the handler's first instruction.
    Load,
    /// The handler saves registers.
    Push,
    /// A byte is moved in or out of SPDR.
    Byte,
    /// The handler restores registers.
    Pop,
    /// Back to the program.
    Return,
    /// A polling program's own work for a byte.
    Code,
    /// It waits.
    BusyWait,
    /// The bus shifts a byte.
    Transfer,
    /// The bus does nothing.
    Idle,
}

impl Activity {
    /// Every one, in the order of the paper.
    pub const ALL: [Activity; 10] = [
        Activity::Cipher,
        Activity::Load,
        Activity::Push,
        Activity::Byte,
        Activity::Pop,
        Activity::Return,
        Activity::Code,
        Activity::BusyWait,
        Activity::Transfer,
        Activity::Idle,
    ];

    /// Those of a handler.
    pub const HANDLER: [Activity; 5] =
        [Activity::Load, Activity::Push, Activity::Byte, Activity::Pop, Activity::Return];

    /// What it is.
    pub fn words(self) -> &'static str {
        match self {
            Activity::Cipher => "the cipher runs",
            Activity::Load => "from the program into the handler",
            Activity::Push => "registers are saved",
            Activity::Byte => "a byte is moved in or out of SPDR",
            Activity::Pop => "registers are restored",
            Activity::Return => "back to the program",
            Activity::Code => "polling: buffer and SPDR",
            Activity::BusyWait => "polling: the wait",
            Activity::Transfer => "the bus shifts a byte",
            Activity::Idle => "the bus is idle between two bytes",
        }
    }

    /// The paper's term.
    pub fn term(self) -> &'static str {
        match self {
            Activity::Cipher => "T_crypt",
            Activity::Load => "T_load",
            Activity::Push => "T_push",
            Activity::Byte => "T_byte",
            Activity::Pop => "T_pop",
            Activity::Return => "T_ret",
            Activity::Code => "T_code",
            Activity::BusyWait => "T_busy-wait",
            Activity::Transfer => "T_trans",
            Activity::Idle => "T_idle",
        }
    }

    /// Whether the bus does it, and not the processor.
    pub fn is_bus(self) -> bool {
        matches!(self, Activity::Transfer | Activity::Idle)
    }
}

/// A stretch of time, from the first byte that is shown on.
pub type Span = (Activity, Range<Cycles>);

/// One byte after the other, some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What went on between the first byte that is shown and the last.
    pub spans: Vec<Span>,
    /// Cycles between two bytes.
    pub period: Cycles,
}

impl Terms {
    /// Of a run.
    pub fn of(image: &Image, trace: &Trace, scheme: Scheme) -> Terms {
        let at = |byte: usize| trace.written[byte].0;
        // A byte that is written is shown from behind its write on.
        let (first, last) = (at(SHOWN.start), at(SHOWN.end - 2));
        let mut spans = match scheme {
            Scheme::BusyWait => polling(trace),
            Scheme::Compiled | Scheme::Reserved => handling(image, trace, first..last),
            Scheme::Woven | Scheme::WovenSmall | Scheme::Coupled => woven(trace),
        };
        let mut idle_from = None;
        // The byte whose write began what is shown is edges 0 to 15.
        for edges in trace.edges.chunks_exact(EDGES) {
            let half = edges[1] - edges[0];
            let (start, end) = (edges[0] - half, edges[EDGES - 1]);
            spans.extend(idle_from.map(|from| (Activity::Idle, from..start)));
            spans.push((Activity::Transfer, start..end));
            idle_from = Some(end);
        }
        let shift = |cycle: Cycles| cycle.clamp(first, last) - first;
        let spans = spans.into_iter().map(|(what, span)| (what, shift(span.start)..shift(span.end)));
        let spans = spans.filter(|(_, span)| !span.is_empty()).collect();
        Terms { spans, period: at(SHOWN.start + 1) - first }
    }

    /// Cycles of an activity from the first byte that is shown to the next; none if there are none.
    pub fn cycles(&self, activity: Activity) -> Option<Cycles> {
        let part = |span: &Range<Cycles>| span.end.min(self.period).saturating_sub(span.start);
        let cycles = self.spans.iter().filter(|span| span.0 == activity).map(|span| part(&span.1)).sum();
        (cycles > 0).then_some(cycles)
    }
}

/// A program that polls: from the first look at SPSR behind a write to the instruction after the last it waits.
fn polling(trace: &Trace) -> Vec<Span> {
    let mut spans = Vec::new();
    for pair in trace.written[SHOWN.start..SHOWN.end - 1].windows(2) {
        let (from, to) = (pair[0].0, pair[1].0);
        let polled = || trace.polled.iter().copied().filter(|&cycle| from < cycle && cycle < to);
        let (Some(first), Some(last)) = (polled().min(), polled().max()) else { continue };
        let begin = trace.steps.iter().rev().find(|step| step.0 <= first).map_or(from, |step| step.0);
        let end = trace.steps.iter().find(|step| step.0 > last).map_or(to, |step| step.0);
        spans.extend([
            (Activity::Code, from..begin),
            (Activity::BusyWait, begin..end),
            (Activity::Code, end..to),
        ]);
    }
    spans
}

/// A program with a handler.
fn handling(image: &Image, trace: &Trace, shown: Range<Cycles>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut free_from = shown.start;
    for range in trace.handler.iter().filter(|range| range.end > shown.start && range.start < shown.end) {
        spans.push((Activity::Cipher, free_from..range.start.max(free_from)));
        free_from = range.end;
        let steps: Vec<(Step, Opcode)> = { trace.steps.iter() }
            .filter(|step| range.contains(&step.0))
            .map(|&step| (step, opcode(image, step.1)))
            .collect();
        let begin = |index: Option<usize>, none: Cycles| index.map_or(none, |index| steps[index].0.0);
        let body = steps.iter().position(|step| !step.1.is_jump());
        let pushed = steps.iter().rposition(|step| step.1 == Opcode::Push).map(|index| index + 1);
        let popping = steps.iter().position(|step| step.1 == Opcode::Pop);
        let returning = steps.iter().rposition(|step| step.1 == Opcode::Reti);
        // A handler that is shown from its middle on has lost its way in.
        let loaded = if steps.first().is_some_and(|step| step.0.0 <= range.start + ENTRY_CYCLES) {
            begin(body, range.start)
        } else {
            range.start
        };
        let pushed = begin(pushed, loaded).max(loaded);
        let returning = begin(returning, range.end);
        let popping = begin(popping, returning);
        spans.extend([
            (Activity::Load, range.start..loaded),
            (Activity::Push, loaded..pushed),
            (Activity::Byte, pushed..popping),
            (Activity::Pop, popping..returning),
            (Activity::Return, returning..range.end),
        ]);
    }
    spans.push((Activity::Cipher, free_from..shown.end.max(free_from)));
    spans
}

/// The core's way to a vector (ATmega128 datasheet, "Interrupt Response Time").
const ENTRY_CYCLES: Cycles = 4;

/// A woven program: all is the cipher's but the instruction that writes SPDR.
fn woven(trace: &Trace) -> Vec<Span> {
    let mut spans = Vec::new();
    for pair in trace.written[SHOWN.start..SHOWN.end - 1].windows(2) {
        let (from, to) = (pair[0].0, pair[1].0);
        // An instant is the last cycle of its instruction: OUT takes one.
        spans.extend([(Activity::Cipher, from + 1..to), (Activity::Byte, from..from + 1)]);
    }
    spans
}

fn opcode(image: &Image, address: u32) -> Opcode {
    let word = |address: u32| -> Option<u16> {
        let segment = image.flash.iter().find(|segment| {
            (segment.address..segment.address + segment.bytes.len() as u32).contains(&address)
        })?;
        let at = (address - segment.address) as usize;
        Some(u16::from_le_bytes(segment.bytes.get(at..at + 2)?.try_into().ok()?))
    };
    let first = word(address).expect("it was executed");
    Instruction::decode(first, word(address + 2)).expect("it was executed").opcode
}
