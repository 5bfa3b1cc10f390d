//! QEMU as a witness: starts it so that it says every register before every instruction, or every place, and reads
//! that; and the runs of corpus/, which it is a witness of. What is SPARC's is here, what is RV32's in `rv32`.
#![allow(dead_code)] // each test file uses some of it

pub mod rv32;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use isa::elf::Order;
use isa::linux::files::Files;
use isa::sparc::{Bus, Machine};
use sha2::{Digest, Sha256};

/// Long runs of the same.
pub fn soak() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|value| value == "1")
}

/// Whether that emulator is here. Under CI a missing tool is a failure, elsewhere a printed skip.
pub fn present(tool: &str, what: &str) -> bool {
    let present = Command::new(tool).arg("--version").output().is_ok();
    if !present {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
        eprintln!("skip: {what}: {tool} is not installed");
    }
    present
}

/// The state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub pc: u32,
    pub npc: u32,
    pub registers: [u32; 32],
    pub psr: u32,
    pub wim: u32,
    pub y: u32,
}

/// How long an emulator may say nothing, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same items, read ahead by a thread of their own.
///
/// # Panics
/// If the next one does not come.
fn awaited<T: Send + 'static>(items: impl Iterator<Item = T> + Send + 'static) -> impl Iterator<Item = T> {
    let (sender, receiver) = mpsc::sync_channel(1024);
    let mut items = items;
    // It ends when nobody takes the next one.
    std::thread::spawn(move || items.try_for_each(|item| sender.send(item)));
    std::iter::from_fn(move || match receiver.recv_timeout(PATIENCE) {
        Ok(item) => Some(item),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the emulator said nothing for {PATIENCE:?}"),
    })
}

/// Reads records from a running emulator, which ends with it.
pub struct Records<R = Record> {
    child: Child,
    records: Box<dyn Iterator<Item = R>>,
}

/// The lines that an emulator says.
type Lines = std::io::Lines<BufReader<ChildStderr>>;

/// What it says, as records.
struct Reader {
    lines: Lines,
    last: Option<(u32, u32)>,
}

impl Records {
    /// Starts it; the command says what is run.
    pub fn start(mut command: Command) -> Records {
        command.stdin(Stdio::null()).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Records::reading(command, |lines| Reader { lines, last: None })
    }
}

impl<R: Send + 'static> Records<R> {
    /// Starts an emulator whose words `read` understands. The command says what is run, and what its input is.
    fn reading<I>(mut command: Command, read: impl FnOnce(Lines) -> I) -> Records<R>
    where
        I: Iterator<Item = R> + Send + 'static,
    {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the emulator starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        Records { child, records: Box::new(awaited(read(lines))) }
    }
}

impl Reader {
    fn line(&mut self) -> Option<String> {
        self.lines.next()?.ok()
    }

    fn record(&mut self) -> Option<Record> {
        let head = loop {
            let line = self.line()?;
            if line.starts_with("pc: ") {
                break line;
            }
        };
        let mut words = head.split_whitespace();
        let (pc, npc) = (words.nth(1).and_then(hex)?, words.nth(1).and_then(hex)?);
        let mut registers = [0; 32];
        for group in 0..4 {
            let line = self.line()?;
            let values: Vec<u32> = line.split_whitespace().skip(1).filter_map(hex).collect();
            registers[group * 8..][..8].copy_from_slice(values.get(..8)?);
        }
        let line = self.line()?;
        let mut words = line.split_whitespace();
        let psr = words.nth(1).and_then(hex)?;
        let wim = line.rsplit(' ').next().and_then(hex)?;
        let line = self.line()?;
        let y = line.rsplit(' ').next().and_then(hex)?;
        Some(Record { pc, npc, registers, psr, wim, y })
    }
}

impl<R> Iterator for Records<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        self.records.next()
    }
}

impl Iterator for Reader {
    type Item = Record;

    /// The next one. What is tried again after the emulator's kernel has answered its trap is told once.
    fn next(&mut self) -> Option<Record> {
        loop {
            let record = self.record()?;
            if self.last.replace((record.pc, record.npc)) != Some((record.pc, record.npc)) {
                return Some(record);
            }
        }
    }
}

impl<R> Drop for Records<R> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hex(word: &str) -> Option<u32> {
    u32::from_str_radix(word, 16).ok()
}

/// Ours, as a record.
pub fn record<B: Bus>(machine: &Machine<B>) -> Record {
    Record {
        pc: machine.pc(),
        npc: machine.npc().unwrap_or(machine.pc().wrapping_add(4)),
        registers: std::array::from_fn(|number| machine.register(number as u8)),
        psr: machine.psr(),
        wim: machine.wim(),
        y: machine.y(),
    }
}

/// The first address of code and of data in [`elf`].
pub const CODE: u32 = 0x4000_0000;
pub const DATA: u32 = 0x4100_0000;
pub const DATA_BYTES: u32 = 0x2_0000;

/// A linked program of these words, which begins at one of them, with data that can be written.
pub fn elf(words: &[u32], entry: u32) -> Vec<u8> {
    linked(words, entry, Linked { machine: isa::elf::SPARC, order: Order::Big, code: CODE, data: DATA })
}

/// For which processor a program is linked, and where its code and its data are.
struct Linked {
    machine: u16,
    order: Order,
    code: u32,
    data: u32,
}

fn linked(words: &[u32], entry: u32, Linked { machine, order, code, data }: Linked) -> Vec<u8> {
    const HEADERS: u32 = 0x1000;
    let code_bytes = words.len() as u32 * 4;
    let data_at = (HEADERS + code_bytes).next_multiple_of(0x1000);
    let order_byte = if order == Order::Big { 2 } else { 1 };
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, order_byte, 1];
    file.resize(16, 0);
    let halves = |file: &mut Vec<u8>, halves: &[u16]| {
        file.extend(halves.iter().flat_map(|&half| match order {
            Order::Big => half.to_be_bytes(),
            Order::Little => half.to_le_bytes(),
        }));
    };
    let put =
        |file: &mut Vec<u8>, words: &[u32]| file.extend(words.iter().flat_map(|&word| order.word(word)));
    halves(&mut file, &[2, machine]);
    put(&mut file, &[1, entry, 52, 0, 0]);
    halves(&mut file, &[52, 32, 2, 40, 0, 0]);
    put(&mut file, &[1, HEADERS, code, code, code_bytes, code_bytes, 5, 0x1000]);
    put(&mut file, &[1, data_at, data, data, DATA_BYTES, DATA_BYTES, 6, 0x1000]);
    file.resize(HEADERS as usize, 0);
    put(&mut file, words);
    file.resize((data_at + DATA_BYTES) as usize, 0);
    file
}

/// Writes a program where the emulator can execute it.
pub fn write_program(name: &str, bytes: &[u8]) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("write the program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("make it executable");
    path
}

/// A folder of the repository.
pub fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// A run of a program of the corpus.
pub struct Run {
    pub program: String,
    /// The name of its input.
    pub name: String,
    pub arguments: Vec<String>,
    /// What is standard input, if anything.
    pub input: Option<String>,
}

/// The runs that data/workload lists; none, and said, where the corpus is not.
pub fn runs(what: &str) -> Vec<Run> {
    let Ok(text) = std::fs::read_to_string(root("data/workload/runs.txt")) else {
        assert!(std::env::var_os("CI").is_none(), "data/workload is missing, and under CI it must not be");
        eprintln!("skip: {what}: there is no corpus");
        return Vec::new();
    };
    let run = |line: &str| {
        let (words, input) =
            line.split_once(" < ").map_or((line, None), |(words, input)| (words, Some(input)));
        let mut words = words.split_whitespace().map(str::to_owned);
        let (program, name) = (words.next()?, words.next()?);
        Some(Run {
            program,
            name,
            arguments: words.collect(),
            input: input.map(|name| name.trim().to_owned()),
        })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(run).collect()
}

/// All runs in a long run; elsewhere the first of each program.
pub fn sample(what: &str) -> Vec<Run> {
    let mut seen = BTreeMap::new();
    let mut runs = runs(what);
    runs.retain(|run| seen.insert(run.program.clone(), ()).is_none() || soak());
    runs
}

impl Run {
    /// What the program is told, and the files that it names.
    pub fn prepare(&self, program: &str) -> (Vec<String>, Files) {
        let read = |name: &String| std::fs::read(root("data/workload").join(name));
        let named = self.arguments.iter().filter_map(|name| Some((name.clone(), read(name).ok()?))).collect();
        let input = self.input.as_ref().map_or(Vec::new(), |name| read(name).expect("its input is there"));
        let mut arguments = vec![program.to_owned()];
        arguments.extend(self.arguments.iter().cloned());
        (arguments, Files::new(named, input))
    }

    /// Its standard input, for an emulator.
    pub fn stdin(&self) -> Stdio {
        let file =
            |name: &String| Stdio::from(std::fs::File::open(root("data/workload").join(name)).expect(name));
        self.input.as_ref().map_or(Stdio::null(), file)
    }

    /// The cells of its line in a table of corpus/.
    fn cells(&self, table: &str) -> Vec<String> {
        let text = std::fs::read_to_string(root("corpus").join(table)).expect("the corpus has it");
        let begin = format!("{},{},", self.program, self.name);
        let rest = text.lines().find_map(|line| line.strip_prefix(&begin)).expect("every run has a line");
        rest.split(',').map(str::to_owned).collect()
    }

    /// What a native build of the program prints: its SHA-256 in corpus/outputs.csv.
    pub fn output(&self) -> String {
        self.cells("outputs.csv").pop().expect("a line has cells")
    }

    /// How many instructions QEMU executes in it, on SPARC and on RV32: corpus/instructions.csv.
    pub fn instructions(&self) -> [u64; 2] {
        let cells = self.cells("instructions.csv");
        let counts: Vec<u64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
        counts.try_into().expect("a line has two counts")
    }
}

/// The SHA-256 of bytes, as corpus/outputs.csv has it.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `qemu-sparc` as a teller of registers.
pub fn user(program: &Path) -> Command {
    let mut command = Command::new("qemu-sparc");
    command.args(["-singlestep", "-d", "cpu,nochain"]).arg(program);
    command
}

/// The places of the instructions that a user emulator executes, each told once however often it is tried again.
pub fn places(emulator: &str, program: &Path, run: &Run) -> (Child, impl Iterator<Item = u32> + use<>) {
    let mut command = Command::new(emulator);
    command.args(["-singlestep", "-d", "exec,nochain"]).arg(program).args(&run.arguments);
    // What is in its environment stands behind its arguments, and decides how those are aligned.
    command.current_dir(root("data/workload")).stdin(run.stdin()).stdout(Stdio::null());
    command.stderr(Stdio::piped()).env_clear();
    let mut child = command.spawn().expect("the emulator starts");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut last = (0, 0);
    let places = lines.map_while(Result::ok).filter_map(move |line| {
        let mut words = line.strip_prefix("Trace ")?.split_once('[')?.1.split('/');
        let (npc, pc) = (words.next().and_then(hex)?, words.next().and_then(hex)?);
        (std::mem::replace(&mut last, (pc, npc)) != (pc, npc)).then_some(pc)
    });
    (child, awaited(places))
}

/// A LEON3 board of QEMU as a teller of registers.
pub fn board(program: &Path) -> Command {
    let mut command = Command::new("qemu-system-sparc");
    command.args(["-M", "leon3_generic", "-display", "none", "-serial", "none", "-monitor", "none"]);
    command.args(["-no-reboot", "-singlestep", "-d", "cpu,nochain", "-kernel"]).arg(program);
    command
}

/// Random numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u32
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }

    pub fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}
