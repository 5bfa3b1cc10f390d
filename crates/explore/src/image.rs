//! The library of `firmware/crypto` as a program for the bare machine of `isa::rv32`, made by a compiler.
//!
//! Owns which files an image is made of, what is chosen for it (leaves of the basic layer, how the compiler optimises,
//! how it is linked), running the compiler, and keeping what was made. What the program is asked and how long it takes
//! is `measure`'s. All variants of symmetric ciphers, those in assembly too, are in every image; of the leaves there is
//! one variant, since they have the same names. Any routine may have one that stands in its place, in a file of
//! anybody's, such as one that calls instructions of one's own.
//!
//! Invariant: what is kept is found again only where the compiler, its options and every file are the same. Files are
//! those of the native library, which counts what models are of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use isa::rv32::bare::Program;
use isa::rv32::{Image as Linked, Listing, Units};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSymbol};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::kept::SOURCES;
use crate::native::ROUTINES;
use crate::sources::{ASKING_LIMBS, File, OF_LIMBS, PLAIN, digest};

/// The compiler.
pub const COMPILER: &str = "riscv64-unknown-elf-gcc";
/// The package that it is in.
const PACKAGE: &str = "gcc-riscv64-unknown-elf";
/// What it is told for every file.
pub const OPTIONS: &str = "-march=rv32im -mabi=ilp32 --specs=picolibc.specs -std=gnu11 -ffunction-sections -fdata-sections \
                       -g0 -Wall -Wextra -Werror";
/// And for a program that tells what is secret: which line it is of is to be known.
const TELLING: [&str; 2] = ["-DSECRET_MARKS", "-g"];
/// The instruction set, as the compiler knows it.
pub const INSTRUCTION_SET: &str = "rv32im";
/// Where requests lie: behind an image and below the stack.
pub const REQUESTS: u32 = 0x20_0000;
/// Bytes of requests that a run has room for.
pub const REQUESTS_BYTES_MAX: usize = 0x10_0000;
/// Files that are compiled once, besides whole folders.
const ASKING: [&str; 5] = [
    "bench/explore.c",
    "bench/explore_symmetric.c",
    "crypto/rc4_c8.c",
    "bench/rv32/start.S",
    "bench/rv32/explore.c",
];

/// Leaves of the basic layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leaves {
    /// A limb at a time, in C.
    Plain,
    /// Eight limbs at a time, in C.
    Unrolled,
    /// Assembly where limbs have 32 bits, and [`Leaves::Plain`] where they have 16.
    Assembly,
}

impl Leaves {
    /// All of them.
    pub const ALL: [Leaves; 3] = [Leaves::Plain, Leaves::Unrolled, Leaves::Assembly];

    /// As they are written.
    pub fn word(self) -> &'static str {
        match self {
            Leaves::Plain => "c",
            Leaves::Unrolled => "unrolled",
            Leaves::Assembly => "rv32",
        }
    }

    /// The leaves of a name.
    ///
    /// # Errors
    /// There are none of this name.
    pub fn read(text: &str) -> Result<Leaves, Error> {
        let found = Leaves::ALL.into_iter().find(|leaves| leaves.word() == text);
        found.ok_or_else(|| Error::choice("variant of leaves", text, Leaves::ALL.map(Leaves::word)))
    }

    fn file(self, limb_bits: u8) -> &'static str {
        match (self, limb_bits) {
            (Leaves::Unrolled, _) => "mpn_unrolled.c",
            (Leaves::Assembly, 32) => "mpn_rv32.S",
            _ => "mpn_c.c",
        }
    }
}

/// A file to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is, in C or assembly.
    pub path: PathBuf,
    /// How wide limbs are in it; nothing where it has none.
    pub limb_bits: Option<u8>,
}

/// What is chosen for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which leaves are linked.
    pub leaves: Leaves,
    /// How the compiler optimises, as it is told.
    pub level: String,
    /// In which order files are linked and how far code, data and stack are moved: 0 as they come, else drawn from it. A
    /// candidate's state and scratch of limbs begin at a way of the cache in each of them.
    pub layout: u64,
    /// How many bytes below where it is otherwise the stack begins, a multiple of 16: what else is linked stays where it is.
    pub stack_below: u32,
    /// Whether the program tells what is secret, for who follows secrets through it; it takes other cycles then.
    pub tells_secrets: bool,
    /// Files whose routines stand in place of those that the library has by the same names; they define nothing else that
    /// other files see.
    pub in_place: Vec<Source>,
}

impl Choice {
    /// These leaves, as they are usually compiled and linked.
    pub fn of(leaves: Leaves) -> Choice {
        let level = "-O2".to_owned();
        Choice { leaves, level, layout: 0, stack_below: 0, tells_secrets: false, in_place: Vec::new() }
    }
}

/// A function, or something else that has a name in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Where it begins.
    pub address: u32,
    /// How long it is.
    pub bytes: u32,
}

/// A linked program.
#[derive(Clone, Debug)]
pub struct Image {
    /// As memory is before it begins.
    pub program: Program,
    /// Its functions, by address.
    pub functions: Vec<Symbol>,
    /// Its constants that have a name, by address: tables of ciphers, mostly.
    pub constants: Vec<Symbol>,
    /// What the compiler says of its version, and what it was told besides.
    pub compiler: String,
    /// What was chosen.
    pub choice: Choice,
    /// As it was linked.
    elf: Vec<u8>,
}

impl Image {
    /// Makes an image from the source tree at `root`, or finds it in `kept`, where what is made is left.
    ///
    /// # Errors
    /// There is no compiler, it refuses a file, a file cannot be read or written, a file in place of routines has
    /// something else, or the tree is another one than that of this program's library.
    pub fn make(root: &Path, choice: &Choice, kept: Option<&Path>) -> Result<Image, Error> {
        let firmware = root.join("firmware");
        let version = version()?;
        let name = format!("explore-{}.elf", inputs(&firmware, choice, &version)?);
        let found = kept.map(|folder| folder.join(name));
        let elf = match found.as_deref().map(fs::read) {
            Some(Ok(elf)) => elf,
            _ => {
                let folder = tempfile::tempdir()
                    .map_err(|error| io_error("create a folder in", Path::new("."), error))?;
                let elf = build(&firmware, choice, folder.path())?;
                if let (Some(folder), Some(path)) = (kept, &found) {
                    keep(folder, path, &elf)?;
                }
                elf
            }
        };
        Image::read(&elf, choice, &version)
    }

    fn read(elf: &[u8], choice: &Choice, version: &str) -> Result<Image, Error> {
        let bad = |why: String| Error::Image { why };
        let linked = Linked::parse(elf).map_err(|error| bad(error.to_string()))?;
        let program = Program::of_image(&linked).map_err(|error| bad(error.to_string()))?;
        if program.bytes().len() > REQUESTS as usize {
            return Err(bad(format!("found {} bytes, expected {REQUESTS}", program.bytes().len())));
        }
        let constants = constants(&linked);
        let functions = linked.symbols.into_iter().filter(|symbol| symbol.function);
        let functions = functions.map(|symbol| Symbol {
            name: symbol.name,
            address: symbol.address,
            bytes: symbol.bytes,
        });
        let compiler = format!("{version} {}", choice.level);
        let (functions, elf) = (functions.collect(), elf.to_vec());
        Ok(Image { program, functions, constants, compiler, choice: choice.clone(), elf })
    }

    /// As it was linked.
    pub fn elf(&self) -> &[u8] {
        &self.elf
    }

    /// What stands where, for a core that has these instructions of one's own.
    pub fn listing(&self, units: &Units) -> Listing {
        Listing::new(&self.program, units)
    }

    /// The bytes of a function's code.
    pub fn code_bytes(&self, function: &str) -> Option<u32> {
        self.functions.iter().find(|symbol| symbol.name == function).map(|symbol| symbol.bytes)
    }
}

/// What has a name behind the functions and is not written to. A label of assembly, whose length nobody says, goes as far
/// as to the next name.
fn constants(linked: &Linked) -> Vec<Symbol> {
    let first = linked.code_first + linked.code_bytes;
    // The segment that the functions are in.
    let Some(segment) = linked.segments.iter().find(|segment| segment.first < first) else {
        return Vec::new();
    };
    let end = segment.first + segment.bytes.len() as u32;
    let named =
        linked.symbols.iter().filter(|symbol| !symbol.function && (first..end).contains(&symbol.address));
    let mut constants: Vec<Symbol> = Vec::new();
    for symbol in named {
        let (name, address, bytes) = (symbol.name.clone(), symbol.address, symbol.bytes);
        if let Some(before) = constants.last_mut().filter(|before| before.bytes == 0) {
            before.bytes = address - before.address;
        }
        constants.push(Symbol { name, address, bytes });
    }
    if let Some(last) = constants.last_mut().filter(|last| last.bytes == 0) {
        last.bytes = end - last.address;
    }
    constants.retain(|constant| constant.bytes > 0);
    constants
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> Error {
    Error::Io { action, path: path.to_path_buf(), why: error.to_string() }
}

/// Runs the compiler; its output.
fn compiler(command: &mut Command, what: &str) -> Result<String, Error> {
    let output = command.env("LC_ALL", "C").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoCompiler { program: COMPILER, package: PACKAGE },
        _ => io_error("run", Path::new(COMPILER), error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    match words.contains("picolibc.specs") {
        true => Err(Error::NoLibrary),
        false => Err(Error::Compile { what: what.to_owned(), words }),
    }
}

fn version() -> Result<String, Error> {
    let words = compiler(Command::new(COMPILER).arg("--version"), "its version")?;
    Ok(words.lines().next().unwrap_or_default().to_owned())
}

/// All that is compiled of the tree.
fn compiled(firmware: &Path, leaves: Leaves) -> Result<Vec<Source>, Error> {
    let mut all = Vec::new();
    for limb_bits in [16, 32] {
        let of = |path| Source { path, limb_bits: Some(limb_bits) };
        for folder in OF_LIMBS {
            let files = code(&firmware.join(folder))?.into_iter();
            all.extend(files.filter(|path| is_chosen(path, leaves.file(limb_bits))).map(of));
        }
        all.extend(ASKING_LIMBS.map(|file| of(firmware.join(file))));
    }
    let mut plain: Vec<PathBuf> = ASKING.map(|file| firmware.join(file)).to_vec();
    for folder in PLAIN {
        plain.extend(code(&firmware.join(folder))?);
    }
    all.extend(plain.into_iter().map(|path| Source { path, limb_bits: None }));
    Ok(all)
}

/// Whether a file of limbs is in an image: of the leaves, those that are chosen.
fn is_chosen(path: &Path, leaves: &str) -> bool {
    let every = [Leaves::Plain, Leaves::Unrolled, Leaves::Assembly].map(|leaves| leaves.file(32));
    path.ends_with(leaves) || !every.iter().any(|file| path.ends_with(file))
}

/// C and assembly in a folder, by name.
fn code(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut paths = files(folder)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "S"));
    Ok(paths)
}

/// The files in a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(|_| Error::NoTree { folder: folder.to_path_buf() })?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(|error| io_error("read", folder, error))?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

/// A file for the digest.
fn read(path: PathBuf) -> Result<File, Error> {
    let bytes = fs::read(&path).map_err(|error| io_error("read", &path, error))?;
    Ok((path.file_name().unwrap_or_default().as_encoded_bytes().to_vec(), bytes))
}

/// Names everything that an image follows from: the compiler, what it is told, and all files of the tree, which are those of
/// the native library but for its leaves: what it counts is set beside what the image takes.
fn inputs(firmware: &Path, choice: &Choice, version: &str) -> Result<String, Error> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let [layout, stack_below] = [choice.layout, choice.stack_below.into()].map(|number| number.to_string());
    let words = [version, OPTIONS, &choice.level, choice.leaves.word(), &layout, &stack_below];
    words.iter().for_each(|word| add(word.as_bytes()));
    if choice.tells_secrets {
        TELLING.iter().for_each(|word| add(word.as_bytes()));
    }
    let found = digest::<Error>(|folder| files(&firmware.join(folder))?.into_iter().map(read).collect())?;
    if found != SOURCES {
        let (folder, expected) = (firmware.to_path_buf(), SOURCES.to_owned());
        return Err(Error::OtherSources { folder, found, expected });
    }
    add(found.as_bytes());
    for Source { path, limb_bits } in &choice.in_place {
        add(&[limb_bits.unwrap_or(0)]);
        add(&fs::read(path).map_err(|error| io_error("read", path, error))?);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compiles every file, on all cores, and links them.
fn build(firmware: &Path, choice: &Choice, folder: &Path) -> Result<Vec<u8>, Error> {
    for source in &choice.in_place {
        let object = folder.join(object(source));
        compile(firmware, choice, source, &object)?;
        check_in_place(&source.path, &object)?;
    }
    let own = compiled(firmware, choice.leaves)?;
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(source) = own.get(next.fetch_add(1, Ordering::Relaxed)) {
            let object = folder.join(object(source));
            compile(firmware, choice, source, &object)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("compiling does not panic"))
    })?;
    let mut objects: Vec<String> = own.iter().map(object).collect();
    let mut link = Command::new(COMPILER);
    link.current_dir(folder).args(OPTIONS.split_whitespace()).args(["-nostartfiles", "-Wl,--build-id=none"]);
    link.arg(format!("-Wl,--defsym=explore_requests={REQUESTS}"));
    let mut stack_below = u64::from(choice.stack_below);
    if choice.layout != 0 {
        let mut random = Shuffle(choice.layout);
        random.shuffle(&mut objects);
        for distance in ["layout_code", "layout_data"] {
            link.arg(format!("-Wl,--defsym={distance}={}", 16 * random.below(256)));
        }
        stack_below += 16 * random.below(256);
    }
    link.arg(format!("-Wl,--defsym=layout_stack={stack_below}"));
    // Of two definitions of one routine the first is taken.
    if !choice.in_place.is_empty() {
        link.arg("-Wl,-z,muldefs").args(choice.in_place.iter().map(object));
    }
    let bench = absolute(&firmware.join("bench/rv32"))?;
    link.arg("-L").arg(&bench).arg("-T").arg(bench.join("bare.ld")).args(objects).args(["-o", "image.elf"]);
    compiler(&mut link, "the image of exploration")?;
    let path = folder.join("image.elf");
    fs::read(&path).map_err(|error| io_error("read", &path, error))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|_| Error::NoTree { folder: path.to_path_buf() })
}

fn compile(firmware: &Path, choice: &Choice, source: &Source, object: &Path) -> Result<(), Error> {
    let mut compile = Command::new(COMPILER);
    compile.args(OPTIONS.split_whitespace()).arg(&choice.level);
    for folder in [firmware.to_path_buf(), firmware.join("crypto")] {
        compile.arg("-I").arg(folder);
    }
    compile.args(source.limb_bits.map(|bits| format!("-DLIMB_BITS={bits}")));
    if choice.tells_secrets {
        compile.args(TELLING);
    }
    compile.arg("-c").arg(&source.path).arg("-o").arg(object);
    compiler(&mut compile, &source.path.display().to_string()).map(drop)
}

/// That all which a file defines for others stands in place of routines: anything by another name would be linked, and never
/// called, or take the place of what is no routine.
fn check_in_place(path: &Path, object: &Path) -> Result<(), Error> {
    let bytes = fs::read(object).map_err(|error| io_error("read", object, error))?;
    let elf = ElfFile32::<Endianness>::parse(&*bytes).expect("the compiler wrote it");
    let defined = elf.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let names: Vec<&str> = defined.map(|symbol| symbol.name().expect("what is global has a name")).collect();
    let is_routine = |name: &str| replaceable().any(|routine| routine == name);
    match names.iter().find(|name| !is_routine(name)) {
        Some(name) => Err(Error::InPlace { path: path.to_path_buf(), found: Some((*name).to_owned()) }),
        None if names.is_empty() => Err(Error::InPlace { path: path.to_path_buf(), found: None }),
        None => Ok(()),
    }
}

/// Routines that a file can stand in place of: all but the bench's.
pub fn replaceable() -> impl Iterator<Item = &'static str> {
    let library = ROUTINES.iter().filter(|routine| routine.is_library());
    library.map(|routine| routine.name.as_str())
}

/// The name of a file's object: the same file name may be in two folders.
fn object(source: &Source) -> String {
    let names = source.path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy());
    let names: Vec<_> = names.collect();
    format!("{}-{}.o", names.concat(), source.limb_bits.unwrap_or(0))
}

/// Under its name only when it is whole.
fn keep(folder: &Path, path: &Path, elf: &[u8]) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| io_error("create", folder, error))?;
    let fresh = tempfile::NamedTempFile::new_in(folder)
        .map_err(|error| io_error("create a file in", folder, error))?;
    fs::write(fresh.path(), elf).map_err(|error| io_error("write", path, error))?;
    fresh.persist(path).map(drop).map_err(|error| io_error("name", path, error.error))
}

/// Puts things in an order that a seed says (xorshift64).
struct Shuffle(u64);

impl Shuffle {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}
