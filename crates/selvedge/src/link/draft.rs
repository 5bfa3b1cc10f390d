//! The keys of a deployment: each value by itself, present or not, with its place in the text.
//!
//! Owns the file's vocabulary and the range of every single value. What values must be to each other is
//! `schedule`'s; a draft without problems becomes the checked structs of `deployment`.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;

use cipher::Suite;
use cipher::suites::SUITES;
use toml::de::DeTable;

use super::chip::{CHIPS, Chip};
use super::computers::{self, ComputerDraft};
use super::filters::Filters;
use super::leads::{self, LeadDraft, SettingDraft};
use super::problem::{Kind, Problem};
use super::quantity::{DRIFT, DURATION, FREQUENCY, PROBABILITY, VOLTAGE};
use super::realtime::{self, RealtimeDraft};
use super::retention::{self, RetentionDraft};
use super::section::{At, Section};
use super::transport::{self, TransportDraft};
use crate::limits;

pub(super) type Maybe<T> = Option<At<T>>;

/// `[deployment]` and everything below the file's root.
pub(super) struct Draft {
    pub name: Maybe<String>,
    pub seed: Maybe<i64>,
    pub duration: Maybe<i64>,
    pub inputs: Vec<InputDraft>,
    pub cells: Vec<CellDraft>,
    pub allow_legacy: Maybe<bool>,
    pub batch_superframes: Maybe<i64>,
    pub address: Maybe<SocketAddr>,
    pub shards: Maybe<i64>,
    pub transport: TransportDraft,
    pub realtime: Option<RealtimeDraft>,
    pub retention: RetentionDraft,
    pub keys: Maybe<PathBuf>,
}

/// `[input.NAME]`
pub(super) struct InputDraft {
    pub name: At<String>,
    pub file: Maybe<String>,
    pub column: Maybe<String>,
    pub rate: Maybe<i64>,
    pub zero: Maybe<i64>,
    pub scale: Maybe<i64>,
    pub repeat: Maybe<bool>,
}

/// `[cell.NAME]`
pub(super) struct CellDraft {
    pub name: At<String>,
    pub id: Maybe<i64>,
    pub superframe: Maybe<i64>,
    pub slot: Maybe<i64>,
    pub guard: Maybe<i64>,
    pub bus: Maybe<i64>,
    pub byte_gap: Maybe<i64>,
    pub bit_errors: Maybe<i64>,
    pub drop_out_interval: Maybe<i64>,
    pub drop_out_duration: Maybe<i64>,
    pub nodes: Vec<NodeDraft>,
    pub computers: Vec<ComputerDraft>,
}

/// `[[cell.NAME.node]]`
pub(super) struct NodeDraft {
    pub span: Range<usize>,
    pub id: Maybe<i64>,
    pub chip: Maybe<&'static Chip>,
    pub clock: Maybe<i64>,
    pub drift: Maybe<i64>,
    pub slot: Maybe<i64>,
    pub input: Maybe<String>,
    pub start: Maybe<i64>,
    pub gain: Maybe<i64>,
    pub offset: Maybe<i64>,
    pub reference: Maybe<i64>,
    pub channel: Maybe<i64>,
    pub leads: Vec<LeadDraft>,
    pub settings: Vec<SettingDraft>,
    pub rate: Maybe<i64>,
    pub suite: Maybe<Suite>,
    pub divider: Maybe<u64>,
    pub filters: Maybe<Filters>,
    pub counter_block: Maybe<i64>,
    pub epoch_frames: Maybe<i64>,
}

impl NodeDraft {
    /// As messages name it.
    pub fn label(&self) -> String {
        match &self.id {
            Some(id) => format!("node {}", id.value),
            None => "a node without an id".into(),
        }
    }
}

/// Reads the whole document.
pub(super) fn read<'a>(root: &'a DeTable<'a>, problems: &mut Vec<Problem>) -> Draft {
    let mut root = Section::new(String::new(), root, 0..0);
    let mut section = below(&mut root, "deployment", problems);
    section.require(&[("name", "\"ward\""), ("seed", "1"), ("duration", "\"120 s\"")], problems);
    let name = section.text("name", "\"ward\"", problems);
    let seed = section.integer("seed", 0..=i64::MAX, problems);
    let duration = section.quantity("duration", &DURATION, limits::DURATION, problems);
    section.finish(problems);

    let inputs =
        root.tables("input", problems).into_iter().map(|(name, section)| input(name, section, problems));
    let inputs = inputs.collect();
    let cells =
        root.tables("cell", problems).into_iter().map(|(name, section)| cell(name, section, problems));
    let cells = cells.collect();

    let mut section = below(&mut root, "bridge", problems);
    let window = limits::WINDOW_SUPERFRAMES as i64;
    let batch_superframes = section.integer("batch_superframes", 1..=window, problems);
    section.finish(problems);

    let mut section = below(&mut root, "collect", problems);
    let address =
        section.text("address", "\"127.0.0.1:0\"", problems).and_then(|text| socket(text, problems));
    let shards = section.integer("shards", 1..=limits::SHARDS_MAX as i64, problems);
    let transport = transport::read(&mut section, problems);
    let retention = retention::read(&mut section, transport.is_shared(), problems);
    let realtime = realtime::read(&mut section, transport.is_shared(), problems);
    let allow_legacy = section.flag("allow_legacy", problems);
    section.finish(problems);

    let mut section = below(&mut root, "keys", problems);
    let keys = section
        .text("folder", "\"keys\"", problems)
        .map(|text| At { value: text.value.into(), span: text.span });
    section.finish(problems);
    root.finish(problems);
    Draft {
        name,
        seed,
        duration,
        inputs,
        cells,
        allow_legacy,
        batch_superframes,
        address,
        shards,
        transport,
        realtime,
        retention,
        keys,
    }
}

fn below<'a>(root: &mut Section<'a>, key: &'static str, problems: &mut Vec<Problem>) -> Section<'a> {
    match root.table(key, problems) {
        Some(table) => Section::new(key.into(), table.value, table.span),
        None => Section::absent(key.into(), 0..0),
    }
}

fn input(name: At<String>, mut section: Section<'_>, problems: &mut Vec<Problem>) -> InputDraft {
    let example = "\"../data/ecg/ecg.csv\"";
    section.require(
        &[("file", example), ("column", "\"mlii\""), ("rate", "\"360 Hz\""), ("scale", "\"5 uV\"")],
        problems,
    );
    let input = InputDraft {
        name,
        file: section.text("file", example, problems),
        column: section.text("column", "\"mlii\"", problems),
        rate: section.quantity("rate", &FREQUENCY, limits::RATE, problems),
        zero: section.integer("zero", i32::MIN.into()..=i32::MAX.into(), problems),
        scale: section.quantity("scale", &VOLTAGE, limits::SCALE, problems),
        repeat: section.flag("repeat", problems),
    };
    section.finish(problems);
    input
}

fn cell(name: At<String>, mut section: Section<'_>, problems: &mut Vec<Problem>) -> CellDraft {
    section.require(
        &[
            ("id", "1"),
            ("superframe", "\"250 ms\""),
            ("slot", "\"20 ms\""),
            ("guard", "\"1 ms\""),
            ("bus", "\"500 kHz\""),
            ("byte_gap", "\"250 ns\""),
            ("node", "[{ ... }]"),
        ],
        problems,
    );
    let id = section.integer("id", 0..=u16::MAX.into(), problems);
    let superframe = section.quantity("superframe", &DURATION, limits::SUPERFRAME, problems);
    let superframe = whole_us(superframe, problems);
    let slot = section.quantity("slot", &DURATION, limits::SLOT, problems);
    let slot = whole_us(slot, problems);
    let guard = section.quantity("guard", &DURATION, limits::SLOT, problems);
    let guard = whole_us(guard, problems);
    let bus = section.quantity("bus", &FREQUENCY, limits::GATEWAY_BUS, problems);
    let byte_gap = section.quantity("byte_gap", &DURATION, limits::BYTE_GAP, problems);
    let [bit_errors, drop_out_interval, drop_out_duration] = noise(&name, &mut section, problems);
    let shared = section.table("every_node", problems);
    if let Some(shared) = &shared {
        // Reading it as a node finds its unknown keys once; single values are reported where a node uses them.
        let every =
            Section::new(format!("cell.{}.every_node", name.value), shared.value, shared.span.clone());
        node(every, true, problems);
    }
    let tables = section.array("node", problems);
    let label = format!("cell.{}.node", name.value);
    let nodes = tables
        .into_iter()
        .map(|table| {
            let section = Section::new(label.clone(), table.value, table.span)
                .element(shared.as_ref().map(|s| s.value));
            node(section, false, problems)
        })
        .collect();
    let computers = computers::read(&name.value, &mut section, problems);
    section.finish(problems);
    let name = At { value: name.value, span: name.span };
    CellDraft {
        name,
        id,
        superframe,
        slot,
        guard,
        bus,
        byte_gap,
        bit_errors,
        drop_out_interval,
        drop_out_duration,
        nodes,
        computers,
    }
}

fn noise(name: &At<String>, cell: &mut Section<'_>, problems: &mut Vec<Problem>) -> [Maybe<i64>; 3] {
    let Some(table) = cell.table("noise", problems) else { return [None, None, None] };
    let mut section = Section::new(format!("cell.{}.noise", name.value), table.value, table.span);
    let noise = [
        section.quantity("bit_errors", &PROBABILITY, limits::BIT_ERRORS, problems),
        section.quantity("drop_out_interval", &DURATION, limits::DROP_OUT_INTERVAL, problems),
        section.quantity("drop_out_duration", &DURATION, limits::DROP_OUT_DURATION, problems),
    ];
    section.finish(problems);
    noise
}

/// What a node needs that neither it nor `every_node` may leave out.
const NODE_KEYS: [(&str, &str); 11] = [
    ("id", "1"),
    ("slot", "1"),
    ("chip", "\"atmega128\""),
    ("clock", "\"8 MHz\""),
    ("input", "\"ecg\""),
    ("gain", "\"x300\""),
    ("offset", "\"1.28 V\""),
    ("reference", "\"2.56 V\""),
    ("rate", "\"360 Hz\""),
    ("bus", "\"f/16\""),
    ("counter_block", "64"),
];

fn node(mut section: Section<'_>, shared: bool, problems: &mut Vec<Problem>) -> NodeDraft {
    if !shared {
        section.require(&NODE_KEYS, problems);
    }
    // One node's own: in `every_node` these two are unknown keys.
    let own = |section: &mut Section<'_>, key, max, problems: &mut Vec<Problem>| {
        (!shared).then(|| section.integer(key, 1..=max, problems)).flatten()
    };
    let node = NodeDraft {
        span: section.span(),
        id: own(&mut section, "id", u32::MAX.into(), problems),
        slot: own(&mut section, "slot", limits::SLOTS_MAX.into(), problems),
        chip: section.text("chip", "\"atmega128\"", problems).and_then(|text| chip(text, problems)),
        clock: section.quantity("clock", &FREQUENCY, limits::CLOCK, problems),
        drift: section.quantity("drift", &DRIFT, limits::DRIFT, problems),
        input: section.text("input", "\"ecg\"", problems),
        start: section.quantity("start", &DURATION, limits::START, problems),
        gain: section.gain("gain", limits::GAIN_THOUSANDTHS_MAX.into(), problems),
        offset: section.quantity("offset", &VOLTAGE, limits::OFFSET, problems),
        reference: section.quantity("reference", &VOLTAGE, limits::REFERENCE, problems),
        channel: section.integer("channel", 0..=limits::CHANNEL_MAX as i64, problems),
        leads: leads::read(&mut section, problems),
        settings: leads::read_settings(&mut section, problems),
        rate: section.quantity("rate", &FREQUENCY, limits::RATE, problems),
        suite: section.text("suite", "\"ascon-aead128\"", problems).and_then(|text| firmware(text, problems)),
        divider: section.text("bus", "\"f/16\"", problems).and_then(|text| divider(text, problems)),
        filters: section.text("filters", "\"woven\"", problems).and_then(|text| filters(text, problems)),
        counter_block: section.integer("counter_block", 1..=limits::COUNTER_BLOCK_MAX as i64, problems),
        epoch_frames: section.integer("epoch_frames", 1..=limits::EPOCH_FRAMES_MAX as i64, problems),
    };
    section.finish(problems);
    node
}

/// The beacon carries times in whole microseconds.
fn whole_us(time: Maybe<i64>, problems: &mut Vec<Problem>) -> Maybe<i64> {
    let time = time?;
    if time.value % limits::PS_PER_US as i64 == 0 {
        return Some(time);
    }
    let (us, ps) = (time.value / limits::PS_PER_US as i64, time.value % limits::PS_PER_US as i64);
    let found = format!("{} us", format!("{us}.{ps:06}").trim_end_matches('0'));
    problems.push(Problem { span: time.span, kind: Kind::TooFine { found, grain: "microseconds" } });
    None
}

fn chip(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<&'static Chip> {
    match Chip::find(&text.value) {
        Some(chip) => Some(At { value: chip, span: text.span }),
        None => {
            let known = CHIPS.iter().map(|chip| chip.name.to_string()).collect();
            let kind = Kind::UnknownName { what: "chip", found: text.value, known };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}

/// A suite that the node link speaks; those without a number there are for links above it.
pub(super) fn suite(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<Suite> {
    let spoken = || SUITES.iter().filter(|row| row.node_number.is_some());
    match spoken().find(|row| row.name == text.value) {
        Some(row) => Some(At { value: row.suite, span: text.span }),
        None => {
            let known = spoken().map(|row| row.name.to_string()).collect();
            let kind = Kind::UnknownName { what: "suite", found: text.value, known };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}

/// A suite that the firmware of a node speaks.
fn firmware(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<Suite> {
    let suite = suite(text, problems)?;
    let row = suite.value.row();
    if row.is_legacy {
        problems.push(Problem { span: suite.span, kind: Kind::NoFirmware { suite: row.name } });
        return None;
    }
    Some(suite)
}

fn filters(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<Filters> {
    match Filters::find(&text.value) {
        Some(filters) => Some(At { value: filters, span: text.span }),
        None => {
            let known = Filters::ALL.map(|filters| filters.name().to_string()).into();
            let kind = Kind::UnknownName { what: "kind of filters", found: text.value, known };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}

fn divider(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<u64> {
    let divider = text.value.strip_prefix("f/").and_then(|number| number.parse::<u64>().ok());
    match divider {
        Some(divider)
            if divider.is_power_of_two()
                && (limits::DIVIDER_MIN..=limits::DIVIDER_MAX).contains(&divider) =>
        {
            Some(At { value: divider, span: text.span })
        }
        _ => {
            problems.push(Problem { span: text.span, kind: Kind::NotADivider { found: text.value } });
            None
        }
    }
}

fn socket(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<SocketAddr> {
    match text.value.parse() {
        Ok(address) => Some(At { value: address, span: text.span }),
        Err(_) => {
            let kind = Kind::NotANumber {
                found: text.value,
                expected: "an address and port",
                example: "127.0.0.1:0",
            };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}
