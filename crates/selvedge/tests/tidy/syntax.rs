//! What Rust code may call, and where: only the roof prints, only daemons' named files do I/O and what asks a compiler, and a value that
//! is taken for granted says why. Code under `#[cfg(test)]` and below `tests/` is free.

use syn::visit::{self, Visit};

use crate::Source;

/// Files of the tools that may use sockets, files and processes.
const IO_FILES: [&str; 10] = [
    "emulate.rs",
    "serve.rs",
    "store.rs",
    "disk.rs",
    "client.rs",
    "listen.rs",
    "control.rs",
    "peer.rs",
    "tcp.rs",
    "udp.rs",
];
/// What exploration asks a compiler and its companions, which its tests need as its verbs do.
const COMPILER_FILES: [&str; 2] = ["crates/explore/src/image.rs", "crates/explore/src/lines.rs"];
const IO_FOLDERS: [&str; 4] = ["/client/", "/device/", "/emulate/", "/sim/"];
/// First and second part of the paths that reach the outside.
const IO_PATHS: [(&str, &str); 9] = [
    ("std", "fs"),
    ("std", "net"),
    ("std", "process"),
    ("std", "env"),
    ("tokio", "fs"),
    ("tokio", "net"),
    ("tokio", "process"),
    ("rustix", "fs"),
    ("rustix", "net"),
];
const PRINTS: [&str; 4] = ["println", "print", "eprintln", "eprint"];

/// Applies [`faults`] to all but the files that a parent declares as `#[cfg(test)] mod name;`.
pub fn everywhere(sources: &[Source]) -> Vec<String> {
    let tests: Vec<String> = sources.iter().flat_map(declared_tests).collect();
    sources.iter().filter(|source| !tests.contains(&source.path)).flat_map(faults).collect()
}

/// The paths of the modules that exist for tests only.
fn declared_tests(source: &Source) -> Vec<String> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    let file = syn::parse_file(&source.text).unwrap_or_else(|error| panic!("`{}`: {error}", source.path));
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let below = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_string(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    let declared = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(item) if item.content.is_none() && is_test(&item.attrs) => Some(&item.ident),
        _ => None,
    });
    declared.flat_map(|name| [format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")]).collect()
}

fn faults(source: &Source) -> Vec<String> {
    let product =
        source.path.starts_with("crates/") && source.path.contains("/src/") && source.path.ends_with(".rs");
    if !product {
        return Vec::new();
    }
    let file = syn::parse_file(&source.text).unwrap_or_else(|error| panic!("`{}`: {error}", source.path));
    if is_test(&file.attrs) {
        return Vec::new();
    }
    let mut finder = Finder { path: &source.path, faults: Vec::new() };
    finder.visit_file(&file);
    finder.faults
}

struct Finder<'a> {
    path: &'a str,
    faults: Vec<String>,
}

impl Finder<'_> {
    fn is_roof(&self) -> bool {
        self.path.starts_with("crates/selvedge/")
    }

    fn may_do_io(&self) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        self.is_roof()
            || IO_FILES.contains(&file)
            || COMPILER_FILES.contains(&self.path)
            || IO_FOLDERS.iter().any(|folder| self.path.contains(folder))
    }

    fn add(&mut self, span: proc_macro2::Span, fault: &str) {
        self.faults.push(format!("{}:{}: {fault}", self.path, span.start().line));
    }

    fn reach(&mut self, first: &syn::Ident, second: &syn::Ident) {
        let found = IO_PATHS.iter().find(|(a, b)| first == a && second == b);
        if let Some((a, b)) = found.filter(|_| !self.may_do_io()) {
            self.add(
                first.span(),
                &format!("`{a}::{b}` is for the roof and the daemons' {}: take values", IO_FILES.join(", ")),
            );
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if let Some(name) = item.path.get_ident().filter(|name| PRINTS.iter().any(|print| name == print))
            && !self.is_roof()
        {
            self.add(name.span(), &format!("`{name}!` is for the roof: return a value"));
        }
        visit::visit_macro(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(second) = path.segments.get(1) {
            self.reach(&path.segments[0].ident, &second.ident);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(first) = &item.tree {
            let mut seconds = Vec::new();
            heads(&first.tree, &mut seconds);
            for second in seconds {
                self.reach(&first.ident, second);
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "unwrap" {
            self.add(
                call.method.span(),
                "`unwrap()` says nothing: `expect` why it holds, or return the error",
            );
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The first names of a `use` tree: of `{fs, net::{self}}`, `fs` and `net`.
fn heads<'a>(tree: &'a syn::UseTree, names: &mut Vec<&'a syn::Ident>) {
    match tree {
        syn::UseTree::Path(path) => names.push(&path.ident),
        syn::UseTree::Name(name) => names.push(&name.ident),
        syn::UseTree::Rename(rename) => names.push(&rename.ident),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| heads(tree, names)),
        _ => {}
    }
}

#[test]
fn calls_that_may_not_be_made_are_found() {
    let found = |path: &str, text: &str| faults(&Source { path: path.into(), text: text.into() }).len();
    let (tool, roof) = ("crates/pack/src/line.rs", "crates/selvedge/src/run.rs");
    assert_eq!((found(tool, "fn f() { println!(); }"), found(roof, "fn f() { println!(); }")), (1, 0));
    assert_eq!(found(tool, "use std::{fmt, fs::File};"), 1);
    assert_eq!(found(tool, "use std::fs;"), 1);
    assert_eq!(found(tool, "fn f() { let _ = std::env::args(); }"), 1);
    assert_eq!(found("crates/collect/src/disk.rs", "use std::fs;"), 0);
    assert_eq!(found("crates/broker/src/device/link.rs", "use tokio::net::UnixStream;"), 0);
    assert_eq!((found(tool, "fn f() { g().unwrap(); }"), found(roof, "fn f() { g().unwrap(); }")), (1, 1));
    assert_eq!(found(tool, "#[cfg(test)] mod tests { fn f() { g().unwrap(); println!(); } }"), 0);
    let parent = Source { path: "crates/a/src/b.rs".into(), text: "#[cfg(test)]\nmod c;".into() };
    let child = Source { path: "crates/a/src/b/c.rs".into(), text: "fn f() { g().unwrap(); }".into() };
    let orphan = Source { path: "crates/a/src/c.rs".into(), text: "fn f() { g().unwrap(); }".into() };
    assert_eq!(everywhere(&[parent, child, orphan]).len(), 1);
    assert_eq!(found("crates/pack/tests/a.rs", "fn f() { g().unwrap(); }"), 0);
}
