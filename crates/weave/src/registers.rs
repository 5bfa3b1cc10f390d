//! Which registers and status bits matter where: liveness, and what functions read and write.
//!
//! Owns: backward liveness over 32 registers, SREG and RAMPZ ([`Liveness`]), and the summary of every function as
//! its callers see it ([`Registers`]): what it may read of what it was given, may change, surely changes, and
//! hands back as it was. Memory is `memory`'s.
//!
//! A callee whose code is here is summarised; of another one, avr-gcc's ABI is believed (r18-r27, r30, r31, r0 and
//! SREG are lost, r8-r25 may carry arguments, r1 is zero). Data-space addresses of registers and SREG count as
//! these (LDS, STS; a pointer is taken to point elsewhere).

use isa::avr::{CoreType, Instruction, Opcode, Set};

use crate::cfg::{BlockId, Cfg, ExitKind, Fault, callees};
use crate::program::{Callee, Function, Point, Program, Step};
use crate::values::{Context, References, State, Value, Values};

/// Every register.
pub const REGISTERS: Set = range(0, 31);

/// What liveness is about.
pub const TRACKED: Set = REGISTERS.union(Set::SREG).union(Set::RAMPZ);

/// What a function of avr-gcc's ABI may leave changed (interrupts enabled or not is no part of it).
pub const CALL_CLOBBERED: Set =
    range(18, 27).union(range(30, 31)).union(Set::register(0)).union(Set::SREG.without(Set::status(7)));

/// What may carry arguments.
const ARGUMENTS: Set = range(8, 25);

/// What a function of avr-gcc's ABI hands back as it was; r1 is zero again.
pub const CALL_SAVED: Set = range(1, 17).union(range(28, 29));

const fn range(first: u8, last: u8) -> Set {
    let mut set = Set::EMPTY;
    let mut number = first;
    while number <= last {
        set = set.union(Set::register(number));
        number += 1;
    }
    set
}

/// The registers of a return value of so many bytes (avr-gcc ABI: up to 8 bytes, the lowest in an even register
/// so that the last is r25; one byte is in r24).
pub fn returned(bytes: u32) -> Set {
    match bytes {
        0 => Set::EMPTY,
        1 => Set::register(24),
        2 => range(24, 25),
        3 | 4 => range(22, 25),
        _ => range(18, 25),
    }
}

/// A function as its callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// What its result or effect may depend on.
    pub reads: Set,
    /// What it may change; what it saves and hands back is not in it.
    pub writes: Set,
    /// What may come through it unchanged, since some path leaves it alone, or it is saved.
    pub through: Set,
    /// What some instruction in it writes, saved or not, callees included.
    pub touches: Set,
}

/// What avr-gcc's ABI says of a function. Those of the compiler's own library have arguments elsewhere too.
fn by_abi(name: &str) -> Summary {
    let pointers = range(26, 27).union(range(30, 31));
    let own = name.starts_with("__") || name.starts_with('*');
    let reads = ARGUMENTS.union(Set::register(1)).union(if own { pointers } else { Set::EMPTY });
    Summary {
        reads,
        writes: CALL_CLOBBERED,
        through: TRACKED.without(CALL_CLOBBERED),
        touches: CALL_CLOBBERED,
    }
}

/// The routines of a program as their callers see them.
#[derive(Clone, Debug)]
pub struct Registers {
    references: References,
    /// Of each routine, in the order of their entries below.
    summaries: Vec<Result<Summary, Fault>>,
    entries: Vec<Point>,
}

impl Registers {
    /// Of all functions, and of the subroutines inside them. One whose control flow is not known is believed to follow
    /// the ABI; its fault is kept.
    pub fn of(program: &Program) -> Registers {
        let routines = program.routines();
        let graphs: Vec<Result<Cfg, Fault>> =
            routines.iter().map(|routine| Cfg::of(program, routine)).collect();
        let mut registers = Registers {
            references: References::of(program),
            summaries: graphs
                .iter()
                .map(|graph| graph.as_ref().map(|_| Summary::default()).map_err(Clone::clone))
                .collect(),
            entries: routines.iter().map(|routine| routine.entry).collect(),
        };
        // What is touched grows from nothing; what is handed back then shrinks what is changed, callees first,
        // and what is read grows again.
        while registers.grow(program, &graphs, Registers::touched) {}
        for summary in registers.summaries.iter_mut().flatten() {
            summary.writes = summary.touches;
        }
        let known: Vec<Option<&Cfg>> = graphs.iter().map(|graph| graph.as_ref().ok()).collect();
        for index in callees_first(program, &registers.entries, &known) {
            if let (Ok(graph), Ok(mut summary)) = (&graphs[index], registers.summaries[index].clone()) {
                let lost = registers.lost(program, graph, summary.touches);
                summary.writes = lost;
                registers.summaries[index] = Ok(summary);
            }
        }
        while registers.grow(program, &graphs, Registers::needed) {}
        registers
    }

    /// Applies `find` to every function; whether a summary changed.
    fn grow(
        &mut self,
        program: &Program,
        graphs: &[Result<Cfg, Fault>],
        find: fn(&Registers, &Program, &Cfg, Summary) -> Summary,
    ) -> bool {
        let mut changed = false;
        for (index, graph) in graphs.iter().enumerate() {
            if let (Ok(graph), Ok(summary)) = (graph, self.summaries[index].clone()) {
                let found = find(self, program, graph, summary);
                changed |= found != summary;
                self.summaries[index] = Ok(found);
            }
        }
        changed
    }

    /// What a function's instructions write, and those of its callees.
    fn touched(&self, program: &Program, cfg: &Cfg, summary: Summary) -> Summary {
        let mut touches = summary.touches;
        for point in cfg.blocks.iter().flat_map(|block| block.points()) {
            touches = touches | writes(program, point);
            touches = touches | self.called(program, point).map_or(Set::EMPTY, |called| called.touches);
        }
        for callee in tail_callees(cfg) {
            touches = touches | self.of_callee(callee).touches;
        }
        Summary { touches: touches.intersection(TRACKED), ..summary }
    }

    /// What of `touches` a function does not hand back as it was.
    fn lost(&self, program: &Program, cfg: &Cfg, touches: Set) -> Set {
        let clobbers = |point: Point| self.clobbers(program, point);
        let context = Context { program, references: &self.references, clobbers: &clobbers };
        let values = Values::of(context, cfg);
        let mut lost = touches.without(REGISTERS);
        for (id, block) in cfg.blocks.iter().enumerate() {
            if block.exits.is_empty() {
                continue;
            }
            let state = values.walk(context, cfg, id, |_, _| {});
            for exit in &block.exits {
                let (more, balanced) = match &exit.kind {
                    ExitKind::TailCall(callee) => (self.of_callee(callee).writes, true),
                    ExitKind::Stop => continue,
                    _ => (Set::EMPTY, state.stack == Some(0)),
                };
                let kept = |register| balanced && is_kept(&state, register);
                let changed = touches.registers().filter(|&register| !kept(register));
                lost = changed.fold(lost | more, |set, register| set | Set::register(register));
            }
        }
        lost
    }

    /// What a function needs of what it is given, and what comes through it.
    fn needed(&self, program: &Program, cfg: &Cfg, summary: Summary) -> Summary {
        let saved = REGISTERS.without(summary.writes);
        let reads = self.live_at_entry(program, cfg, Set::EMPTY, saved);
        let through = self.live_at_entry(program, cfg, TRACKED, saved);
        Summary { reads: summary.reads | reads, through: summary.through | through | saved, ..summary }
    }

    /// What is live at the entry when `behind` is live behind every return. A push of what is `saved` is no use of it.
    fn live_at_entry(&self, program: &Program, cfg: &Cfg, behind: Set, saved: Set) -> Set {
        let exits = |kind: &ExitKind| match kind {
            ExitKind::TailCall(callee) => self.before_call(self.of_callee(callee), behind),
            ExitKind::Stop => Set::EMPTY,
            ExitKind::Return | ExitKind::ReturnFromInterrupt => behind,
        };
        let uses = |point: Point| {
            let i = &program.code[point].instruction;
            if i.opcode == Opcode::Push && saved.contains(Set::register(i.r)) {
                Set::EMPTY
            } else {
                reads(program, point)
            }
        };
        let live = self.solve(program, cfg, &uses, &exits);
        self.through_block(program, cfg, 0, &live, &uses, &exits, &mut |_, _, _| {})
    }

    /// What is live behind every block.
    fn solve(
        &self,
        program: &Program,
        cfg: &Cfg,
        uses: &dyn Fn(Point) -> Set,
        exits: &dyn Fn(&ExitKind) -> Set,
    ) -> Vec<Set> {
        let mut before = vec![Set::EMPTY; cfg.blocks.len()];
        loop {
            let mut changed = false;
            for &id in cfg.order().iter().rev() {
                let live = self.through_block(program, cfg, id, &before, uses, exits, &mut |_, _, _| {});
                changed |= std::mem::replace(&mut before[id], live) != live;
            }
            if !changed {
                return before;
            }
        }
    }

    /// What is live before a block, given what is live before all; `visit` is told each point with what is live
    /// before and after it.
    #[expect(clippy::too_many_arguments, reason = "one step of one equation, with all that it depends on")]
    fn through_block(
        &self,
        program: &Program,
        cfg: &Cfg,
        id: BlockId,
        before: &[Set],
        uses: &dyn Fn(Point) -> Set,
        exits: &dyn Fn(&ExitKind) -> Set,
        visit: &mut dyn FnMut(Point, Set, Set),
    ) -> Set {
        let block = &cfg.blocks[id];
        let mut live = block.successors.iter().fold(Set::EMPTY, |set, edge| set | before[edge.to]);
        live = block.exits.iter().fold(live, |set, exit| set | exits(&exit.kind));
        for point in block.points().rev() {
            let after = live;
            live = match self.called(program, point) {
                Some(called) => self.before_call(called, live) | uses(point).intersection(TRACKED),
                None => live.without(surely_writes(program, point)) | uses(point).intersection(TRACKED),
            };
            visit(point, live, after);
        }
        live
    }

    fn before_call(&self, called: Summary, after: Set) -> Set {
        called.reads | after.intersection(called.through)
    }

    /// What the call at a point does, all its callees together; `None` when it is no call.
    pub fn called(&self, program: &Program, point: Point) -> Option<Summary> {
        let found = callees(program, point);
        let each = found.iter().map(|callee| self.of_callee(callee));
        each.reduce(|a, b| Summary {
            reads: a.reads | b.reads,
            writes: a.writes | b.writes,
            through: a.through | b.through,
            touches: a.touches | b.touches,
        })
    }

    /// What a call may change.
    fn clobbers(&self, program: &Program, point: Point) -> Set {
        self.called(program, point).map_or(Set::EMPTY, |called| called.writes)
    }

    fn of_callee(&self, callee: &Callee) -> Summary {
        match callee {
            Callee::Known(entry) => match self.entries.iter().position(|known| known == entry) {
                Some(index) => self.summaries[index].clone().unwrap_or_else(|_| by_abi("")),
                None => by_abi("*"),
            },
            Callee::Unknown(name) => by_abi(name),
        }
    }

    /// A function's summary; a fault when its control flow is not known.
    pub fn summary(&self, function: &Function) -> Result<Summary, Fault> {
        let index = self.entries.iter().position(|&entry| entry == function.entry);
        match index {
            Some(index) => self.summaries[index].clone(),
            None => Err(Fault::NoCode { function: function.name.clone() }),
        }
    }

    /// What a function may change of what its caller sees, callees included.
    pub fn written_by(&self, function: &Function) -> Result<Set, Fault> {
        self.summary(function).map(|summary| summary.writes)
    }

    /// What a function may read of what its caller gave it, callees included.
    pub fn read_by(&self, function: &Function) -> Result<Set, Fault> {
        self.summary(function).map(|summary| summary.reads)
    }

    /// The symbols and operands of the program.
    pub fn references(&self) -> &References {
        &self.references
    }

    /// What is known to be in registers and on the stack throughout a function.
    pub fn values(&self, program: &Program, cfg: &Cfg) -> Values {
        self.with_context(program, |context| Values::of(context, cfg))
    }

    /// Runs something that carries states, with what calls of this program do.
    pub(crate) fn with_context<T>(&self, program: &Program, run: impl FnOnce(Context<'_>) -> T) -> T {
        let clobbers = |point: Point| self.clobbers(program, point);
        run(Context { program, references: &self.references, clobbers: &clobbers })
    }
}

/// Whether a register is as it was at the entry, or zero as the ABI wants r1 to be.
fn is_kept(state: &State, register: u8) -> bool {
    let value = state.registers[usize::from(register)];
    value == Value::at_entry(register) || register == 1 && value == Value::Known(0)
}

fn tail_callees(cfg: &Cfg) -> impl Iterator<Item = &Callee> {
    cfg.blocks.iter().flat_map(|block| &block.exits).filter_map(|exit| match &exit.kind {
        ExitKind::TailCall(callee) => Some(callee),
        _ => None,
    })
}

/// Routines, by their entries and graphs, such that each comes behind those it calls, recursion aside.
pub(crate) fn callees_first(program: &Program, entries: &[Point], graphs: &[Option<&Cfg>]) -> Vec<usize> {
    let index = |callee: &Callee| match callee {
        Callee::Known(entry) => entries.iter().position(|known| known == entry),
        Callee::Unknown(_) => None,
    };
    let called = |function: usize| -> Vec<usize> {
        let Some(cfg) = graphs[function] else { return Vec::new() };
        let points = cfg.blocks.iter().flat_map(|block| block.points());
        let calls = points.flat_map(|point| callees(program, point));
        calls.chain(tail_callees(cfg).cloned()).filter_map(|callee| index(&callee)).collect()
    };
    let mut seen = vec![false; graphs.len()];
    let mut order = Vec::new();
    for root in 0..graphs.len() {
        let mut stack = vec![(root, None::<Vec<usize>>)];
        while let Some((function, rest)) = stack.pop() {
            let mut rest = match rest {
                Some(rest) => rest,
                None if std::mem::replace(&mut seen[function], true) => continue,
                None => called(function),
            };
            match rest.pop() {
                Some(next) => {
                    stack.push((function, Some(rest)));
                    stack.push((next, None));
                }
                None => order.push(function),
            }
        }
    }
    order
}

/// The register or status bits at a data-space address, where the core maps them there.
fn at_address(core: CoreType, address: i32) -> Set {
    let classic = matches!(core, CoreType::AvrePc2 | CoreType::AvrePc3);
    match address {
        0..32 if classic => Set::register(address as u8),
        0x5f if classic => Set::SREG,
        0x3f if !classic => Set::SREG,
        0x5b if classic => Set::RAMPZ,
        0x3b if !classic => Set::RAMPZ,
        _ => Set::EMPTY,
    }
}

/// What an I/O operand that the linker completes may be.
fn any_io(step: &Step) -> bool {
    use Opcode::*;
    step.expression.is_some() && matches!(step.instruction.opcode, In | Out | Sbi | Cbi | Sbic | Sbis)
}

/// What an instruction reads, data-space addresses of registers included; a callee's reads are not in it. What is left of
/// a register when it is taken from itself does not depend on it.
pub fn reads(program: &Program, point: Point) -> Set {
    let step = &program.code[point];
    let i: &Instruction = &step.instruction;
    let mut set = i.reads();
    if matches!(i.opcode, Opcode::Eor | Opcode::Sub | Opcode::Sbc) && i.d == i.r {
        set = set.without(Set::register(i.d));
    }
    if i.opcode == Opcode::Lds && step.expression.is_none() {
        set = set | at_address(program.core, i.k);
    }
    if any_io(step) && i.opcode != Opcode::Out {
        set = set | Set::SREG | Set::SP | Set::RAMPZ | Set::IO;
    }
    set
}

/// What an instruction may write, data-space addresses of registers included; a callee's writes are not in it.
pub fn writes(program: &Program, point: Point) -> Set {
    let step = &program.code[point];
    let i: &Instruction = &step.instruction;
    let mut set = i.writes();
    if i.opcode == Opcode::Sts && step.expression.is_none() {
        set = set | at_address(program.core, i.k);
    }
    if any_io(step) && matches!(i.opcode, Opcode::Out | Opcode::Sbi | Opcode::Cbi) {
        set = set | Set::SREG | Set::SP | Set::RAMPZ | Set::IO;
    }
    set
}

/// What an instruction writes whatever happens. `bld` and RAMPZ's increment keep part of what was there, but then
/// read it as well.
fn surely_writes(program: &Program, point: Point) -> Set {
    let step = &program.code[point];
    if any_io(step) {
        step.instruction.writes().without(Set::SREG | Set::RAMPZ)
    } else {
        step.instruction.writes()
    }
}

/// What lives behind a function of avr-gcc's ABI that returns a value of so many bytes.
pub fn behind_abi(returned_bytes: u32) -> Set {
    returned(returned_bytes) | CALL_SAVED | Set::status(7) | Set::RAMPZ
}

/// What is live around every instruction of a function.
#[derive(Clone, Debug)]
pub struct Liveness {
    entry: Point,
    before: Vec<Set>,
    after: Vec<Set>,
}

impl Liveness {
    /// Of one function that returns a value of `returned_bytes` (8 when in doubt).
    pub fn of(program: &Program, cfg: &Cfg, registers: &Registers, returned_bytes: u32) -> Liveness {
        Liveness::with_exit(program, cfg, registers, behind_abi(returned_bytes))
    }

    /// Of one function, with what its callers use of what it leaves behind.
    pub fn with_exit(program: &Program, cfg: &Cfg, registers: &Registers, behind: Set) -> Liveness {
        let exits = |kind: &ExitKind| match kind {
            ExitKind::Return => behind,
            ExitKind::TailCall(callee) => registers.before_call(registers.of_callee(callee), behind),
            // What was interrupted uses everything, and so does whoever looks at a stopped machine.
            ExitKind::ReturnFromInterrupt | ExitKind::Stop => TRACKED,
        };
        let uses = |point: Point| reads(program, point);
        let solved = registers.solve(program, cfg, &uses, &exits);
        let count = cfg.end - cfg.entry;
        let mut live =
            Liveness { entry: cfg.entry, before: vec![Set::EMPTY; count], after: vec![Set::EMPTY; count] };
        for id in 0..cfg.blocks.len() {
            registers.through_block(program, cfg, id, &solved, &uses, &exits, &mut |point, before, after| {
                live.before[point - cfg.entry] = before;
                live.after[point - cfg.entry] = after;
            });
        }
        live
    }

    /// What may still be read of what is there before an instruction of the function; nothing where it is never
    /// reached.
    pub fn before(&self, point: Point) -> Set {
        self.before[point - self.entry]
    }

    /// What may still be read of what is there behind an instruction, whichever way it goes on.
    pub fn after(&self, point: Point) -> Set {
        self.after[point - self.entry]
    }
}
