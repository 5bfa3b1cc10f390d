//! The machine that was measured on, as Linux describes it. What it does not say is `unknown`, and never guessed.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use report::row::Value;

/// What USER_HZ is on every architecture that Linux still supports: ticks of `/proc/stat` in a second.
const TICKS_PER_SECOND: u64 = 100;

/// A machine, and what else it did during a run.
pub struct Machine {
    /// Release and preemption model.
    pub kernel: String,
    /// The processor's name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Whether a hypervisor says that it is there.
    pub is_virtual: Option<bool>,
    /// What the time is read from.
    pub clock: String,
    /// Processes that wanted to run, averaged over a minute, when the run ended.
    pub load: String,
    /// Time in which cores wanted to run and the hypervisor ran something else, all cores together.
    pub stolen: Option<Duration>,
    /// How long the run took.
    pub took: Duration,
}

/// What is compared at the end of a run.
pub struct Began {
    at: Instant,
    stolen: Option<Duration>,
}

impl Began {
    /// Now.
    pub fn now() -> Began {
        Began { at: Instant::now(), stolen: stolen() }
    }

    /// The machine, since then.
    pub fn ended(&self) -> Machine {
        let cpuinfo = text("/proc/cpuinfo");
        Machine {
            kernel: kernel(&text("/proc/version")),
            cpu: field(&cpuinfo, "model name").unwrap_or("unknown").to_owned(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            is_virtual: field(&cpuinfo, "flags")
                .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            clock: first_word(&text("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
            load: first_word(&text("/proc/loadavg")),
            stolen: stolen().zip(self.stolen).map(|(now, then)| now.saturating_sub(then)),
            took: self.at.elapsed(),
        }
    }
}

impl Machine {
    /// Whether it is a machine of its own, in words.
    pub fn kind(&self) -> &'static str {
        match self.is_virtual {
            Some(true) => "a virtual machine",
            Some(false) => "no hypervisor says that it is there",
            None => "unknown",
        }
    }

    /// Each of them as a row has it: what, in which unit, and how much.
    pub fn facts(&self) -> Vec<(&'static str, &'static str, Value)> {
        let stolen = match self.stolen {
            Some(stolen) => (1000.0 * stolen.as_secs_f64()).into(),
            None => "unknown".into(),
        };
        vec![
            ("kernel", "", self.kernel.clone().into()),
            ("processor", "", self.cpu.clone().into()),
            ("cores", "", self.cores.into()),
            ("machine", "", self.kind().into()),
            ("clock source", "", self.clock.clone().into()),
            ("processes that wanted to run, averaged over a minute", "", self.load.clone().into()),
            ("steal time of all cores, wall time", "ms", stolen),
            ("the run, wall time", "s", self.took.as_secs_f64().into()),
        ]
    }

    /// In a few words.
    pub fn words(&self) -> String {
        format!("{}, {} cores, {}, Linux {}", self.cpu, self.cores, self.kind(), self.kernel)
    }
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// A field of `/proc/cpuinfo`, of the first core.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

/// Release and model of preemption: `6.1.0, PREEMPT_DYNAMIC`.
fn kernel(version: &str) -> String {
    let release = version.split_whitespace().nth(2).unwrap_or("unknown");
    let model = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    format!("{release}, {}", model.unwrap_or("no preemption model named"))
}

/// The eighth number of the first line of `/proc/stat`.
fn stolen() -> Option<Duration> {
    stolen_of(&text("/proc/stat"))
}

fn stolen_of(stat: &str) -> Option<Duration> {
    let ticks: u64 = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read_and_what_it_does_not_say_is_unknown() {
        let version = "Linux version 6.1.0-9 (builder@host) (gcc 12.2.0) #1 SMP PREEMPT_RT Debian";
        assert_eq!(kernel(version), "6.1.0-9, PREEMPT_RT");
        assert_eq!(kernel(""), "unknown, no preemption model named");
        let cpuinfo =
            "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu hypervisor aes\n\nmodel name\t: B\n";
        assert_eq!(field(cpuinfo, "model name"), Some("A CPU"));
        assert_eq!(field(cpuinfo, "bogus"), None);
        assert_eq!(first_word("0.50 0.40 0.30 1/2 3\n"), "0.50");
        assert_eq!(first_word(""), "unknown");
    }

    #[test]
    fn steal_is_the_eighth_number_of_all_cores() {
        assert_eq!(stolen_of("cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 1"), Some(Duration::from_millis(2500)));
        assert_eq!(stolen_of("cpu  1 2 3"), None);
        assert_eq!(stolen_of(""), None);
    }
}
