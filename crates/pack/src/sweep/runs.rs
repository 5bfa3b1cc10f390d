//! Running a program of which images are made, plain and packed, and keeping what other caches need to know.
//!
//! Owns: one run of one image ([`Ran`]), what many caches make of its stream ([`Behind`]), and the words that the
//! unpacked program fetches with its functions in another order, which follow from one run: nothing of what it does
//! depends on where they lie.

use isa::Cycles;
use isa::rv32;
use isa::sparc::{Files, user};

use super::stacks::{Geometry, Stacks};
use crate::chain::run::{self, End, Outcome};
use crate::chain::{Protection, Settings, Stream, Work};
use crate::error::{RunError, SweepError};
use crate::flow::always_annuls;
use crate::image::Image;
use crate::program::Program;
use crate::target::Target;

/// What a run of a program is told.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is called in tables.
    pub name: String,
    /// The program's arguments, its own name first.
    pub arguments: Vec<String>,
    /// What it can read.
    pub files: Files,
    /// After how many cycles it is given up.
    pub limit: Cycles,
}

/// A run of an image behind one cache.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Cycles but for waiting for instructions.
    pub cycles: Cycles,
    /// Waiting for instructions.
    pub waited_cycles: Cycles,
    /// Words that its cache lacked.
    pub misses: u64,
    /// The words that it asked its cache for.
    pub stream: Stream,
    /// What it wrote.
    pub output: Vec<u8>,
}

impl Ran {
    /// Runs an image to its end, behind the cache of `settings` and a cipher that every line of code goes through. Of
    /// RV32 the cycles are Ibex', and `user` says nothing.
    ///
    /// # Errors
    /// What cannot be built or run, and a run that ends otherwise than well, or not before it is given up.
    pub fn of(
        image: &Image,
        input: &Input,
        settings: &Settings,
        user: &user::Settings,
    ) -> Result<Ran, SweepError> {
        Ran::protected(image, &Protection::cost_of_code(image, Work::Block), input, settings, user)
    }

    /// The same with what really protects it, such as the container that it was booted from.
    ///
    /// # Errors
    /// As [`Ran::of`], and lines that are not what was sealed.
    pub fn protected(
        image: &Image,
        protection: &Protection,
        input: &Input,
        settings: &Settings,
        user: &user::Settings,
    ) -> Result<Ran, SweepError> {
        let named = |error: RunError| SweepError::Run { input: input.name.clone(), error };
        let arguments: Vec<&str> = input.arguments.iter().map(String::as_str).collect();
        let (ended, files) = (|| input.name.clone(), input.files.clone());
        let not_ended = || SweepError::NotEnded { input: input.name.clone(), limit: input.limit };
        if image.target == Target::Rv32 {
            let user = rv32::user::Settings::default();
            let started = run::rv32::under_linux(image, protection, settings, &arguments, files, user);
            let mut program = started.map_err(named)?;
            program.machine.bus.stream = Some(Box::default());
            let outcome = run::rv32::finish(&mut program, input.limit, &mut ());
            match outcome.end {
                End::Exit(0) => {}
                End::Reached => return Err(not_ended()),
                found => return Err(SweepError::EndedRv32 { input: ended(), found }),
            }
            let stream = program.machine.bus.stream.take().expect("it was given");
            return Ok(Ran::told(&outcome, outcome.spent.fetch_cycles, *stream));
        }
        let started = run::under_linux(image, protection, settings, &arguments, files, user.clone());
        let mut program = started.map_err(named)?;
        program.machine.bus.stream = Some(Box::default());
        let outcome = run::finish(&mut program, input.limit, &mut ());
        match outcome.end {
            End::Exit(0) => {}
            End::Reached => return Err(not_ended()),
            found => return Err(SweepError::Ended { input: ended(), found }),
        }
        let stream = program.machine.bus.stream.take().expect("it was given");
        Ok(Ran::told(&outcome, outcome.spent.fetch_cycles, *stream))
    }

    /// What a run told that waited for instructions for so long.
    fn told<S, W>(outcome: &Outcome<S, W>, waited: Cycles, stream: Stream) -> Ran {
        Ran {
            cycles: outcome.cycles - waited,
            waited_cycles: waited,
            misses: outcome.counts.misses,
            stream,
            output: outcome.output.clone(),
        }
    }

    /// What caches make of it.
    ///
    /// # Errors
    /// A cache that cannot be built.
    pub fn behind(&self, caches: &[Geometry]) -> Result<Behind, RunError> {
        let mut stacks = Stacks::new(caches)?;
        self.stream.runs().for_each(|(first, words)| stacks.ask(first, words));
        Ok(Behind::of(self, &stacks, caches))
    }

    /// What caches make of it, this being a run of the unpacked program, with its functions in another order.
    ///
    /// # Errors
    /// A cache that cannot be built.
    pub fn moved(&self, places: &Places, caches: &[Geometry]) -> Result<Behind, RunError> {
        let mut stacks = Stacks::new(caches)?;
        for (first, words) in self.stream.runs() {
            places.runs(first, words, |first, words| stacks.ask(first, words));
        }
        Ok(Behind::of(self, &stacks, caches))
    }
}

/// A run behind many caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Cycles but for waiting for instructions.
    pub cycles: Cycles,
    /// Words that a cache was asked for.
    pub accesses: u64,
    /// Lines that each lacked.
    pub misses: Vec<u64>,
}

impl Behind {
    fn of(ran: &Ran, stacks: &Stacks, caches: &[Geometry]) -> Behind {
        let misses = caches.iter().map(|&cache| stacks.misses(cache)).collect();
        Behind { cycles: ran.cycles, accesses: stacks.words(), misses }
    }

    /// All cycles behind one of the caches, when a miss takes so many.
    pub fn total_cycles(&self, cache: usize, miss_cycles: Cycles) -> Cycles {
        self.cycles + miss_cycles * self.misses[cache]
    }
}

/// Where the words of an unpacked program went when its functions changed places.
#[derive(Clone, Debug)]
pub struct Places {
    first: u32,
    /// By word; itself where it did not move.
    new: Vec<u32>,
    /// By word: whether the word behind it is fetched because of where it lies only, and annulled.
    annuls: Vec<bool>,
}

impl Places {
    /// Of a program, and an image whose words are the program's.
    pub fn of(program: &Program, image: &Image) -> Places {
        let first = image.map.iter().map(|moved| moved.old).min().unwrap_or(0);
        let end = image.map.iter().map(|moved| moved.old + 4).max().unwrap_or(0);
        let mut new: Vec<u32> = (first..end).step_by(4).collect();
        for moved in &image.map {
            new[((moved.old - first) / 4) as usize] = moved.new;
        }
        let annuls = |word| always_annuls(program.target, word);
        let words = (first..end).step_by(4).map(|old| program.word_at(old).is_some_and(annuls));
        Places { first, new, annuls: words.collect() }
    }

    fn place(&self, old: u32) -> u32 {
        let known = self.new.get((old.wrapping_sub(self.first) / 4) as usize);
        known.copied().unwrap_or(old)
    }

    /// Calls for each run of words that words which follow each other have become.
    pub(super) fn runs(&self, first: u32, words: u32, mut run: impl FnMut(u32, u32)) {
        let (mut start, mut count) = (self.place(first), 1);
        for old in (first + 4..first + words * 4).step_by(4) {
            let before = self.annuls.get(((old - 4).wrapping_sub(self.first) / 4) as usize);
            let new = if before == Some(&true) { start + count * 4 } else { self.place(old) };
            if new == start + count * 4 {
                count += 1;
            } else {
                run(start, count);
                (start, count) = (new, 1);
            }
        }
        run(start, count);
    }
}
