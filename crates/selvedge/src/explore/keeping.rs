//! The folder of a ranking, in which an interrupted run goes on.
//!
//! Owns the file of lines: what is found there and what is added, each once. The lines themselves are the tool's.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ::explore::constant::Verdict;
use ::explore::estimate::{Row, State};
use ::explore::kept::{self, Kept, Provenance};
use selvedge::error::Error;

/// What is kept in the folder of a run.
const ROWS: &str = "rows.ndjson";

/// The lines in a folder, and what takes more of them.
pub struct Keeping {
    kept: Kept,
    path: PathBuf,
    file: Mutex<File>,
}

/// The states of a subject that keeps something, or not.
pub fn states(keeps: bool) -> &'static [State] {
    if keeps { &[State::Cold, State::Warm] } else { &[State::Cold] }
}

impl Keeping {
    /// Reads what is there, cuts off what an interruption left of a line, and goes on behind it.
    pub fn begin(folder: &Path, provenances: &[Provenance]) -> Result<Keeping, Error> {
        fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))?;
        let path = folder.join(ROWS);
        let failed = |action| {
            let path = path.clone();
            move |source| Error::io(action, &path, source)
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).read(true).open(&path).map_err(failed("open"))?;
        let text = fs::read_to_string(&path).map_err(failed("read"))?;
        let (kept, whole_bytes) = kept::read(&text, provenances)
            .map_err(|error| Error::Explore { path: Some(path.clone()), error })?;
        file.set_len(whole_bytes as u64).map_err(failed("shorten"))?;
        Ok(Keeping { kept, path, file: Mutex::new(file) })
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
        let mut file = self.file.lock().expect("a worker that panics ends the process");
        file.write_all(lines.as_bytes()).map_err(|source| Error::io("write", &self.path, source))
    }
}
