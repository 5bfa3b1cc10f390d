//! The transceiver: the one task that has the device open.
//!
//! It opens the device, asks it what it is, and then carries requests to it and answers from it as fast as
//! they come. All decisions are the core's; whatever ends the link is one event.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Connect, DeviceInfo, FromDevice, ToDevice};
use crate::error::{Fault, LinkFault};
use crate::limits::{FLUSH_MAX, OPEN_MAX, PDUS_PER_WRITE};
use crate::stream::{End, Framing, Incoming, write};
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use crate::{Event, Link};

/// Opens the device and serves it until it is lost or the core closes it.
pub(crate) async fn transceive(
    device: Arc<dyn Connect>,
    link: Link,
    requests: mpsc::UnboundedReceiver<Pdu>,
    events: mpsc::Sender<Event>,
) {
    let fault = match timeout(OPEN_MAX, open(&*device)).await {
        Err(_) => LinkFault::OpenTimeout,
        Ok(Err(fault)) => fault,
        Ok(Ok((from_device, to_device, info))) => {
            let opened = events.send(Event::DeviceOpened { link, info }).await;
            if opened.is_err() {
                return; // the core has ended
            }
            exchange(from_device, to_device, link, requests, &events).await
        }
    };
    // When the core has ended there is nobody to tell.
    let _ = events.send(Event::DeviceLost { link, fault }).await;
}

async fn open(device: &dyn Connect) -> Result<(Incoming<FromDevice>, ToDevice, DeviceInfo), LinkFault> {
    let (reader, mut to_device) = device.connect().await.map_err(|error| LinkFault::Io(error.kind()))?;
    let mut from_device = Incoming::new(reader, Framing::Checked);
    let question = Head::request(Operation::Info, 0, KeyHandle::NONE);
    let asked = write(&mut to_device, &[Pdu::empty(question)], Framing::Checked).await;
    asked.map_err(|error| LinkFault::Io(error.kind()))?;
    let answer = from_device.next().await.map_err(LinkFault::from)?;
    if answer.head() != question.answer(Status::Done) {
        return Err(notice(&answer));
    }
    let info = DeviceInfo::parse(answer.payload()).map_err(LinkFault::Protocol)?;
    Ok((from_device, to_device, info))
}

async fn exchange(
    from_device: Incoming<FromDevice>,
    to_device: ToDevice,
    link: Link,
    requests: mpsc::UnboundedReceiver<Pdu>,
    events: &mpsc::Sender<Event>,
) -> LinkFault {
    let mut receiving = std::pin::pin!(receive(from_device, link, events));
    let sending = std::pin::pin!(send(to_device, requests));
    let send_fault = tokio::select! {
        fault = &mut receiving => return fault,
        fault = sending => fault,
    };
    // The device may have said why before it hung up: that is behind the answers that are still to be read.
    timeout(FLUSH_MAX, receiving).await.unwrap_or(send_fault)
}

async fn receive(
    mut from_device: Incoming<FromDevice>,
    link: Link,
    events: &mpsc::Sender<Event>,
) -> LinkFault {
    loop {
        let answer = match from_device.next().await {
            Ok(answer) => answer,
            Err(end) => return end.into(),
        };
        if answer.head().connection == Connection::BROKER {
            return notice(&answer);
        }
        if events.send(Event::DeviceAnswered { link, answer }).await.is_err() {
            return LinkFault::HungUp; // the core has ended
        }
    }
}

async fn send(mut to_device: ToDevice, mut requests: mpsc::UnboundedReceiver<Pdu>) -> LinkFault {
    let mut batch = Vec::new();
    while requests.recv_many(&mut batch, PDUS_PER_WRITE).await > 0 {
        if let Err(error) = write(&mut to_device, &batch, Framing::Checked).await {
            return LinkFault::Io(error.kind());
        }
        batch.clear();
    }
    LinkFault::HungUp // the core dropped the link
}

/// What an answer means that is for the broker itself, and not the expected one.
fn notice(answer: &Pdu) -> LinkFault {
    match answer.status() {
        Ok(Status::WireCorrupt) => LinkFault::Corrupt(Fault::Crc),
        Ok(_) => LinkFault::Protocol(Fault::Mismatch { field: "connection" }),
        Err(fault) => LinkFault::Protocol(fault),
    }
}

impl From<End> for LinkFault {
    fn from(end: End) -> LinkFault {
        match end {
            End::HungUp => LinkFault::HungUp,
            End::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => LinkFault::HungUp,
            End::Io(error) => LinkFault::Io(error.kind()),
            End::Broken(broken) => LinkFault::Corrupt(broken.fault),
        }
    }
}
