//! How the server collects: what `[collect]` says of it, and what that means for a batch.
//!
//! Owns the keys `transport`, `nats`, `partitions`, `metrics` and `live`, and the checked values of all of `[collect]`;
//! `tls` is `protection`'s, `[collect.realtime]` is `realtime`'s, what is kept `retention`'s. How a batch travels is
//! `bridge`'s and `collect`'s.

use std::net::SocketAddr;
use std::path::Path;

use collect::nats::{Cluster, PARTITIONS, Protection};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::draft::Maybe;
use super::monitoring::{self, MonitorAddress};
use super::problem::{Kind, Problem};
use super::protection::{self, ProtectionDraft};
use super::realtime::RealtimeAsked;
use super::retention::Retention;
use super::section::{At, Section};
use crate::limits;

/// As a deployment writes where its servers of NATS are.
const NATS_EXAMPLE: &str = "[\"nats://127.0.0.1:4222\"]";
const TRANSPORTS: [&str; 3] = ["tcp", "udp", "nats"];

/// Where and how the server collects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collect {
    /// How batches reach it.
    pub transport: Transport,
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// Threads that open frames; `None` means one for each core.
    pub shards: Option<u16>,
    /// Where monitors ask it, and browsers.
    pub metrics: Option<MonitorAddress>,
    /// Whether what nodes measure is shown there, too.
    pub is_live: bool,
    /// What its threads are given, and its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realtime: Option<RealtimeAsked>,
    /// What it keeps of its store.
    #[serde(flatten, skip_serializing_if = "Retention::is_none")]
    pub retention: Retention,
    /// Whether computers may use legacy suites.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_legacy: bool,
}

impl Collect {
    /// True when several servers may share the deployment, each with logs of its own.
    pub fn is_shared(&self) -> bool {
        matches!(self.transport, Transport::Nats(_))
    }
}

/// How batches reach the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Connections with TLS.
    Tcp,
    /// Datagrams.
    Udp,
    /// Through NATS JetStream.
    #[serde(serialize_with = "cluster")]
    Nats(Cluster),
}

fn cluster<S: Serializer>(cluster: &Cluster, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("servers", &cluster.servers)?;
    map.serialize_entry("partitions", &cluster.partitions)?;
    match &cluster.protection {
        Protection::Loopback => {}
        Protection::Plain => map.serialize_entry("tls", "no")?,
        Protection::Tls(files) => map.serialize_entry("tls", &protection::described(files))?,
    }
    map.end()
}

/// What a deployment says of it.
pub(super) struct TransportDraft {
    name: Maybe<&'static str>,
    nats: Maybe<Vec<String>>,
    protection: ProtectionDraft,
    partitions: Maybe<i64>,
    metrics: Maybe<MonitorAddress>,
    live: Maybe<bool>,
}

/// Reads the keys of `[collect]` that are about it.
pub(super) fn read(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> TransportDraft {
    let name = section.text("transport", "\"tcp\"", problems).and_then(|text| name(text, problems));
    let nats = section.texts("nats", NATS_EXAMPLE, problems).and_then(|texts| servers(texts, problems));
    let protection = protection::read(section, problems);
    let partitions = section.integer("partitions", 1..=limits::PARTITIONS_MAX as i64, problems);
    let metrics = section.text("metrics", "\"127.0.0.1:0\"", problems);
    let metrics = metrics.and_then(|text| monitoring::address(text, problems));
    let live = section.flag("live", problems);
    let texts = nats.as_ref().map_or(&[][..], |nats| &nats.value);
    protection.check(name.as_ref().is_some_and(|name| name.value == "nats"), texts, problems);
    let nats =
        nats.map(|At { value, span }| At { value: value.into_iter().map(|text| text.value).collect(), span });
    let draft = TransportDraft { name, nats, protection, partitions, metrics, live };
    if draft.is_shared() {
        section.require(&[("nats", NATS_EXAMPLE)], problems);
        // Each of several servers knows its own partitions, for a while.
        if let (Some(_), Some(name)) = (&draft.metrics, &draft.name) {
            let kind = Kind::Unfit {
                what: "transport",
                found: name.value.to_owned(),
                expected: "`tcp` or `udp` beside `metrics`, which servers that share their nodes do not have"
                    .into(),
                example: "tcp",
            };
            problems.push(Problem { span: name.span.clone(), kind });
        }
    }
    draft
}

fn name(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<&'static str> {
    match TRANSPORTS.into_iter().find(|name| *name == text.value) {
        Some(value) => Some(At { value, span: text.span }),
        None => {
            let known = TRANSPORTS.map(str::to_owned).into();
            let kind = Kind::UnknownName { what: "transport", found: text.value, known };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}

/// Where the servers of a cluster are. A name and a password would be read by whoever reads the deployment, and are none.
fn servers(texts: At<Vec<At<String>>>, problems: &mut Vec<Problem>) -> Maybe<Vec<At<String>>> {
    if texts.value.is_empty() {
        problems.push(Problem { span: texts.span, kind: Kind::Empty { what: "server in `nats`" } });
        return None;
    }
    let before = problems.len();
    for text in texts.value.iter().filter(|text| !is_address(&text.value)) {
        let kind = Kind::Unfit {
            what: "the address of a server",
            found: text.value.clone(),
            expected: "`nats://`, a host, `:` and a port".into(),
            example: "nats://127.0.0.1:4222",
        };
        problems.push(Problem { span: text.span.clone(), kind });
    }
    (problems.len() == before).then_some(texts)
}

fn is_address(text: &str) -> bool {
    let place = text.strip_prefix("nats://").and_then(|place| place.rsplit_once(':'));
    place.is_some_and(|(host, port)| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b);
        !host.is_empty() && host.bytes().all(fits) && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

impl TransportDraft {
    /// Whether several servers may share its nodes.
    pub(super) fn is_shared(&self) -> bool {
        self.name() == "nats"
    }

    fn name(&self) -> &'static str {
        self.name.as_ref().map_or("tcp", |name| name.value)
    }

    /// The checked value, with files below `folder`; `None` when there was a problem.
    pub(super) fn finish(&self, folder: &Path) -> Option<Transport> {
        Some(match self.name() {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            _ => Transport::Nats(Cluster {
                servers: self.nats.as_ref()?.value.clone(),
                partitions: match &self.partitions {
                    Some(partitions) => partitions.value.try_into().ok()?,
                    None => PARTITIONS,
                },
                protection: self.protection.finish(folder)?,
            }),
        })
    }

    /// Where monitors ask, below `folder`, and whether they see what nodes measure: usually where nobody else comes by.
    pub(super) fn monitoring(&self, folder: &Path) -> (Option<MonitorAddress>, bool) {
        let address = self.metrics.as_ref().map(|metrics| metrics.value.clone().below(folder));
        let is_local = address.as_ref().is_some_and(MonitorAddress::is_local);
        (address, self.live.as_ref().map_or(is_local, |live| live.value))
    }

    /// Bytes of the longest plaintext of a batch, and what makes it so.
    pub(super) fn batch_bytes_max(&self) -> (u64, &'static str) {
        match self.name() {
            "udp" => (limits::DATAGRAM_BATCH_BYTES_MAX, "a datagram holds"),
            _ => (limits::BATCH_BYTES_MAX, "the crypto device seals at once"),
        }
    }
}
