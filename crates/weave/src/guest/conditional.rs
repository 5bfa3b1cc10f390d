//! Two ways through a part of a round, padded to one duration.
//!
//! Owns: branches inside a round: both arms take equally long, and an event that stands in an arm happens at the same
//! cycle whichever way is gone. An event that only one arm has is `maybe`.

use isa::avr::{Instruction, Opcode};

use super::{Event, Reader, Stretch, inverted, labels, shifted};
use crate::error::Refusal;
use crate::item::{Item, Line};
use crate::program::Point;

/// Cycles before an arm and behind it: the arm behind the branch pays the jump over the other one.
const FIRST_CYCLES: [u32; 2] = [1, 2];
const SECOND_CYCLES: [u32; 2] = [2, 0];

/// How two arms are padded.
struct Padding {
    /// Before and behind the first arm, in cycles.
    first: [u32; 2],
    /// Before and behind the second one.
    second: [u32; 2],
    /// Of the whole.
    cycles: u32,
    event: Option<Event>,
}

impl Padding {
    fn of(first: &Stretch, second: &Stretch) -> Padding {
        let end = |arm: &Stretch, [before, _]: [u32; 2]| arm.event.map(|event| before + event.end_cycles);
        let ends = [end(first, FIRST_CYCLES), end(second, SECOND_CYCLES)];
        let latest = ends.into_iter().flatten().max();
        let before = ends.map(|end| end.zip(latest).map_or(0, |(end, latest)| latest - end));
        let whole = |arm: &Stretch, own: [u32; 2], before: u32| own[0] + before + arm.cycles + own[1];
        let wholes = [whole(first, FIRST_CYCLES, before[0]), whole(second, SECOND_CYCLES, before[1])];
        let cycles = wholes[0].max(wholes[1]);
        let event = first.event.or(second.event).zip(latest);
        Padding {
            first: [before[0], cycles - wholes[0]],
            second: [before[1], cycles - wholes[1]],
            cycles,
            event: event.map(|(event, end_cycles)| Event { end_cycles, ..event }),
        }
    }
}

impl Reader<'_> {
    /// A branch both of whose ways go on with the round, and where they meet.
    pub(super) fn conditional(&self, point: Point, taken: Point) -> Result<(Stretch, Point), Refusal> {
        let meet = self.meeting_point(taken, point + 1)?;
        let taken_arm = self.arm(taken, meet)?;
        let other_arm = self.arm(point + 1, meet)?;
        match (taken_arm.event, other_arm.event) {
            (Some(one), Some(other)) if one.at != other.at => {
                return Err(
                    self.refuse(point, "its arms have events at different instants, expected one instant")
                );
            }
            (Some(event), None) | (None, Some(event)) if !event.maybe => {
                return Err(self
                    .refuse(point, "one of its arms has an event and the other has not, expected `maybe`"));
            }
            _ => {}
        }
        let line = self.line(point);
        let ways = [Padding::of(&other_arm, &taken_arm), Padding::of(&taken_arm, &other_arm)];
        let [straight, turned] = ways;
        let (instruction, first, second, padding) = if straight.cycles <= turned.cycles {
            (line.instruction, other_arm, taken_arm, straight)
        } else {
            (inverted(line.instruction), taken_arm, other_arm, turned)
        };
        let leaves = first.leaves || second.leaves;
        let mut items = vec![Item::Line(Line { instruction, target: Some(0), ..line })];
        let nops = |count: u32| (0..count).map(|_| Item::Line(Line::added(Instruction::new(Opcode::Nop))));
        let first_labels = labels(&first.items);
        items.extend(nops(padding.first[0]));
        items.extend(shifted(first.items, 2));
        items.extend(nops(padding.first[1]));
        items.push(Item::Line(Line::jump(1)));
        items.push(Item::Label(0));
        items.extend(nops(padding.second[0]));
        items.extend(shifted(second.items, 2 + first_labels));
        items.extend(nops(padding.second[1]));
        items.push(Item::Label(1));
        Ok((Stretch { items, cycles: padding.cycles, event: padding.event, leaves }, meet))
    }

    /// The code from a point to another, which every way comes to.
    pub(super) fn arm(&self, from: Point, to: Point) -> Result<Stretch, Refusal> {
        let mut arm = Stretch::default();
        let mut point = from;
        let mut steps = 0;
        while point != to {
            let (stretch, next) = self.step(point)?;
            steps += 1;
            if steps > self.program.code.len() {
                return Err(self.refuse(point, "a loop in a conditional, expected none"));
            }
            if let Some(event) = stretch.event {
                let end_cycles = arm.cycles + event.end_cycles;
                if arm.event.replace(Event { end_cycles, ..event }).is_some() {
                    return Err(self.refuse(point, "two events in one arm of a conditional, expected one"));
                }
            }
            let free = labels(&arm.items);
            arm.items.extend(shifted(stretch.items, free));
            arm.cycles += stretch.cycles;
            arm.leaves |= stretch.leaves;
            point = next;
        }
        Ok(arm)
    }
}
