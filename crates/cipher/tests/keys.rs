//! Keys: derivations against a second HKDF and a drawing of each label, key files, nonces, and no leaks.

use std::io;

use cipher::{
    Aead, CellMaster, Error, Key, NodeMaster, NonceSource, OsRandomness, Randomness, StoreMaster, Suite,
    nonces, vectors,
};
use hkdf::Hkdf;
use proptest::prelude::*;
use sha2::Sha256;

/// HKDF by RustCrypto, with the label and the numbers concatenated by hand.
fn witness<const N: usize>(master: &[u8; 32], info: &[u8]) -> [u8; N] {
    let mut okm = [0; N];
    Hkdf::<Sha256>::new(None, master).expand(info, &mut okm).unwrap();
    okm
}

const MASTER: [u8; 32] = *b"a master key for tests, 32 bytes";

fn master() -> Key<32> {
    Key::copied_from(&MASTER)
}

#[test]
fn the_second_hkdf_meets_the_official_vectors() {
    let vectors = vectors::hkdf();
    assert_eq!(vectors.len(), 105);
    for vector in vectors {
        let mut okm = vec![0; vector.okm.len()];
        Hkdf::<Sha256>::new(Some(&vector.salt), &vector.ikm).expand(&vector.info, &mut okm).unwrap();
        assert_eq!(okm, vector.okm, "the vector at line {}", vector.line);
    }
}

#[test]
fn a_traffic_key_is_derived_from_node_epoch_and_suite() {
    for (suite, number) in [(Suite::AsconAead128, 1), (Suite::Aes128Ccm, 2)] {
        let key = NodeMaster::from(master()).traffic_key(0x0403_0201, 0x55, suite);
        let expected: [u8; 32] =
            witness(&MASTER, &[b"selvedge node v1".as_slice(), &[1, 2, 3, 4, 0x55, number]].concat());
        assert_eq!(key.key().expose(), &expected[..16]);
        assert_eq!(key.iv().expose(), &expected[16..]);
    }
}

#[test]
fn a_frame_is_sealed_under_the_derived_key_and_nonce() {
    for suite in [Suite::AsconAead128, Suite::Aes128Ccm] {
        let key = NodeMaster::from(master()).traffic_key(0x0403_0201, 0x55, suite);
        let mut nonce = *key.iv().expose();
        for (byte, mask) in nonce.iter_mut().zip([1, 2, 3, 4, 0x55, 0x0d, 0x0c, 0x0b, 0x8a]) {
            *byte ^= mask;
        }
        let mut expected = b"samples".to_vec();
        Aead::new(suite, key.key().expose()).seal_tail(
            &nonce[..suite.row().nonce_bytes],
            b"header",
            &mut expected,
            0,
        );
        let mut buffer = *b"samples";
        let tag = key.seal(0x8a0b_0c0d, b"header", &mut buffer);
        assert_eq!([&buffer, tag.as_ref()].concat(), expected);
        assert_eq!(key.open(0x8a0b_0c0d, b"header", &mut buffer, tag.as_ref()), Ok(()));
        assert_eq!(&buffer, b"samples");
        let tag = key.seal(0x8a0b_0c0d, b"header", &mut buffer);
        assert!(key.open(0x0a0b_0c0d, b"header", &mut buffer, tag.as_ref()).is_err(), "the other direction");
    }
}

#[test]
fn cell_and_store_keys_are_derived_under_their_own_labels() {
    let cell = CellMaster::from(master());
    let info = |label: &str, rest: &[u8]| [label.as_bytes(), rest].concat();
    assert_eq!(cell.cell_key(0x0201).key().expose(), &witness(&MASTER, &info("selvedge beacon v1", &[1, 2])));
    assert_eq!(cell.batch_key(0x0201).expose(), &witness(&MASTER, &info("selvedge batch v1", &[1, 2])));
    assert_eq!(cell.receipt_key(0x0201).expose(), &witness(&MASTER, &info("selvedge receipt v1", &[1, 2])));
    let segment = *b"an identity of thirty-two bytes.";
    assert_eq!(
        StoreMaster::from(master()).segment_key(&segment).expose(),
        &witness(&MASTER, &info("selvedge segment v1", &segment))
    );
}

#[test]
fn a_beacon_is_authenticated_under_cell_and_superframe() {
    let key = CellMaster::from(master()).cell_key(0x0201);
    let tag = key.beacon_tag(0x0605_0403, b"beacon");
    let nonce = [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let expected = Aead::new(Suite::AsconAead128, key.key().expose()).seal(&nonce, b"beacon", &mut []);
    assert_eq!(tag, expected);
    assert_eq!(key.check_beacon(0x0605_0403, b"beacon", tag.as_ref()), Ok(()));
    assert!(key.check_beacon(0x0605_0404, b"beacon", tag.as_ref()).is_err());
    assert!(key.check_beacon(0x0605_0403, b"bacon!", tag.as_ref()).is_err());
    assert!(key.check_beacon(0x0605_0403, b"beacon", &tag.as_ref()[..15]).is_err());
}

#[test]
fn a_key_file_is_64_digits_and_a_newline() {
    let text = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    let key = Key::from_key_file(text.as_bytes()).unwrap();
    assert_eq!(key.expose()[..3], [0, 1, 2]);
    assert_eq!(key.to_key_file().as_slice(), text.as_bytes());
    assert_eq!(Key::from_key_file(text.trim().as_bytes()).unwrap(), key);
    assert_eq!(Key::from_key_file(text.to_uppercase().as_bytes()).unwrap(), key);
    for (contents, error) in [
        (text[1..].to_owned(), Error::KeyFileLength { found_bytes: 64 }),
        (format!("{text}\n"), Error::KeyFileLength { found_bytes: 66 }),
        (String::new(), Error::KeyFileLength { found_bytes: 0 }),
        (text.replace("1f\n", "1g\n"), Error::KeyFileDigits),
        (text.replace("1f\n", "\n1f"), Error::KeyFileLength { found_bytes: 65 }),
    ] {
        assert_eq!(Key::from_key_file(contents.as_bytes()), Err(error), "{contents:?}");
    }
    expect_test::expect![[r#"
        key file of 0 bytes, expected 64 hex digits and a newline
        help: `selvedge run` makes new keys when the folder has none"#]]
    .assert_eq(&Error::KeyFileLength { found_bytes: 0 }.to_string());
    expect_test::expect!["key file holds something else than hex digits, expected 64 of them and a newline"]
        .assert_eq(&Error::KeyFileDigits.to_string());
}

proptest! {
    #[test]
    fn reading_a_key_file_never_panics(contents in proptest::collection::vec(any::<u8>(), 0..130)) {
        let _ = Key::from_key_file(&contents);
    }

    #[test]
    fn a_key_file_reads_back(bytes in any::<[u8; 32]>()) {
        let key = Key::copied_from(&bytes);
        prop_assert_eq!(Key::from_key_file(&key.to_key_file()), Ok(key));
    }
}

#[test]
fn a_wiped_key_is_zeros_and_equals_no_other() {
    let mut key = master();
    let copy = key.clone();
    assert_eq!(key, copy);
    zeroize::Zeroize::zeroize(&mut key);
    assert_eq!(key.expose(), &[0; 32]);
    assert_ne!(key, copy);
    assert_eq!(copy.expose(), &MASTER);
}

#[test]
fn debug_output_holds_no_secret() {
    let master = NodeMaster::from(master());
    let traffic = master.traffic_key(7, 1, Suite::AsconAead128);
    let cell = CellMaster::from(Key::copied_from(&MASTER)).cell_key(7);
    let aead = Aead::new(Suite::Aes256Gcm, &MASTER);
    expect_test::expect![
        "NodeMaster(Key<32>(..)) TrafficKey(node 7, epoch 1, ascon-aead128, ..) CellKey(cell 7, ..) \
         Aead(aes-256-gcm, ..)"
    ]
    .assert_eq(&format!("{master:?} {traffic:?} {cell:?} {aead:?}"));
}

/// Counts up, so that a test can tell one prefix from the next; fails when it is told to.
#[derive(Debug)]
struct Counting {
    next: u8,
    fails: bool,
}

impl Randomness for Counting {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        if self.fails {
            return Err(io::Error::other("dry"));
        }
        bytes.fill(self.next);
        self.next += 1;
        Ok(())
    }
}

#[test]
fn nonces_count_up_behind_a_random_prefix() {
    let mut source = NonceSource::new(Counting { next: 9, fails: false }).unwrap();
    assert_eq!(source.draw().unwrap(), [9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0]);
    assert_eq!(source.draw().unwrap(), [9, 9, 9, 9, 9, 9, 9, 9, 1, 0, 0, 0]);
    for _ in 2..256 {
        source.draw().unwrap();
    }
    assert_eq!(source.draw().unwrap(), [9, 9, 9, 9, 9, 9, 9, 9, 0, 1, 0, 0]);
}

#[test]
fn no_randomness_means_no_nonce_and_no_key() {
    assert_eq!(NonceSource::new(Counting { next: 0, fails: true }).unwrap_err().to_string(), "dry");
    assert_eq!(Key::<32>::random(&mut Counting { next: 0, fails: true }).unwrap_err().to_string(), "dry");
}

#[test]
fn the_operating_system_gives_each_source_its_own_prefix() {
    let first = NonceSource::new(OsRandomness).unwrap().draw().unwrap();
    let second = NonceSource::new(OsRandomness).unwrap().draw().unwrap();
    assert_ne!(first, second);
    assert_ne!(Key::<32>::random(&mut OsRandomness).unwrap(), Key::random(&mut OsRandomness).unwrap());
}

#[test]
fn node_nonces_of_different_frames_differ() {
    let iv = [0x5a; 16];
    let all = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0), (0, 0, 1 << 31), (1 << 31, 0, 0), (256, 0, 256)];
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            // The first 13 bytes: all that CCM sees.
            let nonce = |x: &(u32, u8, u32)| nonces::node_nonce(&iv, x.0, x.1, x.2)[..13].to_vec();
            assert_ne!(nonce(a), nonce(b), "{a:?} and {b:?}");
        }
    }
}
