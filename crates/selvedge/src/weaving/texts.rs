//! What is woven, as assembly text: `.s` as it is, `.S` through the preprocessor, `.c` and `.cpp` through the compiler.
//!
//! Owns: which file is which, the flags that C and C++ are compiled with, and where in them their assembly comes from.
//! Running the compiler is `toolchain`'s.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, WeaveFault};
use crate::toolchain::{Compiler, Language};
use ::weave::source::Source;

/// What C is compiled with before the flags of the command line: code that no linker changes later.
pub const C_FLAGS: [&str; 3] = ["-std=gnu99", "-O2", "-fno-jump-tables"];

/// The same for C++, as Arduino's is.
const CPP_FLAGS: [&str; 3] = ["-std=gnu++11", "-O2", "-fno-jump-tables"];

/// How files become text.
pub struct Reader<'a> {
    /// The chip, as avr-gcc calls it.
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

impl Reader<'_> {
    /// Reads one file.
    ///
    /// # Errors
    /// When it cannot be read, compiled, or cut into statements.
    pub fn text(&self, path: &Path) -> Result<Text, Error> {
        let bytes = fs::read(path).map_err(|source| Error::io("read", path, source))?;
        let written = String::from_utf8_lossy(&bytes).into_owned();
        let name = path.display().to_string();
        let language = match path.extension().and_then(|extension| extension.to_str()) {
            Some("s") => None,
            Some("S") => Some(Language::Preprocessed),
            Some("c") => Some(Language::C),
            Some("cpp") => Some(Language::Cpp),
            _ => return Err(Error::Woven(WeaveFault::NotSource { path: path.into() })),
        };
        let Some(language) = language else {
            let assembly = Source::parse(&name, &written)?;
            return Ok(Text { path: path.into(), written, assembly, made_by: None });
        };
        let chip = self.chip.ok_or_else(|| Error::Woven(WeaveFault::WhichChip { path: path.into() }))?;
        let compiler = Compiler::find(&env::var_os("PATH").unwrap_or_default())?;
        let mut flags: Vec<String> =
            self.definitions.iter().map(|(name, value)| format!("-D{name}={value}")).collect();
        let own = match language {
            Language::C => Some(C_FLAGS),
            Language::Cpp => Some(CPP_FLAGS),
            Language::Preprocessed => None,
        };
        if let Some(own) = own {
            flags.splice(0..0, own.map(str::to_owned));
            flags.extend(self.flags.iter().cloned());
        }
        let (mut text, command) = compiler.assembly(path, language, chip, &flags)?;
        if language != Language::Preprocessed {
            flags.push("-gdwarf-2".to_owned());
            let (debugged, _) = compiler.assembly(path, language, chip, &flags)?;
            text = with_lines(&text, &debugged);
        }
        let assembly = Source::parse(&name, &text)?;
        Ok(Text { path: path.into(), written, assembly, made_by: Some(command) })
    }
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
