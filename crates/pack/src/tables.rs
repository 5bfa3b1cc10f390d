//! Where the dictionary and the table of tags lie in an image's memory.
//!
//! Owns: giving each its place, at the beginning of a granule of the seal: where the settings say, or else in the first
//! room behind code or constants, and never behind memory that a program writes, since it may grow from there. What
//! stands in them is `code`'s and `integrity`'s.

use crate::error::SealError;
use crate::image::{Kind, Zeros};
use crate::lines::{Entry, Role};
use crate::seal::Row;

/// The name of the dictionary's section.
const DICTIONARY_NAME: &str = ".dictionary";
/// The name of the section of tags.
const TAGS_NAME: &str = ".tags";

/// Gives the dictionary its place, unless it is empty. Returns where the next table goes, when the first was given.
///
/// # Errors
/// [`SealError::TablesPlace`], [`SealError::TablesFirst`].
pub fn add_dictionary(
    entries: &mut Vec<Entry>,
    zeros: &[Zeros],
    bytes: u64,
    first: Option<u64>,
    row: &Row,
) -> Result<Option<u64>, SealError> {
    if bytes == 0 {
        return Ok(first);
    }
    let end = add(entries, zeros, Role::Dictionary, bytes, first, row)?;
    Ok(first.map(|_| end))
}

/// Gives the table of tags its place.
///
/// # Errors
/// [`SealError::TablesPlace`], [`SealError::TablesFirst`].
pub fn add_tags(
    entries: &mut Vec<Entry>,
    zeros: &[Zeros],
    bytes: u64,
    first: Option<u64>,
    row: &Row,
) -> Result<(), SealError> {
    add(entries, zeros, Role::Tags, bytes, first, row).map(|_| ())
}

/// Gives a table its place. Returns the first granule behind it.
fn add(
    entries: &mut Vec<Entry>,
    zeros: &[Zeros],
    role: Role,
    bytes: u64,
    first: Option<u64>,
    row: &Row,
) -> Result<u64, SealError> {
    let granule_bytes = u64::from(row.granule_bytes);
    let needed = bytes.next_multiple_of(granule_bytes);
    let place = match first {
        Some(first) => first,
        None => behind(entries, zeros, needed, granule_bytes)?,
    };
    let zeros =
        zeros.iter().map(|zeros| (u64::from(zeros.first), u64::from(zeros.first) + u64::from(zeros.bytes)));
    let loaded = entries.iter().map(|entry| (entry.first.into(), entry.end()));
    let granules = |(first, end): (u64, u64)| {
        (first / granule_bytes * granule_bytes, end.next_multiple_of(granule_bytes))
    };
    let is_taken =
        loaded.chain(zeros).map(granules).any(|(first, end)| place < end && first < place + needed);
    if is_taken || !place.is_multiple_of(granule_bytes) || place + needed > 1 << 32 {
        return Err(SealError::TablesPlace { first: place, bytes, granule_bytes: row.granule_bytes });
    }
    let (name, is_sealed) = match role {
        Role::Tags => (TAGS_NAME, false),
        Role::Dictionary | Role::Program(_) => (DICTIONARY_NAME, true),
    };
    let entry = Entry { name: name.into(), role, first: place as u32, bytes: bytes as u32, is_sealed };
    entries.insert(entries.partition_point(|other| other.first < entry.first), entry);
    Ok(place + needed)
}

/// The first granule behind code or constants that has room before whatever lies next, and that no program grows into.
fn behind(entries: &[Entry], zeros: &[Zeros], needed: u64, granule_bytes: u64) -> Result<u64, SealError> {
    let Some(last) = entries.iter().max_by_key(|entry| entry.end()) else { return Ok(0) };
    let granule_of = |first: u32| u64::from(first) / granule_bytes * granule_bytes;
    let taken = |end: u64| {
        let loaded = entries.iter().map(|entry| (entry.first, entry.end()));
        let zeros = zeros.iter().map(|zeros| (zeros.first, u64::from(zeros.first) + u64::from(zeros.bytes)));
        let ahead = loaded.chain(zeros).filter(move |&(_, other_end)| other_end > end);
        ahead.map(|(first, _)| granule_of(first)).min()
    };
    let fixed = entries.iter().filter(|entry| entry.role != Role::Program(Kind::Data));
    let places = fixed.filter_map(|entry| {
        let place = entry.end().next_multiple_of(granule_bytes);
        let room = taken(entry.end()).is_none_or(|next| place + needed <= next);
        room.then_some(place)
    });
    places.min().ok_or_else(|| SealError::TablesFirst {
        behind: match zeros.iter().find(|zeros| u64::from(zeros.first) >= last.end()) {
            _ if last.role == Role::Program(Kind::Data) => {
                format!("`{}`, which is data", last.name.escape_debug())
            }
            Some(zeros) => format!("zeros from {:#010x}", zeros.first),
            None => format!("zeros around {:#010x}", last.end()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::SEALS;

    fn loaded(kind: Kind, first: u32, bytes: u32) -> Entry {
        Entry { name: "a".into(), role: Role::Program(kind), first, bytes, is_sealed: true }
    }

    fn zeros(first: u32, bytes: u32) -> Zeros {
        Zeros { first, bytes }
    }

    #[test]
    fn tables_go_to_granules_behind_what_is_loaded() {
        for row in &SEALS {
            let granule = u64::from(row.granule_bytes);
            let mut entries = vec![loaded(Kind::Data, 0x100, 5), loaded(Kind::Code, 0x203, 0x10)];
            let place = 0x213_u64.next_multiple_of(granule);
            // Zeros below and far above are no reason against it.
            let zeros = [zeros(0x180, 4), zeros(0x2000_0000, 0x100)];
            assert_eq!(add_dictionary(&mut entries, &zeros, 9, None, row), Ok(None));
            assert_eq!(u64::from(entries[2].first), place);
            assert_eq!(add_tags(&mut entries, &zeros, 0x21, None, row), Ok(()));
            assert_eq!(u64::from(entries[3].first), place + granule);
        }
    }

    #[test]
    fn tables_go_to_the_first_room_behind_code_or_constants_that_is_long_enough() {
        let row = &SEALS[1];
        let loaded = [
            loaded(Kind::Code, 0x100, 0x88),
            loaded(Kind::Constants, 0x1a0, 4),
            loaded(Kind::Data, 0x1e0, 4),
        ];
        let place = |bytes, zeros: &[Zeros]| {
            let mut entries = loaded.to_vec();
            add_tags(&mut entries, zeros, bytes, None, row).unwrap();
            entries.iter().find(|entry| entry.role == Role::Tags).expect("it was added").first
        };
        assert_eq!([16, 17, 48].map(|bytes| place(bytes, &[zeros(0x1e4, 0x100)])), [0x190, 0x1b0, 0x1b0]);
        // Zeros in the first room.
        assert_eq!(place(1, &[zeros(0x198, 1)]), 0x1b0);
    }

    #[test]
    fn tables_go_nowhere_behind_what_a_program_writes_unless_that_is_said() {
        let row = &SEALS[1];
        let refused = |entries: &[Entry], zeros: &[Zeros]| {
            let error = add_tags(&mut entries.to_vec(), zeros, 16, None, row).unwrap_err();
            let SealError::TablesFirst { behind } = error else { panic!("{error}") };
            behind
        };
        // Rounded up to granules, nothing is left before the data.
        let (code, data) = (loaded(Kind::Code, 0x100, 0xe1), loaded(Kind::Data, 0x1fc, 5));
        assert_eq!(refused(&[code.clone(), data.clone()], &[]), "`a`, which is data");
        // Zeros that begin where code ends, that go on over the place, and that begin in the place.
        for (first, bytes) in [(0x1e1, 1), (0x80, 0x200), (0x1e1, 0x1000), (0x1ff, 1)] {
            let found = refused(std::slice::from_ref(&code), &[zeros(first, bytes)]);
            let place =
                if first < 0x1e1 { "around 0x000001e1".into() } else { format!("from {first:#010x}") };
            assert_eq!(found, format!("zeros {place}"));
        }
        let mut entries = vec![code.clone(), data];
        assert_eq!(add_tags(&mut entries, &[zeros(0x201, 0x100)], 16, Some(0x310), row), Ok(()));
        let mut entries = vec![code];
        assert_eq!(add_tags(&mut entries, &[zeros(0x200, 1)], 16, None, row), Ok(()));
    }

    #[test]
    fn a_place_that_is_taken_or_begins_no_granule_is_refused() {
        let last = (1 << 32) - 16;
        let zeros = [zeros(0x218, 0x100)];
        let places = [(1, 0x104, 1), (1, 0x0f0, 17), (1, 0x210, 1), (1, 0x310, 1), (1, last, 17)];
        for (number, place, bytes) in places.into_iter().chain([(2, 0x1010, 1), (2, 0, 1), (3, 0x600, 1)]) {
            let mut entries = vec![loaded(Kind::Code, 0x100, 5), loaded(Kind::Code, 0x203, 0x10)];
            let row = &SEALS[number];
            let granule_bytes = row.granule_bytes;
            let refused = Err(SealError::TablesPlace { first: place, bytes, granule_bytes });
            assert_eq!(add_tags(&mut entries, &zeros, bytes, Some(place), row), refused, "{place:#x}");
        }
        let mut entries = vec![loaded(Kind::Code, 0x100, 5)];
        assert_eq!(add_dictionary(&mut entries, &zeros, 16, Some(last), &SEALS[1]), Ok(Some(1 << 32)));
        let refused = SealError::TablesPlace { first: 1 << 32, bytes: 1, granule_bytes: 16 };
        assert_eq!(add_tags(&mut entries, &[], 1, Some(1 << 32), &SEALS[1]), Err(refused));
    }
}
