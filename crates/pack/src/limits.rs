//! The limits of what this tool takes.
//!
//! Owns: how much an ELF file or a container may ask for, how large a program may be and how much is tried for a block,
//! each far above what any firmware of ours needs, so that a wrong number ends with words and not with the machine's
//! memory. What a format limits stands where it is drawn.

/// The most that is loaded into memory, in bytes, padding and tables included.
pub const IMAGE_BYTES_MAX: u64 = 1 << 28;
/// The most sections, tables of our own included.
pub const SECTIONS_MAX: usize = 4096;
/// The longest name of a section, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// The most pieces of memory that are zero at the start.
pub const ZEROS_MAX: usize = 4096;
/// The most memory that is zero at the start, in bytes: who runs an image makes it.
pub const ZEROS_BYTES_MAX: u64 = 1 << 28;
/// The most pieces of packed text: what lies between constants in code.
pub const PACKED_TEXT_MAX: usize = u16::MAX as usize;
/// How many faults of an image are kept; more are counted.
pub const FAULTS_KEPT: usize = 16;
/// The most instructions that an address map places.
pub const MAP_ENTRIES_MAX: usize = 1 << 26;

const _: () = {
    // Counts of sections, zeros and packed text are 16 bits of a container, a name's length is 8.
    assert!(SECTIONS_MAX <= u16::MAX as usize && ZEROS_MAX <= u16::MAX as usize);
    assert!(PACKED_TEXT_MAX <= u16::MAX as usize);
    assert!(NAME_BYTES_MAX <= u8::MAX as usize);
    // An instruction has one place: four bytes of it in the largest image.
    assert!(MAP_ENTRIES_MAX as u64 * 4 <= IMAGE_BYTES_MAX);
    // A container's length is 32 bits.
    assert!(IMAGE_BYTES_MAX + (MAP_ENTRIES_MAX + PACKED_TEXT_MAX) as u64 * 8 < 1 << 32);
};

/// The most that a program's sections take together, in bytes.
pub const PROGRAM_BYTES_MAX: u64 = 1 << 28;
/// The most instructions of a program, in bytes.
pub const CODE_BYTES_MAX: u64 = 1 << 26;
/// The most bytes in the names of a program's functions.
pub const NAMES_BYTES_MAX: usize = 1 << 26;
/// The most instructions that are scheduled together: a bit for each.
pub const WINDOW_ITEMS_MAX: usize = 64;
/// The most partial orders of a window that are followed at once.
pub const STATES_MAX: usize = 24;
/// The most sets of instructions that are tried as the next packet of a partial order. No program of the corpus needs
/// 1,500; where all of a window depend on nothing there are 679,120.
pub const PACKET_TRIES_MAX: usize = 4096;
/// The sizes of the dictionaries that are made one after the other, each of what the last one's packets were worth, in
/// percent of the size that was asked for.
pub const DICTIONARY_PERCENTS: [usize; 10] = [200, 180, 160, 140, 130, 120, 110, 105, 100, 100];
/// How often entries of a dictionary are exchanged for others.
pub const EXCHANGE_ROUNDS: usize = 1;

const _: () = assert!(WINDOW_ITEMS_MAX <= u64::BITS as usize);
const _: () = assert!(CODE_BYTES_MAX <= PROGRAM_BYTES_MAX);
