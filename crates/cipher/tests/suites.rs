//! Every suite against its official vectors and against a second library, and what must be rejected.

mod seeded;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use cipher::vectors::{self, AeadVector};
use cipher::{Aead, Rejected, Suite};
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};

/// Those with a tag.
const SUITES: [Suite; 3] = [Suite::AsconAead128, Suite::Aes128Ccm, Suite::Aes256Gcm];

#[test]
fn every_suite_meets_its_official_vectors() {
    for (suite, expected_count) in
        [(Suite::AsconAead128, 1089), (Suite::Aes128Ccm, 22), (Suite::Aes256Gcm, 423)]
    {
        let vectors = vectors::aead(suite);
        assert_eq!(vectors.len(), expected_count, "{suite}");
        for vector in vectors {
            meets(suite, &vector);
        }
    }
}

fn meets(suite: Suite, vector: &AeadVector) {
    let at = format!("{suite}, the vector at line {}", vector.line);
    let aead = Aead::new(suite, &vector.key);
    let mut opened = vector.sealed.clone();
    let result = aead.open_tail(&vector.nonce, &vector.associated_data, &mut opened);
    let Some(plaintext) = &vector.plaintext else {
        assert_eq!(result, Err(Rejected), "{at}");
        return;
    };
    assert_eq!(result.as_deref(), Ok(plaintext.as_slice()), "{at}");
    let mut sealed = plaintext.clone();
    aead.seal_tail(&vector.nonce, &vector.associated_data, &mut sealed, 0);
    assert_eq!(sealed, vector.sealed, "{at}");
}

/// The same message by code that shares nothing with the library under test: for GCM a second library, for
/// the other two the mode spelt out over a second library's primitive.
fn witness(suite: Suite, key: &[u8], nonce: &[u8], ad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    match suite {
        Suite::AsconAead128 => witness_ascon(key, nonce, ad, plaintext),
        Suite::Aes128Ccm => witness_ccm(key, nonce, ad, plaintext),
        Suite::Aes256Gcm => {
            let mut sealed = plaintext.to_vec();
            let aead = Aes256Gcm::new_from_slice(key).unwrap();
            let tag =
                aead.encrypt_inout_detached(nonce.try_into().unwrap(), ad, sealed.as_mut_slice().into());
            sealed.extend_from_slice(&tag.unwrap());
            sealed
        }
        Suite::Aes128Cbc => witness_cbc(key, nonce, plaintext),
    }
}

/// SP 800-232 section 4.1 over RustCrypto's permutation.
fn witness_ascon(key: &[u8], nonce: &[u8], ad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(padded)
    };
    // A last block, of 0 to 15 bytes, with the bit that ends it.
    let padded = |block: &[u8]| {
        let mut padded = block.to_vec();
        padded.push(1);
        padded.resize(16, 0);
        [word(&padded[..8]), word(&padded[8..])]
    };
    let [k0, k1] = [word(&key[..8]), word(&key[8..])];
    let mut state = [0x0000_1000_808c_0001, k0, k1, word(&nonce[..8]), word(&nonce[8..])];
    ascon::permute12(&mut state);
    state[3] ^= k0;
    state[4] ^= k1;
    let absorb = |state: &mut [u64; 5], block: [u64; 2]| {
        state[0] ^= block[0];
        state[1] ^= block[1];
        [state[0].to_le_bytes(), state[1].to_le_bytes()].concat()
    };
    if !ad.is_empty() {
        let blocks = ad.chunks_exact(16);
        for block in blocks.clone() {
            absorb(&mut state, [word(&block[..8]), word(&block[8..])]);
            ascon::permute8(&mut state);
        }
        absorb(&mut state, padded(blocks.remainder()));
        ascon::permute8(&mut state);
    }
    state[4] ^= 1 << 63;
    let mut sealed = Vec::new();
    let blocks = plaintext.chunks_exact(16);
    for block in blocks.clone() {
        sealed.extend(absorb(&mut state, [word(&block[..8]), word(&block[8..])]));
        ascon::permute8(&mut state);
    }
    let last = blocks.remainder();
    sealed.extend(absorb(&mut state, padded(last)).into_iter().take(last.len()));
    state[2] ^= k0;
    state[3] ^= k1;
    ascon::permute12(&mut state);
    sealed.extend([(state[3] ^ k0).to_le_bytes(), (state[4] ^ k1).to_le_bytes()].concat());
    sealed
}

/// AES-128 of a block, by AWS-LC.
fn aws_lc_aes(key: &[u8]) -> impl Fn([u8; 16]) -> [u8; 16] {
    use aws_lc_rs::cipher::{AES_128, EncryptingKey, UnboundCipherKey};
    let cipher = EncryptingKey::ecb(UnboundCipherKey::new(&AES_128, key).unwrap()).unwrap();
    move |block: [u8; 16]| {
        let mut block = block;
        cipher.encrypt(&mut block).unwrap();
        block
    }
}

/// SP 800-38A section 6.2 behind the first method of its appendix C, spelt out over AWS-LC's AES.
fn witness_cbc(key: &[u8], nonce: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let encrypt = aws_lc_aes(key);
    let mut chain = encrypt(nonce.try_into().unwrap());
    let mut sealed = Vec::new();
    for block in plaintext.chunks(16) {
        chain.iter_mut().zip(block).for_each(|(a, b)| *a ^= b);
        chain = encrypt(chain);
        sealed.extend(chain);
    }
    sealed
}

/// RFC 3610 with L = 2 and M = 8, spelt out over AWS-LC's AES.
fn witness_ccm(key: &[u8], nonce: &[u8], ad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let encrypt = aws_lc_aes(key);
    let block_of = |flags: u8, counter: usize| {
        let mut block = [0; 16];
        block[0] = flags;
        block[1..14].copy_from_slice(nonce);
        block[14..].copy_from_slice(&u16::try_from(counter).unwrap().to_be_bytes());
        block
    };

    let mut authenticated = Vec::new();
    if !ad.is_empty() {
        authenticated.extend_from_slice(&u16::try_from(ad.len()).unwrap().to_be_bytes());
        authenticated.extend_from_slice(ad);
        authenticated.resize(authenticated.len().next_multiple_of(16), 0);
    }
    authenticated.extend_from_slice(plaintext);
    authenticated.resize(authenticated.len().next_multiple_of(16), 0);
    let flags = 0x40 * u8::from(!ad.is_empty()) + 8 * ((8 - 2) / 2) + (2 - 1);
    let mut mac = encrypt(block_of(flags, plaintext.len()));
    for block in authenticated.chunks(16) {
        mac.iter_mut().zip(block).for_each(|(a, b)| *a ^= b);
        mac = encrypt(mac);
    }

    let mut sealed = plaintext.to_vec();
    for (index, chunk) in sealed.chunks_mut(16).enumerate() {
        chunk.iter_mut().zip(encrypt(block_of(1, index + 1))).for_each(|(a, b)| *a ^= b);
    }
    sealed.extend(mac.iter().zip(encrypt(block_of(1, 0))).map(|(a, b)| a ^ b).take(8));
    sealed
}

#[test]
fn every_suite_agrees_with_a_second_library() {
    let mut rng = seeded();
    for suite in SUITES {
        let row = suite.row();
        for length in 0..=256 {
            let key = random_bytes(&mut rng, row.key_bytes);
            let nonce = random_bytes(&mut rng, row.nonce_bytes);
            let ad_length = rng.next_u32() as usize % 65;
            let ad = random_bytes(&mut rng, ad_length);
            let plaintext = random_bytes(&mut rng, length);
            let mut message = b"header".to_vec();
            message.extend_from_slice(&plaintext);
            let aead = Aead::new(suite, &key);
            aead.seal_tail(&nonce, &ad, &mut message, 6);
            assert_eq!(&message[..6], b"header");
            assert_eq!(
                message[6..],
                witness(suite, &key, &nonce, &ad, &plaintext),
                "{suite}, {length} bytes, {ad_length} of associated data"
            );
            let opened = aead.open_tail(&nonce, &ad, &mut message[6..]);
            assert_eq!(opened.as_deref(), Ok(plaintext.as_slice()));
        }
    }
}

#[test]
fn what_has_no_tag_is_legacy_agrees_with_a_second_library_and_opens_whatever_was_changed() {
    let mut rng = seeded();
    let row = Suite::Aes128Cbc.row();
    assert!(row.is_legacy && !row.is_authenticated());
    assert!(SUITES.iter().all(|suite| !suite.row().is_legacy && suite.row().is_authenticated()));
    for blocks in 0..=40 {
        let key = random_bytes(&mut rng, row.key_bytes);
        let nonce = random_bytes(&mut rng, row.nonce_bytes);
        let plaintext = random_bytes(&mut rng, 16 * blocks);
        let aead = Aead::new(Suite::Aes128Cbc, &key);
        let mut message = plaintext.clone();
        aead.seal_tail(&nonce, b"ignored", &mut message, 0);
        assert_eq!(message, witness(Suite::Aes128Cbc, &key, &nonce, b"", &plaintext), "{blocks} blocks");
        if blocks > 1 {
            // Its own block becomes noise, and the next one shows the flip.
            let mut flipped = message.clone();
            flipped[3] ^= 0x40;
            let opened = aead.open_tail(&nonce, b"other", &mut flipped).unwrap();
            assert_ne!(opened[..16], plaintext[..16]);
            assert_eq!(opened[19], plaintext[19] ^ 0x40);
            assert_eq!(opened[32..], plaintext[32..]);
        }
        assert_eq!(aead.open_tail(&nonce, b"", &mut message).as_deref(), Ok(plaintext.as_slice()));
        let mut part = random_bytes(&mut rng, 16 * blocks + 7);
        assert_eq!(aead.open_tail(&nonce, b"", &mut part), Err(Rejected));
        assert!(part.iter().all(|&byte| byte == 0));
    }
}

#[test]
fn a_flipped_bit_anywhere_is_rejected_and_leaves_zeros() {
    let mut rng = seeded();
    for suite in SUITES {
        let row = suite.row();
        let aead = Aead::new(suite, &random_bytes(&mut rng, row.key_bytes));
        let nonce = random_bytes(&mut rng, row.nonce_bytes);
        let ad = random_bytes(&mut rng, 10);
        let mut sealed = random_bytes(&mut rng, 37);
        aead.seal_tail(&nonce, &ad, &mut sealed, 0);
        let flip = |bytes: &[u8], bit: usize| {
            let mut bytes = bytes.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        };
        let rejects = |nonce: &[u8], ad: &[u8], mut sealed: Vec<u8>, what: &str| {
            assert_eq!(aead.open_tail(nonce, ad, &mut sealed), Err(Rejected), "{suite}: {what}");
            assert_eq!(sealed[..37], [0; 37], "{suite}: {what}");
        };
        for bit in 0..8 * sealed.len() {
            rejects(&nonce, &ad, flip(&sealed, bit), &format!("bit {bit} of ciphertext and tag"));
        }
        for bit in 0..8 * ad.len() {
            rejects(&nonce, &flip(&ad, bit), sealed.clone(), &format!("bit {bit} of the associated data"));
        }
        for bit in 0..8 * nonce.len() {
            rejects(&flip(&nonce, bit), &ad, sealed.clone(), &format!("bit {bit} of the nonce"));
        }
        rejects(&nonce, &ad[..9], sealed.clone(), "shorter associated data");
        let opened = aead.open_tail(&nonce, &ad, &mut sealed);
        assert!(opened.is_ok(), "{suite}: the untouched message opens");
    }
}

#[test]
fn a_message_shorter_than_its_tag_is_rejected_and_wiped() {
    for suite in SUITES {
        let row = suite.row();
        let aead = Aead::new(suite, &vec![7; row.key_bytes]);
        for length in 0..row.tag_bytes {
            let mut sealed = vec![0xAA; length];
            assert_eq!(aead.open_tail(&vec![1; row.nonce_bytes], b"", &mut sealed), Err(Rejected));
            assert!(sealed.iter().all(|byte| *byte == 0), "{suite}, {length} bytes");
        }
    }
}

#[test]
fn a_truncated_tag_is_rejected() {
    for suite in SUITES {
        let row = suite.row();
        let aead = Aead::new(suite, &vec![7; row.key_bytes]);
        let nonce = vec![1; row.nonce_bytes];
        let mut buffer = *b"measurement";
        let tag = aead.seal(&nonce, b"", &mut buffer);
        for length in 0..row.tag_bytes {
            let mut buffer = buffer;
            assert_eq!(
                aead.open(&nonce, b"", &mut buffer, &tag.as_ref()[..length]),
                Err(Rejected),
                "{suite}"
            );
            assert_eq!(buffer, [0; 11], "{suite}");
        }
        assert_eq!(aead.open(&nonce, b"", &mut buffer, tag.as_ref()), Ok(()), "{suite}");
    }
}

#[test]
fn ccm_takes_65535_bytes_and_rejects_one_more() {
    let aead = Aead::new(Suite::Aes128Ccm, &[7; 16]);
    let mut longest = vec![0; 65535];
    aead.seal_tail(&[1; 13], b"", &mut longest, 0);
    assert!(aead.open_tail(&[1; 13], b"", &mut longest).is_ok());
    let mut too_long = vec![0; 65536 + 8];
    assert_eq!(aead.open_tail(&[1; 13], b"", &mut too_long), Err(Rejected));
}

#[test]
#[should_panic(expected = "a message of 65536 bytes does not fit aes-128-ccm")]
fn sealing_too_long_a_message_is_a_bug() {
    Aead::new(Suite::Aes128Ccm, &[7; 16]).seal(&[1; 13], b"", &mut vec![0; 65536]);
}

#[test]
#[should_panic(expected = "a nonce of 12 bytes for aes-128-ccm, not 13")]
fn a_nonce_of_the_wrong_length_is_a_bug() {
    Aead::new(Suite::Aes128Ccm, &[7; 16]).seal(&[1; 12], b"", &mut []);
}

#[test]
fn names_and_numbers_find_their_suite() {
    for suite in SUITES.into_iter().chain([Suite::Aes128Cbc]) {
        assert_eq!(suite.to_string().parse(), Ok(suite));
    }
    assert_eq!(Suite::from_node_number(13), Some(Suite::Aes128Cbc));
    assert_eq!(Suite::from_node_number(1), Some(Suite::AsconAead128));
    assert_eq!(Suite::from_node_number(2), Some(Suite::Aes128Ccm));
    for number in (0..=255).filter(|number| ![1, 2, 13].contains(number)) {
        assert_eq!(Suite::from_node_number(number), None);
    }
    let error = "rot13".parse::<Suite>().unwrap_err();
    expect_test::expect![
        "unknown suite `rot13`, expected one of `ascon-aead128`, `aes-128-ccm`, `aes-256-gcm`, `aes-128-cbc`"
    ]
    .assert_eq(&error.to_string());
}
