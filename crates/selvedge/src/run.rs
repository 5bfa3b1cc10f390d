//! `selvedge run`: a whole deployment, from the nodes' converters to the durable store, checked and reported.
//!
//! Owns the order: processes up, cells run, processes down, store against truth, report. Processes are `launch`'s,
//! the comparison is `check`'s, the page is `page`'s.

mod page;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use collect::read::Filter;
use report::row::{Clock, Experiment, Row, ndjson, read_ndjson};
use selvedge::error::Error;
use selvedge::limits::PS_PER_US;
use selvedge::link::check::{self, Found, Nominal};
use selvedge::link::deployment::{self, Cell, Deployment, Node, Noise};
use selvedge::link::grid::grid;
use selvedge::link::journal::{Received, Sample, read_lines, read_timeline};
use selvedge::link::keys::Keys;
use selvedge::link::launch::{Daemons, Launcher, Process, Stopped};
use selvedge::link::layout::Layout;
use selvedge::link::logs;
use selvedge::link::simulation;

use crate::output::Output;
use crate::schedule;
use crate::stop;

/// Run a whole deployment: nodes, bus, bridge, broker, server, report
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge run deployments/ecg.toml --out out/ecg\n  \
                        selvedge run deployments/ecg.toml --seed 2\n  \
                        selvedge run deployments/ecg.toml --check\n\n\
                        OUT is emptied first if it is the folder of an earlier run. It then holds report.html, \
                        rows.ndjson and waveforms/.")]
pub struct Arguments {
    /// The deployment
    deployment: PathBuf,
    /// Check the deployment and print its schedule; run nothing
    #[arg(long)]
    check: bool,
    /// The folder of the run
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The seed of the simulation, in place of the deployment's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Selvedge's source tree, for the nodes' firmware [default: the working folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// What a run found, one node after the other.
struct Outcome<'a> {
    nodes: Vec<(&'a Cell, &'a Node, Found)>,
}

/// Runs the deployment, or only checks it.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let mut deployment = deployment::load(&arguments.deployment)?;
    deployment.seed = arguments.seed.unwrap_or(deployment.seed);
    if arguments.check {
        return output.put(&schedule::text(&deployment), &deployment);
    }
    // Before anything is removed: what is removed might be what they are.
    let named = deployment.keys.as_ref().map(|named| Keys::open(named, &deployment)).transpose()?;
    let layout = Layout::begin(&arguments.out, &needed(&deployment, &arguments))?;
    let keys = named.map_or_else(|| Keys::of(&deployment, layout.out()), Ok)?;
    let mut rows = run_link(&deployment, &arguments, &layout)?;
    let outcome = check(&deployment, &keys, &layout)?;
    rows.extend(outcome.rows(&deployment.name));
    write(&layout.out().join("rows.ndjson"), &ndjson(&rows))?;
    for (_, node, found) in &outcome.nodes {
        write_waveform(&layout.waveform(node.id), found)?;
    }
    let page = page::html(&deployment, &rows, &outcome.nodes, &layout)?;
    write(&layout.out().join("report.html"), &page)?;
    outcome.print(&deployment, &rows, &layout, output)?;
    let faults = outcome.faults();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Error::LinkNotWhole { faults, report: layout.out().join("report.html") })
    }
}

/// What the run reads and does not make itself.
fn needed<'a>(deployment: &'a Deployment, arguments: &'a Arguments) -> Vec<&'a Path> {
    let given = [Some(&arguments.deployment), arguments.root.as_ref(), deployment.keys.as_ref()];
    let inputs = deployment.inputs.iter().map(|input| input.path.as_path());
    inputs.chain(given.into_iter().flatten().map(PathBuf::as_path)).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| Error::io("write", path, cause))
}

/// The rows of everyone who took part.
fn run_link(deployment: &Deployment, arguments: &Arguments, layout: &Layout) -> Result<Vec<Row>, Error> {
    let command = |words: &[&str]| -> Vec<OsString> {
        let mut command: Vec<OsString> = words.iter().map(OsString::from).collect();
        command.push(arguments.deployment.clone().into());
        command.extend(["--out".into(), layout.out().into(), "--json".into()]);
        command
    };
    let interrupted = stop::flag().map_err(Error::process("selvedge"))?;
    let launcher = Launcher::new(&layout.run(), interrupted);
    let mut daemons = Daemons::default();
    daemons.push(launcher.start_daemon("device", "device", command(&["broker", "device"]))?);
    daemons.push(launcher.start_daemon("broker", "broker", command(&["broker", "serve"]))?);
    daemons.push(launcher.start_daemon("collect", "collect", command(&["collect", "serve"]))?);
    let mut cells = Vec::new();
    for cell in &deployment.cells {
        let mut bridge = command(&["bridge"]);
        bridge.extend(["--cell".into(), OsString::from(&cell.name)]);
        daemons.push(launcher.start_daemon(
            &format!("bridge {}", cell.name),
            &format!("bridge-{}", cell.id),
            bridge,
        )?);
    }
    for cell in &deployment.cells {
        let mut node = command(&["node", "run"]);
        node.extend(["--cell".into(), OsString::from(&cell.name)]);
        node.extend(["--to".into(), layout.bridge_socket(cell.id).into()]);
        node.extend(["--seed".into(), deployment.seed.to_string().into()]);
        if let Some(root) = &arguments.root {
            node.extend(["--root".into(), root.into()]);
        }
        cells.push(launcher.start(
            &format!("node run {}", cell.name),
            &format!("node-{}", cell.id),
            &node,
        )?);
    }
    let experiment = Experiment::new(&deployment.name, "selvedge run");
    let mut rows = legacy_rows(deployment, &experiment);
    while !cells.is_empty() {
        let (ended, running) = partition_ended(cells)?;
        cells = running;
        for mut cell in ended {
            let ended = cell.wait()?;
            if !ended.status.success() {
                return Err(ended.error(cell.name()));
            }
            rows.extend(read_rows(&ended.lines, cell.name()));
        }
        launcher.check_interrupted()?;
        daemons.keep_up()?;
        std::thread::sleep(Duration::from_millis(10));
    }
    for Stopped { name, restarts, lines } in daemons.stop()? {
        rows.extend(read_rows(&lines, &name));
        rows.push(experiment.row(&name, "restarts", restarts, "", Clock::Wall));
    }
    Ok(rows)
}

fn partition_ended(cells: Vec<Process>) -> Result<(Vec<Process>, Vec<Process>), Error> {
    let (mut ended, mut running) = (Vec::new(), Vec::new());
    for mut cell in cells {
        if cell.ended()?.is_some() { ended.push(cell) } else { running.push(cell) }
    }
    Ok((ended, running))
}

/// Who may send what no tag vouches for.
fn legacy_rows(deployment: &Deployment, experiment: &Experiment) -> Vec<Row> {
    let legacy = deployment.senders().filter(|(_, suite)| suite.row().is_legacy);
    let row = |(id, suite): (u32, cipher::Suite)| {
        experiment.row(format!("computer {id}"), page::LEGACY, suite.row().name, "", Clock::None)
    };
    legacy.map(row).collect()
}

/// The rows that a process wrote that ended well.
fn read_rows(lines: &[String], process: &str) -> Vec<Row> {
    let (rows, errors) = read_ndjson(&lines.join("\n"));
    assert!(errors.is_empty(), "`{process}` is ours and writes rows: {errors:?}");
    rows
}

fn check<'a>(deployment: &'a Deployment, keys: &Keys, layout: &Layout) -> Result<Outcome<'a>, Error> {
    let mut nodes = Vec::new();
    for cell in &deployment.cells {
        let received: Vec<Received> = read_lines(&layout.received(cell.id))?;
        let superframes = (deployment.duration_ps / (u64::from(cell.superframe_us) * PS_PER_US)) as u32;
        let superframe = read_timeline(&layout.timeline(cell.id))?.superframe;
        for node in &cell.nodes {
            let filter = Filter { node: Some(node.id), ..Filter::default() };
            let records = logs::read(&layout.store(), keys, &filter)?;
            let took: Vec<Sample> = read_lines(&layout.samples(cell.id, node.id))?;
            let nominal = Nominal { grid: grid(cell, node), superframe, superframes };
            let master = keys.node(node.id)?;
            let feeds = simulation::feeds(deployment, node);
            nodes.push((cell, node, check::node(&records, &took, &received, &feeds, nominal, node, &master)));
        }
    }
    Ok(Outcome { nodes })
}

impl Outcome<'_> {
    fn sum(&self, of: impl Fn(&Found) -> u64) -> u64 {
        self.nodes.iter().map(|(_, _, found)| of(found)).sum()
    }

    fn faults(&self) -> Vec<(u32, &'static str, u64)> {
        let of = |(cell, node, found): &(&Cell, &Node, Found)| {
            let node = node.id;
            found
                .faults(cell.noise != Noise::default())
                .into_iter()
                .map(move |(what, count)| (node, what, count))
        };
        self.nodes.iter().flat_map(of).collect()
    }

    fn rows(&self, name: &str) -> Vec<Row> {
        let experiment = Experiment::new(name, "selvedge run");
        let mut rows = Vec::new();
        for (_, node, found) in &self.nodes {
            let case = format!("node {}", node.id);
            let count = |metric, value: u64| experiment.row(&case, metric, value, "", Clock::None);
            let nanos = |metric, value: f64| experiment.row(&case, metric, value, "ns", Clock::Cell);
            rows.extend([
                count("frames stored", found.frames_stored),
                count("epoch changes", found.epoch_changes),
                count("input changes", found.input_changes),
                count("rate changes", found.rate_changes),
                count("samples stored", found.waveform.len() as u64),
                count("lost", found.lost),
                count("duplicated", found.duplicated),
                count("mismatched samples", found.mismatched_samples),
                count("frames with a wrong tag", found.rejected),
                count("slots missed", found.missed),
                nanos("sampling instant error, most", found.instant_error_ns_max),
                nanos("sampling instant error, most once settled", found.settled_error_ns_max),
                nanos("sampling instant error, rms", found.instant_error_ns_rms),
            ]);
        }
        rows
    }

    fn print(
        &self,
        deployment: &Deployment,
        rows: &[Row],
        layout: &Layout,
        output: &Output,
    ) -> Result<(), Error> {
        let (lost, duplicated) = (self.sum(|found| found.lost), self.sum(|found| found.duplicated));
        let mismatched = self.sum(|found| found.mismatched_samples);
        let report = layout.out().join("report.html");
        if output.is_json() {
            let last = serde_json::json!({
                "deployment": deployment.name, "seed": deployment.seed, "report": report,
                "frames_stored": self.sum(|found| found.frames_stored),
                "samples_stored": self.sum(|found| found.waveform.len() as u64),
                "lost": lost, "duplicated": duplicated, "mismatched_samples": mismatched,
            });
            return output.text(&format!("{}{last}\n", ndjson(rows)));
        }
        let tables: String = page::tables(rows).iter().map(|table| table.text(None)).collect();
        output.text(&format!(
            "{tables}\n{} samples stored: {lost} frames lost, {duplicated} duplicated, {mismatched} samples mismatched\n\
             report: {}\n",
            self.sum(|found| found.waveform.len() as u64),
            report.display()
        ))
    }
}

fn write_waveform(path: &Path, found: &Found) -> Result<(), Error> {
    let folder = path.parent().expect("a waveform lies in its folder");
    fs::create_dir_all(folder).map_err(|cause| Error::io("make", folder, cause))?;
    let mut text = String::from("index,nominal_ps,code\n");
    for (index, (nominal_ps, code, _)) in &found.waveform {
        text += &format!("{index},{nominal_ps},{code}\n");
    }
    write(path, &text)
}
