//! `selvedge collect keys`: whose frames are taken, and under which key the store is sealed.

use collect::orders::{Order, Request};
use collect::read;
use report::table::{Column, Entry, Table};
use selvedge::error::Error;

use super::asking;
use crate::output::Output;
use crate::place::{Opened, Place};

/// Say whose frames are taken, and under which key the store is sealed
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List nodes and keys of the store, and no secret
    #[command(after_help = "Example: selvedge collect keys list deployments/ecg.toml --out out/ecg")]
    List(Place),
    /// Admit a revoked node again, under another key: provision it anew, and start the server again
    Add(OfNode),
    /// Tell a node to go on to another epoch, under a key that it never had
    Rotate(OfNode),
    /// Take nothing more of a node; what is stored stays
    #[command(after_help = "Example: selvedge collect keys revoke deployments/ecg.toml 3 --out out/ecg")]
    Revoke(OfNode),
    /// Store nothing new of an epoch of a node
    Close(OfEpoch),
    /// Seal what is stored from now on under another key
    RotateStore(Place),
    /// Remove a key of the store that no segment is under any more
    RetireStore(OfStoreKey),
}

#[derive(clap::Args)]
struct OfNode {
    #[command(flatten)]
    place: Place,
    /// The node
    node: u32,
}

#[derive(clap::Args)]
struct OfEpoch {
    #[command(flatten)]
    of: OfNode,
    /// The epoch
    epoch: u8,
}

#[derive(clap::Args)]
struct OfStoreKey {
    #[command(flatten)]
    place: Place,
    /// The key's number
    number: u32,
}

impl OfNode {
    /// The place, in which there is such a node.
    fn open(self) -> Result<(Opened, u32), Error> {
        let opened = self.place.open()?;
        let (found, mut senders) = (self.node, opened.deployment.senders());
        if !senders.any(|(id, _)| id == found) {
            let nodes = opened.deployment.senders().map(|(id, _)| id).collect();
            return Err(Error::WhichNode { found, nodes });
        }
        drop(senders);
        Ok((opened, found))
    }
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::List(place) => list(&place.open()?, output),
        Command::Add(of) => {
            let (opened, node) = of.open()?;
            opened.keys.admit_again(node)?;
            let next = "provision it, and start the server again";
            say(output, &format!("node {node} is admitted again under another key: {next}"), node, "admitted")
        }
        Command::Rotate(of) => {
            let (opened, node) = of.open()?;
            let request = Request::Tell { orders: vec![(node, Order::ChangeEpoch)], leaves_out: false };
            super::send::show(&asking::ask(&opened, &request)?, output)
        }
        Command::Revoke(of) => {
            let (opened, node) = of.open()?;
            revoke(&opened, node, output)
        }
        Command::Close(OfEpoch { of, epoch }) => {
            let (opened, node) = of.open()?;
            opened.keys.close(node, epoch)?;
            let whose = asking::read_keys(&opened)?;
            say(output, &format!("epoch {epoch} of node {node} is closed, {whose}"), node, "closed")
        }
        Command::RotateStore(place) => {
            let opened = place.open()?;
            let number = opened.keys.rotate_store()?;
            let whose = asking::read_keys(&opened)?;
            let text = format!("what is stored from now on is sealed under key {number}, {whose}");
            output.put(&text, &serde_json::json!({ "store_key": number, "state": "sealing" }))
        }
        Command::RetireStore(OfStoreKey { place, number }) => {
            let opened = place.open()?;
            // What other servers of the deployment have sealed is not seen from here.
            asking::has_one_server(&opened)?;
            // A server that runs would go on to write under what it has read, which is not the oldest.
            opened.keys.retire_store(number, &in_use(&opened)?)?;
            asking::read_keys(&opened)?;
            let retired = serde_json::json!({ "store_key": number, "state": "retired" });
            output.put(&format!("key {number} of the store is removed"), &retired)
        }
    }
}

/// Takes nothing more of a node.
pub fn revoke(opened: &Opened, node: u32, output: &Output) -> Result<(), Error> {
    opened.keys.revoke(node)?;
    let whose = asking::read_keys(opened)?;
    say(output, &format!("node {node} is revoked, {whose}"), node, "revoked")
}

fn say(output: &Output, text: &str, node: u32, state: &str) -> Result<(), Error> {
    output.put(text, &serde_json::json!({ "node": node, "state": state }))
}

/// The store's keys that segments are under; none where there is no store yet.
fn in_use(opened: &Opened) -> Result<std::collections::BTreeSet<u32>, Error> {
    let (store, keys) = (opened.layout.store(), opened.keys.store()?);
    if store.exists() { Ok(read::keys_in_use(&store, &keys)?) } else { Ok(Default::default()) }
}

fn list(opened: &Opened, output: &Output) -> Result<(), Error> {
    let mut lines = String::new();
    let mut table = Table::new("nodes", ["node", "suite", "state", "epochs used", "closed"].map(Column::new));
    for (node, suite) in opened.deployment.senders() {
        let (standing, epochs) = (opened.keys.standing(node)?, opened.keys.epochs(node)?);
        let state = if standing.is_revoked { "revoked" } else { "admitted" };
        let is_authenticated = suite.row().is_authenticated();
        lines += &format!(
            "{}\n",
            serde_json::json!({
                "node": node, "suite": suite.to_string(), "authenticated": is_authenticated, "state": state,
                "epochs_used": epochs.next,
                "closed": standing.closed,
            })
        );
        let closed: Vec<String> = standing.closed.iter().map(u8::to_string).collect();
        let closed = if closed.is_empty() { "-".to_owned() } else { closed.join(" ") };
        let suite = format!("{suite}{}", if is_authenticated { "" } else { ", not authenticated" });
        let cells = [Entry::from(u64::from(node)), suite.into(), state.into()];
        table.push(cells.into_iter().chain([u64::from(epochs.next).into(), closed.into()]));
    }
    let (keys, in_use) = (opened.keys.store()?, in_use(opened)?);
    let newest = keys.numbers().last();
    let mut keys_table = Table::new("keys of the store", ["key", "state"].map(Column::new));
    for number in keys.numbers() {
        let state = match number {
            number if Some(number) == newest => "sealing",
            number if in_use.contains(&number) => "needed",
            _ => "not needed",
        };
        lines += &format!("{}\n", serde_json::json!({ "store_key": number, "state": state }));
        keys_table.push([Entry::from(u64::from(number)), state.into()]);
    }
    if output.is_json() {
        return output.text(&lines);
    }
    output.text(&format!("{}\n{}", table.text(None), keys_table.text(None)))
}
