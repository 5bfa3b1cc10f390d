//! What a broker counts. Plain numbers; the roof draws them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use crate::info::DeviceInfo;
use crate::limits::USERS_MAX;
use crate::quota::Share;
use crate::wire::Status;

/// What is in the broker now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Connections.
    pub connections: usize,
    /// Requests that wait for the device.
    pub queued: usize,
    /// Requests at the device, those of closed connections included.
    pub in_flight: usize,
    /// Their bytes, each counted as the larger of itself and its longest answer.
    pub in_flight_bytes: usize,
    /// What the requests of open connections hold.
    pub held: Share,
    /// What connections hold besides: requests that are not whole or not looked at, and refusals that are not read.
    pub unfinished_bytes: usize,
    /// How often a device has been lost while open.
    pub epoch: u32,
    /// Which of the devices is open: the first of the list is 1, and 0 is none.
    pub device: usize,
}

impl Gauges {
    /// Their names, what they are, and their values.
    fn lines(&self) -> [(&'static str, &'static str, usize); 7] {
        [
            ("connections", "Applications that are connected", self.connections),
            ("requests_waiting", "Requests that wait for the device", self.queued),
            ("requests_at_device", "Requests at the device", self.in_flight),
            ("held_bytes", "What the requests of open connections hold", self.held.bytes),
            (
                "unfinished_bytes",
                "What connections hold besides: requests that are not whole, refusals that are not read",
                self.unfinished_bytes,
            ),
            ("epoch", "What answers say: how often the device has been lost", self.epoch as usize),
            ("device", "Which device of the list is open, from 1, or 0", self.device),
        ]
    }
}

/// Sizes of transfers that are told apart; the last is of 1024 pieces and more.
pub const TRANSFER_CLASSES: usize = 11;
/// Times that are told apart; the last is of a minute and more.
pub const STAY_CLASSES: usize = 27;

/// Counters of one run of a broker, all from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections that were taken.
    pub connections_admitted: u64,
    /// Connections that were refused, each with a named status.
    pub connections_refused: u64,
    /// Connections closed because their bytes were no requests.
    pub connections_closed_malformed: u64,
    /// Connections closed because they left too many answers unread, or too long.
    pub connections_closed_unread: u64,
    /// Requests that were let into the queue.
    pub requests_admitted: u64,
    /// Requests that were put on the wire to the device.
    pub requests_transmitted: u64,
    /// Requests that the device lost and that were sent once more.
    pub requests_repeated: u64,
    /// Transfers to the device, by how many requests they had a piece of: 1, 2 to 3, 4 to 7, and so on.
    pub transfers: [u64; TRANSFER_CLASSES],
    /// Answers handed to a connection, by status; see [`Stats::answers`].
    pub(crate) answers_by_status: [u64; Status::ALL.len()],
    /// Answers of the device for a connection that had closed; dropped.
    pub answers_late: u64,
    /// Answers of the device that nobody had asked for; dropped.
    pub answers_stray: u64,
    /// Times that the device was opened.
    pub device_opens: u64,
    /// Times that it could not be opened.
    pub device_open_failures: u64,
    /// Times that it was lost while open.
    pub device_losses: u64,
    /// Times that it had started anew between two opens.
    pub device_restarts: u64,
    /// Most requests that waited at a time.
    pub queued_max: usize,
    /// Most requests that were at the device at a time.
    pub in_flight_max: usize,
    /// Admitted requests by how long they took to be answered: below 1 us, below 2, 4, 8 and so on.
    pub stays: [u64; STAY_CLASSES],
    /// How long all of them together took.
    pub stay: Duration,
    /// What the device said of itself when it was opened last.
    pub device: Option<DeviceInfo>,
    /// What each user did, by uid, of those that are told apart.
    pub users: BTreeMap<u32, Usage>,
    /// What all others did.
    pub others: Usage,
}

/// What one user did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Connections that were taken.
    pub connections: u64,
    /// Requests that were let into the queue.
    pub requests: u64,
}

impl Stats {
    /// What a user did, if it is told apart, or all that are not.
    pub(crate) fn usage(&mut self, user: u32) -> &mut Usage {
        self.users.get_mut(&user).unwrap_or(&mut self.others)
    }

    /// Tells a user apart from now on, if there is room: made, if need be, by the one who did least and has no
    /// connection, and who is one of the others then.
    pub(crate) fn tell_apart(&mut self, user: u32, is_connected: impl Fn(u32) -> bool) {
        if self.users.contains_key(&user) {
            return;
        }
        if self.users.len() >= USERS_MAX {
            let gone = self.users.iter().filter(|(user, _)| !is_connected(**user));
            let Some(least) = gone.min_by_key(|(_, usage)| usage.requests).map(|(user, _)| *user) else {
                return;
            };
            let usage = self.users.remove(&least).expect("it was found there");
            self.others.connections += usage.connections;
            self.others.requests += usage.requests;
        }
        self.users.insert(user, Usage::default());
    }

    pub(crate) fn count_transfer(&mut self, requests: usize) {
        // One in which the device is only told of connections is none.
        if let Some(class) = requests.checked_ilog2() {
            self.transfers[(class as usize).min(TRANSFER_CLASSES - 1)] += 1;
        }
    }

    pub(crate) fn count_stay(&mut self, stay: Duration) {
        let class = (u64::BITS - (stay.as_micros() as u64).leading_zeros()) as usize;
        self.stays[class.min(STAY_CLASSES - 1)] += 1;
        self.stay += stay;
    }

    /// How many answers of this status were handed to connections.
    pub fn answers(&self, status: Status) -> u64 {
        self.answers_by_status[usize::from(status.number())]
    }

    /// All of it in Prometheus' text format, version 0.0.4.
    pub fn exposition(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        let device = self.device.as_ref().map_or(Ok(()), |device| device_lines(device, &mut text));
        device.and_then(|()| self.write(gauges, &mut text)).expect("a string takes all");
        text
    }

    fn write(&self, gauges: &Gauges, text: &mut String) -> fmt::Result {
        for (name, help, value) in gauges.lines() {
            writeln!(
                text,
                "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} gauge\n{PREFIX}{name} {value}"
            )?;
        }
        let counters = [
            ("connections_admitted", "Connections that were taken", self.connections_admitted),
            ("connections_refused", "Connections that were refused", self.connections_refused),
            (
                "connections_malformed",
                "Connections closed for what they sent",
                self.connections_closed_malformed,
            ),
            (
                "connections_unread",
                "Connections closed for what they did not read",
                self.connections_closed_unread,
            ),
            ("requests_admitted", "Requests that were let into the queue", self.requests_admitted),
            ("requests_transmitted", "Requests that were sent to the device", self.requests_transmitted),
            (
                "requests_repeated",
                "Requests that were sent again to a device that was lost",
                self.requests_repeated,
            ),
            ("answers_late", "Answers for connections that had closed", self.answers_late),
            ("answers_stray", "Answers that nobody had asked for", self.answers_stray),
            ("device_opens", "Times that the device was opened", self.device_opens),
            ("device_open_failures", "Times that it could not be opened", self.device_open_failures),
            ("device_losses", "Times that it was lost", self.device_losses),
            ("device_restarts", "Times that it had started anew", self.device_restarts),
        ];
        for (name, help, value) in counters {
            begin(text, name, help, "counter")?;
            writeln!(text, "{PREFIX}{name}_total {value}")?;
        }
        begin(text, "answers", "Answers handed to connections, by status", "counter")?;
        for status in Status::ALL.iter().filter(|status| self.answers(**status) > 0) {
            writeln!(
                text,
                "{PREFIX}answers_total{{status=\"{}\"}} {}",
                status.name(),
                self.answers(*status)
            )?;
        }
        begin(text, "user_requests", "Requests that were let into the queue, by uid", "counter")?;
        for (user, usage) in &self.users {
            writeln!(text, "{PREFIX}user_requests_total{{uid=\"{user}\"}} {}", usage.requests)?;
        }
        writeln!(text, "{PREFIX}user_requests_total{{uid=\"others\"}} {}", self.others.requests)?;
        let name = "transfer_requests";
        writeln!(text, "# HELP {PREFIX}{name} Requests in a transfer\n# TYPE {PREFIX}{name} histogram")?;
        let up_to = |class: usize| ((2_u64 << class) - 1).to_string();
        let all = buckets(text, name, &self.transfers, up_to)?;
        writeln!(text, "{PREFIX}{name}_sum {}\n{PREFIX}{name}_count {all}", self.requests_transmitted)?;
        let name = "answer_seconds";
        writeln!(text, "# HELP {PREFIX}{name} From admission to answer\n# TYPE {PREFIX}{name} histogram")?;
        let below = |class: usize| format!("{}", (1_u64 << class) as f64 / 1e6);
        let all = buckets(text, name, &self.stays, below)?;
        writeln!(text, "{PREFIX}{name}_sum {}\n{PREFIX}{name}_count {all}", self.stay.as_secs_f64())
    }
}

const PREFIX: &str = "selvedge_broker_";

fn device_lines(device: &DeviceInfo, text: &mut String) -> fmt::Result {
    let [name, store] = [&device.name, &device.store].map(|words| {
        words.replace('\\', "\\\\").replace('"', "\\\"").replace(|other: char| other.is_control(), " ")
    });
    writeln!(
        text,
        "# HELP {PREFIX}device_info The device, and what the key of its key store comes from\n\
         # TYPE {PREFIX}device_info gauge\n{PREFIX}device_info{{name=\"{name}\",store=\"{store}\"}} 1\n\
         # HELP {PREFIX}device_lanes Requests that the device computes at a time\n\
         # TYPE {PREFIX}device_lanes gauge\n{PREFIX}device_lanes {}",
        device.lanes
    )
}

fn begin(text: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(text, "# HELP {PREFIX}{name}_total {help}\n# TYPE {PREFIX}{name}_total {kind}")
}

/// Cumulative, as that format has them; how many there are in all.
fn buckets(
    text: &mut String,
    name: &str,
    classes: &[u64],
    bound: impl Fn(usize) -> String,
) -> Result<u64, fmt::Error> {
    let mut all = 0;
    for (class, count) in classes.iter().enumerate() {
        all += count;
        if class + 1 < classes.len() {
            writeln!(text, "{PREFIX}{name}_bucket{{le=\"{}\"}} {all}", bound(class))?;
        }
    }
    writeln!(text, "{PREFIX}{name}_bucket{{le=\"+Inf\"}} {all}")?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_a_counter() {
        for (index, status) in Status::ALL.iter().enumerate() {
            assert_eq!(usize::from(status.number()), index, "a retired number keeps its line in the table");
        }
    }

    fn device(store: &str) -> DeviceInfo {
        DeviceInfo {
            payload_bytes_max: 1,
            in_flight_max: 1,
            lanes: 2,
            boot: 1,
            name: "a device".to_owned(),
            store: store.to_owned(),
        }
    }

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let mut stats = Stats { requests_admitted: 9, requests_transmitted: 9, ..Stats::default() };
        stats.users.insert(1000, Usage { connections: 2, requests: 9 });
        stats.device = Some(device("file a \"b\"\n\\"));
        for pieces in [1, 2, 3, 3] {
            stats.count_transfer(pieces);
        }
        for micros in [0, 1, 3, 4, 1000, 90_000_000] {
            stats.count_stay(Duration::from_micros(micros));
        }
        let gauges = Gauges {
            connections: 2,
            queued: 1,
            in_flight: 3,
            in_flight_bytes: 4,
            held: Share::default(),
            unfinished_bytes: 5,
            epoch: 6,
            device: 2,
        };
        let text = stats.exposition(&gauges);
        let line = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(&format!("{PREFIX}{name} ")));
            found.unwrap_or_else(|| panic!("there is a `{name}`:\n{text}")).to_owned()
        };
        assert_eq!(line("connections"), "2");
        assert_eq!(line("unfinished_bytes"), "5");
        assert_eq!((line("epoch"), line("device")), ("6".to_owned(), "2".to_owned()));
        assert_eq!(line("device_info{name=\"a device\",store=\"file a \\\"b\\\" \\\\\"}"), "1");
        assert_eq!(line("device_lanes"), "2");
        assert_eq!(line("user_requests_total{uid=\"1000\"}"), "9");
        assert_eq!(line("user_requests_total{uid=\"others\"}"), "0");
        assert_eq!(line("transfer_requests_bucket{le=\"1\"}"), "1");
        assert_eq!(line("transfer_requests_bucket{le=\"3\"}"), "4");
        assert_eq!(line("answer_seconds_bucket{le=\"0.000001\"}"), "1");
        assert_eq!(line("answer_seconds_bucket{le=\"0.000002\"}"), "2");
        assert_eq!(line("answer_seconds_bucket{le=\"0.000004\"}"), "3");
        assert_eq!(line("answer_seconds_bucket{le=\"0.000008\"}"), "4");
        assert_eq!(line("answer_seconds_bucket{le=\"+Inf\"}"), "6");
        assert_eq!(line("answer_seconds_count"), "6");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            assert!(name.starts_with(PREFIX) && value.parse::<f64>().is_ok(), "{line}");
        }
    }

    #[test]
    fn a_user_without_connections_makes_room_for_another_and_is_counted_with_the_others() {
        let mut stats = Stats::default();
        for user in 0..USERS_MAX as u32 {
            stats.tell_apart(user, |_| true);
            *stats.usage(user) = Usage { connections: 2, requests: 100 + u64::from(user) };
        }
        stats.tell_apart(1000, |_| true);
        stats.usage(1000).requests += 1;
        assert!(!stats.users.contains_key(&1000), "all that are told apart are connected");
        stats.tell_apart(1000, |user| user != 7 && user != 9);
        stats.usage(1000).requests += 1;
        assert!(!stats.users.contains_key(&7) && stats.users.contains_key(&9));
        assert_eq!(stats.others, Usage { connections: 2, requests: 108 });
        assert_eq!((stats.users[&1000].requests, stats.users.len()), (1, USERS_MAX));
    }

    #[test]
    fn the_longest_text_is_within_its_limit() {
        let mut stats = Stats { answers_by_status: [u64::MAX; Status::ALL.len()], ..Stats::default() };
        for user in 0..USERS_MAX as u32 {
            stats.users.insert(u32::MAX - user, Usage { connections: u64::MAX, requests: u64::MAX });
        }
        stats.device = Some(DeviceInfo {
            name: "\"".repeat(crate::limits::DEVICE_NAME_BYTES_MAX),
            ..device(&"\"".repeat(crate::limits::STORE_SOURCE_BYTES_MAX))
        });
        stats.transfers = [u64::MAX / 100; TRANSFER_CLASSES];
        stats.stays = [u64::MAX / 100; STAY_CLASSES];
        let gauges = Gauges {
            connections: usize::MAX,
            queued: usize::MAX,
            in_flight: usize::MAX,
            in_flight_bytes: usize::MAX,
            held: Share { requests: usize::MAX, bytes: usize::MAX, unread: usize::MAX },
            unfinished_bytes: usize::MAX,
            epoch: u32::MAX,
            device: usize::MAX,
        };
        let bytes = stats.exposition(&gauges).len();
        assert!(bytes <= crate::limits::STATUS_BYTES_MAX, "{bytes}");
    }
}
