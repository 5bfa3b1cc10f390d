//! What it is worth to look out for a while before sleeping, at both ends: requests a second, and processor time of each.
//!
//! Owns the sweep from which `broker::limits::ATTENTION` is taken.

use std::time::Duration;

use broker::client::blocking::Settings;
use rustix::time::{ClockId, clock_gettime};
use selvedge::error::Error;

use super::super::switches::processor_s;
use super::threads::{GCM_64_B, P256};
use super::{Bench, median, stop};

const LENGTHS_US: [u64; 6] = [0, 10, 20, 50, 100, 200];
const APPLICATIONS: [usize; 3] = [1, 4, 16];

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let failed = || Error::process("broker");
    for task in [GCM_64_B, P256] {
        for applications in APPLICATIONS {
            let mut seen = LENGTHS_US.map(|_| (Vec::new(), Vec::new()));
            for _ in 0..bench.rounds {
                for (length_us, (rates, costs)) in LENGTHS_US.into_iter().zip(&mut seen) {
                    let lanes = std::thread::available_parallelism().map_err(failed())?;
                    let options = ["--lanes", &lanes.to_string(), "--attention-us", &length_us.to_string()];
                    let (server, socket) = bench.server_with("soft", &options.map(Into::into))?;
                    let own_s = || {
                        let time = clock_gettime(ClockId::ProcessCPUTime);
                        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
                    };
                    let spent_s = || -> Result<f64, Error> {
                        Ok(own_s() + processor_s(server.id()).map_err(failed())?)
                    };
                    let before_s = spent_s()?;
                    let duration = Duration::from_millis(bench.duration_ms.into());
                    let attention = Duration::from_micros(length_us);
                    let settings = Settings { attention, ..Settings::default() };
                    let rate = task.rate(&socket, applications, duration, settings)?;
                    // What was asked before it counted is in it, too.
                    let asked = rate * (duration.as_secs_f64() + super::WARM_UP_MS as f64 / 1000.0);
                    costs.push((spent_s()? - before_s) / asked * 1e6);
                    rates.push(rate);
                    stop(server)?;
                }
            }
            for (length_us, (rates, costs)) in LENGTHS_US.into_iter().zip(seen) {
                let case = format!("{}, applications: {applications}, attention: {length_us} us", task.name);
                bench.row(&case, "requests", median(rates), "1/s");
                bench.row(&case, "processor time of each", median(costs), "us");
            }
        }
    }
    Ok(())
}
