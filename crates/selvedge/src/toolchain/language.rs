//! What the compiler makes of one file that is woven, and what it would link it with.
//!
//! Owns: in which languages such a file is written, and how the compiler is asked for its assembly text, its macros and the
//! library's archives. Which flags a file gets is `weaving::texts`'s.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{COMPILER, Compiler, run};
use crate::error::Error;

/// What a file that becomes assembly text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Assembly for the preprocessor.
    Preprocessed,
}

impl Language {
    /// As the compiler calls it.
    fn name(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cpp => "c++",
            Language::Preprocessed => "assembler-with-cpp",
        }
    }
}

impl Compiler {
    /// The assembly text that the compiler or the preprocessor makes of a file, and the command that does it.
    ///
    /// # Errors
    /// [`Fault::Compile`](super::Fault::Compile) for what is wrong with the source, [`Error::Io`] for the rest.
    pub fn assembly(
        &self,
        source: &Path,
        language: Language,
        chip: &str,
        flags: &[String],
    ) -> Result<(String, String), Error> {
        let way = ["-x", language.name(), if language == Language::Preprocessed { "-E" } else { "-S" }];
        let machine = format!("-mmcu={chip}");
        let mut command = Command::new(&self.program);
        command.arg(&machine).args(flags).args(way).args(["-o", "-"]).arg(source);
        let text = run(&mut command, &source.display().to_string())?;
        let mut words = vec![COMPILER, &machine];
        words.extend(flags.iter().map(String::as_str));
        words.extend(way);
        Ok((text, format!("{} {}", words.join(" "), source.display())))
    }

    /// What the preprocessor makes of a file, with a line `#define NAME …` where a macro is used that there is, and a line
    /// `#undef NAME` where one is asked for that there is not.
    ///
    /// # Errors
    /// As for [`Compiler::assembly`].
    pub fn macros(
        &self,
        source: &Path,
        language: Language,
        chip: &str,
        flags: &[String],
    ) -> Result<String, Error> {
        let mut command = Command::new(&self.program);
        command.arg(format!("-mmcu={chip}")).args(flags).args([
            "-x",
            language.name(),
            "-E",
            "-dU",
            "-o",
            "-",
        ]);
        run(command.arg(source), &source.display().to_string())
    }

    /// The archives that it links every program for `chip` with, in its order; the last one, of what only this chip has,
    /// where it brings that.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be run.
    pub fn archives(&self, chip: &str) -> Result<Vec<PathBuf>, Error> {
        let ask = |option: &str| {
            let mut command = Command::new(&self.program);
            let found = run(command.arg(format!("-mmcu={chip}")).arg(option), "its library")?;
            Ok(PathBuf::from(found.trim_end()))
        };
        let options = ["-print-libgcc-file-name", "-print-file-name=libm.a", "-print-file-name=libc.a"];
        let mut archives = options.into_iter().map(ask).collect::<Result<Vec<PathBuf>, Error>>()?;
        // Of a file that it does not find the compiler prints the name alone.
        archives
            .extend(Some(ask(&format!("-print-file-name=lib{chip}.a"))?).filter(|path| path.is_absolute()));
        Ok(archives)
    }
}
