//! The steps of AES on bytes, rows and columns, with tables (FIPS 197 sections 4 and 5, the paper's section 2).

/// What SubBytes makes of a byte: its inverse in the field, through the affine map of the paper's equation 4.
pub(super) const S_BOX: [u8; 256] = s_box();
/// And back.
pub(super) const INVERSE_S_BOX: [u8; 256] = inverse(&S_BOX);

/// SubBytes and ShiftRows of row `number`.
pub(super) fn sub_and_shift([a0, a1, a2, a3]: [u8; 4], number: usize) -> [u8; 4] {
    let mut row = [a0, a1, a2, a3].map(|byte| S_BOX[usize::from(byte)]);
    row.rotate_left(number);
    row
}

/// InvShiftRows and InvSubBytes of row `number`.
pub(super) fn inverse_shift_and_sub(mut row: [u8; 4], number: usize) -> [u8; 4] {
    row.rotate_right(number);
    row.map(|byte| INVERSE_S_BOX[usize::from(byte)])
}

/// MixColumns of one column, equation 5.
pub(super) fn mix(column: [u8; 4]) -> [u8; 4] {
    let doubled = column.map(double);
    let at = |row: usize, n: usize| (row + n) % 4;
    std::array::from_fn(|row| {
        doubled[row] ^ doubled[at(row, 1)] ^ column[at(row, 1)] ^ column[at(row, 2)] ^ column[at(row, 3)]
    })
}

/// InvMixColumns of one column, equation 6: 0e = 8 + 4 + 2, 0b = 8 + 2 + 1, 0d = 8 + 4 + 1, 09 = 8 + 1.
pub(super) fn inverse_mix(by_1: [u8; 4]) -> [u8; 4] {
    let by_2 = by_1.map(double);
    let by_4 = by_2.map(double);
    let by_8 = by_4.map(double);
    std::array::from_fn(|row| {
        let [first, second, third] = [1, 2, 3].map(|n| (row + n) % 4);
        let all = by_8[0] ^ by_8[1] ^ by_8[2] ^ by_8[3];
        all ^ by_4[row] ^ by_2[row] ^ by_2[first] ^ by_1[first] ^ by_4[second] ^ by_1[second] ^ by_1[third]
    })
}

/// AddRoundKey of one column.
pub(super) fn add(column: [u8; 4], key: [u8; 4]) -> [u8; 4] {
    std::array::from_fn(|row| column[row] ^ key[row])
}

/// The product in GF(2^8).
const fn times(a: u8, b: u8) -> u8 {
    let (mut product, mut multiple, mut bit) = (0, b, 0);
    while bit < 8 {
        if a >> bit & 1 == 1 {
            product ^= multiple;
        }
        multiple = double(multiple);
        bit += 1;
    }
    product
}

/// Twice a byte, which is also what makes the next constant of the key expansion.
pub(super) const fn double(byte: u8) -> u8 {
    (byte << 1) ^ ((byte >> 7) * 0x1b)
}

const fn s_box() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // x^254 is the inverse of x, and 0 of 0.
        let (mut inverse, mut n) = (1, 0);
        while n < 254 {
            inverse = times(inverse, byte as u8);
            n += 1;
        }
        table[byte] = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4)
            ^ 0x63;
        byte += 1;
    }
    table
}

const fn inverse(table: &[u8; 256]) -> [u8; 256] {
    let mut inverse = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        inverse[table[byte] as usize] = byte as u8;
        byte += 1;
    }
    inverse
}
