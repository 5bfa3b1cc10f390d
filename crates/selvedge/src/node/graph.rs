//! `selvedge node build --graph`: the thread controllers of a cell's images, drawn from what is registered in them.
//!
//! Owns the file, what stands beside the figures in it, and the policy as a table. What a figure shows is `figures`',
//! what is known of a controller is `controller`'s.

use std::path::PathBuf;

use cell::decision::REASONS;
use cell::registered::Row;
use report::chart::{Chart, sheet};
use report::page::{Page, Section};
use report::table::{Column, Table};
use selvedge::error::Error;
use selvedge::link::deployment::Cell;
use selvedge::toolchain::{Fault, Image};

use controller::Controller;
use figures::figures;

mod controller;
mod figures;

/// The width of an SVG file's drawings, in px.
const SVG_WIDTH_PX: u32 = 680;

/// What the file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Page,
    Drawing,
}

/// Where it is drawn.
#[derive(Clone, Debug)]
pub struct File {
    path: PathBuf,
    kind: Kind,
}

/// A file by its name; otherwise what is wrong with it.
pub fn file(name: &str) -> Result<File, String> {
    let path = PathBuf::from(name);
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => Kind::Page,
        Some("svg") => Kind::Drawing,
        _ => return Err("expected a name that ends in `.html` or `.svg`".to_owned()),
    };
    Ok(File { path, kind })
}

/// The file's path and its text.
///
/// # Errors
/// [`Fault::NoController`] when no image has one; nothing is drawn then.
pub fn draw(file: File, plan: &Cell, images: &[Image]) -> Result<(PathBuf, String), Error> {
    let controllers = controllers(plan, images)?;
    let text = match file.kind {
        Kind::Page => page(&controllers, &plan.name),
        Kind::Drawing => drawing(&controllers),
    };
    Ok((file.path, text))
}

/// One for each image that has one; nodes of one image share it.
fn controllers(plan: &Cell, images: &[Image]) -> Result<Vec<Controller>, Error> {
    let mut controllers = Vec::new();
    for (index, image) in images.iter().enumerate() {
        if images[..index].contains(image) {
            continue;
        }
        let alike = plan.nodes.iter().zip(images).filter(|(_, other)| *other == image);
        let nodes: Vec<String> = alike.map(|(node, _)| node.id.to_string()).collect();
        let node = &plan.nodes[index];
        let plural = if nodes.len() == 1 { "" } else { "s" };
        let owners = format!("node{plural} {}: {}", nodes.join(", "), node.chip.name);
        controllers.extend(Controller::of(owners, &image.elf)?);
    }
    if controllers.is_empty() {
        return Err(Fault::NoController { node: plan.nodes[0].id }.into());
    }
    Ok(controllers)
}

fn drawing(controllers: &[Controller]) -> String {
    let charts: Vec<Chart> = controllers.iter().flat_map(figures).collect();
    sheet("Thread controller", &charts, SVG_WIDTH_PX)
}

fn page(controllers: &[Controller], cell: &str) -> String {
    let lead = "When a slot of the bus begins, a task of the node chooses one of eight functions by a table: what the \
                line has to do, with or without sealing or opening a frame meanwhile. Functions, rooms, rows and \
                tasks are those of the node's image.";
    let mut page = Page::new(format!("Thread controller, cell {cell}"), lead);
    for controller in controllers {
        let [layers, filters, messages] = figures(controller);
        let section = Section::new(controller.owners.clone())
            .chart(layers, "After figure 4 of the paper: the controller stands beside the layers whose work it orders.")
            .chart(
                filters,
                "After figure 5: frames go down on the left and up on the right. A filter in the middle does what two \
                 beside it do, at once where it is woven.",
            )
            .chart(messages, "After figure 7: a message says which function sent it, and a decision is an index.")
            .table(policy(&controller.registered.rows), "The first row that matches decides (policy.h).");
        page = page.section(section);
    }
    page.provenance("command", "selvedge node build --graph")
        .provenance("selvedge", env!("CARGO_PKG_VERSION"))
        .html()
}

/// What a row asks for of what the line does and of how what waits stands; `None` for anything.
fn sets(row: &Row, between: &str) -> [Option<String>; 2] {
    [row.lines(), row.standings()].map(|values| (!values.is_empty()).then(|| values.join(between)))
}

fn done(row: &Row) -> &'static str {
    if row.is_done { "done" } else { "left" }
}

fn policy(rows: &[Row]) -> Table {
    let columns =
        ["row", "line", "a frame is", "possible now", "possible in the next slot", "then", "reason"]
            .map(Column::new);
    let mut table = Table::new("Policy", columns);
    let any = |words: Option<String>| words.unwrap_or_else(|| "any".to_owned());
    let yes = |asked: Option<bool>| asked.map_or("any", |is_possible| if is_possible { "yes" } else { "no" });
    for (number, row) in rows.iter().enumerate() {
        let [line, standing] = sets(row, ", ").map(any);
        table.push([
            number.into(),
            line.into(),
            standing.into(),
            yes(row.now()).into(),
            yes(row.next()).into(),
            done(row).into(),
            REASONS[row.reason].into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_page_or_a_drawing_by_its_name() {
        assert_eq!(file("out/a.html").unwrap().kind, Kind::Page);
        assert_eq!(file("a.svg").unwrap().kind, Kind::Drawing);
        for name in ["a.png", "html", ".svg", ""] {
            assert!(file(name).is_err(), "{name}");
        }
    }
}
