//! Which device a broker shares, and the emulated one: their flags, and what the latter counted.

use std::path::PathBuf;
use std::time::Duration;

use broker::device::Choice;
use broker::emulate::clocked::Clocks;
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::{PRESETS, Preset};
use broker::engine::store;
use broker::engine::{NamedKey, Purpose};
use broker::{Endpoint, emulate};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use report::row::{Clock, Experiment};
use selvedge::error::Error;
use selvedge::link::device::{DeviceChoice, Kept, Tcp};
use selvedge::link::keeping::Source;

use super::address;
use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// The device of a broker.
#[derive(clap::Args)]
pub struct Chosen {
    /// Where the device is, instead of on the socket OUT/run/device.sock: a socket's path, or KIND:PLACE as docs/broker.md
    /// lists them
    #[arg(long, value_name = "WHERE")]
    device: Option<DeviceChoice>,
    /// The device is like this one: on a socket it is clocked, and was started with this preset
    #[arg(long, value_name = "NAME", value_parser = presets())]
    preset: Option<Preset>,
}

impl Chosen {
    /// The device, and what suits it.
    ///
    /// # Errors
    /// When a certificate cannot be used.
    pub fn of(self, opened: &Opened) -> Result<Choice, Error> {
        let choice = self.device.unwrap_or_else(|| DeviceChoice::Socket(opened.layout.device_socket()));
        address::device(&choice, self.preset, Some(opened.keys.certificates()))
    }
}

/// An emulated device.
#[derive(clap::Args)]
pub struct Emulated {
    #[command(flatten)]
    place: Place,
    /// Be clocked, and take the time that this device's wire and computing take
    #[arg(long, value_name = "NAME", value_parser = presets())]
    preset: Option<Preset>,
    /// Be behind a pseudo-terminal, which OUT/run/device.tty is a link to, and keep the preset's rate
    #[arg(long, requires = "preset")]
    pty: bool,
    /// Listen on TCP, to the deployment's broker only, or to whoever is on this machine
    #[arg(long, value_name = "HOST:PORT[,tls=no]", conflicts_with = "preset")]
    tcp: Option<Tcp>,
    /// What opening takes, instead of the preset's time
    #[arg(long, value_name = "MS", requires = "preset")]
    open_ms: Option<u64>,
    /// USB's latency timer, instead of the preset's; 0 is SEND_IMMEDIATE
    #[arg(long, value_name = "MS", requires = "preset")]
    timer_ms: Option<u64>,
    #[command(flatten)]
    faults: Asked,
    #[command(flatten)]
    kept: Keeping,
}

/// Where the device keeps persistent keys.
#[derive(clap::Args)]
struct Keeping {
    /// Keep persistent keys in this folder, sealed, over a restart
    #[arg(long, value_name = "DIR", requires = "store_key")]
    store: Option<PathBuf>,
    /// What the store is sealed under: credential:NAME, file:PATH or passphrase-fd:N
    #[arg(long, value_name = "SOURCE", requires = "store")]
    store_key: Option<Source>,
    /// Keep in another folder how far the store has come, so that an older copy of it is seen
    #[arg(long, value_name = "DIR", requires = "store")]
    store_anchor: Option<PathBuf>,
}

impl Keeping {
    /// The store, if there is to be one.
    fn open(self) -> Result<Option<store::Opened>, Error> {
        let (Some(store), Some(key)) = (self.store, self.store_key) else { return Ok(None) };
        address::open_store(&Kept { store, key, anchor: self.store_anchor }).map(Some)
    }
}

/// Faults on demand: how often each happens to a transaction, from 0 to 1.
#[derive(clap::Args)]
struct Asked {
    /// Lose bytes in so many transactions, from 0 to 1
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate, requires = "preset")]
    drop: f64,
    /// Damage a bit
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate, requires = "preset")]
    corrupt: f64,
    /// Stand still for at most 40 ms
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate, requires = "preset")]
    stall: f64,
    /// Forget all but the keys
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate, requires = "preset")]
    reset: f64,
    /// Let bytes come before those that were sent before them
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate, requires = "preset")]
    reorder: f64,
    /// Seed of all faults
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "preset")]
    fault_seed: u64,
}

/// Takes the name of a preset.
pub fn presets() -> impl TypedValueParser<Value = Preset> {
    let names = PossibleValuesParser::new(PRESETS.iter().map(|preset| preset.name));
    names.map(|name| Preset::named(&name).expect("the parser takes names of the table only"))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Is a device, in software.
pub async fn emulate(emulated: Emulated, output: &Output) -> Result<(), Error> {
    let Emulated { place, preset, pty, tcp, open_ms, timer_ms, faults, kept } = emulated;
    let opened = place.open()?;
    let mut keys = Vec::new();
    for cell in &opened.deployment.cells {
        let master = opened.keys.cell(cell.id)?;
        let id = cell.id;
        let (batches, receipts) = (master.batch_key(id), master.receipt_key(id));
        keys.push(NamedKey { name: format!("batch/{id}"), purpose: Purpose::Seal, key: batches });
        keys.push(NamedKey { name: format!("receipt/{id}"), purpose: Purpose::Open, key: receipts });
    }
    let store = kept.open()?;
    let Some(mut preset) = preset else { return over_a_stream(&opened, tcp, keys, store, output).await };
    if let Some(ms) = open_ms {
        preset.open = Duration::from_millis(ms);
    }
    if let Some(ms) = timer_ms {
        preset.latency_timer = Duration::from_millis(ms);
    }
    let Asked { drop, corrupt, stall, reset, reorder, fault_seed } = faults;
    let faults = Faults::new(Rates { drop, corrupt, stall, reset, reorder }, fault_seed);
    let (ready, stop) = (opened.ready(), stop::asked());
    let clocks = if pty {
        let terminal = emulate::Terminal::open(opened.layout.device_terminal())?;
        let path = terminal.path().display().to_string();
        output.put(&path, &serde_json::json!({ "device": path }))?;
        let config = emulate::LineConfig { terminal, keys, store, preset, faults, ready, stop };
        emulate::serve_line(config).await?
    } else {
        let endpoint = Endpoint::Path(opened.layout.device_socket());
        let config = emulate::ClockedConfig { endpoint, keys, store, preset, faults, ready, stop };
        emulate::serve_clocked(config).await?
    };
    show(&opened, &clocks, output)
}

async fn over_a_stream(
    opened: &Opened,
    tcp: Option<Tcp>,
    keys: Vec<NamedKey>,
    store: Option<store::Opened>,
    output: &Output,
) -> Result<(), Error> {
    let (ready, stop) = (opened.ready(), stop::asked());
    let served = match tcp {
        Some(tcp) => {
            let port = address::listen(tcp, opened.keys.certificates())?;
            let address = port.address().to_string();
            output.put(&address, &serde_json::json!({ "device": address }))?;
            emulate::serve_port(emulate::PortConfig { port, keys, store, ready, stop }).await?
        }
        None => {
            let endpoint = Endpoint::Path(opened.layout.device_socket());
            emulate::serve(emulate::Config { endpoint, keys, store, ready, stop }).await?
        }
    };
    let experiment = Experiment::new(&opened.deployment.name, "selvedge broker device");
    let count = |metric, value: u64| experiment.row("device", metric, value, "", Clock::Wall);
    output
        .rows("device", &[count("requests", served.requests), count("damaged requests", served.corruptions)])
}

fn show(opened: &Opened, clocks: &Clocks, output: &Output) -> Result<(), Error> {
    let experiment = Experiment::new(&opened.deployment.name, "selvedge broker device");
    let row = |metric, value: u64, unit| experiment.row("device", metric, value, unit, Clock::Wall);
    let count = |metric, value| row(metric, value, "");
    output.rows(
        "device",
        &[
            count("requests", clocks.requests),
            count("openings", clocks.opens),
            count("transactions", clocks.transactions),
            row("clock", clocks.cycles, "cycles"),
            row("clock, with a request's bytes", clocks.request_cycles, "cycles"),
            row("clock, with an answer's bytes", clocks.answer_cycles, "cycles"),
            count("faults: drop", clocks.struck.drops),
            count("faults: corrupt", clocks.struck.corruptions),
            count("faults: stall", clocks.struck.stalls),
            count("faults: reset", clocks.struck.resets),
            count("faults: reorder", clocks.struck.reorders),
        ],
    )
}
