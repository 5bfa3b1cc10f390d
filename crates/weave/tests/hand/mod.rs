//! Programs timed by hand, as text that is both proved and run. A program is a function `send` with its directives;
//! running it takes a caller, which is here too.
#![allow(dead_code)] // each test file uses some of it

#[path = "../../../isa/tests/assembler/mod.rs"]
mod assembler;

use isa::avr::{ATMEGA128, Chip, CoreType, Observer, Stop};
use weave::directive::Parameters;
use weave::program::Program;
use weave::proof::{self, Options, Proof, Violation};
use weave::source::Source;

/// SPDR and PORTB of the ATmega128, in data space.
pub const SPDR: u32 = 0x2f;
pub const PORTB: u32 = 0x38;
/// Where the caller lets X point to.
pub const MESSAGE: u16 = 0x0200;

/// A program for the attack, with what is watched of it.
#[derive(Clone, Copy)]
pub struct Hand {
    pub name: &'static str,
    pub text: &'static str,
    /// The I/O register whose writes are its events.
    pub watched: u32,
    /// When they happen, in cycles from the first one, with a message of zero bytes and one of 0xff.
    pub instants: [Instants; 2],
}

/// Cycles of writes, ascending from 0.
type Instants = fn() -> Vec<u64>;

/// Bytes sent every `period` cycles.
fn every(period: u64, count: u64) -> Vec<u64> {
    (0..count).map(|byte| byte * period).collect()
}

/// 12 more cycles make 18, 28 make 34, 124 make 130, of which the loop over r29:r28 takes 119.
const SPI: &str = "
send:
;@weave clock tx period=PERIOD
    in r19, 0x3f
    cli
    ldi r24, 32
    ld r18, X+
again:
;@weave trip 32
;@weave event tx at=0
    out 0x0f, r18
    ld r18, X+
DELAY
    dec r24
    brne again
;@weave over tx
    out 0x3f, r19
    ret
";

pub fn spi(period: u32) -> Hand {
    let (text, instants): (String, [Instants; 2]) = match period {
        18 => (SPI.replace("DELAY", "    ldi r25, 4\nwait:\n    dec r25\n    brne wait"), [|| every(18, 32); 2]),
        34 => (
            SPI.replace("DELAY", "    rcall pause\n    ldi r25, 7\nwait:\n    dec r25\n    brne wait")
                + "pause:\n    ret\n",
            [|| every(34, 32); 2],
        ),
        _ => (
            SPI.replace("DELAY", "    nop\n    nop\n    nop\n    ldi r28, 30\n    ldi r29, 0\nwait:\n    sbiw r28, 1\n    brne wait"),
            [|| every(130, 32); 2],
        ),
    };
    let text = text.replace("PERIOD", &period.to_string());
    Hand {
        name: ["spi18", "spi34", "spi130"][[18, 34, 130].iter().position(|&p| p == period).unwrap()],
        text: text.leak(),
        watched: SPDR,
        instants,
    }
}

/// Three bytes of WS2812 at 16 MHz: 20 cycles a bit, high for 6 or for 13 of them.
pub const WS2812: Hand = Hand {
    name: "ws2812",
    watched: PORTB,
    text: "
send:
;@weave clock bit period=20
    in r19, 0x3f
    cli
    ldi r22, 1
    ldi r23, 0
    ldi r24, 24
    ldi r25, 8
    ld r18, X+
bit:
;@weave trip 24
;@weave event high at=0
    out 0x18, r22
    nop
    nop
    nop
    nop
    sbrs r18, 7
;@weave event low0 at=6 maybe
    out 0x18, r23
    lsl r18
    dec r25
    brne more
    ld r18, X+
    ldi r25, 8
join:
;@weave event low1 at=13
    out 0x18, r23
    dec r24
    brne next
;@weave over bit
    out 0x3f, r19
    ret
more:
    rjmp join
next:
    nop
    rjmp bit
",
    instants: [
        || (0..24).flat_map(|bit| [20 * bit, 20 * bit + 6, 20 * bit + 13]).collect(),
        || (0..24).flat_map(|bit| [20 * bit, 20 * bit + 13]).collect(),
    ],
};

/// Two characters, 8N1, at 104 cycles a bit: 1 MHz and 9600 baud. Every bit is written, whatever it is.
pub const UART: Hand = Hand {
    name: "uart",
    watched: PORTB,
    text: "
send:
;@weave clock character period=1144
;@weave clock bit period=104
    in r19, 0x3f
    cli
    ldi r24, 2
character:
;@weave trip 2
    ld r18, X+
    ldi r25, 11
    ldi r20, 0
    sec
;@weave event start at=0 clock=character
;@weave event edge at=0 clock=bit
    out 0x18, r20
    rjmp pause
bit:
;@weave event edge at=0 clock=bit
    out 0x18, r20
    nop
    nop
pause:
    dec r25
    breq done
    ror r18
    ldi r20, 0
    brcc low
    ldi r20, 1
    rjmp wait
low:
    nop
    nop
wait:
    ldi r21, 28
count:
    dec r21
    brne count
    sec
    nop
    nop
    nop
    nop
    nop
    nop
    rjmp bit
done:
    nop
    dec r24
    breq end
    ldi r21, 28
last:
    dec r21
    brne last
    nop
    nop
    nop
    nop
    rjmp character
end:
;@weave over bit
;@weave over character
    out 0x3f, r19
    ret
",
    instants: [|| every(104, 22); 2],
};

/// Two nested clocks: six frames of four bits and a gap; the bits in a callee, their count on the stack.
pub const FRAMES: Hand = Hand {
    name: "frames",
    watched: PORTB,
    text: "
send:
;@weave clock frame period=103
;@weave clock bit period=24
    in r19, 0x3f
    cli
    ldi r24, 6
frame:
;@weave trip 6
;@weave event sync at=0 clock=frame
    sbi 0x18, 0
    ldi r25, 4
bits:
;@weave trip 4
    push r25
    rcall bit
    pop r25
    dec r25
    brne bits
;@weave over bit
;@weave event fall at=98 clock=frame
    cbi 0x18, 0
    dec r24
    brne frame
;@weave over frame
    out 0x3f, r19
    ret
bit:
;@weave event edge at=0 clock=bit
    out 0x18, r23
    ldi r25, 3
inner:
    dec r25
    brne inner
    ret
",
    instants: [|| (0..6).flat_map(|frame| [0, 7, 31, 55, 79, 98].map(|at| 103 * frame + at)).collect(); 2],
};

/// The program of a text that has no chip directive.
pub fn program(text: &str) -> Program {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

pub fn read(text: &str) -> Result<Program, weave::error::Error> {
    let source = Source::parse("hand.s", text)?;
    let core = Some(CoreType::AvrePc2);
    Ok(Program::read(std::slice::from_ref(&source), &["send"], &Parameters::new(), core)?.0)
}

pub fn prove(text: &str) -> Result<Proof, Box<Violation>> {
    prove_with(text, Options::default())
}

pub fn prove_with(text: &str, options: Options) -> Result<Proof, Box<Violation>> {
    let program = program(text);
    proof::prove(&program, program.function("send").expect("it is a root"), options)
}

/// The cycles in which a register of I/O is written.
struct Writes {
    register: u32,
    cycles: Vec<u64>,
}

impl isa::Observer for Writes {
    fn store(&mut self, cycle: u64, address: u32, _value: u8) {
        if address == self.register {
            self.cycles.push(cycle);
        }
    }
}

impl Observer for Writes {}

/// Runs `send` with a message of one byte over and over: the cycles of the writes from the first one on, and
/// whether it came back.
pub fn run(text: &str, watched: u32, byte: u8) -> (Vec<u64>, bool) {
    let caller = "ldi r16, 0x10\nout SPH, r16\nldi r16, 0xff\nout SPL, r16\nldi r16, 0x50\nout SPCR, r16\n\
                  ldi r26, 0x00\nldi r27, 0x02\nrcall send\nbreak\n";
    let mut chip = assembler::chip(&ATMEGA128, &format!("{caller}{text}"));
    for address in MESSAGE..MESSAGE + 0x400 {
        assert!(chip.set_memory(address, byte));
    }
    run_chip(&mut chip, watched)
}

pub fn run_chip(chip: &mut Chip, watched: u32) -> (Vec<u64>, bool) {
    let mut writes = Writes { register: watched, cycles: Vec::new() };
    let stop = chip.run_until(100_000, &mut writes);
    let first = writes.cycles.first().copied().unwrap_or(0);
    (writes.cycles.iter().map(|cycle| cycle - first).collect(), stop == Stop::Break)
}
