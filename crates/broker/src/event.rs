//! What happens to the core, and what it says is to be done.

use crate::Settings;
use crate::error::LinkFault;
use crate::info::DeviceInfo;
use crate::queue::Piece;
use crate::stream::Broken;
use crate::wire::{Connection, Pdu};

/// A number of one opening of the device; events of an earlier one are stale.
pub type Link = u64;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// An application of this user, who is in these groups, connected.
    Connected {
        /// The uid that the kernel vouches for.
        user: u32,
        /// And the gids.
        groups: Vec<u32>,
    },
    /// An application sent a request.
    Requested {
        /// Who.
        connection: Connection,
        /// What, as it was sent.
        request: Pdu,
    },
    /// An application sent what is no request.
    Garbled {
        /// Who.
        connection: Connection,
        /// What was wrong.
        broken: Broken,
    },
    /// An application has sent a part of a request, or of another one than before; or nobody waits for the rest of one any
    /// more, since it has come or the application is not read from.
    Began {
        /// Who.
        connection: Connection,
        /// Whether the rest is waited for.
        waits: bool,
    },
    /// An application hung up, or its socket broke.
    Disconnected {
        /// Who.
        connection: Connection,
    },
    /// Answers went into the application's socket.
    Written {
        /// Whose.
        connection: Connection,
        /// How many of the oldest.
        answers: usize,
    },
    /// The device is open and said what it is.
    DeviceOpened {
        /// Which opening.
        link: Link,
        /// What it said.
        info: DeviceInfo,
    },
    /// The oldest transfer that was not yet, is on its way as a whole: there is room for another.
    DeviceTook {
        /// Which opening.
        link: Link,
    },
    /// The device answered.
    DeviceAnswered {
        /// Which opening.
        link: Link,
        /// The answer.
        answer: Pdu,
    },
    /// The device could not be opened, or was lost.
    DeviceLost {
        /// Which opening.
        link: Link,
        /// How.
        fault: LinkFault,
    },
    /// An application connected, and could not even be asked who it is: the system has no descriptor for it.
    TurnedAway,
    /// From now on these hold.
    Set {
        /// All of them.
        settings: Box<Settings>,
    },
    /// Time passed.
    Tick,
    /// The broker is to end.
    Stop,
}

/// Something to do.
#[derive(Debug)]
pub enum Action {
    /// The connection of this step's event is taken and has this number.
    Admit {
        /// The number.
        connection: Connection,
        /// Whose it is.
        user: u32,
    },
    /// The connection of this step's event is refused: send it this and close it.
    Refuse {
        /// A PDU with a status only.
        notice: Pdu,
    },
    /// Give this to the connection's client task.
    Answer {
        /// Whose.
        connection: Connection,
        /// What.
        answer: Pdu,
    },
    /// Close the connection.
    Close {
        /// Which.
        connection: Connection,
        /// Whether what was answered before is still written.
        flush: bool,
    },
    /// Open a device.
    OpenDevice {
        /// The number for the events of this opening.
        link: Link,
        /// Which of the devices, from 0.
        choice: usize,
    },
    /// Close the device, which may be half open.
    CloseDevice,
    /// Give this to the transceiver as one transfer.
    Transmit {
        /// Of requests with their connections' numbers. What is not the last piece of its request is followed by the
        /// next one in a later transfer.
        pieces: Vec<Piece>,
    },
    /// All is answered and closed.
    Stopped,
}
