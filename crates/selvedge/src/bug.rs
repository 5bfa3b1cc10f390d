//! `selvedge bug`: does what a bug of ours would do, so that the way out of one can be tested. Hidden.

use crate::output::Output;
use selvedge::error::Error;

/// Panic on purpose
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Arguments {
    /// Panic in another thread than the first
    #[arg(long)]
    thread: bool,
}

/// Never returns.
pub fn run(arguments: Arguments, _output: &Output) -> Result<(), Error> {
    if arguments.thread {
        let _ = std::thread::spawn(|| panic!("a bug on purpose, in a thread")).join();
        unreachable!("the thread's panic has ended the process");
    }
    panic!("a bug on purpose");
}
