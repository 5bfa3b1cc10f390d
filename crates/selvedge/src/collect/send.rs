//! `selvedge collect send`: what nodes are to be told, and what became of it.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use collect::orders::{Order, Request, Told};
use report::table::{Column, Entry, Table};
use selvedge::error::{Error, OrderFault};
use selvedge::link::sending::{self, Whom, Word};

use super::{asking, keys};
use crate::output::Output;
use crate::place::Place;

/// Tell nodes what to sample, or to go on to another epoch
#[derive(clap::Args)]
#[command(
    after_help = "Settings:\n  input=N   this input of the converter, 0 to 7\n  rate=F    so many samples \
                        a second: the node's rate, or a whole part of it\n  epoch     another epoch, under a key \
                        that the node never had\n  revoke    nothing more is taken of it\n\nExamples:\n  \
                        selvedge collect send deployments/ecg.toml all rate=180Hz --out out/ecg --wait\n  \
                        selvedge collect send deployments/ecg.toml 2 input=3 --out out/ecg\n  \
                        selvedge collect send deployments/ecg.toml all --status --out out/ecg"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// A node's number, or `all`
    whom: Whom,
    /// What it is told
    #[arg(required_unless_present = "status", conflicts_with = "status")]
    settings: Vec<Word>,
    /// Say what was told before, and whether the nodes do it
    #[arg(long)]
    status: bool,
    /// Wait until frames show that the nodes do it
    #[arg(long, conflicts_with = "status")]
    wait: bool,
}

/// Between two looks at what nodes do.
const LOOK: Duration = Duration::from_millis(200);
/// Longest time from one node's doing it to the next one's, before somebody waits in vain.
const SILENCE: Duration = Duration::from_secs(600);

/// Does what the arguments say.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let Arguments { place, whom, settings, status, wait } = arguments;
    let opened = place.open()?;
    let nodes: Vec<u32> = sending::nodes(&opened.deployment, whom)?.iter().map(|node| node.id).collect();
    if status {
        let mut told = asking::ask(&opened, &Request::Status)?;
        told.retain(|told| nodes.contains(&told.node));
        return show(&told, output);
    }
    if settings == [Word::Revoke] {
        return nodes.into_iter().try_for_each(|node| keys::revoke(&opened, node, output));
    }
    let orders = sending::orders(&opened.deployment, whom, &settings)?;
    let request = Request::Tell { orders: orders.clone(), leaves_out: whom == Whom::All };
    if !wait {
        return show(&meant(asking::ask(&opened, &request)?, &orders), output);
    }
    let no_server = || Error::Order(OrderFault::NoServer);
    let mut told = meant(asking::ask_server(&opened, &request)?.ok_or_else(no_server)?, &orders);
    let waited_for: BTreeSet<u32> = told.iter().map(|told| told.node).collect();
    let (mut open, mut since) = (usize::MAX, Instant::now());
    loop {
        let left = told.iter().filter(|told| !told.is_acknowledged).count();
        if left == 0 {
            return show(&told, output);
        }
        if left < open {
            (open, since) = (left, Instant::now());
        }
        if since.elapsed() > SILENCE {
            show(&told, output)?;
            return Err(Error::Order(OrderFault::Unheard { left, limit_s: SILENCE.as_secs() }));
        }
        thread::sleep(LOOK);
        told = asking::ask_server(&opened, &Request::Status)?.ok_or_else(no_server)?;
        told = meant(told, &orders);
        told.retain(|told| waited_for.contains(&told.node));
    }
}

/// What was told of the kinds that were ordered.
fn meant(mut told: Vec<Told>, orders: &[(u32, Order)]) -> Vec<Told> {
    let kind = std::mem::discriminant::<Order>;
    told.retain(|told| {
        orders.iter().any(|(node, what)| *node == told.node && kind(what) == kind(&told.what))
    });
    told
}

/// Prints what nodes are told, a line each.
pub fn show(told: &[Told], output: &Output) -> Result<(), Error> {
    if output.is_json() {
        let line = |told: &Told| {
            let (channel, stride) = match told.what {
                Order::Set { channel, stride } => (channel, stride),
                Order::ChangeEpoch => (None, None),
            };
            let told = serde_json::json!({
                "node": told.node, "input": channel, "stride": stride, "epoch": told.epoch,
                "acknowledged": told.is_acknowledged,
            });
            format!("{told}\n")
        };
        return output.text(&told.iter().map(line).collect::<String>());
    }
    let mut table = Table::new("orders", ["node", "told", "state"].map(Column::new));
    for told in told {
        let mut words = Vec::new();
        if let Order::Set { channel, stride } = told.what {
            words.extend(channel.map(|channel| format!("input {channel}")));
            words.extend(stride.map(|stride| format!("stride {stride}")));
        }
        words.extend(told.epoch.map(|epoch| format!("epoch {epoch}")));
        let state = if told.is_acknowledged { "acknowledged" } else { "pending" };
        table.push([Entry::from(u64::from(told.node)), words.join(", ").into(), state.into()]);
    }
    output.text(&table.text(None))
}
