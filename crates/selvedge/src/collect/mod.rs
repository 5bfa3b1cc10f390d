//! `selvedge collect`: the measurement server, and what can be read from its store. A verb a file.

use selvedge::error::Error;

use crate::output::Output;
use crate::place::Place;

mod asking;
mod bench;
mod export;
mod keys;
mod live;
mod metrics;
mod read;
mod send;
mod serve;
mod verify;

/// Store measurements durably, and read them back
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Serve bridges, until SIGTERM
    ///
    /// Batches come by the transport that the deployment names: over TCP with TLS, over UDP, or through the servers of a
    /// NATS cluster. Several servers may serve one deployment through NATS, and share its nodes.
    #[command(after_help = "Example: selvedge collect serve deployments/ecg.toml --out out/ecg")]
    Serve(Place),
    /// List the stored frames, or export their samples for other programs
    #[command(
        after_help = "Examples:\n  selvedge collect read deployments/ecg.toml --out out/ecg --node 2\n  \
                            selvedge collect read deployments/ecg.toml --out out/ecg --follow --json\n  \
                            selvedge collect read deployments/ecg.toml --out out/ecg --export ecg.tdms\n  \
                            selvedge collect read deployments/ecg.toml --out out/ecg --from '60 s' --to '90 s' \
                            --export minute.parquet\n  \
                            selvedge collect read deployments/ecg.toml --out out/ecg --log out/ecg/store \
                            --log other/store --export both.h5"
    )]
    Read(read::Arguments),
    /// Say whose frames are taken, and under which key the store is sealed
    Keys(keys::Arguments),
    /// Tell nodes what to sample, or to go on to another epoch
    Send(send::Arguments),
    /// Check every segment and record of the store
    #[command(after_help = "Example: selvedge collect verify deployments/ecg.toml --out out/ecg")]
    Verify(Place),
    /// Measure the server over TLS to disk, and say which goals it meets
    #[command(after_help = "Examples:\n  selvedge collect bench\n  \
                      selvedge collect bench rate latency --disk /srv --page bench.html\n  \
                      selvedge collect bench soak --for '1 h' --policy fifo --pin --lock-memory\n\n\
                      All times are of this machine while it does what it does, and gateways are on the same cores. \
                      The greatest time that was seen bounds nothing.")]
    Bench(bench::Arguments),
    #[command(hide = true)]
    BenchServer(bench::server::Arguments),
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::Serve(place) => serve::run(place, output),
        Command::Read(arguments) => read::run(arguments, output),
        Command::Keys(arguments) => keys::run(arguments, output),
        Command::Send(arguments) => send::run(arguments, output),
        Command::Verify(place) => verify::run(place, output),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::BenchServer(arguments) => bench::server::run(&arguments),
    }
}
