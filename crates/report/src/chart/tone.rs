//! [`Tone`]: what tells one series or activity from another, in colour and without it.
//!
//! Colours are CSS variables, so one drawing follows the reader's light or dark setting and prints on white.
//! Every tone also has a pattern for areas, a dash for lines and a shape for points of its own.

/// One of eight ways to mark a series or an activity. Invariant: no two share a pattern, or a dash and weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// The page's one accent: what the reader should look at.
    Accent,
    /// Another thing of equal rank.
    Second,
    /// Another thing of equal rank.
    Third,
    /// Another thing of equal rank.
    Fourth,
    /// Another thing of equal rank.
    Fifth,
    /// Context: a printed value beside ours, the gateway's own business.
    Neutral,
    /// Nothing happens: asleep, idle. A timeline draws it as a thin base line.
    Quiet,
    /// Something is wrong: contention, a missed deadline.
    Alert,
}

impl Tone {
    /// All tones, in the order of the style sheet.
    pub const ALL: [Tone; 8] = [
        Tone::Accent,
        Tone::Second,
        Tone::Third,
        Tone::Fourth,
        Tone::Fifth,
        Tone::Neutral,
        Tone::Quiet,
        Tone::Alert,
    ];

    /// The tone of the `index`th of several series of equal rank; after six it starts again.
    pub fn nth(index: usize) -> Tone {
        Tone::ALL[index % 6]
    }

    /// The CSS variable and the ending of the classes `fill-…` and `stroke-…`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tone::Accent => "accent",
            Tone::Second => "second",
            Tone::Third => "third",
            Tone::Fourth => "fourth",
            Tone::Fifth => "fifth",
            Tone::Neutral => "neutral",
            Tone::Quiet => "quiet",
            Tone::Alert => "alert",
        }
    }

    /// The strokes of the area pattern in a square tile of [`Tone::TILE_PX`], turned by some degrees; none if the
    /// area is plain (the accent and the two greys, which differ in lightness).
    pub(crate) fn pattern(self) -> Option<(&'static str, i32)> {
        match self {
            Tone::Accent | Tone::Neutral | Tone::Quiet => None,
            Tone::Second => Some(("M3 0V6", 45)),
            Tone::Third => Some(("M1.5 1.5h0M4.5 4.5h0", 0)),
            Tone::Fourth => Some(("M3 0V6", 90)),
            Tone::Fifth => Some(("M3 0V6M0 3H6", 45)),
            Tone::Alert => Some(("M3 0V6", -45)),
        }
    }

    /// The side of the pattern's tile, in px.
    pub(crate) const TILE_PX: u32 = 6;

    /// The outline of a point of the series, centred on 0,0 and about 8 px across.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Tone::Accent => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            Tone::Second => "M-3.5-3.5h7v7h-7z",
            Tone::Third => "M0-4.5L4.4 3.4H-4.4z",
            Tone::Fourth => "M0-5L5 0L0 5L-5 0z",
            Tone::Fifth => "M0 4.5L-4.4-3.4H4.4z",
            Tone::Neutral => "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
            Tone::Quiet => "M-4-1.5h8v3h-8z",
            Tone::Alert => "M-1.5-4.5h3v9h-3z",
        }
    }
}
