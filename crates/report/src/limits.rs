//! Every number that this crate refuses over, or draws by. Tests assert them against each other.

/// The longest NDJSON line that is read, in bytes. A row is some hundred bytes; a longer line is not a row.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The longest printed literal of a paper that is taken for a number, in bytes.
pub const PRINTED_BYTES_MAX: usize = 40;

/// Significant digits of a number whose column does not say how many decimals it wants.
pub const SIGNIFICANT_DIGITS: i32 = 4;

/// The relative tolerance of a printed cell that names none.
pub const TOLERANCE_DEFAULT: f64 = 0.10;
