//! QEMU as a witness for SPARC: starts it so that it says every register before every instruction, and reads that.
#![allow(dead_code)] // each test file uses some of it

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use isa::sparc::{Bus, Machine};

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
pub struct Records {
    child: Child,
    records: Box<dyn Iterator<Item = Record>>,
}

/// What it says, as records.
struct Reader {
    lines: std::io::Lines<BufReader<ChildStderr>>,
    last: Option<(u32, u32)>,
}

impl Records {
    /// Starts it; the command says what is run.
    pub fn start(mut command: Command) -> Records {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let mut child = command.spawn().expect("the emulator starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        Records { child, records: Box::new(awaited(Reader { lines, last: None })) }
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

impl Iterator for Records {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
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

impl Drop for Records {
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
    const HEADERS: u32 = 0x1000;
    let code_bytes = words.len() as u32 * 4;
    let data_at = (HEADERS + code_bytes).next_multiple_of(0x1000);
    let mut file = b"\x7fELF\x01\x02\x01".to_vec();
    file.resize(16, 0);
    let halves =
        |file: &mut Vec<u8>, halves: &[u16]| file.extend(halves.iter().flat_map(|h| h.to_be_bytes()));
    let put = |file: &mut Vec<u8>, words: &[u32]| file.extend(words.iter().flat_map(|w| w.to_be_bytes()));
    halves(&mut file, &[2, 2]);
    put(&mut file, &[1, entry, 52, 0, 0]);
    halves(&mut file, &[52, 32, 2, 40, 0, 0]);
    put(&mut file, &[1, HEADERS, CODE, CODE, code_bytes, code_bytes, 5, 0x1000]);
    put(&mut file, &[1, data_at, DATA, DATA, DATA_BYTES, DATA_BYTES, 6, 0x1000]);
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

/// `qemu-sparc` as a teller of registers.
pub fn user(program: &Path) -> Command {
    let mut command = Command::new("qemu-sparc");
    command.args(["-singlestep", "-d", "cpu,nochain"]).arg(program);
    command
}

/// The places of the instructions that `qemu-sparc` executes, each told once however often it is tried again.
pub fn places(
    program: &Path,
    arguments: &[String],
    folder: &Path,
    input: Stdio,
) -> (Child, impl Iterator<Item = u32>) {
    let mut command = Command::new("qemu-sparc");
    command.args(["-singlestep", "-d", "exec,nochain"]).arg(program).args(arguments).current_dir(folder);
    // What is in its environment stands behind its arguments, and decides how those are aligned.
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::piped()).env_clear();
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
