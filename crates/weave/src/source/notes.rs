//! Puts the directives of a text onto its instructions and functions.
//!
//! Owns: what a comment or record stands on. A comment on a line with an instruction stands on that, any other on
//! the next one of its section; a record on what its address names. One that speaks of a function stands on the
//! function that is open there, or that the next instruction belongs to.

use std::collections::HashMap;
use std::ops::Range;

use super::functions::Outline;
use super::layout::{Note, Record};
use super::symbols::{Target, Where, World};
use crate::directive::{Directive, Parameters};
use crate::error::{DirectiveFault, Error};
use crate::program::{Origin, Point, Program, Written};

/// Reads the directives of the functions whose points are given, and puts them in their places.
pub(super) fn attach(
    world: &World,
    outline: &Outline,
    points: &HashMap<Where, Point>,
    parameters: &Parameters,
    program: &mut Program,
) -> Result<(), Error> {
    for unit in 0..world.units.len() {
        for standing in standings(world, outline, unit)? {
            let Some(entry) = points.get(&standing.function) else { continue };
            let directive = Directive::parse(standing.text, parameters)
                .map_err(|why| fault(world, unit, &standing.span, standing.text, why))?;
            let line = world.units[unit].source.line_of(standing.span.start);
            let origin = Origin::Line { text: unit, line };
            let of_function = directive.is_of_function();
            let written = Written { directive, origin };
            if of_function {
                let function = program.functions.iter_mut().find(|function| function.entry == *entry);
                function.expect("an entry is a function's").directives.push(written);
                continue;
            }
            match standing.instruction.and_then(|at| points.get(&at)) {
                Some(point) => program.code[*point].directives.push(written),
                None => return Err(Error::NothingBehind { at: world.place(unit, &standing.span) }),
            }
        }
    }
    Ok(())
}

/// The texts of the `targets` directives of a function.
pub(super) fn target_texts(world: &World, outline: &Outline, function: Where) -> Vec<String> {
    // A note without a function is refused when all are attached.
    let standings = standings(world, outline, function.unit).unwrap_or_default();
    let own = standings.into_iter().filter(|standing| standing.function == function);
    own.map(|standing| standing.text.to_owned()).filter(|text| text.starts_with("targets ")).collect()
}

/// What a directive stands on.
struct Standing<'w> {
    text: &'w str,
    span: Range<usize>,
    function: Where,
    /// None when nothing is behind it in its function.
    instruction: Option<Where>,
}

fn standings<'w>(world: &'w World, outline: &Outline, unit: usize) -> Result<Vec<Standing<'w>>, Error> {
    let layout = &world.units[unit];
    let mut all = Vec::new();
    for note in &layout.notes {
        let text = layout.source.clean(&note.text);
        let Some((function, instruction)) = place_of(world, outline, unit, note)? else { continue };
        all.push(Standing { text, span: note.text.clone(), function, instruction });
    }
    for record in &layout.records {
        let at = address_of(world, unit, record)?;
        let Some((function, _)) = outline.owner(at) else { continue };
        all.push(Standing {
            text: &record.text,
            span: record.quoted.clone(),
            function,
            instruction: Some(at),
        });
    }
    Ok(all)
}

/// The function and instruction of a comment; nothing in code that belongs to no function.
fn place_of(
    world: &World,
    outline: &Outline,
    unit: usize,
    note: &Note,
) -> Result<Option<(Where, Option<Where>)>, Error> {
    let at = Where { unit, section: note.section, slot: note.slot };
    let slots = world.units[unit].sections[note.section].slots.len();
    let open = || {
        let before = Where { slot: note.slot.checked_sub(1)?, ..at };
        let (start, stretch) = outline.owner(before)?;
        let closed = stretch.closed.is_some_and(|sequence| sequence < note.sequence);
        let is_last = note.slot == stretch.end;
        // Where no `.size` is written, the next label ends a function and not the last instruction.
        let still = !closed && (stretch.closed.is_some() || note.slot == slots);
        (is_last && still && !note.trails).then_some(start)
    };
    if let Some(start) = open() {
        return Ok(Some((start, None)));
    }
    match outline.owner(at) {
        Some((start, _)) => Ok(Some((start, Some(at)))),
        None if note.slot < slots => Ok(None),
        None => Err(Error::StrayDirective { at: world.place(unit, &note.text) }),
    }
}

fn address_of(world: &World, unit: usize, record: &Record) -> Result<Where, Error> {
    let source = world.units[unit].source;
    match world.target(unit, source.clean(&record.address), record.sequence, None)? {
        Target::Here(at) => Ok(at),
        Target::Elsewhere(_) => Err(Error::Record { at: source.place(&record.address) }),
    }
}

/// An error with the place of the fault in the text.
fn fault(world: &World, unit: usize, span: &Range<usize>, text: &str, why: DirectiveFault) -> Error {
    // A record with escapes is longer in the text than what it says: mark all of it.
    let marked = if text.len() == span.len() {
        span.start + why.at.start..span.start + why.at.end
    } else {
        span.clone()
    };
    Error::Directive { at: world.place(unit, &marked), why: Box::new(why) }
}
