//! A device as `--device` says it: `KIND:PLACE[,NAME=VALUE]...`, or the path of a socket.
//!
//! Owns the form only; what may be said is the table's.

use std::str::FromStr;

use super::{DeviceChoice, DeviceKind, KINDS, Tcp, Told, Unfit, Word};

impl DeviceKind {
    fn named(name: &str) -> Option<&'static DeviceKind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The word that the command line does not name.
    fn place(&self) -> Option<&'static Word> {
        self.words.first().filter(|word| word.is_required)
    }

    /// How it is written on a command line.
    fn form(&self) -> String {
        let mut form = format!("{}:", self.name);
        for (index, Word { key, form: value, is_required, .. }) in self.words.iter().enumerate() {
            match (index, is_required) {
                (0, _) => form.push_str(value),
                (_, true) => form.push_str(&format!(",{key}={value}")),
                (_, false) => form.push_str(&format!("[,{key}={value}]")),
            }
        }
        form
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    /// `KIND:PLACE[,NAME=VALUE]...`, or the path of a socket.
    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        let is_word = |kind: &str| !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let Some((name, rest)) = text.split_once(':').filter(|(kind, _)| is_word(kind)) else {
            return Ok(DeviceChoice::Socket(text.into()));
        };
        // What has no place is in a process of its own, or in that of a service.
        let kind = DeviceKind::named(name).filter(|kind| kind.place().is_some());
        let kind = kind.ok_or_else(|| {
            let forms = KINDS.iter().filter(|kind| kind.place().is_some()).map(DeviceKind::form);
            let forms = forms.collect::<Vec<_>>().join(", ");
            format!("found a device of the kind `{name}`, expected a socket or {forms}")
        })?;
        of_line(kind, rest)
    }
}

impl FromStr for Tcp {
    type Err = String;

    /// The same behind `tcp:`.
    fn from_str(text: &str) -> Result<Tcp, String> {
        match of_line(DeviceKind::named("tcp").expect("it is in the table"), text)? {
            DeviceChoice::Tcp(tcp) => Ok(tcp),
            _ => unreachable!("a kind makes its own devices"),
        }
    }
}

/// What is behind the kind's name on a command line.
fn of_line(kind: &'static DeviceKind, rest: &str) -> Result<DeviceChoice, String> {
    let form = kind.form();
    let mut parts = rest.split(',');
    let place = parts.next().filter(|place| !place.is_empty());
    let place = place.ok_or_else(|| format!("found no place, expected {form}"))?;
    let mut told = Told::from([(kind.words[0].key, place.to_owned())]);
    for part in parts {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("found `{part}`, expected NAME=VALUE as in {form}"))?;
        let word = kind.words[1..].iter().find(|word| word.key == name);
        let word = word.ok_or_else(|| format!("found the option `{name}`, expected {form}"))?;
        if told.insert(word.key, value.to_owned()).is_some() {
            return Err(format!("found `{name}` twice, expected it once"));
        }
    }
    let missing = kind.words.iter().find(|word| word.is_required && !told.contains_key(word.key));
    if let Some(word) = missing {
        return Err(format!("found no {}, expected {form}", word.key));
    }
    kind.choice(told)
        .map_err(|Unfit { key, found, expected, .. }| format!("found {key} `{found}`, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<DeviceChoice>().expect_err("it is no device")
    }

    #[test]
    fn a_path_is_a_socket_and_a_word_before_a_colon_is_a_kind() {
        let choice = |text: &str| text.parse::<DeviceChoice>().unwrap();
        assert_eq!(choice("run/device.sock"), DeviceChoice::Socket("run/device.sock".into()));
        assert_eq!(choice("./uart:7"), DeviceChoice::Socket("./uart:7".into()));
        let uart = |baud| DeviceChoice::Uart { path: "/dev/ttyUSB0".into(), baud };
        assert_eq!(choice("uart:/dev/ttyUSB0"), uart(115_200));
        assert_eq!(choice("uart:/dev/ttyUSB0,baud=3000000"), uart(3_000_000));
        let address = DeviceChoice::I2c { path: "/dev/i2c-1".into(), address: 0x48 };
        assert_eq!(choice("i2c:/dev/i2c-1,address=0x48"), address);
        assert_eq!(
            choice("tcp:127.0.0.1:7,tls=no"),
            DeviceChoice::Tcp(Tcp::Plain(([127, 0, 0, 1], 7).into()))
        );
    }

    #[test]
    fn what_is_no_device_is_refused_by_what_was_found_and_expected() {
        let words = [
            "uart:",
            "uart:/dev/ttyS0,baud=9600",
            "uart:/dev/ttyS0,speed=1",
            "uart:/dev/ttyS0,baud",
            "uart:/dev/ttyS0,baud=115200,baud=115200",
            "spi:/dev/spidev0.0,mode=4",
            "i2c:/dev/i2c-1",
            "i2c:/dev/i2c-1,address=0x78",
            "tcp:192.0.2.1:7070,tls=no",
            "tcp:localhost:7070,tls=no",
            "tcp:localhost:7070,tls=yes",
            "pkcs11:/usr/lib/softhsm/libsofthsm2.so,token=t",
            "pkcs11:/usr/lib/softhsm/libsofthsm2.so,token=,pin_file=/etc/pin",
            "clocked:device.sock,preset=parallel",
        ]
        .map(refusal);
        expect_test::expect![[r#"
            found no place, expected uart:PATH[,baud=RATE]
            found baud `9600`, expected a number from 115200 to 4294967295
            found the option `speed`, expected uart:PATH[,baud=RATE]
            found `baud`, expected NAME=VALUE as in uart:PATH[,baud=RATE]
            found `baud` twice, expected it once
            found mode `4`, expected a number from 0 to 3
            found no address, expected i2c:PATH,address=NUMBER
            found address `0x78`, expected a number from 8 to 119
            found address `192.0.2.1:7070`, expected a loopback address, where TLS is left out
            found address `localhost:7070`, expected a loopback address, where TLS is left out
            found tls `yes`, expected no, or nothing for mutual TLS
            found no pin_file, expected pkcs11:MODULE,token=LABEL,pin_file=PATH
            found token ``, expected not empty
            found preset `parallel`, expected the name of a preset"#]]
        .assert_eq(&words.join("\n"));
        assert!(
            refusal("lpt:1")
                .starts_with("found a device of the kind `lpt`, expected a socket or socket:PATH")
        );
        assert!(
            refusal("soft:")
                .starts_with("found a device of the kind `soft`, expected a socket or socket:PATH")
        );
    }

    proptest! {
        #[test]
        fn any_line_has_an_answer(
            line in "((soft|socket|clocked|uart|spi|i2c|ftdi|tcp|pkcs11|[a-z]{1,3}):)?([a-z0-9/.:]{0,9}|,|=|(path|baud|hz|mode|address|tls|token|pin_file|preset)=|0x[0-9a-f]{0,9}){0,9}",
        ) {
            if let Err(words) = line.parse::<DeviceChoice>() {
                prop_assert!(words.starts_with("found "), "{words}");
            }
        }
    }
}
