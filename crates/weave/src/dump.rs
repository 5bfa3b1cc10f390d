//! The analyses as text: `--dump cfg,cdg,time,slack,registers`, and control flow for Graphviz.
//!
//! Owns: the layout of these texts, every instruction with where it is written. They are for reading and for golden
//! files; nothing parses them.

use std::fmt::Write;

use isa::avr::Set;

use crate::analysis::{Fault, Routine};
use crate::cdg::{Cdg, Node, RegionId};
use crate::cfg::{Cfg, ExitKind, Way};
use crate::loops::LoopId;
use crate::program::{Callee, Function, Origin, Point, Program};
use crate::registers::{Liveness, REGISTERS, Registers};
use crate::slack::Slack;
use crate::time::{Bounds, Time};
use crate::trips::{Trips, Untold};

/// Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($words:tt)*) => {
        writeln!($out, $($words)*).expect("a string takes everything")
    };
}

/// An instruction as assembly text.
fn instruction(program: &Program, point: Point) -> String {
    let step = &program.code[point];
    let mut text = String::new();
    let named = step.expression.as_deref();
    let written = step.instruction.write_with(&mut text, &mut |out, _| match named {
        Some(name) => out.write_str(name).map(|()| true),
        None => Ok(false),
    });
    written.expect("a string takes everything");
    text
}

fn place(program: &Program, point: Point) -> String {
    match program.code[point].origin {
        Origin::Line { line, .. } => line.to_string(),
        Origin::Address(address) => format!("{address:#06x}"),
    }
}

fn span(bounds: Bounds) -> String {
    if bounds.best == bounds.worst {
        bounds.best.to_string()
    } else {
        format!("{}..{}", bounds.best, bounds.worst)
    }
}

fn or_fault(bounds: &Result<Bounds, Fault>) -> String {
    bounds.as_ref().map_or_else(first_line, |bounds| span(*bounds))
}

/// A fault's words without the help.
fn first_line(fault: &Fault) -> String {
    fault.to_string().lines().next().unwrap_or_default().to_owned()
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Next => "next",
        Way::Taken => "taken",
        Way::Skipped => "skipped",
    }
}

fn exit(program: &Program, kind: &ExitKind) -> String {
    match kind {
        ExitKind::Return => "return".into(),
        ExitKind::ReturnFromInterrupt => "return from interrupt".into(),
        ExitKind::Stop => "stop".into(),
        ExitKind::TailCall(Callee::Unknown(name)) => format!("tail call of {name}"),
        ExitKind::TailCall(Callee::Known(entry)) => match program.function_at(*entry) {
            Some(function) => format!("tail call of {}", function.name),
            None => "tail call".into(),
        },
    }
}

/// Blocks with their instructions and edges.
pub fn cfg(program: &Program, function: &Function, cfg: &Cfg) -> String {
    let mut out = format!("cfg of {}\n", function.name);
    for (id, block) in cfg.blocks.iter().enumerate() {
        let before: Vec<String> = block.predecessors.iter().map(|before| format!("b{before}")).collect();
        put!(out, "b{id}:{}{}", if before.is_empty() { "" } else { "  from " }, before.join(" "));
        for point in block.points() {
            put!(out, "  {:>6}  {}", place(program, point), instruction(program, point));
        }
        for edge in &block.successors {
            put!(out, "          -> b{} {}, {} cycles", edge.to, way(edge.way), edge.cycles);
        }
        for each in &block.exits {
            put!(out, "          -> {} {}, {} cycles", exit(program, &each.kind), way(each.way), each.cycles);
        }
    }
    for range in &cfg.unreachable {
        put!(out, "unreachable:");
        for point in range.clone() {
            put!(out, "  {:>6}  {}", place(program, point), instruction(program, point));
        }
    }
    out
}

/// Control flow for Graphviz.
pub fn dot(program: &Program, function: &Function, cfg: &Cfg) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", escape(&function.name));
    for (id, block) in cfg.blocks.iter().enumerate() {
        let line = |point| format!("{}  {}\\l", place(program, point), escape(&instruction(program, point)));
        let label: String = block.points().map(line).collect();
        put!(out, "  b{id} [label=\"{label}\"];");
        for edge in &block.successors {
            put!(out, "  b{id} -> b{} [label=\"{} {}\"];", edge.to, way(edge.way), edge.cycles);
        }
        for (number, each) in block.exits.iter().enumerate() {
            put!(
                out,
                "  x{id}_{number} [shape=plaintext, label=\"{}\"];",
                escape(&exit(program, &each.kind))
            );
            put!(out, "  b{id} -> x{id}_{number} [label=\"{} {}\"];", way(each.way), each.cycles);
        }
    }
    out + "}\n"
}

fn trips(routine: &Routine, id: LoopId) -> String {
    match &routine.trips[id] {
        Ok(found) => told(routine, id, found),
        Err(Untold::Undecided { .. }) => "unknown trips".into(),
        Err(why) => why.to_string(),
    }
}

fn told(routine: &Routine, id: LoopId, found: &Trips) -> String {
    let (min, max) = found.passes(&routine.loops.all[id]);
    let source = if found.declared { " by directive" } else { "" };
    let count = if min == max {
        min.to_string()
    } else {
        format!("{min}{}{max}", if found.between { ".." } else { "|" })
    };
    format!("{count} trips{source}")
}

/// The control-dependence graph as a tree, with the time of every node.
pub fn cdg(program: &Program, function: &Function, routine: &Routine, time: &Time) -> String {
    let cdg = Cdg::of(&routine.cfg, &routine.loops);
    let total = match &time.total {
        Ok(Some(total)) => format!("{} cycles", span(*total)),
        Ok(None) => "never returns".into(),
        Err(fault) => first_line(fault),
    };
    let mut tree =
        Tree { program, routine, time, shown: vec![false; cdg.regions.len()], cdg, out: String::new() };
    put!(tree.out, "cdg of {}: {total}", function.name);
    tree.region(0, 1);
    tree.out
}

struct Tree<'t> {
    program: &'t Program,
    routine: &'t Routine,
    time: &'t Time,
    cdg: Cdg,
    shown: Vec<bool>,
    out: String,
}

impl Tree<'_> {
    fn region(&mut self, id: RegionId, depth: usize) {
        let indent = "  ".repeat(depth);
        if std::mem::replace(&mut self.shown[id], true) {
            put!(self.out, "{indent}region {id}, as above");
            return;
        }
        if self.cdg.regions[id].arms.len() > 1 {
            put!(self.out, "{indent}region {id}");
        }
        for node in self.cdg.regions[id].nodes.clone() {
            match node {
                Node::Block(block) => {
                    let points = self.routine.cfg.blocks[block].points();
                    put!(self.out, "{indent}b{block}: {} cycles", or_fault(&self.time.blocks[block]));
                    for point in points {
                        let text = instruction(self.program, point);
                        put!(self.out, "{indent}  {:>6}  {text}", place(self.program, point));
                    }
                }
                Node::Loop(each) => self.header(each, &indent),
            }
            if let Node::Loop(each) = node {
                self.region(self.cdg.bodies[each], depth + 1);
            }
            for (arm, below) in self.cdg.below(node) {
                put!(self.out, "{indent}if b{} {}:", arm.from.block, way(arm.from.way));
                self.region(below, depth + 1);
            }
        }
    }

    fn header(&mut self, each: LoopId, indent: &str) {
        let time = match &self.time.loops[each] {
            Ok(time) => {
                let round = time.round.map_or("none".into(), span);
                let total =
                    time.total().map_or("without end".into(), |total| format!("{} cycles", span(total)));
                format!("round {round}, {total}")
            }
            Err(fault) => first_line(fault),
        };
        put!(self.out, "{indent}loop {each}: {}, {time}", trips(self.routine, each));
    }
}

/// Blocks, loops and the whole, in cycles.
pub fn time(program: &Program, function: &Function, routine: &Routine, time: &Time) -> String {
    let mut out = format!("time of {}\n", function.name);
    for (id, block) in routine.cfg.blocks.iter().enumerate() {
        let lines = format!("{}-{}", place(program, block.first), place(program, block.last()));
        put!(out, "  b{id:<4} {lines:>13}  {}", or_fault(&time.blocks[id]));
    }
    for (id, each) in routine.loops.all.iter().enumerate() {
        let header = place(program, routine.cfg.blocks[each.header].first);
        let cycles = match &time.loops[id] {
            Ok(found) => {
                let round = found.round.map_or("none".into(), span);
                format!("round {round}, total {}", found.total().map_or("without end".into(), span))
            }
            Err(fault) => first_line(fault),
        };
        put!(out, "  loop {id} at {header}, depth {}: {}, {cycles}", each.depth, trips(routine, id));
    }
    let total = match &time.total {
        Ok(Some(total)) => format!("{} cycles", span(*total)),
        Ok(None) => "never returns".into(),
        Err(fault) => first_line(fault),
    };
    put!(out, "  total: {total}");
    out
}

/// Gaps and rounds of a guest's clocks.
pub fn slack(program: &Program, function: &Function, clocks: &[Slack]) -> String {
    let mut out = format!("slack of {}\n", function.name);
    for clock in clocks {
        let periods: Vec<String> = clock.periods.iter().map(ToString::to_string).collect();
        put!(
            out,
            "  clock {}: period {}, the guest alone needs {}",
            clock.clock,
            periods.join("|"),
            clock.period_cycles_min()
        );
        let name = |event: usize| {
            let event = &clock.events[event];
            format!("{}@{}:{}", event.name, event.at, place(program, event.point))
        };
        for (title, gaps) in [("gap", &clock.gaps), ("round", &clock.rounds)] {
            for gap in gaps {
                let to = gap.to.map_or("end".into(), name);
                let jitter = gap.busy.jitter_cycles();
                let idle = match gap.idle_cycles() {
                    Some((min, max)) if min == max => {
                        format!("due {}, idle {min}", gap.due_cycles.unwrap_or(0))
                    }
                    Some((min, max)) => format!("due {}, idle {min}..{max}", gap.due_cycles.unwrap_or(0)),
                    None => "open".into(),
                };
                put!(
                    out,
                    "    {title:<5} {:<16} -> {to:<16} busy {}, jitter {jitter}, {idle}",
                    name(gap.from),
                    span(gap.busy)
                );
            }
        }
    }
    out
}

/// A set in few words: `r0 r2-r17 CZNV`.
pub fn set(set: Set) -> String {
    let mut words: Vec<String> = Vec::new();
    let numbers: Vec<u8> = set.registers().collect();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [one] => words.push(format!("r{one}")),
            [first, .., last] => words.push(format!("r{first}-r{last}")),
            [] => {}
        }
    }
    let flags = "CZNVSHTI".chars().zip(0..).filter(|&(_, bit)| set.contains(Set::status(bit)));
    let flags: String = flags.map(|(letter, _)| letter).collect();
    words.extend((!flags.is_empty()).then_some(flags));
    words.extend(set.contains(Set::RAMPZ).then(|| "RAMPZ".to_owned()));
    if words.is_empty() { "-".into() } else { words.join(" ") }
}

/// What is live before each instruction, and which registers are free there; what callers see.
pub fn registers(
    program: &Program,
    function: &Function,
    routine: &Routine,
    registers: &Registers,
    live: &Liveness,
) -> String {
    let mut out = format!("registers of {}\n", function.name);
    if let Ok(summary) = registers.summary(function) {
        put!(out, "  reads    {}", set(summary.reads));
        put!(out, "  changes  {}", set(summary.writes));
        put!(out, "  touches  {}", set(summary.touches));
    }
    for (id, block) in routine.cfg.blocks.iter().enumerate() {
        put!(out, "b{id}:");
        for point in block.points() {
            let before = live.before(point);
            let free = set(REGISTERS.without(before));
            put!(
                out,
                "  {:>6}  {:<28} live {:<40} free {free}",
                place(program, point),
                instruction(program, point),
                set(before)
            );
        }
    }
    out
}
