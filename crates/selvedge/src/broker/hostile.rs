//! Applications that mean harm, for `selvedge broker bench hostile`: some connect and say nothing, some ask and never read,
//! some begin a request and never end it, and begin another one when they are closed for that.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use broker::descriptors;
use broker::limits::PLAINTEXT_BYTES_MAX;
use broker::wire::{Head, KeyHandle, Operation, Pdu};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use selvedge::error::Error;
use selvedge::link::launch::{die_with_parent, tell_ready};

use crate::stop;

/// How many, and where.
#[derive(clap::Args)]
pub struct Arguments {
    /// The server
    socket: PathBuf,
    /// So many connect and say nothing
    #[arg(long)]
    silent: usize,
    /// So many ask and never read
    #[arg(long)]
    deaf: usize,
    /// So many send half of the longest request
    #[arg(long)]
    halves: usize,
    /// As somebody else, for whom this process must be root
    #[arg(long)]
    user: Option<u32>,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// Length of what those that never read ask for.
const PAYLOAD_BYTES: usize = 4096;
/// Between two looks at whether the server takes more of it.
const LOOK: Duration = Duration::from_millis(100);

/// Looks between two at whether the server has closed who does not end a request.
const LOOKS: u32 = 10;

/// One that never reads.
struct Deaf {
    stream: UnixStream,
    /// Requests of one length, one after the other.
    sent_bytes: usize,
}

/// Is all of them until SIGTERM.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let failed = || Error::process("hostile");
    die_with_parent(arguments.ready_fd).map_err(failed())?;
    descriptors::raise(arguments.silent + arguments.deaf + arguments.halves)?;
    become_user(arguments.user).map_err(failed())?;
    let silent = (0..arguments.silent).map(|_| UnixStream::connect(&arguments.socket));
    let silent: Vec<UnixStream> = silent.collect::<io::Result<_>>().map_err(failed())?;
    let deaf = (0..arguments.deaf).map(|_| Deaf::connect(&arguments.socket));
    let mut deaf: Vec<Deaf> = deaf.collect::<io::Result<_>>().map_err(failed())?;
    let head = Head::request(Operation::Echo, 0, KeyHandle::NONE);
    let request = |bytes| Pdu::new(head, &[], &vec![0; bytes]).expect("it is within its limits");
    let (longest, mut bytes) =
        (request(PLAINTEXT_BYTES_MAX as usize), request(PAYLOAD_BYTES).bytes().to_vec());
    let half = |_| {
        let mut stream = UnixStream::connect(&arguments.socket)?;
        stream.write_all(&longest.bytes()[..longest.bytes().len() / 2])?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    let mut halves: Vec<UnixStream> =
        (0..arguments.halves).map(half).collect::<io::Result<_>>().map_err(failed())?;
    let stopped = stop::flag().map_err(failed())?;
    let (mut is_told, mut looks) = (false, 0);
    while !stopped.load(Ordering::Relaxed) {
        looks += 1;
        for one in halves.iter_mut().filter(|_| looks % LOOKS == 0) {
            if is_told_or_closed(one) {
                *one = half(0).map_err(failed())?;
            }
        }
        for one in &mut deaf {
            if !one.press(&mut bytes) {
                *one = Deaf::connect(&arguments.socket).map_err(failed())?;
            }
        }
        if !std::mem::replace(&mut is_told, true) {
            // The descriptor is this process's first user's.
            become_user(arguments.user.map(|_| 0)).map_err(failed())?;
            tell_ready(arguments.ready_fd).map_err(failed())?;
            become_user(arguments.user).map_err(failed())?;
        }
        thread::sleep(LOOK);
    }
    drop((silent, halves));
    Ok(())
}

/// Connects as this user from now on, where one is named; it stays root besides. One thread does all of it.
fn become_user(user: Option<u32>) -> io::Result<()> {
    match user {
        Some(user) => Ok(set_thread_res_uid(Uid::ROOT, Uid::from_raw(user), Uid::ROOT)?),
        None => Ok(()),
    }
}

/// Whether the server has said anything, which is that it closes the connection, or has closed it.
fn is_told_or_closed(mut stream: &UnixStream) -> bool {
    !stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

impl Deaf {
    fn connect(socket: &Path) -> io::Result<Deaf> {
        let stream = UnixStream::connect(socket)?;
        stream.set_nonblocking(true)?;
        Ok(Deaf { stream, sent_bytes: 0 })
    }

    /// Sends as much as the server takes; whether it has not hung up.
    fn press(&mut self, bytes: &mut [u8]) -> bool {
        loop {
            // Each has an id of its own, or the server would hang up at once.
            let id = (self.sent_bytes / bytes.len()) as u32;
            bytes[4..8].copy_from_slice(&id.to_le_bytes());
            match self.stream.write(&bytes[self.sent_bytes % bytes.len()..]) {
                Ok(written_bytes) => self.sent_bytes += written_bytes,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}
