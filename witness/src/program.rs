//! Programs that nobody wrote: random, legal, and certain to end at a known place.
//!
//! Owns: which instructions may follow which, so that pointers stay in SRAM, calls return, pushes are popped
//! and every jump lands on an instruction. What is generated is the closest thing to "anything" that both
//! simulators define; what is left out is a line of [`crate::known`], or a combination that the instruction
//! set manual calls undefined (`ld r26, X+` and its like).
//!
//! Invariant: a generated program ends at [`Program::end`], whatever registers and SRAM hold at the start.

use isa::avr::table::{OPCODES, Opcode, Operand};
use isa::avr::{Image, Instruction, Profile};

/// What the generator does with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Any operands, anywhere.
    Free,
    /// Behind code that puts its pointer into SRAM.
    Memory(Pointed),
    /// An address of SRAM, of a register or of a plain I/O register.
    Direct,
    /// Behind code that puts Z into flash.
    Flash,
    /// An I/O register that is plain in both.
    Io,
    /// Before an instruction that may be left out.
    Skip,
    /// Over a block that may be left out, forwards or backwards.
    Branch,
    /// To a place that is known.
    Jump,
    /// To a subroutine, or at the end of one.
    Call,
    /// In pairs around a block.
    Stack,
    /// Once, at the end; or not at all, see [`crate::known`].
    Never,
}

/// An access through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pointed {
    /// The lower register of the pointer.
    low: u8,
    /// Whether the pointer changes.
    moves: bool,
    stores: bool,
}

const fn pointed(low: u8, moves: bool, stores: bool) -> Kind {
    Kind::Memory(Pointed { low, moves, stores })
}

/// A new instruction has to be given its kind here, and then the coverage test wants to see it run.
fn kind(opcode: Opcode) -> Kind {
    use Opcode::*;
    match opcode {
        Add | Adc | Adiw | Sub | Subi | Sbc | Sbci | Sbiw | And | Andi | Or | Ori | Eor | Com | Neg | Inc
        | Dec | Mul | Muls | Mulsu | Fmul | Fmuls | Fmulsu | Cp | Cpc | Cpi | Mov | Movw | Ldi | Lsr
        | Ror | Asr | Swap | Bset | Bclr | Bst | Bld | Nop | Wdr => Kind::Free,
        LdX => pointed(26, false, false),
        LdXInc | LdXDec => pointed(26, true, false),
        LddY => pointed(28, false, false),
        LdYInc | LdYDec => pointed(28, true, false),
        LddZ => pointed(30, false, false),
        LdZInc | LdZDec => pointed(30, true, false),
        StX => pointed(26, false, true),
        StXInc | StXDec => pointed(26, true, true),
        StdY => pointed(28, false, true),
        StYInc | StYDec => pointed(28, true, true),
        StdZ => pointed(30, false, true),
        StZInc | StZDec => pointed(30, true, true),
        Lds | Sts => Kind::Direct,
        Lpm | LpmZ | LpmZInc | Elpm | ElpmZ | ElpmZInc => Kind::Flash,
        In | Out | Sbi | Cbi => Kind::Io,
        Cpse | Sbrc | Sbrs | Sbic | Sbis => Kind::Skip,
        Brbs | Brbc => Kind::Branch,
        Rjmp | Ijmp | Jmp => Kind::Jump,
        Rcall | Icall | Call | Ret | Reti => Kind::Call,
        Push | Pop => Kind::Stack,
        Break | Sleep | Spm => Kind::Never,
    }
}

/// Whether a generated program can contain `opcode` on this chip.
pub fn generates(profile: &Profile, opcode: Opcode) -> bool {
    let extended = matches!(opcode, Opcode::Elpm | Opcode::ElpmZ | Opcode::ElpmZInc);
    kind(opcode) != Kind::Never && (profile.rampz || !extended)
}

/// A source of random words.
pub trait Random {
    /// The next one.
    fn next(&mut self) -> u64;
}

/// I/O registers that are plain bytes in both simulators, by their datasheet's names: ports whose pins are all
/// there, compare registers of timers that stand still, and general-purpose ones.
pub fn plain_registers(profile: &Profile) -> &'static [&'static str] {
    if profile.rampz {
        &["PORTE", "DDRE", "PORTD", "DDRD", "PORTC", "DDRC", "PORTB", "DDRB", "PORTA", "DDRA", "OCR0", "OCR2"]
    } else {
        &["PORTB", "DDRB", "PORTD", "DDRD", "GPIOR0", "GPIOR1", "GPIOR2", "OCR0A", "OCR0B", "OCR2A", "OCR2B"]
    }
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// What goes into flash; all of it is filled, so that reading flash reads something.
    pub image: Image,
    /// Byte address of the BREAK that ends it.
    pub end: u32,
}

/// First page of the SRAM that data accesses stay in, and how many there are (a power of two). Displacements
/// and steps reach 64 bytes behind and some before; the stack is above, from the end of the RAM down.
const DATA_PAGE: u8 = 2;
const DATA_PAGES: u8 = 4;
const _: () = assert!(DATA_PAGES.is_power_of_two());
/// Reached by subroutines one below the other, blocks of pushes inside them, and frames.
const STACK_BYTES_MAX: u16 = 512;
const SUBROUTINES: usize = 4;
const SRAM_FIRST: u16 = 0x100;
/// Of flash that is kept for the program; the rest decides where it lies.
const PROGRAM_WORDS_MAX: u32 = 8 * 1024;
/// A branch reaches that many words.
const BRANCH_WORDS_MAX: usize = 63;

/// Generates a program of about `items` random pieces for `profile`.
pub fn generate(profile: &Profile, random: &mut dyn Random, items: usize) -> Program {
    assert!(
        u16::from(DATA_PAGE + DATA_PAGES + 1) * 256 + STACK_BYTES_MAX <= SRAM_FIRST + profile.ram_bytes,
        "data and stack fit the {}",
        profile.name
    );
    let mut flash: Vec<u8> = Vec::with_capacity(profile.flash_bytes as usize);
    while flash.len() < profile.flash_bytes as usize {
        flash.extend(random.next().to_le_bytes());
    }
    let mut writer =
        Writer { profile, random, words: Vec::new(), base: 0, subroutines: Vec::new(), depth: 0 };
    // Anywhere in flash behind the jump, so that return addresses and pointers have all kinds of bytes.
    let room = profile.flash_bytes / 2 - PROGRAM_WORDS_MAX;
    writer.base = 2 + writer.below(room as usize) as u32;
    for _ in 0..SUBROUTINES {
        writer.subroutine();
    }
    let main = writer.here();
    writer.set_stack_pointer(SRAM_FIRST + profile.ram_bytes - 1);
    writer.block(items);
    let end = writer.here() * 2;
    writer.put(Instruction::new(Opcode::Break));
    let Writer { words, base, .. } = writer;
    assert!(words.len() <= PROGRAM_WORDS_MAX as usize, "{items} items make {} words", words.len());
    let jump = Instruction { k: main as i32, ..Instruction::new(Opcode::Jmp) };
    let (first, second) = jump.encode().expect("a flash address is encodable");
    let start = [first, second.expect("a jump has two words")];
    for (at, word) in start.iter().enumerate().chain((base as usize..).zip(&words)) {
        flash[at * 2..at * 2 + 2].copy_from_slice(&word.to_le_bytes());
    }
    Program { image: Image::from_flash(profile.architecture, flash), end }
}

struct Writer<'a> {
    profile: &'a Profile,
    random: &'a mut dyn Random,
    words: Vec<u16>,
    /// Word address of the first of them.
    base: u32,
    /// Word addresses.
    subroutines: Vec<u32>,
    /// Blocks within blocks.
    depth: usize,
}

impl Writer<'_> {
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.random.next()) * limit as u128) >> 64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn opcode(&mut self, wanted: impl Fn(Kind) -> bool) -> Opcode {
        let profile = self.profile;
        let fitting: Vec<Opcode> =
            OPCODES.iter().copied().filter(|&o| generates(profile, o) && wanted(kind(o))).collect();
        self.pick(&fitting)
    }

    /// Word address of what comes next.
    fn here(&self) -> u32 {
        self.base + self.words.len() as u32
    }

    fn put(&mut self, instruction: Instruction) {
        let (first, second) = instruction.encode().expect("operands come from their ranges");
        self.words.push(first);
        self.words.extend(second);
    }

    fn put_with(&mut self, opcode: Opcode, operands: &[(Operand, i32)]) {
        let mut instruction = Instruction::new(opcode);
        for &(operand, value) in operands {
            instruction.set_operand(operand, value);
        }
        self.put(instruction);
    }

    /// Room for an instruction of `words`, to be filled by [`patch`](Self::patch).
    fn leave(&mut self, words: usize) -> usize {
        let at = self.words.len();
        self.words.extend(std::iter::repeat_n(0, words));
        at
    }

    fn patch(&mut self, at: usize, opcode: Opcode, operands: &[(Operand, i32)]) {
        let behind = self.words.split_off(at + opcode.words() as usize);
        self.words.truncate(at);
        self.put_with(opcode, operands);
        self.words.extend(behind);
    }

    /// An instruction with random operands.
    fn random_operands(&mut self, opcode: Opcode) -> Instruction {
        let mut instruction = Instruction::new(opcode);
        for &operand in opcode.row().operands {
            let range = operand.range();
            let choices = (range.last - range.first) / range.step + 1;
            let value = range.first + self.below(choices as usize) as i32 * range.step;
            instruction.set_operand(operand, value);
        }
        instruction
    }

    fn set_stack_pointer(&mut self, to: u16) {
        use Operand::{Io6, K8, RdHigh, Rr};
        for (name, byte) in ["SPL", "SPH"].iter().zip(to.to_le_bytes()) {
            let address = self.register_address(name) - 0x20;
            self.put_with(Opcode::Ldi, &[(RdHigh, 16), (K8, byte.into())]);
            self.put_with(Opcode::Out, &[(Io6, address), (Rr, 16)]);
        }
    }

    fn subroutine(&mut self) {
        let at = self.here();
        let items = 5 + self.below(25);
        self.block(items);
        let end = self.pick(&[Opcode::Ret, Opcode::Ret, Opcode::Reti]);
        self.put(Instruction::new(end));
        self.subroutines.push(at);
    }

    fn block(&mut self, items: usize) {
        self.depth += 1;
        for _ in 0..items {
            self.item();
        }
        self.depth -= 1;
    }

    fn item(&mut self) {
        // Blocks inside blocks get rarer, so that programs end up finite.
        let nested = self.depth < 4;
        match self.below(100) {
            0..10 => self.through_pointer(),
            10..16 => self.read_flash(),
            16..24 => self.plain_io(),
            24..28 => self.direct(),
            28..34 => self.skip(),
            34..36 => self.status_and_stack_pointer(),
            36..38 => self.frame(),
            38..44 if nested => self.branch(),
            44..47 if nested => self.backwards(),
            47..51 if nested => self.pushes(),
            51..54 if nested => self.jump(),
            54..56 if nested => self.repeat(),
            56..59 if nested && self.depth < 3 => self.call(),
            _ => self.free(),
        }
    }

    fn free(&mut self) {
        let opcode = self.opcode(|kind| kind == Kind::Free);
        let instruction = self.random_operands(opcode);
        self.put(instruction);
    }

    /// Puts the pointer whose lower register is `low` somewhere into the data pages.
    fn aim(&mut self, low: u8) {
        use Operand::{K8, RdHigh};
        let high = i32::from(low) + 1;
        self.put_with(Opcode::Andi, &[(RdHigh, high), (K8, i32::from(DATA_PAGES - 1))]);
        self.put_with(Opcode::Subi, &[(RdHigh, high), (K8, i32::from(DATA_PAGE.wrapping_neg()))]);
    }

    fn through_pointer(&mut self) {
        let low = self.pick(&[26, 28, 30]);
        self.aim(low);
        for _ in 0..1 + self.below(4) {
            let opcode = self.opcode(|kind| matches!(kind, Kind::Memory(pointed) if pointed.low == low));
            let Kind::Memory(pointed) = kind(opcode) else { unreachable!("as filtered") };
            let mut instruction = self.random_operands(opcode);
            let register = if pointed.stores { instruction.r } else { instruction.d };
            let own = register & !1 == low;
            if own && pointed.moves {
                continue; // undefined by the manual
            }
            if own && !pointed.stores {
                // Loads over the pointer are defined, but then it points anywhere.
                instruction.d = register & 15;
            }
            self.put(instruction);
        }
    }

    /// Loads over the own pointer end the aim, so they come alone.
    fn direct(&mut self) {
        let opcode = self.opcode(|kind| kind == Kind::Direct);
        let mut instruction = self.random_operands(opcode);
        instruction.k = self.direct_address();
        self.put(instruction);
    }

    fn direct_address(&mut self) -> i32 {
        match self.below(8) {
            0 => self.below(32) as i32,
            1 => {
                let names = plain_registers(self.profile);
                let name = self.pick(names);
                self.register_address(name)
            }
            _ => i32::from(DATA_PAGE) * 256 + self.below(usize::from(DATA_PAGES) * 256) as i32,
        }
    }

    fn register_address(&self, name: &str) -> i32 {
        self.profile
            .register(name)
            .unwrap_or_else(|| panic!("the {} has a {name}", self.profile.name))
            .address
            .into()
    }

    fn read_flash(&mut self) {
        use Operand::{Io6, K8, RdHigh, Rr};
        let opcode = self.opcode(|kind| kind == Kind::Flash);
        let mut instruction = self.random_operands(opcode);
        let extended = matches!(opcode, Opcode::Elpm | Opcode::ElpmZ | Opcode::ElpmZInc);
        if extended {
            let rampz = self.register_address("RAMPZ") - 0x20;
            let upper = self.below(2) as i32;
            self.put_with(Opcode::Ldi, &[(RdHigh, 16), (K8, upper)]);
            self.put_with(Opcode::Out, &[(Io6, rampz), (Rr, 16)]);
            if self.below(4) == 0 {
                // The last byte of the lower half, from which RAMPZ carries.
                self.put_with(Opcode::Ldi, &[(RdHigh, 30), (K8, 0xff)]);
                self.put_with(Opcode::Ldi, &[(RdHigh, 31), (K8, 0xff)]);
                self.put_with(Opcode::Ldi, &[(RdHigh, 16), (K8, 0)]);
                self.put_with(Opcode::Out, &[(Io6, rampz), (Rr, 16)]);
            } else if upper == 1 {
                self.put_with(Opcode::Andi, &[(RdHigh, 31), (K8, 0x7f)]);
            }
        } else if self.profile.flash_bytes < 0x10000 {
            let mask = (self.profile.flash_bytes / 256 - 1) as i32;
            self.put_with(Opcode::Andi, &[(RdHigh, 31), (K8, mask)]);
        }
        if matches!(opcode, Opcode::LpmZInc | Opcode::ElpmZInc) && instruction.d >= 30 {
            instruction.d -= 30; // undefined by the manual
        }
        self.put(instruction);
        if extended {
            let rampz = self.register_address("RAMPZ") - 0x20;
            self.put_with(Opcode::In, &[(Operand::Rd, 17), (Io6, rampz)]);
        }
    }

    /// A plain register that the instruction reaches, as its I/O address.
    fn reach(&mut self, operand: Operand) -> i32 {
        let last = operand.range().last;
        let names = plain_registers(self.profile).iter();
        let reached: Vec<i32> =
            names.map(|name| self.register_address(name) - 0x20).filter(|&address| address <= last).collect();
        self.pick(&reached)
    }

    fn plain_io(&mut self) {
        let opcode = self.opcode(|kind| kind == Kind::Io);
        let mut instruction = self.random_operands(opcode);
        let io = |o: &&Operand| matches!(o, Operand::Io5 | Operand::Io6);
        let operand = *opcode.row().operands.iter().find(io).expect("it has an I/O address");
        instruction.k = self.reach(operand);
        self.put(instruction);
    }

    /// A skip and what it may skip: one word or two, and a call, which comes back.
    fn skip(&mut self) {
        let opcode = self.opcode(|kind| kind == Kind::Skip);
        let mut instruction = self.random_operands(opcode);
        if opcode.row().operands.contains(&Operand::Io5) {
            instruction.k = self.reach(Operand::Io5);
        }
        if opcode == Opcode::Cpse && self.below(3) == 0 {
            instruction.r = instruction.d;
        }
        self.put(instruction);
        match self.below(8) {
            0..4 => self.free(),
            4..7 => self.direct(),
            _ if self.depth < 3 => self.call_one(Opcode::Call),
            _ => self.free(),
        }
    }

    fn status_and_stack_pointer(&mut self) {
        use Operand::{Address16, Io6, Rd, Rr};
        let register = self.below(32) as i32;
        let name = self.pick(&["SREG", "SREG", "SREG", "SPL", "SPH"]);
        let address = self.register_address(name);
        match self.below(4) {
            0 => self.put_with(Opcode::In, &[(Rd, register), (Io6, address - 0x20)]),
            1 => self.put_with(Opcode::Lds, &[(Rd, register), (Address16, address)]),
            _ if name != "SREG" => {}
            2 => self.put_with(Opcode::Out, &[(Io6, address - 0x20), (Rr, register)]),
            _ => self.put_with(Opcode::Sts, &[(Address16, address), (Rr, register)]),
        }
    }

    /// What a compiled function does to make room on the stack, use it and give it back.
    fn frame(&mut self) {
        use Operand::{DisplacedY, Io6, K6, Rd, RdWord, Rr};
        let (low, high) = (self.register_address("SPL") - 0x20, self.register_address("SPH") - 0x20);
        let bytes = 1 + self.below(24) as i32;
        self.put_with(Opcode::In, &[(Rd, 28), (Io6, low)]);
        self.put_with(Opcode::In, &[(Rd, 29), (Io6, high)]);
        for (opcode, use_it) in [(Opcode::Sbiw, true), (Opcode::Adiw, false)] {
            self.put_with(opcode, &[(RdWord, 28), (K6, bytes)]);
            self.put_with(Opcode::Out, &[(Io6, high), (Rr, 29)]);
            self.put_with(Opcode::Out, &[(Io6, low), (Rr, 28)]);
            for _ in 0..if use_it { self.below(5) } else { 0 } {
                let (register, at) = (self.below(28) as i32, 1 + self.below(bytes as usize) as i32);
                self.put_with(Opcode::StdY, &[(DisplacedY, at), (Rr, register)]);
                let (register, at) = (self.below(28) as i32, 1 + self.below(bytes as usize) as i32);
                self.put_with(Opcode::LddY, &[(Rd, register), (DisplacedY, at)]);
            }
        }
    }

    /// A branch over a block.
    fn branch(&mut self) {
        use Operand::{Flag, Relative7};
        let opcode = self.opcode(|kind| kind == Kind::Branch);
        let flag = self.below(8) as i32;
        let before = self.words.clone();
        let at = self.leave(1);
        let items = self.below(12);
        self.block(items);
        let distance = self.words.len() - at - 1;
        if distance > BRANCH_WORDS_MAX {
            self.words = before;
            return;
        }
        self.patch(at, opcode, &[(Flag, flag), (Relative7, distance as i32)]);
    }

    /// Forwards over a block, backwards to it, and forwards again: the way back is a jump, or a branch on a
    /// flag that has just been set or cleared.
    fn backwards(&mut self) {
        use Operand::{Flag, Relative7, Relative12};
        let before = self.words.clone();
        let over = self.leave(1);
        let first = self.words.len();
        let items = self.below(8);
        self.block(items);
        let on = self.leave(1);
        let back = self.words.len();
        self.patch(over, Opcode::Rjmp, &[(Relative12, (back - over - 1) as i32)]);
        if self.below(2) == 0 {
            let distance = first as i32 - self.words.len() as i32 - 1;
            self.put_with(Opcode::Rjmp, &[(Relative12, distance)]);
        } else {
            let flag = self.below(8) as i32;
            let set = self.below(2) == 0;
            let (change, branch) =
                if set { (Opcode::Bset, Opcode::Brbs) } else { (Opcode::Bclr, Opcode::Brbc) };
            self.put_with(change, &[(Flag, flag)]);
            let distance = first as i32 - self.words.len() as i32 - 1;
            if distance < Relative7.range().first {
                self.words = before;
                return;
            }
            self.put_with(branch, &[(Flag, flag), (Relative7, distance)]);
        }
        self.patch(on, Opcode::Rjmp, &[(Relative12, (self.words.len() - on - 1) as i32)]);
    }

    fn pushes(&mut self) {
        let count = 1 + self.below(6);
        for _ in 0..count {
            let register = self.below(32) as i32;
            self.put_with(Opcode::Push, &[(Operand::Rr, register)]);
        }
        let items = self.below(10);
        self.block(items);
        for _ in 0..count {
            let register = self.below(32) as i32;
            self.put_with(Opcode::Pop, &[(Operand::Rd, register)]);
        }
    }

    /// Over words that are never executed.
    fn jump(&mut self) {
        use Operand::{Address22, K8, RdHigh, Relative12};
        let opcode = self.opcode(|kind| kind == Kind::Jump);
        let loads = if opcode == Opcode::Ijmp { Some(self.leave(2)) } else { None };
        let at = self.leave(opcode.words() as usize);
        for _ in 0..self.below(6) {
            let word = self.random.next() as u16;
            self.words.push(word);
        }
        let target = self.here() as i32;
        match opcode {
            Opcode::Jmp => self.patch(at, opcode, &[(Address22, target)]),
            Opcode::Rjmp => {
                let distance = (self.words.len() - at - 1) as i32;
                self.patch(at, opcode, &[(Relative12, distance)]);
            }
            _ => {
                let loads = loads.expect("room was left");
                self.patch(loads, Opcode::Ldi, &[(RdHigh, 30), (K8, target & 0xff)]);
                self.patch(loads + 1, Opcode::Ldi, &[(RdHigh, 31), (K8, target >> 8 & 0xff)]);
                self.patch(at, opcode, &[]);
            }
        }
    }

    /// A block that is run a few times. Its counter is on the stack, where the block cannot reach it.
    fn repeat(&mut self) {
        use Operand::{Address22, Flag, K8, Rd, RdHigh, Relative7, Rr};
        let counter = 16 + self.below(16) as i32;
        let times = 1 + self.below(4) as i32;
        self.put_with(Opcode::Ldi, &[(RdHigh, counter), (K8, times)]);
        let first = self.here() as i32;
        self.put_with(Opcode::Push, &[(Rr, counter)]);
        let items = self.below(6);
        self.block(items);
        self.put_with(Opcode::Pop, &[(Rd, counter)]);
        self.put_with(Opcode::Dec, &[(Rd, counter)]);
        self.put_with(Opcode::Brbs, &[(Flag, 1), (Relative7, 2)]);
        self.put_with(Opcode::Jmp, &[(Address22, first)]);
    }

    fn call(&mut self) {
        let opcode = self.pick(&[Opcode::Rcall, Opcode::Call, Opcode::Icall]);
        self.call_one(opcode);
    }

    /// A call of a subroutine before the one that is being written.
    fn call_one(&mut self, opcode: Opcode) {
        use Operand::{Address22, K8, RdHigh, Relative12};
        if self.subroutines.is_empty() {
            return self.free();
        }
        let subroutines = self.subroutines.clone();
        let target = self.pick(&subroutines) as i32;
        let distance = target - self.here() as i32 - 1;
        match opcode {
            Opcode::Rcall if Relative12.range().first <= distance => {
                self.put_with(opcode, &[(Relative12, distance)]);
            }
            Opcode::Icall => {
                self.put_with(Opcode::Ldi, &[(RdHigh, 30), (K8, target & 0xff)]);
                self.put_with(Opcode::Ldi, &[(RdHigh, 31), (K8, target >> 8 & 0xff)]);
                self.put(Instruction::new(opcode));
            }
            _ => self.put_with(Opcode::Call, &[(Address22, target)]),
        }
    }
}
