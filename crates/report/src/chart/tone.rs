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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::STYLE;

    /// The value of a variable in each of the style sheet's settings: light, dark, print.
    fn settings(name: &str) -> Vec<String> {
        let definition = format!("--{name}:");
        let definitions = STYLE.split(&definition).skip(1);
        definitions.map(|rest| rest.split(';').next().unwrap().trim().to_owned()).collect()
    }

    /// Relative luminance of `#rrggbb` (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let share =
                f64::from(u8::from_str_radix(&color[at..at + 2], 16).expect("two hex digits")) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn text_and_marks_have_the_contrast_that_wcag_asks_for() {
        let papers = settings("paper");
        assert_eq!(papers.len(), 3, "light, dark, print");
        for (setting, paper) in papers.iter().enumerate() {
            for name in ["ink", "muted", "accent"] {
                let found = contrast(&settings(name)[setting], paper);
                assert!(
                    found >= 4.5,
                    "text in `{name}`, setting {setting}: {found:.2}, expected 4.5 (1.4.3)"
                );
            }
            // Quiet is meant to recede, and is told by its place at the foot of the lane.
            for tone in Tone::ALL.into_iter().filter(|tone| *tone != Tone::Quiet) {
                let found = contrast(&settings(tone.name())[setting], paper);
                assert!(
                    found >= 3.0,
                    "`{}`, setting {setting}: {found:.2}, expected 3 (1.4.11)",
                    tone.name()
                );
            }
        }
    }

    #[test]
    fn no_two_tones_look_alike_without_colour() {
        let look = |tone: Tone| (tone.pattern(), tone.shape());
        for (index, tone) in Tone::ALL.into_iter().enumerate() {
            for other in &Tone::ALL[..index] {
                assert_ne!(look(tone), look(*other));
                assert_ne!(tone.shape(), other.shape());
                assert!(tone.pattern().is_none() || tone.pattern() != other.pattern());
            }
            let class = format!(".fill-{} ", tone.name());
            assert!(STYLE.contains(&class) && STYLE.contains(&format!(".stroke-{} ", tone.name())));
        }
    }
}
