//! Samples as they travelled: a format, and their bytes.
//!
//! ```text
//! format  bits 0 to 6   0 converter code, 16 bits    1 integer, 16 bits     2 integer, 32 bits
//!                       3 floating point, 32 bits    4 floating point, 64 bits
//!         bit 7         most significant byte first
//! ```
//! A node of the bus sends codes of its converter; a data acquisition computer sends what its hardware gives it, and
//! nobody on the way converts it. Owns what the bytes mean; conversions of many samples are [`crate::convert`]'s.

/// What one sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A code of an analogue-digital converter, without a sign.
    Code,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits.
    I32,
    /// A floating-point number of 32 bits.
    F32,
    /// A floating-point number of 64 bits.
    F64,
}

/// One line of the table of kinds.
struct Row {
    kind: Kind,
    name: &'static str,
    bytes: usize,
}

/// Every kind, in the order of their numbers.
const KINDS: [Row; 5] = [
    Row { kind: Kind::Code, name: "code", bytes: 2 },
    Row { kind: Kind::I16, name: "i16", bytes: 2 },
    Row { kind: Kind::I32, name: "i32", bytes: 4 },
    Row { kind: Kind::F32, name: "f32", bytes: 4 },
    Row { kind: Kind::F64, name: "f64", bytes: 8 },
];

/// The bit of a format byte that says that the most significant byte comes first.
const BIG_ENDIAN_BIT: u8 = 0x80;

/// What samples are, and in which order their bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Format {
    /// What one sample is.
    pub kind: Kind,
    /// Whether the most significant byte comes first.
    pub is_big_endian: bool,
}

/// Samples of one format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waveform {
    format: Format,
    bytes: Vec<u8>,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].name
    }
}

impl Format {
    /// Codes of a converter, as the nodes of a bus send them.
    pub const CODES: Format = Format { kind: Kind::Code, is_big_endian: false };

    /// Every format there is.
    pub fn all() -> impl Iterator<Item = Format> {
        let kinds = KINDS.iter().map(|row| row.kind);
        kinds.flat_map(|kind| [false, true].map(|is_big_endian| Format { kind, is_big_endian }))
    }

    /// The format of this number, if there is one.
    pub fn from_number(number: u8) -> Option<Format> {
        let row = KINDS.get(usize::from(number & !BIG_ENDIAN_BIT))?;
        Some(Format { kind: row.kind, is_big_endian: number & BIG_ENDIAN_BIT != 0 })
    }

    /// The number that names it.
    pub fn number(self) -> u8 {
        self.kind as u8 | if self.is_big_endian { BIG_ENDIAN_BIT } else { 0 }
    }

    /// The name of its kind.
    pub fn name(self) -> &'static str {
        self.kind.name()
    }

    /// Bytes of one sample.
    pub fn sample_bytes(self) -> usize {
        KINDS[self.kind as usize].bytes
    }

    /// The value of one sample, which has as many bytes as it takes; exact for every kind.
    pub(crate) fn value(self, sample: &[u8]) -> f64 {
        let mut bytes = [0; 8];
        let sample_bytes = sample.len();
        bytes[..sample_bytes].copy_from_slice(sample);
        if self.is_big_endian {
            bytes[..sample_bytes].reverse();
        }
        let (two, four) = ([bytes[0], bytes[1]], [bytes[0], bytes[1], bytes[2], bytes[3]]);
        match self.kind {
            Kind::Code => u16::from_le_bytes(two).into(),
            Kind::I16 => i16::from_le_bytes(two).into(),
            Kind::I32 => i32::from_le_bytes(four).into(),
            Kind::F32 => f32::from_le_bytes(four).into(),
            Kind::F64 => f64::from_le_bytes(bytes),
        }
    }
}

impl Waveform {
    /// Samples of `format` in `bytes`; `None` when there is part of a sample.
    pub fn new(format: Format, bytes: Vec<u8>) -> Option<Waveform> {
        bytes.len().is_multiple_of(format.sample_bytes()).then_some(Waveform { format, bytes })
    }

    /// No samples.
    pub(crate) fn none(format: Format) -> Waveform {
        Waveform { format, bytes: Vec::new() }
    }

    /// Codes of a converter.
    pub fn of_codes(codes: &[u16]) -> Waveform {
        let bytes = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
        Waveform { format: Format::CODES, bytes }
    }

    /// Their format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Their bytes, as they travelled.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.format.sample_bytes()
    }

    /// True when there is no sample.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The values of the samples; exact for every format.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.bytes.chunks_exact(self.format.sample_bytes()).map(|sample| self.format.value(sample))
    }

    /// The samples as codes of a converter; `None` when they are of another kind.
    pub fn codes(&self) -> Option<impl ExactSizeIterator<Item = u16> + '_> {
        let order = if self.format.is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let codes = self.bytes.chunks_exact(2).map(move |two| order([two[0], two[1]]));
        (self.format.kind == Kind::Code).then_some(codes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_numbers() {
        for (number, row) in (0..).zip(&KINDS) {
            assert_eq!(row.kind as u8, number);
        }
        for format in Format::all() {
            assert_eq!(Format::from_number(format.number()), Some(format));
        }
        assert_eq!(Format::all().count(), (0..=255).filter_map(Format::from_number).count());
    }

    #[test]
    fn a_value_is_the_same_in_both_orders() {
        for (kind, little) in [
            (Kind::Code, 65_000u16.to_le_bytes().to_vec()),
            (Kind::I16, (-536i16).to_le_bytes().to_vec()),
            (Kind::I32, (-2_000_000_001i32).to_le_bytes().to_vec()),
            (Kind::F32, 0.1f32.to_le_bytes().to_vec()),
            (Kind::F64, 1e-300f64.to_le_bytes().to_vec()),
        ] {
            let big = little.iter().rev().copied().collect();
            let values = [(false, little), (true, big)].map(|(is_big_endian, bytes)| {
                let waveform = Waveform::new(Format { kind, is_big_endian }, bytes).unwrap();
                assert_eq!(waveform.len(), 1);
                waveform.values().next().unwrap()
            });
            assert_eq!(values[0], values[1]);
        }
        let of = |kind, bytes: &[u8]| {
            let format = Format { kind, is_big_endian: true };
            Waveform::new(format, bytes.to_vec()).unwrap().values().collect::<Vec<_>>()
        };
        assert_eq!(of(Kind::Code, &[0xfd, 0xe8, 0, 1]), [65_000.0, 1.0]);
        assert_eq!(of(Kind::I16, &[0xfd, 0xe8]), [-536.0]);
        assert_eq!(of(Kind::F32, &[0x3f, 0x80, 0, 0]), [1.0]);
    }

    #[test]
    fn part_of_a_sample_is_none() {
        let format = Format { kind: Kind::I32, is_big_endian: false };
        assert_eq!(Waveform::new(format, vec![0; 7]), None);
        assert_eq!(Waveform::new(format, vec![0; 8]).unwrap().codes().map(|codes| codes.len()), None);
        assert_eq!(Waveform::of_codes(&[7, 8]).codes().unwrap().collect::<Vec<_>>(), [7, 8]);
    }
}
