//! What an operator has of a running broker: a way to ask it for something, from any thread.
//!
//! Owns the way of an order to the loop. What an order does is the loop's and the core's.

use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::Settings;
use crate::bell::Bell;
use crate::error::Error;

/// What is asked of the loop.
pub(crate) enum Order {
    Set(Box<Settings>),
    Status(oneshot::Sender<String>),
    Stop,
}

/// The operator's end. Clones are the same operator.
#[derive(Clone)]
pub struct Control {
    orders: mpsc::Sender<Order>,
    bell: Bell,
}

/// The broker's end.
pub struct Orders {
    receiver: mpsc::Receiver<Order>,
    control: Control,
}

/// Both ends for one broker.
///
/// # Errors
/// [`Error::Loop`] when descriptors are short.
pub fn control() -> Result<(Control, Orders), Error> {
    let (orders, receiver) = mpsc::channel();
    let control = Control { orders, bell: Bell::new().map_err(Error::Loop)? };
    Ok((control.clone(), Orders { receiver, control }))
}

impl Control {
    /// From now on these settings hold. What a start alone can change, such as how long the device is waited for then, is
    /// not looked at again.
    ///
    /// # Panics
    /// In the broker's loop, when a setting is over its limit.
    pub fn set(&self, settings: Settings) {
        self.give(Order::Set(Box::new(settings)));
    }

    /// What the broker has done, as [`Operation::Status`](crate::wire::Operation::Status) says it; none when it has ended.
    pub async fn status(&self) -> Option<String> {
        let (sender, text) = oneshot::channel();
        self.give(Order::Status(sender));
        text.await.ok()
    }

    fn give(&self, order: Order) {
        // A broker that has ended obeys nobody.
        let _ = self.orders.send(order);
        self.bell.ring();
    }
}

impl Orders {
    pub(crate) fn bell(&self) -> &Bell {
        &self.control.bell
    }

    /// What was asked for since the last call.
    pub(crate) fn take(&self) -> Vec<Order> {
        self.control.bell.quiet();
        self.receiver.try_iter().collect()
    }

    pub(crate) fn stops_at_end(&self) -> StopsAtEnd {
        StopsAtEnd(self.control.clone())
    }
}

/// Stops the broker when it is dropped.
pub(crate) struct StopsAtEnd(Control);

impl Drop for StopsAtEnd {
    fn drop(&mut self) {
        self.0.give(Order::Stop);
    }
}
