//! The configuration of a broker that is a service of its machine, checked.
//!
//! Owns what a configuration is, and what of it a reload changes. `limit` is the table of all limits with what each may
//! be, `reading` the file's vocabulary; both are described in `docs/broker.md`. Every problem is found, not only the first.
//!
//! Invariant: what a [`Service`] says is within the limits of `broker::limits`.

use std::path::{Path, PathBuf};

use broker::Settings;
use broker::journal::Level;
use toml::de::DeTable;

use super::device::DeviceChoice;
use super::diagnostic::Problems;
use super::monitoring::MonitorAddress;
use super::problem::{Kind, Problem};
use crate::error::Error;

mod limit;
mod reading;

pub use limit::{LIMITS, Limit, Unit};

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where applications connect; none where the service manager or the start rule says it.
    pub socket: Option<PathBuf>,
    /// The socket's permissions.
    pub mode: u32,
    /// The socket's group.
    pub group: Option<u32>,
    /// Devices, the first that can be opened is served.
    pub devices: Vec<DeviceChoice>,
    /// All limits.
    pub settings: Settings,
    /// What is worth a line in the log.
    pub level: Level,
    /// Where a monitor asks.
    pub metrics: Option<MonitorAddress>,
}

impl Service {
    /// What a reload cannot change, of what `new` says otherwise.
    pub fn fixed(&self, new: &Service) -> Vec<&'static str> {
        let parts = [
            ("socket", self.socket != new.socket),
            ("mode", self.mode != new.mode),
            ("group", self.group != new.group),
            ("device", self.devices != new.devices),
            ("listen", self.metrics != new.metrics),
        ];
        let parts = parts.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key);
        let differs = |limit: &&Limit| limit.of(&self.settings) != limit.of(&new.settings);
        let limits = LIMITS.iter().filter(|limit| !limit.reloads).filter(differs).map(|limit| limit.key);
        parts.chain(limits).collect()
    }

    /// What `new` says, as far as a reload can change it.
    #[must_use]
    pub fn reloaded(&self, new: Service) -> Service {
        let mut settings = new.settings;
        for limit in LIMITS.iter().filter(|limit| !limit.reloads) {
            limit.copy(&self.settings, &mut settings);
        }
        let old = &self.settings;
        settings.only_user = old.only_user;
        if old.only_user.is_some() {
            // A user's own broker is its user's, and ends.
            (settings.operator, settings.idle_max) = (old.operator, settings.idle_max.or(old.idle_max));
        }
        Service { settings, level: new.level, ..self.clone() }
    }
}

/// Reads and checks the configuration at `path`; its relative paths start at that file's folder.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::Deployment`] with every problem in it.
pub fn load(path: &Path) -> Result<Service, Error> {
    check(path, super::deployment::text(path)?).map_err(Error::Deployment)
}

/// Checks `text`, the content of the file at `path`.
///
/// # Errors
/// Every problem of the text.
pub fn check(path: &Path, text: String) -> Result<Service, Problems> {
    let mut problems = Vec::new();
    let (root, faults) = DeTable::parse_recoverable(&text);
    problems.extend(faults.iter().map(|fault| Problem {
        span: fault.span().unwrap_or(0..0),
        kind: Kind::Syntax { message: fault.message().into() },
    }));
    if faults.is_empty() {
        let folder = path.parent().unwrap_or(Path::new(""));
        let line_of = |at: usize| 1 + text[..at].matches('\n').count();
        let service = reading::read(root.get_ref(), folder, line_of, &mut problems);
        if problems.is_empty() {
            return Ok(service);
        }
    }
    drop(root);
    Err(Problems::new(path.into(), text, problems))
}

impl Default for Service {
    /// What an empty file says.
    fn default() -> Service {
        Service {
            socket: None,
            mode: 0o600,
            group: None,
            devices: vec![DeviceChoice::Soft(None)],
            settings: Settings::default(),
            level: Level::Info,
            metrics: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::device::{Kept, Tcp};
    use super::super::keeping::Source;
    use super::*;

    fn read_text(text: &str) -> Result<Service, String> {
        check(Path::new("/etc/x.toml"), text.to_owned()).map_err(|problems| problems.to_string())
    }

    #[test]
    fn an_empty_file_says_what_the_broker_does_anyway() {
        let service = read_text("").unwrap();
        let usual = Settings::default();
        assert!(LIMITS.iter().all(|limit| limit.of(&service.settings) == limit.of(&usual)));
        assert_eq!(service.devices, [DeviceChoice::Soft(None)]);
    }

    #[test]
    fn each_limit_takes_its_least_and_most_and_nothing_beyond() {
        for limit in LIMITS {
            let quoted = |value: u64| match limit.unit {
                Unit::Count => value.to_string(),
                Unit::Size => format!("\"{value} B\""),
                Unit::Time => format!("\"{value} us\""),
            };
            let read = |value| read_text(&format!("[limits]\n{} = {}\n", limit.key, quoted(value)));
            for value in [limit.min, limit.max] {
                assert_eq!(limit.of(&read(value).unwrap().settings), value, "{}", limit.key);
            }
            for value in limit.min.checked_sub(1).into_iter().chain([limit.max + 1]) {
                let words = read(value).unwrap_err();
                assert!(words.contains(&format!("{} is ", limit.key)) && words.contains("| "), "{words}");
            }
            let usual = limit.of(&Settings::default());
            assert!((limit.min..=limit.max).contains(&usual), "{}", limit.key);
        }
    }

    #[test]
    fn a_whole_configuration_is_what_it_says() {
        let service = read_text(
            "[broker]\nsocket = \"broker.sock\"\nmode = \"0660\"\ngroup = \"root\"\noperator = \"root\"\n\
             operator_group = \"0\"\nidle = \"90 s\"\n[[device]]\nkind = \"clocked\"\npath = \"/run/d.sock\"\n\
             preset = \"spidev\"\n[[device]]\nkind = \"soft\"\n[limits]\nconnections = 11100\n\
             request_bytes = \"32 MiB\"\nage = \"20 ms\"\n[log]\nlevel = \"warning\"\n[metrics]\n\
             listen = \"127.0.0.1:9464\"\n",
        )
        .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(service.socket.as_deref(), Some(Path::new("/etc/broker.sock")));
        assert_eq!((service.mode, service.group), (0o660, Some(0)));
        let Settings { operator, operator_group, idle_max, age_max, bounds, .. } = service.settings;
        assert_eq!((operator, operator_group), (Some(0), Some(0)));
        assert_eq!((idle_max, age_max), (Some(Duration::from_secs(90)), Duration::from_millis(20)));
        assert_eq!((bounds.connections, bounds.connections_per_user), (11_100, 5550));
        assert_eq!((bounds.request_bytes, bounds.request_bytes_per_user), (32 << 20, 16 << 20));
        let clocked = DeviceChoice::Clocked("/run/d.sock".into(), "spidev".into());
        assert_eq!(service.devices, [clocked, DeviceChoice::Soft(None)]);
        assert_eq!(service.level, Level::Warning);
        assert_eq!(service.metrics, Some(MonitorAddress::Tcp(([127, 0, 0, 1], 9464).into())));
    }

    #[test]
    fn a_device_of_every_kind_is_what_it_says() {
        let service = read_text(
            "[[device]]\nkind = \"soft\"\nstore = \"keys\"\nstore_key = \"file:store.key\"\n\
             store_anchor = \"/var/anchor\"\n[[device]]\nkind = \"uart\"\npath = \"/dev/ttyUSB0\"\nbaud = 3_000_000\n\
             [[device]]\nkind = \"spi\"\npath = \"/dev/spidev0.0\"\nmode = 3\n[[device]]\nkind = \"i2c\"\n\
             path = \"/dev/i2c-1\"\naddress = 0x48\n[[device]]\nkind = \"tcp\"\naddress = \"hsm:7070\"\n\
             certificates = \"tls\"\n[[device]]\nkind = \"tcp\"\naddress = \"[::1]:7070\"\ntls = \"no\"\n[[device]]\n\
             kind = \"pkcs11\"\nmodule = \"/usr/lib/p11.so\"\ntoken = \"t\"\npin_file = \"pin\"\n",
        )
        .unwrap_or_else(|problems| panic!("{problems}"));
        let key = Source::File("/etc/store.key".into());
        let kept = Kept { store: "/etc/keys".into(), key, anchor: Some("/var/anchor".into()) };
        let expected = [
            DeviceChoice::Soft(Some(kept)),
            DeviceChoice::Uart { path: "/dev/ttyUSB0".into(), baud: 3_000_000 },
            DeviceChoice::Spi { path: "/dev/spidev0.0".into(), hz: 1_000_000, mode: 3 },
            DeviceChoice::I2c { path: "/dev/i2c-1".into(), address: 0x48 },
            DeviceChoice::Tcp(Tcp::Secured("hsm:7070".into(), Some("/etc/tls".into()))),
            DeviceChoice::Tcp(Tcp::Plain("[::1]:7070".parse().unwrap())),
            DeviceChoice::Token {
                module: "/usr/lib/p11.so".into(),
                token: "t".into(),
                pin_file: "/etc/pin".into(),
            },
        ];
        assert_eq!(service.devices, expected);
    }

    #[test]
    fn a_users_weight_is_said_once_and_within_its_limits() {
        let user = |name: &str, weight: u32| format!("[[user]]\nname = \"{name}\"\nweight = {weight}\n");
        let service = read_text(&(user("root", 3) + &user("1000", 100))).unwrap();
        assert_eq!([0, 1000, 1001].map(|user| service.settings.weights.of(user)), [3, 100, 1]);
        let many: String = (0..17).map(|number| user(&number.to_string(), 2)).collect();
        for (text, words) in [
            (user("root", 0), "weight is 0, expected 1 to 100"),
            (user("root", 101), "weight is 101, expected 1 to 100"),
            (user("root", 2) + &user("0", 2), "user 0"),
            (user("nobody-has-this-name", 2), "is not a user of this machine"),
            (many, "the number of [[user]] is 17, expected 0 to 16"),
            ("[[user]]\nname = \"root\"\n".to_owned(), "lacks the key `weight`"),
        ] {
            let said = read_text(&text).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn a_reload_changes_what_it_can_and_names_the_rest() {
        let old = read_text("[broker]\nsocket = \"a\"\n[limits]\ntransfer_bytes = \"4 KiB\"\n").unwrap();
        let new = read_text(
            "[broker]\nsocket = \"b\"\noperator = \"7\"\n[[device]]\nkind = \"socket\"\npath = \"d\"\n[limits]\n\
             requests = 9\ntransfer_bytes = \"8 KiB\"\n[log]\nlevel = \"error\"\n",
        )
        .unwrap();
        assert_eq!(old.fixed(&new), ["socket", "device", "transfer_bytes"]);
        let now = old.reloaded(new);
        assert_eq!(
            (now.settings.operator, now.settings.bounds.requests, now.level),
            (Some(7), 9, Level::Error)
        );
        assert_eq!((now.settings.transfer_bytes_max, now.socket), (4096, Some("/etc/a".into())));
        let settings = Settings { only_user: Some(7), idle_max: Some(Duration::MAX), ..Settings::default() };
        let own = Service { settings, ..Service::default() }.reloaded(Service::default());
        assert_eq!((own.settings.only_user, own.settings.idle_max), (Some(7), Some(Duration::MAX)));
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in "(\\[(broker|limits|log|metrics)\\]|\\[\\[device\\]\\]|[a-z_]{1,12} = |\"[a-z0-9 ]{0,9}\"|[0-9]{1,20}|\n){0,24}") {
            if let Err(words) = read_text(&text) {
                prop_assert!(words.starts_with("error: /etc/x.toml:"));
            }
        }
    }
}
