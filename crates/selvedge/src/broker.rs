//! `selvedge broker`: shares one crypto device between applications, and is a device in software.

use broker::device::{Device, UnixDevice};
use broker::engine::{NamedKey, Purpose};
use broker::{Config, Endpoint, Settings, emulate};
use report::row::{Clock, Experiment};
use rustix::process::getuid;
use selvedge::error::Error;

use crate::output::Output;
use crate::place::Place;
use crate::stop;

mod bench;
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
    #[command(after_help = "Example: selvedge broker serve deployments/ecg.toml --out out/ecg")]
    Serve(Place),
    /// Be the crypto device, in software, on OUT/run/device.sock, until SIGTERM
    #[command(after_help = "Example: selvedge broker device deployments/ecg.toml --out out/ecg")]
    Device(Place),
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
        Command::Serve(place) => runtime()?.block_on(serve_applications(place, output)),
        Command::Device(place) => runtime()?.block_on(be_device(place, output)),
        Command::Status(arguments) => runtime()?.block_on(status::show(arguments, output)),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::Application(application) => part::ask(&application, output),
        Command::Bare(server) => part::serve_bare(&server),
        Command::Loopback(server) => runtime()?.block_on(part::serve_loopback(server)),
    }
}

async fn serve_applications(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let stats = broker::serve(Config {
        endpoint: Endpoint::Path(opened.layout.broker_socket()),
        device: Device::Stream(Box::new(UnixDevice { path: opened.layout.device_socket() })),
        settings: Settings { operator: Some(getuid().as_raw()), ..Settings::default() },
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

async fn be_device(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let mut keys = Vec::new();
    for cell in &opened.deployment.cells {
        let master = opened.keys.cell(cell.id)?;
        let id = cell.id;
        let (batches, receipts) = (master.batch_key(id), master.receipt_key(id));
        keys.push(NamedKey { name: format!("batch/{id}"), purpose: Purpose::Seal, key: batches });
        keys.push(NamedKey { name: format!("receipt/{id}"), purpose: Purpose::Open, key: receipts });
    }
    let served = emulate::serve(emulate::Config {
        endpoint: Endpoint::Path(opened.layout.device_socket()),
        keys,
        ready: opened.ready(),
        stop: stop::asked(),
    })
    .await?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge broker device");
    let count = |metric, value: u64| experiment.row("device", metric, value, "", Clock::Wall);
    output
        .rows("device", &[count("requests", served.requests), count("damaged requests", served.corruptions)])
}
