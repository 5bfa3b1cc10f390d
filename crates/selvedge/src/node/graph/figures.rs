//! The figures, after 4, 5 and 7 of Ganesan and Dean (RTAS 2004), with the names of `firmware/node/controller.h`.
//!
//! Owns what is drawn and in which words. A figure is a function of a controller; how blocks and arrows look is `report`'s.

use cell::decision::{FILTERS, PIPES, REASONS};
use cell::registered::Row;
use report::chart::{Block, Chart, Diagram, Look, Place, Ways};

use super::controller::{BOTH, Controller, Form, LINE, SECURITY};
use super::{done, sets};

/// All of them.
pub fn figures(controller: &Controller) -> [Chart; 3] {
    [layers(controller).into(), filters(controller).into(), messages(controller).into()]
}

/// Figure 4.
fn layers(controller: &Controller) -> Diagram {
    let mut diagram = Diagram::new(controller.title("Layers before and after"), 3);
    let named = |heading: &str, filters: [usize; 2]| {
        let block = Block::new(Look::Plain, heading);
        filters.into_iter().fold(block, |block, filter| block.line(controller.function(filter)))
    };
    let security = named("security", SECURITY);
    let line = named("MAC and line", LINE);
    let application = || Block::new(Look::Plain, "application");
    let bus = || Block::new(Look::Plain, "bus");
    diagram.put(0..1, 0..1, Block::new(Look::Words, "before"));
    let before = [application(), security.clone(), line.clone(), bus()];
    let before =
        [1, 2, 3, 4].into_iter().zip(before).map(|(row, block)| diagram.put(0..1, row..row + 1, block));
    let before: Vec<Place> = before.collect();
    diagram.put(1..3, 0..1, Block::new(Look::Words, "with the thread controller"));
    let calls = "controller_empty, controller_give, controller_take";
    let application = diagram.put(1..3, 1..2, application().line(calls));
    let security = diagram.put(1..2, 2..3, security);
    let line = diagram.put(1..2, 3..4, line.line("controller_slot: a slot begins"));
    let bus = diagram.put(1..3, 4..5, bus());
    let beside = diagram.put(2..3, 2..4, beside_layers(controller));
    for pair in before.windows(2).chain([application, security, line, bus].windows(2)) {
        diagram.arrow(pair[0], pair[1], Ways::Both, "");
    }
    for layer in [application, security, line] {
        diagram.arrow(layer, beside, Ways::Both, "");
    }
    diagram
}

fn beside_layers(controller: &Controller) -> Block {
    let all = [&SECURITY[..], &LINE, &BOTH].concat();
    let there = controller.count(&all, |form| form != Form::Missing);
    let woven = controller.count(&BOTH, |form| form == Form::Woven);
    let rooms: Vec<String> = PIPES
        .iter()
        .zip(controller.registered.places)
        .map(|(pipe, frames)| format!("{pipe} {frames}"))
        .collect();
    let block = Block::new(Look::Control, "thread controller")
        .line(format!("frames in pipes between the layers: {}", rooms.join(", ")))
        .line(format!("{there} of {} filters registered", all.len()))
        .line(match controller.count(&BOTH, |form| form == Form::Handled) {
            0 => format!("{woven} of {} that do both are woven", BOTH.len()),
            handled => format!("{handled} of {} that do both do so by interrupts", BOTH.len()),
        });
    let tasks = controller.registered.tasks.iter().filter(|task| OWN_TASKS.contains(&task.name.as_str()));
    tasks.fold(block, |block, task| block.line(format!("task {}, priority {}", task.name, task.priority)))
}

/// The controller's own tasks (`firmware/node/controller.c`).
const OWN_TASKS: [&str; 2] = ["controller", "security"];

/// Figure 5.
fn filters(controller: &Controller) -> Diagram {
    let mut diagram = Diagram::new(controller.title("Pipes and filters"), 3);
    for (look, words) in [
        (Look::Store, "pipe"),
        (Look::Plain, "filter"),
        (Look::Chosen, "woven filter"),
        (Look::Absent, "missing"),
        (Look::Control, "decides"),
    ] {
        diagram.legend(look, words);
    }
    let filter = |filter: usize| {
        Block::new(controller.forms[filter].look(), format!("{filter} {}", FILTERS[filter]))
            .line(controller.function(filter))
    };
    let pipe = |pipe: usize| Block::new(Look::Store, PIPES[pipe]).line(controller.room(pipe));
    let edge = |heading: &str, words: &str| Block::new(Look::Plain, heading).line(words);
    let down = [
        edge("application", "controller_empty, controller_give"),
        pipe(0),
        filter(SECURITY[0]),
        pipe(1),
        filter(LINE[0]),
        edge("line", "transmits"),
    ];
    let up = [
        edge("application", "controller_take, controller_give"),
        pipe(3),
        filter(SECURITY[1]),
        pipe(2),
        filter(LINE[1]),
        edge("line", "receives"),
    ];
    let mut column = |column: usize, blocks: [Block; 6]| -> Vec<Place> {
        let rows = blocks.into_iter().enumerate();
        rows.map(|(row, block)| diagram.put(column..column + 1, row..row + 1, block)).collect()
    };
    let (down, mut up) = (column(0, down), column(2, up));
    up.reverse();
    for pair in down.windows(2).chain(up.windows(2)) {
        diagram.arrow(pair[0], pair[1], Ways::There, "");
    }
    let before = Block::new(Look::Control, "pre-filter control block")
        .line("a slot begins: chooses 3 to 8 by what the line does and what waits");
    let after = Block::new(Look::Control, "post-filter control block")
        .line("the line is idle: gives 1 or 2 what cannot wait, and postpones the rest");
    let before = diagram.put(1..2, 0..1, before);
    let both = diagram.put(1..2, 1..5, Block::new(Look::Group, "one of these, or 3 or 6 alone"));
    for (row, number) in (1..).zip(BOTH) {
        diagram.put(1..2, row..row + 1, filter(number));
    }
    let after = diagram.put(1..2, 5..6, after);
    diagram.arrow(before, both, Ways::There, "index");
    diagram.arrow(both, after, Ways::There, "");
    diagram
}

/// The modified message control block (`firmware/node/avrx.h`): each field's bytes, its name, what it says.
const MESSAGE: [(usize, &str, &str); 3] = [
    (2, "SObj.next", "the one behind it in its queue"),
    (2, "SObj.semaphore", "who waits for its acknowledgement"),
    (1, "sender", "the filter that it comes from, 0 for its owner; AvrX has none"),
];

/// Figure 7.
fn messages(controller: &Controller) -> Diagram {
    let registered = &controller.registered;
    let mut diagram = Diagram::new(controller.title("Messages, decisions, functions and tasks"), 2);
    let mut message = Block::new(Look::Plain, "message control block, by bytes");
    let mut at = 0;
    for (bytes, name, words) in MESSAGE {
        let place: Vec<String> = (at..at + bytes).map(|byte| byte.to_string()).collect();
        message = message.pair(place.join(", "), format!("{name}: {words}"));
        at += bytes;
    }
    let queues = (0..PIPES.len())
        .fold(Block::new(Look::Store, "controller_pipes: message queues"), |block, pipe| {
            block.pair(PIPES[pipe], controller.room(pipe))
        });
    let decides = Block::new(Look::Control, "policy_decide: the first row that matches");
    let decides = registered.rows.iter().enumerate().fold(decides, |block, (number, row)| {
        block.pair(format!("{number} {}", REASONS[row.reason]), row_words(row))
    });
    let array = Block::new(Look::Plain, "controller_filters: functions by 3 × line + security");
    let array = (0..FILTERS.len()).fold(array, |block, filter| {
        let words = if filter == 0 { FILTERS[0].to_owned() } else { controller.function(filter) };
        block.pair(filter.to_string(), words)
    });
    let tasks = Block::new(Look::Plain, "tasks by priority: the first that can run does");
    let tasks = registered.tasks.iter().fold(tasks, |block, task| {
        let does = match task.name.as_str() {
            "controller" => ": calls 3 to 8 at the slot's instant",
            "security" => ": calls 1 and 2",
            _ => "",
        };
        block.pair(task.priority.to_string(), format!("{}{does}", task.name))
    });
    let message = diagram.put(0..1, 0..1, message);
    let queues = diagram.put(1..2, 0..1, queues);
    let decides = diagram.put(0..2, 1..2, decides);
    let array = diagram.put(0..1, 2..3, array);
    let tasks = diagram.put(1..2, 2..3, tasks);
    diagram.arrow(message, queues, Ways::There, "");
    diagram.arrow(queues, decides, Ways::There, "hints");
    diagram.arrow(decides, array, Ways::There, "index");
    diagram.arrow(array, tasks, Ways::There, "");
    diagram
}

fn row_words(row: &Row) -> String {
    let [line, standing] = sets(row, " or ");
    let possible = |asked: Option<bool>, when: &str| {
        asked.map(|is_possible| format!("{}possible {when}", if is_possible { "" } else { "not " }))
    };
    let asked = [
        line.map(|line| format!("the line {}", if line == "idle" { "is idle" } else { &line })),
        standing.map(|standing| format!("a frame is {standing}")),
        possible(row.now(), "now"),
        possible(row.next(), "in the next slot"),
    ];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    format!("{}: {}", done(row), if asked.is_empty() { "otherwise".to_owned() } else { asked.join(", ") })
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs;

    use expect_test::expect_file;
    use selvedge::error::Error;
    use selvedge::toolchain::{Compiler, Fault};

    use super::super::controller::tests::controller;
    use super::super::drawing;
    use super::*;

    #[test]
    fn what_is_woven_what_is_not_and_what_is_missing_is_drawn() {
        let drawing = drawing(&[controller()]);
        let (from, to) = (drawing.find("<style>").unwrap(), drawing.find("</style>").unwrap());
        let drawing = format!("{}{}", &drawing[..from], &drawing[to + "</style>".len()..]);
        expect_file!["../../../tests/golden/controller.svg.txt"]
            .assert_eq(&(drawing.replace("><", ">\n<") + "\n"));
    }

    #[test]
    fn a_message_is_laid_out_as_it_is_drawn() {
        let compiler = match Compiler::find(&env::var_os("PATH").unwrap_or_default()) {
            Ok(compiler) => compiler,
            Err(Error::Toolchain(Fault::NoCompiler)) => {
                println!("skip: layout of messages: found no avr-gcc");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let node = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/node");
        let mut source =
            "#include <stddef.h>\n#include \"avrx.h\"\nint main(void) { return 0; }\n".to_owned();
        let mut at = 0;
        for (bytes, name, _) in MESSAGE {
            source += &format!(
                "_Static_assert(offsetof(MessageControlBlock, {name}) == {at}, \"{name}\");\n\
                 _Static_assert(sizeof(((MessageControlBlock *)0)->{name}) == {bytes}, \"{name}\");\n"
            );
            at += bytes;
        }
        source += &format!("_Static_assert(sizeof(MessageControlBlock) == {at}, \"all\");\n");
        let scratch = tempfile::tempdir().expect("a folder");
        let path = scratch.path().join("layout.c");
        fs::write(&path, source).expect("it can be written");
        let flags = ["-std=gnu11".to_owned(), format!("-I{node}")];
        compiler.program(&[path], "atmega128", &flags).unwrap_or_else(|error| panic!("{error}"));
    }
}
