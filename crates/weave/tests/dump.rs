//! The analyses as text, and on the texts of compilers. `make bless` writes the golden files anew.

use std::path::Path;

use expect_test::expect_file;
use isa::avr::CoreType;
use weave::analysis::Analysis;
use weave::directive::Parameters;
use weave::program::Program;
use weave::registers::Liveness;
use weave::source::Source;
use weave::{dump, slack, trips};

fn read(file: &Path, roots: &[&str]) -> Program {
    let text = std::fs::read_to_string(file).expect("a file of this folder");
    let source = Source::parse("test.s", &text).unwrap_or_else(|error| panic!("{error}"));
    let read = Program::read(&[source], roots, &Parameters::new(), Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}")).0
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn check(stem: &str) {
    let program = read(&folder("dump").join(format!("{stem}.s")), &[stem]);
    let analysis = Analysis::of(&program);
    let index = program.functions.iter().position(|function| function.name == stem).expect("it is a root");
    let function = &program.functions[index];
    let routine = analysis.routines[index].as_ref().expect("its control flow is known");
    let time = analysis.times[index].as_ref().expect("its control flow is known");
    let live = Liveness::of(&program, &routine.cfg, &analysis.registers, 1);
    let clocks = slack::of(&program, function, routine, time).expect("its events are in order");
    let all = [
        ("cfg", dump::cfg(&program, function, &routine.cfg)),
        ("dot", dump::dot(&program, function, &routine.cfg)),
        ("cdg", dump::cdg(&program, function, routine, time)),
        ("time", dump::time(&program, function, routine, time)),
        ("slack", dump::slack(&program, function, &clocks)),
        ("registers", dump::registers(&program, function, routine, &analysis.registers, &live)),
    ];
    for (pass, text) in all {
        expect_file![folder("dump").join(format!("{stem}.{pass}"))].assert_eq(&text);
    }
}

#[test]
fn a_guest_is_printed() {
    check("send");
}

#[test]
fn nested_control_flow_is_printed() {
    check("nest");
}

#[test]
fn what_compilers_write_is_analysed() {
    let mut known = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder("source"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ring_") && name.ends_with(".s")
    }) {
        let program = read(file, &["ring_put", "ring_get", "rotate", "weigh", "drain", "named", "main"]);
        let analysis = Analysis::of(&program);
        let stem = file.file_stem().expect("a name").to_string_lossy();
        for ((function, routine), time) in
            program.functions.iter().zip(&analysis.routines).zip(&analysis.times)
        {
            let routine =
                routine.as_ref().unwrap_or_else(|fault| panic!("{stem}: {}: {fault}", function.name));
            let time = time.as_ref().expect("its control flow is known");
            let total = match &time.total {
                Ok(Some(total)) => format!("{}..{}", total.best, total.worst),
                Ok(None) => "never returns".into(),
                Err(fault) => fault.to_string().lines().next().unwrap_or_default().to_owned(),
            };
            let found: Vec<String> = routine
                .trips
                .iter()
                .zip(&routine.loops.all)
                .map(|(trips, each)| passes(trips, each))
                .collect();
            let changes = analysis.registers.summary(function).expect("its control flow is known").writes;
            known.push(format!(
                "{stem} {}: {total}; trips {}; changes {}",
                function.name,
                found.join(" "),
                dump::set(changes)
            ));
        }
    }
    expect_file![folder("dump").join("compilers")].assert_eq(&(known.join("\n") + "\n"));
}

fn passes(trips: &Result<trips::Trips, trips::Untold>, each: &weave::loops::Loop) -> String {
    match trips {
        Ok(found) => format!("{:?}", found.passes(each)),
        Err(_) => "?".into(),
    }
}
