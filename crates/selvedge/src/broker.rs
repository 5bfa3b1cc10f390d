//! `selvedge broker`: shares one crypto device between applications, and is a device in software.

use selvedge::error::Error;

use crate::output::Output;

mod address;
mod bench;
mod device;
mod hostile;
mod log;
pub mod part;
mod peer;
mod serve;
pub mod stage;
mod status;
pub mod switches;
mod vectors;

/// Share one crypto device between many applications
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Serve applications until SIGTERM: those of a run, of this machine, or of one user
    #[command(after_help = "Examples:\n  selvedge broker serve deployments/ecg.toml --out out/ecg\n  \
                      selvedge broker serve deployments/ecg.toml --out out/ecg --preset ftdi-30MHz\n  \
                      selvedge broker serve --config /etc/selvedge/broker.toml --check\n  \
                      selvedge broker serve --own")]
    Serve(serve::Arguments),
    /// Be the crypto device, in software, on OUT/run/device.sock, until SIGTERM
    #[command(after_help = "Examples:\n  selvedge broker device deployments/ecg.toml --out out/ecg\n  \
                      selvedge broker device deployments/ecg.toml --out out/ecg --preset spidev --corrupt 0.001")]
    Device(device::Emulated),
    /// Say what a running broker has done and is doing
    #[command(
        after_help = "Examples:\n  selvedge broker status deployments/ecg.toml --out out/ecg\n  selvedge broker status \
                            deployments/ecg.toml --out out/ecg --watch\n  selvedge broker status --socket \
                            /run/selvedge/broker.sock --prometheus"
    )]
    Status(status::Arguments),
    /// Measure the broker beside others, and say which goals it meets
    #[command(
        after_help = "Examples:\n  selvedge broker bench\n  selvedge broker bench echo --rounds 5 --json"
    )]
    Bench(bench::Arguments),
    /// Ask official test vectors through the socket, and say which pass
    #[command(
        after_help = "Examples:\n  selvedge broker vectors\n  selvedge broker vectors --operation verify --source Wycheproof"
    )]
    Vectors(vectors::Arguments),
    #[command(hide = true)]
    Application(part::Application),
    #[command(hide = true)]
    Peer(peer::Arguments),
    #[command(hide = true)]
    Hostile(hostile::Arguments),
    #[command(hide = true)]
    Direct(part::Direct),
    #[command(hide = true)]
    Clocked(part::Clocked),
    #[command(hide = true)]
    Bare(part::Server),
    #[command(hide = true)]
    Loopback(part::Server),
    #[command(hide = true)]
    Soft(part::Soft),
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let runtime = || tokio::runtime::Runtime::new().map_err(Error::process("broker"));
    match arguments.command {
        Command::Serve(arguments) => runtime()?.block_on(serve::serve(arguments, output)),
        Command::Device(emulated) => runtime()?.block_on(device::emulate(emulated, output)),
        Command::Status(arguments) => runtime()?.block_on(status::show(arguments, output)),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::Vectors(arguments) => runtime()?.block_on(vectors::ask(arguments, output)),
        Command::Application(application) => part::ask(&application, output),
        Command::Peer(arguments) => peer::ask(&arguments, output),
        Command::Hostile(arguments) => hostile::run(&arguments),
        Command::Direct(direct) => part::take_turn(&direct, output),
        Command::Clocked(clocked) => runtime()?.block_on(part::serve_clocked(clocked, output)),
        Command::Bare(server) => part::serve_bare(&server),
        Command::Loopback(server) => runtime()?.block_on(part::serve_loopback(server)),
        Command::Soft(server) => runtime()?.block_on(part::serve_soft(server)),
    }
}
