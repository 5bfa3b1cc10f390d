//! `selvedge paper`: the measurements of a paper, made again.
//!
//! Owns the list of papers.

use selvedge::error::Error;

use crate::output::Output;
use crate::papers::{bus, mecha, multicore, platform, sti};

/// Measure again what a paper measured, and set it beside what the paper prints
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Ciphers beside SPI on an AVR: polling, interrupts, woven threads (Ganesan and Dean, RTAS 2004)
    Sti(sti::Arguments),
    /// A cipher on the bus behind packed code: size, AES cycles and time (Wanderley, Gogniat and Diguet)
    Bus(bus::Arguments),
    /// Algorithms chosen for a security processor by macro-models (Ravi, Raghunathan, Potlapally and Sankaradass)
    Platform(platform::Arguments),
    /// One crypto device shared by many applications (Derry, Laksmono, Iqbal and Kim: MECHA)
    Mecha(mecha::Arguments),
    /// AES over the cores of a measurement server: inside a block, over blocks (Bilski and Winiecki)
    Multicore(multicore::Arguments),
}

/// Runs the verb.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.paper {
        Paper::Sti(arguments) => sti::run(&arguments, output),
        Paper::Bus(arguments) => bus::run(&arguments, output),
        Paper::Platform(arguments) => platform::run(&arguments, output),
        Paper::Mecha(arguments) => mecha::run(&arguments, output),
        Paper::Multicore(arguments) => multicore::run(&arguments, output),
    }
}
