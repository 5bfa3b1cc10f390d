//! The list that processors and their hardware are compared by, as requests.
//!
//! Owns how lines of `list.txt` are read, which says what they mean. Same list, same requests.
#![allow(dead_code)] // each test file uses some of it

use std::collections::BTreeMap;

use explore::candidate::{Candidate, Multiplication, Radix};
use explore::native;
use explore::request::Request;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const LIST: &str = include_str!("list.txt");
const RADICES: [(&str, Radix); 2] = [("16", Radix::Limbs16), ("32", Radix::Limbs32)];

/// Long runs of the same.
pub fn soak() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|value| value == "1")
}

/// Which part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What takes little, and has limbs: every image on every core does it.
    Limbs,
    /// What takes little.
    Little,
    /// The same, and what the core of this name does besides in a short run.
    Short(&'static str),
    /// The same, and what it does besides in a long one.
    Long(&'static str),
}

/// A line of the list, as words: what is before the operation, and the rest.
fn words(line: &'static str) -> (Vec<&'static str>, Vec<&'static str>) {
    let words: Vec<&'static str> = line.split(' ').collect();
    let operation = words.iter().position(|word| !["long", "pico", "vex5"].contains(word)).expect(line);
    let (marks, words) = words.split_at(operation);
    (marks.to_vec(), words.to_vec())
}

/// Lines that are no names, each with its place.
fn lines() -> impl Iterator<Item = (usize, &'static str)> {
    let lines = LIST.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.filter(|(_, line)| !line.contains(" = "))
}

/// Whether a word of the list is of an operation: `*` stands for the name of a variant.
fn is_of(word: &str, operation: &str) -> bool {
    match word.split_once('*') {
        Some((begin, end)) => {
            let is_long = operation.len() > begin.len() + end.len();
            is_long && operation.starts_with(begin) && operation.ends_with(end)
        }
        None => word == operation,
    }
}

/// The operations that a word stands for: of several words, the one that says most of a name has it.
fn operations(word: &'static str) -> Vec<&'static str> {
    let says_more = |other: &str, operation: &str| {
        let said = |word: &str| word.len() + usize::from(!word.contains('*'));
        said(other) > said(word) && is_of(other, operation)
    };
    let others: Vec<&str> = lines().map(|(_, line)| words(line).1[0]).collect();
    let names = native::operations().iter().map(String::as_str).filter(|name| is_of(word, name));
    let found: Vec<_> = names.filter(|name| !others.iter().any(|other| says_more(other, name))).collect();
    assert!(!found.is_empty(), "`{word}` is no operation");
    found
}

/// A part of the list.
pub fn requests(part: Part) -> Vec<Request> {
    let named = LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let named = named.map(|(name, operands)| (name, operands.split(' ').map(octets).collect())).collect();
    let mut requests = Vec::new();
    for (place, line) in lines() {
        let (marks, words) = words(line);
        let is_in = match part {
            Part::Limbs => marks.is_empty() && words[3] != "-",
            Part::Little => marks.is_empty(),
            Part::Short(core) => marks.iter().all(|mark| *mark == core),
            Part::Long(core) => marks.iter().all(|mark| *mark == core || *mark == "long"),
        };
        if is_in {
            for operation in operations(words[0]) {
                let words: Vec<&'static str> = [&[operation][..], &words[1..]].concat();
                requests.extend(read(line, &words, place as u64, &named));
            }
        }
    }
    requests
}

fn octets(hex: &str) -> Vec<u8> {
    let octet = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(octet).collect()
}

/// What a line asks: in both widths of limbs where it says so.
fn read(line: &str, words: &[&'static str], seed: u64, named: &BTreeMap<&str, Vec<Vec<u8>>>) -> Vec<Request> {
    let [operation, choice, repeats, how, operands @ ..] = words else { panic!("{line}") };
    let request = |radix: Option<Radix>, candidate: Option<Candidate>| {
        let mut draw = Draw { rng: ChaCha8Rng::seed_from_u64(seed), limb_bytes: radix.map_or(1, bytes) };
        let operands = operands.iter().flat_map(|word| draw.operand(word, named)).collect();
        let [choice, repeats] = [choice, repeats].map(|number| number.parse().expect(line));
        Request { candidate, choice, repeats, ..Request::new(operation, radix, operands) }
    };
    if *how == "-" {
        return vec![request(None, None)];
    }
    let both = RADICES.iter().filter(|(word, _)| how.contains('*') || how.contains(word));
    let of = |(word, radix): &(&str, Radix)| {
        let how = how.replace('*', word);
        match how.strip_prefix("every/") {
            Some(rest) => {
                let names = Multiplication::ALL.iter().map(|way| format!("{}/{rest}", way.word()));
                names.map(|name| request(Some(*radix), Some(name.parse().expect(line)))).collect()
            }
            None => vec![request(Some(*radix), how.contains('/').then(|| how.parse().expect(line)))],
        }
    };
    both.flat_map(of).collect::<Vec<_>>()
}

fn bytes(radix: Radix) -> usize {
    usize::from(radix.limb_bits()) / 8
}

/// Draws the operands of a line.
struct Draw {
    rng: ChaCha8Rng,
    limb_bytes: usize,
}

impl Draw {
    fn drawn(&mut self, count: usize) -> Vec<u8> {
        let mut drawn = vec![0; count];
        self.rng.fill_bytes(&mut drawn);
        drawn
    }

    fn operand(&mut self, word: &str, named: &BTreeMap<&str, Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
        if let Some(operands) = named.get(word) {
            return operands.clone();
        }
        let digits = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let count = || digits.parse::<usize>().unwrap_or_else(|_| panic!("`{word}` is no operand"));
        let made = match &word[..word.len() - digits.len()] {
            "" if word.starts_with('=') => octets(&word[1..]),
            "" if word.starts_with('#') => {
                let number: i32 = word[1..].parse().expect(word);
                number.to_le_bytes()[..self.limb_bytes].to_vec()
            }
            "" => self.drawn(count()),
            "field" => {
                let mut numbers = self.drawn(32 * count());
                numbers.chunks_exact_mut(32).for_each(|number| number[31] &= 0x7f);
                numbers
            }
            kind => {
                let mut number = self.drawn(count() * self.limb_bytes);
                let last = number.len() - 1;
                match kind {
                    "n" => {}
                    "low" => number[last] &= 0x7f,
                    "top" => number[last] |= 0x80,
                    "odd" => {
                        number[last] |= 0x80;
                        number[0] |= 1;
                    }
                    _ => panic!("`{word}` is no operand"),
                }
                number
            }
        };
        vec![made]
    }
}
