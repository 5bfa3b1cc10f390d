//! Seals, keys and tags one by one: against official vectors, and what they promise.

mod made;

use cipher::vectors::{AES_128_CTR, AES_KW, blocks, official};
use made::{Seeded, device, seals};
use pack::SealError;
use pack::integrity::{Authenticator, Groups, ImageName, Integrity};
use pack::keys::{DeviceKey, ImageKey};
use pack::lines::Extent;
use pack::seal::mcuboot::McubootXip;
use pack::seal::{LINE_BYTES, Layout, LineCipher, Row, SEALS, START_BYTES, Seal};
use proptest::prelude::*;

/// The vectors of a kind in the official collection.
fn vectors(kind: &str) -> Vec<cipher::vectors::Block<'static>> {
    let mut is_wanted = false;
    let mut found = Vec::new();
    for block in blocks(official()) {
        if let Some(begun) = block.text("Kind") {
            is_wanted = begun == kind;
        } else if is_wanted && block.text("Left").is_none() {
            found.push(block);
        }
    }
    assert!(!found.is_empty(), "there are vectors for {kind}");
    found
}

#[test]
fn ecb_holds_the_official_vectors() {
    let mut checked = 0;
    for vector in vectors("ecb").iter().filter(|vector| vector.bytes("Key").len() == 16) {
        let cipher = LineCipher::new(Seal::Ecb, &vector.bytes("Key"));
        let (plain, expected) = (vector.bytes("PT"), vector.bytes("CT"));
        let mut bytes = plain.clone();
        cipher.seal_all(0x1230, &mut bytes);
        assert_eq!(bytes, expected);
        cipher.open_all(0x4560, &mut bytes);
        assert_eq!(bytes, plain);
        checked += 1;
    }
    assert!(checked > 280, "{checked} vectors");
}

/// A counter block of SP 800-38A's begins with an address of a line, read with its lowest byte first.
#[test]
fn ctr_holds_the_vectors_whose_counters_a_layout_can_make() {
    let vector = &blocks(AES_128_CTR)[0];
    let (key, plain, sealed) = (vector.bytes("Key"), vector.bytes("PT"), vector.bytes("CT"));
    let first = u128::from_be_bytes(vector.bytes("IV").try_into().unwrap());
    for (number, (plain, sealed)) in plain.chunks(16).zip(sealed.chunks(16)).enumerate() {
        let counter = (first + number as u128).to_be_bytes();
        let address = u32::from_le_bytes(counter[..4].try_into().unwrap());
        let xip = McubootXip { nonce: counter[4..].try_into().unwrap() };
        let cipher = LineCipher::new(Seal::Ctr(Layout::McubootXip(xip)), &key);
        let mut line = plain.try_into().unwrap();
        cipher.seal(address, &mut line);
        assert_eq!(line, sealed);
    }
}

#[test]
fn keys_are_wrapped_as_rfc_3394_has_it() {
    let (mut checked, mut skipped) = (0, 0);
    for vector in blocks(AES_KW) {
        let (wrapping, key, wrapped) = (vector.bytes("Key"), vector.bytes("PT"), vector.bytes("CT"));
        let row = SEALS.iter().find(|row| row.key_bytes == key.len());
        let (Ok(device), Some(row)) = (DeviceKey::from_bytes(&wrapping), row) else {
            skipped += 1;
            continue;
        };
        let key = ImageKey::from_bytes(row, &key).unwrap();
        assert_eq!(device.wrap_key(&key), wrapped);
        assert_eq!(device.unwrap_key(&wrapped, row), Ok(key));
        checked += 1;
    }
    // Keys of 24 bytes, on either side, are none of ours.
    assert_eq!((checked, skipped), (3, 3));
}

/// What a tag begins with is the first block of the message.
#[test]
fn tags_are_cmac_as_the_official_vectors_have_it() {
    let (mut checked, mut skipped) = (0, 0);
    for vector in vectors("cmac") {
        let (key, message, expected) = (vector.bytes("Key"), vector.bytes("Msg"), vector.bytes("Tag"));
        let (Ok(key), Some((head, rest))) = (key.as_slice().try_into(), message.split_at_checked(16)) else {
            // Keys of other lengths, and messages without a whole block.
            skipped += 1;
            continue;
        };
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let image = ImageName { version: word(4), id: head[8..].try_into().unwrap() };
        // A wrong tag may be right in its first half.
        let cuts = if vector.fails() { [16].as_slice() } else { &[8, 16] };
        for &tag_bytes in cuts.iter().filter(|&&bytes| usize::from(bytes) <= expected.len()) {
            let integrity = Integrity::new(1, tag_bytes).unwrap();
            let authenticator = Authenticator::new(&cipher::Key::copied_from(key), image, integrity);
            let expected = &expected[..tag_bytes.into()];
            assert_eq!(authenticator.tag(word(0), rest) == expected, !vector.fails());
            assert_eq!(authenticator.is_tag(word(0), rest, expected), !vector.fails());
            checked += 1;
        }
    }
    assert_eq!((checked, skipped), (43, 283));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_lines_are_sealed_as_each_of_them(seed: u64, first in 0u32..(u32::MAX >> 4) - 100, count in 0usize..100) {
        let mut randomness = Seeded::from(seed);
        let first = first << 4;
        for (seal, key) in seals(&mut randomness) {
            let cipher = LineCipher::new(seal, key.expose());
            let plain = randomness.bytes(count * LINE_BYTES);
            let mut sealed = plain.clone();
            cipher.seal_all(first, &mut sealed);
            for (number, (plain, sealed)) in plain.chunks(16).zip(sealed.chunks(16)).enumerate() {
                let address = first + 16 * number as u32;
                let (plain, sealed): ([u8; 16], [u8; 16]) = (plain.try_into().unwrap(), sealed.try_into().unwrap());
                let mut line = plain;
                cipher.seal(address, &mut line);
                prop_assert_eq!(line, sealed, "{}", seal);
                cipher.open(address, &mut line);
                prop_assert_eq!(line, plain, "{}", seal);
                let stream = cipher.keystream(address);
                prop_assert_eq!(stream.is_some(), matches!(seal, Seal::Ctr(_)));
                if let Some(stream) = stream {
                    let added = u128::from_ne_bytes(plain) ^ u128::from_ne_bytes(stream);
                    prop_assert_eq!(added.to_ne_bytes(), sealed, "{}", seal);
                }
            }
            cipher.open_all(first, &mut sealed);
            prop_assert_eq!(sealed, plain, "{}", seal);
        }
    }

    #[test]
    fn a_group_is_found_by_each_of_its_addresses(
        gaps in proptest::collection::vec((0u32..30, 1u32..40), 1..6), lines in prop::sample::select(vec![1u8, 4, 8])
    ) {
        let mut extents = Vec::new();
        let mut next = 0x1000;
        for (gap, length) in gaps {
            let first = next + 16 * (gap + 1);
            next = first + 16 * length;
            extents.push(Extent { first, end: next.into(), is_sealed: true });
        }
        let groups = Groups::new(Integrity::new(lines, 8).unwrap(), &extents);
        let mut covered = 0;
        for index in 0..groups.count() {
            let (first, bytes) = groups.place(index);
            prop_assert!(bytes > 0 && bytes <= 16 * u32::from(lines));
            prop_assert_eq!(first / (16 * u32::from(lines)), (first + bytes - 1) / (16 * u32::from(lines)));
            for address in first..first + bytes {
                prop_assert_eq!(groups.of_address(address), Some(index));
            }
            covered += u64::from(bytes);
        }
        prop_assert_eq!(covered, extents.iter().map(Extent::bytes).sum::<u64>());
        let sealed = |address: &u32| extents.iter().any(|e| *address >= e.first && u64::from(*address) < e.end);
        for address in (0x1000..next + 0x100).filter(|address| !sealed(address)) {
            prop_assert_eq!(groups.of_address(address), None);
        }
    }
}

#[test]
fn equal_lines_stay_equal_under_ecb_alone() {
    for (seal, key) in seals(&mut Seeded::new()) {
        let mut bytes = [7; 2 * LINE_BYTES];
        LineCipher::new(seal, key.expose()).seal_all(0x8000_0000, &mut bytes);
        assert_eq!(bytes[..16] == bytes[16..], seal == Seal::Ecb, "{seal}");
        assert_eq!(seal.row().is_legacy, seal == Seal::Ecb, "{seal}");
    }
}

#[test]
fn seals_are_found_by_their_names_and_legacy_ones_only_when_allowed() {
    for row in &SEALS {
        assert_eq!(Row::named(row.seal, row.layout, true), Ok(row));
        let refused = Err(SealError::Legacy { seal: row.seal });
        let expected = if row.is_legacy { refused } else { Ok(row) };
        assert_eq!(Row::named(row.seal, row.layout, false), expected);
    }
    let words = |seal, layout| Row::named(seal, layout, true).unwrap_err().to_string();
    assert_eq!(words("rot13", None), "unknown seal `rot13`, expected `ecb` or `xts` or `ctr`");
    let layouts = "`otfdec` or `otfad` or `otfad-swapped` or `mcuboot-xip`";
    assert_eq!(words("ctr", None), format!("seal `ctr` needs a layout, expected {layouts}"));
    assert_eq!(words("ctr", Some("bee")), format!("seal `ctr` has no layout `bee`, expected {layouts}"));
    assert_eq!(words("xts", Some("otfad")), "seal `xts` has no layout `otfad`, expected none");
}

#[test]
fn a_start_has_one_form_and_fresh_ones_differ() {
    let mut randomness = Seeded::new();
    for ((seal, _), (other, _)) in seals(&mut randomness).into_iter().zip(seals(&mut randomness)) {
        let (row, start) = (seal.row(), seal.start());
        assert_eq!(Seal::from_start(row.number, &start), Some(seal));
        assert_eq!(seal != other, row.nonce_bytes > 0, "{seal}");
        for at in row.start_bytes..START_BYTES {
            let mut longer = start;
            longer[at] = 1;
            assert_eq!(Seal::from_start(row.number, &longer), None, "{seal}");
        }
    }
    let mut start = [0; START_BYTES];
    for region in [4, 255] {
        start[10] = region;
        assert_eq!(Seal::from_start(2, &start), None);
    }
    assert_eq!(Seal::from_start(SEALS.len() as u8, &[0; START_BYTES]), None);
}

#[test]
fn a_key_unwraps_under_its_device_key_alone() {
    for (seal, key) in seals(&mut Seeded::new()) {
        let row = seal.row();
        for byte in [2, 3] {
            let wrapped = device(byte).wrap_key(&key);
            assert_eq!(device(byte).unwrap_key(&wrapped, row), Ok(key.clone()));
            for other in [4, 5] {
                assert_eq!(device(other).unwrap_key(&wrapped, row), Err(SealError::OtherDeviceKey));
            }
            for bit in 0..wrapped.len() * 8 {
                let mut changed = wrapped.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(device(byte).unwrap_key(&changed, row), Err(SealError::OtherDeviceKey));
            }
            for length in 0..wrapped.len() {
                assert_eq!(device(byte).unwrap_key(&wrapped[..length], row), Err(SealError::OtherDeviceKey));
            }
        }
    }
}

#[test]
fn keys_of_other_lengths_and_halves_that_are_equal_are_refused() {
    for length in (0..40).filter(|length| ![16, 32].contains(length)) {
        let refused = Err(SealError::DeviceKey { found_bytes: length });
        assert_eq!(DeviceKey::from_bytes(&vec![1; length]), refused);
    }
    for row in &SEALS {
        for length in (0..40).filter(|&length| length != row.key_bytes) {
            let refused = SealError::ImageKey { found_bytes: length, expected_bytes: row.key_bytes };
            assert_eq!(ImageKey::from_bytes(row, &vec![1; length]), Err(refused));
        }
    }
    let xts = Row::named("xts", None, false).unwrap();
    assert_eq!(ImageKey::from_bytes(xts, &[1; 32]), Err(SealError::EqualHalves));
}

#[test]
fn what_holds_a_key_does_not_show_it() {
    for (seal, key) in seals(&mut Seeded::new()) {
        let hex: String = key.expose().iter().map(|byte| format!("{byte:02x}")).collect();
        let decimal = format!("{:?}", key.expose());
        for shown in [
            format!("{key:?} {:?}", LineCipher::new(seal, key.expose())),
            format!("{:?} {:?}", key.tag_key(), device(7)),
        ] {
            assert!(shown.contains(".."), "{shown}");
            assert!(!shown.contains(&hex[..8]) && !shown.contains(&decimal[1..10]), "{shown}");
        }
    }
}

#[test]
fn tags_of_other_lengths_or_over_other_lines_are_refused() {
    for (lines, tag_bytes) in [(0, 8), (2, 16), (16, 8), (1, 0), (4, 4), (8, 12), (8, 32)] {
        assert_eq!(Integrity::new(lines, tag_bytes), Err(SealError::Integrity { lines, tag_bytes }));
    }
}
