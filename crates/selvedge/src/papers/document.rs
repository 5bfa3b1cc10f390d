//! What documents say of papers, beside the tables that the command prints: for tests.

use std::path::Path;

/// `<!-- table: TITLE -->` in a document: its numbers are of one run, its heading and its lines those of a table that is
/// printed. There must be so many at least.
///
/// # Panics
/// Where one differs.
pub fn has_the_commands_tables(name: &str, printed: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let document = std::fs::read_to_string(&path).expect("it is in the tree");
    let mut count = 0;
    for after in document.split("<!-- table: ").skip(1) {
        let (title, after) = after.split_once(" -->\n").expect("a marker ends");
        let (table, _) = after.split_once("<!-- end -->").expect("a table ends");
        let heading = format!("**{}**\n\n", title.replace('_', "\\_"));
        let (_, ours) = printed.split_once(&heading).unwrap_or_else(|| panic!("no table `{title}`"));
        let ours = ours.lines().take_while(|line| line.starts_with('|'));
        let head = |line: &str| line.replace([' ', '-', ':'], "");
        let lines: Vec<String> = table.lines().map(head).collect();
        let expected: Vec<String> = ours.map(head).collect();
        assert_eq!(lines.len(), expected.len(), "lines of `{title}`");
        assert_eq!(lines[..2], expected[..2], "the heading of `{title}`");
        count += 1;
    }
    assert!(count >= least, "{count} tables");
}
