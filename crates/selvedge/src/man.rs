//! `selvedge man`: the manual page, in roff, made from the same text as `--help`.

use clap::CommandFactory;
use clap_mangen::Man;
use serde_json::json;

use crate::output::Output;
use selvedge::error::Error;

/// Print the manual page
#[derive(clap::Args)]
#[command(after_help = "Example: selvedge man run | man -l -")]
pub struct Arguments {
    /// The verb to describe; without it, selvedge as a whole
    verb: Option<String>,
}

/// Prints the page.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let mut command = crate::Arguments::command();
    command.build();
    let command = match &arguments.verb {
        None => command,
        Some(verb) => match command.find_subcommand(verb) {
            Some(found) => found.clone(),
            None => {
                command.error(clap::error::ErrorKind::InvalidValue, format!("unknown verb `{verb}`")).exit()
            }
        },
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Error::Output)?;
    let page = String::from_utf8(page).expect("clap writes UTF-8");
    output.put(&page, &json!({ "verb": arguments.verb, "page": page }))
}
