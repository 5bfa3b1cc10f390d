//! A device behind a pseudo-terminal: to the host a UART, and slow as its preset says.
//!
//! The device's own clock drives the line: while it is not at rest, a few bytes go each way at a time, as through the FIFO
//! of a UART. Both directions are full at once if there is enough for them.

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Instant;

use super::clocked::{Clocked, Clocks};
use super::faults::Faults;
use super::preset::Preset;
use super::serve::{Waited, on_a_thread, wait};
use crate::bell::{Bell, RingsAtEnd};
use crate::engine::store::Opened;
use crate::engine::{Engine, NamedKey, SoftwareEngine};
use crate::error::Error;
use crate::limits::LINE_BYTES_MAX;
use crate::wiped::{Wiped, wipe};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Bytes in each direction at a time: the FIFO of a 16550.
const STEP_BYTES: usize = 16;

/// A pseudo-terminal, and a link to it of a name that stays.
pub struct Terminal {
    device: OwnedFd,
    /// The host's end, so that the terminal stays when the host closes it.
    _host: OwnedFd,
    path: PathBuf,
    link: PathBuf,
}

impl Terminal {
    /// Makes one, and the link to it at this path in place of an older one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(link: PathBuf) -> Result<Terminal, Error> {
        let cannot = |doing| {
            let path = link.clone();
            move |source| Error::Io { doing, path, source }
        };
        let (device, host, path) = open().map_err(cannot("make a terminal for"))?;
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot("replace")(error)),
            _ => symlink(&path, &link).map_err(cannot("link"))?,
        }
        Ok(Terminal { device, _host: host, path, link })
    }

    /// The host's end.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have been removed by hand, or be another's by now.
        if fs::read_link(&self.link).is_ok_and(|path| path == self.path) {
            let _ = fs::remove_file(&self.link);
        }
    }
}

fn open() -> io::Result<(OwnedFd, OwnedFd, PathBuf)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let device = openpt(flags)?;
    grantpt(&device)?;
    unlockpt(&device)?;
    let host = ioctl_tiocgptpeer(&device, flags)?;
    // Nothing is echoed before a host has said how it wants its end.
    let mut settings = tcgetattr(&host)?;
    settings.make_raw();
    tcsetattr(&host, OptionalActions::Now, &settings)?;
    ioctl_fionbio(&device, true)?;
    let path = ptsname(&device, Vec::new())?.into_bytes();
    Ok((device, host, OsString::from_vec(path).into()))
}

/// What a device on a line is told at its start.
pub struct Config {
    /// Its end of the line.
    pub terminal: Terminal,
    /// The keys.
    pub keys: Vec<NamedKey>,
    /// Where persistent keys are kept.
    pub store: Option<Opened>,
    /// How fast the line is, and how long computing takes.
    pub preset: Preset,
    /// What goes wrong: in how many of the few bytes that go at a time.
    pub faults: Faults,
    /// Called once, when the host can open it.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The device ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Is a device on a line until `stop`. It does not learn when a host opens it. Must be called within a tokio runtime; the
/// device has a thread of its own, since it keeps time.
///
/// # Errors
/// When the keys cannot be used, there is no randomness, or nothing to wait with.
pub async fn serve(config: Config) -> Result<Clocks, Error> {
    let Config { terminal, keys, store, preset, faults, ready, stop } = config;
    let device = Clocked::new(SoftwareEngine::with(keys, store)?, preset, faults);
    let bell = Bell::new().map_err(Error::Loop)?;
    let rings = RingsAtEnd(bell.clone());
    // Never larger: a buffer that grows leaves copies behind.
    let room = || Wiped::new(Vec::with_capacity(2 * LINE_BYTES_MAX));
    let mut served = Served {
        terminal,
        device,
        preset,
        bell,
        started: Instant::now(),
        is_ready: false,
        coming: room(),
        unsent: room(),
    };
    on_a_thread(ready, stop, rings, move || served.run().map(|()| served.device.clocks())).await
}

struct Served<E> {
    terminal: Terminal,
    device: Clocked<E>,
    preset: Preset,
    bell: Bell,
    started: Instant,
    is_ready: bool,
    /// What the host wrote and the line has not carried yet.
    coming: Wiped,
    /// What the line carried and the host's end did not take yet.
    unsent: Wiped,
}

impl<E: Engine> Served<E> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let now = self.started.elapsed();
            while let Some(reply) = self.device.advance(now) {
                self.is_ready = reply.is_ready;
                self.unsent.extend_from_slice(reply.bytes());
            }
            self.send()?;
            // What is not taken stays where it is: a line would lose it.
            let has_more = self.is_ready || !self.coming.is_empty();
            if has_more && self.unsent.is_empty() && self.device.under_way() < self.preset.depth {
                let bytes = self.coming.len().min(STEP_BYTES);
                let back_bytes_max = if self.is_ready { STEP_BYTES } else { 0 };
                self.device.go_on(now, &self.coming[..bytes], back_bytes_max);
                take_off(&mut self.coming, bytes);
                continue;
            }
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.coming.len() < LINE_BYTES_MAX);
            flags.set(PollFlags::OUT, !self.unsent.is_empty());
            let time = self.device.next_at().map(|at| at.saturating_sub(self.started.elapsed()));
            match wait(&self.bell, Some(PollFd::new(&self.terminal.device, flags)), time)? {
                Waited::Stopped => return Ok(()),
                Waited::Over => {}
                Waited::Readable => self.hear()?,
            }
        }
    }

    fn hear(&mut self) -> io::Result<()> {
        let mut buffer = [0; LINE_BYTES_MAX];
        match read(&self.terminal.device, &mut buffer) {
            Ok(read_bytes) => self.coming.extend_from_slice(&buffer[..read_bytes]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        wipe(&mut buffer);
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match write(&self.terminal.device, &self.unsent) {
                Ok(written_bytes) => take_off(&mut self.unsent, written_bytes),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

fn take_off(bytes: &mut Wiped, count: usize) {
    wipe(&mut bytes[..count]);
    bytes.drain(..count);
}
