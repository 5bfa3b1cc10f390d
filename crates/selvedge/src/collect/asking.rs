//! How a command reaches the server of a deployment: over its control socket while one runs, else by doing itself what is
//! asked, alone. Servers that share a deployment are asked nothing: each knows its own nodes only, and for a while.

use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cipher::OsRandomness;
use collect::Collector;
use collect::control;
use collect::disk::RealDisk;
use collect::limits::Limits;
use collect::orders::{Reply, Request, Told};
use collect::shard::Now;
use selvedge::error::{Error, KeyFault, OrderFault};

use crate::place::Opened;

/// How long a server that is starting is waited for, or one that runs in another folder.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server waits for a command that does something in its place.
const MOMENT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// A server that answers, or nobody who could be one meanwhile.
enum Reached {
    Answered(Reply),
    Alone(OwnedFd),
}

/// That the deployment has one server, which can be asked.
pub fn has_one_server(opened: &Opened) -> Result<(), Error> {
    if opened.deployment.collect.is_shared() { Err(Error::Order(OrderFault::Shared)) } else { Ok(()) }
}

fn reach(opened: &Opened, request: &Request) -> Result<Reached, Error> {
    has_one_server(opened)?;
    let socket = opened.layout.server_control();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reply = control::ask(&socket, request).map_err(|cause| Error::io("ask", &socket, cause))?;
        if let Some(reply) = reply {
            return Ok(Reached::Answered(reply));
        }
        match opened.keys.lock_store() {
            Ok(lock) => return Ok(Reached::Alone(lock)),
            // It has the keys and does not listen yet.
            Err(Error::Key { fault: KeyFault::InUse, .. }) if Instant::now() < deadline => {
                thread::sleep(LOOK)
            }
            Err(error) => return Err(error),
        }
    }
}

fn told(reply: Reply) -> Result<Vec<Told>, Error> {
    match reply {
        Reply::Done(told) => Ok(told),
        Reply::Refused(reason) => Err(Error::Order(OrderFault::Refused(reason))),
    }
}

/// A running server reads the keys again; the next one does anyway. Says who knows them now.
pub fn read_keys(opened: &Opened) -> Result<&'static str, Error> {
    if opened.deployment.collect.is_shared() {
        return Ok("and each server knows it from the next lease on that it takes");
    }
    match reach(opened, &Request::ReadKeys)? {
        Reached::Answered(reply) => told(reply).map(|_| "and the running server knows it"),
        Reached::Alone(_) => Ok("and no server runs"),
    }
}

/// Asks a running server, or does what is asked in its place.
pub fn ask(opened: &Opened, request: &Request) -> Result<Vec<Told>, Error> {
    let reply = match reach(opened, request)? {
        Reached::Answered(reply) => reply,
        Reached::Alone(_lock) => {
            let keys = Arc::new(super::serve::key_ring(opened)?);
            let disk = RealDisk::lock(&opened.layout.store())?;
            let mut collector = Collector::open(disk, keys, Limits::default(), OsRandomness)?;
            let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
            collector.ask(Now { wall_ns, monotonic_ns: 0 }, request)?
        }
    };
    told(reply)
}

/// Asks a running server; `None` when none runs.
pub fn ask_server(opened: &Opened, request: &Request) -> Result<Option<Vec<Told>>, Error> {
    has_one_server(opened)?;
    let socket = opened.layout.server_control();
    let reply = control::ask(&socket, request).map_err(|cause| Error::io("ask", &socket, cause))?;
    reply.map(told).transpose()
}

/// The lock of a server. A command that does something in a server's place has it for a moment.
pub fn lock(opened: &Opened) -> Result<OwnedFd, Error> {
    let deadline = Instant::now() + MOMENT;
    loop {
        match opened.keys.lock_store() {
            Err(Error::Key { fault: KeyFault::InUse, .. }) if Instant::now() < deadline => {
                thread::sleep(LOOK)
            }
            locked => return locked,
        }
    }
}

/// The socket of the server that has the store's lock; one that is there is of a server that ended.
pub fn listen(opened: &Opened) -> Result<UnixListener, Error> {
    let socket = opened.layout.server_control();
    let failed = |action| move |cause| Error::io(action, &opened.layout.server_control(), cause);
    match fs::remove_file(&socket) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(failed("remove")(cause)),
        _ => {}
    }
    let listener = UnixListener::bind(&socket).map_err(failed("listen on"))?;
    // Nobody else comes into the folder.
    fs::set_permissions(&socket, Permissions::from_mode(0o600)).map_err(failed("restrict"))?;
    Ok(listener)
}
