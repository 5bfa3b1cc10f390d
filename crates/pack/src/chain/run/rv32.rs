//! Putting an image of RV32IM behind a chain, and running it under Linux' calls.
//!
//! Owns: what differs from SPARC's. What the core and its surroundings do is `isa::rv32`'s.

use isa::rv32::{Fault, Files, Memory, Region, Spent, User, user};
use isa::{Cycles, Observer};

use super::{End, Outcome, Protection, Settings, build, constants, lines, variables};
use crate::chain::bus::{Chain, Rv32};
use crate::chain::fill::Fill;
use crate::chain::onfill::Lines;
use crate::code::onfill::stored::seen;
use crate::error::RunError;
use crate::image::Image;

/// An image under Linux' calls, about to begin.
///
/// # Errors
/// What cannot be built, and what does not fit.
pub fn under_linux(
    image: &Image,
    protection: &Protection,
    settings: &Settings,
    arguments: &[&str],
    files: Files,
    user: user::Settings,
) -> Result<User<Chain<Lines, Rv32>>, RunError> {
    let fill = lines(image, protection, settings)?;
    let image = &*seen(image)?;
    let read_only = constants(image).map(|(first, bytes)| Region { first, bytes, writable: false });
    let regions = variables(image).into_iter().chain(read_only).collect();
    let (mut regions, start) = user::furnish(regions, image.entry, arguments, &user)?;
    regions.retain(|region| region.writable);
    let chain = build(image, fill, Memory::new(regions, 0, 0), settings)?;
    Ok(User::with_bus(chain, start, files, user.timing))
}

/// Runs an image under Linux' calls, at most until a cycle.
pub fn finish<F: Fill, O: Observer>(
    program: &mut User<Chain<F, Rv32>>,
    until: Cycles,
    o: &mut O,
) -> Outcome<Spent, Fault> {
    let end = match program.run(until, o) {
        user::Stop::Exit(status) => End::Exit(status),
        user::Stop::Fault(fault) => End::Fault(fault),
        user::Stop::Reached => End::Reached,
    };
    let machine = &program.machine;
    let output = program.files.output.clone();
    Outcome { end, output, cycles: machine.cycle(), spent: machine.spent(), counts: machine.bus.counts() }
}
