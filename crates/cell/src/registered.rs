//! What a node's image says of its thread controller: registered filters, room in its pipes, its policy, and the tasks.
//!
//! Owns how `firmware/node/controller.h` and `avrx.h` leave them in the ELF. What a decision was in a run is [`crate::decision`]'s.

use crate::decision::{FILTERS, PIPES, REASONS, STANDINGS};
use isa::avr::image::{self, Space, Symbol};
use isa::avr::{Image, ImageError};

/// What the line can do in a slot, by the numbers of `firmware/node/filters.h`.
pub const LINES: [&str; 3] = ["idle", "transmits", "receives"];

/// A row of the policy. Sets: bit n is value n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    lines: u8,
    standings: u8,
    now: u8,
    next: u8,
    /// Whether the job is done now, and not left for later.
    pub is_done: bool,
    /// An index into [`REASONS`].
    pub reason: usize,
}

/// The values that are in a set; none when all are.
fn chosen(set: u8, values: &[&'static str]) -> Vec<&'static str> {
    let all = (0..values.len()).all(|value| set >> value & 1 != 0);
    let in_set = values.iter().enumerate().filter(|&(value, _)| !all && set >> value & 1 != 0);
    in_set.map(|(_, name)| *name).collect()
}

impl Row {
    /// What the line does; empty for anything.
    pub fn lines(&self) -> Vec<&'static str> {
        chosen(self.lines, &LINES)
    }

    /// How what waits stands; empty for any way.
    pub fn standings(&self) -> Vec<&'static str> {
        chosen(self.standings, &STANDINGS)
    }

    /// Whether the job can be done now; `None` when it does not matter.
    pub fn now(&self) -> Option<bool> {
        chosen(self.now, &["no", "yes"]).first().map(|value| *value == "yes")
    }

    /// Whether there will be a woven filter for it in the next slot; `None` when it does not matter.
    pub fn next(&self) -> Option<bool> {
        chosen(self.next, &["no", "yes"]).first().map(|value| *value == "yes")
    }
}

/// A task of the image: `AVRX_TASKDEF` of `firmware/node/avrx.h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its function.
    pub name: String,
    /// 0 is the most urgent.
    pub priority: u8,
}

/// A controller as its image has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The function of each of [`FILTERS`]; the first one has none.
    pub filters: [Option<String>; FILTERS.len()],
    /// Frames for which each of [`PIPES`] has room.
    pub places: [u8; PIPES.len()],
    /// The policy, its first row first.
    pub rows: Vec<Row>,
    /// All tasks, the most urgent one first.
    pub tasks: Vec<Task>,
}

/// Bytes of a `struct policy_row`.
const ROW_BYTES: usize = 4;
/// Bytes of a `TaskControlBlock`; the last one is the priority.
const TASK_BYTES: usize = 7;
/// How `AVRX_TASKDEF` names one, behind the task's name.
const TASK_SUFFIX: &str = "Tcb";
/// Where `controller_register` leaves a filter: its number, and the name of its function with a zero.
const FILTERS_SECTION: &str = ".filters";

impl Registered {
    /// What a linked program says; `None` when it has no controller, or one that is not drawn as here.
    ///
    /// # Errors
    /// A file that is no image.
    pub fn of(elf: &[u8]) -> Result<Option<Registered>, ImageError> {
        let image = Image::parse(elf)?;
        let filters = filters(image::section(elf, FILTERS_SECTION)?);
        let places = flash(&image, "controller_places_max").and_then(|places| places.try_into().ok());
        let rows = flash(&image, "policy_rows");
        let rows = rows.and_then(|rows| rows.chunks_exact(ROW_BYTES).map(row).collect::<Option<_>>());
        Ok(filters.zip(places).zip(rows).map(|((filters, places), rows)| Registered {
            filters,
            places,
            rows,
            tasks: tasks(&image),
        }))
    }
}

fn tasks(image: &Image) -> Vec<Task> {
    let task = |symbol: &Symbol| {
        let name = symbol.name.strip_suffix(TASK_SUFFIX)?.to_owned();
        let &[.., priority] = flash(image, &symbol.name).filter(|bytes| bytes.len() == TASK_BYTES)? else {
            return None;
        };
        Some(Task { name, priority })
    };
    let mut tasks: Vec<Task> = image.symbols.iter().filter_map(task).collect();
    tasks.sort_by(|one, other| (one.priority, &one.name).cmp(&(other.priority, &other.name)));
    tasks
}

fn filters(mut records: &[u8]) -> Option<[Option<String>; FILTERS.len()]> {
    let mut filters = [const { None }; FILTERS.len()];
    while let Some((&number, rest)) = records.split_first() {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let name = std::str::from_utf8(&rest[..end]).ok()?;
        *filters.get_mut(usize::from(number))? = Some(name.to_owned());
        records = &rest[end + 1..];
    }
    Some(filters)
}

fn row(bytes: &[u8]) -> Option<Row> {
    let &[low, high, is_done, reason] = bytes else { return None };
    let sets = u16::from_le_bytes([low, high]);
    let set = |from: u32, values: usize| ((sets >> from) & ((1 << values) - 1)) as u8;
    let [lines, standings] = [set(0, LINES.len()), set(3, STANDINGS.len())];
    let [now, next] = [8, 10].map(|from| set(from, 2));
    let reason = usize::from(reason);
    (reason < REASONS.len()).then_some(Row { lines, standings, now, next, is_done: is_done != 0, reason })
}

/// What lies in flash under a name.
fn flash<'a>(image: &'a Image, name: &str) -> Option<&'a [u8]> {
    let symbol = image.symbol(name).filter(|symbol| symbol.space == Space::Flash)?;
    image.flash.iter().find_map(|segment| {
        let at = usize::try_from(symbol.address.checked_sub(segment.address)?).ok()?;
        segment.bytes.get(at..at + symbol.bytes as usize)
    })
}
