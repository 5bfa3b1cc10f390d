//! Every number that this crate refuses over, or draws by. Tests assert them against each other.

/// The longest NDJSON line that is read, in bytes. A row is some hundred bytes; a longer line is not a row.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The longest printed literal of a paper that is taken for a number, in bytes.
pub const PRINTED_BYTES_MAX: usize = 40;

/// Significant digits of a number whose column does not say how many decimals it wants.
pub const SIGNIFICANT_DIGITS: i32 = 4;

/// The relative tolerance of a printed cell that names none.
pub const TOLERANCE_DEFAULT: f64 = 0.10;

/// The largest magnitude that a chart draws. Beyond it, a span overflows; such a value is counted as not drawn.
pub const DRAWN_MAGNITUDE_MAX: f64 = 1e100;

/// The least width of a chart, in px: below it labels and marks have no room side by side.
pub const CHART_WIDTH_PX_MIN: u32 = 280;

/// The greatest width of a chart, in px.
pub const CHART_WIDTH_PX_MAX: u32 = 4000;

/// The widths at which a page draws each chart, in px; the style sheet shows the one that fits the reader.
pub const PAGE_WIDTHS_PX: [u32; 3] = [1000, 680, 350];

/// An interval narrower than this is merged with its neighbours in the same pixel column, in px.
pub const INTERVAL_PX_MIN: f64 = 1.0;

/// The lightest shade of a merged interval, so that a rare event does not vanish. The chart says so.
pub const SHADE_MIN: f64 = 0.25;

/// The most sections of a page that its table of contents lists.
pub const CONTENTS_MAX: usize = 40;

const _: () = {
    let mut index = 0;
    while index < PAGE_WIDTHS_PX.len() {
        assert!(PAGE_WIDTHS_PX[index] >= CHART_WIDTH_PX_MIN && PAGE_WIDTHS_PX[index] <= CHART_WIDTH_PX_MAX);
        index += 1;
    }
};
