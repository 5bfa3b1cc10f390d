//! The cell's end of the way to its bridge: hands over what came off the bus, repeats it until it is counted, and
//! brings back downlinks.
//!
//! Owns the connection, and what has not been counted yet. A bridge that is lost is waited for: cell time stands
//! still meanwhile, so that wall time never decides what a cell does.

use super::bridge::wire::{FromCell, ToCell, next_blocking};
use crate::error::Error;
use crate::limits::{BRIDGE_LOST_S_MAX, RETRY_MS_MIN};
use cell::Superframe;
use std::collections::VecDeque;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The connection to the bridge.
pub struct Carrier {
    socket: PathBuf,
    cell: u16,
    session: u64,
    link: Option<Link>,
    /// What was sent and not counted, by superframe.
    uncounted: VecDeque<(u32, Vec<u8>)>,
    answered: u32,
    downlinks: VecDeque<(u32, Vec<u8>)>,
    drained: bool,
    ended: bool,
    reconnects: u64,
}

struct Link {
    stream: UnixStream,
    /// What the bridge says; closed when the connection is lost.
    messages: Receiver<ToCell>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Lets the reader's thread end; a connection that is gone is no loss.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Carrier {
    /// Connects to the bridge at `socket` for one run of `cell`, which `session` tells from every other.
    ///
    /// # Errors
    /// That no bridge came to be there in time.
    pub fn connect(socket: &Path, cell: u16, session: u64) -> Result<Carrier, Error> {
        let mut carrier = Carrier {
            socket: socket.into(),
            cell,
            session,
            link: None,
            uncounted: VecDeque::new(),
            answered: 0,
            downlinks: VecDeque::new(),
            drained: false,
            ended: false,
            reconnects: 0,
        };
        carrier.reconnect()?;
        Ok(carrier)
    }

    /// Hands over a superframe.
    ///
    /// # Errors
    /// That the bridge was lost and did not come back in time; the same holds for every call below.
    pub fn send(&mut self, superframe: &Superframe) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for received in &superframe.received {
            let frame = super::bridge::record::Frame {
                superframe: superframe.number,
                slot: received.slot,
                received_ps: received.received_ps,
                bytes: received.bytes.clone(),
            };
            bytes.extend(FromCell::Frame(frame).encode());
        }
        bytes.extend(FromCell::Close(superframe.number).encode());
        self.uncounted.push_back((superframe.number, bytes));
        let bytes = &self.uncounted.back().expect("it was just put there").1;
        let sent = self.link.as_mut().is_some_and(|link| link.stream.write_all(bytes).is_ok());
        if sent { self.take_waiting() } else { self.reconnect() }
    }

    /// Waits until every superframe before `superframes` has its receipt, and returns the downlinks that came with
    /// those receipts, in order. Downlinks of later ones are kept, so that how fast the server is changes nothing.
    ///
    /// # Errors
    /// As [`Carrier::send`].
    pub fn wait_answered(&mut self, superframes: u32) -> Result<Vec<Vec<u8>>, Error> {
        while self.answered < superframes {
            self.wait()?;
        }
        let (due, later): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.downlinks)
            .into_iter()
            .partition(|(superframe, _)| *superframe < superframes);
        self.downlinks = later;
        Ok(due.into_iter().map(|(_, frame)| frame).collect())
    }

    /// Says that the cell has finished, and waits until everything has its receipt. Returns how often the connection
    /// had to be made again.
    ///
    /// # Errors
    /// As [`Carrier::send`].
    pub fn finish(mut self) -> Result<u64, Error> {
        self.ended = true;
        let sent =
            self.link.as_mut().is_some_and(|link| link.stream.write_all(&FromCell::End.encode()).is_ok());
        if !sent {
            self.reconnect()?;
        }
        while !self.drained {
            self.wait()?;
        }
        Ok(self.reconnects)
    }

    fn wait(&mut self) -> Result<(), Error> {
        let message = self.link.as_ref().and_then(|link| link.messages.recv().ok());
        match message {
            Some(message) => {
                self.take(message);
                Ok(())
            }
            None => self.reconnect(),
        }
    }

    fn take_waiting(&mut self) -> Result<(), Error> {
        while let Some(message) = self.link.as_ref().and_then(|link| link.messages.try_recv().ok()) {
            self.take(message);
        }
        Ok(())
    }

    fn take(&mut self, message: ToCell) {
        match message {
            ToCell::Counted(superframes) => {
                while self.uncounted.front().is_some_and(|(superframe, _)| *superframe < superframes) {
                    self.uncounted.pop_front();
                }
            }
            ToCell::Answered(superframes) => self.answered = self.answered.max(superframes),
            ToCell::Downlink { superframe, frame } => self.downlinks.push_back((superframe, frame)),
            ToCell::Drained => self.drained = true,
            // What is not counted is kept, and cell time stands still.
            ToCell::Full(_) => {}
        }
    }

    /// Connects, and repeats what was not counted.
    fn reconnect(&mut self) -> Result<(), Error> {
        self.reconnects += u64::from(self.link.take().is_some());
        let deadline = Instant::now() + Duration::from_secs(BRIDGE_LOST_S_MAX);
        loop {
            match self.greet() {
                Ok(link) => {
                    self.link = Some(link);
                    return Ok(());
                }
                Err(cause) if Instant::now() > deadline => {
                    return Err(Error::io("reach the bridge at", &self.socket, cause));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(RETRY_MS_MIN)),
            }
        }
    }

    fn greet(&self) -> std::io::Result<Link> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(&FromCell::Hello { cell: self.cell, session: self.session }.encode())?;
        for (_, bytes) in &self.uncounted {
            stream.write_all(bytes)?;
        }
        if self.ended {
            stream.write_all(&FromCell::End.encode())?;
        }
        let mut reader = stream.try_clone()?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Ok(Some(bytes)) = next_blocking(&mut reader) {
                let Some(message) = ToCell::parse(&bytes) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Ok(Link { stream, messages })
    }
}
