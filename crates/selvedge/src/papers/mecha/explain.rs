//! Which settings give the two numbers that the paper prints: 1.91 s saved at 5 applications, 82.8 % faster at 80.
//!
//! Two things are not printed: what re-opening cost, and what the paper's broker did. For each latency timer, length of
//! requests and kind of broker, the first number gives the re-open cost, and then the second one is compared.

use std::time::Duration;

use broker::simulation::sharing::Sharing;

use super::sweep::{DEVICES, PDU_BYTES, Point, Swept, work};

/// Seconds saved at the fewer applications.
pub const SAVED_S: f64 = 1.91;
/// "82.8 % faster" at the more.
pub const FASTER: f64 = 0.828;
/// The numbers of applications that they are printed for.
pub const COUNTS: [usize; 2] = [5, 80];

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// The device, with its latency timer.
    pub device: &'static str,
    /// Length of requests.
    pub pdu_bytes: usize,
    /// What the paper's broker is taken for.
    pub broker: Sharing,
    /// What opening must cost for the saving, unless there is more of it even when opening costs nothing.
    pub fit: Option<Fit>,
    /// What it must cost, in milliseconds, for 82.8 % less time; and for 82.8 % more requests a second.
    pub opens_ms: [Option<f64>; 2],
}

/// What follows from the saving.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// What opening costs.
    pub open: Duration,
    /// What is saved then.
    pub saved_s: f64,
    /// How much less time the more applications take.
    pub less_time: f64,
    /// How many more requests a second they get.
    pub more_rate: f64,
}

impl Explained {
    /// All settings that were swept.
    pub fn all(swept: &Swept) -> Vec<Explained> {
        let mut all = Vec::new();
        for device in DEVICES {
            for pdu_bytes in PDU_BYTES {
                for broker in [Sharing::OneByOne, Sharing::Gathered] {
                    all.extend(explain(swept, device, pdu_bytes, broker));
                }
            }
        }
        all
    }

    /// How far the second number is off that the first one gives, by the reading that is nearer; 0 is not at all.
    pub fn off(&self) -> f64 {
        let off = |fit: Fit| (fit.less_time - FASTER).abs().min((fit.more_rate - FASTER).abs());
        self.fit.map_or(f64::INFINITY, off)
    }
}

fn explain(swept: &Swept, device: &'static str, pdu_bytes: usize, broker: Sharing) -> Option<Explained> {
    let works = COUNTS.map(|count| work(count, pdu_bytes));
    let time = |sharing| works.map(|work| swept.time_s(device, sharing, work, Some(Duration::ZERO)));
    // Beside what opening costs, which each application pays once.
    let [Some(few_theirs), Some(many_theirs)] = time(Sharing::Reopened) else { return None };
    let [Some(few), Some(many)] = time(broker) else { return None };
    let open_s = |time_s: f64, count: usize| {
        let open_s = time_s / count as f64;
        (open_s >= 0.0).then_some(open_s)
    };
    let open = open_s(SAVED_S + few - few_theirs, COUNTS[0]).map(Duration::from_secs_f64);
    let fit = open.map(|open| {
        // Measured with that cost, and not computed.
        let measure =
            |work| Point { device, sharing: Sharing::Reopened, open, work }.simulate().time.as_secs_f64();
        let [few_theirs, many_theirs] = works.map(measure);
        Fit {
            open,
            saved_s: few_theirs - few,
            less_time: 1.0 - many / many_theirs,
            more_rate: many_theirs / many - 1.0,
        }
    });
    let wanted = [many / (1.0 - FASTER), many * (1.0 + FASTER)];
    let opens_ms = wanted.map(|theirs| open_s(theirs - many_theirs, COUNTS[1]).map(|open_s| 1000.0 * open_s));
    Some(Explained { device, pdu_bytes, broker, fit, opens_ms })
}
