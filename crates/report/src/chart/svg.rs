//! Writes SVG: shapes with classes, text that is measured, wrapped and escaped, numbers that are finite.
//!
//! Colours and strokes are the style sheet's (`chart.css`); where things go is each chart's. Charting crates were
//! looked at first: those that write SVG fix the colours when they draw, so that one drawing cannot follow the
//! reader's light or dark setting (plotters 0.3, kuva 0.6), or draw lines and points only (poloto 19), or need a
//! JavaScript engine (charming 0.6); none of them merges what is below a pixel or keeps a waveform's peaks.
//!
//! Invariant: every text passes [`legal`] and maud's escaper, every number passes [`Svg::number`].

use super::tone::Tone;
use crate::number;
use maud::Escaper;
use std::fmt::Write;

/// Which end of a text its x coordinate is.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The text size of ordinary labels, in px; `.chart` in the style sheet.
pub(crate) const TEXT_PX: f64 = 12.0;
/// The text size of `.title`, in px.
pub(crate) const TITLE_PX: f64 = 14.0;
/// The text size of `.small` and `.within`, in px.
pub(crate) const SMALL_PX: f64 = 11.0;

/// How much wider a bold text is than [`text_width`] says.
pub(crate) const BOLD: f64 = 1.12;

/// The margin around a drawing that stands alone, in px; in a page the page has one.
const MARGIN_PX: u32 = 16;

/// x, y, width and height, in px.
pub(crate) type Area = (f64, f64, f64, f64);

/// A drawing under way. Coordinates are px from the top left.
pub(crate) struct Svg {
    body: String,
    /// Starts every id, so that several drawings can stand in one page.
    prefix: String,
    used: [bool; Tone::ALL.len()],
    pub(crate) width: f64,
}

impl Svg {
    pub(crate) fn new(width: f64, prefix: &str) -> Svg {
        let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(!prefix.is_empty() && prefix.chars().all(is_id), "an id prefix is plain, found `{prefix}`");
        Svg { body: String::new(), prefix: prefix.to_owned(), used: [false; Tone::ALL.len()], width }
    }

    pub(crate) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.open_rect(x, y, width, height);
        self.body += &format!(" class=\"{class}\"/>");
    }

    /// A rectangle whose corners have a radius.
    pub(crate) fn round_rect(&mut self, class: &str, (x, y, width, height): Area, radius: f64) {
        self.open_rect(x, y, width, height);
        self.attribute("rx", radius);
        self.body += &format!(" class=\"{class}\"/>");
    }

    /// An area in the tone's colour and pattern, with words for who points at it.
    pub(crate) fn area(&mut self, tone: Tone, (x, y, width, height): Area, words: &str) {
        self.open_rect(x, y, width, height);
        if tone.pattern().is_some() {
            self.used[tone as usize] = true;
            self.body += &format!(" fill=\"url(#{}-{})\"", self.prefix, tone.name());
        } else {
            self.body += &format!(" class=\"fill-{}\"", tone.name());
        }
        if words.is_empty() {
            self.body += "/>";
        } else {
            self.body += "><title>";
            self.escaped(words);
            self.body += "</title></rect>";
        }
    }

    /// Many areas of one tone and opacity in one element, without words. They are too small for a pattern to show,
    /// so they are plain.
    pub(crate) fn areas(&mut self, tone: Tone, opacity: f64, areas: &[Area]) {
        self.body += "<path d=\"";
        for &(x, y, width, height) in areas {
            self.body.push('M');
            self.pair((x, y));
            self.body.push('h');
            self.number(width);
            self.body.push('v');
            self.number(height);
            self.body.push('h');
            self.number(-width);
            self.body.push('z');
        }
        self.body += &format!("\" class=\"fill-{}\"", tone.name());
        self.attribute("opacity", opacity);
        self.body += "/>";
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.body += "<path d=\"M";
        self.pair(from);
        self.body.push('L');
        self.pair(to);
        self.body += &format!("\" class=\"{class}\"/>");
    }

    /// Polylines in one element: runs of points, each run apart from the others. A run of one point is a dot.
    pub(crate) fn polylines(&mut self, class: &str, runs: &[Vec<(f64, f64)>]) {
        if runs.iter().all(Vec::is_empty) {
            return;
        }
        self.body += "<path d=\"";
        for run in runs {
            for (index, &point) in run.iter().enumerate() {
                self.body.push(if index == 0 { 'M' } else { 'L' });
                self.pair(point);
            }
            if run.len() == 1 {
                self.body += "h0";
            }
        }
        self.body += &format!("\" class=\"{class}\"/>");
    }

    pub(crate) fn polygon(&mut self, class: &str, corners: &[(f64, f64)]) {
        self.body += "<path d=\"";
        for (index, &corner) in corners.iter().enumerate() {
            self.body.push(if index == 0 { 'M' } else { 'L' });
            self.pair(corner);
        }
        self.body += &format!("z\" class=\"{class}\"/>");
    }

    /// The tone's point shape, centred.
    pub(crate) fn point(&mut self, tone: Tone, center: (f64, f64), words: &str) {
        self.body += "<path transform=\"translate(";
        self.pair(center);
        self.body += &format!(")\" d=\"{}\" class=\"point fill-{}\"", tone.shape(), tone.name());
        if words.is_empty() {
            self.body += "/>";
        } else {
            self.body += "><title>";
            self.escaped(words);
            self.body += "</title></path>";
        }
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, words: &str) {
        self.body += "<text";
        self.attribute("x", at.0);
        self.attribute("y", at.1);
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body += " text-anchor=\"middle\"",
            Anchor::End => self.body += " text-anchor=\"end\"",
        }
        if !class.is_empty() {
            self.body += &format!(" class=\"{class}\"");
        }
        self.body.push('>');
        self.escaped(&number::signed(words));
        self.body += "</text>";
    }

    /// A text that may have been cut to fit: the whole of it shows when one points at it.
    pub(crate) fn cut_text(
        &mut self,
        class: &str,
        at: (f64, f64),
        anchor: Anchor,
        words: &str,
        width: f64,
        size: f64,
    ) {
        let shown = fit(words, width, size);
        self.text(class, at, anchor, &shown);
        if shown != words {
            let end = self.body.len() - "</text>".len();
            self.body.truncate(end);
            self.body += "<title>";
            self.escaped(words);
            self.body += "</title></text>";
        }
    }

    /// Draws what is as high as `draw` says, `y` px further down; returns the y below it.
    pub(crate) fn below(&mut self, y: f64, draw: impl FnOnce(&mut Svg) -> f64) -> f64 {
        self.body += "<g transform=\"translate(0 ";
        self.number(y);
        self.body += ")\">";
        let height = draw(self);
        self.body += "</g>";
        y + height
    }

    /// The whole drawing as an `svg` element. `style` is for a drawing that stands alone; in a page it is empty.
    pub(crate) fn finish(self, height: f64, title: &str, summary: &str, style: &str) -> String {
        let mut whole = String::with_capacity(self.body.len() + summary.len() + 2048);
        let margin = if style.is_empty() { 0 } else { 2 * MARGIN_PX };
        let (width, height) = (self.width.round() as u32 + margin, height.ceil() as u32 + margin);
        let prefix = &self.prefix;
        let _ = write!(
            whole,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{prefix}-title\" \
             aria-describedby=\"{prefix}-desc\">"
        );
        for (element, words) in [("title", title), ("desc", summary)] {
            let _ = write!(whole, "<{element} id=\"{prefix}-{element}\">");
            let _ = Escaper::new(&mut whole).write_str(&legal(words));
            let _ = write!(whole, "</{element}>");
        }
        if !style.is_empty() {
            let _ = write!(
                whole,
                "<style>{style}</style><rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        if self.used.contains(&true) {
            whole += "<defs>";
            for tone in Tone::ALL.into_iter().filter(|&tone| self.used[tone as usize]) {
                let (strokes, degrees) = tone.pattern().expect("only tones with a pattern are noted as used");
                let (side, name) = (Tone::TILE_PX, tone.name());
                let _ = write!(
                    whole,
                    "<pattern id=\"{}-{name}\" width=\"{side}\" height=\"{side}\" patternUnits=\"userSpaceOnUse\" \
                     patternTransform=\"rotate({degrees})\"><rect width=\"{side}\" height=\"{side}\" \
                     class=\"fill-{name}\"/><path d=\"{strokes}\" class=\"weft\"/></pattern>",
                    self.prefix
                );
            }
            whole += "</defs>";
        }
        if style.is_empty() {
            whole += &self.body;
        } else {
            let _ = write!(whole, "<g transform=\"translate({MARGIN_PX} {MARGIN_PX})\">{}</g>", self.body);
        }
        whole += "</svg>";
        whole
    }

    fn open_rect(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.body += "<rect";
        self.attribute("x", x);
        self.attribute("y", y);
        self.attribute("width", width.max(0.0));
        self.attribute("height", height.max(0.0));
    }

    fn attribute(&mut self, name: &str, value: f64) {
        self.body += &format!(" {name}=\"");
        self.number(value);
        self.body.push('"');
    }

    fn pair(&mut self, (x, y): (f64, f64)) {
        self.number(x);
        self.body.push(' ');
        self.number(y);
    }

    /// A coordinate to a tenth of a px (opacity: a hundredth), without a useless `.0`.
    ///
    /// Invariant: it is finite. Charts leave out what cannot be drawn and say so; what gets here is our own sum.
    fn number(&mut self, value: f64) {
        assert!(value.is_finite(), "a coordinate is finite, found {value}");
        let scale = if value.abs() < 1.0 { 100.0 } else { 10.0 };
        let rounded = (value * scale).round() / scale;
        // Adding zero turns -0 into 0.
        let _ = write!(self.body, "{}", rounded + 0.0);
    }

    fn escaped(&mut self, words: &str) {
        let _ = Escaper::new(&mut self.body).write_str(&legal(words));
    }
}

/// The text with every character that XML 1.0 forbids (section 2.2) replaced by U+FFFD.
pub(crate) fn legal(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// About how wide the text is, in px. The reader's font is unknown: widths are those of a wide sans-serif, so
/// that what is said to fit does.
pub(crate) fn text_width(text: &str, size_px: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.33,
            'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | ' ' => 0.41,
            // A number's hyphen is written as the wider minus sign.
            '-' => 0.7,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' => 0.97,
            'A'..='Z' | '&' | '+' | '=' | '<' | '>' => 0.74,
            c if (c as u32) < 0x1100 => 0.62,
            '\u{2000}'..='\u{2bff}' => 0.7,
            _ => 1.05,
        })
        .sum();
    ems * size_px
}

/// The text if it fits into `width` px, otherwise as much of it as does, ended by an ellipsis.
pub(crate) fn fit(text: &str, width: f64, size_px: f64) -> String {
    if text_width(text, size_px) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept, size_px) + 0.8 * size_px > width {
            kept.pop();
            break;
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The text in lines of at most `width` px, broken between words; a longer word is cut.
pub(crate) fn wrap(text: &str, width: f64, size_px: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size_px) + text_width(word, size_px) + 0.41 * size_px <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit(word, width, size_px)),
        }
    }
    lines
}
