//! `selvedge node`: builds a node's image and EEPROM, and runs a cell of simulated nodes.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use cell::Pace;
use cipher::{OsRandomness, Randomness};
use indicatif::{ProgressBar, ProgressStyle};
use report::row::{Clock, Experiment};
use selvedge::error::Error;
use selvedge::limits::{ANSWER_LAG_BATCHES, PS_PER_US};
use selvedge::link::carrier::Carrier;
use selvedge::link::deployment::Cell as Plan;
use selvedge::link::eeproms::Eeproms;
use selvedge::link::filters::Filters;
use selvedge::link::journal::Journal;
use selvedge::link::simulation;
use selvedge::link::waveform::Waveform;
use selvedge::toolchain::{self, Compiler, Image};

use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;
use selvedge::whole;

mod graph;

/// Build and simulate sensor nodes
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Build the image and the EEPROM of every node of a cell
    #[command(after_help = "Examples:\n  selvedge node build deployments/ecg.toml --out out/ecg\n  \
                            selvedge node build deployments/ecg.toml --out out/ecg --graph controller.html")]
    Build(Build),
    /// Run a cell of simulated nodes, to the cycle
    #[command(after_help = "Examples:\n  selvedge node run deployments/ecg.toml --out out/ecg\n  \
                            selvedge node run deployments/ecg.toml --out out/ecg --only 3\n  \
                            selvedge node run deployments/ecg.toml --out out/ecg --only 3 --trace node-3.vcd\n  \
                            selvedge node run deployments/ecg.toml --out out/ecg --to out/ecg/run/bridge-7.sock")]
    Run(Run),
}

#[derive(clap::Args)]
struct Cell {
    #[command(flatten)]
    place: Place,
    /// The cell, where the deployment has several
    #[arg(long, value_name = "NAME")]
    cell: Option<String>,
    /// Selvedge's source tree [default: the working folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Build {
    #[command(flatten)]
    cell: Cell,
    /// Draw the thread controllers of the images into this file: layers, pipes and filters, messages and tasks
    #[arg(long, value_name = "FILE.html|svg", value_parser = graph::file)]
    graph: Option<graph::File>,
}

#[derive(clap::Args)]
struct Run {
    #[command(flatten)]
    cell: Cell,
    /// Power only this node
    #[arg(long, value_name = "NODE")]
    only: Option<u32>,
    /// Hand the frames to the bridge on this socket; without it they end at the gateway
    #[arg(long, value_name = "SOCKET")]
    to: Option<PathBuf>,
    /// The seed of the simulation, in place of the deployment's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Step all nodes together instead of letting them run ahead where nobody can tell: slower, the same result
    #[arg(long)]
    together: bool,
    /// Draw the powered node's bus pins, SPI, interrupts, phases and sleep into this file, in cell time; steps together
    #[arg(long, value_name = "FILE.vcd")]
    trace: Option<PathBuf>,
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::Build(arguments) => build(arguments, output),
        Command::Run(run) => simulate(run, output),
    }
}

fn build(arguments: Build, output: &Output) -> Result<(), Error> {
    let Build { cell: Cell { place, cell, root }, graph } = arguments;
    let opened = place.open()?;
    let plan = opened.cell(cell.as_deref())?;
    let images = images(plan, root.as_deref())?;
    let drawn = graph.map(|file| graph::draw(file, plan, &images)).transpose()?;
    let eeproms = Eeproms::open(&opened.layout, plan, &opened.keys)?;
    let folder = opened.layout.cell(plan.id);
    let mut lines = String::new();
    let mut values = Vec::new();
    for (node, image) in plan.nodes.iter().zip(&images) {
        let name = match node.filters {
            Filters::Discrete => format!("{}.elf", node.chip.name),
            Filters::Handler | Filters::HandlerByHand => {
                format!("{}-{}.elf", node.chip.name, node.filters.name())
            }
            Filters::Woven => format!("node-{}-woven.elf", node.id),
        };
        let path = folder.join(name);
        std::fs::write(&path, &image.elf).map_err(|cause| Error::io("write", &path, cause))?;
        let eeprom = eeproms.path(node.id);
        lines +=
            &format!("node {}: {} and {}, {}\n", node.id, path.display(), eeprom.display(), image.compiler);
        values.push(serde_json::json!({
            "node": node.id, "image": path, "eeprom": eeprom, "compiler": image.compiler, "inputs_sha256": image.inputs,
        }));
    }
    if let Some((path, drawn)) = drawn {
        whole::write(&path, drawn.as_bytes())?;
        lines += &format!("thread controllers: {}\n", path.display());
    }
    output.put(&lines, &values)
}

/// The image of each node, in the order of the plan.
fn images(plan: &Plan, root: Option<&Path>) -> Result<Vec<Image>, Error> {
    let root = toolchain::root(root)?;
    let compiler = Compiler::find(&env::var_os("PATH").unwrap_or_default())?;
    simulation::images(&compiler, &root, plan, toolchain::cache_folder().as_deref())
}

/// Checks that the chosen node is one of the cell's, and that a waveform is of one node.
fn check_choice(plan: &Plan, only: Option<u32>, is_traced: bool) -> Result<(), Error> {
    let nodes = || plan.nodes.iter().map(|node| node.id).collect();
    if let Some(found) = only.filter(|id| plan.nodes.iter().all(|node| node.id != *id)) {
        return Err(Error::WhichNode { found, nodes: nodes() });
    }
    if is_traced && only.is_none() && plan.nodes.len() > 1 {
        return Err(Error::TraceOfSeveral { nodes: nodes() });
    }
    Ok(())
}

fn simulate(arguments: Run, output: &Output) -> Result<(), Error> {
    let Run { cell: Cell { place, cell, root }, only, to, seed, together, trace } = arguments;
    let mut opened = place.open()?;
    opened.deployment.seed = seed.unwrap_or(opened.deployment.seed);
    let Opened { deployment, keys, layout, .. } = &opened;
    let plan = opened.cell(cell.as_deref())?;
    check_choice(plan, only, trace.is_some())?;
    let images = images(plan, root.as_deref())?;
    let mut eeproms = Eeproms::open(layout, plan, keys)?;
    // A node that runs ahead is not told of edges that it cannot hear, and a waveform shows them.
    let pace = if together || trace.is_some() { Pace::Together } else { Pace::RunAhead };
    let mut cell = simulation::cell(deployment, plan, keys, &images, &eeproms, only, pace)?;
    let trace = match &trace {
        // Who is interrupted leaves nothing half-written.
        Some(path) => Some((
            Waveform::begin(path, &mut cell.nodes_mut()[0])?,
            stop::flag().map_err(Error::process("node run"))?,
        )),
        None => None,
    };
    let mut carrier = match &to {
        Some(socket) => Some(Carrier::connect(socket, plan.id, session()?)?),
        None => None,
    };
    opened.ready()();

    let superframe_ps = u64::from(plan.superframe_us) * PS_PER_US;
    let superframes = deployment.duration_ps / superframe_ps;
    let mut numbers = keys.superframes(plan, superframes as u32)?;
    let first = numbers.first();
    cell.number_from(first);
    let lag = ANSWER_LAG_BATCHES * u32::from(deployment.bridge.batch_superframes);
    let progress = progress(superframes);
    let mut journal = Journal::default();
    for number in first..first + superframes as u32 {
        numbers.reserve(number)?;
        if let Some(carrier) = carrier.as_mut().filter(|_| number - first >= lag) {
            for frame in carrier.wait_answered(number - lag + 1)? {
                journal.downlink(cell.queue_downlink(frame).is_ok());
            }
        }
        let mut superframe = cell.run_superframe()?;
        journal.take(&mut cell, &superframe);
        // The simulated cell began with this run; the server counts the time of the cell's key.
        let begun_ps = u64::from(first) * superframe_ps;
        superframe.received.iter_mut().for_each(|frame| frame.received_ps += begun_ps);
        // Before a frame leaves this process its counter must be used up for ever.
        eeproms.save(&cell)?;
        if let Some(carrier) = &mut carrier {
            carrier.send(&superframe)?;
        }
        progress.inc(1);
        if trace.as_ref().is_some_and(|(_, interrupted)| interrupted.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted);
        }
    }
    progress.finish_and_clear();
    let reconnects = carrier.map(Carrier::finish).transpose()?;
    acknowledged(&mut journal, &cell, plan, &images)?;
    if let Some((waveform, _)) = trace {
        waveform.finish(&mut cell.nodes_mut()[0])?;
    }
    journal.write(&cell, plan, layout)?;
    let mut rows = journal.rows(&cell, plan, &deployment.name);
    let experiment = Experiment::new(&deployment.name, "selvedge node run");
    let row = |count| experiment.row(format!("cell {}", plan.name), "reconnections", count, "", Clock::Wall);
    rows.extend(reconnects.map(row));
    output.rows(&format!("cell {}", plan.name), &rows)
}

/// How far each node knows its frames stored.
fn acknowledged(
    journal: &mut Journal,
    cell: &cell::Cell,
    plan: &Plan,
    images: &[Image],
) -> Result<(), Error> {
    for node in cell.nodes() {
        let index = plan.nodes.iter().position(|planned| planned.id == node.id);
        journal.acknowledged(node, &images[index.expect("the plan made the node")])?;
    }
    Ok(())
}

/// Tells one run of a cell from every other.
fn session() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    OsRandomness.fill(&mut bytes).map_err(Error::process("node run"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A bar on stderr, where that is a terminal.
fn progress(superframes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} superframes, {eta} left");
    ProgressBar::new(superframes).with_style(style.expect("the template is ours"))
}
