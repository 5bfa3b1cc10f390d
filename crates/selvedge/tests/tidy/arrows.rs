//! The arrows between crates, from their manifests: the floors of ARCHITECTURE.md as a table.

use crate::Source;

/// Each crate and the crates of ours that it may name, in any kind of dependency. A tool never names a tool.
const FLOORS: [(&str, &[&str]); 10] = [
    ("cipher", &[]),
    ("isa", &[]),
    ("report", &[]),
    ("broker", &["cipher"]),
    ("cell", &["cipher", "isa"]),
    ("collect", &["cipher"]),
    ("explore", &["cipher", "isa"]),
    ("pack", &["cipher", "isa"]),
    ("weave", &["isa"]),
    ("selvedge", &["broker", "cell", "cipher", "collect", "explore", "isa", "pack", "report", "weave"]),
];
/// Folders of leaf packages: they may name any crate, and no crate may name them, except those that look for their faults.
const LEAVES: [&str; 3] = ["clients/", "witness/", "fuzz/"];
const LOOKS_FOR_FAULTS: &str = "fuzz/";
/// What only the roof may use: it parses flags, prints and draws.
const ROOF_ONLY: [&str; 4] = ["clap", "anyhow", "indicatif", "comfy-table"];
/// Draws and prints to strings; knows nothing else.
const MAY_DRAW: &str = "report";

pub fn faults(sources: &[Source]) -> Vec<String> {
    let mut faults = map(sources.iter().find(|source| source.path == "ARCHITECTURE.md"));
    let manifests = sources.iter().filter(|source| source.path.ends_with("Cargo.toml"));
    let manifests: Vec<_> = manifests.filter(|source| source.path.contains('/')).collect();
    let leaves: Vec<_> =
        manifests.iter().filter(|source| is_leaf(&source.path)).filter_map(|s| name(s)).collect();
    faults.extend(manifests.iter().flat_map(|source| check(source, &leaves)));
    faults
}

/// The map says the same as [`FLOORS`]: `cell ► isa, cipher` and so on, wherever it draws an arrow from a crate.
fn map(architecture: Option<&Source>) -> Vec<String> {
    let mut faults = Vec::new();
    for line in architecture.iter().flat_map(|source| source.text.lines()) {
        // Arrows of one line stand two spaces or more apart.
        for arrow in line.split("  ").filter_map(|part| part.trim().split_once(" \u{25ba} ")) {
            let mut drawn: Vec<_> = arrow.1.split(',').map(str::trim).collect();
            drawn.sort_unstable();
            match FLOORS.iter().find(|(floor, _)| *floor == arrow.0) {
                Some((_, allowed)) if *allowed == drawn => {}
                _ => faults.push(format!(
                    "ARCHITECTURE.md draws `{} \u{25ba} {}`, tests/tidy/arrows.rs says otherwise: make them agree",
                    arrow.0, arrow.1
                )),
            }
        }
    }
    faults
}

fn is_leaf(path: &str) -> bool {
    LEAVES.iter().any(|folder| path.starts_with(folder))
}

fn parse(source: &Source) -> toml::Table {
    source.text.parse().unwrap_or_else(|error| panic!("`{}`: {error}", source.path))
}

fn name(source: &Source) -> Option<String> {
    Some(parse(source).get("package")?.get("name")?.as_str()?.to_string())
}

/// Every package that a manifest names: plain, dev- and build-dependencies, those of a target, under their real names.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut tables: Vec<&toml::Table> = vec![manifest];
    tables.extend(
        manifest
            .get("target")
            .and_then(|t| t.as_table())
            .into_iter()
            .flatten()
            .filter_map(|t| t.1.as_table()),
    );
    let mut names = Vec::new();
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in table.get(kind).and_then(|kind| kind.as_table()).into_iter().flatten() {
                let real = value.get("package").and_then(|package| package.as_str());
                names.push(real.unwrap_or(name).to_string());
            }
        }
    }
    names
}

fn check(source: &Source, leaves: &[String]) -> Vec<String> {
    let manifest = parse(source);
    let Some(name) = name(source) else { return Vec::new() };
    let mut faults = Vec::new();
    let dependencies = dependencies(&manifest);
    let leaf = dependencies.iter().find(|dependency| leaves.contains(dependency));
    if let Some(leaf) = leaf.filter(|_| !source.path.starts_with(LOOKS_FOR_FAULTS)) {
        faults.push(format!("{}: names the leaf package `{leaf}`: nothing imports a leaf", source.path));
    }
    if is_leaf(&source.path) {
        return faults;
    }
    let Some((_, allowed)) = FLOORS.iter().find(|(floor, _)| *floor == name) else {
        faults.push(format!(
            "{}: `{name}` is on no floor: give it a line in tests/tidy/arrows.rs",
            source.path
        ));
        return faults;
    };
    for dependency in &dependencies {
        let ours = FLOORS.iter().any(|(floor, _)| floor == dependency);
        if ours && !allowed.contains(&dependency.as_str()) {
            faults.push(format!(
                "{}: `{name}` names `{dependency}`: arrows point down and tools never import tools; \
                 pass a value in, or move what is shared to the floor below",
                source.path
            ));
        }
        if ROOF_ONLY.contains(&dependency.as_str()) && name != "selvedge" && name != MAY_DRAW {
            faults.push(format!(
                "{}: `{name}` names `{dependency}`: only the roof parses flags and prints; return a value",
                source.path
            ));
        }
    }
    faults
}

#[test]
fn an_arrow_that_does_not_point_down_is_found() {
    let drawing = |text: &str| map(Some(&Source { path: "ARCHITECTURE.md".into(), text: text.into() })).len();
    assert_eq!(drawing("floor 1   cell \u{25ba} isa, cipher    broker \u{25ba} cipher"), 0);
    assert_eq!(drawing("floor 1   cell \u{25ba} isa, cipher    broker \u{25ba} collect"), 1);
    let manifest = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let broker =
        |rest: &str| manifest("crates/broker/Cargo.toml", &format!("[package]\nname = \"broker\"\n{rest}"));
    let found =
        |source| faults(&[source, manifest("witness/Cargo.toml", "[package]\nname = \"witness\"\n")]).len();
    assert_eq!(found(broker("[dependencies]\ncipher.workspace = true\n")), 0);
    assert_eq!(found(broker("[dependencies]\ncollect.workspace = true\n")), 1);
    assert_eq!(found(broker("[dev-dependencies]\nselvedge = { path = \"../selvedge\" }\n")), 1);
    assert_eq!(found(broker("[build-dependencies]\nx = { package = \"collect\", version = \"1\" }\n")), 1);
    assert_eq!(found(broker("[target.'cfg(unix)'.dependencies]\nisa.workspace = true\n")), 1);
    assert_eq!(found(broker("[dependencies]\nclap.workspace = true\n")), 1);
    assert_eq!(found(broker("[dev-dependencies]\nwitness = { path = \"../../witness\" }\n")), 1);
    assert_eq!(found(manifest("crates/extra/Cargo.toml", "[package]\nname = \"extra\"\n")), 1);
}
