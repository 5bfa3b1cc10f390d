//! The sections of a configuration, value by value, each problem with its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use broker::Weights;
use broker::emulate::preset::PRESETS;
use broker::journal::Level;
use broker::limits as ceiling;
use toml::de::DeTable;

use super::super::device::{DeviceChoice, KINDS, Told, Unfit, Value};
use super::super::monitoring;
use super::super::problem::{Kind, Problem};
use super::super::quantity::DURATION;
use super::super::section::{At, Section};
use super::{Service, limit};

pub(super) fn read(
    root: &DeTable<'_>,
    folder: &Path,
    line_of: impl Fn(usize) -> usize,
    problems: &mut Vec<Problem>,
) -> Service {
    let mut root = Section::new(String::new(), root, 0..0);
    let mut service = Service::default();
    let mut section = below(&mut root, "broker", problems);
    let socket = section.text("socket", "\"/run/selvedge-broker/broker.sock\"", problems);
    service.socket = socket.map(|path| folder.join(path.value));
    if let Some(mode) = section.text("mode", "\"0660\"", problems) {
        service.mode = octal(mode, problems).unwrap_or(service.mode);
    }
    let group = section.text("group", "\"selvedge-broker\"", problems);
    service.group = group.and_then(|name| account(name, "/etc/group", "a group of this machine", problems));
    let operator = section.text("operator", "\"monitor\"", problems);
    service.settings.operator =
        operator.and_then(|name| account(name, "/etc/passwd", "a user of this machine", problems));
    let group = section.text("operator_group", "\"adm\"", problems);
    service.settings.operator_group =
        group.and_then(|name| account(name, "/etc/group", "a group of this machine", problems));
    let idle_max = format!("{} s", ceiling::IDLE_MAX.as_secs());
    let idle = section.quantity("idle", &DURATION, ["10 ms", &idle_max], problems);
    service.settings.idle_max =
        idle.and_then(|time| limit::whole_us(time, problems)).map(Duration::from_micros);
    section.finish(problems);

    let tables = root.array("device", problems);
    let devices: Vec<_> = tables.into_iter().filter_map(|table| device(table, folder, problems)).collect();
    if !devices.is_empty() {
        service.devices = devices;
    }
    service.settings.weights = weights(root.array("user", problems), line_of, problems);

    let mut section = below(&mut root, "limits", problems);
    limit::read(&mut section, &mut service.settings, problems);
    section.finish(problems);

    let mut section = below(&mut root, "log", problems);
    if let Some(name) = section.text("level", "\"info\"", problems) {
        service.level = named("level", name, &LEVELS, problems).unwrap_or(service.level);
    }
    section.finish(problems);

    let mut section = below(&mut root, "metrics", problems);
    let listen = section.text("listen", "\"127.0.0.1:9464\"", problems);
    let address = listen.and_then(|text| monitoring::address(text, problems));
    service.metrics = address.map(|address| address.value.below(folder));
    section.finish(problems);
    root.finish(problems);
    service
}

const LEVELS: [(&str, Level); 3] =
    [("error", Level::Error), ("warning", Level::Warning), ("info", Level::Info)];

fn below<'a>(root: &mut Section<'a>, key: &'static str, problems: &mut Vec<Problem>) -> Section<'a> {
    match root.table(key, problems) {
        Some(table) => Section::new(key.into(), table.value, table.span),
        None => Section::absent(key.into(), 0..0),
    }
}

fn device(table: At<&DeTable<'_>>, folder: &Path, problems: &mut Vec<Problem>) -> Option<DeviceChoice> {
    let mut section = Section::new("device".into(), table.value, table.span).element(None);
    section.require(&[("kind", "\"soft\"")], problems);
    let kind = section.text("kind", "\"soft\"", problems)?;
    let kinds: Vec<_> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
    let kind = named("kind of device", kind, &kinds, problems)?;
    let before = problems.len();
    let (mut told, mut spans) = (Told::new(), BTreeMap::new());
    for word in kind.words {
        let example = format!("\"{}\"", word.example);
        let found = match word.value {
            Value::Number(min, max) => {
                let number = section.integer(word.key, min.into()..=max.into(), problems);
                number.map(|number| At { value: number.value.to_string(), span: number.span })
            }
            _ => section.text(word.key, &example, problems),
        };
        if word.value == Value::Preset {
            let presets: Vec<_> = PRESETS.iter().map(|preset| (preset.name, ())).collect();
            found.clone().and_then(|name| named("preset", name, &presets, problems));
        }
        if let Some(At { value, span }) = found {
            told.insert(word.key, word.below(folder, value));
            spans.insert(word.key, span);
        }
    }
    for word in kind.words {
        let is_told = |key| told.contains_key(key);
        let is_required = match word.key {
            "store" => is_told("store_key") || is_told("store_anchor"),
            "store_key" => is_told("store"),
            // A service has no deployment whose certificates they could be.
            "certificates" => !is_told("tls"),
            _ => word.is_required,
        };
        if is_required {
            let example = match word.value {
                Value::Number(..) => word.example.to_owned(),
                _ => format!("\"{}\"", word.example),
            };
            section.require(&[(word.key, &example)], problems);
        }
    }
    section.finish(problems);
    if problems.len() > before {
        return None;
    }
    let unfit = |Unfit { key, found, expected, example }: Unfit| {
        let kind = Kind::Unfit { what: key, found, expected, example };
        Problem { span: spans[key].clone(), kind }
    };
    kind.choice(told).map_err(|fault| problems.push(unfit(fault))).ok()
}

/// Which users get more than others.
fn weights(
    tables: Vec<At<&DeTable<'_>>>,
    line_of: impl Fn(usize) -> usize,
    problems: &mut Vec<Problem>,
) -> Weights {
    let (mut weights, mut lines) = (Weights::default(), BTreeMap::new());
    let (count, span) = (tables.len(), tables.last().map_or(0..0, |table| table.span.clone()));
    for table in tables {
        let span = table.span.clone();
        let mut section = Section::new("user".into(), table.value, table.span).element(None);
        section.require(&[("name", "\"web\""), ("weight", "4")], problems);
        let name = section.text("name", "\"web\"", problems);
        let user = name.and_then(|name| account(name, "/etc/passwd", "a user of this machine", problems));
        let weight = section.integer("weight", 1..=ceiling::WEIGHT_MAX.into(), problems);
        section.finish(problems);
        let (Some(user), Some(weight)) = (user, weight) else { continue };
        if let Some(first_line) = lines.insert(user, line_of(span.start)) {
            let kind = Kind::Duplicate { what: "user", found: user.into(), first_line };
            problems.push(Problem { span, kind });
        }
        // That there are too many is told once, below.
        let _ = weights.say(user, weight.value.unsigned_abs() as u32);
    }
    if count > ceiling::WEIGHTS_MAX {
        let (what, found) = ("the number of [[user]]", count.to_string());
        let kind =
            Kind::OutOfRange { what, found, min: "0".to_owned(), max: ceiling::WEIGHTS_MAX.to_string() };
        problems.push(Problem { span, kind });
    }
    weights
}

fn named<T: Copy>(
    what: &'static str,
    name: At<String>,
    table: &[(&str, T)],
    problems: &mut Vec<Problem>,
) -> Option<T> {
    if let Some((_, value)) = table.iter().find(|(known, _)| *known == name.value) {
        return Some(*value);
    }
    let known = table.iter().map(|(known, _)| known.to_string()).collect();
    problems.push(Problem { span: name.span, kind: Kind::UnknownName { what, found: name.value, known } });
    None
}

fn octal(mode: At<String>, problems: &mut Vec<Problem>) -> Option<u32> {
    let value = u32::from_str_radix(&mode.value, 8).ok().filter(|value| *value <= 0o777);
    if value.is_none() {
        let (expected, example) = ("permissions in octal", "0660");
        problems.push(Problem {
            span: mode.span,
            kind: Kind::NotANumber { found: mode.value, expected, example },
        });
    }
    value
}

/// The number of a user or group: written as such, or as its name in this file.
fn account(name: At<String>, file: &str, expected: &'static str, problems: &mut Vec<Problem>) -> Option<u32> {
    let listed = std::fs::read_to_string(file).unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        (fields.next() == Some(&*name.value)).then(|| fields.nth(1)?.parse().ok())?
    };
    let number = name.value.parse().ok().or_else(|| listed.lines().find_map(of_line));
    if number.is_none() {
        let kind = Kind::NotANumber { found: name.value, expected, example: "0" };
        problems.push(Problem { span: name.span, kind });
    }
    number
}
