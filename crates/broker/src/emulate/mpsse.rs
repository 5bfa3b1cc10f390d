//! FTDI's command processor as a machine: commands go in, pins move, answers come out in packets. From AN_108 and the
//! chips' datasheets, and from nothing that the host's side of this crate says.
//!
//! Owns the commands that clock whole bytes with the most significant bit first, pins, clock and loopback; what else the
//! chip knows is answered as a bad command. A packet leaves when it is full, on SEND_IMMEDIATE, or when the latency timer
//! is over, which is the caller's to say. Both of the chip's FIFOs are as small as they are, so a host that does not read
//! while it writes comes to a halt.

use std::collections::VecDeque;

/// What hangs on the chip's pins.
pub trait Pins: Send {
    /// So many bytes are clocked out while as many come in.
    fn clock(&mut self, out: &[u8]) -> Vec<u8>;

    /// The eight low pins: what the chip drives, where `driven` has a 1.
    fn drive(&mut self, low: u8, driven: u8);

    /// What the eight low pins read, as far as the chip does not drive them.
    fn read(&mut self) -> u8;
}

/// A chip's FIFO in each direction.
const FIFO_BYTES: usize = 4096;
/// A packet of high-speed USB, of which two bytes are status.
const PACKET_BYTES: usize = 512;
/// Modem status, and line status: the transmitter is empty.
const STATUS: [u8; 2] = [0x32, 0x60];

/// What goes on over several bytes.
#[derive(Clone, Copy, Debug)]
struct Shift {
    bytes_left: usize,
    writes: bool,
    reads: bool,
}

/// A chip.
pub struct Chip<P> {
    pins: P,
    is_on: bool,
    commands: VecDeque<u8>,
    answers: VecDeque<u8>,
    /// Of the answers, so many are to go at once.
    immediate: usize,
    shift: Option<Shift>,
    low: u8,
    driven: u8,
    is_looped: bool,
    divides_by_5: bool,
    divisor: u16,
    /// How long a packet waits that is not full.
    pub latency_timer_ms: u8,
    /// Bytes that were no commands.
    pub bad_commands: u64,
}

impl<P: Pins> Chip<P> {
    /// A chip that has just been plugged in.
    pub fn new(pins: P) -> Chip<P> {
        Chip {
            pins,
            is_on: false,
            commands: VecDeque::new(),
            answers: VecDeque::new(),
            immediate: 0,
            shift: None,
            low: 0,
            driven: 0,
            is_looped: false,
            divides_by_5: true,
            divisor: 0,
            latency_timer_ms: 16,
            bad_commands: 0,
        }
    }

    /// The clock in Hz (AN_108 section 3.8.2).
    pub fn clock_hz(&self) -> u32 {
        let base = if self.divides_by_5 { 12_000_000 } else { 60_000_000 };
        base / ((1 + u32::from(self.divisor)) * 2)
    }

    /// What hangs on the pins.
    pub fn pins(&mut self) -> &mut P {
        &mut self.pins
    }

    /// A vendor's request without data. Whether the chip knows it.
    pub fn control(&mut self, request: u8, value: u16, index: u16) -> bool {
        match (request, value) {
            _ if index != 1 => return false,
            (0x00, 0) => {
                self.commands.clear();
                self.answers.clear();
                (self.immediate, self.shift) = (0, None);
            }
            (0x00, 1) => {
                self.answers.clear();
                self.immediate = 0;
            }
            (0x00, 2) => self.commands.clear(),
            (0x09, 1..=255) => self.latency_timer_ms = value as u8,
            // The mode is in the high byte: reset, and the command processor.
            (0x0B, _) if value >> 8 == 0x00 => (self.is_on, self.shift) = (false, None),
            (0x0B, _) if value >> 8 == 0x02 => self.is_on = true,
            _ => return false,
        }
        true
    }

    /// The host sends; how many bytes the chip has room for.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let room = FIFO_BYTES - self.commands.len();
            let now = room.min(bytes.len() - taken);
            self.commands.extend(&bytes[taken..taken + now]);
            taken += now;
            let before = self.commands.len();
            self.run();
            if taken == bytes.len() || self.commands.len() == before {
                return taken;
            }
        }
    }

    /// The host reads a packet: a full one, or a shorter one if that is to go or the timer `is_over`. None has to wait.
    pub fn read(&mut self, is_over: bool) -> Option<Vec<u8>> {
        self.run();
        let most = PACKET_BYTES - STATUS.len();
        let bytes = if self.answers.len() >= most {
            most
        } else if self.immediate > 0 || is_over {
            self.answers.len()
        } else {
            return None;
        };
        self.immediate = self.immediate.saturating_sub(bytes);
        let mut packet = STATUS.to_vec();
        packet.extend(self.answers.drain(..bytes));
        self.run();
        Some(packet)
    }

    /// Carries out what it has, as long as there is room for answers.
    fn run(&mut self) {
        while self.is_on {
            let is_moving = match self.shift {
                Some(shift) => self.clock(shift),
                None => self.command(),
            };
            if !is_moving {
                return;
            }
        }
    }

    fn clock(&mut self, shift: Shift) -> bool {
        let mut bytes = shift.bytes_left;
        if shift.writes {
            bytes = bytes.min(self.commands.len());
        }
        if shift.reads {
            bytes = bytes.min(FIFO_BYTES - self.answers.len());
        }
        if bytes == 0 {
            return false;
        }
        let out: Vec<u8> = if shift.writes { self.commands.drain(..bytes).collect() } else { vec![0; bytes] };
        let came = self.pins.clock(&out);
        assert_eq!(came.len(), bytes, "a wire brings as many bytes as it takes");
        if shift.reads {
            self.answers.extend(if self.is_looped { out } else { came });
        }
        let bytes_left = shift.bytes_left - bytes;
        self.shift = (bytes_left > 0).then_some(Shift { bytes_left, ..shift });
        true
    }

    /// How many bytes follow a command, if it is one.
    fn operands(command: u8) -> Option<usize> {
        match command {
            0x10 | 0x11 | 0x20 | 0x24 | 0x31 | 0x34 | 0x80 | 0x82 | 0x86 => Some(2),
            0x81 | 0x83 | 0x84 | 0x85 | 0x87 | 0x8A | 0x8B | 0x8C | 0x8D | 0x96 | 0x97 => Some(0),
            _ => None,
        }
    }

    fn command(&mut self) -> bool {
        let Some(&command) = self.commands.front() else { return false };
        // The longest answer.
        if self.answers.len() + 2 > FIFO_BYTES {
            return false;
        }
        let Some(operands) = Self::operands(command) else {
            self.commands.pop_front();
            self.answers.extend([0xFA, command]);
            self.bad_commands += 1;
            return true;
        };
        if self.commands.len() < 1 + operands {
            return false;
        }
        self.commands.pop_front();
        let mut operand = || self.commands.pop_front().expect("it is there");
        match command {
            0x10 | 0x11 | 0x20 | 0x24 | 0x31 | 0x34 => {
                let bytes_left = usize::from(u16::from_le_bytes([operand(), operand()])) + 1;
                // Bit 4 writes, bit 5 reads (section 3.2).
                let (writes, reads) = (command & 0x10 != 0, command & 0x20 != 0);
                self.shift = Some(Shift { bytes_left, writes, reads });
            }
            0x80 => {
                (self.low, self.driven) = (operand(), operand());
                self.pins.drive(self.low & self.driven, self.driven);
            }
            0x82 => drop([operand(), operand()]),
            0x81 => {
                let read = self.pins.read() & !self.driven | self.low & self.driven;
                self.answers.push_back(read);
            }
            0x83 => self.answers.push_back(0),
            0x84 => self.is_looped = true,
            0x85 => self.is_looped = false,
            0x86 => self.divisor = u16::from_le_bytes([operand(), operand()]),
            0x87 => self.immediate = self.answers.len(),
            0x8A => self.divides_by_5 = false,
            0x8B => self.divides_by_5 = true,
            // Three phases and the adaptive clock change no byte.
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives back what is clocked, inverted, while it is selected.
    #[derive(Default)]
    struct Inverter {
        clocked: Vec<u8>,
        driven: Vec<(u8, u8)>,
        pins: u8,
    }

    impl Pins for Inverter {
        fn clock(&mut self, out: &[u8]) -> Vec<u8> {
            self.clocked.extend_from_slice(out);
            out.iter().map(|byte| !byte).collect()
        }

        fn drive(&mut self, low: u8, driven: u8) {
            self.driven.push((low, driven));
        }

        fn read(&mut self) -> u8 {
            self.pins
        }
    }

    fn chip() -> Chip<Inverter> {
        let mut chip = Chip::new(Inverter::default());
        assert!(chip.control(0x0B, 0x0200, 1));
        chip
    }

    fn all(chip: &mut Chip<Inverter>) -> Vec<u8> {
        chip.read(true).expect("the timer is over")[2..].to_vec()
    }

    #[test]
    fn what_is_no_command_is_answered_with_itself() {
        let mut chip = chip();
        // Section 2.2: 0xFA, followed by the byte.
        assert_eq!(chip.write(&[0xAA, 0xAB]), 2);
        assert_eq!(all(&mut chip), [0xFA, 0xAA, 0xFA, 0xAB]);
        assert_eq!(chip.bad_commands, 2);
    }

    #[test]
    fn nothing_is_carried_out_before_the_mode_is_set() {
        let mut chip = Chip::new(Inverter::default());
        chip.write(&[0xAA]);
        assert_eq!(chip.read(true).unwrap(), STATUS);
        assert!(chip.control(0x0B, 0x0200, 1) && !chip.control(0x0B, 0x0200, 2) && !chip.control(0x09, 0, 1));
        assert_eq!(all(&mut chip), [0xFA, 0xAA]);
        // Section 3.8.1: the clock is divided by five until that is turned off, and then by two and one more.
        assert_eq!(chip.clock_hz(), 6_000_000);
        chip.write(&[0x8A, 0x86, 0x00, 0x00]);
        assert_eq!(chip.clock_hz(), 30_000_000);
        chip.write(&[0x86, 0x02, 0x00]);
        assert_eq!(chip.clock_hz(), 10_000_000);
    }

    #[test]
    fn bytes_are_clocked_in_and_out_as_their_command_says() {
        let mut chip = chip();
        chip.write(&[0x11, 0x01, 0x00, 0x55, 0x66]);
        assert_eq!(all(&mut chip), []);
        chip.write(&[0x20, 0x02, 0x00]);
        assert_eq!(all(&mut chip), [0xFF; 3]);
        chip.write(&[0x31, 0x01, 0x00, 0x0F]);
        assert_eq!(all(&mut chip), [0xF0], "the second byte is not there yet");
        chip.write(&[0xA5, 0x84, 0x31, 0x00, 0x00, 0x12]);
        assert_eq!(all(&mut chip), [0x5A, 0x12], "0x84 loops back");
        assert_eq!(chip.pins().clocked, [0x55, 0x66, 0, 0, 0, 0x0F, 0xA5, 0x12]);
    }

    #[test]
    fn pins_are_driven_and_read_by_their_direction() {
        let mut chip = chip();
        chip.pins().pins = 0b1111_0110;
        chip.write(&[0x80, 0x08, 0x0B, 0x81]);
        assert_eq!(all(&mut chip), [0b1111_1100]);
        assert_eq!(chip.pins().driven, [(0x08, 0x0B)]);
    }

    #[test]
    fn a_packet_goes_when_it_is_full_or_is_to_or_the_timer_is_over() {
        let mut chip = chip();
        chip.write(&[0x20, 0xFF, 0x01]);
        assert_eq!(chip.read(false).unwrap().len(), 512);
        assert_eq!(chip.read(false), None, "two bytes wait");
        chip.write(&[0x87]);
        assert_eq!(chip.read(false).unwrap(), [0x32, 0x60, 0xFF, 0xFF]);
        assert_eq!(chip.read(false), None);
        assert_eq!(chip.read(true).unwrap(), STATUS);
    }

    #[test]
    fn a_host_that_does_not_read_comes_to_a_halt() {
        let mut chip = chip();
        let mut commands = vec![0x31, 0xFF, 0xFF];
        commands.extend(vec![1; 65_536]);
        let taken = chip.write(&commands);
        assert_eq!(taken, 3 + 2 * 4096, "one FIFO for each direction");
        let (mut sent, mut came) = (taken, 0);
        while came < 65_536 {
            came += chip.read(true).unwrap().len() - 2;
            sent += chip.write(&commands[sent..]);
        }
        assert_eq!((sent, came), (commands.len(), 65_536));
    }
}
