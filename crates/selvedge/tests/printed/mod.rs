//! The tables of a document, as a command prints them.

use std::path::Path;

/// Compares a document with what it is when each table between its marker, `<!-- table: MARKER -->`, and `<!-- end -->`
/// is the one that is printed: `print` gives, for a marker, the title and all that was printed. With `BLESS=1` the
/// document is written instead.
///
/// # Panics
/// Where they differ, or without a table.
pub fn check(document_name: &str, print: impl Fn(&str) -> (String, String)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document_name);
    let document = std::fs::read_to_string(&path).expect("it is in the tree");
    let (mut made, mut rest, mut count) = (String::new(), &document[..], 0);
    while let Some((before, after)) = rest.split_once("<!-- table: ") {
        let (marker, after) = after.split_once(" -->\n").expect("a marker ends");
        let (_, after) = after.split_once("<!-- end -->").expect("a table ends");
        let (title, printed) = print(marker);
        let heading = format!("**{}**\n\n", title.replace('_', "\\_"));
        let (_, table) = printed.split_once(&heading).unwrap_or_else(|| panic!("no table `{title}`"));
        let lines = table.lines().take_while(|line| line.starts_with('|'));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        made += &format!("{before}<!-- table: {marker} -->\n{lines}<!-- end -->");
        (rest, count) = (after, count + 1);
    }
    made += rest;
    assert!(count > 0, "there are tables");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("the tree can be written");
    } else {
        assert!(
            made == document,
            "docs/{document_name} is not what the command prints: run this with BLESS=1"
        );
    }
}
