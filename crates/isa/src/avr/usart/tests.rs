//! One test per rule of the datasheets' USART chapters.

use proptest::prelude::*;

use super::super::stepping::{Act, assert_steps_do_not_matter};
use super::*;

fn usart(config: Config, ubrr: u16, control_b: u8) -> Usart {
    let mut u = Usart::new(config);
    let effects = &mut Vec::new();
    u.write(Register::UbrrH, (ubrr >> 8) as u8, 0, effects);
    u.write(Register::UbrrL, ubrr as u8, 0, effects);
    u.write(Register::UcsrB, control_b, 0, effects);
    u
}

fn write(u: &mut Usart, register: Register, value: u8, now: Cycles) -> Effects {
    let mut effects = Vec::new();
    u.advance(now, &mut effects);
    u.write(register, value, now, &mut effects);
    effects
}

fn read(u: &mut Usart, register: Register, now: Cycles) -> u8 {
    u.advance(now, &mut Vec::new());
    u.read(register, now)
}

const TX: u8 = TXEN;
const RX: u8 = RXEN;

#[test]
fn frame_lasts_as_many_bits_as_its_format_has() {
    // UCSRC, UCSZ2, bits of the frame.
    for (c, b, bits) in [
        (0x06u8, 0u8, 10),
        (0x0E, 0, 11),
        (0x26, 0, 11),
        (0x36, 0, 11),
        (0x3E, 0, 12),
        (0x00, 0, 7),
        (0x02, 0, 8),
        (0x04, 0, 9),
        (0x06, UCSZ2, 11),
        (0x3E, UCSZ2, 13),
    ] {
        for (ubrr, double, bit) in [(0, 0, 16), (0, U2X, 8), (51, 0, 832), (51, U2X, 416), (4095, 0, 65536)] {
            let mut u = usart(Config::ATMEGA128_0, ubrr, TX | b);
            write(&mut u, Register::UcsrC, c, 1);
            write(&mut u, Register::UcsrA, double, 2);
            write(&mut u, Register::Udr, 0x55, 100);
            assert_eq!(u.due(), 101 + bits * bit, "UCSRC {c:#04x}, UBRR {ubrr}, U2X {double}");
        }
    }
}

#[test]
fn eight_n_one_is_ten_bits_and_frames_follow_without_a_gap() {
    let mut u = usart(Config::ATMEGA128_1, 0, TX);
    let mut effects = write(&mut u, Register::Udr, 0x12, 10);
    u.write(Register::Udr, 0x34, 11, &mut effects);
    u.advance(171, &mut effects);
    u.write(Register::Udr, 0x56, 171, &mut effects);
    u.advance(1000, &mut effects);
    let sent = |cycle, character| (cycle, Effect::Transmitted { usart: 1, character });
    assert_eq!(effects, [sent(171, 0x12), sent(331, 0x34), sent(491, 0x56)]);
}

#[test]
fn udre_says_that_the_buffer_is_free_and_a_write_without_it_is_lost() {
    let mut u = usart(Config::ATMEGA128_0, 0, TX);
    assert_eq!(read(&mut u, Register::UcsrA, 1), UDRE);
    write(&mut u, Register::Udr, 1, 10);
    assert_eq!(read(&mut u, Register::UcsrA, 11), UDRE, "moved on to the shift register");
    write(&mut u, Register::Udr, 2, 12);
    assert_eq!(read(&mut u, Register::UcsrA, 13), 0);
    write(&mut u, Register::Udr, 3, 14);
    assert_eq!(read(&mut u, Register::UcsrA, 171), UDRE);
    let mut effects = Vec::new();
    u.advance(1000, &mut effects);
    assert_eq!(effects, [(331, Effect::Transmitted { usart: 0, character: 2 })]);
}

#[test]
fn txc_rises_when_the_last_frame_ends_and_is_cleared_by_its_vector_or_a_one() {
    let mut u = usart(Config::ATMEGA128_0, 0, TX | TXC);
    write(&mut u, Register::Udr, 1, 10);
    write(&mut u, Register::Udr, 2, 11);
    assert_eq!(read(&mut u, Register::UcsrA, 200) & TXC, 0, "the first frame is over, the buffer was full");
    assert_eq!(read(&mut u, Register::UcsrA, 330) & TXC, 0);
    assert_eq!(read(&mut u, Register::UcsrA, 331) & TXC, TXC);
    assert_eq!(u.requests(), 1 << REQUEST_TRANSMITTED);
    let mut other = u.clone();
    u.acknowledge(REQUEST_TRANSMITTED, 332);
    assert_eq!(read(&mut u, Register::UcsrA, 333) & TXC, 0);
    write(&mut other, Register::UcsrA, 0, 332);
    assert_eq!(read(&mut other, Register::UcsrA, 333) & TXC, TXC);
    write(&mut other, Register::UcsrA, TXC, 334);
    assert_eq!(read(&mut other, Register::UcsrA, 335) & TXC, 0);
}

#[test]
fn data_register_empty_requests_until_data_is_written() {
    let mut u = usart(Config::ATMEGA128_0, 0, TX | UDRE);
    assert_eq!(u.requests(), 1 << REQUEST_EMPTY);
    u.acknowledge(REQUEST_EMPTY, 1);
    assert_eq!(u.requests(), 1 << REQUEST_EMPTY, "entering the vector does not clear it");
    write(&mut u, Register::Udr, 1, 2);
    write(&mut u, Register::Udr, 1, 3);
    assert_eq!(u.requests(), 0);
}

#[test]
fn transmitter_finishes_after_it_was_disabled_and_then_releases_its_pin() {
    let mut u = usart(Config::ATMEGA128_0, 0, 0);
    let mut effects = write(&mut u, Register::UcsrB, TX, 1);
    let pin = Config::ATMEGA128_0.txd;
    assert_eq!(effects, [(1, Effect::Override { pin, drive: Some(Drive::High) })]);
    effects.clear();
    u.write(Register::Udr, 0xAA, 10, &mut effects);
    u.write(Register::UcsrB, 0, 20, &mut effects);
    u.advance(1000, &mut effects);
    let done = 11 + 160;
    let sent = Effect::Transmitted { usart: 0, character: 0xAA };
    assert_eq!(effects, [(done, sent), (done, Effect::Override { pin, drive: None })]);
}

#[test]
fn ninth_bits_travel_beside_the_data_register() {
    let mut u = usart(Config::ATMEGA128_0, 0, TX | RX | UCSZ2 | 1);
    write(&mut u, Register::Udr, 0x23, 1);
    let mut effects = Vec::new();
    u.receive(2, Frame::new(0x1C4));
    u.advance(500, &mut effects);
    assert_eq!(effects[0].1, Effect::Transmitted { usart: 0, character: 0x123 });
    assert_eq!(read(&mut u, Register::UcsrB, 501) & RXB8, RXB8);
    assert_eq!(read(&mut u, Register::Udr, 502), 0xC4);
}

#[test]
fn character_is_complete_when_its_first_stop_bit_is_decided() {
    for (double, samples) in [(0, 9 * 16 + 10), (U2X, 9 * 8 + 6)] {
        let mut u = usart(Config::ATMEGA128_0, 7, RX | RXC);
        write(&mut u, Register::UcsrA, double, 1);
        u.receive(1000, Frame::new(0x5A));
        let done = 1000 + samples * 8;
        assert_eq!(read(&mut u, Register::UcsrA, done - 1) & RXC, 0);
        assert_eq!(u.requests(), 0);
        assert_eq!(u.due(), done);
        assert_eq!(read(&mut u, Register::UcsrA, done), RXC | UDRE | double);
        assert_eq!(u.requests(), 1 << REQUEST_RECEIVED);
        assert_eq!(read(&mut u, Register::Udr, done + 1), 0x5A);
        assert_eq!(u.requests(), 0);
    }
}

#[test]
fn two_characters_wait_in_the_buffer_and_a_third_in_the_shift_register() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX);
    for (i, character) in [1, 2, 3].into_iter().enumerate() {
        u.receive(10 + 160 * i as Cycles, Frame::new(character));
    }
    let mut read_all = u.clone();
    for character in 1..=3 {
        assert_eq!(read(&mut read_all, Register::UcsrA, 1000) & (RXC | DOR), RXC);
        assert_eq!(read(&mut read_all, Register::Udr, 1000), character);
    }
    assert_eq!(read(&mut read_all, Register::UcsrA, 1001) & RXC, 0);
    // The start bit of a fourth overwrites the third.
    u.receive(490, Frame::new(4));
    assert_eq!(read(&mut u, Register::Udr, 1000), 1);
    assert_eq!(read(&mut u, Register::Udr, 1001), 2);
    assert_eq!(read(&mut u, Register::UcsrA, 1002) & (RXC | DOR), RXC | DOR);
    assert_eq!(read(&mut u, Register::Udr, 1003), 4);
    assert_eq!(read(&mut u, Register::UcsrA, 1004) & (RXC | DOR), 0);
}

#[test]
fn error_flags_belong_to_the_character_that_is_read_next() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX);
    write(&mut u, Register::UcsrC, 0x26, 1);
    u.receive(10, Frame { framing_error: true, ..Frame::new(1) });
    u.receive(200, Frame { parity_error: true, ..Frame::new(2) });
    u.receive(400, Frame::new(3));
    for (character, flags) in [(1, FE), (2, UPE), (3, 0)] {
        assert_eq!(read(&mut u, Register::UcsrA, 1000), RXC | UDRE | flags);
        assert_eq!(read(&mut u, Register::Udr, 1000), character);
    }
}

#[test]
fn parity_error_needs_parity_switched_on() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX);
    u.receive(10, Frame { parity_error: true, ..Frame::new(2) });
    assert_eq!(read(&mut u, Register::UcsrA, 1000), RXC | UDRE);
}

#[test]
fn disabling_the_receiver_flushes_it() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX);
    u.receive(10, Frame::new(1));
    u.receive(300, Frame::new(2));
    write(&mut u, Register::UcsrB, 0, 310);
    assert_eq!(read(&mut u, Register::UcsrA, 1000) & RXC, 0);
    write(&mut u, Register::UcsrB, RX, 1001);
    assert_eq!(read(&mut u, Register::UcsrA, 2000) & RXC, 0);
}

#[test]
fn start_within_a_character_is_not_a_start() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX);
    u.receive(10, Frame::new(1));
    u.receive(100, Frame::new(2));
    u.receive(170, Frame::new(3));
    assert_eq!(read(&mut u, Register::Udr, 1000), 1);
    assert_eq!(read(&mut u, Register::Udr, 1000), 3);
}

#[test]
fn multi_processor_mode_ignores_frames_that_are_no_address() {
    let mut u = usart(Config::ATMEGA128_0, 0, RX | UCSZ2);
    write(&mut u, Register::UcsrA, MPCM, 1);
    u.receive(10, Frame::new(0x042));
    u.receive(300, Frame::new(0x142));
    assert_eq!(read(&mut u, Register::UcsrA, 250) & RXC, 0);
    assert_eq!(read(&mut u, Register::UcsrA, 600) & RXC, RXC);
}

#[test]
fn spi_master_sends_bytes_every_sixteen_cycles_at_half_the_clock() {
    let mut u = usart(Config::ATMEGA328P, 0, TX | RX);
    write(&mut u, Register::UcsrC, 0xC0, 1);
    write(&mut u, Register::Udr, 0x11, 10);
    write(&mut u, Register::Udr, 0x22, 11);
    let mut effects = Vec::new();
    for (now, byte) in [(27, 0x33), (43, 0x44)] {
        u.advance(now, &mut effects);
        assert_eq!(u.read(Register::UcsrA, now) & UDRE, UDRE);
        u.write(Register::Udr, byte, now, &mut effects);
        u.read(Register::Udr, now);
    }
    u.advance(1000, &mut effects);
    let sent: Vec<_> = effects.iter().map(|&(cycle, _)| cycle).collect();
    assert_eq!(sent, [27, 43, 59, 75]);
}

#[test]
fn spi_master_samples_rxd_at_its_edges_in_either_phase_and_order() {
    let config = Config::ATMEGA328P;
    for (mode, first) in [(0u8, 4), (UCPHA, 8)] {
        for order in [0, UDORD] {
            let mut u = usart(config, 3, TX | RX);
            write(&mut u, Register::UcsrC, 0xC0 | mode | order, 1);
            write(&mut u, Register::Udr, 0, 99);
            for bit in 0..8 {
                let high = 0xC5u8 >> (7 - bit) & 1 != 0;
                let sample = 100 + first + 8 * bit;
                u.pin(config.rxd, high, sample - 1, &mut Vec::new());
                u.pin(config.rxd, !high, sample, &mut Vec::new());
            }
            assert_eq!(read(&mut u, Register::UcsrA, 164) & RXC, RXC);
            let expected = if order == 0 { 0xC5 } else { 0xC5u8.reverse_bits() };
            assert_eq!(read(&mut u, Register::Udr, 165), expected);
        }
    }
}

#[test]
fn atmega128_has_no_spi_master() {
    let mut u = usart(Config::ATMEGA128_0, 0, TX);
    write(&mut u, Register::UcsrC, 0xC6, 1);
    assert_eq!(read(&mut u, Register::UcsrC, 2), 0x46, "synchronous");
    write(&mut u, Register::Udr, 0, 10);
    assert_eq!(u.due(), 11 + 10 * 2);
}

fn script() -> impl Strategy<Value = Vec<(Cycles, Act<Register>)>> {
    use Register::*;
    let act = prop_oneof![
        4 => any::<u8>().prop_map(|v| Act::Write(Udr, v)),
        1 => any::<u8>().prop_map(|v| Act::Write(UcsrA, v)),
        3 => any::<u8>().prop_map(|v| Act::Write(UcsrB, v | TX)),
        1 => any::<u8>().prop_map(|v| Act::Write(UcsrC, v)),
        1 => (0..3u8).prop_map(|v| Act::Write(UbrrL, v)),
        3 => prop::sample::select(vec![Udr, UcsrA, UcsrB]).prop_map(Act::Read),
        1 => (0..3u8).prop_map(Act::Acknowledge),
        2 => any::<bool>().prop_map(|h| Act::Pin(Config::ATMEGA328P.rxd, h)),
    ];
    prop::collection::vec((prop_oneof![1..20u64, 20..300u64], act), 1..60)
}

proptest! {
    #[test]
    fn steps_do_not_matter(
        script in script(),
        starts in prop::collection::btree_set(0..6000u64, 0..40),
        seed in any::<u64>(),
    ) {
        let mut u = usart(Config::ATMEGA328P, 0, TX | RX | RXC);
        for (i, start) in starts.into_iter().enumerate() {
            u.receive(start, Frame { framing_error: i % 3 == 0, ..Frame::new((i as u16 * 37) & 0x1FF) });
        }
        use Register::*;
        assert_steps_do_not_matter(&u, &[UcsrA, UcsrB, UcsrC, UbrrL, UbrrH, Udr], &script, seed);
    }
}
