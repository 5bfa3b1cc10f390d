//! What is known of a thread controller: whose it is, what it registers, and which of that is woven.
//!
//! Owns when a filter is called woven. What an image registers is `cell::registered`'s, which of its functions have a
//! clock the toolchain's.

use std::collections::BTreeSet;

use cell::decision::FILTERS;
use cell::registered::Registered;
use isa::avr::Image;
use report::chart::Look;
use selvedge::error::Error;
use selvedge::toolchain::timed_functions;

/// How the image has a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Not at all: its two halves run one after the other.
    Missing,
    /// As a function.
    Plain,
    /// As one that does both by interrupts: the line's handlers run while security does.
    Handled,
    /// As one that does both and keeps its own time: it was woven, and its time was proved when the image was built.
    Woven,
}

impl Form {
    /// How it is drawn.
    pub fn look(self) -> Look {
        match self {
            Form::Missing => Look::Absent,
            Form::Plain | Form::Handled => Look::Plain,
            Form::Woven => Look::Chosen,
        }
    }
}

/// A controller, and whose it is.
pub struct Controller {
    /// `nodes 1, 2: atmega128`.
    pub owners: String,
    /// What the image says of it.
    pub registered: Registered,
    /// How it has each of [`FILTERS`].
    pub forms: [Form; FILTERS.len()],
}

impl Controller {
    /// What an image says, with the functions of it that have clocks; `None` when it has no controller.
    pub fn of(owners: String, elf: &[u8]) -> Result<Option<Controller>, Error> {
        let Some(registered) = Registered::of(elf)? else { return Ok(None) };
        let program = Image::parse(elf)?;
        let timed = timed_functions(elf)?;
        // Where a chip has no room for a filter, its name stands for 0.
        let is_there = |name: &str| program.symbol(name).is_some_and(|symbol| symbol.address != 0);
        Ok(Some(Controller::new(owners, registered, is_there, &timed)))
    }

    fn new(
        owners: String,
        registered: Registered,
        is_there: impl Fn(&str) -> bool,
        timed: &BTreeSet<String>,
    ) -> Controller {
        let form = |filter: usize| match &registered.filters[filter] {
            Some(name) if BOTH.contains(&filter) && timed.contains(name) => Form::Woven,
            Some(name) if name.starts_with(HANDLED) => Form::Handled,
            Some(name) if is_there(name) => Form::Plain,
            _ => Form::Missing,
        };
        Controller { forms: std::array::from_fn(form), owners, registered }
    }

    /// The function of a filter and whether it is woven, or that there is none.
    pub fn function(&self, filter: usize) -> String {
        match (&self.registered.filters[filter], self.forms[filter]) {
            (Some(name), Form::Woven) => format!("{name}, woven"),
            (Some(name), Form::Handled) => format!("{name}, by interrupts"),
            (Some(name), Form::Plain) if BOTH.contains(&filter) => format!("{name}, not woven"),
            (Some(name), Form::Plain) => name.clone(),
            _ if BOTH.contains(&filter) => "missing: its halves run in turn".to_owned(),
            _ => "missing".to_owned(),
        }
    }

    /// How many frames a pipe takes.
    pub fn room(&self, pipe: usize) -> String {
        let frames = self.registered.places[pipe];
        format!("room for {frames} frame{}", if frames == 1 { "" } else { "s" })
    }

    /// How many of these filters are so.
    pub fn count(&self, filters: &[usize], is_so: impl Fn(Form) -> bool) -> usize {
        filters.iter().filter(|filter| is_so(self.forms[**filter])).count()
    }

    /// A figure's title: whose it is stands behind.
    pub fn title(&self, figure: &str) -> String {
        format!("{figure} ({})", self.owners)
    }
}

/// What the names of those begin with that do both by interrupts (`firmware/node/filters_handler.h`).
const HANDLED: &str = "handler_";

/// The filters of security alone, by their numbers.
pub const SECURITY: [usize; 2] = [1, 2];
/// Those of the line alone.
pub const LINE: [usize; 2] = [3, 6];
/// Those that do both.
pub const BOTH: [usize; 4] = [4, 5, 7, 8];

#[cfg(test)]
pub mod tests {
    use cell::registered::Task;

    use super::*;

    /// A controller with a filter of each form.
    pub fn controller() -> Controller {
        let mut filters = [const { None }; FILTERS.len()];
        let names =
            ["seal", "open", "transmit", "ascon_seal_transmit", "open_transmit", "receive", "seal_receive"];
        for (filter, name) in (1..).zip(names) {
            filters[filter] = Some(name.to_owned());
        }
        filters[8] = Some("handler_open_receive".to_owned());
        let task = |(name, priority): (&str, u8)| Task { name: name.to_owned(), priority };
        let tasks = [("controller", 0), ("mac", 1), ("<source>", 10), ("security", 250)].map(task).to_vec();
        let registered = Registered { filters, places: [2, 1, 3, 1], rows: Vec::new(), tasks };
        // What does one thing alone is not woven, whoever has timed it.
        let timed = ["ascon_seal_transmit", "transmit"].map(str::to_owned).into();
        Controller::new("node 1: atmega128".to_owned(), registered, |name| name != "seal_receive", &timed)
    }

    #[test]
    fn a_function_is_woven_only_where_it_is_both_and_has_a_clock() {
        let (missing, plain, woven) = (Form::Missing, Form::Plain, Form::Woven);
        let expected = [missing, plain, plain, plain, woven, plain, plain, missing, Form::Handled];
        assert_eq!(controller().forms, expected);
    }
}
