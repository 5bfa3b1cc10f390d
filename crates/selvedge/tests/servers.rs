//! Polling servers woven into a function that sends and computes: interrupts are off throughout, and no byte that comes
//! in over the serial line meanwhile is lost.
//!
//! Bytes are random, from a printed seed.

#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
mod woven;

use std::sync::Arc;

use isa::Cycles;
use isa::avr::usart::Frame;
use isa::avr::{ATMEGA128, Chip, Image, Stop};
use rand_chacha::rand_core::Rng;
use seeded::seeded;
use woven::{Expected, Guest, Input, Pair, RC4_C8, Unbuilt, build_served};

/// RC4 and a byte every 130 cycles.
const PERIOD_CYCLES: u32 = 130;
const PAIR: Pair = Pair {
    host: RC4_C8,
    guest: Guest::SpiTx(PERIOD_CYCLES),
    profile: &ATMEGA128,
    growth: "10",
    strategy: "interleave",
    expected: Expected::Woven,
};
const SENT_BYTES: usize = 256;

/// USART 0 receives at 16 MHz / 16 / 9, and the ADC converts pin 0 against its supply, 13 * 128 cycles each.
const PREPARES: &str = "#include <avr/io.h>\n__attribute__((constructor)) static void prepare(void)\n{\n\
    UBRR0L = 8;\n    UCSR0B = 1 << RXEN0;\n    ADMUX = 1 << REFS0;\n    ADCSRA = 1 << ADEN | 7;\n}\n";
const BYTE_CYCLES: Cycles = 16 * 9 * 10;
/// Behind the start of the call.
const FIRST_BYTE_CYCLES: Cycles = 700;
const INPUT_VOLTS: f64 = 1.25;

/// Stores to SPDR.
#[derive(Default)]
struct Sent {
    address: u32,
    cycles: Vec<Cycles>,
}

impl isa::Observer for Sent {
    fn store(&mut self, cycle: Cycles, address: u32, _value: u8) {
        if address == self.address {
            self.cycles.push(cycle);
        }
    }
}

impl isa::avr::Observer for Sent {}

/// A call of the pair, with bytes coming in back to back from its start on.
fn call(image: &Image, function: &str, input: &Input, bytes: &[u8]) -> (Chip, Sent, Cycles) {
    let symbol = |name: &str| image.symbol(name).unwrap_or_else(|| panic!("there is a `{name}`")).address;
    let mut chip = Chip::new(PAIR.profile);
    chip.load(image).expect("the program fits the chip");
    chip.set_analog(Arc::new(|_, _| INPUT_VOLTS));
    while chip.pc() != symbol(function) {
        assert_eq!(chip.run_until(chip.cycle() + 1, &mut ()), Stop::Reached, "main calls it");
    }
    let [host_at, guest_at] = ["host_memory", "guest_memory"].map(|name| symbol(name) as u16);
    for (at, bytes) in [(host_at, &input.host), (guest_at, &input.guest)] {
        for (offset, &byte) in bytes.iter().enumerate() {
            assert!(chip.set_memory(at + offset as u16, byte), "the buffers are in SRAM");
        }
    }
    for (number, value) in input.registers(&PAIR, host_at, guest_at).into_iter().enumerate() {
        chip.set_register(number as u8, value);
    }
    let begins = chip.cycle() + FIRST_BYTE_CYCLES;
    for (starts, &byte) in (begins..).step_by(BYTE_CYCLES as usize).zip(bytes) {
        chip.receive(0, starts, Frame::new(byte.into()));
    }
    let address = PAIR.profile.register("SPDR").expect("it has an SPI").address.into();
    let mut sent = Sent { address, ..Sent::default() };
    assert_eq!(chip.run_until(chip.cycle() + 1_000_000, &mut sent), Stop::Break, "it returns");
    (chip, sent, begins)
}

#[test]
fn nothing_that_is_polled_is_lost_while_a_message_is_sent() {
    let mut rng = seeded();
    let scratch = tempfile::tempdir().expect("a folder");
    let servers = ["server_uart_rx", "server_adc"];
    let binary = env!("CARGO_BIN_EXE_selvedge");
    let built = match build_served(binary, scratch.path(), &PAIR, true, &servers, PREPARES) {
        Ok(built) => built,
        Err(Unbuilt::NoCompiler) => return println!("skip: polling servers: avr-gcc is not installed"),
        Err(Unbuilt::Refused(words) | Unbuilt::Faulty(words)) => panic!("{words}"),
    };
    // What the linker made of it keeps time, and the servers run often enough.
    let program = weave::linked::program(&built.elf, &built.name).unwrap_or_else(|error| panic!("{error}"));
    let function = program.function(&built.name).expect("it was asked for");
    let proof = weave::proof::prove(&program, function, weave::proof::Options::default());
    let proof = proof.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(proof.servers.len(), servers.len());
    assert!(
        proof.servers.iter().all(|(_, most, within)| (1..=*within).contains(most)),
        "{:?}",
        proof.servers
    );

    let mut bytes = [0; 64];
    rng.fill_bytes(&mut bytes);
    // 0 stands for 256.
    let input = Input::random(&mut rng, &PAIR, 2000, SENT_BYTES);
    let (chip, sent, begins) = call(&built.woven, &built.name, &input, &bytes);
    let apart = sent.cycles.windows(2).map(|pair| pair[1] - pair[0]);
    assert_eq!(sent.cycles.len(), SENT_BYTES);
    assert!({ apart }.all(|cycles| cycles == Cycles::from(PERIOD_CYCLES)), "the guest keeps time");

    let at = |name: &str| built.woven.symbol(name).unwrap_or_else(|| panic!("there is a `{name}`")).address;
    let memory = |name: &str, offset: u32| chip.memory((at(name) + offset) as u16).expect("it is in SRAM");
    // Servers run until the last byte is sent. One byte more may wait in the USART, and none is lost.
    let complete = (sent.cycles[SENT_BYTES - 1] - begins) / BYTE_CYCLES;
    let taken = u64::from(memory("server_uart_rx_head", 0));
    assert!(complete > 20 && (complete - 1..=complete).contains(&taken), "{taken} of {complete} bytes");
    let ring: Vec<u8> = (0..taken).map(|offset| memory("server_uart_rx_ring", offset as u32)).collect();
    assert_eq!(ring, bytes[..taken as usize]);
    let conversions = memory("server_adc_count", 0);
    let value = u16::from_le_bytes([0, 1].map(|offset| memory("server_adc_value", offset)));
    println!("{taken} bytes taken, {conversions} conversions, the last one {value}: {:?}", proof.servers);
    // A conversion takes 1664 cycles, and the next one begins when the server sees that.
    assert!((15..=20).contains(&conversions), "{conversions} conversions");
    assert_eq!(value, (INPUT_VOLTS / 5.0 * 1024.0) as u16);

    // The host's result is what it is without anybody else.
    let (plain, ..) = call(&built.plain, PAIR.host.function, &input, &[]);
    let message = |chip: &Chip, image: &Image| -> Vec<u8> {
        let host_at = image.symbol("host_memory").expect("it is linked").address as u16;
        (0..woven::HOST_BYTES as u16).map(|offset| chip.memory(host_at + offset).expect("SRAM")).collect()
    };
    assert!(
        message(&chip, &built.woven) == message(&plain, &built.plain),
        "the host computes something else"
    );
}
