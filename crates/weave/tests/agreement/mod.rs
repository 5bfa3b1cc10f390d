//! What has to be true of any structured host that is woven with one of our guests.
#![allow(dead_code)] // each program that includes it uses some of it

#[path = "../pair/mod.rs"]
pub mod pair;

use pair::structured::{self, Choices};
use pair::{GUESTS, Guest, Input, Pair, guest, read};
use weave::error::Refusal;
use weave::plan::Strategy;
use weave::proof::{self, Kind, prove};
use weave::weave;

/// What became of a host.
pub enum Outcome {
    /// It is woven, and everything agrees.
    Woven,
    /// It is refused; for which kind of reason.
    Refused(String),
    /// The proof gives up, which is a limit of it and no disagreement: nothing is written then.
    TooManyStates,
}

/// Calls of each woven function.
const CALLS: usize = 3;

/// A host, and with what it is woven.
pub struct Case {
    pub host: String,
    /// The guest's place in the list of them.
    pub guest: usize,
    /// Its PERIOD, BIT or PIXEL.
    pub cycles: u32,
    pub growth_max: f64,
    /// Which strategies may be taken.
    pub strategy: Strategy,
    /// One for each call.
    pub seeds: Vec<u8>,
}

impl Case {
    /// Any bytes make one.
    pub fn from_bytes(bytes: &[u8]) -> Case {
        let choices = &mut Choices::new(bytes);
        let guest = choices.below(GUESTS.len());
        let (.., least, most) = GUESTS[guest];
        Case {
            guest,
            cycles: least + choices.below((most - least + 1) as usize) as u32,
            growth_max: [2.0, 4.0, 10.0][choices.below(3)],
            strategy: Strategy::ALL[choices.below(3)],
            seeds: (0..CALLS).map(|_| choices.below(256) as u8).collect(),
            host: structured::host(choices),
        }
    }

    /// From a text that a disagreement has shown: its first line says the guest.
    pub fn from_text(text: &str) -> Case {
        let words: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
        let [";", function, cycles, growth_max, strategy] = words[..] else {
            panic!("found `{words:?}`, expected `; GUEST CYCLES GROWTH STRATEGY`")
        };
        let strategy = Strategy::ALL.into_iter().find(|found| found.to_string() == strategy);
        let guest = GUESTS.iter().position(|shipped| shipped.1 == function).expect("a guest");
        let [cycles, growth_max] = [cycles, growth_max].map(|word| word.parse::<f64>().expect("a number"));
        let seeds = (0..=u8::MAX).step_by(5).collect();
        let strategy = strategy.expect("a strategy");
        Case { host: text.to_owned(), guest, cycles: cycles as u32, growth_max, strategy, seeds }
    }

    /// Weaves, proves and runs.
    ///
    /// # Errors
    /// What does not agree, with a text that [`Case::from_text`] reads.
    pub fn agree(&self) -> Result<Outcome, String> {
        let guest = guest(self.guest, self.cycles);
        let told = |what: String| {
            let Case { cycles, growth_max, strategy, host, .. } = self;
            format!("{what}\n; {} {cycles} {growth_max} {strategy}\n{host}", guest.function)
        };
        self.agree_with(&guest).map_err(told)
    }

    /// The woven text.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn woven(&self, pair: &Pair) -> Result<String, Refusal> {
        weave(&pair.request(self.strategy, self.growth_max)).map(|woven| woven.text)
    }

    fn agree_with(&self, guest: &Guest) -> Result<Outcome, String> {
        let pair = Pair::new(&self.host, guest);
        let woven = match self.woven(&pair) {
            Ok(woven) => woven,
            Err(refusal) => {
                let kind = format!("{refusal:?}");
                return Ok(Outcome::Refused(kind.split([' ', '{']).next().unwrap_or_default().to_owned()));
            }
        };
        let unread = |error| format!("what is woven does not read: {error}");
        let program = read(&woven, "woven").map_err(unread)?;
        let function = program.function("woven").expect("it was asked for");
        let proved = prove(&program, function, proof::Options::default());
        match proved {
            Err(violation) if matches!(violation.kind, Kind::TooManyStates { .. }) => {
                return Ok(Outcome::TooManyStates);
            }
            other => other.map_err(|violation| format!("what is woven is not proved: {violation}"))?,
        };
        for &seed in &self.seeds {
            let input = input(seed);
            let plain = pair.host_alone(&input);
            assert_eq!(plain.wrong, None, "{}", self.host);
            let done = pair.woven(&program, "woven", &input);
            pair.keeps_time(&done, &input)?;
            pair.computes(&done, &plain)?;
        }
        Ok(Outcome::Woven)
    }
}

/// Some bytes and one to twelve of them to send, from a seed.
pub fn input(seed: u8) -> Input {
    let mut memory = [0; structured::MEMORY_BYTES];
    let mut message = [0; 16];
    let mut value = seed;
    for byte in memory.iter_mut().chain(&mut message) {
        value = value.wrapping_mul(77).wrapping_add(29);
        *byte = value ^ value >> 3;
    }
    Input { memory, number: value, message, count: 1 + seed % 12 }
}
