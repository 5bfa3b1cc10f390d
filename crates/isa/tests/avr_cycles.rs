//! Cycles of instructions as the ATmega128 datasheet lists them ("Instruction Set Summary", column "#Clocks"),
//! measured on the running chip; and when within an instruction its access happens.

mod assembler;

use isa::Cycles;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Observer, Settings, Stop};

/// The datasheet's figures. `skip` lines are followed by what they skip.
const CLOCKS: &[(&str, Cycles)] = &[
    ("add r0, r1", 1),
    ("adc r0, r1", 1),
    ("adiw r24, 1", 2),
    ("sub r0, r1", 1),
    ("subi r16, 1", 1),
    ("sbc r0, r1", 1),
    ("sbci r16, 1", 1),
    ("sbiw r24, 1", 2),
    ("and r0, r1", 1),
    ("andi r16, 1", 1),
    ("or r0, r1", 1),
    ("ori r16, 1", 1),
    ("eor r0, r1", 1),
    ("com r0", 1),
    ("neg r0", 1),
    ("sbr r16, 1", 1),
    ("cbr r16, 1", 1),
    ("inc r0", 1),
    ("dec r0", 1),
    ("tst r0", 1),
    ("clr r0", 1),
    ("ser r16", 1),
    ("mul r0, r1", 2),
    ("muls r16, r17", 2),
    ("mulsu r16, r17", 2),
    ("fmul r16, r17", 2),
    ("fmuls r16, r17", 2),
    ("fmulsu r16, r17", 2),
    ("rjmp .+0", 2),
    ("ijmp", 2),
    ("jmp 2", 3),
    ("rcall .+0", 3),
    ("icall", 3),
    ("call 2", 4),
    ("ret", 4),
    ("reti", 4),
    ("cp r0, r1", 1),
    ("cpc r0, r1", 1),
    ("cpi r16, 1", 1),
    // Registers are equal and zero, status bits clear, after a reset.
    ("cpse r0, r16", 1),
    ("cpse r0, r1 |nop", 2),
    ("cpse r0, r1 |jmp 0", 3),
    ("sbrc r16, 4", 1),
    ("sbrc r0, 0 |nop", 2),
    ("sbrc r0, 0 |lds r0, 256", 3),
    ("sbrs r0, 0", 1),
    ("sbrs r16, 4 |nop", 2),
    ("sbrs r16, 4 |sts 256, r0", 3),
    ("sbic DDRB, 0 |nop", 2),
    ("sbic DDRB, 0 |call 0", 3),
    ("sbis DDRB, 0", 1),
    ("brbs 1, .+2", 1),
    ("brbc 1, .+2", 2),
    ("breq .+2", 1),
    ("brne .+2", 2),
    ("brcs .+2", 1),
    ("brcc .-2", 2),
    ("mov r0, r1", 1),
    ("movw r0, r2", 1),
    ("ldi r16, 1", 1),
    ("ld r0, X", 2),
    ("ld r0, X+", 2),
    ("ld r0, -X", 2),
    ("ld r0, Y", 2),
    ("ld r0, Y+", 2),
    ("ld r0, -Y", 2),
    ("ldd r0, Y+1", 2),
    ("ld r0, Z", 2),
    ("ld r0, Z+", 2),
    ("ld r0, -Z", 2),
    ("ldd r0, Z+1", 2),
    ("lds r0, 256", 2),
    ("st X, r0", 2),
    ("st X+, r0", 2),
    ("st -X, r0", 2),
    ("st Y, r0", 2),
    ("st Y+, r0", 2),
    ("st -Y, r0", 2),
    ("std Y+1, r0", 2),
    ("st Z, r0", 2),
    ("st Z+, r0", 2),
    ("st -Z, r0", 2),
    ("std Z+1, r0", 2),
    ("sts 256, r0", 2),
    ("lpm", 3),
    ("lpm r0, Z", 3),
    ("lpm r0, Z+", 3),
    ("elpm", 3),
    ("elpm r0, Z", 3),
    ("elpm r0, Z+", 3),
    ("in r0, DDRB", 1),
    ("out DDRB, r0", 1),
    ("push r0", 2),
    ("pop r0", 2),
    ("sbi DDRB, 0", 2),
    ("cbi DDRB, 0", 2),
    ("lsl r0", 1),
    ("lsr r0", 1),
    ("rol r0", 1),
    ("ror r0", 1),
    ("asr r0", 1),
    ("swap r0", 1),
    ("bset 0", 1),
    ("bclr 0", 1),
    ("bst r0, 0", 1),
    ("bld r0, 0", 1),
    ("sei", 1),
    ("cli", 1),
    ("nop", 1),
    ("sleep", 1),
    ("wdr", 1),
];

/// A program that sets up pointers and the stack, and its length in cycles.
const SET_UP: &str = "ldi r16, hi8(0x10f0) |out SPH, r16 |ldi r16, lo8(0x10f0) |out SPL, r16
    ldi r27, 2 |ldi r29, 3 |ldi r31, 4 |ldi r16, 0x10";
const SET_UP_CYCLES: Cycles = 8;

fn cycles_of(instruction: &str) -> Cycles {
    // A return wants an address on the stack: 0.
    let pushes = if instruction.starts_with("ret") { "push r0 |push r0" } else { "" };
    let before = SET_UP_CYCLES + if pushes.is_empty() { 0 } else { 4 };
    let source = format!("{SET_UP}\n{pushes}\n{instruction}\nnop");
    let mut chip = assembler::chip(&ATMEGA128, &source);
    assert_eq!(chip.run_until(before, &mut ()), Stop::Reached);
    assert_eq!(chip.cycle(), before);
    let stop = chip.run_until(before + 1, &mut ());
    assert_eq!(stop, Stop::Reached, "{instruction}");
    chip.cycle() - before
}

#[test]
fn every_instruction_takes_the_datasheets_clocks() {
    for &(instruction, clocks) in CLOCKS {
        assert_eq!(cycles_of(instruction), clocks, "{instruction}");
    }
}

/// Accesses, as (cycle, address), in the order told.
#[derive(Default)]
struct Accesses {
    all: Vec<(Cycles, u32)>,
}

impl isa::Observer for Accesses {
    fn load(&mut self, cycle: Cycles, address: u32, _value: u8) {
        self.all.push((cycle, address));
    }
    fn store(&mut self, cycle: Cycles, address: u32, _value: u8) {
        self.all.push((cycle, address));
    }
}

impl Observer for Accesses {}

#[test]
fn an_access_happens_in_the_last_cycle_of_its_instruction() {
    for (instruction, last) in
        [("out DDRB, r0", 0), ("sbi DDRB, 0", 1), ("lds r0, 256", 1), ("sts DDRB, r0", 1)]
    {
        let mut chip = assembler::chip(&ATMEGA128, &format!("{SET_UP}\n{instruction}\nbreak"));
        let mut accesses = Accesses::default();
        assert_eq!(chip.run_until(1000, &mut accesses), Stop::Break);
        assert_eq!(accesses.all.last().map(|access| access.0), Some(SET_UP_CYCLES + last), "{instruction}");
    }
}

#[test]
fn a_call_pushes_the_low_byte_first() {
    let mut chip = assembler::chip(&ATMEGA128, &format!("{SET_UP}\n.org 0x200\ncall over\nover:\nbreak"));
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    // The return address is word 0x102.
    assert_eq!((chip.memory(0x10f0), chip.memory(0x10ef)), (Some(0x02), Some(0x01)));
    assert_eq!(chip.sp(), 0x10ee);
}

/// Cycles of an instruction on external memory, with MCUCR, XMCRA as given.
fn external_cycles(mcucr: u8, xmcra: u8, instruction: &str) -> Cycles {
    let source = format!(
        "ldi r16, {xmcra} |sts XMCRA, r16 |ldi r16, {mcucr} |out MCUCR, r16
         ldi r27, 0x40 |ldi r31, 0xc0 |ldi r16, 0x50 |out SPH, r16 |mark: |{instruction} |break"
    );
    let settings = Settings { external_memory: true, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, &source);
    assert_eq!(chip.run_until(9, &mut ()), Stop::Reached);
    assert_eq!(chip.cycle(), 9);
    assert_eq!(chip.run_until(10, &mut ()), Stop::Reached, "{instruction}");
    chip.cycle() - 9
}

#[test]
fn external_memory_adds_the_datasheets_wait_states() {
    // SRE alone: one cycle a byte, three for a return address (ATmega128 datasheet, "Timing").
    let none = |instruction: &str| external_cycles(0x80, 0, instruction);
    assert_eq!(none("ld r0, X"), 3);
    assert_eq!(none("sts 0x4000, r0"), 3);
    assert_eq!(none("push r0"), 3);
    assert_eq!(none("lds r0, 256"), 2);
    assert_eq!(none("call 0x20"), 7);
    assert_eq!(none("rcall .+0"), 6);
    assert_eq!(none("ret"), 7);
    // Wait states of the only sector, which is the upper one: SRW11 in XMCRA, SRW10 in MCUCR.
    for (srw, byte, call) in [(0_u8, 1, 3), (1, 2, 5), (2, 3, 7), (3, 4, 9)] {
        let with = |instruction: &str| external_cycles(0x80 | srw << 6 & 0x40, srw & 2, instruction);
        assert_eq!(with("ld r0, X"), 2 + byte, "SRW1 = {srw}");
        assert_eq!(with("st X+, r0"), 2 + byte, "SRW1 = {srw}");
        assert_eq!(with("call 0x20"), 4 + call, "SRW1 = {srw}");
        assert_eq!(with("ret"), 4 + call, "SRW1 = {srw}");
    }
    // Two sectors that meet at 0x8000 (SRL = 4): X points into the lower one, Z into the upper one.
    let split = |instruction: &str| external_cycles(0x80, 4 << 4 | 3 << 2, instruction);
    assert_eq!(split("ld r0, X"), 6);
    assert_eq!(split("ld r0, Z"), 3);
}

#[test]
fn external_memory_keeps_what_is_stored_and_released_address_bits_come_from_port_c() {
    // XMM = 1 releases PC7, which is low: 0x8200 and 0x0200 (above the internal SRAM: 0x9200, 0x1200) are one.
    let source = "ldi r16, 0x80 |out MCUCR, r16 |ldi r16, 1 |sts XMCRB, r16
        ldi r17, 0x5a |sts 0x9200, r17 |lds r18, 0x1200 |break";
    let settings = Settings { external_memory: true, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    assert_eq!(chip.register(18), 0x5a);
}

#[test]
fn the_atmega328p_takes_the_same_cycles() {
    // Its datasheet's summary repeats the figures; ELPM it does not have.
    for &(instruction, clocks) in CLOCKS.iter().filter(|line| !line.0.starts_with("elpm")) {
        let pushes = if instruction.starts_with("ret") { "push r0 |push r0" } else { "nop |nop |nop |nop" };
        let set_up = SET_UP.replace("0x10f0", "0x08f0");
        let mut chip: Chip = assembler::chip(&ATMEGA328P, &format!("{set_up}\n{pushes}\n{instruction}\nnop"));
        let before = SET_UP_CYCLES + 4;
        assert_eq!(chip.run_until(before, &mut ()), Stop::Reached);
        assert_eq!(chip.run_until(before + 1, &mut ()), Stop::Reached, "{instruction}");
        assert_eq!(chip.cycle() - before, clocks, "{instruction}");
    }
}
