//! What holds for every chart and page, whatever values and names they are given.
//!
//! The witness for well-formed SVG is roxmltree's parser, not our writer. Golden drawings lie in `golden/`, one
//! element a line and without the style sheet; `make bless` rewrites them.

use expect_test::{ExpectFile, expect_file};
use proptest::prelude::*;
use report::chart::{
    Axis, Bars, Block, Chart, Diagram, Distribution, Form, Heat, Lines, Look, Panels, Stand, Timeline, Tone,
    Ways, sheet,
};
use report::page::{Figure, Page, Section};
use report::paper::PaperRow;
use report::printed::{Direction, Printed, PrintedCell};
use report::table::{Column, Entry, Table};

/// A drawing as lines that a person can review: no style sheet, one element a line.
fn reviewable(document: &str) -> String {
    let mut text = document.to_owned();
    while let (Some(from), Some(to)) = (text.find("<style>"), text.find("</style>")) {
        text.replace_range(from..to + "</style>".len(), "");
    }
    text.replace("><", ">\n<") + "\n"
}

fn check(chart: impl Into<Chart>, expected: ExpectFile) {
    let chart = chart.into();
    expected.assert_eq(&format!("{}{}", reviewable(&chart.svg(350)), chart.numbers().text(None)));
}

#[test]
fn lines_together_have_dashes_and_a_legend() {
    let chart =
        Lines::new("Two curves", Axis::linear("time", "s"), Axis::linear("level", "V"), Panels::Together)
            .series("first", vec![(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)])
            .series("second", vec![(2.0, 0.5), (0.0, 1.5), (1.0, f64::NAN), (1.5, 1.25)])
            .mark(1.0, "here");
    check(chart, expect_file!["golden/lines.svg.txt"]);
}

#[test]
fn a_point_beside_a_curve_has_the_shape_of_its_series_and_widens_the_axes() {
    let axes = || (Axis::linear("memory", "bytes"), Axis::log("time", "cycles"));
    let ((x, y), points) = (axes(), vec![(1.0, 10.0), (2.0, 1.0)]);
    let plain = Lines::new("Points", x, y, Panels::Together).series("first", points);
    let dotted = plain.clone().dot((9.0, 100.0), "starred").dot((1.0, f64::NAN), "nowhere");
    let [plain, dotted] = [plain, dotted].map(|chart| Chart::from(chart).svg(350));
    assert_eq!(plain.matches("class=\"point").count(), 0);
    assert_eq!(dotted.matches("class=\"point fill-accent\"><title>starred</title>").count(), 1, "{dotted}");
    assert_eq!(dotted.matches("class=\"point").count(), 1);
    assert!(dotted.contains(">100</text>") && !plain.contains(">100</text>"));
}

#[test]
fn a_stepped_curve_turns_corners_and_has_no_point_more() {
    let axes = || (Axis::linear("memory", "bytes"), Axis::linear("time", "cycles"));
    let ((x, y), points) = (axes(), vec![(0.0, 30.0), (10.0, 20.0), (20.0, 0.0)]);
    let plain = Lines::new("Steps", x, y, Panels::Together).series("first", points);
    let [plain, stepped] = [plain.clone(), plain.stepped()].map(Chart::from);
    assert_eq!(plain.numbers().text(None), stepped.numbers().text(None));
    let corners = |chart: &Chart| {
        let svg = chart.svg(350);
        let (before, _) = svg.split_once("\" class=\"series").expect("a curve is drawn");
        path_numbers(before.rsplit('"').next().expect("it has a path")).len() / 2
    };
    assert_eq!((corners(&plain), corners(&stepped)), (3, 5));
}

#[test]
fn a_timeline_keeps_wide_intervals_and_merges_narrow_ones() {
    let mut chart = Timeline::new("Bus", Axis::linear("cell time", "ms"));
    let frame = chart.kind("frame", Tone::Accent);
    let asleep = chart.kind("asleep", Tone::Quiet);
    let lane = chart.lane("node 1");
    chart.band(0.0, 100.0, "slot");
    chart.interval(lane, asleep, 0.0, 100.0, "");
    chart.interval(lane, frame, 10.0, 40.0, "216 B");
    for at in 0..5 {
        chart.interval(lane, frame, 60.0 + f64::from(at) * 0.1, 60.05 + f64::from(at) * 0.1, "");
    }
    chart.interval(lane, frame, 3.0, 2.0, "backwards");
    chart.inset(59.0, 62.0);
    check(chart, expect_file!["golden/timeline.svg.txt"]);
}

#[test]
fn a_tail_ends_where_its_greatest_value_is() {
    let values = vec![1.0, 2.0, 2.0, 3.0, 50.0, f64::INFINITY];
    let chart = Distribution::new("Tail", Axis::log("latency", "ms"), Form::Tail).series("all", values);
    check(chart, expect_file!["golden/tail.svg.txt"]);
}

#[test]
fn bars_carry_their_numbers_and_say_what_is_not_there() {
    let axis = Axis::linear("energy", "µJ");
    let series = [("printed", Tone::Neutral), ("ours", Tone::Accent)];
    let chart = Bars::new("Energy", axis, Stand::Grouped, series)
        .group("RC5", [Some(12.5), Some(-3.0)])
        .group("RC4", [None, Some(f64::NAN)]);
    check(chart, expect_file!["golden/bars.svg.txt"]);
}

#[test]
fn a_bar_that_is_a_mean_shows_from_where_to_where_its_values_lie() {
    let axis = Axis::linear("cycles", "%");
    let series = [("alone", Tone::Neutral), ("packed", Tone::Accent)];
    let chart = Bars::new("Means", axis, Stand::Grouped, series)
        .group("a", [Some(130.0), Some(90.0)])
        .spread(1, 80.0, 120.0)
        .group("b", [Some(110.0), Some(-5.0)])
        .spread(1, -9.0, -2.0)
        .spread(0, f64::NAN, 1.0);
    check(chart, expect_file!["golden/spread.svg.txt"]);
}

#[test]
fn a_grid_carries_its_numbers_and_frames_what_is_above_the_middle() {
    let chart = Heat::new("Cells", "bytes", ["256", "512", "1024"], (1.0, "", 3))
        .row("cjpeg", [Some(0.5), Some(0.9), Some(1.02)])
        .row("djpeg", [None, Some(f64::INFINITY), Some(1.0)]);
    check(chart, expect_file!["golden/heat.svg.txt"]);
}

#[test]
fn a_diagram_has_blocks_of_each_look_and_arrows_between_them() {
    check(diagram("pipe_of_frames", "room for 2"), expect_file!["golden/diagram.svg.txt"]);
}

#[test]
fn charts_of_a_sheet_stand_one_below_another() {
    let chart = Chart::from(diagram("pipe", "room for 2"));
    let sheet = sheet("Two", &[chart.clone(), chart.clone()], 350);
    check_drawing(&sheet, "pipe. Diagram");
    let tree = roxmltree::Document::parse(&sheet).expect("well-formed");
    let root = tree.root_element();
    assert_eq!(root.first_element_child().unwrap().text(), Some("Two"));
    let height = |svg: &str| {
        let tree = roxmltree::Document::parse(svg).expect("well-formed");
        tree.root_element().attribute("height").unwrap().parse::<f64>().unwrap()
    };
    assert!(height(&sheet) > 2.0 * (height(&chart.svg(350)) - 32.0) + 32.0, "with a gap between the two");
}

/// Blocks in a grid, of each look.
fn diagram(heading: &str, line: &str) -> Diagram {
    let mut diagram = Diagram::new(heading, 2);
    diagram.legend(Look::Chosen, "woven");
    diagram.legend(Look::Absent, "missing");
    let block = |look| Block::new(look, heading).line(line).pair("1", line);
    let words = diagram.put(0..2, 0..1, Block::new(Look::Words, heading));
    let control = diagram.put(0..2, 1..2, block(Look::Control));
    let store = diagram.put(0..1, 2..3, block(Look::Store));
    let chosen = diagram.put(1..2, 2..4, block(Look::Chosen));
    let absent = diagram.put(0..1, 3..4, block(Look::Absent));
    diagram.put(0..1, 4..5, block(Look::Plain));
    diagram.arrow(words, control, Ways::There, "");
    diagram.arrow(control, store, Ways::There, line);
    diagram.arrow(control, chosen, Ways::Both, "");
    diagram.arrow(chosen, store, Ways::There, "");
    diagram.arrow(absent, chosen, Ways::Both, "");
    diagram
}

#[test]
fn a_page_has_headings_captions_and_row_headers() {
    let mut table =
        Table::new("Nodes", [Column::new("node"), Column::new("drift").unit("ppm"), Column::new("is")]);
    table.push(["a".into(), (-35_i64).into(), Entry::Blank]);
    table.push(["b".into(), 1.25.into(), "late".into()]);
    let cell = PrintedCell {
        case: "RC5".into(),
        metric: "time".into(),
        unit: "ms".into(),
        printed: Some(Printed::new("1.50")),
        direction: Direction::Lower,
        tolerance: None,
    };
    let row = PaperRow::new("sti", "table-1", &cell, Some(2.0.into()), &["run"], "make");
    let section = Section::new("One")
        .figures([Figure::new("drift", -35_i64, "ppm").aside("of node a")])
        .text("first\n\nsecond")
        .table(table, "Two nodes.")
        .table(Table::of_paper("Table 1", &[row]), "")
        .note("take care")
        .code("a < b\n  && c", "");
    let page = Page::new("A page", "A lead.").section(section).provenance("Seed", "7");
    expect_file!["golden/page.html.txt"].assert_eq(&reviewable(&page.html()));
}

/// Numbers as broken measurements give them.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -1e3..1e3_f64,
        2 => proptest::num::f64::ANY,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(0.0),
    ]
}

/// Names as an attacker gives them.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("<script>alert(1)</script>".to_owned()),
        Just("\"><svg onload=x>&amp;'".to_owned()),
        Just("]]></style></title></svg>\0\u{1b}[2J\u{ffff}".to_owned()),
        Just("\u{202e}\u{0301}测量 µJ 😀".to_owned()),
        any::<String>(),
        "\\PC{0,60}",
    ]
}

/// One chart of every kind and form, from the same numbers and names.
fn charts(numbers: &[f64], names: &[String; 4], is_log: bool) -> Vec<Chart> {
    let [title, first, second, third] = names;
    let axis = || if is_log { Axis::log(first, second) } else { Axis::linear(first, second) };
    let points: Vec<(f64, f64)> = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let mut charts: Vec<Chart> = Vec::new();
    for panels in [Panels::Together, Panels::Each, Panels::EachOwnScale] {
        let mut chart = Lines::new(title, axis(), axis(), panels).noted_series(first, third, points.clone());
        chart = chart.series(second, points.iter().map(|&(x, y)| (y, x)).collect()).series(third, Vec::new());
        chart = points.iter().take(3).fold(chart, |chart, &at| chart.mark(at.0, third).dot(at, first));
        charts.extend([chart.clone().into(), chart.stepped().into()]);
    }
    for form in [Form::Histogram, Form::Cumulative, Form::Tail] {
        let chart =
            Distribution::new(title, axis(), form).series(first, numbers.to_vec()).series(second, Vec::new());
        charts.push(chart.into());
        let chart = Distribution::new(title, axis(), form).series(first, numbers.to_vec());
        charts.push(numbers.iter().take(3).fold(chart, |chart, &at| chart.mark(at, third)).into());
    }
    let mut timeline = Timeline::new(title, Axis::linear(first, second));
    let kinds = Tone::ALL.map(|tone| timeline.kind(first, tone));
    let lanes = [timeline.lane(second), timeline.lane(third)];
    for (index, &(start, end)) in points.iter().enumerate() {
        timeline.interval(lanes[index % 2], kinds[index % kinds.len()], start, end, third);
        timeline.band(start, end, first);
    }
    charts.push(timeline.clone().into());
    timeline.inset(-1.0, 2.5);
    charts.push(timeline.into());
    for stand in [Stand::Grouped, Stand::Stacked] {
        let series = [(first.as_str(), Tone::Second), (second.as_str(), Tone::Alert)];
        let mut chart = Bars::new(title, Axis::linear(first, third), stand, series);
        for pair in numbers.chunks_exact(2) {
            let value = |value: f64| Some(if stand == Stand::Stacked { value.abs() } else { value });
            chart =
                chart.group(third, [value(pair[0]), None]).group(second, [value(pair[0]), value(pair[1])]);
            if stand == Stand::Grouped {
                chart = chart.spread(0, pair[1], pair[0]);
            }
        }
        charts.push(chart.into());
    }
    let mut grid = Heat::new(title, first, [second.as_str(), third], (1.0, third, 3));
    for pair in numbers.chunks_exact(2) {
        grid = grid.row(second, [Some(pair[0]), Some(pair[1])]).row(third, [None, Some(pair[1])]);
    }
    charts.push(grid.into());
    charts.push(diagram(first, second).into());
    charts
}

const ELEMENTS: [&str; 10] =
    ["svg", "style", "rect", "defs", "pattern", "path", "text", "title", "desc", "g"];
const ATTRIBUTES: [&str; 22] = [
    "class",
    "viewBox",
    "width",
    "height",
    "role",
    "aria-labelledby",
    "aria-describedby",
    "x",
    "y",
    "d",
    "id",
    "patternUnits",
    "patternTransform",
    "fill",
    "opacity",
    "text-anchor",
    "transform",
    "cx",
    "cy",
    "r",
    "rx",
    "points",
];

/// Panics unless the drawing is well-formed, made of the elements we write, of finite numbers within its frame.
fn check_drawing(document: &str, title: &str) {
    let tree = roxmltree::Document::parse(document).expect("well-formed");
    let root = tree.root_element();
    let named = |name| {
        let id = root.attribute(name).expect("a drawing has a title and a description");
        let node =
            root.children().find(|node| node.attribute("id") == Some(id)).expect("they stand first in it");
        node.text().unwrap_or("")
    };
    let summary = named("aria-describedby");
    assert!(!named("aria-labelledby").is_empty() || title.is_empty());
    assert!(summary.starts_with(&legal(title)), "{summary:?} starts with {title:?}");
    let size = |name| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    for node in root.descendants().filter(roxmltree::Node::is_element) {
        assert!(ELEMENTS.contains(&node.tag_name().name()), "an element `{}`", node.tag_name().name());
        for attribute in node.attributes() {
            assert!(ATTRIBUTES.contains(&attribute.name()), "an attribute `{}`", attribute.name());
            if ["x", "y", "width", "height", "opacity"].contains(&attribute.name()) {
                let number: f64 = attribute.value().parse().expect("a number");
                assert!(number.is_finite() && number >= 0.0, "{} = {number}", attribute.name());
                assert!(number <= width.max(height) + 1.0, "{} = {number}", attribute.name());
            }
            if attribute.name() == "d" {
                for number in path_numbers(attribute.value()) {
                    assert!(number.abs() <= width.max(height) + 1.0, "{number} in a path");
                }
            }
        }
    }
}

/// The numbers of a path, which stand between letters and blanks, or before a sign.
fn path_numbers(path: &str) -> Vec<f64> {
    let spaced = path.replace('-', " -");
    let texts = spaced.split(|c: char| c == ' ' || "MLHVhvaz".contains(c)).filter(|text| !text.is_empty());
    texts
        .map(|text| text.parse().unwrap_or_else(|_| panic!("`{text}` in a path")))
        .inspect(|n: &f64| assert!(n.is_finite()))
        .collect()
}

/// What XML lets through, restated here on purpose instead of taken from the crate.
fn legal(text: &str) -> String {
    let is_forbidden = |c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}';
    let shown = |c: char| {
        if "\t\n\r".contains(c) {
            ' '
        } else if is_forbidden(c) {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// The elements of a page with their attributes' names, in order, as an XML parser sees them. The class that only
/// short entries of a table have is left out.
fn structure(html: &str) -> Vec<String> {
    let mut pieces = html.trim_start_matches("<!DOCTYPE html>").split("<meta");
    let mut xml = pieces.next().unwrap().to_owned();
    for piece in pieces {
        xml += "<meta";
        xml += &piece.replacen('>', "/>", 1);
    }
    let tree = roxmltree::Document::parse(&xml).expect("well-formed");
    let elements = tree.descendants().filter(roxmltree::Node::is_element);
    let shown = |node: roxmltree::Node| {
        let kept = node.attributes().filter(|attribute| attribute.value() != "short");
        let names: Vec<&str> = kept.map(|attribute| attribute.name()).collect();
        format!("{} {}", node.tag_name().name(), names.join(" "))
    };
    elements.map(shown).collect()
}

/// A page whose every text is `text`, without charts, whose layout depends on their texts.
fn page_of(text: &str) -> String {
    let mut table = Table::new(text, [Column::new(text).unit("u"), Column::new(text).unit(text)]);
    table.push([text.into(), 1_u32.into()]);
    table.push([Entry::Literal(text.to_owned()), Entry::Blank]);
    let section = Section::new(format!("t {text}"))
        .text(format!("t{text}"))
        .figures([Figure::new(text, text, "u").aside("a").aside(format!("a{text}"))])
        .table(table, format!("c{text}"))
        .note(format!("n{text}"))
        .code(text, format!("c{text}"));
    let page = Page::new(text, format!("l{text}"))
        .section(section.clone())
        .section(section.clone())
        .section(section);
    page.provenance(text, text).html()
}

/// Fewer cases than usual, as each draws twenty charts; a failure prints its seed and is not written to a file.
fn config() -> ProptestConfig {
    let failure_persistence = None;
    ProptestConfig {
        cases: ProptestConfig::default().cases.div_ceil(4),
        failure_persistence,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_number_and_no_name_breaks_a_drawing(
        numbers in proptest::collection::vec(number(), 0..40),
        names in [name(), name(), name(), name()],
        width in 280..1200_u32,
        is_log in any::<bool>(),
    ) {
        for chart in charts(&numbers, &names, is_log) {
            check_drawing(&chart.svg(width), chart.title());
            // Its numbers are a table like any other.
            let _ = (chart.numbers().text(Some(80)), chart.numbers().csv());
        }
    }

    #[test]
    fn no_text_adds_an_element_or_attribute_to_a_page(text in name()) {
        // An empty line would start a paragraph, which is a tag that is wanted.
        let text = text.replace("\r\n", " ").replace("\n\n", " ");
        // A letter first: whether a text is empty or a number does change the page, as it should.
        let (hostile, plain) = (page_of(&format!("x{text}")), page_of("plain"));
        prop_assert_eq!(structure(&hostile), structure(&plain));
    }

    #[test]
    fn equal_charts_give_equal_bytes(numbers in proptest::collection::vec(number(), 0..40)) {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        for (one, other) in charts(&numbers, &names, false).iter().zip(charts(&numbers, &names, false)) {
            prop_assert_eq!(one.svg(700), other.svg(700));
        }
    }
}

#[test]
fn a_page_asks_the_network_for_nothing() {
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let numbers: Vec<f64> = (0..30).map(f64::from).collect();
    let section = charts(&numbers, &names, false)
        .into_iter()
        .fold(Section::new("s"), |section, chart| section.chart(chart, "c"));
    let html =
        Page::new("t", "l").section(section).html().replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["http:", "https:", "//", "src=", "@import", "<script", "<link", "<img", "javascript:"] {
        assert!(!html.contains(word), "{word}");
    }
    let urls: Vec<&str> = html.split("url(").skip(1).collect();
    assert!(!urls.is_empty() && urls.iter().all(|url| url.starts_with('#')));
}

#[test]
fn ids_of_a_page_are_unique_and_every_reference_has_one() {
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let numbers: Vec<f64> = (0..30).map(f64::from).collect();
    let section = |title: &str| {
        charts(&numbers, &names, false)
            .into_iter()
            .fold(Section::new(title), |section, chart| section.chart(chart, "c"))
    };
    let page = Page::new("t", "l")
        .section(section("Same"))
        .section(section("Same"))
        .section(section("—"))
        .section(section("+"));
    let html = page.html();
    let ids: Vec<&str> = html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len());
    let references = html.split("url(#").skip(1).map(|rest| rest.split(')').next().unwrap());
    let links = html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
    let labels = ["labelledby=\"", "describedby=\""].into_iter().flat_map(|name| html.split(name).skip(1));
    let labels = labels.map(|rest| rest.split('"').next().unwrap());
    for reference in references.chain(links).chain(labels) {
        assert!(unique.binary_search(&reference).is_ok(), "{reference}");
    }
}
