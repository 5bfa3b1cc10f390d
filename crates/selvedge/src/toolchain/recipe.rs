//! The list of sources of the node's image, and every file that could get into it.
//!
//! Owns the format of `firmware/node/sources.txt` and `filters_*.txt`; what is done with it is `toolchain`'s.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Chip, Fault, Line, failed};
use crate::error::Error;
use crate::link::CHIPS;
use crate::weaving::{self, Pair};

/// The list of sources: a word and its value on each line, `#` before a comment.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Recipe {
    /// Sources are relative to it.
    pub folder: PathBuf,
    /// For every call of the compiler.
    pub flags: Vec<String>,
    /// For the linking one.
    pub links: Vec<String>,
    pub sources: Vec<String>,
    /// What is woven before it is linked in.
    pub woven: Vec<Woven>,
    /// For the compiler of what is woven.
    pub woven_flags: Vec<String>,
}

/// A line that begins with `woven`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Woven {
    /// The list that it stands in, and its line there, from 1.
    pub place: (PathBuf, usize),
    /// The woven function.
    pub name: String,
    /// File and function of the host, and of the guest.
    threads: [(PathBuf, String); 2],
    servers: Vec<(PathBuf, String)>,
    with: Vec<PathBuf>,
    /// Bytes of the host's parameters.
    arguments: Vec<u32>,
    growth: Option<f64>,
    /// The only chip that it is woven for.
    chip: Option<&'static str>,
    definitions: Vec<(String, Value)>,
}

/// What a name of the guest stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Number(i64),
    /// Cycles from a byte that the node sends to its next.
    SentByte,
    /// Cycles from a byte that the node hears to its next.
    HeardByte,
    /// Cycles from the end of a conversion to the next sample's start.
    NextSample,
}

impl Value {
    fn on(self, line: Line) -> i64 {
        match self {
            Value::Number(number) => number,
            Value::SentByte => line.sent_byte_cycles().into(),
            Value::HeardByte => line.heard_byte_cycles.into(),
            Value::NextSample => line.next_sample_cycles.into(),
        }
    }
}

impl Woven {
    /// Reads what stands behind `woven`; what is wrong in words.
    fn parse(words: &[&str]) -> Result<Woven, String> {
        let [name, host, guest, options @ ..] = words else {
            return Err("expected NAME HOST:FUNCTION GUEST:FUNCTION behind `woven`".to_owned());
        };
        let name = weaving::names::identifier(name)?;
        let threads = [weaving::function(host)?, weaving::function(guest)?];
        let mut woven = Woven { name, threads, ..Woven::default() };
        for option in options {
            let (key, value) =
                option.split_once('=').ok_or_else(|| format!("found `{option}`, expected KEY=VALUE"))?;
            let number = |text: &str| {
                isa::avr::text::number(text).ok_or_else(|| format!("found `{text}`, expected a number"))
            };
            match key {
                "server" => woven.servers.push(weaving::function(value)?),
                "with" => woven.with.push(value.into()),
                "chip" => {
                    let known = || CHIPS.each_ref().map(|chip| format!("`{}`", chip.name)).join(" or ");
                    let chip = Chip::find(value);
                    let chip = chip.ok_or_else(|| format!("found `{value}`, expected {}", known()))?;
                    woven.chip = Some(chip.name);
                }
                "growth" => woven.growth = Some(weaving::growth(value)?),
                "arguments" => {
                    for bytes in value.split(',') {
                        let bytes =
                            u32::try_from(number(bytes)?).ok().filter(|bytes| (1..=16).contains(bytes));
                        let bytes =
                            bytes.ok_or_else(|| format!("found `{value}`, expected 1 to 16 bytes each"))?;
                        woven.arguments.push(bytes);
                    }
                }
                _ if weaving::names::identifier(key).is_ok()
                    && key.starts_with(|c: char| c.is_ascii_uppercase()) =>
                {
                    let value = match value {
                        "SENT_BYTE" => Value::SentByte,
                        "HEARD_BYTE" => Value::HeardByte,
                        "NEXT_SAMPLE" => Value::NextSample,
                        _ => Value::Number(number(value)?),
                    };
                    woven.definitions.push((key.to_owned(), value));
                }
                _ => {
                    return Err(format!(
                        "found `{key}`, expected `server`, `with`, `growth`, `chip`, `arguments` or a NAME"
                    ));
                }
            }
        }
        Ok(woven)
    }

    /// Whether it is woven for a chip on a line at all.
    pub fn is_for(&self, chip: &Chip, line: Line) -> bool {
        let is_served = !self.servers.is_empty() || self.is_in_time(line);
        let is_met = !self.is_heard() || line.hears_first_byte();
        is_served && is_met && self.chip.is_none_or(|name| name == chip.name)
    }

    fn is_heard(&self) -> bool {
        self.definitions.iter().any(|(_, what)| *what == Value::HeardByte)
    }

    /// Whether who would have to run within so many cycles can as well behind the frame.
    fn is_in_time(&self, line: Line) -> bool {
        let frame_cycles = if self.is_heard() { line.heard_cycles() } else { line.sent_cycles() };
        let mut withins = self.definitions.iter().filter(|(name, _)| name == "WITHIN");
        withins.all(|(_, what)| what.on(line) >= i64::from(frame_cycles))
    }

    /// What is woven for a chip on a line, by the recipe that it stands in.
    pub fn pair(&self, recipe: &Recipe, chip: &Chip, line: Line) -> Pair {
        let [host, guest] = &self.threads;
        let inside = |file: &PathBuf| recipe.folder.join(file);
        let is_bound = self.definitions.iter().any(|(name, _)| name == "WITHIN");
        let servers = if is_bound && self.is_in_time(line) { &[][..] } else { &self.servers };
        Pair {
            file: inside(&host.0),
            host: host.1.clone(),
            guest: inside(&guest.0),
            guest_fn: guest.1.clone(),
            servers: servers.iter().map(|(file, function)| (inside(file), function.clone())).collect(),
            with: self.with.iter().map(inside).collect(),
            name: Some(self.name.clone()),
            chip: Some(chip.name.to_owned()),
            definitions: self.definitions.iter().map(|(name, what)| (name.clone(), what.on(line))).collect(),
            host_arguments: Some(self.arguments.clone()),
            growth: self.growth,
            strategy: ::weave::plan::Strategy::Auto,
            couple: false,
            flags: recipe.woven_flags.clone(),
        }
    }

    /// Files that it names.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let of_functions = self.threads.iter().chain(&self.servers).map(|(file, _)| file);
        of_functions.chain(&self.with)
    }
}

impl Recipe {
    pub fn read(path: &Path) -> Result<Recipe, Error> {
        let text = fs::read_to_string(path).map_err(failed("read", path))?;
        // Absolute, because the compiler runs elsewhere.
        let folder = path.parent().unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(failed("find", folder))?;
        Recipe::parse(path, folder, &text).map_err(Error::Toolchain)
    }

    fn parse(path: &Path, folder: PathBuf, text: &str) -> Result<Recipe, Fault> {
        let mut recipe = Recipe { folder, ..Recipe::default() };
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = || (path.to_path_buf(), index + 1);
            match words[..] {
                [] => {}
                [word, ..] if word.starts_with('#') => {}
                ["flag", value] => recipe.flags.push(value.into()),
                ["link", value] => recipe.links.push(value.into()),
                ["source", value] => recipe.sources.push(value.into()),
                ["woven-flag", value] => recipe.woven_flags.push(value.into()),
                ["woven", ref words @ ..] => {
                    let woven =
                        Woven::parse(words).map_err(|why| Fault::WovenLine { place: place(), why })?;
                    recipe.woven.push(Woven { place: place(), ..woven });
                }
                _ => return Err(Fault::Recipe { path: path.into(), line: index + 1, found: line.into() }),
            }
        }
        Ok(recipe)
    }

    /// With all that another list of the same folder has.
    pub fn and(mut self, other: Recipe) -> Recipe {
        self.flags.extend(other.flags);
        self.links.extend(other.links);
        self.sources.extend(other.sources);
        self.woven.extend(other.woven);
        self.woven_flags.extend(other.woven_flags);
        self
    }

    /// A text that says where its lines are written, by the tree's own paths, wherever it lies.
    pub fn outside(&self, text: &str) -> String {
        let tree = self.folder.ancestors().nth(2).unwrap_or(&self.folder);
        text.replace(&format!("{}/", tree.display()), "")
    }

    /// Every file of the folders that hold a source, and of this one: what a source may include.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let woven = self.woven.iter().flat_map(Woven::files).map(|file| self.folder.join(file));
        let sources = self.sources.iter().map(|source| self.folder.join(source)).chain(woven);
        let mut folders: Vec<_> =
            sources.filter_map(|source| source.parent().map(Path::to_path_buf)).collect();
        folders.push(self.folder.clone());
        for folder in &mut folders {
            *folder = folder.canonicalize().map_err(failed("find", folder))?;
        }
        folders.sort();
        folders.dedup();
        let mut files = Vec::new();
        for folder in folders {
            for entry in fs::read_dir(&folder).map_err(failed("list", &folder))? {
                let path = entry.map_err(failed("list", &folder))?.path();
                let code =
                    path.extension().is_some_and(|extension| ["c", "h", "S"].iter().any(|e| extension == *e));
                if code && path.is_file() {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::toolchain::Sealer;

    #[test]
    fn a_line_of_the_list_that_means_nothing_is_named() {
        let parse = |text| Recipe::parse(Path::new("sources.txt"), PathBuf::new(), text);
        let recipe = parse("# the list\n\nflag -Os\nlink -s\nsource a.c\nsource ../b.S\n").unwrap();
        assert_eq!((recipe.flags, recipe.links), (vec!["-Os".to_string()], vec!["-s".to_string()]));
        assert_eq!(recipe.sources, ["a.c", "../b.S"]);
        let fault =
            |line, found: &str| Fault::Recipe { path: "sources.txt".into(), line, found: found.into() };
        let refused = |text| parse(text).expect_err("it is none").to_string();
        assert_eq!(refused("flag -Os\nsauce a.c"), fault(2, "sauce a.c").to_string());
        assert_eq!(refused("flag -O -s"), fault(1, "flag -O -s").to_string());
        assert_eq!(refused("source"), fault(1, "source").to_string());
    }

    #[test]
    fn a_woven_function_is_a_line_and_what_is_wrong_with_it_is_told() {
        let parse = |text: &str| Recipe::parse(Path::new("filters_x.txt"), PathBuf::new(), text);
        let line = "woven seal_transmit ascon.c:seal tx.S:tx PERIOD=SENT_BYTE WITHIN=900 with=p.S growth=3 \
                    server=adc.S:adc arguments=2,1";
        let recipe = parse(&format!("woven-flag -O3\n{line}\n")).unwrap();
        let recipe = Recipe { folder: "node".into(), ..recipe };
        let line = Line {
            sealer: Sealer::Ccm,
            divider_log2: 3,
            sent_bytes: 206,
            heard_bytes: 31,
            heard_byte_cycles: 320,
            next_sample_cycles: 13_596,
        };
        let pair = recipe.woven[0].pair(&recipe, Chip::find("atmega128").unwrap(), line);
        assert_eq!((pair.name(), recipe.woven[0].place.1), ("seal_transmit".to_owned(), 2));
        assert_eq!((pair.file, pair.host), ("node/ascon.c".into(), "seal".to_owned()));
        assert_eq!((pair.guest, pair.guest_fn), ("node/tx.S".into(), "tx".to_owned()));
        assert_eq!(pair.definitions, [("PERIOD".to_owned(), 66), ("WITHIN".to_owned(), 900)]);
        assert_eq!((pair.with, pair.flags), (vec!["node/p.S".into()], vec!["-O3".to_owned()]));
        assert_eq!(pair.servers, [("node/adc.S".into(), "adc".to_owned())]);
        assert_eq!((pair.growth, pair.host_arguments), (Some(3.0), Some(vec![2, 1])));
        // 206 bytes at f/8 take as long as a code may wait.
        let text =
            "woven seal_transmit ascon.c:seal tx.S:tx PERIOD=SENT_BYTE WITHIN=NEXT_SAMPLE server=adc.S:adc";
        let recipe = parse(text).unwrap();
        let servers =
            |line| recipe.woven[0].pair(&recipe, Chip::find("atmega128").unwrap(), line).servers.len();
        assert_eq!((servers(line), servers(Line { next_sample_cycles: 13_595, ..line })), (0, 1));

        // 31 bytes that are heard, and their first one asked for.
        let recipe =
            parse("woven open_receive ascon.c:open rx.S:rx PERIOD=HEARD_BYTE WITHIN=NEXT_SAMPLE").unwrap();
        let is_woven = |next_sample_cycles| {
            recipe.woven[0].is_for(Chip::find("atmega128").unwrap(), Line { next_sample_cycles, ..line })
        };
        assert_eq!((is_woven(14_336), is_woven(14_335)), (true, false));
        let is_met = |heard_byte_cycles| {
            let line = Line { heard_byte_cycles, next_sample_cycles: 65_000, ..line };
            recipe.woven[0].is_for(Chip::find("atmega128").unwrap(), line)
        };
        assert_eq!((is_met(640), is_met(641)), (true, false), "its first byte");

        let refused = |text: &str| parse(text).expect_err("it is none").to_string();
        for (line, words) in [
            ("woven a b.c:b", "filters_x.txt:1: expected NAME HOST:FUNCTION GUEST:FUNCTION behind `woven`"),
            ("woven a-b b.c:b c.S:c", "found `a-b`, expected a name of a C function"),
            ("woven a b.c c.S:c", "found `b.c`, expected FILE:FUNCTION"),
            ("woven a b.c:b c.S:c growth", "found `growth`, expected KEY=VALUE"),
            ("woven a b.c:b c.S:c growth=0", "found `0`, expected a number from 1 to 100"),
            ("woven a b.c:b c.S:c PERIOD=fast", "found `fast`, expected a number"),
            ("woven a b.c:b c.S:c arguments=2,17", "found `2,17`, expected 1 to 16 bytes each"),
            ("woven a b.c:b c.S:c chip=6502", "found `6502`, expected `atmega128` or `atmega328p`"),
            ("woven a b.c:b c.S:c size=3", "found `size`, expected `server`, `with`, `growth`"),
        ] {
            assert!(refused(line).contains(words), "{line}: {}", refused(line));
        }
    }

    proptest! {
        #[test]
        fn any_list_has_an_answer(text in ".*") {
            let _ = Recipe::parse(Path::new("sources.txt"), PathBuf::new(), &text);
        }
    }
}
