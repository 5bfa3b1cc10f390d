//! The only place that runs a compiler. So far: avr-gcc, for the node's image and for what is woven.
//!
//! Owns finding the compiler and the source tree, reading the list of sources, that a linked image keeps time, and the
//! cache of what was built. Everything above gets bytes. What is compiled, and with which flags, is `firmware/node/sources.txt`'s.
//!
//! Invariant: what comes from the cache is what the compiler would make. The key of an image is a SHA-256 over
//! the compiler's version, its C library, chip, flags, and every file beside the sources, headers included, and over
//! what its woven functions follow from (`woven`); and a kept image stands behind its own SHA-256, so that a damaged one
//! is built again.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::link::Chip;
use recipe::Recipe;
use timing::keeps_time;
use woven::Filters;

mod fault;
mod language;
mod line;
mod recipe;
mod timing;
mod woven;

pub use fault::Fault;
pub use language::Language;
pub use line::{Besides, Line, Sealer};
pub use timing::timed_functions;

/// The list of sources, from the root of the source tree.
const SOURCES: &str = "firmware/node/sources.txt";
const COMPILER: &str = "avr-gcc";

/// A compiled image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The ELF file.
    pub elf: Vec<u8>,
    /// The first line of what the compiler says of its version.
    pub compiler: String,
    /// SHA-256 of everything that went into it, in hex.
    pub inputs: String,
}

/// The source tree: `given`, or the working folder.
///
/// # Errors
/// [`Fault::NoTree`] when the list of sources is not there.
pub fn root(given: Option<&Path>) -> Result<PathBuf, Error> {
    let root = given.unwrap_or(Path::new("."));
    if root.join(SOURCES).is_file() {
        Ok(root.into())
    } else {
        Err(Fault::NoTree { root: root.into() }.into())
    }
}

/// Where images are kept between runs: `selvedge` in the user's cache folder, if the user has one.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("selvedge"))
}

/// avr-gcc.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: PathBuf,
    version: String,
}

impl Compiler {
    /// Finds the compiler in `search_path`, a list of folders as in `PATH`.
    ///
    /// # Errors
    /// [`Fault::NoCompiler`], or [`Error::Io`] when it cannot be run.
    pub fn find(search_path: &OsStr) -> Result<Compiler, Error> {
        let candidates = env::split_paths(search_path).map(|folder| folder.join(COMPILER));
        let program =
            { candidates }.find(|path| path.is_file()).ok_or(Error::Toolchain(Fault::NoCompiler))?;
        let version = run(Command::new(&program).arg("--version"), "its version")?;
        let version = version.lines().next().unwrap_or_default().to_string();
        Ok(Compiler { program, version })
    }

    /// The node's image for `chip`, from the source tree at `root`; from `cache` if it was built before.
    ///
    /// # Errors
    /// [`Error::Toolchain`] for what is wrong with the sources, [`Error::Io`] for the rest.
    pub fn node_image(
        &self,
        root: &Path,
        chip: &Chip,
        besides: Besides,
        cache: Option<&Path>,
    ) -> Result<Image, Error> {
        let mut recipe = Recipe::read(&root.join(SOURCES))?;
        if let Some(list) = besides.list() {
            recipe = recipe.and(Recipe::read(&root.join(list))?);
        }
        let filters = match besides {
            Besides::Woven(line) => Filters::read(&recipe, chip, line)?,
            Besides::Nothing | Besides::List(_) => Filters::none(),
        };
        let inputs = self.inputs(&recipe, chip, &filters)?;
        let image = |elf| Image { elf, compiler: self.version.clone(), inputs: inputs.clone() };
        let kept = cache.map(|folder| folder.join(format!("node-{}-{inputs}.kept", chip.name)));
        if let Some(elf) = kept.as_deref().map(found).transpose()?.flatten() {
            return Ok(image(elf));
        }
        let elf = self.build(&recipe, chip, &filters.woven(&recipe, cache)?)?;
        keeps_time(&elf, chip).map_err(Error::Toolchain)?;
        if let (Some(folder), Some(kept)) = (cache, &kept) {
            keep(folder, kept, &elf)?;
        }
        Ok(image(elf))
    }

    /// The ELF file that sources are compiled and linked into, with these flags.
    ///
    /// # Errors
    /// [`Fault::Compile`] for what is wrong with the sources, [`Error::Io`] for the rest.
    pub fn program(&self, sources: &[PathBuf], chip: &str, flags: &[String]) -> Result<Vec<u8>, Error> {
        let scratch = tempfile::tempdir().map_err(failed("create a folder in", &env::temp_dir()))?;
        let elf = scratch.path().join("program.elf");
        let mut command = Command::new(&self.program);
        command.arg(format!("-mmcu={chip}")).args(flags).args(sources).arg("-o").arg(&elf);
        let what: Vec<String> = sources.iter().map(|source| source.display().to_string()).collect();
        run(&mut command, &what.join(", "))?;
        fs::read(&elf).map_err(failed("read", &elf))
    }

    /// Names everything that the image follows from.
    fn inputs(&self, recipe: &Recipe, chip: &Chip, filters: &Filters) -> Result<String, Error> {
        let machine = format!("-mmcu={}", chip.name);
        let library =
            run(Command::new(&self.program).arg(&machine).arg("-print-file-name=libc.a"), "its library")?;
        let library = PathBuf::from(library.trim_end());
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.version.as_bytes());
        add(&fs::read(&library).map_err(failed("read", &library))?);
        add(machine.as_bytes());
        for words in [&recipe.flags, &recipe.links, &recipe.sources] {
            words.iter().for_each(|word| add(word.as_bytes()));
            add(b"");
        }
        for path in recipe.files()? {
            add(path.file_name().unwrap_or_default().as_encoded_bytes());
            add(&fs::read(&path).map_err(failed("read", &path))?);
        }
        filters.digests().for_each(&mut add);
        Ok(hex(hash))
    }

    /// One object for each source, under names of ours, and assembly through a pipe: names that the compiler
    /// makes up are random and get into the image.
    fn build(&self, recipe: &Recipe, chip: &Chip, woven: &[(String, String)]) -> Result<Vec<u8>, Error> {
        let scratch = tempfile::tempdir().map_err(failed("create a folder in", &env::temp_dir()))?;
        let machine = format!("-mmcu={}", chip.name);
        let mut objects = Vec::new();
        for (index, source) in recipe.sources.iter().enumerate() {
            let object = scratch.path().join(format!("{index}.o"));
            let mut compile = Command::new(&self.program);
            // The debug information names the tree by its own paths, wherever it lies.
            let folder = format!("-fdebug-prefix-map={}=firmware/node", recipe.folder.display());
            compile.current_dir(&recipe.folder).args([&machine, &folder]).args(&recipe.flags);
            run(
                compile.args(["-pipe", "-c", source, "-o"]).arg(&object),
                &format!("{source} for {}", chip.name),
            )?;
            objects.push(format!("{index}.o"));
        }
        for (name, text) in woven {
            let (source, object) = (format!("{name}.s"), format!("{name}.o"));
            let path = scratch.path().join(&source);
            fs::write(&path, text).map_err(failed("write", &path))?;
            let mut assemble = Command::new(&self.program);
            assemble.current_dir(scratch.path()).args([&machine, "-c", &source, "-o", &object]);
            run(&mut assemble, &format!("{name}, woven for {}", chip.name))?;
            objects.push(object);
        }
        let mut link = Command::new(&self.program);
        link.current_dir(scratch.path()).arg(&machine).args(&recipe.flags);
        // The linker looks for its scripts there.
        link.arg("-L").arg(&recipe.folder).args(&recipe.links).args(&objects);
        if !woven.is_empty() {
            // What is woven wants to know that it is linked for its chip: it was woven for this one.
            link.arg(format!("-Wl,--defsym=weave_needs_{}=1", chip.name));
        }
        run(link.args(["-o", "node.elf"]), &format!("to link the node's image for {}", chip.name))?;
        let elf = scratch.path().join("node.elf");
        fs::read(&elf).map_err(failed("read", &elf))
    }
}

/// A digest in hex.
fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs the compiler and returns what it prints.
fn run(command: &mut Command, what: &str) -> Result<String, Error> {
    let program = PathBuf::from(command.get_program());
    // Its words are shown to a person and its version is compared: one language.
    let output = command.env("LC_ALL", "C").output().map_err(failed("run", &program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Fault::Compile { what: what.into(), output }.into())
}

/// What is kept under that name, if anything whole is.
fn found(kept: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(kept) {
        Ok(bytes) => Ok(whole(&bytes).map(<[u8]>::to_vec)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", kept)(error)),
    }
}

/// What is kept, if it is what was kept.
fn whole(kept: &[u8]) -> Option<&[u8]> {
    let (digest, elf) = kept.split_first_chunk::<32>()?;
    (Sha256::digest(elf)[..] == digest[..]).then_some(elf)
}

/// Under its name only when it is whole, so that a crash leaves nothing to be believed.
fn keep(folder: &Path, kept: &Path, elf: &[u8]) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(failed("create a file in", folder))?;
    let written = fresh.write_all(&Sha256::digest(elf)).and_then(|()| fresh.write_all(elf));
    let written = written.and_then(|()| fresh.as_file().sync_all());
    written.map_err(failed("write", kept))?;
    fresh.persist(kept).map(drop).map_err(|error| failed("name", kept)(error.error))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;
    use crate::link::CHIPS;

    pub(super) fn tree() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The compiler, or `None` after saying that the test is skipped.
    pub(super) fn compiler() -> Option<Compiler> {
        match Compiler::find(&env::var_os("PATH").unwrap_or_default()) {
            Ok(compiler) => Some(compiler),
            Err(Error::Toolchain(Fault::NoCompiler)) => {
                println!("skip: node image: found no {COMPILER}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn the_node_is_built_for_every_chip_and_the_same_each_time() {
        let Some(compiler) = compiler() else { return };
        let root = root(Some(&tree())).expect("this is the tree");
        let cache = tempfile::tempdir().expect("a folder");
        for chip in &CHIPS {
            let build = |cache| {
                compiler
                    .node_image(&root, chip, Besides::Nothing, cache)
                    .unwrap_or_else(|error| panic!("{error}"))
            };
            let (first, again) = (build(None), build(Some(cache.path())));
            assert!(first == again, "two builds for {} differ", chip.name);
            let image = isa::avr::image::Image::parse(&first.elf).expect("it is an AVR program");
            assert!(image.symbol("main").is_some());
            let here = root.canonicalize().unwrap();
            let named =
                first.elf.windows(here.as_os_str().len()).any(|w| w == here.as_os_str().as_encoded_bytes());
            assert!(!named, "the image for {} names this machine", chip.name);
            assert!(
                first.compiler.contains("avr-gcc") || first.compiler.contains("GCC"),
                "{}",
                first.compiler
            );
        }
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), CHIPS.len());
        // What is kept is used: a second compiler that only knows its version is not asked to compile.
        let kept = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
        fs::write(&kept, [&Sha256::digest(b"kept")[..], b"kept"].concat()).unwrap();
        let chip =
            CHIPS.iter().find(|chip| kept.to_str().unwrap().contains(&format!("-{}-", chip.name))).unwrap();
        let from_cache =
            || compiler.node_image(&root, chip, Besides::Nothing, Some(cache.path())).unwrap().elf;
        assert_eq!(from_cache(), b"kept");
        // What is damaged is built again, and then whole.
        for damaged in [&b"kept"[..], b"", &[0; 40]] {
            fs::write(&kept, damaged).unwrap();
            let elf = from_cache();
            assert!(isa::avr::image::Image::parse(&elf).is_ok());
            assert_eq!(whole(&fs::read(&kept).unwrap()), Some(&elf[..]));
        }
    }

    #[test]
    fn a_changed_header_is_another_image_and_a_refused_source_is_told() {
        let Some(compiler) = compiler() else { return };
        let tree = tempfile::tempdir().expect("a folder");
        let folder = tree.path().join("firmware/node");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sources.txt"), "flag -Os\nsource main.c\n").unwrap();
        fs::write(folder.join("main.c"), "#include \"answer.h\"\nint main(void) { return ANSWER; }\n")
            .unwrap();
        fs::write(folder.join("answer.h"), "#define ANSWER 41\n").unwrap();
        let cache = tree.path().join("cache");
        let build = || compiler.node_image(tree.path(), &CHIPS[0], Besides::Nothing, Some(&cache));
        let before = build().unwrap();
        fs::write(folder.join("answer.h"), "#define ANSWER 42\n").unwrap();
        let after = build().unwrap();
        assert!(before.elf != after.elf && before.inputs != after.inputs);
        fs::write(folder.join("answer.h"), "#error \"no answer\"\n").unwrap();
        let refused = build().expect_err("the header refuses");
        assert_eq!(refused.class(), Class::Input);
        assert!(refused.to_string().contains("no answer"), "{refused}");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2);
    }

    #[test]
    fn what_is_missing_is_the_environments_fault() {
        let empty = tempfile::tempdir().expect("a folder");
        let missing =
            Compiler::find(empty.path().as_os_str()).expect_err("an empty folder holds no compiler");
        assert_eq!(missing.class().exit_code(), 3);
        assert!(missing.to_string().contains("gcc-avr"), "{missing}");
        let strange = root(Some(empty.path())).expect_err("an empty folder is no tree");
        assert_eq!(strange.class().exit_code(), 3);
        assert!(strange.to_string().contains("--root"), "{strange}");
    }
}
