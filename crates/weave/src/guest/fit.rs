//! Whether what a guest does fits between its events.
//!
//! Owns: the check ([`Guest::check_fit`]), and what is said of an event that would be late. What the host needs between
//! them, only weaving knows.

use super::{Element, Guest};
use crate::directive::Directive;
use crate::error::Refusal;
use crate::item::{Item, Line};
use crate::program::{Origin, Program};

/// An event of an element.
struct Instant<'a> {
    /// Its name.
    name: &'a str,
    /// Cycles after the round began.
    at: u32,
    /// Where its instruction is written.
    origin: Origin,
}

impl Element {
    /// Its events, in their order.
    fn events(&self) -> impl DoubleEndedIterator<Item = Instant<'_>> {
        self.items.windows(2).filter_map(|pair| match pair {
            [
                Item::Says(Directive::Event { name, at, .. }),
                Item::Line(Line { origin: Some(origin), .. }),
            ] => Some(Instant { name, at: *at, origin: *origin }),
            _ => None,
        })
    }
}

impl Guest {
    /// Whether the elements between two pinned ones fit between their cycles; `program` is the guest's.
    ///
    /// # Errors
    /// [`Refusal::ImpossiblePeriod`] or [`Refusal::EventsClose`] when they do not.
    pub fn check_fit(&self, program: &Program) -> Result<(), Refusal> {
        let period = self.period_cycles;
        // Each pinned element, where it starts, and the cycles of it and of those before the next one.
        let mut pinned: Vec<(&Element, u32, u32)> = Vec::new();
        for element in &self.elements {
            match (element.start, pinned.last_mut()) {
                (None, Some((.., needed_cycles))) => *needed_cycles += element.cycles,
                (start, _) => pinned.push((element, start.unwrap_or(0), element.cycles)),
            }
        }
        let mut left_cycles = period;
        for (index, &(element, start, needed_cycles)) in pinned.iter().enumerate() {
            let (next, gap_cycles) = match pinned.get(index + 1) {
                Some(&(next, at, _)) => (next, ((at + period - start) % period).min(left_cycles)),
                None => (pinned[0].0, left_cycles),
            };
            if needed_cycles > gap_cycles {
                return Err(self.too_close([element, next], needed_cycles - gap_cycles, program));
            }
            left_cycles -= gap_cycles;
        }
        Ok(())
    }

    /// Why the second of two elements with events is late, by so many cycles.
    pub(crate) fn too_close(
        &self,
        [first, second]: [&Element; 2],
        late_cycles: u32,
        program: &Program,
    ) -> Refusal {
        match first.events().next_back().zip(second.events().next()) {
            Some((first, second)) if first.at < second.at => Refusal::EventsClose {
                at: program.place(second.origin),
                first_at: program.place(first.origin),
                events: [first.name, second.name].map(str::to_owned),
                apart_cycles: second.at - first.at,
                needed_cycles: second.at - first.at + late_cycles,
                borrows: self.borrows,
            },
            _ => self.too_short(program),
        }
    }

    /// A round has not enough cycles.
    pub(crate) fn too_short(&self, program: &Program) -> Refusal {
        let period_cycles = self.round_cycles();
        Refusal::ImpossiblePeriod {
            function: program.functions[0].name.clone(),
            period_cycles,
            events: self.event_count(),
            borrows: self.borrows,
            smallest_cycles: None,
        }
    }

    /// Cycles of a round, of which a batch has several.
    pub(crate) fn round_cycles(&self) -> u32 {
        self.batch.as_ref().map_or(self.period_cycles, |batch| batch.period_cycles)
    }

    /// How many pieces of a round have events.
    pub(crate) fn event_count(&self) -> usize {
        let elements = self.batch.as_ref().map_or(&self.elements, |batch| &batch.elements);
        elements.iter().filter(|element| element.start.is_some()).count()
    }
}
