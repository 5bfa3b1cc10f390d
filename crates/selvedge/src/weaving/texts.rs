//! What is woven, as assembly text: `.s` as it is, `.S` through the preprocessor, `.c` and `.cpp` through the compiler.
//!
//! Owns: which file is which, the flags that C and C++ are compiled with, and where in them their assembly comes from.
//! Running the compiler is `toolchain`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, WeaveFault};
use crate::toolchain::{Compiler, Language};
use ::weave::chip;
use ::weave::source::Source;

/// What C is compiled with before the flags of the command line: code that no linker changes later.
pub const C_FLAGS: [&str; 3] = ["-std=gnu99", "-O2", "-fno-jump-tables"];

/// The same for C++, as Arduino's is.
const CPP_FLAGS: [&str; 3] = ["-std=gnu++11", "-O2", "-fno-jump-tables"];

/// How files become text.
pub struct Reader<'a> {
    /// The chip, as avr-gcc calls it, where a file does not say it.
    pub chip: Option<&'a str>,
    /// More flags for C and C++.
    pub flags: &'a [String],
    /// Macros.
    pub definitions: &'a [(String, i64)],
}

/// A file as assembly text.
pub struct Text {
    /// The file.
    pub path: PathBuf,
    /// What the user wrote.
    pub written: String,
    /// What is woven.
    pub assembly: Source,
    /// What made the one of the other.
    pub made_by: Option<String>,
}

impl Text {
    /// Assembly that is woven as it is written.
    ///
    /// # Errors
    /// When it cannot be cut into statements.
    pub fn plain(path: &Path, written: String) -> Result<Text, Error> {
        let assembly = Source::parse(&path.display().to_string(), &written)?;
        Ok(Text { path: path.into(), written, assembly, made_by: None })
    }
}

impl Reader<'_> {
    /// Reads one file.
    ///
    /// # Errors
    /// When it cannot be read, compiled, or cut into statements.
    pub fn text(&self, path: &Path) -> Result<Text, Error> {
        let bytes = fs::read(path).map_err(|source| Error::io("read", path, source))?;
        let written = String::from_utf8_lossy(&bytes).into_owned();
        let Some(language) = language(path)? else { return Text::plain(path, written) };
        let chip = self.chip.or_else(|| chip_said(&written));
        let chip = chip.ok_or_else(|| Error::Woven(WeaveFault::WhichChip { path: path.into() }))?;
        let compiler = Compiler::find(&env::var_os("PATH").unwrap_or_default())?;
        let mut flags = self.flags(language);
        let (mut text, command) = compiler.assembly(path, language, chip, &flags)?;
        if language != Language::Preprocessed {
            flags.push("-gdwarf-2".to_owned());
            let (debugged, _) = compiler.assembly(path, language, chip, &flags)?;
            text = with_lines(&text, &debugged);
        }
        let assembly = Source::parse(&path.display().to_string(), &text)?;
        Ok(Text { path: path.into(), written, assembly, made_by: Some(command) })
    }

    /// What a file that is compiled or preprocessed is given.
    fn flags(&self, language: Language) -> Vec<String> {
        let own: &[&str] = match language {
            Language::C => &C_FLAGS,
            Language::Cpp => &CPP_FLAGS,
            Language::Preprocessed => &[],
        };
        let definitions = self.definitions.iter().map(|(name, value)| format!("-D{name}={value}"));
        let more = self.flags.iter().filter(|_| language != Language::Preprocessed).cloned();
        own.iter().map(|&flag| flag.to_owned()).chain(definitions).chain(more).collect()
    }

    /// What the preprocessor makes of a file, which [`Reader::text`] has read; nothing of assembly that is read as it is.
    ///
    /// # Errors
    /// When it cannot be preprocessed.
    pub fn preprocessed(&self, path: &Path) -> Result<Preprocessed, Error> {
        let (Some(language), Some(chip)) = (language(path)?, self.chip) else {
            return Ok(Preprocessed::default());
        };
        let compiler = Compiler::find(&env::var_os("PATH").unwrap_or_default())?;
        let text = compiler.macros(path, language, chip, &self.flags(language))?;
        let named = |word: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(word));
            let names = lines.filter_map(|rest| rest.split([' ', '(']).next());
            names.map(str::to_owned).collect()
        };
        let (expanded, tested) = (named("#define "), named("#undef "));
        Ok(Preprocessed { expanded, tested, files: files(&text) })
    }

    /// The files that a text comes from: its own, and all that its lines say they were written in.
    ///
    /// # Errors
    /// When it cannot be preprocessed.
    pub fn sources(&self, text: &Text) -> Result<Vec<PathBuf>, Error> {
        let mut sources = vec![text.path.clone()];
        if text.made_by.is_some() {
            sources.extend(self.preprocessed(&text.path)?.files);
        }
        sources.extend(files(text.assembly.text()));
        Ok(sources)
    }
}

/// What a file's preprocessing asks for.
#[derive(Default)]
pub struct Preprocessed {
    /// Names that stand for something.
    pub expanded: Vec<String>,
    /// Names that it asks for and that stand for nothing there.
    pub tested: Vec<String>,
    /// Files that are included, and its own.
    pub files: BTreeSet<PathBuf>,
}

/// The files that the lines of a text were written in: `# 12 "sum.h"` before them, or `.file "sum.c"`.
fn files(text: &str) -> BTreeSet<PathBuf> {
    let named = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix(".file"))?;
        let (number, name) = rest.split_once('"')?;
        let is_number = number.trim().bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Some(PathBuf::from(name.split_once('"')?.0)))?
    };
    text.lines().filter_map(named).collect()
}

/// What a file is written in, by its name; `None` for assembly that is read as it is.
fn language(path: &Path) -> Result<Option<Language>, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("s") => Ok(None),
        Some("S") => Ok(Some(Language::Preprocessed)),
        Some("c") => Ok(Some(Language::C)),
        Some("cpp") => Ok(Some(Language::Cpp)),
        _ => Err(Error::Woven(WeaveFault::NotSource { path: path.into() })),
    }
}

/// The chip that the directives of a text name before it is compiled, where they name one.
fn chip_said(written: &str) -> Option<&str> {
    let said = ["@weave chip ", "\"chip "].into_iter().flat_map(|words| written.match_indices(words));
    let names = said.filter_map(|(at, words)| {
        let name = written[at + words.len()..].split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        chip::core(name).map(|_| name)
    });
    let names: BTreeSet<&str> = names.collect();
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}

/// What a compiler made of C, with a marker of the line in C above each instruction, as the preprocessor would write
/// it. The lines are those of the same text with debug information, which we leave out: the assembler makes it from
/// markers. Where the two have other instructions, the text has no markers.
fn with_lines(text: &str, debugged: &str) -> String {
    let mut files = BTreeMap::new();
    let (mut mnemonics, mut places) = (Vec::new(), Vec::new());
    let mut place = None;
    for line in debugged.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some(".file") => {
                let parsed = line.split_once('"').and_then(|(number, name)| {
                    let number: u32 = number.trim().strip_prefix(".file")?.trim().parse().ok()?;
                    Some((number, name.trim_end().strip_suffix('"')?))
                });
                files.extend(parsed);
            }
            Some(".loc") => {
                let mut numbers = words.map_while(|word| word.parse::<u32>().ok());
                place = numbers.next().zip(numbers.next());
            }
            _ => {}
        }
        if let Some(mnemonic) = mnemonic(line) {
            mnemonics.push(mnemonic);
            places.push(place);
        }
    }
    if !text.lines().filter_map(mnemonic).eq(mnemonics) {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut places = places.into_iter();
    for line in text.lines() {
        if mnemonic(line).is_some()
            && let Some((file, number)) = places.next().flatten()
            && let Some(file) = files.get(&file)
        {
            writeln!(out, "# {number} \"{file}\"").expect("a string takes everything");
        }
        writeln!(out, "{line}").expect("a string takes everything");
    }
    out
}

/// The first word of a line with an instruction.
fn mnemonic(line: &str) -> Option<&str> {
    let word = line.split_whitespace().next()?;
    let is_instruction =
        line.starts_with(char::is_whitespace) && word.bytes().all(|b| b.is_ascii_alphabetic());
    is_instruction.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_get_the_lines_of_the_text_with_debug_information() {
        let text = "f:\n\tmov r24,r22\n.L2:\n\tret\n";
        let debugged =
            "\t.file 1 \"a.c\"\nf:\n.LFB0:\n\t.loc 1 3 0\n\tmov r24,r22\n.L2:\n\t.loc 1 5 0\n\tret\n";
        let marked = "f:\n# 3 \"a.c\"\n\tmov r24,r22\n.L2:\n# 5 \"a.c\"\n\tret\n";
        assert_eq!(with_lines(text, debugged), marked);
        assert_eq!(with_lines(text, &debugged.replace("\tret", "\tnop\n\tret")), text);
    }
}
