//! An export of `selvedge collect read`: a file that appears whole or not at all, and how far it is.

use std::path::{Path, PathBuf};

use collect::export::{Export, Format, Target, Written, sink};
use indicatif::{ProgressBar, ProgressStyle};
use report::row::{Clock, Experiment, Row};
use selvedge::error::{Error, ExportFault};
use selvedge::link::catalogue::catalogue;
use selvedge::whole::WholeFile;

use super::read::{Event, Source};
use crate::output::Output;
use crate::place::Opened;

/// A file that is exported to.
pub struct File {
    path: PathBuf,
    folder: PathBuf,
    format: Format,
    whole: WholeFile,
}

impl File {
    /// Begins the file, in a format or in the one that its name says.
    pub fn begin(path: &Path, format: Option<Format>) -> Result<File, Error> {
        let refused = |fault| Error::Export { path: path.to_owned(), fault };
        let format =
            format.or_else(|| Format::of_file(path)).ok_or_else(|| refused(ExportFault::Extension))?;
        if path.is_file() || path.is_dir() {
            return Err(refused(ExportFault::Exists));
        }
        let whole = WholeFile::begin(path)?;
        if whole.beside().is_none() && format == Format::Hdf5 {
            return Err(refused(ExportFault::Stream(format)));
        }
        // A device's folder is no place for anything else.
        let beside = whole.beside().and_then(Path::parent).map(Path::to_owned);
        let folder = beside.unwrap_or_else(std::env::temp_dir);
        Ok(File { path: path.to_owned(), folder, format, whole })
    }

    /// Where there is room for what is sorted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what the source has, and says what it was.
    pub fn write(self, source: Source, opened: &Opened, output: &Output) -> Result<(), Error> {
        let mut export = Export::new(&self.folder);
        let bar = progress("segments read");
        source.read(|event| {
            if let Event::Record(record, (read, all)) = event {
                bar.set_length(all);
                bar.set_position(read);
                export.push(*record)?;
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        let bar = progress("frames written");
        bar.set_length(export.records());
        let writer = Box::new(std::io::BufWriter::new(self.whole.writer()?));
        let target = match self.whole.beside() {
            Some(path) => Target::File(path, writer),
            None => Target::Stream(writer),
        };
        let failed = |cause| Error::io("write", &self.path, cause);
        let sink = sink(self.format, target).map_err(failed)?.expect("the format was asked for a stream");
        let written =
            export.finish(&catalogue(&opened.deployment), sink, |records| bar.set_position(records))?;
        let is_stream = self.whole.beside().is_none();
        self.whole.finish()?;
        bar.finish_and_clear();
        // A stream may be standard output, where nothing else belongs then.
        if is_stream {
            return Ok(());
        }
        output.rows("export", &rows(&opened.deployment.name, &written))
    }
}

/// A bar on stderr, where that is a terminal.
fn progress(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}, {{eta}} left"));
    ProgressBar::new(0).with_style(style.expect("the template is ours"))
}

fn rows(deployment: &str, written: &Written) -> Vec<Row> {
    let experiment = Experiment::new(deployment, "selvedge collect read");
    let Written { channels, runs, gaps, records, samples } = *written;
    let counts = [("channels", channels), ("runs", runs), ("gaps", gaps), ("frames", records)];
    let counts = counts.into_iter().chain([("samples", samples)]);
    counts.map(|(metric, value)| experiment.row("export", metric, value, "", Clock::None)).collect()
}
