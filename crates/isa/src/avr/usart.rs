//! The USART: asynchronous characters, the synchronous master, and on the ATmega328P the SPI master (MSPIM).
//!
//! Owns UDR, UCSRA to UCSRC and UBRR. Works in whole characters: what was sent is one [`Effect::Transmitted`]
//! when its last stop bit ends, what arrives is queued by [`Usart::receive`]. It leaves to others the levels
//! of XCK and of TXD within a character, and the start bit's alignment to the receiver's sampling clock (a
//! real receiver is up to one sample later).
//! Sources: ATmega128 datasheet, "USART"; ATmega328P datasheet, "USART0" and "USART in SPI Mode". 8N1 is ten
//! bits.

use std::collections::VecDeque;

use super::peripheral::{Drive, Effect, Effects, NEVER, Peripheral, Pin};
use crate::Cycles;

const RXC: u8 = 1 << 7;
const TXC: u8 = 1 << 6;
const UDRE: u8 = 1 << 5;
const FE: u8 = 1 << 4;
const DOR: u8 = 1 << 3;
const UPE: u8 = 1 << 2;
const U2X: u8 = 1 << 1;
const MPCM: u8 = 1;
const RXEN: u8 = 1 << 4;
const TXEN: u8 = 1 << 3;
const UCSZ2: u8 = 1 << 2;
const RXB8: u8 = 1 << 1;
/// In UCSRC.
const USBS: u8 = 1 << 3;
const UDORD: u8 = 1 << 2;
const UCPHA: u8 = 1 << 1;

/// Request bits, in the order of the vectors.
const REQUEST_RECEIVED: u8 = 0;
const REQUEST_EMPTY: u8 = 1;
const REQUEST_TRANSMITTED: u8 = 2;

/// The receive buffer holds two characters; a third waits in the shift register.
const RECEIVED_MAX: usize = 3;

/// A USART's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Data.
    Udr,
    /// Control and status A.
    UcsrA,
    /// Control and status B.
    UcsrB,
    /// Control and status C.
    UcsrC,
    /// Baud rate, low byte.
    UbrrL,
    /// Baud rate, high byte.
    UbrrH,
}

/// Which USART of which chip.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its number, as in USART1.
    pub usart: u8,
    /// Receiver's pin.
    pub rxd: Pin,
    /// Transmitter's pin.
    pub txd: Pin,
    /// Whether it can be an SPI master (UMSEL = 3).
    pub spi_master: bool,
}

impl Config {
    /// The ATmega128's USART0.
    pub const ATMEGA128_0: Self = Self {
        usart: 0,
        rxd: Pin { port: b'E', bit: 0 },
        txd: Pin { port: b'E', bit: 1 },
        spi_master: false,
    };
    /// The ATmega128's USART1.
    pub const ATMEGA128_1: Self = Self {
        usart: 1,
        rxd: Pin { port: b'D', bit: 2 },
        txd: Pin { port: b'D', bit: 3 },
        spi_master: false,
    };
    /// The ATmega328P's only one.
    pub const ATMEGA328P: Self =
        Self { usart: 0, rxd: Pin { port: b'D', bit: 0 }, txd: Pin { port: b'D', bit: 1 }, spi_master: true };
}

/// A character on its way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Up to nine bits.
    pub character: u16,
    /// The first stop bit was low.
    pub framing_error: bool,
    /// The parity bit was wrong; nobody looks unless parity is switched on.
    pub parity_error: bool,
}

impl Frame {
    /// A character without errors.
    pub const fn new(character: u16) -> Self {
        Self { character, framing_error: false, parity_error: false }
    }
}

/// A character in the receive buffer, with its flags as UCSRA shows them.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    character: u16,
    flags: u8,
}

/// A character in the transmitter's shift register.
#[derive(Clone, Copy, Debug)]
struct Sending {
    character: u16,
    start: Cycles,
    end: Cycles,
    /// The settings it was started with; writing others does not bend it.
    format: Format,
    /// As SPI master: what came in meanwhile, and how many bits of it.
    input: u8,
    sampled: u8,
}

/// The format and the timing that the registers ask for.
#[derive(Clone, Copy, Debug)]
struct Format {
    spi: bool,
    /// As SPI master: least significant bit first (UDORD), sampled at the trailing edge (UCPHA).
    reversed: bool,
    late: bool,
    data_bits: u32,
    parity_bits: u32,
    stop_bits: u32,
    bit_cycles: Cycles,
    /// From the start bit's edge to the decision on the first stop bit.
    decision_cycles: Cycles,
}

/// A USART. Requests: bit 0 receive complete, bit 1 data register empty, bit 2 transmit complete.
#[derive(Clone, Debug)]
pub struct Usart {
    config: Config,
    /// U2X and MPCM, and TXC.
    status: u8,
    control_b: u8,
    control_c: u8,
    ubrr: u16,
    sending: Option<Sending>,
    /// The transmit buffer.
    waiting: Option<u16>,
    received: [Received; RECEIVED_MAX],
    received_count: usize,
    /// What UDR last gave, which it gives again when it is read empty.
    last_read: Received,
    /// A character was lost since the one that was put into the buffer last.
    overrun: bool,
    /// Characters to come, by the cycle of their start bit's edge.
    queue: VecDeque<(Cycles, Frame)>,
    /// The character on the line: when it is decided, and what it is.
    arriving: Option<(Cycles, Frame)>,
    rxd: bool,
    txd_taken: bool,
    rxd_taken: bool,
    now: Cycles,
}

impl Usart {
    /// A USART after reset: 8 data bits, no parity, one stop bit, everything off.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            status: 0,
            control_b: 0,
            control_c: 6,
            ubrr: 0,
            sending: None,
            waiting: None,
            received: [Received::default(); RECEIVED_MAX],
            received_count: 0,
            last_read: Received::default(),
            overrun: false,
            queue: VecDeque::new(),
            arriving: None,
            rxd: true,
            txd_taken: false,
            rxd_taken: false,
            now: 0,
        }
    }

    /// Queues a character whose start bit begins at `starts`. The receiver's own settings at that cycle
    /// decide when it is complete; one that begins before the earlier one is decided is not seen as a start
    /// and is lost.
    ///
    /// # Panics
    /// If `starts` lies before the cycle the USART has been brought to, or before a queued character's.
    pub fn receive(&mut self, starts: Cycles, frame: Frame) {
        assert!(starts >= self.now, "a character that starts at {starts} arrives at {}", self.now);
        assert!(self.queue.back().is_none_or(|&(last, _)| last <= starts), "characters arrive in order");
        self.queue.push_back((starts, frame));
    }

    fn format(&self) -> Format {
        let divider = Cycles::from(self.ubrr) + 1;
        let select = self.control_c >> 6;
        let spi = self.config.spi_master && select == 3;
        if spi {
            return Format {
                spi,
                reversed: self.control_c & UDORD != 0,
                late: self.control_c & UCPHA != 0,
                data_bits: 8,
                parity_bits: 0,
                stop_bits: 0,
                bit_cycles: 2 * divider,
                decision_cycles: 0,
            };
        }
        let size = u32::from(self.control_b & UCSZ2) | u32::from(self.control_c >> 1 & 3);
        // Sizes 4 to 6 are reserved; they count as 8 bits.
        let data_bits = [5, 6, 7, 8, 8, 8, 8, 9][size as usize];
        let parity_bits = u32::from(self.control_c >> 5 & 1);
        let stop_bits = if self.control_c & USBS != 0 { 2 } else { 1 };
        let before_stop = Cycles::from(1 + data_bits + parity_bits);
        // Table "Equations for Calculating Baud Rate Register Setting"; a bit is decided after samples 8, 9,
        // 10 of 16, or 4, 5, 6 of 8 ("Asynchronous Data Recovery").
        let (samples, decided) = match (select & 1 != 0, self.status & U2X != 0) {
            (true, _) => (2, 2),
            (false, false) => (16, 10),
            (false, true) => (8, 6),
        };
        Format {
            spi,
            reversed: false,
            late: false,
            data_bits,
            parity_bits,
            stop_bits,
            bit_cycles: samples * divider,
            decision_cycles: (before_stop * samples + decided) * divider,
        }
    }

    fn start_sending(&mut self, character: u16, start: Cycles) {
        let format = self.format();
        let bits = if format.spi { 8 } else { 1 + format.data_bits + format.parity_bits + format.stop_bits };
        let end = start + Cycles::from(bits) * format.bit_cycles;
        let character = character & ((1 << format.data_bits) - 1);
        self.sending = Some(Sending { character, start, end, format, input: 0, sampled: 0 });
    }

    fn write_data(&mut self, value: u8, now: Cycles) {
        // "Data written to UDR when the UDRE flag is not set will be ignored by the USART transmitter."
        if self.waiting.is_some() {
            return;
        }
        let character = u16::from(value) | u16::from(self.control_b & 1) << 8;
        if self.sending.is_none() && self.control_b & TXEN != 0 {
            self.start_sending(character, now + 1);
        } else {
            self.waiting = Some(character);
        }
    }

    fn write_control_b(&mut self, value: u8, now: Cycles, effects: &mut Effects) {
        self.control_b = value & !RXB8;
        if value & RXEN == 0 {
            // "The receiver buffer FIFO will be flushed when the receiver is disabled."
            (self.received_count, self.overrun, self.arriving) = (0, false, None);
        }
        if value & TXEN != 0
            && self.sending.is_none()
            && let Some(character) = self.waiting.take()
        {
            self.start_sending(character, now + 1);
        }
        self.take_pins(now, effects);
    }

    /// TXEN makes TXD an output and RXEN makes RXD an input. "The disabling of the transmitter will not
    /// become effective until ongoing and pending transmissions are completed."
    fn take_pins(&mut self, now: Cycles, effects: &mut Effects) {
        let txd = self.control_b & TXEN != 0 || self.sending.is_some();
        if txd != self.txd_taken {
            self.txd_taken = txd;
            let drive = txd.then_some(Drive::High);
            effects.push((now, Effect::Override { pin: self.config.txd, drive }));
        }
        let rxd = self.control_b & RXEN != 0;
        if rxd != self.rxd_taken {
            self.rxd_taken = rxd;
            let drive = rxd.then_some(Drive::Floating);
            effects.push((now, Effect::Override { pin: self.config.rxd, drive }));
        }
    }

    fn advance_transmitter(&mut self, now: Cycles, effects: &mut Effects) {
        while let Some(mut sending) = self.sending {
            let format = sending.format;
            if format.spi {
                self.sample(&mut sending, now);
            }
            if sending.end > now {
                self.sending = Some(sending);
                return;
            }
            let transmitted = Effect::Transmitted { usart: self.config.usart, character: sending.character };
            effects.push((sending.end, transmitted));
            self.sending = None;
            if format.spi && self.control_b & RXEN != 0 {
                let input = if format.reversed { sending.input.reverse_bits() } else { sending.input };
                self.store(Received { character: input.into(), flags: 0 });
            }
            match self.waiting.take() {
                Some(character) => self.start_sending(character, sending.end),
                None => self.status |= TXC,
            }
            self.take_pins(sending.end, effects);
        }
    }

    /// Takes the bits of RXD whose sampling edges lie up to `now`, as SPI master.
    fn sample(&self, sending: &mut Sending, now: Cycles) {
        let Some(elapsed) = now.checked_sub(sending.start) else { return };
        let halves = elapsed / (sending.format.bit_cycles / 2);
        let samples = if sending.format.late { halves / 2 } else { halves.div_ceil(2) };
        while Cycles::from(sending.sampled) < samples.min(8) {
            sending.input = sending.input << 1 | u8::from(self.rxd);
            sending.sampled += 1;
        }
    }

    fn receiver_due(&self) -> Cycles {
        let next = self.queue.front().map_or(NEVER, |&(start, _)| start);
        self.arriving.map_or(next, |(done, _)| done)
    }

    fn advance_receiver(&mut self, now: Cycles) {
        loop {
            if let Some((done, frame)) = self.arriving {
                if done > now {
                    break;
                }
                self.arriving = None;
                self.decide(frame);
            }
            let Some(&(start, frame)) = self.queue.front().filter(|&&(start, _)| start <= now) else { break };
            self.queue.pop_front();
            let format = self.format();
            if self.control_b & RXEN != 0 && !format.spi {
                self.begin_reception();
                self.arriving = Some((start + format.decision_cycles, frame));
            }
            // A start bit within this character is not one.
            let busy_until = self.arriving.map_or(0, |(done, _)| done);
            while self.queue.front().is_some_and(|&(next, _)| next < busy_until) {
                self.queue.pop_front();
            }
        }
    }

    /// A new character needs the shift register: the one that still waits there is lost ("Receiver Error
    /// Flags").
    fn begin_reception(&mut self) {
        if self.received_count == RECEIVED_MAX {
            self.received_count -= 1;
            self.overrun = true;
        }
    }

    fn decide(&mut self, frame: Frame) {
        let format = self.format();
        let mask = (1 << format.data_bits) - 1;
        // "Multi-processor Communication Mode": without nine bits, the first stop bit tells an address.
        let is_address =
            if format.data_bits == 9 { frame.character & 0x100 != 0 } else { !frame.framing_error };
        if self.status & MPCM != 0 && !is_address {
            return;
        }
        let mut flags = 0;
        if frame.framing_error {
            flags |= FE;
        }
        if frame.parity_error && format.parity_bits != 0 {
            flags |= UPE;
        }
        if std::mem::take(&mut self.overrun) {
            flags |= DOR;
        }
        self.store(Received { character: frame.character & mask, flags });
    }

    fn store(&mut self, received: Received) {
        self.begin_reception();
        self.received[self.received_count] = received;
        self.received_count += 1;
    }

    fn head(&self) -> Received {
        if self.received_count > 0 { self.received[0] } else { Received { flags: 0, ..self.last_read } }
    }

    fn pop(&mut self) -> u8 {
        self.last_read = self.head();
        if self.received_count > 0 {
            self.received.rotate_left(1);
            self.received_count -= 1;
        }
        self.last_read.character as u8
    }

    fn flags(&self) -> u8 {
        let received = if self.received_count > 0 { RXC } else { 0 };
        let empty = if self.waiting.is_none() { UDRE } else { 0 };
        received | empty | self.status & TXC
    }
}

impl Peripheral for Usart {
    type Register = Register;

    fn read(&mut self, register: Register, _now: Cycles) -> u8 {
        match register {
            Register::Udr => self.pop(),
            Register::UcsrA => self.flags() | self.head().flags | self.status & (U2X | MPCM),
            Register::UcsrB => self.control_b | (self.head().character >> 7) as u8 & RXB8,
            Register::UcsrC => self.control_c,
            Register::UbrrL => self.ubrr as u8,
            Register::UbrrH => (self.ubrr >> 8) as u8,
        }
    }

    fn write(&mut self, register: Register, value: u8, now: Cycles, effects: &mut Effects) {
        match register {
            Register::Udr => self.write_data(value, now),
            Register::UcsrA => {
                let transmitted = self.status & TXC & !value;
                self.status = transmitted | value & (U2X | MPCM);
            }
            Register::UcsrB => self.write_control_b(value, now, effects),
            Register::UcsrC => self.control_c = if self.config.spi_master { value } else { value & 0x7F },
            Register::UbrrL => self.ubrr = self.ubrr & 0x0F00 | u16::from(value),
            Register::UbrrH => self.ubrr = self.ubrr & 0x00FF | u16::from(value & 0x0F) << 8,
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        // Both halves fill one receive buffer when the SPI mode is switched while something is under way.
        loop {
            let sent = self.sending.map_or(NEVER, |s| s.end);
            let next = self.receiver_due().min(sent);
            if next > now {
                break;
            }
            self.advance_transmitter(next, effects);
            self.advance_receiver(next);
        }
        self.advance_transmitter(now, effects);
        self.now = self.now.max(now);
    }

    fn due(&self) -> Cycles {
        let sent = self.sending.map_or(NEVER, |s| s.end);
        if self.control_b & RXC == 0 {
            return sent;
        }
        // RXCIE has RXC's place.
        sent.min(self.receiver_due())
    }

    fn requests(&self) -> u32 {
        // RXCIE, TXCIE and UDRIE have the places of RXC, TXC and UDRE.
        let wanted = self.flags() & self.control_b;
        let bit = |flag: u8, request: u8| u32::from(wanted & flag != 0) << request;
        bit(RXC, REQUEST_RECEIVED) | bit(UDRE, REQUEST_EMPTY) | bit(TXC, REQUEST_TRANSMITTED)
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        // The other two last until UDR is read or written.
        if bit == REQUEST_TRANSMITTED {
            self.status &= !TXC;
        }
    }

    fn pin(&mut self, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        if pin == self.config.rxd {
            self.advance(now, effects);
            self.rxd = high;
        }
    }
}

#[cfg(test)]
mod tests;
