//! What the server of a deployment answers over HTTP: metrics, the live page, and what the page asks for.
//!
//! ```text
//! GET /                               the page, whole in itself
//! GET /live.json?nodes=1,2[&past=1]   what there is to be seen, with the last samples of these nodes; and the totals of
//!                                     the last minutes
//! GET /metrics                        counts alone
//! ```
//! The page and its numbers show what nodes measure. They are answered where nobody else comes by, or where the deployment
//! says so; only to who was told an address: a name in `Host` may be anybody's who lets it point here (DNS rebinding), also
//! where a tunnel ends at a Unix socket; and never to a page of another site. What is sent is wiped behind it.
//!
//! Leaves what the page is told to `shown`.

mod shown;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64ct::{Base64, Encoding};
use collect::export::Catalogue;
use collect::live::Glass;
use rustix::fs::statvfs;
use selvedge::link::catalogue::catalogue;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::shown::{Shown, json};
use super::metrics;
use crate::monitor::{Answers, Reply, Wanted};
use crate::place::Opened;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// A disk with less than this part of it free is nearly full.
const FREE_PERCENT_MIN: u64 = 5;
/// How long a disk may take to say what room it has; it is not known then.
const ROOM_MAX: Duration = Duration::from_secs(1);

/// What room is on the disk of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Size of the file system.
    pub bytes: u64,
    /// What of it is free for us.
    pub free_bytes: u64,
}

/// Who answers, and from what.
#[derive(Clone)]
pub struct Window(Arc<Frame>);

struct Frame {
    glass: Glass,
    name: String,
    /// When the server started, in milliseconds since 1970: who sees another one asks another server.
    started_ms: u64,
    store: PathBuf,
    /// Who has it asks the disk: one that hangs holds one thread.
    turn: Arc<Mutex<()>>,
    /// The cell of each node.
    cells: BTreeMap<u32, String>,
    catalogue: Catalogue,
    is_live: bool,
    page: String,
    policy: String,
}

impl Window {
    /// The window of the server of this deployment, through this glass.
    pub fn new(opened: &Opened, glass: Glass) -> Window {
        let deployment = &opened.deployment;
        let nodes = |cell: &selvedge::link::deployment::Cell| {
            let name = cell.name.clone();
            let ids = cell.nodes.iter().map(|node| node.id);
            let ids = ids.chain(cell.computers.iter().map(|computer| computer.id));
            ids.map(move |id| (id, name.clone())).collect::<Vec<_>>()
        };
        let (page, policy) = page();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Window(Arc::new(Frame {
            glass,
            name: deployment.name.clone(),
            started_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
            turn: Arc::default(),
            store: opened.layout.store(),
            cells: deployment.cells.iter().flat_map(nodes).collect(),
            catalogue: catalogue(deployment),
            is_live: deployment.collect.is_live,
            page,
            policy,
        }))
    }
}

impl Answers for Window {
    async fn answer(&self, wanted: &Wanted) -> Reply {
        let frame = &self.0;
        match &*wanted.path {
            "/metrics" => {
                let Some(snapshot) = frame.glass.look(Vec::new()).await else { return Reply::metrics(None) };
                Reply::metrics(Some(metrics::exposition(&snapshot, frame.room().await)))
            }
            "/" | "/live.json" if !frame.is_live => Reply::refused(
                "403 Forbidden",
                "others come by here, and the page shows what nodes measure: say `live = true` in [collect] if they may\n",
            ),
            "/" | "/live.json" if !is_address(wanted.host.as_deref()) => Reply::refused(
                "421 Misdirected Request",
                "ask by an address, such as 127.0.0.1, and not by a name: a name may be anybody's (a proxy says \
                 `Host: localhost`)\n",
            ),
            "/" | "/live.json" if wanted.is_foreign => Reply::refused(
                "403 Forbidden",
                "the page of another site asked: open this address by itself\n",
            ),
            "/" => secluded(Reply::found("text/html; charset=utf-8", frame.page.clone().into_bytes()))
                .with("Content-Security-Policy", &frame.policy),
            "/live.json" => frame.live(&wanted.query).await,
            _ => Reply::nowhere(),
        }
    }
}

impl Frame {
    async fn live(&self, query: &str) -> Reply {
        let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        let nodes = value("nodes").unwrap_or_default().split(',').filter(|text| !text.is_empty());
        let Ok(nodes) = nodes.map(str::parse).collect::<Result<Vec<u32>, _>>() else {
            return Reply::refused("400 Bad Request", "`nodes` are numbers with commas between them\n");
        };
        let Some(snapshot) = self.glass.look(nodes.clone()).await else { return Reply::unavailable() };
        let shown = Shown::new(self, &snapshot, self.room().await, &nodes, value("past").is_some());
        secluded(Reply::found("application/json", json(&shown)))
    }

    /// Asked beside: a disk that hangs keeps nobody waiting for more than this.
    async fn room(&self) -> Option<Room> {
        let (store, turn) = (self.store.clone(), self.turn.clone());
        let asked = async {
            let turn = turn.lock_owned().await;
            let ask = move || {
                let _turn = turn;
                Room::of(&store)
            };
            spawn_blocking(ask).await.ok().flatten()
        };
        timeout(ROOM_MAX, asked).await.ok().flatten()
    }
}

impl Room {
    fn of(folder: &Path) -> Option<Room> {
        let found = statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Room { bytes: bytes(found.f_blocks), free_bytes: bytes(found.f_bavail) })
    }

    fn is_nearly_full(&self) -> bool {
        self.free_bytes < self.bytes / 100 * FREE_PERCENT_MIN
    }
}

/// Kept nowhere, read by no other page, and shown in none.
fn secluded(reply: Reply) -> Reply {
    reply
        .with("Cache-Control", "no-store")
        .with("Cross-Origin-Resource-Policy", "same-origin")
        .with("Referrer-Policy", "no-referrer")
        .with("X-Content-Type-Options", "nosniff")
}

/// Whether a browser that sends this as `Host` was told an address, or the name that each machine gives itself.
fn is_address(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    match without_port.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            without_port.eq_ignore_ascii_case("localhost")
                || without_port.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4())
        }
    }
}

/// The page with its style and script in it, and what a browser may do with it: run these two, and ask where it came from.
fn page() -> (String, String) {
    let style = format!("{}{STYLE}", report::chart::STYLE);
    let page = PAGE.replace("<!--style-->", &style).replace("<!--script-->", SCRIPT);
    let of = |text: &str| Base64::encode_string(&Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        of(&style),
        of(SCRIPT)
    );
    (page, policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_a_name_is_not_believed() {
        let told =
            ["127.0.0.1:8080", "127.0.0.1", "[::1]:1", "[::1]", "localhost:9", "LocalHost", "192.168.0.7:1"];
        for host in told {
            assert!(is_address(Some(host)), "{host}");
        }
        let names = [
            "",
            ":80",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "127.0.0.1:80:80",
            "127.0.0.1:port",
            "::1",
            "[127.0.0.1]",
            "127.0.0.1 evil",
        ];
        for host in names {
            assert!(!is_address(Some(host)), "{host}");
        }
        assert!(!is_address(None));
    }

    #[test]
    fn the_page_is_whole_in_itself_and_its_policy_names_what_is_in_it() {
        let (page, policy) = page();
        assert!(!page.contains("<!--") && page.contains("--paper:") && page.contains("'use strict'"));
        for foreign in ["http://", "https://", "//cdn", "@import", "url(", "<link rel=\"style", "src="] {
            let found: Vec<_> = page.match_indices(foreign).map(|(at, _)| &page[at..]).collect();
            let is_name = |rest: &&str| rest.starts_with("http://www.w3.org/2000/svg'");
            assert!(found.iter().all(is_name), "{foreign}");
        }
        let between = |from: &str, to: &str| {
            let rest = page.split_once(from).expect("it begins").1;
            rest.split_once(to).expect("it ends").0.to_owned()
        };
        for text in [between("<style>", "</style>"), between("<script>", "</script>")] {
            let hash = Base64::encode_string(&Sha256::digest(text));
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"));
    }

    #[test]
    fn a_disk_is_nearly_full_with_less_than_a_twentieth_free() {
        let room = |free_bytes| Room { bytes: 1000, free_bytes };
        assert!(room(49).is_nearly_full() && !room(50).is_nearly_full());
        assert!(Room::of(Path::new("/")).is_some_and(|room| room.bytes >= room.free_bytes && room.bytes > 0));
        assert_eq!(Room::of(Path::new("/there/is/no/such/folder")), None);
    }
}
