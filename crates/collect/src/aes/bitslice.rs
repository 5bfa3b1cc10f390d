//! AES (FIPS 197) in bit planes: constant-time on every processor, without AES instructions and without tables.
//!
//! Plane i holds bit i of every byte of four blocks, so that one logic operation works on 64 bytes: the parallelism inside
//! a block that the paper looks for with threads (its section 3.2) is in the width of a word. A byte's place in a plane is
//! `16 * row + 4 * column + block`: ShiftRows turns each quarter of a word, MixColumns the whole word.
//!
//! The S-box is the straight-line program of J. Boyar and R. Peralta, "A small depth-16 circuit for the AES S-box" (2012),
//! under its names; of the same authors' tower-field inversion between two linear layers. The inverse S-box is the same
//! circuit between two inverses of its affine map, since S = A(x^-1) gives S^-1 = A^-1 S A^-1.

use zeroize::Zeroize;

use super::{BLOCK_BYTES, Block};

/// How many blocks lie in planes of 64 bits.
pub const PLANE_BLOCKS: usize = 4;

/// Bit i of the bytes of four blocks is `[i]`.
pub type Planes = [u64; 8];

/// ECB encryption under round keys for encryption.
pub fn ecb_encrypt(keys: &[Planes], blocks: &mut [Block]) {
    for blocks in blocks.chunks_mut(PLANE_BLOCKS) {
        let encrypted = padded(blocks, |planes| encrypt(keys, planes));
        blocks.copy_from_slice(&encrypted[..blocks.len()]);
    }
}

/// ECB decryption under round keys for decryption.
pub fn ecb_decrypt(keys: &[Planes], blocks: &mut [Block]) {
    for blocks in blocks.chunks_mut(PLANE_BLOCKS) {
        let decrypted = padded(blocks, |planes| decrypt(keys, planes));
        blocks.copy_from_slice(&decrypted[..blocks.len()]);
    }
}

/// CBC decryption under round keys for decryption.
pub fn cbc_decrypt(keys: &[Planes], iv: &Block, blocks: &mut [Block]) {
    let mut before = *iv;
    for blocks in blocks.chunks_mut(PLANE_BLOCKS) {
        let decrypted = padded(blocks, |planes| decrypt(keys, planes));
        for (block, decrypted) in blocks.iter_mut().zip(decrypted) {
            let plaintext = xor(&decrypted, &before);
            before = std::mem::replace(block, plaintext);
        }
    }
}

/// The key stream of a counter and those that follow it, added to any number of bytes.
pub fn ctr(keys: &[Planes], mut counter: u128, data: &mut [u8]) {
    for data in data.chunks_mut(PLANE_BLOCKS * BLOCK_BYTES) {
        let mut stream = [0, 1, 2, 3].map(|i| counter.wrapping_add(i).to_be_bytes());
        encrypt_four(keys, &mut stream);
        data.iter_mut().zip(stream.as_flattened()).for_each(|(byte, mask)| *byte ^= mask);
        stream.zeroize();
        counter = counter.wrapping_add(PLANE_BLOCKS as u128);
    }
}

/// Encrypts four blocks where they lie.
pub fn encrypt_four(keys: &[Planes], blocks: &mut [Block; PLANE_BLOCKS]) {
    let mut planes = slice(blocks);
    encrypt(keys, &mut planes);
    *blocks = unslice(&planes);
}

/// Brings four blocks or fewer into planes and back.
fn padded(blocks: &[Block], work: impl Fn(&mut Planes)) -> [Block; PLANE_BLOCKS] {
    let mut padded = [[0; BLOCK_BYTES]; PLANE_BLOCKS];
    padded[..blocks.len()].copy_from_slice(blocks);
    let mut planes = slice(&padded);
    work(&mut planes);
    unslice(&planes)
}

fn xor(a: &Block, b: &Block) -> Block {
    (u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b)).to_ne_bytes()
}

/// FIPS 197 section 5.1.
fn encrypt(keys: &[Planes], planes: &mut Planes) {
    let [first, inner @ .., last] = keys else { unreachable!("a cipher has rounds") };
    add(planes, first);
    for key in inner {
        substitute(planes);
        shift_rows(planes);
        mix_columns(planes);
        add(planes, key);
    }
    substitute(planes);
    shift_rows(planes);
    add(planes, last);
}

/// The equivalent inverse cipher (FIPS 197 section 5.3.5).
fn decrypt(keys: &[Planes], planes: &mut Planes) {
    let [first, inner @ .., last] = keys else { unreachable!("a cipher has rounds") };
    add(planes, first);
    for key in inner {
        inverse_substitute(planes);
        inverse_shift_rows(planes);
        inverse_mix_columns(planes);
        add(planes, key);
    }
    inverse_substitute(planes);
    inverse_shift_rows(planes);
    add(planes, last);
}

fn add(planes: &mut Planes, other: &Planes) {
    for (plane, other) in planes.iter_mut().zip(other) {
        *plane ^= other;
    }
}

/// Each row's quarter of a word to the right by as many columns as its number: the upper two by two, then every second
/// by one.
fn shift_rows(planes: &mut Planes) {
    for word in planes {
        let x = shift_by_two(*word);
        *word = (x & 0x0000_ffff_0000_ffff)
            | ((x >> 4) & 0x0fff_0000_0fff_0000)
            | ((x << 12) & 0xf000_0000_f000_0000);
    }
}

fn inverse_shift_rows(planes: &mut Planes) {
    for word in planes {
        let x = shift_by_two(*word);
        *word = (x & 0x0000_ffff_0000_ffff)
            | ((x << 4) & 0xfff0_0000_fff0_0000)
            | ((x >> 12) & 0x000f_0000_000f_0000);
    }
}

fn shift_by_two(x: u64) -> u64 {
    let swapped = (x ^ (x >> 8)) & 0x00ff_00ff_0000_0000;
    x ^ swapped ^ (swapped << 8)
}

/// Each byte becomes twice itself and the next, the next, and the two behind it.
fn mix_columns(planes: &mut Planes) {
    let next = planes.map(|plane| plane.rotate_right(16));
    let mut sums = *planes;
    add(&mut sums, &next);
    let doubled = double(&sums);
    for (((plane, next), sum), doubled) in planes.iter_mut().zip(next).zip(sums).zip(doubled) {
        *plane = doubled ^ next ^ sum.rotate_right(32);
    }
}

/// MixColumns behind the circulant of 5, 0, 4, 0: their product is the inverse of MixColumns.
fn inverse_mix_columns(planes: &mut Planes) {
    let mut sums = planes.map(|plane| plane.rotate_right(32));
    add(&mut sums, planes);
    add(planes, &double(&double(&sums)));
    mix_columns(planes);
}

/// Each byte times 2 in the field: the planes move up, and the top one is reduced by 0x1b.
fn double(planes: &Planes) -> Planes {
    let [a0, a1, a2, a3, a4, a5, a6, a7] = *planes;
    [a7, a0 ^ a7, a1, a2 ^ a7, a3 ^ a7, a4, a5, a6]
}

/// The S-box.
#[inline]
fn substitute(planes: &mut Planes) {
    let y = top_layer(planes);
    *planes = bottom_layer(&products(&y, &inversion(&y)));
}

/// The linear layer in front: y1 to y21, and x7 for y0.
#[inline]
fn top_layer(planes: &Planes) -> [u64; 22] {
    // The circuit counts bits from the top.
    let [x7, x6, x5, x4, x3, x2, x1, x0] = *planes;
    let y14 = x3 ^ x5;
    let y13 = x0 ^ x6;
    let y9 = x0 ^ x3;
    let y8 = x0 ^ x5;
    let t0 = x1 ^ x2;
    let y1 = t0 ^ x7;
    let y4 = y1 ^ x3;
    let y12 = y13 ^ y14;
    let y2 = y1 ^ x0;
    let y5 = y1 ^ x6;
    let y3 = y5 ^ y8;
    let t1 = x4 ^ y12;
    let y15 = t1 ^ x5;
    let y20 = t1 ^ x1;
    let y6 = y15 ^ x7;
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = x7 ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = x0 ^ y16;
    [x7, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20, y21]
}

/// The inversion in the tower field: t29 to t45, as many as are multiplied with.
#[inline]
fn inversion(y: &[u64; 22]) -> [u64; 9] {
    let [y0, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20, y21] =
        *y;
    let t2 = y12 & y15;
    let t3 = y3 & y6;
    let t4 = t3 ^ t2;
    let t5 = y4 & y0;
    let t6 = t5 ^ t2;
    let t7 = y13 & y16;
    let t8 = y5 & y1;
    let t9 = t8 ^ t7;
    let t10 = y2 & y7;
    let t11 = t10 ^ t7;
    let t12 = y9 & y11;
    let t13 = y14 & y17;
    let t14 = t13 ^ t12;
    let t15 = y8 & y10;
    let t16 = t15 ^ t12;
    let t17 = t4 ^ t14;
    let t18 = t6 ^ t16;
    let t19 = t9 ^ t14;
    let t20 = t11 ^ t16;
    let t21 = t17 ^ y20;
    let t22 = t18 ^ y19;
    let t23 = t19 ^ y21;
    let t24 = t20 ^ y18;
    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t28 = t25 & t27;
    let t29 = t28 ^ t22;
    let t30 = t23 ^ t24;
    let t31 = t22 ^ t26;
    let t32 = t31 & t30;
    let t33 = t32 ^ t24;
    let t34 = t23 ^ t33;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t37 = t36 ^ t34;
    let t38 = t27 ^ t36;
    let t39 = t29 & t38;
    let t40 = t25 ^ t39;
    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;
    [t29, t33, t37, t40, t41, t42, t43, t44, t45]
}

/// z0 to z17.
#[inline]
fn products(y: &[u64; 22], t: &[u64; 9]) -> [u64; 18] {
    let [y0, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, _, _, _, _] = *y;
    let [t29, t33, t37, t40, t41, t42, t43, t44, t45] = *t;
    [
        t44 & y15,
        t37 & y6,
        t33 & y0,
        t43 & y16,
        t40 & y1,
        t29 & y7,
        t42 & y11,
        t45 & y17,
        t41 & y10,
        t44 & y12,
        t37 & y3,
        t33 & y4,
        t43 & y13,
        t40 & y5,
        t29 & y2,
        t42 & y9,
        t45 & y14,
        t41 & y8,
    ]
}

/// The linear layer behind, with the affine map's constant.
#[inline]
fn bottom_layer(z: &[u64; 18]) -> Planes {
    let [z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15, z16, z17] = *z;
    let t46 = z15 ^ z16;
    let t47 = z10 ^ z11;
    let t48 = z5 ^ z13;
    let t49 = z9 ^ z10;
    let t50 = z2 ^ z12;
    let t51 = z2 ^ z5;
    let t52 = z7 ^ z8;
    let t53 = z0 ^ z3;
    let t54 = z6 ^ z7;
    let t55 = z16 ^ z17;
    let t56 = z12 ^ t48;
    let t57 = t50 ^ t53;
    let t58 = z4 ^ t46;
    let t59 = z3 ^ t54;
    let t60 = t46 ^ t57;
    let t61 = z14 ^ t57;
    let t62 = t52 ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z4 ^ t59;
    let t65 = t61 ^ t62;
    let t66 = z1 ^ t63;
    let s0 = t59 ^ t63;
    let s6 = !(t56 ^ t62);
    let s7 = !(t48 ^ t60);
    let t67 = t64 ^ t65;
    let s3 = t53 ^ t66;
    let s4 = t51 ^ t66;
    let s5 = t47 ^ t65;
    let s1 = !(t64 ^ s3);
    let s2 = !(t55 ^ t67);
    [s7, s6, s5, s4, s3, s2, s1, s0]
}

fn inverse_substitute(planes: &mut Planes) {
    inverse_affine(planes);
    substitute(planes);
    inverse_affine(planes);
}

/// The inverse of the S-box's affine map: bit i is the sum of bits i + 2, i + 5 and i + 7, and of bit i of 0x05.
fn inverse_affine(planes: &mut Planes) {
    let before = *planes;
    for (i, plane) in planes.iter_mut().enumerate() {
        *plane = before[(i + 2) % 8] ^ before[(i + 5) % 8] ^ before[(i + 7) % 8];
    }
    planes[0] = !planes[0];
    planes[2] = !planes[2];
}

/// The S-box on each byte of a word of a key.
pub fn sub_word(word: u32) -> u32 {
    let mut block = [0; BLOCK_BYTES];
    block[..4].copy_from_slice(&word.to_le_bytes());
    let substituted = of_key(block, substitute);
    u32::from_le_bytes(*substituted.first_chunk().expect("a block has four bytes"))
}

/// The inverse of MixColumns on a round key.
pub fn inverse_mix_key(key: Block) -> Block {
    of_key(key, inverse_mix_columns)
}

/// Does something to one block of a key, and wipes what it took.
fn of_key(mut block: Block, work: impl Fn(&mut Planes)) -> Block {
    let mut planes = slice(&[block; PLANE_BLOCKS]);
    work(&mut planes);
    let mut blocks = unslice(&planes);
    let done = blocks[0];
    block.zeroize();
    planes.zeroize();
    blocks.zeroize();
    done
}

/// Four blocks into planes.
pub fn slice(blocks: &[Block; PLANE_BLOCKS]) -> Planes {
    // The byte that belongs at `place` is byte `place / 8` of word `place % 8`; transposing bits does the rest. So a word
    // takes two columns of a block, byte by byte.
    let mut words = [0; 8];
    for (n, block) in blocks.iter().enumerate() {
        let (columns, _) = block.as_chunks::<4>();
        let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|column| spread(u32::from_le_bytes(columns[column])));
        words[n] = c0 | (c2 << 8);
        words[n + 4] = c1 | (c3 << 8);
    }
    transpose(&mut words);
    words
}

/// Planes back into four blocks.
fn unslice(planes: &Planes) -> [Block; PLANE_BLOCKS] {
    let mut words = *planes;
    transpose(&mut words);
    let mut blocks = [[0; 16]; PLANE_BLOCKS];
    for (n, block) in blocks.iter_mut().enumerate() {
        let columns = [words[n], words[n + 4], words[n] >> 8, words[n + 4] >> 8];
        for (bytes, column) in block.as_chunks_mut::<4>().0.iter_mut().zip(columns) {
            *bytes = gathered(column).to_le_bytes();
        }
    }
    blocks
}

/// Four bytes to every second place of eight.
fn spread(bytes: u32) -> u64 {
    let bytes = u64::from(bytes);
    let pairs = (bytes | (bytes << 16)) & 0x0000_ffff_0000_ffff;
    (pairs | (pairs << 8)) & 0x00ff_00ff_00ff_00ff
}

/// And back; what lies between them is dropped.
fn gathered(bytes: u64) -> u32 {
    let bytes = bytes & 0x00ff_00ff_00ff_00ff;
    let pairs = (bytes | (bytes >> 8)) & 0x0000_ffff_0000_ffff;
    (pairs | (pairs >> 16)) as u32
}

/// Swaps bit i of each byte of word k with bit k of the same byte of word i.
fn transpose(words: &mut [u64; 8]) {
    for (distance, mask) in
        [(1, 0x5555_5555_5555_5555), (2, 0x3333_3333_3333_3333), (4, 0x0f0f_0f0f_0f0f_0f0f)]
    {
        for low in (0..8).filter(|k| k & distance == 0) {
            let high = low + distance;
            let swapped = ((words[low] >> distance) ^ words[high]) & mask;
            words[low] ^= swapped << distance;
            words[high] ^= swapped;
        }
    }
}
