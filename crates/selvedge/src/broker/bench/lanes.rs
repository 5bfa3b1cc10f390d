//! What a second lane of the software device is worth: the same applications beside one lane, and beside two.

use std::path::PathBuf;
use std::time::Duration;

use broker::client::blocking::Settings;
use selvedge::error::Error;
use selvedge::link::launch::Daemon;

use super::threads::{ASCON_64_KIB, GCM_64_B, GCM_64_KIB, P256, Task};
use super::{Bench, Wanted, median, stop};

/// Applications at a time.
const APPLICATIONS: usize = 8;
const LANES: [usize; 2] = [1, 2];

/// What is asked, and how much more of it two lanes are to do.
const TASKS: [(Task, Wanted); 4] = [
    (P256, Wanted::AtLeast(1.3)),
    (GCM_64_KIB, Wanted::AtLeast(1.0)),
    (ASCON_64_KIB, Wanted::AtLeast(1.5)),
    (GCM_64_B, Wanted::AtLeast(0.95)),
];

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    for (task, wanted) in TASKS {
        let mut rates = [Vec::new(), Vec::new()];
        let mut alone = [Vec::new(), Vec::new()];
        for _ in 0..bench.rounds {
            for (index, lanes) in LANES.into_iter().enumerate() {
                let (server, socket) = start(bench, lanes)?;
                let duration = Duration::from_millis(bench.duration_ms.into());
                rates[index].push(task.rate(&socket, APPLICATIONS, duration, Settings::default())?);
                alone[index].push(task.rate(&socket, 1, duration, Settings::default())?);
                stop(server)?;
            }
        }
        let [one, two] = rates.map(median);
        let [one_alone, two_alone] = alone.map(median);
        for (lanes, rate, alone) in [(1, one, one_alone), (2, two, two_alone)] {
            let case = format!("{}, lanes: {lanes}", task.name);
            bench.row(&case, "requests of 8 applications", rate, "1/s");
            bench.row(&case, "requests of one application", alone, "1/s");
        }
        let what = format!("{}, 8 applications: two lanes, of one lane's rate", task.name);
        bench.goal(&what, two / one, "one lane", format!("{one:.0}/s"), wanted);
    }
    Ok(())
}

fn start(bench: &Bench, lanes: usize) -> Result<(Daemon, PathBuf), Error> {
    bench.server_with("soft", &["--lanes".into(), lanes.to_string().into()])
}
