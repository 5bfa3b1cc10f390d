//! How long files and functions are. A table is exempt: a function that is one `match` and little else may be
//! as long as it has rows, as long as each of them is short.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Source;

const FILE_LINES_MAX: usize = 800;
const ROOF_FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;
/// An arm of a `match` that is a table.
const ROW_LINES_MAX: usize = 15;
/// What may stand around such a `match`.
const AROUND_LINES_MAX: usize = 45;
const CODE: [&str; 8] = ["rs", "c", "h", "S", "s", "v", "py", "sh"];

pub fn faults(source: &Source) -> Vec<String> {
    let extension = source.path.rsplit('.').next().unwrap_or_default();
    if !CODE.contains(&extension) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let lines = source.text.lines().count();
    let roof = source.path.starts_with("crates/selvedge/src/") && !source.path.contains("/papers/");
    if lines > FILE_LINES_MAX {
        faults.push(format!(
            "{}: {lines} lines, expected at most {FILE_LINES_MAX}: split it by noun",
            source.path
        ));
    } else if roof && lines > ROOF_FILE_LINES_MAX {
        faults.push(format!(
            "{}: {lines} lines, expected at most {ROOF_FILE_LINES_MAX} in the roof: \
             move the work into a tool, or split by noun",
            source.path
        ));
    }
    let long = match extension {
        "rs" => rust_functions(source),
        "c" | "h" => c_functions(&source.text),
        _ => Vec::new(),
    };
    for (name, line, lines) in long {
        faults.push(format!(
            "{}:{line}: `{name}` has {lines} lines, expected at most {FUNCTION_LINES_MAX}: give its steps names",
            source.path
        ));
    }
    faults
}

/// Name, line and length.
type Long = (String, usize, usize);

fn rust_functions(source: &Source) -> Vec<Long> {
    let file = syn::parse_file(&source.text).unwrap_or_else(|error| panic!("`{}`: {error}", source.path));
    let mut functions = Functions(Vec::new());
    functions.visit_file(&file);
    functions.0
}

struct Functions(Vec<Long>);

impl Functions {
    fn judge(&mut self, name: &syn::Ident, block: &syn::Block) {
        let lines = lines(block.span());
        if lines > FUNCTION_LINES_MAX && !is_table(block) {
            self.0.push((name.to_string(), name.span().start().line, lines));
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.judge(&function.sig.ident, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.judge(&function.sig.ident, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.judge(&function.sig.ident, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn lines(span: Span) -> usize {
    span.end().line - span.start().line + 1
}

fn is_table(block: &syn::Block) -> bool {
    let tables = block.stmts.iter().filter_map(|statement| match statement {
        syn::Stmt::Expr(syn::Expr::Match(table), _) => Some(table),
        _ => None,
    });
    let longest = tables.max_by_key(|table| lines(table.span()));
    longest.is_some_and(|table| {
        let short = table.arms.iter().all(|arm| lines(arm.span()) <= ROW_LINES_MAX);
        short && lines(block.span()) - lines(table.span()) <= AROUND_LINES_MAX
    })
}

/// C as we format it: a function's closing brace stands in the first column, its opening one ends the line
/// of its name or stands alone below it.
fn c_functions(text: &str) -> Vec<Long> {
    let mut long = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let first = line.chars().next();
        if first == Some('}') {
            if let Some((name, start)) = open.take().filter(|(_, start)| index - start >= FUNCTION_LINES_MAX)
            {
                long.push((name, start + 1, index - start + 1));
            }
        } else if first.is_some_and(|c| c.is_ascii_alphabetic())
            && line.contains('(')
            && !line.trim_end().ends_with(';')
        {
            let name =
                line.split('(').next().unwrap_or_default().split_whitespace().next_back().unwrap_or_default();
            open = Some((name.trim_start_matches('*').into(), index));
        }
    }
    long
}

#[test]
fn long_files_and_functions_are_found() {
    let found = |path: &str, text: String| faults(&Source { path: path.into(), text }).len();
    let body = |lines: usize| "    x();\n".repeat(lines);
    assert_eq!(found("crates/isa/src/a.rs", "\n".repeat(800)), 0);
    assert_eq!(found("crates/isa/src/a.rs", "\n".repeat(801)), 1);
    assert_eq!(found("crates/selvedge/src/a.rs", "\n".repeat(401)), 1);
    assert_eq!(found("crates/selvedge/src/papers/a.rs", "\n".repeat(401)), 0);
    assert_eq!(found("a.rs", format!("fn f() {{\n{}}}\n", body(68))), 0);
    assert_eq!(found("a.rs", format!("fn f() {{\n{}}}\n", body(69))), 1);
    assert_eq!(found("a.rs", format!("impl A {{\nfn f() {{\n{}}}\n}}\n", body(69))), 1);
    let table = |row: &str| format!("fn f(x: u8) {{\nmatch x {{\n{}}}\n}}\n", row.repeat(80));
    assert_eq!(found("a.rs", table("1 => a(),\n")), 0);
    assert_eq!(found("a.rs", table(&format!("1 => {{\n{}}}\n", body(20)))), 2);
    assert_eq!(found("a.c", format!("static int f(void)\n{{\n{}}}\n", body(67))), 0);
    assert_eq!(found("a.c", format!("static int f(void)\n{{\n{}}}\n", body(68))), 1);
}
