//! How the problems of a deployment are shown: for a person in their text, for a machine as rows.
//!
//! A problem is shown as `error: FILE:LINE: what was found and what was expected`, the source line with
//! carets under the value, and a `help:` line where the fix is known. The words are `problem`'s.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::problem::Problem;

/// Every problem of one deployment, with the text that they lie in.
#[derive(Debug)]
pub struct Problems {
    path: PathBuf,
    text: String,
    /// In the order of the text.
    list: Vec<Problem>,
}

/// A problem as machines read it.
#[derive(Serialize)]
struct Row {
    file: String,
    line: usize,
    column: usize,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Problems {
    /// Sorts `list` by place and drops repetitions: a shared default is read once for each node.
    pub(super) fn new(path: PathBuf, text: String, mut list: Vec<Problem>) -> Self {
        list.sort_by_key(|problem| (problem.span.start, problem.span.end));
        let mut unique: Vec<Problem> = Vec::with_capacity(list.len());
        for problem in list {
            if !unique.contains(&problem) {
                unique.push(problem);
            }
        }
        Problems { path, text, list: unique }
    }

    /// One JSON object for each problem: file, line, column, message and help.
    pub fn json(&self) -> serde_json::Value {
        let row = |problem: &Problem| Row {
            file: self.path.display().to_string(),
            line: line(&self.text, problem.span.start),
            column: column(&self.text, problem.span.start),
            message: problem.kind.to_string(),
            help: problem.kind.help(),
        };
        serde_json::json!(self.list.iter().map(row).collect::<Vec<_>>())
    }

    fn write(&self, problem: &Problem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = line(&self.text, problem.span.start);
        if problem.span.is_empty() {
            // The file as a whole lacks something.
            writeln!(f, "error: {}: {}", self.path.display(), problem.kind)?;
        } else {
            writeln!(f, "error: {}:{number}: {}", self.path.display(), problem.kind)?;
            self.quote(problem, number, f)?;
        }
        match problem.kind.help() {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }

    /// The source line, with carets under what the problem is about.
    fn quote(&self, problem: &Problem, number: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = line_start(&self.text, problem.span.start);
        let source = self.text[start..].lines().next().unwrap_or("");
        let before = &source[..source.floor_char_boundary(problem.span.start - start)];
        let end = source.floor_char_boundary((problem.span.end - start).min(source.len()));
        let carets = source[before.len()..end.max(before.len())].chars().count().max(1);
        // Tabs are kept so that the carets stand under the value; other control characters must not
        // reach a terminal.
        let clean: String =
            source.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
        let margin: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "  {number} | {clean}")?;
        writeln!(f, "  {:1$} | {margin}{2}", "", number.to_string().len(), "^".repeat(carets))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            self.write(problem, f)?;
        }
        let many = if self.list.len() == 1 { "problem" } else { "problems" };
        write!(f, "error: {}: {} {many}, nothing was run", self.path.display(), self.list.len())
    }
}

/// The number of the line that byte `at` lies in, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn column(text: &str, at: usize) -> usize {
    let start = line_start(text, at);
    text[start..text.floor_char_boundary(at)].chars().count() + 1
}

fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |newline| newline + 1)
}
