//! The log of a broker: a line of `key=value` pairs for each event, on standard error, never a payload.
//!
//! Under systemd each line begins with its priority (sd-daemon(3)) and the journal knows the time; else the time is on it.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::SystemTime;

use broker::journal::{Entry, Level};

/// Where lines go, and what is worth one.
pub struct Log {
    level: Mutex<Level>,
    is_journal: bool,
}

impl Log {
    /// Lines that matter as much as `level`, or more.
    pub fn new(level: Level) -> Log {
        Log { level: Mutex::new(level), is_journal: std::env::var_os("JOURNAL_STREAM").is_some() }
    }

    /// From now on.
    pub fn set(&self, level: Level) {
        *self.level.lock().expect("no holder of this lock panics") = level;
    }

    /// A line for what the broker says of itself.
    pub fn entry(&self, entry: &Entry) {
        let fields = match entry {
            Entry::DeviceOpened { device } => vec![("device", device.clone())],
            Entry::DeviceLost { device, fault } => {
                vec![("device", device.clone()), ("fault", fault.to_string())]
            }
            Entry::Refused { reason, count } => {
                vec![("reason", (*reason).to_owned()), ("count", count.to_string())]
            }
            Entry::Set | Entry::Draining => Vec::new(),
        };
        self.line(entry.level(), entry.name(), &fields);
    }

    /// A line.
    pub fn line(&self, level: Level, event: &str, fields: &[(&str, String)]) {
        if level > *self.level.lock().expect("no holder of this lock panics") {
            return;
        }
        let line = format!("{}{}\n", self.head(level), pairs(event, fields));
        // Nobody is told of a log that cannot be written: there is no other place.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    fn head(&self, level: Level) -> String {
        let (name, priority) = match level {
            Level::Error => ("error", 3),
            Level::Warning => ("warning", 4),
            Level::Info => ("info", 6),
        };
        if self.is_journal {
            return format!("<{priority}>level={name} ");
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("time={}.{:03} level={name} ", now.as_secs(), now.subsec_millis())
    }
}

/// A value that is no plain word stands in quotes, and so that it stays on its line.
fn pairs(event: &str, fields: &[(&str, String)]) -> String {
    let mut line = format!("event={event}");
    for (key, value) in fields {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:,@".contains(c);
        if !value.is_empty() && value.chars().all(is_plain) {
            line.push_str(&format!(" {key}={value}"));
        } else {
            line.push_str(&format!(" {key}={value:?}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let fields = [
            ("device", "/run/a.sock".to_owned()),
            ("fault", "it \"hung\nup\x1b[2J".to_owned()),
            ("n", String::new()),
        ];
        assert_eq!(
            pairs("device-lost", &fields),
            "event=device-lost device=/run/a.sock fault=\"it \\\"hung\\nup\\u{1b}[2J\" n=\"\""
        );
    }
}
