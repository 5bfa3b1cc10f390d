//! What is woven, as assembly text: `.s` as it is, `.S` through the preprocessor, `.c` through the compiler.
//!
//! Owns: which file is which, and the flags that C is compiled with. Running the compiler is `toolchain`'s.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use ::weave::source::Source;
use selvedge::error::{Error, WeaveFault};
use selvedge::toolchain::{Compiler, Language};

/// What C is compiled with before the flags of the command line: code that no linker changes later.
pub const C_FLAGS: [&str; 3] = ["-std=gnu99", "-O2", "-fno-jump-tables"];

/// How files become text.
pub struct Reader<'a> {
    /// The chip, as avr-gcc calls it.
    pub chip: Option<&'a str>,
    /// More flags for C.
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
        if language == Language::C {
            flags.splice(0..0, C_FLAGS.map(str::to_owned));
            flags.extend(self.flags.iter().cloned());
        }
        let (text, command) = compiler.assembly(path, language, chip, &flags)?;
        let assembly = Source::parse(&format!("{name} as assembly"), &text)?;
        Ok(Text { path: path.into(), written, assembly, made_by: Some(command) })
    }
}
