//! What the server's threads are given, and by when a batch should be durable: `[collect.realtime]`.
//!
//! Owns its keys and their checked values. What a thread does with them is `collect::realtime`'s.

use collect::realtime::{Policy, Realtime};
use serde::Serialize;

use super::draft::Maybe;
use super::problem::{Kind, Problem};
use super::section::{At, Section};
use crate::limits;

const POLICIES: [&str; 4] = ["other", "fifo", "fifo-commit", "deadline"];
/// Among the real-time ones a low one: the system's own threads are above it.
const DEFAULT_PRIORITY: i64 = 10;

/// What is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RealtimeAsked {
    /// Scheduling class: `other`, `fifo`, `fifo-commit` or `deadline`.
    pub policy: &'static str,
    /// Priority under `fifo` and `fifo-commit`.
    pub priority: u32,
    /// Whether each thread that opens frames has a core of its own.
    pub pin: bool,
    /// Whether no page of the server leaves memory.
    pub lock_memory: bool,
    /// From when a batch was read until it should be durable; `None` means that it is not counted.
    pub deadline_us: Option<u64>,
}

impl RealtimeAsked {
    /// What the server gives its threads.
    pub fn realtime(&self) -> Realtime {
        let policy = match self.policy {
            "fifo" => Policy::Fifo(self.priority),
            "fifo-commit" => Policy::FifoCommit(self.priority),
            "deadline" => Policy::Deadline,
            _ => Policy::Other,
        };
        Realtime { policy, is_pinned: self.pin, locks_memory: self.lock_memory }
    }

    /// The deadline in nanoseconds.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadline_us.map(|deadline_us| deadline_us * 1_000)
    }

    /// For a person: the class, and what else was asked for.
    pub fn words(&self) -> String {
        let mut words = match self.policy {
            "fifo" => format!("SCHED_FIFO {}", self.priority),
            "fifo-commit" => format!("SCHED_FIFO {} for commit and disk", self.priority),
            "deadline" => "SCHED_DEADLINE".to_owned(),
            _ => "SCHED_OTHER".to_owned(),
        };
        words.push_str(if self.pin { ", pinned" } else { "" });
        words.push_str(if self.lock_memory { ", memory locked" } else { "" });
        words
    }
}

/// What a deployment says of it.
pub(super) struct RealtimeDraft {
    policy: Maybe<&'static str>,
    priority: Maybe<i64>,
    pin: Maybe<bool>,
    lock_memory: Maybe<bool>,
    deadline_us: Maybe<i64>,
}

/// Reads `[collect.realtime]` of a server, one of several where `is_shared`.
pub(super) fn read(
    collect: &mut Section<'_>,
    is_shared: bool,
    problems: &mut Vec<Problem>,
) -> Option<RealtimeDraft> {
    let table = collect.table("realtime", problems)?;
    let mut section = Section::new("collect.realtime".into(), table.value, table.span);
    let policy = section.text("policy", "\"fifo\"", problems).and_then(|text| name(text, problems));
    let draft = RealtimeDraft {
        policy,
        priority: section.integer("priority", 1..=limits::PRIORITY_MAX, problems),
        pin: section.flag("pin", problems),
        lock_memory: section.flag("lock_memory", problems),
        deadline_us: section.integer("deadline_us", 1..=limits::DEADLINE_US_MAX, problems),
    };
    section.finish(problems);
    let policy = draft.policy();
    if let Some(asked) = draft.policy.as_ref().filter(|asked| is_shared && asked.value == "deadline") {
        let kind = Kind::Unfit {
            what: "policy",
            found: asked.value.to_owned(),
            expected: "`other` or `fifo` with transport `nats`, where logs come and go: what is dealt to deadlines is \
                       dealt to the threads of one"
                .into(),
            example: "fifo",
        };
        problems.push(Problem { span: asked.span.clone(), kind });
    }
    if let Some(priority) = draft.priority.as_ref().filter(|_| !policy.starts_with("fifo")) {
        let kind = Kind::Alone { key: "priority", other: "policy = \"fifo\"" };
        problems.push(Problem { span: priority.span.clone(), kind });
    }
    if let Some(pin) = draft.pin.as_ref().filter(|pin| pin.value && policy == "deadline") {
        problems.push(Problem { span: pin.span.clone(), kind: Kind::PinnedWithDeadlines });
    }
    Some(draft)
}

fn name(text: At<String>, problems: &mut Vec<Problem>) -> Maybe<&'static str> {
    match POLICIES.into_iter().find(|name| *name == text.value) {
        Some(value) => Some(At { value, span: text.span }),
        None => {
            let known = POLICIES.map(str::to_owned).into();
            let kind = Kind::UnknownName { what: "policy", found: text.value, known };
            problems.push(Problem { span: text.span, kind });
            None
        }
    }
}

impl RealtimeDraft {
    fn policy(&self) -> &'static str {
        self.policy.as_ref().map_or("other", |policy| policy.value)
    }

    /// The checked value; `None` when there was a problem.
    pub(super) fn finish(&self) -> Option<RealtimeAsked> {
        let flag = |flag: &Maybe<bool>| flag.as_ref().is_some_and(|flag| flag.value);
        let deadline = self.deadline_us.as_ref().map(|deadline| deadline.value.unsigned_abs());
        let priority = self.priority.as_ref().map_or(DEFAULT_PRIORITY, |priority| priority.value);
        Some(RealtimeAsked {
            policy: self.policy(),
            priority: priority.try_into().ok()?,
            pin: flag(&self.pin),
            lock_memory: flag(&self.lock_memory),
            deadline_us: deadline,
        })
    }
}
