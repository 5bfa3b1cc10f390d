//! Canonical prefix codes: known from the lengths of their codes alone.
//!
//! Owns: lengths for counts (Huffman's, none above [`LENGTH_BITS_MAX`]), and coding symbols by them. Which symbols mean
//! what is `model`'s.
//!
//! Codes of one length are consecutive numbers, in the order of their symbols; behind the last code of a length the
//! next length goes on with twice the number behind it (RFC 1951, section 3.2.2, has the same). A code of a single
//! symbol takes no bits.

use super::bits::{BitReader, BitWriter};

/// The longest code, in bits.
pub const LENGTH_BITS_MAX: u32 = 15;
const LENGTHS: usize = LENGTH_BITS_MAX as usize + 1;
/// How many symbols there are codes for.
pub const SYMBOLS_MAX: usize = 1 << LENGTH_BITS_MAX;

/// A code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// By length: how many codes.
    counts: [u32; LENGTHS],
    /// The symbols that have a code, by ascending code.
    order: Vec<u16>,
    /// By symbol: its length and code.
    codes: Vec<(u8, u16)>,
}

impl Prefix {
    /// The code with these lengths by symbol, 0 for one that has none; `None` for lengths that leave codes over or have
    /// not enough, unless there is one symbol, whose length is 1, or none at all.
    pub fn of_lengths(lengths: &[u8]) -> Option<Prefix> {
        if lengths.len() > SYMBOLS_MAX {
            return None;
        }
        let mut counts = [0; LENGTHS];
        for &length in lengths.iter().filter(|&&length| length > 0) {
            *counts.get_mut(usize::from(length))? += 1;
        }
        let used: u32 = counts.iter().sum();
        let taken: u32 = (1..LENGTHS).map(|length| counts[length] << (LENGTHS - 1 - length)).sum();
        let is_sound = match used {
            0 => true,
            1 => counts[1] == 1,
            _ => taken == 1 << LENGTH_BITS_MAX,
        };
        if !is_sound {
            return None;
        }
        let mut order: Vec<u16> =
            (0..lengths.len()).filter(|&symbol| lengths[symbol] > 0).map(|symbol| symbol as u16).collect();
        order.sort_by_key(|&symbol| lengths[usize::from(symbol)]);
        let mut codes = vec![(0, 0); lengths.len()];
        let (mut code, mut before) = (0u32, 0u8);
        for &symbol in &order {
            let length = lengths[usize::from(symbol)];
            code <<= length - before;
            codes[usize::from(symbol)] = (length, code as u16);
            (code, before) = (code + 1, length);
        }
        Some(Prefix { counts, order, codes })
    }

    /// The code for these counts by symbol; a symbol that is never there has none.
    pub fn of_counts(counts: &[u32]) -> Prefix {
        Prefix::of_lengths(&lengths(counts)).expect("Huffman's lengths leave nothing over")
    }

    /// How long a symbol's code is, in bits; `None` when it has none.
    pub fn bits(&self, symbol: usize) -> Option<u32> {
        let &(length, _) = self.codes.get(symbol)?;
        match self.order.len() {
            1 => (length > 0).then_some(0),
            _ => (length > 0).then_some(length.into()),
        }
    }

    /// By symbol, how long its code is: what [`Prefix::of_lengths`] takes.
    pub fn length(&self, symbol: usize) -> u8 {
        self.codes.get(symbol).map_or(0, |&(length, _)| length)
    }

    /// Writes a symbol.
    ///
    /// # Panics
    /// When it has no code.
    pub fn put(&self, symbol: usize, bits: &mut BitWriter) {
        let length = self.bits(symbol).expect("the code was made for this symbol");
        if length > 0 {
            bits.put(self.codes[symbol].1.into(), length);
        }
    }

    /// Reads a symbol; `None` where there is none.
    pub fn take(&self, bits: &mut BitReader<'_>) -> Option<usize> {
        if let [symbol] = self.order[..] {
            return Some(symbol.into());
        }
        let (mut code, mut first, mut before) = (0u32, 0u32, 0u32);
        for &count in &self.counts[1..] {
            code = code << 1 | bits.bit()?;
            first <<= 1;
            let number = code.wrapping_sub(first);
            if number < count {
                return self.order.get((before + number) as usize).map(|&symbol| symbol.into());
            }
            first += count;
            before += count;
        }
        None
    }
}

/// The lengths of a code for counts by symbol. Where Huffman's are too long, small counts are taken for larger ones
/// until they are not.
fn lengths(counts: &[u32]) -> Vec<u8> {
    assert!(counts.len() <= SYMBOLS_MAX, "codes for {} symbols", counts.len());
    let mut lengths = vec![0; counts.len()];
    let used: Vec<usize> = (0..counts.len()).filter(|&symbol| counts[symbol] > 0).collect();
    let mut weights: Vec<u64> = used.iter().map(|&symbol| counts[symbol].into()).collect();
    loop {
        let depths = depths(&weights);
        if depths.iter().all(|&depth| depth <= LENGTH_BITS_MAX) {
            used.iter().zip(depths).for_each(|(&symbol, depth)| lengths[symbol] = depth.max(1) as u8);
            return lengths;
        }
        weights.iter_mut().for_each(|weight| *weight = weight.div_ceil(2));
    }
}

/// How deep each leaf of a Huffman tree is.
fn depths(weights: &[u64]) -> Vec<u32> {
    let leaves = weights.len();
    if leaves < 2 {
        return vec![0; leaves];
    }
    let mut order: Vec<usize> = (0..leaves).collect();
    order.sort_by_key(|&leaf| weights[leaf]);
    // Leaves in their order, then inner nodes as they are made, whose weights ascend, too.
    let mut nodes: Vec<u64> = order.iter().map(|&leaf| weights[leaf]).collect();
    let mut parents = vec![0; 2 * leaves - 1];
    let (mut leaf, mut inner) = (0, leaves);
    for parent in leaves..2 * leaves - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let takes_leaf = leaf < leaves && (inner >= nodes.len() || nodes[leaf] <= nodes[inner]);
            let next = if takes_leaf { &mut leaf } else { &mut inner };
            sum += nodes[*next];
            parents[*next] = parent;
            *next += 1;
        }
        nodes.push(sum);
    }
    let mut node_depths = vec![0; 2 * leaves - 1];
    for node in (0..2 * leaves - 2).rev() {
        node_depths[node] = node_depths[parents[node]] + 1;
    }
    let mut depths = vec![0; leaves];
    order.iter().zip(node_depths).for_each(|(&leaf, depth)| depths[leaf] = depth);
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn symbols_are_read_as_they_were_written(
            counts in prop::collection::vec(prop_oneof![Just(0u32), 1u32..10, 1u32..1_000_000], 1..200),
            chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..100),
        ) {
            let code = Prefix::of_counts(&counts);
            let used: Vec<usize> = (0..counts.len()).filter(|&symbol| counts[symbol] > 0).collect();
            prop_assume!(!used.is_empty());
            let symbols: Vec<usize> = chosen.iter().map(|index| used[index.index(used.len())]).collect();
            let mut writer = BitWriter::default();
            symbols.iter().for_each(|&symbol| code.put(symbol, &mut writer));
            let bytes = writer.into_bytes();
            let mut reader = BitReader::new(&bytes);
            for symbol in symbols {
                prop_assert_eq!(code.take(&mut reader), Some(symbol));
            }
            let lengths: Vec<u8> = (0..counts.len()).map(|symbol| code.length(symbol)).collect();
            prop_assert_eq!(Prefix::of_lengths(&lengths), Some(code));
        }

        #[test]
        fn any_lengths_and_any_bits_are_answered(
            lengths in prop::collection::vec(0u8..18, 0..40),
            bytes in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            if let Some(code) = Prefix::of_lengths(&lengths) {
                let mut reader = BitReader::new(&bytes);
                for _ in 0..40 {
                    let Some(symbol) = code.take(&mut reader) else { break };
                    prop_assert!(lengths[symbol] > 0);
                }
            }
        }
    }

    #[test]
    fn lengths_are_huffman_s_and_never_too_long() {
        // The example of RFC 1951: lengths 2, 1, 3, 3 have the codes 10, 0, 110, 111.
        let code = Prefix::of_lengths(&[2, 1, 3, 3]).expect("they fit");
        assert_eq!(code.codes, [(2, 0b10), (1, 0), (3, 0b110), (3, 0b111)]);
        assert_eq!(lengths(&[10, 20, 5, 5]), [2, 1, 3, 3]);
        // Counts that double make a tree as deep as it has leaves.
        let doubling: Vec<u32> = (0..30).map(|leaf| 1 << leaf).collect();
        let limited = lengths(&doubling);
        assert_eq!(limited.iter().max(), Some(&15));
        assert!(Prefix::of_lengths(&limited).is_some());
        for wrong in [&[1, 1, 1][..], &[1, 2], &[2], &[16, 16]] {
            assert_eq!(Prefix::of_lengths(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_single_symbol_takes_no_bits_and_no_symbol_is_none() {
        let code = Prefix::of_counts(&[0, 7]);
        let mut writer = BitWriter::default();
        code.put(1, &mut writer);
        assert_eq!((writer.count(), code.take(&mut BitReader::new(&[]))), (0, Some(1)));
        let empty = Prefix::of_counts(&[0, 0]);
        assert_eq!((empty.bits(0), empty.take(&mut BitReader::new(&[0]))), (None, None));
    }
}
