//! `selvedge broker`: shares one crypto device between applications, and is a device in software.

use broker::{Config, Endpoint, Settings};
use report::row::{Clock, Experiment};
use rustix::process::getuid;
use selvedge::error::Error;

use crate::output::Output;
use crate::stop;

mod bench;
mod device;
mod part;
mod status;

/// Share one crypto device between many applications
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Serve applications on OUT/run/broker.sock, until SIGTERM
    #[command(after_help = "Examples:\n  selvedge broker serve deployments/ecg.toml --out out/ecg\n  \
                      selvedge broker serve deployments/ecg.toml --out out/ecg --preset ftdi-30MHz")]
    Serve(device::Served),
    /// Be the crypto device, in software, on OUT/run/device.sock, until SIGTERM
    #[command(after_help = "Examples:\n  selvedge broker device deployments/ecg.toml --out out/ecg\n  \
                      selvedge broker device deployments/ecg.toml --out out/ecg --preset spidev --corrupt 0.001")]
    Device(device::Emulated),
    /// Say what a running broker has done and is doing
    #[command(
        after_help = "Examples:\n  selvedge broker status deployments/ecg.toml --out out/ecg\n  selvedge broker status \
                            deployments/ecg.toml --out out/ecg --watch"
    )]
    Status(status::Arguments),
    /// Measure the broker beside others, and say which goals it meets
    #[command(
        after_help = "Examples:\n  selvedge broker bench\n  selvedge broker bench echo --rounds 5 --json"
    )]
    Bench(bench::Arguments),
    #[command(hide = true)]
    Application(part::Application),
    #[command(hide = true)]
    Bare(part::Server),
    #[command(hide = true)]
    Loopback(part::Server),
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let runtime = || tokio::runtime::Runtime::new().map_err(Error::process("broker"));
    match arguments.command {
        Command::Serve(served) => runtime()?.block_on(serve_applications(served, output)),
        Command::Device(emulated) => runtime()?.block_on(device::emulate(emulated, output)),
        Command::Status(arguments) => runtime()?.block_on(status::show(arguments, output)),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::Application(application) => part::ask(&application, output),
        Command::Bare(server) => part::serve_bare(&server),
        Command::Loopback(server) => runtime()?.block_on(part::serve_loopback(server)),
    }
}

async fn serve_applications(served: device::Served, output: &Output) -> Result<(), Error> {
    let device::Served { place, device } = served;
    let opened = place.open()?;
    let (device, settings) = device.of(&opened.layout);
    let stats = broker::serve(Config {
        endpoint: Endpoint::Path(opened.layout.broker_socket()),
        device,
        settings: Settings { operator: Some(getuid().as_raw()), ..settings },
        ready: opened.ready(),
        stop: stop::asked(),
    })
    .await?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge broker serve");
    let count = |metric, value: u64| experiment.row("broker", metric, value, "", Clock::Wall);
    output.rows(
        "broker",
        &[
            count("requests", stats.requests_admitted),
            count("connections refused", stats.connections_refused),
            count("device openings", stats.device_opens),
            count("device losses", stats.device_losses),
            count("queued at most", stats.queued_max as u64),
        ],
    )
}
