//! What the loop waits for: its own sockets, and an epoll for each user's connections.
//!
//! Owns who is looked at, and in which order. epoll hands out what is ready first come, first served, so that whoever has
//! thousands of connections ready would have the others wait for all of them. With one for each user, a turn brings the
//! same number of connections of each. What is done with them is the loop's.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::limits::{CONNECTIONS_PER_TURN, EVENTS_PER_TURN};
use crate::wire::Connection;

/// What something happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Listener,
    Device,
    Orders,
    Connection(Connection),
}

// What an event is about, if not a user, whose number has 32 bits.
const LISTENER: u64 = u64::MAX;
const DEVICE: u64 = u64::MAX - 1;
const ORDERS: u64 = u64::MAX - 2;
/// With the number of a connection, which never comes near those above.
const CONNECTION: u64 = 1 << 63;

impl About {
    fn data(self) -> EventData {
        EventData::new_u64(match self {
            About::Listener => LISTENER,
            About::Device => DEVICE,
            About::Orders => ORDERS,
            About::Connection(Connection(number)) => CONNECTION | number,
        })
    }

    /// What a number is of; a user's is an error.
    fn of(number: u64) -> Result<About, u32> {
        match number {
            LISTENER => Ok(About::Listener),
            DEVICE => Ok(About::Device),
            ORDERS => Ok(About::Orders),
            CONNECTION.. => Ok(About::Connection(Connection(number & !CONNECTION))),
            user => Err(user as u32),
        }
    }
}

/// The epoll that a connection is in. That of a user is held by the user's connections, and is gone with the last of them.
pub(crate) type Seat = Arc<OwnedFd>;

/// All that is waited for.
pub(crate) struct Watch {
    /// The loop's own, and the users'.
    all: Seat,
    users: HashMap<u32, Weak<OwnedFd>>,
}

/// What happened in a turn, and room to be told it; of the thread that waits.
pub(crate) struct Happened {
    pub(crate) list: Vec<(About, EventFlags)>,
    all: Vec<epoll::Event>,
    of_user: Vec<epoll::Event>,
}

impl Happened {
    pub(crate) fn new() -> Happened {
        Happened {
            list: Vec::new(),
            all: Vec::with_capacity(EVENTS_PER_TURN),
            of_user: Vec::with_capacity(CONNECTIONS_PER_TURN),
        }
    }
}

impl Watch {
    pub(crate) fn new() -> Result<Watch, Errno> {
        Ok(Watch { all: Arc::new(epoll::create(CreateFlags::CLOEXEC)?), users: HashMap::new() })
    }

    /// Looks at one of the loop's own, which leaves by itself when it is closed.
    pub(crate) fn add(&self, socket: impl AsFd, about: About, interest: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.all, socket, about.data(), interest)
    }

    /// Looks for something else of one of the loop's own.
    pub(crate) fn change(&self, socket: impl AsFd, about: About, interest: EventFlags) -> Result<(), Errno> {
        epoll::modify(&self.all, socket, about.data(), interest)
    }

    /// Does not look at one of the loop's own any more.
    pub(crate) fn remove(&self, socket: impl AsFd) {
        // It is not looked at if that fails, either.
        let _ = epoll::delete(&self.all, socket);
    }

    /// Looks at a connection of a user, which leaves by itself when it is closed.
    ///
    /// # Errors
    /// The system is short of watches.
    pub(crate) fn enter(
        &mut self,
        user: u32,
        connection: Connection,
        socket: impl AsFd,
        interest: EventFlags,
    ) -> Result<Seat, Errno> {
        // Who comes when descriptors are short is served as well, though not apart from others.
        let seat = self.seat_of(user).unwrap_or_else(|_| self.all.clone());
        epoll::add(&seat, socket, About::Connection(connection).data(), interest)?;
        Ok(seat)
    }

    fn seat_of(&mut self, user: u32) -> Result<Seat, Errno> {
        if let Some(seat) = self.users.get(&user).and_then(Weak::upgrade) {
            return Ok(seat);
        }
        let seat = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        epoll::add(&self.all, &seat, EventData::new_u64(user.into()), EventFlags::IN)?;
        self.users.retain(|_, seat| seat.strong_count() > 0);
        self.users.insert(user, Arc::downgrade(&seat));
        Ok(seat)
    }

    /// Waits until something happens, or for so long, and appends what it was.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn wait(&self, pause: Option<Duration>, happened: &mut Happened) -> Result<(), Errno> {
        let Happened { list, all, of_user } = happened;
        waited(&self.all, all, pause)?;
        for event in all {
            let user = match About::of(event.data.u64()) {
                Ok(about) => {
                    list.push((about, event.flags));
                    continue;
                }
                Err(user) => user,
            };
            let Some(seat) = self.users.get(&user).and_then(Weak::upgrade) else { continue };
            waited(&seat, of_user, Some(Duration::ZERO))?;
            let about = |event: &epoll::Event| About::of(event.data.u64()).ok();
            list.extend(of_user.iter().filter_map(|event| Some((about(event)?, event.flags))));
        }
        Ok(())
    }
}

/// Looks for something else of a connection.
///
/// # Panics
/// If it is not watched: to change that takes nothing of the system's.
pub(crate) fn change(seat: &Seat, connection: Connection, socket: impl AsFd, interest: EventFlags) {
    let changed = epoll::modify(seat, socket, About::Connection(connection).data(), interest);
    changed.expect("it is watched, and to change that takes nothing");
}

/// Waits, and says as much as there is room for.
fn waited(epoll: &OwnedFd, room: &mut Vec<epoll::Event>, pause: Option<Duration>) -> Result<(), Errno> {
    room.clear();
    let timeout =
        pause.map(|pause| Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() });
    match epoll::wait(epoll, rustix::buffer::spare_capacity(room), timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    /// Connections of a user, each with a byte to read.
    fn ready(watch: &mut Watch, user: u32, first: u64, count: u64) -> Vec<(UnixStream, UnixStream, Seat)> {
        let connect = |number| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(&[1]).unwrap();
            let seat = watch.enter(user, Connection(number), &ours, EventFlags::IN).unwrap();
            (ours, theirs, seat)
        };
        (first..first + count).map(connect).collect()
    }

    #[test]
    fn a_turn_brings_those_of_each_user_however_many_another_one_has() {
        let mut watch = Watch::new().unwrap();
        let turns = 20;
        let many = ready(&mut watch, 7, 1, (turns * CONNECTIONS_PER_TURN) as u64);
        let few = ready(&mut watch, 8, 1000, 2);
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        for turn in 1..=turns {
            let mut happened = Happened::new();
            watch.wait(NOW, &mut happened).unwrap();
            assert_eq!(happened.list.len(), CONNECTIONS_PER_TURN + few.len());
            for (about, flags) in happened.list {
                assert_eq!(flags, EventFlags::IN);
                let About::Connection(Connection(number)) = about else { panic!("{about:?}") };
                *seen.entry(number).or_default() += 1;
            }
            assert_eq!((seen[&1000], seen[&1001]), (turn, turn));
        }
        assert_eq!(seen.len(), many.len() + few.len(), "each of them had its turn");
    }

    #[test]
    fn without_a_descriptor_for_its_user_a_connection_is_watched_with_the_loop_s_own() {
        let watch = Watch::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        epoll::add(&watch.all, &ours, About::Connection(Connection(7)).data(), EventFlags::IN).unwrap();
        theirs.write_all(&[1]).unwrap();
        let mut happened = Happened::new();
        watch.wait(NOW, &mut happened).unwrap();
        assert_eq!(happened.list, [(About::Connection(Connection(7)), EventFlags::IN)]);
        change(&watch.all.clone(), Connection(7), &ours, EventFlags::OUT);
        happened.list.clear();
        watch.wait(NOW, &mut happened).unwrap();
        assert_eq!(happened.list, [(About::Connection(Connection(7)), EventFlags::OUT)]);
    }

    #[test]
    fn a_user_whose_last_connection_is_closed_is_forgotten() {
        let mut watch = Watch::new().unwrap();
        drop(ready(&mut watch, 7, 1, 3));
        let mut happened = Happened::new();
        watch.wait(NOW, &mut happened).unwrap();
        assert_eq!(happened.list, []);
        let back = ready(&mut watch, 7, 4, 1);
        ready(&mut watch, 8, 5, 1);
        watch.wait(NOW, &mut happened).unwrap();
        assert_eq!(happened.list, [(About::Connection(Connection(4)), EventFlags::IN)]);
        drop(back);
        ready(&mut watch, 9, 6, 1);
        assert_eq!(watch.users.len(), 1, "a new user sweeps out those that are gone");
    }
}
