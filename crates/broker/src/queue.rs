//! The send queue: requests that were admitted and wait for the device, and what of them goes next.
//!
//! Owns the order: lanes first, then users, then their connections, and within a connection first in, first out. How
//! much may wait is `quota`'s, whether the device has room is the core's. A request goes to the device in pieces, so
//! that one of 64 KiB does not keep everybody else waiting for as long as its bytes take.
//!
//! Invariant: a request whose first piece was taken goes on until its last, so that the device never keeps a part of one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::limits::AGE_MAX;
use crate::rounds::Rounds;
use crate::settings::Weights;
use crate::wire::{Connection, Lane, Pdu, Status};

/// A part of a request, for the device.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Of this one.
    pub request: Arc<Pdu>,
    /// Its first byte.
    pub from: usize,
    /// One behind its last.
    pub to: usize,
}

impl Piece {
    /// Whether it begins its request.
    pub fn is_first(&self) -> bool {
        self.from == 0
    }

    /// Whether it ends its request.
    pub fn is_last(&self) -> bool {
        self.to == self.request.bytes().len()
    }
}

/// What the core says of a request whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The device has room.
    Begin,
    /// It has none now.
    Wait,
    /// It is answered with this.
    Refuse(Status),
}

/// What came out of the queue.
#[derive(Debug)]
pub enum Taken {
    /// This is to be sent.
    Piece(Piece),
    /// This was refused.
    Refused(Arc<Pdu>, Status),
}

/// Who a request is of, and in which lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The lane.
    pub lane: Lane,
    /// The connection's user.
    pub user: u32,
    /// The connection.
    pub connection: Connection,
}

/// A request that waits.
struct Waiting {
    request: Arc<Pdu>,
    sent_bytes: usize,
    /// What the answer costs beyond the request's own bytes.
    answer_bytes: usize,
    expires_at: Option<Duration>,
}

/// When a request is of no use any more, where it waits, and which it is there.
type Expiry = (Duration, Place, u32);

impl Waiting {
    fn expiry(&self, place: Place) -> Option<Expiry> {
        self.expires_at.map(|expires_at| (expires_at, place, self.request.head().request))
    }
}

type Connections = Rounds<Connection, VecDeque<Waiting>>;

#[derive(Default)]
struct LaneQueue {
    users: Rounds<u32, Connections>,
    /// Since when it has something and was not served.
    waits_since: Duration,
}

/// Requests in the order in which the device gets them.
pub struct Queue {
    /// How long a lane may wait for those before it.
    age_max: Duration,
    weights: Weights,
    lanes: [LaneQueue; Lane::ALL.len()],
    /// Where a request is begun and not all sent.
    begun: VecDeque<Place>,
    /// Closed connections of which a request is begun.
    closed: BTreeSet<Connection>,
    waiting: usize,
    /// Those that have not begun and are of use for some time only.
    timed: BTreeSet<Expiry>,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            age_max: AGE_MAX,
            weights: Weights::default(),
            lanes: Default::default(),
            begun: VecDeque::new(),
            closed: BTreeSet::new(),
            waiting: 0,
            timed: BTreeSet::new(),
        }
    }
}

impl Queue {
    /// From now on these users get more than others.
    pub fn weigh(&mut self, weights: Weights) {
        let before = std::mem::replace(&mut self.weights, weights);
        for lane in &mut self.lanes {
            before.users().for_each(|user| lane.users.weigh(user, 1));
            weights.users().for_each(|user| lane.users.weigh(user, weights.of(user)));
        }
    }

    /// From now on a lane waits no longer than this for those before it.
    pub fn age(&mut self, age_max: Duration) {
        self.age_max = age_max;
    }

    /// Puts a request behind those of its connection. `charged_bytes`: the larger of its length and its answer's.
    pub fn push(
        &mut self,
        place: Place,
        request: Arc<Pdu>,
        charged_bytes: usize,
        expires_at: Option<Duration>,
        now: Duration,
    ) {
        let answer_bytes = charged_bytes.saturating_sub(request.bytes().len());
        let waiting = Waiting { request, sent_bytes: 0, answer_bytes, expires_at };
        self.timed.extend(waiting.expiry(place));
        self.enter(place, now).push_back(waiting);
    }

    /// Puts a request that the device lost before those of its connection.
    pub fn push_again(&mut self, place: Place, request: Arc<Pdu>, charged_bytes: usize, now: Duration) {
        let answer_bytes = charged_bytes.saturating_sub(request.bytes().len());
        let waiting = Waiting { request, sent_bytes: 0, answer_bytes, expires_at: None };
        self.enter(place, now).push_front(waiting);
    }

    fn enter(&mut self, place: Place, now: Duration) -> &mut VecDeque<Waiting> {
        self.waiting += 1;
        let lane = &mut self.lanes[place.lane as usize];
        if lane.users.is_idle() {
            lane.waits_since = now;
        }
        let is_new = lane.users.get(place.user).is_none();
        lane.users.enter(place.user);
        if is_new {
            lane.users.weigh(place.user, self.weights.of(place.user));
        }
        lane.users.enter(place.user).enter(place.connection)
    }

    /// What goes next, at most `room_bytes` of it. `verdict` is asked about a request before its first piece; where it
    /// says that the device has no room, requests that have begun go on.
    pub fn take(
        &mut self,
        now: Duration,
        room_bytes: usize,
        verdict: impl FnOnce(&Pdu) -> Verdict,
    ) -> Option<Taken> {
        let place = self.turn(now)?;
        let head = self.head(place).expect("it is its turn, so that it has something");
        let expired = head.expires_at.is_some_and(|expires_at| expires_at <= now);
        let said = match head.sent_bytes {
            0 if expired => Verdict::Refuse(Status::TooLate),
            0 => verdict(&head.request),
            _ => Verdict::Begin,
        };
        match said {
            Verdict::Begin => Some(Taken::Piece(self.cut(place, room_bytes, now))),
            Verdict::Wait => {
                let &place = self.begun.front()?;
                Some(Taken::Piece(self.cut(place, room_bytes, now)))
            }
            Verdict::Refuse(status) => {
                let waiting = self.pop(place);
                self.settle(place, 0);
                Some(Taken::Refused(waiting.request, status))
            }
        }
    }

    /// Drops what waits for a connection that closed, but for a request that has begun.
    pub fn remove(&mut self, user: u32, connection: Connection) {
        for (name, lane) in Lane::ALL.into_iter().zip(&mut self.lanes) {
            let place = Place { lane: name, user, connection };
            let Some(connections) = lane.users.get(user) else { continue };
            let Some(waiting) = connections.get(connection) else { continue };
            // A request that has begun is the first one.
            let kept = usize::from(waiting.front().is_some_and(|first| first.sent_bytes > 0));
            for waiting in waiting.drain(kept..) {
                self.waiting -= 1;
                forget_expiry(&mut self.timed, waiting.expiry(place));
            }
            if kept == 0 {
                connections.remove(connection);
            } else {
                self.closed.insert(connection);
            }
            if connections.is_idle() {
                lane.users.unlist(user);
            }
        }
    }

    /// The device forgot the requests that have begun: they begin again, but for those of closed connections.
    pub fn rewind(&mut self) {
        for place in std::mem::take(&mut self.begun) {
            if self.closed.remove(&place.connection) {
                self.pop(place);
                self.settle(place, 0);
                self.forget(place);
            } else {
                let head = self.head(place).expect("it has begun");
                head.sent_bytes = 0;
                let expiry = head.expiry(place);
                self.timed.extend(expiry);
            }
        }
    }

    fn forget(&mut self, place: Place) {
        if let Some(connections) = self.lanes[place.lane as usize].users.get(place.user) {
            connections.remove(place.connection);
        }
    }

    /// Takes out what has not begun and is of no use any more.
    pub fn expired(&mut self, now: Duration) -> Vec<Arc<Pdu>> {
        let mut out = Vec::new();
        while let Some(&(expires_at, place, number)) = self.timed.first()
            && expires_at <= now
        {
            self.timed.pop_first();
            self.waiting -= 1;
            let users = &mut self.lanes[place.lane as usize].users;
            let waiting = users.get(place.user).and_then(|connections| connections.get(place.connection));
            let waiting = waiting.expect("what is timed waits");
            let at = waiting.iter().position(|waiting| waiting.request.head().request == number);
            out.extend(at.and_then(|at| waiting.remove(at)).map(|waiting| waiting.request));
            self.settle(place, 0);
        }
        out
    }

    /// Takes out all that has not begun.
    pub fn drain(&mut self) -> Vec<Arc<Pdu>> {
        let mut out = Vec::new();
        for lane in &mut self.lanes {
            let mut idle_users = Vec::new();
            for (user, connections) in lane.users.values_mut() {
                let mut emptied = Vec::new();
                for (connection, waiting) in connections.values_mut() {
                    // A request that has begun is the first one.
                    let kept = usize::from(waiting.front().is_some_and(|first| first.sent_bytes > 0));
                    out.extend(waiting.drain(kept..).map(|waiting| waiting.request));
                    if kept == 0 {
                        emptied.push(connection);
                    }
                }
                for connection in emptied {
                    connections.unlist(connection);
                }
                if connections.is_idle() {
                    idle_users.push(user);
                }
            }
            for user in idle_users {
                lane.users.unlist(user);
            }
        }
        self.waiting -= out.len();
        self.timed.clear();
        out
    }

    /// How many requests wait, those that have begun included.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether any is of use for some time only.
    pub fn is_timed(&self) -> bool {
        !self.timed.is_empty()
    }

    /// The first lane that has something, unless one behind it has waited too long.
    fn turn(&mut self, now: Duration) -> Option<Place> {
        let waits = |lane: &&Lane| !self.lanes[**lane as usize].users.is_idle();
        let since = |lane: &Lane| self.lanes[*lane as usize].waits_since;
        let first = *Lane::ALL.iter().find(waits)?;
        let oldest = *Lane::ALL.iter().filter(waits).min_by_key(|lane| since(lane))?;
        let lane = if since(&oldest) + self.age_max <= now { oldest } else { first };
        let users = &mut self.lanes[lane as usize].users;
        let user = users.turn()?;
        let connection = users.get(user)?.turn()?;
        Some(Place { lane, user, connection })
    }

    fn head(&mut self, place: Place) -> Option<&mut Waiting> {
        let users = &mut self.lanes[place.lane as usize].users;
        users.get(place.user)?.get(place.connection)?.front_mut()
    }

    fn pop(&mut self, place: Place) -> Waiting {
        let users = &mut self.lanes[place.lane as usize].users;
        let waiting = users.get(place.user).and_then(|connections| connections.get(place.connection));
        let waiting = waiting.and_then(VecDeque::pop_front).expect("a request waits there");
        self.waiting -= 1;
        forget_expiry(&mut self.timed, waiting.expiry(place));
        waiting
    }

    /// The next piece of the request at the head of a place.
    fn cut(&mut self, place: Place, room_bytes: usize, now: Duration) -> Piece {
        let head = self.head(place).expect("a request waits there");
        let (from, all) = (head.sent_bytes, head.request.bytes().len());
        let to = all.min(from.saturating_add(room_bytes));
        let piece = Piece { request: head.request.clone(), from, to };
        head.sent_bytes = to;
        let (mut cost_bytes, answer_bytes, expiry) = (to - from, head.answer_bytes, head.expiry(place));
        if piece.is_first() {
            forget_expiry(&mut self.timed, expiry);
        }
        if piece.is_last() {
            cost_bytes += answer_bytes;
            self.pop(place);
        }
        match (piece.is_first(), piece.is_last()) {
            (true, false) => self.begun.push_back(place),
            (false, true) => self.begun.retain(|begun| *begun != place),
            _ => {}
        }
        self.lanes[place.lane as usize].waits_since = now;
        self.settle(place, cost_bytes);
        if piece.is_last() && self.closed.remove(&place.connection) {
            self.forget(place);
        }
        piece
    }

    fn settle(&mut self, place: Place, cost_bytes: usize) {
        let users = &mut self.lanes[place.lane as usize].users;
        let Some(connections) = users.get(place.user) else { return };
        let is_empty = connections.get(place.connection).is_none_or(|waiting| waiting.is_empty());
        connections.served(place.connection, cost_bytes, is_empty);
        let is_idle = connections.is_idle();
        users.served(place.user, cost_bytes, is_idle);
    }
}

fn forget_expiry(timed: &mut BTreeSet<Expiry>, expiry: Option<Expiry>) {
    if let Some(expiry) = expiry {
        timed.remove(&expiry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::HEADER_BYTES;
    use crate::wire::{Head, KeyHandle, Operation};

    const ALL: usize = usize::MAX;

    /// A queue in which time does not pass unless it is said.
    #[derive(Default)]
    struct Bench {
        queue: Queue,
        now: Duration,
    }

    fn place(lane: Lane, user: u32, connection: u64) -> Place {
        Place { lane, user, connection: Connection(connection) }
    }

    impl Bench {
        fn push(&mut self, place: Place, number: u32, payload_bytes: usize) {
            let head = Head::request(Operation::SealAes256Gcm, number, KeyHandle(1));
            let head = Head { connection: place.connection, lane: place.lane, ..head };
            let request = Arc::new(Pdu::new(head, &[], &vec![0; payload_bytes]).unwrap());
            let charged_bytes = request.bytes().len();
            self.queue.push(place, request, charged_bytes, None, self.now);
        }

        fn take(&mut self, room_bytes: usize) -> Option<Piece> {
            match self.queue.take(self.now, room_bytes, |_| Verdict::Begin) {
                Some(Taken::Piece(piece)) => Some(piece),
                Some(Taken::Refused(..)) => unreachable!("nothing is refused"),
                None => None,
            }
        }

        /// Connection and number of each request that begins, in order.
        fn order(&mut self, room_bytes: usize) -> Vec<(u64, u32)> {
            let mut order = Vec::new();
            while let Some(piece) = self.take(room_bytes) {
                let head = piece.request.head();
                order.extend(piece.is_first().then_some((head.connection.0, head.request)));
            }
            order
        }
    }

    #[test]
    fn a_connection_keeps_its_order_and_lanes_go_one_after_the_other() {
        let mut bench = Bench::default();
        for (lane, connection, number) in
            [(Lane::Bulk, 1, 1), (Lane::Normal, 1, 2), (Lane::Normal, 1, 3), (Lane::Urgent, 2, 4)]
        {
            bench.push(place(lane, 1000, connection), number, 10);
        }
        assert_eq!(bench.queue.len(), 4);
        assert_eq!(bench.order(ALL), [(2, 4), (1, 2), (1, 3), (1, 1)]);
        assert!(bench.queue.is_empty());
    }

    #[test]
    fn a_lane_that_waited_too_long_is_served_once() {
        let mut bench = Bench::default();
        bench.push(place(Lane::Bulk, 1000, 1), 1, 10);
        bench.push(place(Lane::Bulk, 1000, 1), 2, 10);
        for number in 0..4 {
            bench.push(place(Lane::Urgent, 1000, 2), number, 10);
        }
        assert_eq!(bench.take(ALL).map(|piece| piece.request.head().lane), Some(Lane::Urgent));
        bench.now += AGE_MAX;
        // The urgent lane was served at the same instant as the other began to wait.
        let lanes = [(); 3].map(|()| bench.take(ALL).expect("four wait").request.head().lane);
        assert_eq!(lanes.iter().filter(|lane| **lane == Lane::Bulk).count(), 1, "{lanes:?}");
    }

    #[test]
    fn users_share_by_the_byte_whatever_connections_each_has() {
        let mut bench = Bench::default();
        for number in 0..400 {
            for connection in 1..=9 {
                bench.push(place(Lane::Normal, 1000, connection), number, 60_000);
            }
            bench.push(place(Lane::Normal, 2000, 10), number, 60_000);
        }
        let pieces: Vec<u64> =
            (0..400).map(|_| bench.take(ALL).expect("enough waits").request.head().connection.0).collect();
        let own = pieces.iter().filter(|connection| **connection == 10).count();
        assert!((190..=210).contains(&own), "{own} of 400 are the second user's");
        let first = pieces.iter().filter(|connection| **connection == 1).count();
        assert!((18..=26).contains(&first), "{first} of the first user's 200 are its first connection's");
    }

    #[test]
    fn a_small_request_goes_before_the_rest_of_a_large_one() {
        let mut bench = Bench::default();
        for number in 0..3 {
            bench.push(place(Lane::Normal, 1000, 1), number, 60_000);
        }
        for _ in 0..20 {
            assert_eq!(bench.take(4096).map(|piece| piece.request.head().connection.0), Some(1));
        }
        bench.push(place(Lane::Normal, 1000, 2), 7, 64);
        let piece = bench.take(4096).expect("it waits");
        assert_eq!((piece.request.head().connection.0, piece.is_first(), piece.is_last()), (2, true, true));
        assert_eq!(bench.order(4096), [(1, 2)], "two have begun, and go on");
    }

    #[test]
    fn without_room_what_has_begun_goes_on_and_nothing_else() {
        let mut bench = Bench::default();
        bench.push(place(Lane::Normal, 1000, 1), 1, 10_000);
        bench.take(4096);
        bench.push(place(Lane::Urgent, 1000, 2), 2, 64);
        let wait = |bench: &mut Bench| bench.queue.take(bench.now, 4096, |_| Verdict::Wait);
        let mut sent = 4096;
        while let Some(taken) = wait(&mut bench) {
            let Taken::Piece(piece) = taken else { panic!("{taken:?}") };
            assert_eq!((piece.request.head().connection.0, piece.from), (1, sent));
            sent = piece.to;
        }
        assert_eq!(sent, HEADER_BYTES + 10_000);
        assert_eq!(bench.order(ALL), [(2, 2)]);
    }

    #[test]
    fn a_closed_connection_leaves_nothing_but_what_has_begun() {
        let mut bench = Bench::default();
        for number in 0..3 {
            bench.push(place(Lane::Normal, 1000, 1), number, 10_000);
        }
        bench.push(place(Lane::Bulk, 1000, 1), 3, 64);
        bench.push(place(Lane::Normal, 1000, 2), 4, 64);
        bench.take(4096);
        bench.queue.remove(1000, Connection(1));
        bench.queue.remove(1000, Connection(9));
        assert_eq!(bench.queue.len(), 2);
        assert_eq!(bench.order(4096), [(2, 4)]);
        assert!(bench.queue.is_empty() && bench.queue.closed.is_empty());
    }

    #[test]
    fn all_is_taken_out_but_what_has_begun() {
        let mut bench = Bench::default();
        for connection in [1, 2] {
            for number in 0..3 {
                bench.push(place(Lane::Normal, 1000, connection), number, 10_000);
            }
        }
        bench.push(place(Lane::Bulk, 2000, 3), 3, 64);
        bench.take(4096);
        assert_eq!(bench.queue.drain().len(), 6);
        let piece = bench.take(ALL).expect("one has begun");
        assert_eq!((piece.from, piece.is_last()), (4096, true));
        assert!(bench.queue.is_empty() && bench.take(ALL).is_none());
        bench.push(place(Lane::Normal, 1000, 2), 9, 64);
        assert_eq!(bench.order(ALL), [(2, 9)]);
    }

    #[test]
    fn what_has_begun_begins_again_when_the_device_forgot_it() {
        let mut bench = Bench::default();
        for connection in [1, 2] {
            bench.push(place(Lane::Normal, 1000, connection), 1, 60_000);
            bench.take(5000);
        }
        assert_eq!(bench.queue.begun.len(), 2);
        bench.queue.remove(1000, Connection(2));
        bench.queue.rewind();
        assert_eq!(bench.order(4096), [(1, 1)]);
        assert!(bench.queue.is_empty());
    }

    #[test]
    fn what_is_of_no_use_any_more_comes_out_at_once() {
        let mut bench = Bench::default();
        for (number, expires_ms) in [(1, Some(10)), (2, None), (3, Some(20)), (4, Some(10))] {
            let head = Head::request(Operation::Info, number, KeyHandle::NONE);
            let connection = if number == 4 { 2 } else { 1 };
            let expires_at = expires_ms.map(Duration::from_millis);
            let request = Arc::new(Pdu::empty(head));
            bench.queue.push(place(Lane::Normal, 1000, connection), request, 40, expires_at, bench.now);
        }
        bench.now = Duration::from_millis(10);
        assert!(bench.queue.is_timed());
        let mut expired: Vec<u32> =
            bench.queue.expired(bench.now).iter().map(|pdu| pdu.head().request).collect();
        expired.sort_unstable();
        assert_eq!(expired, [1, 4]);
        bench.now = Duration::from_millis(20);
        assert!(matches!(
            (bench.take(ALL), bench.queue.take(bench.now, ALL, |_| Verdict::Begin)),
            (Some(_), Some(Taken::Refused(_, Status::TooLate)))
        ));
        assert!(bench.queue.is_empty() && !bench.queue.is_timed());
    }
}
