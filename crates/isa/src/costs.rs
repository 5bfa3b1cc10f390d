//! What takes how many cycles on a core, as a data file tells it.
//!
//! Owns: the form of such files. A line is `name,cycles,source,comment`; every name stands once and has a source, which
//! is `recalled` where nobody had it open, and a comment tells what else the number may be. Which names there are, and
//! when a cycle is spent, is for the room of the processor.

use crate::error::TimingError;

/// The cycles of each of these names, in their order. What is among `waits` a core may not have at all; everything else
/// takes a cycle at least.
///
/// # Errors
/// The first line that is wrong, or what no line tells.
pub fn read(text: &str, names: &[&'static str], waits: &[&str]) -> Result<Vec<u8>, TimingError> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header != "name,cycles,source,comment" {
        return Err(TimingError::Header { found: header.to_owned() });
    }
    let mut told: Vec<Option<u8>> = vec![None; names.len()];
    for (index, text) in lines.enumerate() {
        let line = index + 2;
        let (name, cycles) = cells(text, line, waits)?;
        let at = names.iter().position(|&known| known == name);
        let at = at.ok_or_else(|| TimingError::Name { line, found: name.to_owned() })?;
        if told[at].replace(cycles).is_some() {
            return Err(TimingError::Twice { line, found: name.to_owned() });
        }
    }
    let missing = |index: usize| TimingError::Missing { name: names[index] };
    told.into_iter().enumerate().map(|(index, cycles)| cycles.ok_or_else(|| missing(index))).collect()
}

/// Name and cycles of a line.
fn cells<'a>(text: &'a str, line: usize, waits: &[&str]) -> Result<(&'a str, u8), TimingError> {
    let cells: Vec<&str> = text.splitn(4, ',').map(str::trim).collect();
    let &[name, cycles, source, _comment] = cells.as_slice() else {
        return Err(TimingError::Cells { line, found: cells.len() });
    };
    if source.is_empty() {
        return Err(TimingError::Source { line });
    }
    let least = u8::from(!waits.contains(&name));
    let told = cycles.parse().ok().filter(|&told| told >= least);
    let told = told.ok_or_else(|| TimingError::Cycles { line, found: cycles.to_owned(), least })?;
    Ok((name, told))
}
