//! The host as weaving sees it: every function that it reaches, analysed.
//!
//! Owns: putting the analyses together ([`Host`]). The analyses themselves are files of their own.

use std::borrow::Cow;
use std::collections::BTreeMap;

use isa::avr::{Opcode, Set};

use crate::analysis::Fault;
use crate::cfg::Cfg;
use crate::directive::Directive;
use crate::error::{Refusal, StackFault};
use crate::loops::Loops;
use crate::product::whole_ends;
use crate::program::{Callee, Flow, Function, Point, Program};
use crate::registers::{Liveness, Registers, behind_abi};
use crate::rename::SREG;
use crate::transfer::indirect;
use crate::trips::{self, Trips};
use crate::values::{Base, Pointer, State, Values};

/// Host code that analysis has looked at.
pub struct Host<'a> {
    /// The function, or the subroutine inside one.
    pub function: Cow<'a, Function>,
    /// Its control flow.
    pub cfg: Cfg,
    /// Its loops.
    pub loops: Loops,
    /// How often the header of each loop is executed, where that is known.
    pub trips: Vec<Option<Trips>>,
    /// What lives before each instruction, from the function's entry.
    pub live: Vec<Set>,
    /// What lives behind each.
    pub live_behind: Vec<Set>,
}

/// The host and everything it calls, by entry.
///
/// # Errors
/// When a function has no usable control flow, or a callee is not here.
pub fn reached<'a>(program: &'a Program, host: &'a Function) -> Result<BTreeMap<Point, Host<'a>>, Refusal> {
    let mut hosts = BTreeMap::new();
    let registers = Registers::of(program);
    let entry = host.entry;
    let mut open = vec![Cow::Borrowed(host)];
    while let Some(function) = open.pop() {
        if hosts.contains_key(&function.entry) {
            continue;
        }
        let host = Host::of(program, function, &registers)?;
        open.extend(host.calls(program).filter_map(|(_, callee)| program.routine(callee)));
        hosts.insert(host.function.entry, host);
    }
    apart(program, &hosts)?;
    hosts.values().try_for_each(|host| keeps_to_its_stack(program, &registers, host, entry))?;
    hosts.values().try_for_each(|host| leaves_interrupts(program, host))?;
    live(program, &registers, entry, &mut hosts);
    Ok(hosts)
}

/// Finds what lives: behind the host what avr-gcc's ABI says, behind a callee what lives behind any of its calls.
fn live(program: &Program, registers: &Registers, entry: Point, hosts: &mut BTreeMap<Point, Host>) {
    let mut behind: BTreeMap<Point, Set> = hosts.keys().map(|&entry| (entry, Set::EMPTY)).collect();
    behind.insert(entry, behind_abi(returned_bytes(&hosts[&entry].function)));
    let mut changed = true;
    while changed {
        changed = false;
        for host in hosts.values_mut() {
            let exit = behind[&host.function.entry];
            let liveness = Liveness::with_exit(program, &host.cfg, registers, exit);
            for (point, callee) in host.calls(program) {
                let known = behind.entry(callee).or_default();
                let more = *known | liveness.after(point);
                changed |= std::mem::replace(known, more) != more;
            }
            let points = || host.function.entry..host.function.end;
            host.live = points().map(|at| liveness.before(at)).collect();
            host.live_behind = points().map(|at| liveness.after(at)).collect();
        }
    }
}

/// Interrupts are switched by the guest's beginning and end. What saves and restores them in one piece is fine.
fn leaves_interrupts(program: &Program, host: &Host) -> Result<(), Refusal> {
    for block in &host.cfg.blocks {
        let mut whole_until = 0;
        for point in block.points() {
            let instruction = program.code[point].instruction;
            let switches = match instruction.opcode {
                Opcode::Bset | Opcode::Bclr => instruction.b == 7,
                Opcode::Out => instruction.k == SREG,
                Opcode::Sleep => true,
                _ => false,
            };
            whole_until = whole_ends(program, point, block.points().end).max(whole_until);
            if switches && point >= whole_until {
                return Err(Refusal::Interrupts { at: program.place_of(point) });
            }
        }
    }
    Ok(())
}

/// What a function has not put on the stack is its caller's: woven, registers that are saved lie there. Who is called may
/// read arguments behind its return address; `root` has none there.
fn keeps_to_its_stack(
    program: &Program,
    registers: &Registers,
    host: &Host,
    root: Point,
) -> Result<(), Refusal> {
    let is_root = host.function.entry == root;
    let mut refused = None;
    registers.with_context(program, |context| {
        let values = Values::of(context, &host.cfg);
        for block in 0..host.cfg.blocks.len() {
            values.walk(context, &host.cfg, block, |point, state| {
                refused = refused.or(stack_fault(program, point, state, is_root).map(|why| (point, why)));
            });
        }
    });
    let Some((point, why)) = refused else { return Ok(()) };
    Err(Refusal::Stack { at: program.place_of(point), mnemonic: program.mnemonic(point), why })
}

fn stack_fault(program: &Program, point: Point, state: &State, is_root: bool) -> Option<StackFault> {
    let instruction = program.code[point].instruction;
    match (instruction.opcode, state.stack) {
        (Opcode::Pop, Some(0..)) => Some(StackFault::Popped),
        (Opcode::Ret, Some(at)) if at != 0 => Some(StackFault::Left { bytes: at.unsigned_abs() }),
        _ => {
            let access = indirect(&instruction).filter(|access| is_root && !access.flash)?;
            let Pointer::Into { base: Base::Frame, offset: Some(offset), .. } = state.pointer(access.low)
            else {
                return None;
            };
            let at = offset.wrapping_add(access.before).wrapping_add(access.displacement) as i16;
            (at > 0).then_some(StackFault::Reached)
        }
    }
}

/// A subroutine stands behind all code of the function it is in, so that every point belongs to one of them.
fn apart(program: &Program, hosts: &BTreeMap<Point, Host>) -> Result<(), Refusal> {
    for (host, (&next, _)) in hosts.values().zip(hosts.iter().skip(1)) {
        let mut points = host.cfg.blocks.iter().flat_map(|block| block.points());
        if let Some(point) = points.find(|&point| point >= next) {
            let mnemonic = program.mnemonic(point);
            return Err(Refusal::HostShape { at: program.place_of(point), mnemonic });
        }
    }
    Ok(())
}

/// Every register that the host may read or write, and r1, which avr-gcc's code expects to be zero.
pub fn registers(program: &Program, hosts: &BTreeMap<Point, Host>) -> Set {
    let fixed = Set::register(1);
    let all = hosts.values().flat_map(|host| host.function.entry..host.function.end);
    all.map(|point| program.code[point].instruction)
        .fold(fixed, |set, instruction| set | instruction.reads() | instruction.writes())
}

/// Whether the code at some of these points has a use for T.
pub fn uses_flag_t(program: &Program, points: impl IntoIterator<Item = Point>) -> bool {
    points.into_iter().any(|point| {
        let instruction = program.code[point].instruction;
        match instruction.opcode {
            Opcode::Bst | Opcode::Bld => true,
            Opcode::Bset | Opcode::Bclr | Opcode::Brbs | Opcode::Brbc => instruction.b == 6,
            _ => false,
        }
    })
}

/// The registers, those first that are dead before the most instructions.
pub fn dead_most(hosts: &BTreeMap<Point, Host>) -> Vec<u8> {
    let mut dead = [0_usize; 32];
    for live in hosts.values().flat_map(|host| &host.live) {
        for number in (0..32).filter(|&number| !live.contains(Set::register(number))) {
            dead[usize::from(number)] += 1;
        }
    }
    let mut order: Vec<u8> = (0..32).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(dead[usize::from(number)]));
    order
}

impl<'a> Host<'a> {
    /// Without what lives in it, which depends on its callers.
    fn of(
        program: &Program,
        function: Cow<'a, Function>,
        registers: &Registers,
    ) -> Result<Host<'a>, Refusal> {
        let refuse = |fault: Fault| {
            let at = program.place_of(fault.point().unwrap_or(function.entry));
            Refusal::Analysis { at, fault }
        };
        let cfg = Cfg::of(program, &function).map_err(|fault| refuse(Fault::Flow(fault)))?;
        let loops = Loops::of(&cfg);
        let trips =
            trips::of(program, &cfg, &loops, registers).map_err(|fault| refuse(Fault::Trips(fault)))?;
        let trips = trips.into_iter().map(Result::ok).collect();
        Ok(Host { function, cfg, loops, trips, live: Vec::new(), live_behind: Vec::new() })
    }

    /// Its calls, and what they call.
    pub(crate) fn calls<'b>(&'b self, program: &'b Program) -> impl Iterator<Item = (Point, Point)> + 'b {
        let points = self.cfg.blocks.iter().flat_map(|block| block.points());
        points.filter_map(|point| match program.code[point].flow {
            Flow::Call(Callee::Known(entry)) => Some((point, entry)),
            _ => None,
        })
    }
}

/// Bytes of what a function returns; a value of any size when it does not say.
fn returned_bytes(function: &Function) -> u32 {
    let said = function.directives.iter().find_map(|written| match written.directive {
        Directive::Returns(bytes) => Some(bytes),
        _ => None,
    });
    said.unwrap_or(RETURNED_BYTES_MAX)
}

/// Bytes of the longest value that is returned in registers.
const RETURNED_BYTES_MAX: u32 = 8;
