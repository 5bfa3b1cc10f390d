//! Tail calls of a host as calls, which is what weaving copies.
//!
//! Owns: rewriting a program so that a jump out of a function into another one, and code that runs on into the next
//! function, become a call and a return behind the function's code. Leaves those as they are that may find arguments
//! on the stack: a call would put an address between. What the linker makes of a text is another matter: a proof reads
//! the jump as it is written.

use isa::avr::{Instruction, Opcode};

use crate::program::{Callee, Flow, Function, Point, Program, Step};

/// The I/O addresses of the stack pointer's halves.
const STACK_POINTER: [i32; 2] = [0x3d, 0x3e];

/// The program with its tail calls as calls; `None` where it has none. `root` is not given arguments on the stack.
pub fn called(program: &Program, root: &Function) -> Option<Program> {
    let calls: Vec<Vec<(Callee, Point)>> = program
        .functions
        .iter()
        .map(|function| calls(program, function, function.entry == root.entry))
        .collect();
    if calls.iter().all(Vec::is_empty) {
        return None;
    }
    let shift = |point: Point| {
        let before = program.functions.iter().zip(&calls).take_while(|(function, _)| function.end <= point);
        point + 2 * before.map(|(_, calls)| calls.len()).sum::<usize>()
    };
    let moved = |callee: &Callee| match callee {
        Callee::Known(entry) => Callee::Known(shift(*entry)),
        Callee::Unknown(name) => Callee::Unknown(name.clone()),
    };
    let mut made =
        Program { code: Vec::new(), functions: Vec::new(), texts: program.texts.clone(), ..*program };
    for (function, calls) in program.functions.iter().zip(&calls) {
        let entry = made.code.len();
        let behind = entry + (function.end - function.entry);
        for point in function.entry..function.end {
            let mut step = program.code[point].clone();
            step.flow = match step.flow {
                Flow::Branch(to) => Flow::Branch(shift(to)),
                Flow::Jump(to) => Flow::Jump(shift(to)),
                Flow::Call(callee) => Flow::Call(moved(&callee)),
                Flow::TailCall(callee) => match calls.iter().position(|(known, _)| *known == callee) {
                    Some(index) if step.instruction.opcode.is_jump() => {
                        (step.expression, step.instruction.k) = (None, 0);
                        Flow::Jump(behind + 2 * index)
                    }
                    Some(_) => Flow::Next,
                    None => Flow::TailCall(moved(&callee)),
                },
                other => other,
            };
            made.code.push(step);
        }
        for (callee, from) in calls {
            let expression = match callee {
                Callee::Known(_) => None,
                Callee::Unknown(name) => Some(name.clone()),
            };
            let step = |opcode, expression, flow| Step {
                instruction: Instruction::new(opcode),
                expression,
                flow,
                directives: Vec::new(),
                origin: program.code[*from].origin,
            };
            made.code.push(step(Opcode::Rcall, expression, Flow::Call(moved(callee))));
            made.code.push(step(Opcode::Ret, None, Flow::Return));
        }
        made.functions.push(Function { entry, end: made.code.len(), ..function.clone() });
    }
    Some(made)
}

/// What a function calls last, each with a place where it does; what it runs on into comes first.
fn calls(program: &Program, function: &Function, is_root: bool) -> Vec<(Callee, Point)> {
    let mut calls: Vec<(Callee, Point)> = Vec::new();
    for point in (function.entry..function.end).rev() {
        let Flow::TailCall(callee) = &program.code[point].flow else { continue };
        let runs_on = point + 1 == function.end && !is_control(program.code[point].instruction.opcode);
        let is_called = runs_on || program.code[point].instruction.opcode.is_jump();
        let is_known = calls.iter().any(|(known, _)| known == callee);
        if is_called && !is_known && (is_root || !reads_stack_pointer(program, callee)) {
            calls.push((callee.clone(), point));
        }
    }
    calls
}

/// A call that does not return is a tail call too, and no jump.
fn is_control(opcode: Opcode) -> bool {
    opcode.is_jump() || opcode.is_call() || matches!(opcode, Opcode::Ijmp | Opcode::Icall)
}

/// Whether a function may look for arguments on the stack.
fn reads_stack_pointer(program: &Program, callee: &Callee) -> bool {
    let Callee::Known(entry) = callee else { return false };
    let Some(function) = program.routine(*entry) else { return true };
    program.code[function.entry..function.end]
        .iter()
        .any(|step| step.instruction.opcode == Opcode::In && STACK_POINTER.contains(&step.instruction.k))
}
