//! What a run lets out of its secrets by the time that it takes.
//!
//! Owns: which registers and bytes of memory depend on a secret ([`Taint`], which watches a run), and where that decides
//! a branch, an address, or what an instruction takes. A register is secret or not as a whole, memory by bytes, the
//! shared registers of custom instructions as one. What is computed from a secret is one, whatever it comes to; a
//! register less itself is none. A value from a secret address is one, too.
//!
//! Leaves to others: which bytes are secret ([`Taint::hide`]), and whose line of a source a place is. What a run did not
//! do, it does not tell: run it with all that may be different.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::bits::Instruction;
use super::custom::Units;
use super::listing::Listing;
use super::places::Place;
use super::table::Opcode;
use super::timing::Class;
use crate::{Cycles, Observer};

/// What a secret decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leak {
    /// Where the program went on.
    Branch,
    /// What was loaded or stored.
    Address,
    /// Operands of an instruction that takes as long as they say.
    Operand,
}

/// Where a secret decided something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The address of the instruction.
    pub pc: u32,
    /// What was decided.
    pub leak: Leak,
    /// How often.
    pub count: u64,
    /// The cycle of the first time.
    pub cycle: Cycles,
}

/// A piece of memory, a bit for each byte.
const PAGE_BITS: u32 = 12;
type Page = [u64; 1 << (PAGE_BITS - 6)];

/// The instruction that is being done.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// The register that it writes, x0 for none.
    rd: u8,
    /// Whether its result is secret, as far as it is known.
    is_secret: bool,
    /// Whether what it stores is.
    stores_secret: bool,
    /// Whether it changes what custom instructions share.
    writes_state: bool,
}

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Taint {
    listing: Listing,
    units: Arc<Units>,
    /// Classes whose instructions take as long as their operands say.
    varying: Vec<Class>,
    /// The secret registers, a bit each.
    registers: u32,
    memory: BTreeMap<u32, Box<Page>>,
    state: bool,
    current: Current,
    found: BTreeMap<(u32, Leak), (u64, Cycles)>,
}

impl Taint {
    /// Watches a run of a program in which nothing is secret yet.
    pub fn new(listing: Listing, units: Arc<Units>, varying: &[Class]) -> Taint {
        Taint {
            listing,
            units,
            varying: varying.to_vec(),
            registers: 0,
            memory: BTreeMap::new(),
            state: false,
            current: Current::default(),
            found: BTreeMap::new(),
        }
    }

    /// These bytes are secret.
    pub fn hide(&mut self, bytes: Range<u32>) {
        bytes.for_each(|address| self.set_byte(address, true));
    }

    /// These bytes are no secret any more.
    pub fn show(&mut self, bytes: Range<u32>) {
        bytes.for_each(|address| self.set_byte(address, false));
    }

    /// A register is secret.
    pub fn hide_register(&mut self, number: u8) {
        self.set(number, true);
    }

    /// Whether a byte of memory is secret.
    pub fn is_hidden(&self, address: u32) -> bool {
        let page = self.memory.get(&(address >> PAGE_BITS));
        page.is_some_and(|page| page[word_in_page(address)] >> (address & 63) & 1 != 0)
    }

    /// Whether a register is.
    pub fn is_register_hidden(&self, number: u8) -> bool {
        self.registers >> (number & 31) & 1 != 0
    }

    /// Where secrets decided something, by address.
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |(&(pc, leak), &(count, cycle))| Finding { pc, leak, count, cycle };
        self.found.iter().map(finding).collect()
    }

    fn set_byte(&mut self, address: u32, is_secret: bool) {
        let page = address >> PAGE_BITS;
        let bit = 1 << (address & 63);
        if is_secret {
            let page = self.memory.entry(page).or_insert_with(|| Box::new([0; _]));
            page[word_in_page(address)] |= bit;
        } else if let Some(page) = self.memory.get_mut(&page) {
            page[word_in_page(address)] &= !bit;
        }
    }

    fn set(&mut self, number: u8, is_secret: bool) {
        let bit = 1 << (number & 31);
        self.registers = if is_secret { self.registers | bit } else { self.registers & !bit } & !1;
    }

    fn find(&mut self, pc: u32, leak: Leak, cycle: Cycles) {
        self.found.entry((pc, leak)).or_insert((0, cycle)).0 += 1;
    }

    /// Whether an instruction reads a secret, and whether its first source is one.
    fn reads(&self, i: Instruction) -> (bool, bool) {
        if let Some(unit) = self.units.unit(i) {
            let any = self.units.sources(i).into_iter().any(|number| self.is_register_hidden(number));
            return (any || unit.uses_state && self.state, self.is_register_hidden(i.rs1));
        }
        let reads = i.opcode.row().reads;
        let first = reads.contains(&Place::Rs1) && self.is_register_hidden(i.rs1);
        (first || reads.contains(&Place::Rs2) && self.is_register_hidden(i.rs2), first)
    }

    /// Begins an instruction: what it decides is found, and what it will leave is known but for memory.
    fn begin(&mut self, i: Instruction, pc: u32, cycle: Cycles) {
        let row = i.opcode.row();
        let (any, first) = self.reads(i);
        let unit = self.units.unit(i).copied();
        let accesses = matches!(row.class, Class::Load | Class::Store);
        if first && (accesses || unit.is_some_and(|unit| unit.uses_memory)) {
            self.find(pc, Leak::Address, cycle);
        }
        if any && matches!(row.class, Class::Branch | Class::JumpRegister) {
            self.find(pc, Leak::Branch, cycle);
        }
        if any && self.varying.contains(&row.class) {
            self.find(pc, Leak::Operand, cycle);
        }
        let writes = row.writes.contains(&Place::Rd) || unit.is_some_and(|unit| unit.has_result());
        self.current = Current {
            rd: if writes { i.rd } else { 0 },
            is_secret: any && !is_constant(i) && row.class != Class::JumpRegister,
            stores_secret: any,
            writes_state: unit.is_some_and(|unit| unit.uses_state),
        };
    }
}

fn word_in_page(address: u32) -> usize {
    (address as usize & ((1 << PAGE_BITS) - 1)) >> 6
}

/// Whether it comes to the same whatever its registers hold.
fn is_constant(i: Instruction) -> bool {
    use Opcode::*;
    let same = i.rs1 == i.rs2 && matches!(i.opcode, Xor | Sub | Slt | Sltu);
    let with_zero = matches!(i.opcode, And | Mul | Mulh | Mulhsu | Mulhu) && (i.rs1 == 0 || i.rs2 == 0);
    same || with_zero || i.opcode == Andi && i.k == 0
}

impl Observer for Taint {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.current = Current::default();
        if let Some(i) = self.listing.get(address) {
            self.begin(i, address, cycle);
        }
    }

    fn load(&mut self, _cycle: Cycles, address: u32, _value: u8) {
        self.current.is_secret |= self.is_hidden(address);
    }

    fn store(&mut self, _cycle: Cycles, address: u32, _value: u8) {
        // A unit may store what it has just loaded.
        let is_secret = self.current.stores_secret || self.current.is_secret;
        self.set_byte(address, is_secret);
    }

    fn retire(&mut self, _cycle: Cycles, _address: u32) {
        let Current { rd, is_secret, writes_state, .. } = self.current;
        self.set(rd, is_secret);
        self.state |= writes_state && is_secret;
    }
}
