//! Reading a directive from its text.
//!
//! Owns: the words, and which values each takes. Words are separated by blanks; a value has none outside its
//! parentheses. Every fault names the bytes of the text that are to blame.

use std::ops::Range;

use super::{Directive, Parameters, Repeat, Thread};
use crate::error::{DirectiveFault, DirectiveFaultKind as Kind};
use crate::expression::{Operators, Value, evaluate};

/// The first words of the grammar, as errors list them.
pub(crate) const WORDS: &[&str] = &[
    "chip",
    "f_cpu",
    "clock",
    "event",
    "over",
    "trip",
    "targets",
    "arguments",
    "returns",
    "shared",
    "apart",
    "produce",
    "consume",
    "server",
    "ran",
    "drift",
];

/// Bytes of the longest result in registers (avr-gcc's ABI).
const RETURNED_BYTES_MAX: i64 = 8;

/// The words of an event.
const EVENT_WORDS: &[&str] = &["at=", "clock=", "jitter=", "every=", "maybe", "last"];

impl Directive {
    /// Reads a directive, without `;@weave`. Total: any text gives a directive or says what is wrong where.
    pub fn parse(text: &str, parameters: &Parameters) -> Result<Directive, DirectiveFault> {
        Directive::read(text, parameters).map_err(|mut fault| {
            fault.found = text.get(fault.at.clone()).unwrap_or_default().to_owned();
            fault
        })
    }

    /// The same, with faults that do not yet say what they found.
    fn read(text: &str, parameters: &Parameters) -> Result<Directive, DirectiveFault> {
        let mut words = Words { rest: split(text).into_iter(), text, parameters };
        let Some(first) = words.rest.next() else {
            return Err(fault(Kind::Empty, 0..0));
        };
        let directive = match first.text {
            "chip" => Directive::Chip(words.name("a chip")?),
            "f_cpu" => {
                let hertz = words.next("hertz")?;
                Directive::Frequency(words.number(hertz, 1, i64::MAX)? as u64)
            }
            "clock" => words.clock()?,
            "event" => words.event()?,
            "over" => Directive::Over { clock: words.optional_name()? },
            "trip" => words.trip()?,
            "targets" => {
                let mut names = vec![words.name("a label")?];
                while let Some(name) = words.optional_name()? {
                    names.push(name);
                }
                Directive::Targets(names)
            }
            "arguments" => {
                let pieces: Vec<Word> = words.rest.by_ref().collect();
                let bytes: Result<_, _> = pieces.into_iter().map(|word| words.cycles(word, 1)).collect();
                Directive::Arguments(bytes?)
            }
            "returns" => {
                let bytes = words.next("bytes")?;
                Directive::Returns(words.number(bytes, 0, RETURNED_BYTES_MAX)? as u32)
            }
            "shared" => words.shared()?,
            "apart" => Directive::Apart(words.name("a parameter")?, words.name("a second parameter")?),
            "produce" => Directive::Produce,
            "consume" => Directive::Consume,
            "server" => words.server()?,
            "ran" => Directive::Ran(words.name("the server's name")?),
            "drift" => words.drift()?,
            _ => return Err(first.fault(Kind::UnknownWord)),
        };
        match words.rest.next() {
            Some(word) => Err(word.fault(Kind::Unexpected { expected: &[] })),
            None => Ok(directive),
        }
    }
}

fn fault(kind: Kind, at: Range<usize>) -> DirectiveFault {
    DirectiveFault { kind, at, found: String::new() }
}

/// A word and where in the directive it begins.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    from: usize,
}

impl<'a> Word<'a> {
    fn at(&self) -> Range<usize> {
        self.from..self.from + self.text.len()
    }

    fn fault(&self, kind: Kind) -> DirectiveFault {
        fault(kind, self.at())
    }

    /// What stands behind `key=`.
    fn value_of(&self, key: &str) -> Option<Word<'a>> {
        let value = self.text.strip_prefix(key)?.strip_prefix('=')?;
        Some(Word { text: value, from: self.from + self.text.len() - value.len() })
    }

    /// The pieces between `separator`s.
    fn pieces(&self, separator: &'static str) -> impl Iterator<Item = Word<'a>> {
        let mut from = self.from;
        self.text.split(separator).map(move |text| {
            let word = Word { text, from };
            from += text.len() + separator.len();
            word
        })
    }
}

/// The words of a directive: at blanks outside parentheses.
fn split(text: &str) -> Vec<Word<'_>> {
    let (mut words, mut depth, mut from) = (Vec::new(), 0_usize, None);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = character.is_whitespace() && depth == 0;
        match from {
            Some(begin) if ends => {
                words.push(Word { text: &text[begin..at], from: begin });
                from = None;
            }
            None if !character.is_whitespace() => from = Some(at),
            _ => {}
        }
    }
    if let Some(begin) = from {
        words.push(Word { text: text[begin..].trim_end(), from: begin });
    }
    words
}

/// The words that are left.
struct Words<'a, 'p> {
    rest: std::vec::IntoIter<Word<'a>>,
    text: &'a str,
    parameters: &'p Parameters,
}

impl<'a> Words<'a, '_> {
    fn missing(&self, what: &'static str) -> DirectiveFault {
        // Marks the last byte: a caret behind the line would point at nothing.
        let last = self.text.trim_end().char_indices().next_back();
        let at = last.map_or(0..0, |(at, character)| at..at + character.len_utf8());
        fault(Kind::Missing { what }, at)
    }

    fn next(&mut self, what: &'static str) -> Result<Word<'a>, DirectiveFault> {
        self.rest.next().ok_or_else(|| self.missing(what))
    }

    fn name(&mut self, what: &'static str) -> Result<String, DirectiveFault> {
        let word = self.next(what)?;
        name(word)
    }

    fn optional_name(&mut self) -> Result<Option<String>, DirectiveFault> {
        self.rest.next().map(name).transpose()
    }

    /// A number or an expression, between two values.
    fn number(&self, word: Word<'_>, min: i64, max: i64) -> Result<i64, DirectiveFault> {
        let known = |name: &str| self.parameters.get(name).map(Value::Known);
        match evaluate(word.text, Operators::Four, &mut |name| known(name)) {
            Ok(Value::Known(found)) if (min..=max).contains(&found) => Ok(found),
            Ok(Value::Known(found)) => Err(word.fault(Kind::OutOfRange { found, min, max })),
            Ok(Value::Linker) => unreachable!("a directive's names are numbers"),
            Err(fault) => {
                let at = word.from + fault.at.start..word.from + fault.at.end;
                let known = self.parameters.names().map(str::to_owned).collect();
                Err(self::fault(Kind::Expression { why: fault.kind, known }, at))
            }
        }
    }

    /// A number of cycles or the like, in 32 bits.
    fn cycles(&self, word: Word<'_>, min: i64) -> Result<u32, DirectiveFault> {
        self.number(word, min, u32::MAX.into()).map(|number| number as u32)
    }

    fn clock(&mut self) -> Result<Directive, DirectiveFault> {
        let name = self.name("the clock's name")?;
        let (mut periods, mut jitter) = (None, None);
        while let Some(word) = self.rest.next() {
            if let Some(value) = word.value_of("period") {
                once(&word, &periods)?;
                periods = Some(self.periods(value)?);
            } else if let Some(value) = word.value_of("jitter") {
                once(&word, &jitter)?;
                jitter = Some(self.cycles(value, 0)?);
            } else {
                return Err(word.fault(Kind::Unexpected { expected: &["period=", "jitter="] }));
            }
        }
        let periods = periods.ok_or_else(|| self.missing("`period=`"))?;
        Ok(Directive::Clock { name, periods, jitter: jitter.unwrap_or(0) })
    }

    fn periods(&self, value: Word<'_>) -> Result<Vec<u32>, DirectiveFault> {
        let mut periods = Vec::new();
        for piece in value.pieces("|") {
            let period = self.cycles(piece, 1)?;
            if periods.last().is_some_and(|last| *last >= period) {
                return Err(piece.fault(Kind::NotAscending));
            }
            periods.push(period);
        }
        Ok(periods)
    }

    fn event(&mut self) -> Result<Directive, DirectiveFault> {
        let name = self.name("the event's name")?;
        let (mut clock, mut at, mut jitter, mut maybe, mut last) = (None, None, None, None, None);
        let mut repeats = Vec::new();
        while let Some(word) = self.rest.next() {
            if let Some(value) = word.value_of("at") {
                once(&word, &at)?;
                at = Some(self.cycles(value, 0)?);
            } else if let Some(value) = word.value_of("clock") {
                once(&word, &clock)?;
                clock = Some(self::name(value)?);
            } else if let Some(value) = word.value_of("jitter") {
                once(&word, &jitter)?;
                jitter = Some(self.cycles(value, 0)?);
            } else if let Some(value) = word.value_of("every") {
                let every_cycles = self.cycles(value, 1)?;
                repeats.push(Repeat { every_cycles, times: self.keyed("times", "`times=`", &["times="])? });
            } else if word.text == "maybe" {
                once(&word, &maybe)?;
                maybe = Some(());
            } else if word.text == "last" {
                once(&word, &last)?;
                last = Some(());
            } else {
                return Err(word.fault(Kind::Unexpected { expected: EVENT_WORDS }));
            }
        }
        let at = at.ok_or_else(|| self.missing("`at=`"))?;
        let (maybe, last) = (maybe.is_some(), last.is_some());
        Ok(Directive::Event { name, clock, at, jitter, repeats, maybe, last })
    }

    fn trip(&mut self) -> Result<Directive, DirectiveFault> {
        let word = self.next("how often")?;
        let two =
            ["..", "|"].into_iter().find_map(|parts| Some((word.text.split_once(parts)?, parts == "..")));
        let Some(((least, most), between)) = two else {
            let times = self.cycles(word, 0)?;
            return Ok(Directive::Trip { min: times, max: times, between: true });
        };
        let behind = word.from + word.text.len() - most.len();
        let min = self.cycles(Word { text: least, from: word.from }, 0)?;
        let max = self.cycles(Word { text: most, from: behind }, 0)?;
        // Of numbers that are equal nothing is between.
        let between = between || min == max;
        if min > max {
            Err(word.fault(Kind::NotAscending))
        } else {
            Ok(Directive::Trip { min, max, between })
        }
    }

    fn shared(&mut self) -> Result<Directive, DirectiveFault> {
        let symbol = self.name("a symbol")?;
        let word = self.next("`guest-first` or `host-first`")?;
        let first = match word.text {
            "guest-first" => Thread::Guest,
            "host-first" => Thread::Host,
            _ => return Err(word.fault(Kind::Unexpected { expected: &["guest-first", "host-first"] })),
        };
        Ok(Directive::Shared { symbol, first })
    }

    fn server(&mut self) -> Result<Directive, DirectiveFault> {
        let name = self.name("the server's name")?;
        Ok(Directive::Server { name, within: self.keyed("within", "`within=`", &["within="])? })
    }

    fn drift(&mut self) -> Result<Directive, DirectiveFault> {
        let clock = self.name("the clock's name")?;
        let ppm = self.keyed("ppm", "`ppm=`", &["ppm="])?;
        let rounds = self.keyed("rounds", "`rounds=`", &["rounds="])?;
        let expected = Kind::Unexpected { expected: &["until="] };
        let until = match self.rest.next() {
            Some(word) => Some(word.value_of("until").ok_or_else(|| word.fault(expected))?),
            None => None,
        };
        let until = until.map(|until| self.cycles(until, 0)).transpose()?;
        Ok(Directive::Drift { clock, ppm, rounds, until })
    }

    /// The number, at least 1, behind `key=`, which has to come next.
    fn keyed(
        &mut self,
        key: &str,
        what: &'static str,
        expected: &'static [&'static str],
    ) -> Result<u32, DirectiveFault> {
        let word = self.next(what)?;
        let value = word.value_of(key).ok_or_else(|| word.fault(Kind::Unexpected { expected }))?;
        self.cycles(value, 1)
    }
}

/// A word that names something.
fn name(word: Word<'_>) -> Result<String, DirectiveFault> {
    let good = !word.text.is_empty()
        && word.text.bytes().all(|byte| crate::expression::is_name_byte(byte) || byte == b'-');
    if good { Ok(word.text.to_owned()) } else { Err(word.fault(Kind::NotName)) }
}

/// Refuses what is already there.
fn once<T>(word: &Word<'_>, found: &Option<T>) -> Result<(), DirectiveFault> {
    if found.is_some() { Err(word.fault(Kind::Twice)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Directive, DirectiveFault> {
        Directive::parse(text, &[("N", 16), ("bytes", 32)].into_iter().collect())
    }

    #[test]
    fn each_line_of_the_grammar_reads_back_from_its_canonical_text() {
        for (text, canonical) in [
            ("chip atmega128", "chip atmega128"),
            ("f_cpu  16*1000*1000", "f_cpu 16000000"),
            ("clock tx period=8*N+2 jitter=0", "clock tx period=130"),
            ("clock tx jitter=1 period=704|1472", "clock tx period=704|1472 jitter=1"),
            ("event tx at=0", "event tx at=0"),
            ("event tx maybe jitter=0 clock=c at=( N + 2 )*2", "event tx at=36 clock=c jitter=0 maybe"),
            (
                "event tx every=N+4 times=8 at=6 every=160 times=3",
                "event tx at=6 every=20 times=8 every=160 times=3",
            ),
            ("event tx last at=9 maybe", "event tx at=9 maybe last"),
            ("over", "over"),
            ("over tx", "over tx"),
            ("trip bytes", "trip 32"),
            ("trip 0..bytes-1", "trip 0..31"),
            ("trip 7|bytes-21", "trip 7|11"),
            ("trip 7|7", "trip 7"),
            ("targets a .L2 c", "targets a .L2 c"),
            ("arguments", "arguments"),
            ("arguments 2 2 1", "arguments 2 2 1"),
            ("returns 2", "returns 2"),
            ("shared buffer guest-first", "shared buffer guest-first"),
            ("apart p q", "apart p q"),
            ("produce", "produce"),
            ("consume ", "consume"),
            ("server adc within=2000", "server adc within=2000"),
            ("ran  adc", "ran adc"),
            ("drift rx ppm=100 rounds=2*N", "drift rx ppm=100 rounds=32"),
            ("drift rx ppm=100 rounds=2 until=N/4", "drift rx ppm=100 rounds=2 until=4"),
        ] {
            let directive = parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
            assert_eq!(directive.to_string(), canonical);
            assert_eq!(parse(canonical), Ok(directive));
            let word = canonical.split(' ').next().unwrap();
            assert!(WORDS.contains(&word), "{word} is not listed");
        }
    }

    #[test]
    fn what_is_wrong_is_marked() {
        for (text, at) in [
            ("", 0..0),
            ("evnt tx at=0", 0..4),
            ("event tx", 7..8),
            ("event tx at=0 at=1", 14..18),
            ("event tx at=8*M", 14..15),
            ("event tx at=-1", 12..14),
            ("event tx at=0 often", 14..19),
            ("event tx at=0 every=20", 21..22),
            ("event tx at=0 every=20 maybe", 23..28),
            ("event tx at=0 every=20 times=0", 29..30),
            ("event tx at=0 times=8", 14..21),
            ("clock tx period=3|3", 18..19),
            ("clock tx period=3|", 18..18),
            ("clock tx period=0", 16..17),
            ("trip 3..2", 5..9),
            ("trip 3|2", 5..8),
            ("trip 4294967296", 5..15),
            ("chip", 3..4),
            ("chip a=b", 5..8),
            ("shared b first", 9..14),
            ("produce now", 8..11),
            ("server adc 2000", 11..15),
            ("drift rx rounds=2 ppm=1", 9..17),
            ("drift rx ppm=1 rounds=2 after=1", 24..31),
        ] {
            assert_eq!(parse(text).expect_err(text).at, at, "{text}");
        }
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-zA-Z_.][a-zA-Z0-9_.]{0,8}"
    }

    fn any_event() -> impl Strategy<Value = Directive> {
        let repeat = (1_u32.., 1_u32..).prop_map(|(every_cycles, times)| Repeat { every_cycles, times });
        let repeats = proptest::collection::vec(repeat, 0..3);
        let clock = proptest::option::of(word());
        let numbers = (any::<u32>(), any::<Option<u32>>());
        (word(), clock, numbers, repeats, any::<[bool; 2]>()).prop_map(
            |(name, clock, (at, jitter), repeats, [maybe, last])| Directive::Event {
                name,
                clock,
                at,
                jitter,
                repeats,
                maybe,
                last,
            },
        )
    }

    fn any_directive() -> impl Strategy<Value = Directive> {
        let option = || proptest::option::of(word());
        prop_oneof![
            word().prop_map(Directive::Chip),
            (1..=i64::MAX as u64).prop_map(Directive::Frequency),
            (word(), proptest::collection::btree_set(1_u32.., 1..4), any::<u32>()).prop_map(
                |(name, periods, jitter)| {
                    Directive::Clock { name, periods: periods.into_iter().collect(), jitter }
                }
            ),
            any_event(),
            option().prop_map(|clock| Directive::Over { clock }),
            (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(a, b, between)| Directive::Trip {
                min: a.min(b),
                max: a.max(b),
                between: between || a == b,
            }),
            proptest::collection::vec(word(), 1..4).prop_map(Directive::Targets),
            proptest::collection::vec(1_u32.., 0..4).prop_map(Directive::Arguments),
            (0_u32..9).prop_map(Directive::Returns),
            (word(), any::<bool>()).prop_map(|(symbol, guest)| Directive::Shared {
                symbol,
                first: if guest { Thread::Guest } else { Thread::Host },
            }),
            (word(), word()).prop_map(|(one, other)| Directive::Apart(one, other)),
            Just(Directive::Produce),
            Just(Directive::Consume),
            (word(), 1_u32..).prop_map(|(name, within)| Directive::Server { name, within }),
            (word(), 1_u32.., 1_u32.., proptest::option::of(any::<u32>()))
                .prop_map(|(clock, ppm, rounds, until)| Directive::Drift { clock, ppm, rounds, until }),
        ]
    }

    proptest! {
        #[test]
        fn a_directive_reads_back_from_its_text(directive in any_directive()) {
            prop_assert_eq!(Directive::parse(&directive.to_string(), &Parameters::new()), Ok(directive));
        }

        #[test]
        fn any_text_is_a_directive_or_a_fault_inside_it(
            word in proptest::sample::select(WORDS), rest in "[-=|. ()*+a-z0-9Nµ]{0,30}"
        ) {
            for text in [format!("{word} {rest}"), rest] {
                match parse(&text) {
                    Ok(directive) => prop_assert_eq!(parse(&directive.to_string()), Ok(directive)),
                    Err(fault) => prop_assert!(text.get(fault.at).is_some(), "{}", text),
                }
            }
        }
    }
}
