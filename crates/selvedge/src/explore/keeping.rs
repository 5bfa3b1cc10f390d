//! Files of lines in which an interrupted run goes on: the rows of a ranking, in its folder, and what was measured, beside
//! the file that a run is to end in.
//!
//! Owns what is found there and what is added, each once. The lines themselves are the tool's.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ::explore::constant::Verdict;
use ::explore::estimate::{Row, State};
use ::explore::image::Image;
use ::explore::kept::{self, Kept, Provenance};
use ::explore::measured::{self, Measurements};
use isa::rv32::Profile;
use selvedge::error::Error;

/// What is kept in the folder of a run.
const ROWS: &str = "rows.ndjson";

/// What a file is called behind its name while measurements for it are kept.
const MEASURED: &str = ".part";

/// A file that lines are added to.
struct Lines {
    path: PathBuf,
    file: Mutex<File>,
}

impl Lines {
    /// Opens it, and what `read` makes of what is there; cuts off what an interruption left of a line.
    fn open<T>(
        path: PathBuf,
        read: impl FnOnce(&str) -> Result<(T, usize), ::explore::Error>,
    ) -> Result<(Lines, T), Error> {
        let failed = |action| {
            let path = path.clone();
            move |source| Error::io(action, &path, source)
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).read(true).open(&path).map_err(failed("open"))?;
        // Another run's lines are not to be cut.
        file.try_lock().map_err(|error| failed("lock")(error.into()))?;
        let text = fs::read_to_string(&path).map_err(failed("read"))?;
        let (kept, whole_bytes) =
            read(&text).map_err(|error| Error::Explore { path: Some(path.clone()), error })?;
        file.set_len(whole_bytes as u64).map_err(failed("shorten"))?;
        Ok((Lines { path, file: Mutex::new(file) }, kept))
    }

    fn add(&self, lines: &str) -> io::Result<()> {
        self.file.lock().expect("a worker that panics ends the process").write_all(lines.as_bytes())
    }
}

/// Where what a run measures is kept until the file is there that it ends in.
pub struct Part {
    path: PathBuf,
}

impl Part {
    /// That of a file; none of a pipe or a device.
    pub fn of(out: Option<&PathBuf>) -> Option<Part> {
        let out = out.filter(|out| out.is_file() || !out.exists())?;
        let mut path = out.clone().into_os_string();
        path.push(MEASURED);
        Some(Part { path: path.into() })
    }

    /// What an earlier run measured with this program on this processor, and what takes more of it.
    pub fn measurements(&self, image: &Image, profile: Profile) -> Result<Measurements<'static>, Error> {
        let tool = env::current_exe().and_then(fs::read);
        let tool = tool.map_err(|source| Error::io("read", Path::new("this program"), source))?;
        let (head, constants) = (measured::head(image, profile.name(), &tool), image.constants.len());
        let (lines, (known, is_new)) = Lines::open(self.path.clone(), |text| {
            let (known, whole_bytes) = measured::read(text, &head, constants)?;
            Ok(((known, whole_bytes == 0), whole_bytes))
        })?;
        if is_new {
            lines.add(&head).map_err(|source| Error::io("write", &self.path, source))?;
        }
        Ok(Measurements::new(known, move |line| {
            lines.add(line).map_err(|error| ::explore::Error::Io {
                action: "write",
                path: lines.path.clone(),
                why: error.to_string(),
            })
        }))
    }

    /// Removes it: the file is there.
    pub fn end(self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &self.path, source))
            }
            _ => Ok(()),
        }
    }
}

/// The lines in a folder, and what takes more of them.
pub struct Keeping {
    kept: Kept,
    lines: Lines,
}

/// The states of a subject that keeps something, or not.
pub fn states(keeps: bool) -> &'static [State] {
    if keeps { &[State::Cold, State::Warm] } else { &[State::Cold] }
}

impl Keeping {
    /// Reads what is there, cuts off what an interruption left of a line, and goes on behind it.
    pub fn begin(folder: &Path, provenances: &[Provenance]) -> Result<Keeping, Error> {
        fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))?;
        let (lines, kept) = Lines::open(folder.join(ROWS), |text| kept::read(text, provenances))?;
        Ok(Keeping { kept, lines })
    }

    /// What is kept of a subject by its name: its cold row, and the warm one if it has two.
    pub fn rows(&self, name: &str, keeps: bool, size: u32) -> Option<Vec<Row>> {
        let row = |state: &State| self.kept.rows.get(&(name.to_owned(), size, *state)).cloned();
        states(keeps).iter().map(row).collect()
    }

    /// What following secrets through a subject came to.
    pub fn verdicts(&self, name: &str, keeps: bool, size: u32) -> Option<Vec<Verdict>> {
        let verdict = |state: &State| self.kept.verdicts.get(&(name.to_owned(), size, *state)).cloned();
        states(keeps).iter().map(verdict).collect()
    }

    /// Keeps all rows of a subject that are not there yet.
    pub fn keep(&self, rows: &[Row], provenance: &Provenance) -> Result<(), Error> {
        let is_new = |row: &&Row| !self.kept.rows.contains_key(&(row.subject.clone(), row.size, row.state));
        self.add(rows.iter().filter(is_new).map(|row| kept::line(row, provenance)).collect())
    }

    /// Keeps what following secrets came to, cold and warm, as far as it is not there yet.
    pub fn keep_verdicts(&self, verdicts: &[Verdict], provenance: &Provenance) -> Result<(), Error> {
        let of = verdicts.iter().zip(states(true)).filter(|(verdict, state)| {
            !self.kept.verdicts.contains_key(&(verdict.followed.clone(), verdict.followed_size, **state))
        });
        self.add(of.map(|(verdict, state)| kept::verdict_line(verdict, *state, provenance)).collect())
    }

    fn add(&self, lines: String) -> Result<(), Error> {
        self.lines.add(&lines).map_err(|source| Error::io("write", &self.lines.path, source))
    }
}
