//! `selvedge weave`: weaves a real-time function into a computing one, and proves the timing of either.
//!
//! Owns the verb's two forms. `weaving` writes what `selvedge::weaving` makes, `check` proves what somebody has timed,
//! `report` shows what was made.

use selvedge::error::Error;
use selvedge::weaving::Pair;

use crate::output::Output;

mod check;
mod report;
mod sweep;
pub mod weaving;

/// Weave a real-time function into a computing one, cycle-exact and proved; or check timed AVR code
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
    selvedge weave sum.c --host sum --host-arguments 2,2 --guest firmware/node/guest_ws2812.S \\\n    \
    --guest-fn ws2812 --chip atmega328p -o sum_lit.s --header sum_lit.h\n  \
    selvedge weave rc4.s --host crypt --guest firmware/node/guest_spi_tx.S --guest-fn spi_tx \\\n    \
    --chip atmega128 -D PERIOD=130 -o send.s\n  \
    selvedge weave check send.s --fn send\n  \
    selvedge weave rc4.s --host crypt --guest firmware/node/guest_spi_tx.S --guest-fn spi_tx \\\n    \
    --chip atmega128 -D PERIOD=130 --sweep PERIOD=18,34,66,130,258 --handler 12 -o send.s\n  \
    selvedge weave rc4_avr32.S --host rc4_avr32_crypt --host-arguments 2 --couple --chip atmega128 \\\n    \
    --guest firmware/node/guest_spi_tx.S --guest-fn spi_tx -D PERIOD=18 -o coupled.s\n  \
    selvedge weave sum.s --host sum --guest firmware/node/guest_spi_tx.S --guest-fn spi_tx \\\n    \
    --server firmware/node/server_uart_rx.S:server_uart_rx --chip atmega128 -D PERIOD=258 -o both.s\n\
    What is written is proved: every timed instruction at its cycle, on every path.\n\
    Exit code 1: the two cannot be woven, with the reason. Nothing is written then.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    // One by one: of an optional group that holds another, clap does not see that it is there.
    #[command(flatten)]
    pair: Option<Pair>,
    #[command(flatten)]
    outputs: Option<weaving::Outputs>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Prove a function on every path, in assembly text or in a linked image
    #[command(after_help = "Examples:\n  selvedge weave check send.s --fn send --chip atmega328p\n  \
                            selvedge weave check firmware.elf --fn send\n\
                            Exit code 0: proved. 1: violated, with the path; or not to be proved, with the reason.")]
    Check(check::Check),
}

/// Runs the verb.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match (arguments.command, arguments.pair, arguments.outputs) {
        (Some(Command::Check(check)), ..) => check::run(check, output),
        (None, Some(pair), Some(outputs)) => weaving::run(&pair, &outputs, output),
        _ => unreachable!("clap asks for one of them"),
    }
}
