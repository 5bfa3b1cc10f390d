//! The limits of what simulators of 32-bit processors take from a file or a program.
//!
//! Owns: how much an image may be loaded into and how much a program's files may hold, each far above what any program
//! of ours needs, so that a wrong number ends with words and not with the machine's memory. What the architecture
//! limits, as SPARC's number of windows, stands where it is used.

/// The most that an image's segments take together, in bytes.
pub const IMAGE_BYTES_MAX: u64 = 1 << 28;
/// The most instructions of an image, in bytes.
pub const CODE_BYTES_MAX: u64 = 1 << 26;
/// The most that the names of an image's symbols take together, in bytes.
pub const NAMES_BYTES_MAX: usize = 1 << 26;
/// The most that a program's arguments may take of its stack, in bytes.
pub const ARGUMENT_BYTES_MAX: u64 = 128 << 10;
/// The longest name of a file, with its end, in bytes.
pub const NAME_BYTES_MAX: u32 = 4096;
/// The most files that a program has open at once.
pub const OPEN_MAX: usize = 64;
/// The most bytes in a file.
pub const FILE_BYTES_MAX: usize = 1 << 28;
/// The most files that have names.
pub const FILES_MAX: usize = 1024;
/// The most bytes in all files together, what was written to standard output and error output included.
pub const FILES_BYTES_MAX: usize = 1 << 29;
