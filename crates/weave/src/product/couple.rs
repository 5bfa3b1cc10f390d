//! Direct coupling: an event where the host has produced what it sends.
//!
//! Owns: the event in the place of the host's store, and the end of both threads, which is one. Before its first event
//! the clock stands still, and the host takes the time that it takes; from then on a byte is due each period.

use isa::avr::Instruction;

use super::{Arrival, Weaver};
use crate::directive::Directive;
use crate::error::Refusal;
use crate::item::{Item, Label, Line};
use crate::program::Point;
use crate::rename::pointer::moves_pointer;

impl Weaver<'_> {
    /// Whether the guest sends what is stored here.
    pub(super) fn is_produced(&self, point: Point) -> bool {
        self.setting.guest.is_coupled && self.setting.program.code[point].says(&Directive::Produce)
    }

    /// The event in the store's place. A store that moves its pointer is kept.
    pub(super) fn produced(&mut self, at: &mut Arrival, point: Point) -> Result<(), Refusal> {
        let store = self.setting.program.code[point].instruction;
        if self.rhythm.runs(at.state) {
            let due = self.rhythm.due_cycles(at.state, self.live_at(point)).expect("the event is pinned");
            let waits = u32::try_from(due).map_err(|_| self.produced_late(point))?;
            self.idle(at, waits);
        } else {
            at.state = self.rhythm.first();
        }
        for item in &self.setting.guest.elements[0].items {
            let item = match item {
                Item::Line(line) => {
                    let instruction = Instruction { r: store.r, ..line.instruction };
                    Item::Line(Line { instruction, ..line.clone() })
                }
                other => other.clone(),
            };
            self.fragments[at.fragment].push(item);
        }
        self.spend(at, self.setting.guest.elements[0].cycles);
        if moves_pointer(&store) {
            let cycles = self.setting.program.cycles(point);
            self.check_in_time(at, cycles, point)?;
            let line = self.host_line(point);
            self.push(at.fragment, line);
            self.spend(at, cycles);
        }
        Ok(())
    }

    /// Whether the host may take `cycles` before the next event is due.
    pub(super) fn check_in_time(&self, at: &Arrival, cycles: u32, point: Point) -> Result<(), Refusal> {
        if i64::from(cycles) <= self.rhythm.slack_cycles(at.state, self.live_at(point)) {
            return Ok(());
        }
        Err(self.produced_late(point))
    }

    fn produced_late(&self, point: Point) -> Refusal {
        let at = self.setting.program.place_of(point);
        Refusal::ProducedLate { at, period_cycles: self.setting.guest.period_cycles }
    }

    /// The end of both: the clock stops, the guest's finish, interrupts as they were.
    pub(super) fn both_end(&mut self, returns: Vec<Arrival>) -> Label {
        let label = self.label();
        for arrival in returns {
            if self.rhythm.runs(arrival.state) {
                let over = Directive::Over { clock: Some(self.setting.guest.clock.clone()) };
                self.fragments[arrival.fragment].push(Item::Says(over));
            }
            let jump = self.jump(label);
            self.push(arrival.fragment, jump);
        }
        let fragment = self.new_fragment(label);
        let call = Line::added(Instruction::new(super::call_opcode(self.setting.far)));
        self.push(fragment, Line { target: Some(self.finish[0]), ..call });
        let end = self.jump(self.end);
        self.push(fragment, end);
        label
    }
}
