//! What hangs on the other inputs of a node's converter, and which of them the server tells it to convert, and how often,
//! from when on.
//!
//! Owns the two arrays `lead` and `setting` of a node: reading them and what they must be to each other and to the grid.

use collect::settings::Planned;
use serde::Serialize;

use super::deployment::{Cell, Deployment, Input};
use super::draft::{Draft, Maybe, NodeDraft};
use super::problem::{Kind, Problem};
use super::quantity::{DURATION, FREQUENCY};
use super::schedule::{self, unique};
use super::section::{At, Section};
use crate::limits;

/// What hangs on a node's converter beside its own input, and which of its inputs it is told to convert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wiring {
    /// What hangs on other inputs.
    pub leads: Vec<Lead>,
    /// What the server tells it from when on; before the first it converts its own input, and each sample.
    pub settings: Vec<Planned>,
}

/// The recording that a node plays, on another input of its converter, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lead {
    /// Input of the converter's multiplexer.
    pub channel: u8,
    /// Where in the recording it begins.
    pub start_ps: u64,
}

impl Wiring {
    /// What a draft without problems says.
    pub(super) fn of(draft: &NodeDraft) -> Option<Wiring> {
        Some(Wiring {
            leads: draft.leads.iter().map(lead).collect::<Option<_>>()?,
            settings: draft.settings.iter().map(|set| planned(set, draft)).collect::<Option<_>>()?,
        })
    }
}

impl Deployment {
    /// Superframes that a node samples, at most, until it has heard what the server says to one of its frames: until the
    /// batch is full and answered, and every other node had its turn in the downlink; and as long again, for what is lost.
    pub fn answer_superframes(&self, cell: &Cell) -> u32 {
        let batches = u32::from(self.bridge.batch_superframes) * (limits::ANSWER_LAG_BATCHES + 2);
        2 * (batches + cell.nodes.len() as u32)
    }
}

/// `lead = [{ … }]`
pub(super) struct LeadDraft {
    pub channel: Maybe<i64>,
    pub start: Maybe<i64>,
}

/// `setting = [{ … }]`
pub(super) struct SettingDraft {
    pub first: Maybe<i64>,
    pub channel: Maybe<i64>,
    pub rate: Maybe<i64>,
}

fn channel(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Maybe<i64> {
    section.integer("channel", 0..=limits::CHANNEL_MAX as i64, problems)
}

/// The leads of a node.
pub(super) fn read(node: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<LeadDraft> {
    let tables = node.array("lead", problems).into_iter();
    let lead = |table: At<_>| {
        let mut section = Section::new("lead".into(), table.value, table.span).element(None);
        section.require(&[("channel", "1"), ("start", "\"60 s\"")], problems);
        let start = section.quantity("start", &DURATION, limits::START, problems);
        let lead = LeadDraft { channel: channel(&mut section, problems), start };
        section.finish(problems);
        lead
    };
    tables.map(lead).collect()
}

/// The settings of a node.
pub(super) fn read_settings(node: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<SettingDraft> {
    let tables = node.array("setting", problems).into_iter();
    let setting = |table: At<_>| {
        let mut section = Section::new("setting".into(), table.value, table.span).element(None);
        section.require(&[("first", "9000")], problems);
        let first = section.integer("first", 1..=u32::MAX.into(), problems);
        let rate = section.quantity("rate", &FREQUENCY, limits::RATE, problems);
        let setting = SettingDraft { first, channel: channel(&mut section, problems), rate };
        if setting.channel.is_none() && setting.rate.is_none() {
            section.require(&[("channel", "1")], problems);
        }
        section.finish(problems);
        setting
    };
    tables.map(setting).collect()
}

/// A channel has one signal, which lasts as long as the run; what is set is one that has, from a frame's begin on.
pub(super) fn check(
    node: &NodeDraft,
    draft: &Draft,
    inputs: &[Option<Input>],
    superframe_ps: Option<u64>,
    text: &str,
    problems: &mut Vec<Problem>,
) {
    let leads = node.leads.iter().filter_map(|lead| lead.channel.as_ref());
    let own = node.channel.clone().unwrap_or(At { value: 0, span: node.span.clone() });
    unique("channel", std::iter::once(&own).chain(leads.clone()), text, problems);
    unique("sample", node.settings.iter().filter_map(|setting| setting.first.as_ref()), text, problems);
    let known: Vec<i64> = std::iter::once(own.value).chain(leads.map(|channel| channel.value)).collect();
    for set in node.settings.iter().filter_map(|setting| setting.channel.as_ref()) {
        if !known.contains(&set.value) {
            let known = known.iter().map(i64::to_string).collect();
            let kind = Kind::UnknownName { what: "lead", found: set.value.to_string(), known };
            problems.push(Problem { span: set.span.clone(), kind });
        }
    }
    let rate_hz = node.rate.as_ref().map(|rate| rate.value.unsigned_abs());
    let samples = rate_hz.zip(superframe_ps).and_then(|(rate_hz, ps)| schedule::samples(rate_hz, ps));
    for first in node.settings.iter().filter_map(|setting| setting.first.as_ref()) {
        let found = first.value.unsigned_abs();
        if let Some(samples) = samples.filter(|samples| !found.is_multiple_of(*samples)) {
            problems.push(Problem { span: first.span.clone(), kind: Kind::NotFirst { found, samples } });
        }
    }
    for rate in node.settings.iter().filter_map(|setting| setting.rate.as_ref()) {
        let Some((own_hz, samples)) = rate_hz.zip(samples) else { continue };
        if let Err(rates_hz) = schedule::stride(own_hz, samples, rate.value.unsigned_abs()) {
            let kind = Kind::NoSuchRate { found_hz: rate.value.unsigned_abs(), rates_hz };
            problems.push(Problem { span: rate.span.clone(), kind });
        }
    }
    for start in node.leads.iter().filter_map(|lead| lead.start.as_ref()) {
        schedule::lasts(node, Some(start), draft, inputs, problems);
    }
}

fn lead(draft: &LeadDraft) -> Option<Lead> {
    let channel = draft.channel.as_ref()?.value.try_into().ok()?;
    Some(Lead { channel, start_ps: draft.start.as_ref()?.value.unsigned_abs() })
}

fn planned(setting: &SettingDraft, node: &NodeDraft) -> Option<Planned> {
    let channel = setting.channel.as_ref().and_then(|channel| channel.value.try_into().ok());
    let own_hz = node.rate.as_ref()?.value;
    // Checked: the rate divides the node's.
    let stride = setting.rate.as_ref().and_then(|rate| (own_hz / rate.value).try_into().ok());
    Some(Planned { first: setting.first.as_ref()?.value.try_into().ok()?, channel, stride })
}
