//! The file-test harness: a file dropped into `cli/<tool>/` is a test of the command line.
//!
//! Owns the directives and the golden files; `cli/readme.cmd` describes them and is itself a test. Nothing
//! here knows a verb. With `BLESS=1` golden files are written instead of compared.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

/// One command of a test file and what it must end with.
struct Directive {
    /// Tells several directives of one file apart.
    name: Option<String>,
    exit_code: i32,
    arguments: String,
    /// `KEY=VALUE`, for every directive of the file.
    environment: Vec<(String, String)>,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let mut golden = BTreeSet::new();
    let files = files(&root);
    for file in files.iter().filter(|file| is_test(file)) {
        let label = file.strip_prefix(&root).expect("below the root").display().to_string();
        match directives(&fs::read_to_string(file).expect("a test is text")) {
            Ok(directives) => {
                for directive in directives {
                    let stem = stem(&label, &directive);
                    golden.extend(["stdout", "stderr"].map(|stream| root.join(format!("{stem}.{stream}"))));
                    let (root, label) = (root.clone(), label.clone());
                    trials.push(Trial::test(stem, move || check(&root, &label, &directive)));
                }
            }
            Err(fault) => trials.push(Trial::test(label, move || Err(Failed::from(fault)))),
        }
    }
    let orphans: Vec<PathBuf> =
        files.into_iter().filter(|file| is_golden(file) && !golden.contains(file)).collect();
    trials.push(Trial::test("every_golden_file_has_a_test", move || match orphans.first() {
        None => Ok(()),
        Some(orphan) => Err(format!("no test writes `{}`: delete it", orphan.display()).into()),
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the tests can be read");
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn is_test(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "cmd")
}

fn is_golden(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "stdout" || extension == "stderr")
}

fn stem(label: &str, directive: &Directive) -> String {
    match &directive.name {
        None => label.to_string(),
        Some(name) => format!("{label}.{name}"),
    }
}

/// The directives in the comment lines at the top of a test.
fn directives(text: &str) -> Result<Vec<Directive>, String> {
    let mut directives: Vec<Directive> = Vec::new();
    let mut environment = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix('#')) {
        let Some((head, rest)) = line.trim().split_once(": ") else { continue };
        let (word, name, code) = head_parts(head);
        let exit_code = match (word, code) {
            ("RUN", None) => 0,
            ("FAIL", None) => 1,
            ("FAIL", Some(code)) => code.parse().map_err(|_| format!("`{code}` is not an exit code"))?,
            ("ENV", None) => {
                let (key, value) = rest.split_once('=').ok_or("expected `# ENV: KEY=VALUE`")?;
                environment.push((key.to_string(), value.to_string()));
                continue;
            }
            _ => continue,
        };
        let (name, arguments) = (name.map(str::to_string), rest.to_string());
        directives.push(Directive { name, exit_code, arguments, environment: Vec::new() });
    }
    if directives.is_empty() {
        return Err("no directive: the first lines must hold `# RUN: ...` or `# FAIL: ...`".into());
    }
    for directive in &mut directives {
        directive.environment.clone_from(&environment);
    }
    Ok(directives)
}

/// `FAIL[name](3)` as its three parts.
fn head_parts(head: &str) -> (&str, Option<&str>, Option<&str>) {
    let (head, code) = match head.strip_suffix(')').and_then(|head| head.split_once('(')) {
        Some((head, code)) => (head, Some(code)),
        None => (head, None),
    };
    match head.strip_suffix(']').and_then(|head| head.split_once('[')) {
        Some((word, name)) => (word, Some(name), code),
        None => (head, None, code),
    }
}

fn check(root: &Path, label: &str, directive: &Directive) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    let scratch_text = scratch.path().display().to_string();
    let arguments = directive.arguments.split_whitespace().map(|word| match word {
        "%" => label.to_string(),
        word => word.replace("%tmp", &scratch_text),
    });
    let output = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(arguments)
        .current_dir(root)
        .env_clear()
        .envs(env::var_os("PATH").map(|path| ("PATH", path)))
        .envs(directive.environment.iter().map(|(key, value)| (key, value.replace("%tmp", &scratch_text))))
        .stdin(Stdio::null())
        .output()?;
    let stdout = clean(&output.stdout, &scratch_text)?;
    let stderr = clean(&output.stderr, &scratch_text)?;
    if output.status.code() != Some(directive.exit_code) {
        let found = output.status;
        let expected = directive.exit_code;
        return Err(format!("ended with {found}, expected exit code {expected}\n{stdout}{stderr}").into());
    }
    let stem = stem(label, directive);
    compare(&root.join(format!("{stem}.stdout")), &stdout)?;
    compare(&root.join(format!("{stem}.stderr")), &stderr)
}

fn clean(bytes: &[u8], scratch: &str) -> Result<String, Failed> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("the output is not UTF-8: {error}"))?;
    Ok(text.replace(scratch, "%tmp").replace(env!("CARGO_PKG_VERSION"), "%version"))
}

/// Compares with a golden file; one that is not there is an empty one.
fn compare(golden: &Path, found: &str) -> Result<(), Failed> {
    if env::var_os("BLESS").is_some_and(|value| value == "1") {
        if !found.is_empty() {
            fs::write(golden, found)?;
        } else if golden.exists() {
            fs::remove_file(golden)?;
        }
        return Ok(());
    }
    let expected = if golden.exists() { fs::read_to_string(golden)? } else { String::new() };
    if expected == found {
        return Ok(());
    }
    let first = expected.lines().zip(found.lines()).take_while(|(expected, found)| expected == found).count();
    Err(format!(
        "`{}` differs from line {} on\n--- expected\n{expected}--- found\n{found}---\n\
         if it should be so: `make bless` (BLESS=1 cargo test -p selvedge --test cli) and look at the difference",
        golden.display(),
        first + 1
    )
    .into())
}
