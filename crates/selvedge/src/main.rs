//! The command line: the list of verbs, and what each way to end means to the shell.
//!
//! Owns the exit codes: 0 done, 1 the input was wrong, 2 the command line was wrong (mostly clap's own), 3
//! the environment failed, 70 a bug of ours. Each verb is one file beside this one.

use std::panic;
use std::process::{self, ExitCode};

use clap::Parser;

use output::Output;

mod bridge;
mod broker;
mod bug;
mod collect;
mod completions;
mod explore;
mod goals;
mod machine;
mod man;
mod monitor;
mod node;
mod output;
mod pack;
mod paper;
mod papers;
mod phases;
mod place;
mod run;
mod schedule;
mod stop;
mod weave;

/// A verb: its file, its name, its help in `selvedge --help`.
macro_rules! verbs {
    ($($module:ident $verb:ident),* $(,)?) => {
        // There is one, and it is parsed once: its size does not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(clap::Subcommand)]
        enum Verb {
            $($verb($module::Arguments),)*
        }

        impl Verb {
            fn run(self, output: &Output) -> Result<(), selvedge::error::Error> {
                match self {
                    $(Verb::$verb(arguments) => $module::run(arguments, output),)*
                }
            }
        }
    };
}

verbs! {
    run Run,
    node Node,
    bridge Bridge,
    broker Broker,
    collect Collect,
    weave Weave,
    pack Pack,
    explore Explore,
    paper Paper,
    completions Completions,
    man Man,
    bug Bug,
}

/// Measures what encryption costs at each hop from a sensor node to a durable server.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 the input was wrong, 2 the command line was wrong, \
                        3 the environment failed, 70 a bug of ours.")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    /// Print JSON on standard output, and nothing else there
    #[arg(long, global = true)]
    json: bool,
}

fn main() -> ExitCode {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        report(info);
        selvedge::stderr::tell(
            "error: this is a bug in selvedge\nhelp: report it with the command line and the lines above",
        );
        // Also from a thread: a run that lost one must not look done.
        process::exit(70);
    }));
    let arguments = Arguments::parse();
    let output = Output::new(arguments.json);
    match arguments.verb.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_told() {
                selvedge::stderr::tell(error.lines());
            }
            if arguments.json
                && let Err(error) = output.put("", &error.json())
            {
                selvedge::stderr::tell(error.lines());
            }
            ExitCode::from(error.exit_code())
        }
    }
}
