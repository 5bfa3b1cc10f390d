//! As much of DER as the official vectors' keys and signatures need: sequences of integers, and what wraps them.

/// The contents of the values that `bytes` are, each with its tag.
pub fn values(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut values = Vec::new();
    while let [tag, first, rest @ ..] = bytes {
        let (length, rest) = match first {
            0..0x80 => (usize::from(*first), rest),
            _ => {
                let (octets, rest) = rest.split_at(usize::from(first & 0x7f));
                (octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest)
            }
        };
        let (value, behind) = rest.split_at(length);
        values.push((*tag, value));
        bytes = behind;
    }
    values
}

/// The integers of a sequence, without leading zeros.
pub fn integers(sequence: &[u8]) -> Vec<Vec<u8>> {
    let inside = values(sequence)[0].1;
    let integers = values(inside).into_iter().filter(|(tag, _)| *tag == 2);
    let significant = |bytes: &[u8]| bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    integers.map(|(_, bytes)| significant(bytes)).collect()
}

/// The integers of the RSA key in a PKCS#8 key: version, n, e, d, p, q, d_p, d_q, coefficient.
pub fn private_key(pkcs8: &[u8]) -> Vec<Vec<u8>> {
    let inside = values(values(pkcs8)[0].1);
    integers(inside.iter().find(|(tag, _)| *tag == 4).expect("a key is an octet string").1)
}
