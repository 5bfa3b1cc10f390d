//! Direct coupling: the guest sends what the host produces, in the host's register.
//!
//! Owns: the guest without what it fetched and counted ([`Guest::coupled`]). Its event is the element that sends; it
//! happens where the host would have stored the byte, which is `product`'s.

use isa::avr::{Opcode, Set};

use super::Guest;
use crate::directive::Directive;
use crate::error::Refusal;
use crate::item::{Item, Line};
use crate::program::{Function, Program};

impl Guest {
    /// The guest as the host's produced bytes drive it; the guest was read without its `consume` loads, into
    /// `register`.
    ///
    /// # Errors
    /// [`Refusal::NoCoupling`] when a round is more than one event that sends the register, and a count, or a preamble
    /// comes before it.
    pub fn coupled(mut self, function: &Function, register: u8) -> Result<Guest, Refusal> {
        self.elements.retain(|element| !element.leaves);
        let is_sending = |item: &Item| match item {
            Item::Line(line) => {
                matches!(line.instruction.opcode, Opcode::Out | Opcode::Sts) && line.instruction.r == register
            }
            item => matches!(item, Item::Says(Directive::Event { .. })),
        };
        match &self.elements[..] {
            [event]
                if self.preamble.is_none()
                    && event.items.len() == 2
                    && event.items.iter().all(is_sending) => {}
            _ => return Err(Refusal::NoCoupling { function: function.name.clone() }),
        }
        self.drop_unread(register);
        let lines = self.items().filter_map(line).map(|line| line.instruction.reads());
        let read = lines.fold(Set::EMPTY, |all, reads| all | reads);
        // Neither its buffer nor its count is asked for.
        if read.without(Set::SREG).without(Set::register(register)).is_empty() {
            self.arguments.clear();
        }
        self.rounds_max = None;
        self.is_coupled = true;
        Ok(self)
    }

    /// Copies in the setup that only fed what is gone.
    fn drop_unread(&mut self, sent: u8) {
        loop {
            let reads = self.items().filter_map(line).map(|line| line.instruction.reads());
            let read = reads.fold(Set::EMPTY, |all, reads| all | reads).without(Set::register(sent));
            let before = self.setup.len();
            self.setup.retain(|item| match line(item) {
                Some(Line { instruction, .. }) => {
                    let copies = matches!(instruction.opcode, Opcode::Mov | Opcode::Movw | Opcode::Ldi);
                    !copies || !instruction.writes().intersection(read).is_empty()
                }
                None => true,
            });
            if self.setup.len() == before {
                return;
            }
        }
    }
}

/// The register that every `consume` load of a guest fills, if there is such a load and but one such register.
pub fn consumed(program: &Program, function: &Function) -> Option<u8> {
    let points = function.entry..function.end;
    let mut filled = points
        .filter(|&point| program.code[point].says(&Directive::Consume))
        .map(|point| program.code[point].instruction.d);
    let register = filled.next()?;
    filled.all(|other| other == register).then_some(register)
}

fn line(item: &Item) -> Option<&Line> {
    match item {
        Item::Line(line) => Some(line),
        _ => None,
    }
}
