//! What memory and I/O a function touches, and whether two threads get into each other's way.
//!
//! Owns: the object behind every access ([`Object`]), found by following addresses forward (`values`), calls
//! included, and the proof that two threads' objects are disjoint ([`disjoint`]).
//!
//! What is taken for granted: an address computed from an object stays in it, different symbols name different
//! objects, and nobody but its function knows a frame's addresses unless they were handed on. A pointer that one
//! thread is given points to what the other thread does not touch, as with C's `restrict`, and none points to an I/O
//! register: [`Disjoint::granted`] lists where this was needed. Core registers, SREG and the stack pointer are
//! `registers`'s and left out here, and so is flash.

use std::collections::BTreeMap;
use std::fmt;

use isa::avr::{CoreType, Instruction, Opcode};

use crate::cfg::{Cfg, ExitKind, callees};
use crate::directive::{Directive, Thread};
use crate::program::{Callee, Function, Point, Program};
use crate::registers::Registers;
use crate::transfer::indirect;
use crate::values::{Base, Context, Operand, Pointer, State};

/// Something that two threads may both touch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// The stack.
    Stack,
    /// What a parameter of the function points to, by its number from 0.
    Parameter(usize),
    /// What a symbol names.
    Symbol(String),
    /// A byte of memory, by its address.
    Absolute(u16),
    /// An I/O register, by its data-space address (which is 0x20 more than that of IN and OUT where the
    /// registers are in the data space, too).
    Io(u16),
    /// Not known.
    Unknown(Reason),
}

/// Why it is not known what an access touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The address comes from memory, or from arithmetic that cannot be followed.
    Address,
    /// The address is what the function was given in this register, and no directive says what that is.
    Undeclared(u8),
    /// The address is what the function was given in this register, which carries no pointer parameter.
    NoPointer(u8),
    /// An operand that only the linker knows and that names no symbol.
    Operand,
    /// The code of the function that is called is not here.
    Callee(String),
    /// The function that is called may be active already.
    Recursion,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Stack => write!(f, "stack"),
            Object::Parameter(number) => write!(f, "parameter {number}"),
            Object::Symbol(name) => write!(f, "{name}"),
            Object::Absolute(address) => write!(f, "{address:#06x}"),
            Object::Io(address) => write!(f, "io.{address:#04x}"),
            Object::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Address => write!(f, "the address cannot be followed"),
            Reason::Undeclared(register) => {
                write!(f, "r{register} was given to the function; `arguments` would say what it is")
            }
            Reason::NoPointer(register) => write!(f, "r{register} carries no pointer parameter"),
            Reason::Operand => write!(f, "only the linker knows the address"),
            Reason::Callee(name) => write!(f, "the code of `{name}` is not here"),
            Reason::Recursion => write!(f, "the call is recursive"),
        }
    }
}

/// An instruction and what it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction; it may be a callee's.
    pub point: Point,
    /// What it touches.
    pub object: Object,
    /// Whether it may read it.
    pub reads: bool,
    /// Whether it may write it.
    pub writes: bool,
    /// Whether that is only so if the object begins at a multiple of 256 (only the address's upper byte is known).
    pub page: bool,
    /// The only bit of an I/O register that it touches (SBI, CBI, SBIC, SBIS).
    pub bit: Option<u8>,
}

/// An object before it is known who calls the function.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Fixed(Object),
    /// What the register pair held at the entry.
    Given(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Touch {
    point: Point,
    place: Place,
    reads: bool,
    writes: bool,
    page: bool,
    bit: Option<u8>,
}

/// What a function touches, its callees included, by point.
pub fn accesses(program: &Program, function: &Function, registers: &Registers) -> Vec<Access> {
    let mut search = Search { program, registers, known: BTreeMap::new() };
    search.enter(function.entry);
    let touches = search.known.remove(&function.entry).flatten().unwrap_or_default();
    let parameters = Parameters::of(function);
    let mut found: Vec<Access> = touches
        .into_iter()
        .map(|touch| Access {
            point: touch.point,
            object: match touch.place {
                Place::Fixed(object) => object,
                Place::Given(register) => parameters.object(register),
            },
            reads: touch.reads,
            writes: touch.writes,
            page: touch.page,
            bit: touch.bit,
        })
        .collect();
    found.sort_by(|a, b| (a.point, &a.object).cmp(&(b.point, &b.object)));
    found.dedup();
    found
}

/// Which registers carry which parameters.
struct Parameters {
    /// The lowest register and the bytes of each, in order; `None` when they are not declared.
    places: Option<Vec<(Option<u8>, u32)>>,
}

impl Parameters {
    /// avr-gcc's ABI: from r25 down, each in an even number of registers; when one does not fit above r8, it and
    /// all behind it are on the stack.
    fn of(function: &Function) -> Parameters {
        let sizes = function.directives.iter().find_map(|written| match &written.directive {
            Directive::Arguments(sizes) => Some(sizes),
            _ => None,
        });
        let mut next = Some(26_u32);
        let place = |bytes: &u32| {
            next = next
                .and_then(|next| next.checked_sub(bytes.saturating_add(bytes & 1)))
                .filter(|&low| low >= 8);
            (next.map(|low| low as u8), *bytes)
        };
        Parameters { places: sizes.map(|sizes| sizes.iter().map(place).collect()) }
    }

    fn object(&self, register: u8) -> Object {
        let Some(places) = &self.places else { return Object::Unknown(Reason::Undeclared(register)) };
        let found = places.iter().position(|&(low, bytes)| low == Some(register) && bytes == 2);
        found.map_or(Object::Unknown(Reason::NoPointer(register)), Object::Parameter)
    }
}

fn unknown(point: Point, reason: Reason) -> Touch {
    let place = Place::Fixed(Object::Unknown(reason));
    Touch { point, place, reads: true, writes: true, page: false, bit: None }
}

/// What functions touch, by their entries; nothing of those that are still looked at.
struct Search<'a> {
    program: &'a Program,
    registers: &'a Registers,
    known: BTreeMap<Point, Option<Vec<Touch>>>,
}

impl Search<'_> {
    /// Looks at a function, those first that it calls.
    fn enter(&mut self, entry: Point) {
        if self.known.contains_key(&entry) {
            return;
        }
        self.known.insert(entry, None);
        let program = self.program;
        let cfg = program.routine(entry).and_then(|function| Cfg::of(program, &function).ok());
        let Some(cfg) = cfg else {
            let name = program.function_at(entry).map_or_else(String::new, |function| function.name.clone());
            self.known.insert(entry, Some(vec![unknown(entry, Reason::Callee(name))]));
            return;
        };
        for block in &cfg.blocks {
            let tails = block.exits.iter().filter_map(|exit| match &exit.kind {
                ExitKind::TailCall(callee) => Some(callee.clone()),
                _ => None,
            });
            for callee in block.points().flat_map(|point| callees(program, point)).chain(tails) {
                if let Callee::Known(entry) = callee {
                    self.enter(entry);
                }
            }
        }
        let registers = self.registers;
        let found = registers.with_context(program, |context| touches(context, registers, &cfg, &self.known));
        self.known.insert(entry, Some(found));
    }
}

/// What one function touches, given what those touch that it calls.
fn touches(
    context: Context<'_>,
    registers: &Registers,
    cfg: &Cfg,
    known: &BTreeMap<Point, Option<Vec<Touch>>>,
) -> Vec<Touch> {
    let values = registers.values(context.program, cfg);
    let mut found = Vec::new();
    for (id, block) in cfg.blocks.iter().enumerate() {
        let mut visit = |point: Point, state: &State| {
            found.extend(touch(context, point, state));
            for callee in callees(context.program, point) {
                found.extend(called(context, point, &callee, state, known));
            }
        };
        let behind = values.walk(context, cfg, id, &mut visit);
        for exit in &block.exits {
            if let ExitKind::TailCall(callee) = &exit.kind {
                found.extend(called(context, block.last(), callee, &behind, known));
            }
        }
    }
    found
}

/// What a callee touches, in the caller's terms.
fn called(
    context: Context<'_>,
    point: Point,
    callee: &Callee,
    state: &State,
    known: &BTreeMap<Point, Option<Vec<Touch>>>,
) -> Vec<Touch> {
    let touches = match callee {
        Callee::Known(entry) => known.get(entry).and_then(Option::as_ref),
        Callee::Unknown(name) => return vec![unknown(point, Reason::Callee(name.clone()))],
    };
    let Some(touches) = touches else { return vec![unknown(point, Reason::Recursion)] };
    let translate = |touch: &Touch| match touch.place {
        Place::Fixed(_) => touch.clone(),
        Place::Given(register) => {
            let (place, page) = behind(context, state.pointer(register), 0);
            Touch { place, page: page || touch.page, ..touch.clone() }
        }
    };
    touches.iter().map(translate).collect()
}

/// What a pointer points to, and whether that supposes a page of its own.
fn behind(context: Context<'_>, pointer: Pointer, displacement: u16) -> (Place, bool) {
    let fixed = |object| (Place::Fixed(object), false);
    match pointer {
        Pointer::Any => fixed(Object::Unknown(Reason::Address)),
        Pointer::Absolute(address) => {
            let address = address.wrapping_add(displacement);
            fixed(at_address(context.program.core, address).unwrap_or(Object::Absolute(address)))
        }
        Pointer::Into { base: Base::Frame, .. } => fixed(Object::Stack),
        Pointer::Into { base: Base::Entry(register), page, .. } => (Place::Given(register), page),
        Pointer::Into { base: Base::Symbol(symbol), page, .. } => {
            (Place::Fixed(Object::Symbol(context.references.symbols.name(symbol).to_owned())), page)
        }
    }
}

/// The object at a data-space address; `None` for the core's own registers, the stack pointer and SREG.
fn at_address(core: CoreType, address: u16) -> Option<Object> {
    let (first_io, memory) = match core {
        CoreType::AvrePc2 => (0x20, 0x100),
        CoreType::AvrePc3 => (0x20, 0x200),
        CoreType::Avrxm | CoreType::Avrxt => (0, 0x1000),
    };
    let own = first_io + 0x3d..first_io + 0x40;
    match address {
        _ if address < first_io || own.contains(&address) => None,
        _ if address < memory => Some(Object::Io(address)),
        _ => Some(Object::Absolute(address)),
    }
}

/// The object at an I/O address; `None` for the stack pointer and SREG.
fn at_io(core: CoreType, address: u16) -> Option<Object> {
    let classic = matches!(core, CoreType::AvrePc2 | CoreType::AvrePc3);
    at_address(core, if classic { address + 0x20 } else { address })
}

/// What one instruction touches by itself.
fn touch(context: Context<'_>, point: Point, state: &State) -> Option<Touch> {
    use Opcode::*;
    let step = &context.program.code[point];
    let i: &Instruction = &step.instruction;
    let place = |place, reads, writes| Touch { point, place, reads, writes, page: false, bit: None };
    let fixed = |object, reads, writes| place(Place::Fixed(object), reads, writes);
    match i.opcode {
        Push | Rcall | Icall | Call => Some(fixed(Object::Stack, false, true)),
        Pop | Ret | Reti => Some(fixed(Object::Stack, true, false)),
        Lds | Sts => {
            let object = match (&step.expression, context.references.at(point)) {
                (None, _) => at_address(context.program.core, i.k as u16)?,
                (_, Some(reference)) if reference.operand == Operand::Whole && !reference.negated => {
                    Object::Symbol(context.references.symbols.name(reference.symbol).to_owned())
                }
                _ => Object::Unknown(Reason::Operand),
            };
            Some(fixed(object, i.opcode == Lds, i.opcode == Sts))
        }
        In | Out | Sbi | Cbi | Sbic | Sbis => {
            let object = match step.expression {
                Some(_) => Object::Unknown(Reason::Operand),
                None => at_io(context.program.core, i.k as u16)?,
            };
            let bit = (!matches!(i.opcode, In | Out)).then_some(i.b);
            Some(Touch { bit, ..fixed(object, i.opcode != Out, matches!(i.opcode, Out | Sbi | Cbi)) })
        }
        _ => {
            let access = indirect(i).filter(|access| !access.flash)?;
            // The halves of a pair keep their base when the pair is stepped, so what is known before holds.
            let displacement = access.displacement.wrapping_add(access.before);
            let (object, page) = behind(context, state.pointer(access.low), displacement);
            Some(Touch { page, ..place(object, !access.stores, access.stores) })
        }
    }
}

/// That two threads touch nothing in common but what is declared.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Disjoint {
    /// Both accesses to what both touch, and whose comes first.
    pub shared: Vec<(Conflict, Thread)>,
    /// Symbols that must begin at a multiple of 256 for this to hold.
    pub pages: Vec<String>,
    /// What else must hold, as the caller's promise: these two are not the same, as `apart` would say it.
    pub granted: Vec<(String, String)>,
}

/// Two accesses that may touch the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The guest's access.
    pub guest: Access,
    /// The host's access.
    pub host: Access,
}

impl Conflict {
    /// Both objects as `shared` and `apart` name them.
    pub fn names(&self) -> (Option<String>, Option<String>) {
        (spelled(&self.guest.object, Thread::Guest), spelled(&self.host.object, Thread::Host))
    }

    /// Whether it is the caller's promise that the two are not the same: one of them is behind a pointer that was
    /// given, or both are behind pointers; and whatever cannot be followed points to no I/O register.
    fn is_granted(&self) -> bool {
        use Object::*;
        match (&self.guest.object, &self.host.object) {
            (Parameter(_), Unknown(reason)) | (Unknown(reason), Parameter(_)) => reason.is_pointer(),
            (Parameter(_), _) | (_, Parameter(_)) => true,
            (Unknown(a), Unknown(b)) => a.is_pointer() && b.is_pointer(),
            (Unknown(reason), Io(_)) | (Io(_), Unknown(reason)) => reason.is_pointer(),
            _ => false,
        }
    }
}

impl Reason {
    /// Whether what is not known is where a pointer points to.
    fn is_pointer(&self) -> bool {
        match self {
            Reason::Address | Reason::Undeclared(_) | Reason::NoPointer(_) | Reason::Recursion => true,
            Reason::Operand | Reason::Callee(_) => false,
        }
    }
}

/// An object as `shared` and `apart` name it: a symbol, `guest.0` and `host.0` for what a parameter points to, an
/// address, and `host.pointers` for whatever pointers point to that cannot be followed.
fn spelled(object: &Object, thread: Thread) -> Option<String> {
    match object {
        Object::Parameter(number) => Some(format!("{thread}.{number}")),
        Object::Symbol(name) => Some(name.clone()),
        Object::Absolute(address) => Some(format!("{address:#06x}")),
        Object::Io(address) => Some(format!("io.{address:#04x}")),
        Object::Unknown(reason) if reason.is_pointer() => Some(format!("{thread}.pointers")),
        Object::Stack | Object::Unknown(_) => None,
    }
}

/// Proves that what the guest and the host touch is disjoint, or declared. Without proof, every pair of accesses
/// that may clash, the first of each pair of objects.
pub fn disjoint(guest: &Side<'_>, host: &Side<'_>) -> Result<Disjoint, Vec<Conflict>> {
    let ours = accesses(guest.program, guest.function, guest.registers);
    let theirs = accesses(host.program, host.function, host.registers);
    let declared = Declared::of(guest.function, host.function);
    let (mut found, mut conflicts) = (Disjoint::default(), Vec::<Conflict>::new());
    for access in ours.iter().chain(&theirs) {
        if let (true, Object::Symbol(name)) = (access.page, &access.object)
            && !found.pages.contains(name)
        {
            found.pages.push(name.clone());
        }
    }
    let pairs = ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b)));
    for (guest, host) in pairs.filter(|(a, b)| may_clash(a, b)) {
        let conflict = Conflict { guest: guest.clone(), host: host.clone() };
        match conflict.names() {
            (Some(a), Some(b)) if declared.apart(&a, &b) => {}
            (Some(a), Some(b)) if declared.shared(&a, &b).is_some() => {
                found.shared.extend(declared.shared(&a, &b).map(|first| (conflict, first)));
            }
            (Some(a), Some(b)) if conflict.is_granted() => {
                let promise = (a, b);
                if !found.granted.contains(&promise) {
                    found.granted.push(promise);
                }
            }
            _ => note(&mut conflicts, conflict),
        }
    }
    found.granted.sort();
    if conflicts.is_empty() { Ok(found) } else { Err(conflicts) }
}

/// Keeps one conflict of each pair of objects, one that writes where there is one.
fn note(conflicts: &mut Vec<Conflict>, new: Conflict) {
    let same =
        |known: &Conflict| known.guest.object == new.guest.object && known.host.object == new.host.object;
    match conflicts.iter_mut().find(|known| same(known)) {
        Some(known) if known.guest.writes || known.host.writes => {}
        Some(known) => *known = new,
        None => conflicts.push(new),
    }
}

/// One of two threads.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    /// Its program.
    pub program: &'s Program,
    /// Its function.
    pub function: &'s Function,
    /// What the program's functions do to registers.
    pub registers: &'s Registers,
}

/// Whether two threads' accesses may touch the same, one of them changing it. Reading an I/O register may change
/// it too.
fn may_clash(a: &Access, b: &Access) -> bool {
    use Object::*;
    let changes = a.writes || b.writes;
    let same = match (&a.object, &b.object) {
        (Stack, _) | (_, Stack) => false,
        (Io(io), Io(other)) => {
            let other_bit = a.bit.zip(b.bit).is_some_and(|(bit, other)| bit != other);
            return io == other && !other_bit;
        }
        (Io(_), other) | (other, Io(_)) => matches!(other, Unknown(_)),
        (Unknown(_), _) | (_, Unknown(_)) => true,
        (Symbol(a), Symbol(b)) => a == b,
        (Absolute(a), Absolute(b)) => a == b,
        _ => true,
    };
    same && changes
}

/// What the directives of both functions say.
struct Declared {
    shared: Vec<(String, Thread)>,
    apart: Vec<(String, String)>,
}

impl Declared {
    fn of(guest: &Function, host: &Function) -> Declared {
        let mut found = Declared { shared: Vec::new(), apart: Vec::new() };
        for (function, thread) in [(guest, "guest"), (host, "host")] {
            // A bare number is a parameter of the function where it is written.
            let full = |name: &String| {
                let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
                if is_number { format!("{thread}.{name}") } else { name.clone() }
            };
            for written in &function.directives {
                match &written.directive {
                    Directive::Shared { symbol, first } => found.shared.push((full(symbol), *first)),
                    Directive::Apart(a, b) => found.apart.push((full(a), full(b))),
                    _ => {}
                }
            }
        }
        found
    }

    fn apart(&self, a: &str, b: &str) -> bool {
        let said = |p: &str, q: &str| (p, q) == (a, b) || (q, p) == (a, b);
        a != b && self.apart.iter().any(|(p, q)| said(p, q))
    }

    fn shared(&self, a: &str, b: &str) -> Option<Thread> {
        let names = |symbol: &str| symbol == a && symbol == b;
        self.shared.iter().find(|(symbol, _)| names(symbol)).map(|&(_, first)| first)
    }
}
