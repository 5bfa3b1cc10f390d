//! `selvedge completions`: the script that completes our command line in a shell.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::output::Output;
use selvedge::error::Error;

/// Print the completion script of a shell
#[derive(clap::Args)]
#[command(after_help = "Example: selvedge completions bash > /etc/bash_completion.d/selvedge")]
pub struct Arguments {
    /// Shell to complete in
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "selvedge", &mut script);
    let script = String::from_utf8(script).expect("clap writes UTF-8");
    output.put(&script, &json!({ "shell": arguments.shell.to_string(), "script": script }))
}
