//! Bits one after the other in bytes, the highest of a byte and of a number first.
//!
//! Owns: writing and reading them. What they mean is the codes'.

/// Bits that are being written.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// Adds the lowest bits of a number, at most 32.
    pub fn put(&mut self, value: u32, bits: u32) {
        debug_assert!(bits == 32 || u64::from(value) >> bits == 0, "{value:#x} in {bits} bits");
        let mut left = bits;
        while left > 0 {
            let used = (self.bits % 8) as u32;
            if used == 0 {
                self.bytes.push(0);
            }
            let taken = left.min(8 - used);
            let part = (u64::from(value) >> (left - taken)) as u32 & ((1 << taken) - 1);
            *self.bytes.last_mut().expect("one was added") |= (part << (8 - used - taken)) as u8;
            self.bits += taken as usize;
            left -= taken;
        }
    }

    /// How many bits there are.
    pub fn count(&self) -> usize {
        self.bits
    }

    /// The bytes; what is left of the last one is zero.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bits that are being read.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Reads from the first bit on.
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// Where it is, in bits.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next bits, at most 32; `None` where there are not so many.
    pub fn take(&mut self, bits: u32) -> Option<u32> {
        if self.at + bits as usize > self.bytes.len() * 8 {
            return None;
        }
        let (mut value, mut left) = (0u64, bits);
        while left > 0 {
            let used = (self.at % 8) as u32;
            let taken = left.min(8 - used);
            let byte = u32::from(self.bytes[self.at / 8]);
            let part = byte >> (8 - used - taken) & ((1 << taken) - 1);
            value = value << taken | u64::from(part);
            self.at += taken as usize;
            left -= taken;
        }
        Some(value as u32)
    }

    /// The next bit.
    #[inline]
    pub fn bit(&mut self) -> Option<u32> {
        let byte = u32::from(*self.bytes.get(self.at / 8)?);
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read(numbers in prop::collection::vec((any::<u32>(), 0u32..=32), 0..100)) {
            let cut = |value: u32, bits: u32| (u64::from(value) & ((1 << bits) - 1)) as u32;
            let mut writer = BitWriter::default();
            numbers.iter().for_each(|&(value, bits)| writer.put(cut(value, bits), bits));
            let count = numbers.iter().map(|&(_, bits)| bits as usize).sum::<usize>();
            prop_assert_eq!(writer.count(), count);
            let bytes = writer.into_bytes();
            prop_assert_eq!(bytes.len(), count.div_ceil(8));
            let mut reader = BitReader::new(&bytes);
            for (value, bits) in numbers {
                prop_assert_eq!(reader.take(bits), Some(cut(value, bits)));
            }
            prop_assert_eq!(reader.at(), count);
            prop_assert_eq!(reader.take(8), None);
        }
    }

    #[test]
    fn the_highest_bit_comes_first() {
        let mut writer = BitWriter::default();
        writer.put(1, 1);
        writer.put(0b10, 4);
        writer.put(0x1_02, 11);
        assert_eq!(writer.into_bytes(), [0b1001_0001, 0b0000_0010]);
        let mut reader = BitReader::new(&[0x80]);
        let bits: Vec<Option<u32>> = (0..9).map(|_| reader.bit()).collect();
        assert_eq!((bits[0], bits[1], bits[7], bits[8]), (Some(1), Some(0), Some(0), None));
    }
}
