//! What each instruction does, and the inner loop that does it.
//!
//! Owns: the exhaustive match over the table. Flags are `status`'s, registers beyond SRAM are `io`'s, and what
//! happens between instructions is `machine`'s. The loop looks at nothing but its bound between two
//! instructions; whatever wants attention lowers the bound.

use std::sync::Arc;

use super::bits::Instruction;
use super::chip::{Stop, Watch};
use super::error::{Fault, FaultKind};
use super::machine::Machine;
use super::observer::Observer;
use super::profile::{IO_FIRST, Profile, RAM_FIRST};
use super::spm::Command;
use super::table::{Opcode, ROWS};
use super::timing::{CoreType, base_cycles};
use super::units::Unit;
use crate::Cycles;

/// Both chips are of this core; another one would be another monomorph of the loop.
const CORE: CoreType = CoreType::AvrePc2;
static BASE_CYCLES: [u8; ROWS.len()] = base_cycles(CORE);
/// What a taken branch adds to its line of the table.
const TAKEN_CYCLES: Cycles = 1;

/// Flash, as bytes and decoded.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) flash: Arc<Vec<u8>>,
    code: Arc<Vec<Option<Instruction>>>,
}

impl Program {
    /// Decodes a whole flash, whose length is a power of two.
    pub(super) fn new(profile: &Profile, flash: Vec<u8>) -> Program {
        assert!(profile.core == CORE && flash.len() == profile.flash_bytes as usize);
        let mut program = Program { flash: Arc::new(flash), code: Arc::new(Vec::new()) };
        program.code = Arc::new((0..program.words()).map(|pc| program.decode(profile, pc)).collect());
        program
    }

    fn words(&self) -> u32 {
        self.flash.len() as u32 / 2
    }

    fn word(&self, pc: u32) -> Option<u16> {
        let at = pc as usize * 2;
        self.flash.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn decode(&self, profile: &Profile, pc: u32) -> Option<Instruction> {
        let instruction = Instruction::decode(self.word(pc)?, self.word(pc + 1))?;
        let extended = matches!(instruction.opcode, Opcode::Elpm | Opcode::ElpmZ | Opcode::ElpmZInc);
        (profile.rampz || !extended).then_some(instruction)
    }

    /// Changes bytes of flash from `address` on, and decodes what may have changed: the word before them can be
    /// the first of two.
    fn change(&mut self, profile: &Profile, address: u32, bytes: &[u8], with: impl Fn(u8, u8) -> u8) {
        let flash = &mut Arc::make_mut(&mut self.flash)[address as usize..][..bytes.len()];
        for (old, &new) in flash.iter_mut().zip(bytes) {
            *old = with(*old, new);
        }
        let (first, end) = (address / 2, (address + bytes.len() as u32) / 2);
        for pc in first.saturating_sub(1)..end {
            let decoded = self.decode(profile, pc);
            Arc::make_mut(&mut self.code)[pc as usize] = decoded;
        }
    }

    /// A byte of flash; addresses wrap as the hardware's unconnected bits let them.
    #[inline(always)]
    fn byte(&self, address: u32) -> u8 {
        self.flash[address as usize & (self.flash.len() - 1)]
    }

    /// Words of the instruction at `pc`, for skips; what is no instruction is one word.
    #[inline(always)]
    fn words_at(&self, pc: u32) -> u32 {
        match self.code.get(pc as usize) {
            Some(Some(instruction)) => instruction.opcode.words(),
            _ => 1,
        }
    }
}

/// Words to bytes. A jump below zero leaves a program counter far past the flash, and its fault is to come.
#[inline(always)]
pub(super) fn byte_address(pc: u32) -> u32 {
    pc.wrapping_mul(2)
}

/// Multiplications: the product, and whether it carries; fractions are shifted left.
#[inline(always)]
fn fraction(product: u16) -> (u16, bool) {
    (product << 1, product >> 15 != 0)
}

#[inline(always)]
fn signed(a: u8) -> i16 {
    i16::from(a as i8)
}

impl Machine {
    #[inline(always)]
    fn reg(&self, number: u8) -> u8 {
        self.data[usize::from(number)]
    }

    #[inline(always)]
    fn set_reg(&mut self, number: u8, value: u8) {
        self.data[usize::from(number)] = value;
    }

    #[inline(always)]
    fn pair(&self, low: u8) -> u16 {
        u16::from_le_bytes([self.data[usize::from(low)], self.data[usize::from(low) + 1]])
    }

    #[inline(always)]
    fn set_pair(&mut self, low: u8, value: u16) {
        let [l, h] = value.to_le_bytes();
        self.data[usize::from(low)] = l;
        self.data[usize::from(low) + 1] = h;
    }

    /// Reads data space; also the extra cycles beyond the table's.
    #[inline(always)]
    pub(super) fn load<O: Observer>(&mut self, address: u16, now: Cycles, o: &mut O) -> (u8, Cycles) {
        if address.wrapping_sub(RAM_FIRST) < self.ram_bytes {
            let value = self.data[usize::from(address)];
            o.load(now, address.into(), value);
            (value, 0)
        } else {
            self.load_slow(address, now, o)
        }
    }

    /// Writes data space; the extra cycles beyond the table's.
    #[inline(always)]
    pub(super) fn store<O: Observer>(&mut self, address: u16, value: u8, now: Cycles, o: &mut O) -> Cycles {
        if address.wrapping_sub(RAM_FIRST) < self.ram_bytes {
            self.data[usize::from(address)] = value;
            o.store(now, address.into(), value);
            0
        } else {
            self.store_slow(address, value, now, o)
        }
    }

    #[inline(always)]
    fn load_reg<O: Observer>(&mut self, d: u8, address: u16, now: Cycles, o: &mut O) -> Cycles {
        let (value, extra) = self.load(address, now, o);
        self.set_reg(d, value);
        extra
    }

    /// `LD d, pointer+` with the pointer in `low`.
    #[inline(always)]
    fn load_inc<O: Observer>(&mut self, d: u8, low: u8, now: Cycles, o: &mut O) -> Cycles {
        let address = self.pair(low);
        self.set_pair(low, address.wrapping_add(1));
        self.load_reg(d, address, now, o)
    }

    /// `LD d, -pointer`.
    #[inline(always)]
    fn load_dec<O: Observer>(&mut self, d: u8, low: u8, now: Cycles, o: &mut O) -> Cycles {
        let address = self.pair(low).wrapping_sub(1);
        self.set_pair(low, address);
        self.load_reg(d, address, now, o)
    }

    #[inline(always)]
    fn store_inc<O: Observer>(&mut self, r: u8, low: u8, now: Cycles, o: &mut O) -> Cycles {
        let (address, value) = (self.pair(low), self.reg(r));
        self.set_pair(low, address.wrapping_add(1));
        self.store(address, value, now, o)
    }

    #[inline(always)]
    fn store_dec<O: Observer>(&mut self, r: u8, low: u8, now: Cycles, o: &mut O) -> Cycles {
        let (address, value) = (self.pair(low).wrapping_sub(1), self.reg(r));
        self.set_pair(low, address);
        self.store(address, value, now, o)
    }

    /// LPM and ELPM: `address` is the whole flash address.
    #[inline(always)]
    fn load_flash(&mut self, program: &Program, d: u8, address: u32, now: Cycles) {
        let value = if now <= self.flash_special_until || self.flash_blocked {
            self.load_special(program, address, now)
        } else {
            program.byte(address)
        };
        self.set_reg(d, value);
    }

    #[inline(always)]
    fn far_z(&self) -> u32 {
        u32::from(self.rampz) << 16 | u32::from(self.pair(30))
    }

    #[inline(always)]
    fn set_far_z(&mut self, address: u32) {
        self.set_pair(30, address as u16);
        self.rampz = (address >> 16) as u8 & 1;
    }

    #[inline(always)]
    fn product(&mut self, product: u16, carry: bool) {
        self.set_pair(0, product);
        self.status.product(product, carry);
    }

    /// IN, SBIC, SBIS: the I/O address is `io`.
    #[inline(always)]
    fn read_port_space<O: Observer>(&mut self, io: i32, now: Cycles, o: &mut O) -> u8 {
        let address = io as u16 + IO_FIRST;
        let value = self.io_read(address, now, o);
        o.load(now, address.into(), value);
        value
    }

    #[inline(always)]
    fn write_port_space<O: Observer>(&mut self, io: i32, value: u8, now: Cycles, o: &mut O) {
        let address = io as u16 + IO_FIRST;
        o.store(now, address.into(), value);
        self.io_write(address, value, now, o);
    }

    /// The data-space address that an instruction is about to access, if it names one.
    fn access_address(&self, i: Instruction) -> Option<u16> {
        use Opcode::*;
        let displaced = |low| self.pair(low).wrapping_add(u16::from(i.b));
        Some(match i.opcode {
            In | Out | Sbi | Cbi | Sbic | Sbis => i.k as u16 + IO_FIRST,
            Lds | Sts => i.k as u16,
            LdX | LdXInc | StX | StXInc => self.pair(26),
            LdYInc | StYInc => self.pair(28),
            LdZInc | StZInc => self.pair(30),
            LdXDec | StXDec => self.pair(26).wrapping_sub(1),
            LdYDec | StYDec => self.pair(28).wrapping_sub(1),
            LdZDec | StZDec => self.pair(30).wrapping_sub(1),
            LddY | StdY => displaced(28),
            LddZ | StdZ => displaced(30),
            _ => return None,
        })
    }

    /// Whether a watched run stops before this instruction.
    #[inline(always)]
    fn stops_before(&mut self, i: Instruction, cycle: Cycles, watch: &Watch) -> Option<u16> {
        if !TOUCHES_DATA[i.opcode as usize] {
            return None;
        }
        let address = self.access_address(i).filter(|&address| watch.has(address))?;
        if self.permitted_at.take() == Some(cycle) {
            return None;
        }
        self.permitted_at = Some(cycle);
        Some(address)
    }

    /// Executes instructions until the bound. `Some` when one of them ends the run.
    pub(super) fn execute<O: Observer, const WATCHED: bool>(
        &mut self,
        program: &Program,
        watch: &Watch,
        o: &mut O,
    ) -> Option<Stop> {
        let (mut pc, mut cycle) = (self.pc, self.cycle);
        let mut at = pc;
        let mut stop = None;
        while cycle < self.bound {
            at = pc;
            let Some(&decoded) = program.code.get(pc as usize) else {
                self.raise(FaultKind::PastFlash);
                break;
            };
            let Some(i) = decoded else {
                self.raise(FaultKind::IllegalInstruction { word: program.word(pc).unwrap_or(0) });
                break;
            };
            if WATCHED && let Some(address) = self.stops_before(i, cycle, watch) {
                stop = Some(Stop::Access { address });
                break;
            }
            o.fetch(cycle, byte_address(at));
            cycle += Cycles::from(BASE_CYCLES[i.opcode as usize]);
            pc += 1;
            if i.opcode == Opcode::Break {
                self.bound = 0;
                stop = Some(Stop::Break);
            }
            (pc, cycle) = self.perform(program, i, pc, cycle, o);
            o.retire(cycle, byte_address(at));
        }
        (self.pc, self.cycle) = (pc, cycle);
        if let Some(kind) = self.fault_kind.take() {
            self.fault = Some(Fault { address: byte_address(at), kind });
        }
        stop
    }

    /// Does one instruction; `pc` and `cycle` are those behind it, and come back as they become.
    #[inline(always)]
    fn perform<O: Observer>(
        &mut self,
        program: &Program,
        i: Instruction,
        mut pc: u32,
        mut cycle: Cycles,
        o: &mut O,
    ) -> (u32, Cycles) {
        use Opcode::*;
        let (rd, rr) = (self.reg(i.d), self.reg(i.r));
        let constant = i.k as u8;
        // Data accesses happen in an instruction's last cycle.
        let now = cycle - 1;
        macro_rules! set {
            ($value:expr) => {{
                let value = $value;
                self.set_reg(i.d, value)
            }};
        }
        macro_rules! jump_if {
            ($condition:expr) => {
                if $condition {
                    pc = pc.wrapping_add(i.k as u32);
                    cycle += TAKEN_CYCLES;
                }
            };
        }
        macro_rules! skip_if {
            ($condition:expr) => {
                if $condition {
                    let words = program.words_at(pc);
                    pc += words;
                    cycle += Cycles::from(words);
                }
            };
        }
        macro_rules! call {
            ($target:expr) => {{
                cycle += self.push_pc(pc, cycle, o);
                pc = $target;
            }};
        }
        let displaced = |low: u16| low.wrapping_add(u16::from(i.b));
        match i.opcode {
            Add => set!(self.status.add(rd, rr, 0)),
            Adc => set!(self.status.add(rd, rr, self.status.carry())),
            Adiw => {
                let sum = self.status.adiw(self.pair(i.d), u16::from(constant));
                self.set_pair(i.d, sum);
            }
            Sub => set!(self.status.sub(rd, rr, 0)),
            Subi => set!(self.status.sub(rd, constant, 0)),
            Sbc => set!(self.status.sbc(rd, rr)),
            Sbci => set!(self.status.sbc(rd, constant)),
            Sbiw => {
                let difference = self.status.sbiw(self.pair(i.d), u16::from(constant));
                self.set_pair(i.d, difference);
            }
            And => set!(self.status.logic(rd & rr)),
            Andi => set!(self.status.logic(rd & constant)),
            Or => set!(self.status.logic(rd | rr)),
            Ori => set!(self.status.logic(rd | constant)),
            Eor => set!(self.status.logic(rd ^ rr)),
            Com => set!(self.status.com(rd)),
            Neg => set!(self.status.sub(0, rd, 0)),
            Inc => set!(self.status.inc(rd)),
            Dec => set!(self.status.dec(rd)),
            Mul => {
                let product = u16::from(rd) * u16::from(rr);
                self.product(product, product >> 15 != 0);
            }
            Muls => {
                let product = (signed(rd) * signed(rr)) as u16;
                self.product(product, product >> 15 != 0);
            }
            Mulsu => {
                let product = (signed(rd) as u16).wrapping_mul(u16::from(rr));
                self.product(product, product >> 15 != 0);
            }
            Fmul => {
                let (product, carry) = fraction(u16::from(rd) * u16::from(rr));
                self.product(product, carry);
            }
            Fmuls => {
                let (product, carry) = fraction((signed(rd) * signed(rr)) as u16);
                self.product(product, carry);
            }
            Fmulsu => {
                let (product, carry) = fraction((signed(rd) as u16).wrapping_mul(u16::from(rr)));
                self.product(product, carry);
            }
            Rjmp => pc = pc.wrapping_add(i.k as u32),
            Ijmp => pc = u32::from(self.pair(30)),
            Jmp => pc = i.k as u32,
            Rcall => call!(pc.wrapping_add(i.k as u32)),
            Icall => call!(u32::from(self.pair(30))),
            Call => {
                pc += 1;
                call!(i.k as u32);
            }
            Ret => {
                let (target, extra) = self.pop_pc(cycle, o);
                (pc, cycle) = (target, cycle + extra);
            }
            Reti => {
                let (target, extra) = self.pop_pc(cycle, o);
                (pc, cycle) = (target, cycle + extra);
                self.status.i = true;
                self.interrupts_enabled(cycle);
                o.interrupt_ends(cycle);
            }
            Cpse => skip_if!(rd == rr),
            Cp => _ = self.status.sub(rd, rr, 0),
            Cpc => _ = self.status.sbc(rd, rr),
            Cpi => _ = self.status.sub(rd, constant, 0),
            Sbrc => skip_if!(rr >> i.b & 1 == 0),
            Sbrs => skip_if!(rr >> i.b & 1 != 0),
            Sbic => skip_if!(self.read_port_space(i.k, now, o) >> i.b & 1 == 0),
            Sbis => skip_if!(self.read_port_space(i.k, now, o) >> i.b & 1 != 0),
            Brbs => jump_if!(self.status.bit(i.b)),
            Brbc => jump_if!(!self.status.bit(i.b)),
            Mov => set!(rr),
            Movw => self.set_pair(i.d, self.pair(i.r)),
            Ldi => set!(constant),
            Lds => {
                pc += 1;
                cycle += self.load_reg(i.d, i.k as u16, now, o);
            }
            LdX => cycle += self.load_reg(i.d, self.pair(26), now, o),
            LdXInc => cycle += self.load_inc(i.d, 26, now, o),
            LdXDec => cycle += self.load_dec(i.d, 26, now, o),
            LdYInc => cycle += self.load_inc(i.d, 28, now, o),
            LdYDec => cycle += self.load_dec(i.d, 28, now, o),
            LddY => cycle += self.load_reg(i.d, displaced(self.pair(28)), now, o),
            LdZInc => cycle += self.load_inc(i.d, 30, now, o),
            LdZDec => cycle += self.load_dec(i.d, 30, now, o),
            LddZ => cycle += self.load_reg(i.d, displaced(self.pair(30)), now, o),
            Sts => {
                pc += 1;
                cycle += self.store(i.k as u16, rr, now, o);
            }
            StX => cycle += self.store(self.pair(26), rr, now, o),
            StXInc => cycle += self.store_inc(i.r, 26, now, o),
            StXDec => cycle += self.store_dec(i.r, 26, now, o),
            StYInc => cycle += self.store_inc(i.r, 28, now, o),
            StYDec => cycle += self.store_dec(i.r, 28, now, o),
            StdY => cycle += self.store(displaced(self.pair(28)), rr, now, o),
            StZInc => cycle += self.store_inc(i.r, 30, now, o),
            StZDec => cycle += self.store_dec(i.r, 30, now, o),
            StdZ => cycle += self.store(displaced(self.pair(30)), rr, now, o),
            Lpm => self.load_flash(program, 0, self.pair(30).into(), now),
            LpmZ => self.load_flash(program, i.d, self.pair(30).into(), now),
            LpmZInc => {
                let address = self.pair(30);
                self.set_pair(30, address.wrapping_add(1));
                self.load_flash(program, i.d, address.into(), now);
            }
            Elpm => self.load_flash(program, 0, self.far_z(), now),
            ElpmZ => self.load_flash(program, i.d, self.far_z(), now),
            ElpmZInc => {
                let address = self.far_z();
                self.set_far_z(address.wrapping_add(1));
                self.load_flash(program, i.d, address, now);
            }
            Spm => {
                self.spm_wanted = true;
                self.bound = 0;
            }
            In => set!(self.read_port_space(i.k, now, o)),
            Out => self.write_port_space(i.k, rr, now, o),
            Push => cycle += self.push(rr, now, o),
            Pop => {
                let (value, extra) = self.pop(now, o);
                self.set_reg(i.d, value);
                cycle += extra;
            }
            Lsr => set!(self.status.shift_right(rd, 0)),
            Ror => set!(self.status.shift_right(rd, self.status.carry() << 7)),
            Asr => set!(self.status.shift_right(rd, rd & 0x80)),
            Swap => set!(rd.rotate_left(4)),
            Bset => {
                let enabled_before = self.status.i;
                self.status.set_bit(i.b, true);
                if i.b == 7 && !enabled_before {
                    self.interrupts_enabled(cycle);
                }
            }
            Bclr => self.status.set_bit(i.b, false),
            Sbi => self.io_write_bit(i.k as u16 + IO_FIRST, 1 << i.b, true, now, o),
            Cbi => self.io_write_bit(i.k as u16 + IO_FIRST, 1 << i.b, false, now, o),
            Bst => self.status.t = rd >> i.b & 1 != 0,
            Bld => set!(rd & !(1 << i.b) | u8::from(self.status.t) << i.b),
            Break | Nop => {}
            Sleep => self.sleep_instruction(),
            Wdr => self.watchdog_reset(now, o),
        }
        (pc, cycle)
    }

    /// WDR.
    fn watchdog_reset<O: Observer>(&mut self, now: Cycles, o: &mut O) {
        self.with_unit(Unit::Watchdog, now, o, |units, local, _| units.watchdog.restart(local));
    }

    /// What LPM reads when SPMCSR has just been written: perhaps not flash at all.
    #[cold]
    fn load_special(&mut self, program: &Program, address: u32, now: Cycles) -> u8 {
        if self.units.spm.is_blocked(address) {
            self.raise(FaultKind::FlashBusy { address });
        }
        self.units.spm.load(address, now).unwrap_or_else(|| program.byte(address))
    }

    /// Faults when the next instruction lies in flash that must not be read.
    pub(super) fn check_flash(&mut self) {
        let address = byte_address(self.pc);
        if self.flash_blocked && self.units.spm.is_blocked(address) {
            self.fault = Some(Fault { address, kind: FaultKind::FlashBusy { address } });
        }
    }

    /// SPM, behind the instruction: the flash is changed in the cycle in which the instruction ended.
    pub(super) fn self_program<O: Observer>(&mut self, program: &mut Program, o: &mut O) {
        let now = self.cycle - 1;
        let (address, word) = (self.far_z(), self.pair(0));
        let first = (self.profile.spm)(self.settings.clock_hz).nrww_start;
        // "The SPM instruction is disabled" outside the boot loader section, whose largest size this is.
        if byte_address(self.pc) <= first {
            return;
        }
        // "An EEPROM write operation will block all software programming to Flash": one that began behind the write to
        // SPMCSR, too.
        if self.eeprom_is_programmed(now, o) {
            return;
        }
        let command = self.with_unit(Unit::Spm, now, o, |units, local, effects| {
            units.spm.execute(address, word, local, effects)
        });
        self.flash_blocked = self.units.spm.is_blocked(0);
        match command {
            Command::None => {}
            Command::Erase(page) => {
                let bytes = self.units.spm.page().len();
                program.change(self.profile, page, &vec![0xff; bytes], |_, new| new);
            }
            Command::Write { address, page } => {
                program.change(self.profile, address, &page, |old, new| old & new);
            }
        }
    }
}

/// Instructions that name a data-space address, in the order of the table.
static TOUCHES_DATA: [bool; ROWS.len()] = touches_data();

const fn touches_data() -> [bool; ROWS.len()] {
    use super::places::Place;
    let mut touches = [false; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        let row = &ROWS[index];
        let mut place = 0;
        while place < row.reads.len() + row.writes.len() {
            let found =
                if place < row.reads.len() { row.reads[place] } else { row.writes[place - row.reads.len()] };
            touches[index] |= matches!(found, Place::Memory | Place::Io);
            place += 1;
        }
        index += 1;
    }
    touches
}

#[cfg(test)]
mod tests {
    use super::{CORE, TAKEN_CYCLES};
    use crate::Cycles;
    use crate::avr::table::OPCODES;

    /// The loop adds one cycle to a taken branch and a word's to a skip; the table must say the same.
    #[test]
    fn the_loops_extra_cycles_are_the_tables() {
        for opcode in OPCODES {
            let cost = opcode.cost(CORE);
            let taken = Cycles::from(cost.taken_cycles - cost.cycles);
            let two_words = Cycles::from(cost.taken_two_words_cycles - cost.cycles);
            assert!(taken == 0 || taken == TAKEN_CYCLES, "{opcode:?}");
            assert!(two_words == taken || two_words == 2, "{opcode:?}");
        }
    }
}
