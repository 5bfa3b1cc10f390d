//! The woven functions of an image: read, woven or found where they are kept.
//!
//! Owns what each follows from. It is found again by a SHA-256 over who weaves, the pair, and the assembly texts of both
//! threads: whoever changes another file of the tree waits for none of them.

use std::path::Path;
use std::thread;

use sha2::{Digest, Sha256};

use super::recipe::{Recipe, Woven};
use super::{Chip, Fault, Line, found, hex, keep};
use crate::error::Error;
use crate::weaving::{Pair, Reading};

/// Who weaves: the sources of this program, by the digest that `build.rs` has of them.
const WEAVER: &str = env!("SELVEDGE_WEAVER");

/// Functions that are to be woven, read.
pub(super) struct Filters(Vec<Filter>);

struct Filter {
    wish: Woven,
    pair: Pair,
    reading: Reading,
    /// In hex.
    digest: String,
}

impl Filters {
    /// Of an image without any.
    pub(super) fn none() -> Filters {
        Filters(Vec::new())
    }

    /// Reads what a recipe says is woven.
    ///
    /// # Errors
    /// When a file cannot be read or compiled.
    pub(super) fn read(recipe: &Recipe, chip: &Chip, line: Line) -> Result<Filters, Error> {
        let wishes = recipe.woven.iter().filter(|wish| wish.is_for(chip, line));
        let filters = wishes.map(|wish| {
            let pair = wish.pair(recipe, chip, line);
            let reading = Reading::of(&pair).map_err(|why| wish.refused(why))?;
            let mut hash = Sha256::new();
            let words = format!("{pair:?}");
            for text in [WEAVER, &words].into_iter().chain(reading.texts()) {
                let text = recipe.outside(text);
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text);
            }
            Ok(Filter { wish: wish.clone(), pair, reading, digest: hex(hash) })
        });
        filters.collect::<Result<_, Error>>().map(Filters)
    }

    /// What each follows from.
    pub(super) fn digests(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|filter| filter.digest.as_bytes())
    }

    /// Each as its name and its assembly text, in the recipe's order; all at once, since each takes a second or more.
    ///
    /// # Errors
    /// When one cannot be woven.
    pub(super) fn woven(self, recipe: &Recipe, cache: Option<&Path>) -> Result<Vec<(String, String)>, Error> {
        let one = |filter: Filter| {
            let name = filter.wish.name.clone();
            filter.woven(recipe, cache).map(|text| (name, text))
        };
        thread::scope(|scope| {
            let woven: Vec<_> = self.0.into_iter().map(|filter| scope.spawn(|| one(filter))).collect();
            woven.into_iter().map(|one| one.join().expect("what is woven is proved")).collect()
        })
    }
}

impl Filter {
    fn woven(self, recipe: &Recipe, cache: Option<&Path>) -> Result<String, Error> {
        let kept = cache.map(|folder| (folder, folder.join(format!("woven-{}.kept", self.digest))));
        if let Some(text) = kept.as_ref().map(|(_, kept)| found(kept)).transpose()?.flatten()
            && let Ok(text) = String::from_utf8(text)
        {
            return Ok(text);
        }
        let name = self.pair.name();
        let woven = self.reading.woven(&self.pair, &name).map_err(|why| self.wish.refused(why))?;
        woven.check_growth(&self.pair).map_err(|why| self.wish.refused(why))?;
        if let Err(fault) = &woven.proved {
            panic!("{name}, as it was woven, {fault}");
        }
        let text = recipe.outside(&woven.text);
        if let Some((folder, kept)) = &kept {
            keep(folder, kept, text.as_bytes())?;
        }
        Ok(text)
    }
}

impl Woven {
    fn refused(&self, why: Error) -> Error {
        Fault::NotWoven { place: self.place.clone(), name: self.name.clone(), why: Box::new(why) }.into()
    }
}
