//! The rules of one connection, without the connection: hello first, for the cell of the peer's certificate, one
//! spool, no number skipped.
//!
//! Owns what a peer may say and when; leaves reading, writing and time to `serve`, and keys to `shard`.

use crate::batch::{BatchId, Hello, Request, SealedBatch};
use crate::error::Refusal;

/// What a connection knows of its peer.
pub struct Session {
    speaks_for: Box<dyn Fn(u16) -> bool + Send + Sync>,
    hello: Option<Hello>,
    /// The highest batch number so far.
    last: Option<u64>,
}

/// What is to be done with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The peer is known now.
    Welcome,
    /// A batch to be opened.
    Batch(SealedBatch),
    /// A refusal to be sent in its turn; then the connection is closed, or goes on.
    Refuse {
        /// Why.
        refusal: Refusal,
        /// Which batch.
        id: BatchId,
        /// True when nothing more is to be read.
        close: bool,
    },
}

impl Session {
    /// The session of a peer whose certificate says for which cells it speaks.
    pub fn new(speaks_for: impl Fn(u16) -> bool + Send + Sync + 'static) -> Session {
        Session { speaks_for: Box::new(speaks_for), hello: None, last: None }
    }

    /// Judges a message: kind and body.
    pub fn receive(&mut self, message: &[u8]) -> Verdict {
        let batch = match (Request::parse(message), self.hello) {
            (Ok(Request::Hello(hello)), None) => {
                self.hello = Some(hello);
                let speaks_for = (self.speaks_for)(hello.cell);
                return if speaks_for { Verdict::Welcome } else { self.refuse(Refusal::Certificate) };
            }
            (Ok(Request::Hello(_)), Some(_)) => return self.refuse(Refusal::Hello),
            (Ok(Request::Batch(batch)), None) => {
                return Verdict::Refuse { refusal: Refusal::Hello, id: batch.id, close: true };
            }
            (Ok(Request::Batch(batch)), Some(_)) => batch,
            (Err((Refusal::Malformed, _)), _) => return self.refuse(Refusal::Malformed),
            // An unknown version may have a known one behind it, but only after a hello that was understood.
            (Err((refusal, id)), hello) => return Verdict::Refuse { refusal, id, close: hello.is_none() },
        };
        let refuse = |refusal| Verdict::Refuse { refusal, id: batch.id, close: false };
        if self.hello != Some(Hello { cell: batch.id.cell, spool: batch.id.spool }) {
            return refuse(Refusal::Spool);
        }
        // Any number may come first, and any number may come again.
        if self.last.is_some_and(|last| batch.id.number > last.saturating_add(1)) {
            return refuse(Refusal::Order);
        }
        self.last = self.last.max(Some(batch.id.number));
        Verdict::Batch(batch)
    }

    /// A refusal that ends the connection, for a message whose batch is not known.
    pub fn refuse(&self, refusal: Refusal) -> Verdict {
        Verdict::Refuse { refusal, id: self.unnumbered(), close: true }
    }

    /// What an answer names that is for no batch.
    pub fn unnumbered(&self) -> BatchId {
        let (cell, spool) = self.hello.map_or((0, 0), |hello| (hello.cell, hello.spool));
        BatchId { cell, spool, number: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::batch_message;
    use proptest::prelude::*;

    const HELLO: Hello = Hello { cell: 7, spool: 8 };

    fn batch(cell: u16, spool: u64, number: u64) -> Vec<u8> {
        batch_message(&BatchId { cell, spool, number }, &[0; 28])[4..].to_vec()
    }

    /// What the last of `messages` is answered: status, and whether the connection ends.
    fn check(messages: &[Vec<u8>]) -> Option<(Refusal, bool)> {
        let mut session = Session::new(|cell| cell == 7);
        let verdicts = messages.iter().map(|message| session.receive(message));
        match verdicts.last().expect("a message") {
            Verdict::Refuse { refusal, close, .. } => Some((refusal, close)),
            _ => None,
        }
    }

    #[test]
    fn numbers_repeat_but_skip_none() {
        let hello = HELLO.to_message()[4..].to_vec();
        let seen = |numbers: &[u64]| {
            let batches = numbers.iter().map(|&number| batch(7, 8, number));
            check(&std::iter::once(hello.clone()).chain(batches).collect::<Vec<_>>())
        };
        assert_eq!(seen(&[5]), None, "any number comes first");
        assert_eq!(seen(&[5, 6, 5, 6, 7]), None);
        assert_eq!(seen(&[5, 7]), Some((Refusal::Order, false)));
        assert_eq!(seen(&[5, 7, 6]), None, "the refused one did not count");
        assert_eq!(seen(&[u64::MAX, u64::MAX]), None);
    }

    #[test]
    fn a_peer_says_hello_once_and_speaks_for_one_spool() {
        let hello = || HELLO.to_message()[4..].to_vec();
        assert_eq!(check(&[batch(7, 8, 1)]), Some((Refusal::Hello, true)));
        assert_eq!(check(&[hello(), hello()]), Some((Refusal::Hello, true)));
        assert_eq!(check(&[hello(), batch(6, 8, 1)]), Some((Refusal::Spool, false)));
        assert_eq!(check(&[hello(), batch(7, 9, 1)]), Some((Refusal::Spool, false)));
        assert_eq!(check(&[vec![0x33]]), Some((Refusal::Malformed, true)));
        let for_another = Hello { cell: 8, ..HELLO }.to_message()[4..].to_vec();
        assert_eq!(check(&[for_another]), Some((Refusal::Certificate, true)));
        let mut other = hello();
        other[1] += 1;
        assert_eq!(check(&[other]), Some((Refusal::Version, true)));
    }

    proptest! {
        #[test]
        fn no_messages_make_a_session_panic(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8)
        ) {
            let mut session = Session::new(|cell| cell == 7);
            for message in messages {
                session.receive(&message);
            }
        }
    }
}
