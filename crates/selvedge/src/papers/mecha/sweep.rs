//! What is simulated: applications that each have 64 KiB answered, in each way to share the device, over everything that
//! decides how long that takes.

use std::time::Duration;

use broker::emulate::preset::Preset;
use broker::limits::FRAME_OVERHEAD_BYTES;
use broker::simulation::sharing::{Sharing, Took, Work};

/// What each application has answered, in requests that are as long as the PDUs are.
pub const DATA_BYTES: usize = 64 * 1024;
/// Lengths of requests, headers included.
pub const PDU_BYTES: [usize; 6] = [64, 256, 1024, 4096, 16_384, DATA_BYTES];
/// Numbers of applications in figure 5.
pub const COUNTS: [usize; 6] = [5, 10, 20, 40, 60, 80];
/// And where requests are shorter.
const SHORT_COUNTS: [usize; 3] = [5, 20, 80];
/// What opening the device costs, in milliseconds. 380 is the preset's.
pub const OPENS_MS: [u64; 6] = [0, 50, 100, 200, 380, 500];
/// And where requests are shorter: an application pays it once in any case.
const SHORT_OPENS_MS: [u64; 2] = [0, 380];
/// The device, with each latency timer.
pub const DEVICES: [&str; 3] = ["ftdi-30MHz", "ftdi-30MHz-1ms", "ftdi-30MHz-16ms"];

/// What is measured once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// One of [`DEVICES`].
    pub device: &'static str,
    /// How it is shared.
    pub sharing: Sharing,
    /// What opening it costs, where that is done.
    pub open: Duration,
    /// What is done.
    pub work: Work,
}

/// One of [`DEVICES`].
pub fn preset(device: &str) -> Preset {
    Preset::named(device).expect("it is in the table")
}

/// What each of so many applications does. Each waits for an answer before it asks again, as a library does.
pub fn work(count: usize, pdu_bytes: usize) -> Work {
    Work { count, requests: DATA_BYTES / pdu_bytes, pdu_bytes, outstanding: 1 }
}

/// What to call a way to share.
pub fn name(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Reopened => "re-open",
        Sharing::Locked => "lock",
        Sharing::OneByOne => "one by one",
        Sharing::Gathered => "this broker",
    }
}

/// `64 KiB`, `256 B`.
pub fn length(bytes: usize) -> String {
    if bytes >= 1024 { format!("{} KiB", bytes / 1024) } else { format!("{bytes} B") }
}

/// What to call a device's latency timer.
pub fn timer(device: &str) -> String {
    match preset(device).latency_timer {
        Duration::ZERO => "SEND_IMMEDIATE".to_owned(),
        timer => format!("timer {} ms", timer.as_millis()),
    }
}

impl Point {
    /// All of them.
    pub fn all() -> Vec<Point> {
        let mut points = Vec::new();
        for device in DEVICES {
            for pdu_bytes in PDU_BYTES {
                let (counts, opens_ms) = match pdu_bytes {
                    DATA_BYTES => (&COUNTS[..], &OPENS_MS[..]),
                    _ => (&SHORT_COUNTS[..], &SHORT_OPENS_MS[..]),
                };
                for work in counts.iter().map(|count| work(*count, pdu_bytes)) {
                    for sharing in Sharing::ALL {
                        let opens = if sharing == Sharing::Reopened { opens_ms } else { &OPENS_MS[..1] };
                        let opens = opens.iter().map(|ms| Duration::from_millis(*ms));
                        points.extend(opens.map(|open| Point { device, sharing, open, work }));
                    }
                }
            }
        }
        points
    }

    /// What it takes.
    pub fn simulate(&self) -> Took {
        self.sharing.simulate(Preset { open: self.open, ..preset(self.device) }, self.work)
    }

    /// Its name in rows.
    pub fn name(&self) -> String {
        let open = match self.sharing {
            Sharing::Reopened => format!(" at {} ms", self.open.as_millis()),
            _ => String::new(),
        };
        let Work { count, pdu_bytes, .. } = self.work;
        format!(
            "{}, {count} x 64 KiB in {}, {}{open}",
            timer(self.device),
            length(pdu_bytes),
            name(self.sharing)
        )
    }

    /// How many requests there are in all.
    pub fn requests(&self) -> f64 {
        (self.work.count * self.work.requests) as f64
    }
}

/// Points with what they took.
pub struct Swept(Vec<(Point, Took)>);

impl Swept {
    /// Each with its own.
    pub fn new(points: Vec<Point>, took: Vec<Took>) -> Swept {
        Swept(points.into_iter().zip(took).collect())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(Point, Took)> {
        self.0.iter()
    }

    /// What the work took, if it was swept. Opening costs what the preset says, unless it is said.
    pub fn took(&self, device: &str, sharing: Sharing, work: Work, open: Option<Duration>) -> Option<&Took> {
        let open = match sharing {
            Sharing::Reopened => open.unwrap_or(preset(device).open),
            _ => Duration::ZERO,
        };
        let is_it = |point: &Point| {
            (point.device, point.sharing, point.work, point.open) == (device, sharing, work, open)
        };
        self.0.iter().find(|(point, _)| is_it(point)).map(|(_, took)| took)
    }

    /// The same as [`took`](Self::took), in seconds.
    pub fn time_s(&self, device: &str, sharing: Sharing, work: Work, open: Option<Duration>) -> Option<f64> {
        self.took(device, sharing, work, open).map(|took| took.time.as_secs_f64())
    }

    /// The figure: applications, and what each way to share takes.
    pub fn figure(&self, device: &'static str) -> Vec<(usize, [f64; 4])> {
        let of_count = |count| {
            let time = |sharing| self.time_s(device, sharing, work(count, DATA_BYTES), None);
            let [Some(a), Some(b), Some(c), Some(d)] = Sharing::ALL.map(time) else { return None };
            Some((count, [a, b, c, d]))
        };
        COUNTS.into_iter().filter_map(of_count).collect()
    }
}

/// What this broker gains over another way to share, beside what is possible.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// Over this one.
    pub over: Sharing,
    /// Length of each request.
    pub pdu_bytes: usize,
    /// How many times as many requests a second.
    pub times: f64,
    /// And if the wire never rested: what the other takes for a request over what the request takes on the wire, framed.
    pub possible: f64,
}

impl Gain {
    /// Those that have a goal.
    pub fn all(swept: &Swept) -> Vec<Gain> {
        let (device, count) = (DEVICES[0], 80);
        let preset = preset(device);
        let gain = |over, pdu_bytes| {
            let work = work(count, pdu_bytes);
            let each = |sharing| {
                let requests = (work.count * work.requests) as f64;
                swept.time_s(device, sharing, work, None).map(|time_s| time_s / requests)
            };
            let (theirs, ours) = (each(over)?, each(Sharing::Gathered)?);
            let wire = preset.time(preset.cycles(pdu_bytes + FRAME_OVERHEAD_BYTES)).as_secs_f64();
            Some(Gain { over, pdu_bytes, times: theirs / ours, possible: theirs / wire })
        };
        let lengths = [64, 1024].into_iter();
        let pairs = lengths.flat_map(|bytes| [Sharing::Locked, Sharing::OneByOne].map(|over| (over, bytes)));
        pairs.filter_map(|(over, bytes)| gain(over, bytes)).collect()
    }

    /// What part of the possible that is.
    pub fn share(&self) -> f64 {
        self.times / self.possible
    }
}
