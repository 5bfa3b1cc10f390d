//! The socket on which the people of a server ask it something while it runs: one request, one reply, each a line of JSON.
//!
//! Who may ask is who runs the server: the kernel says whose the other end is, and the caller puts the socket where nobody
//! else comes by. Owns the lines; what is asked and answered is `orders`', and the thread that commits does it between two
//! groups.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::process::geteuid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::{ACCEPT_PAUSE, CONTROL_BYTES_MAX};
use crate::orders::{Reason, Reply, Request};

/// A request that waits for its turn, and where its reply goes.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// How long one end of a connection may take for its line.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves whoever asks, one after the other, until it is dropped. `asked` takes the requests.
///
/// # Errors
/// What the system says of the socket.
pub(crate) async fn listen<T>(
    listener: UnixListener,
    asked: mpsc::Sender<T>,
    wrap: fn(Asked) -> T,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    loop {
        match listener.accept().await {
            // Whoever breaks a rule, or went away, gets nothing, and the next one has its turn.
            Ok((stream, _)) => drop(serve_one(stream, &asked, wrap).await),
            // Descriptors are short; that passes.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn serve_one<T>(
    mut stream: tokio::net::UnixStream,
    asked: &mpsc::Sender<T>,
    wrap: fn(Asked) -> T,
) -> io::Result<()> {
    if stream.peer_cred()?.uid() != geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    let mut reader = tokio::io::BufReader::new(reader.take(CONTROL_BYTES_MAX));
    timeout(PATIENCE, reader.read_line(&mut line)).await??;
    let reply = match serde_json::from_str(&line) {
        Err(_) => Reply::Refused(Reason::Malformed),
        Ok(request) => {
            let (reply, replied) = oneshot::channel();
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            // The threads may be busy with batches before it.
            asked.send(wrap(Asked { request, reply })).await.map_err(|_| gone())?;
            replied.await.map_err(|_| gone())?
        }
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    timeout(PATIENCE, writer.write_all(&line)).await??;
    Ok(())
}

/// Asks the server that listens on the socket at `path`; `None` when none does.
///
/// # Errors
/// What the system says, and [`io::ErrorKind::UnexpectedEof`] when the server ended before it had replied: what was asked
/// may be done or not.
pub fn ask(path: &Path, request: &Request) -> io::Result<Option<Reply>> {
    let mut stream = match UnixStream::connect(path) {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        connected => connected?,
    };
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut line = String::new();
    BufReader::new(stream.take(CONTROL_BYTES_MAX)).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server ended before it had replied"));
    }
    Ok(Some(serde_json::from_str(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_request_gets_its_reply_and_rubbish_gets_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        assert!(ask(&path, &Request::Status).unwrap().is_none(), "nobody listens");
        let listener = UnixListener::bind(&path).unwrap();
        let (asked, mut requests) = mpsc::channel::<Asked>(1);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.spawn(listen(listener, asked, |asked| asked));
        let server = thread::spawn(move || {
            let first = requests.blocking_recv().unwrap();
            assert_eq!(first.request, Request::ReadKeys);
            first.reply.send(Reply::Done(vec![])).unwrap();
            // The second one gets none: the server ends.
            drop(requests.blocking_recv().unwrap());
        });
        let send = |bytes: &[u8]| {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(bytes).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        };
        assert_eq!(send(b"open the door\n"), "{\"refused\":\"malformed\"}\n");
        assert_eq!(ask(&path, &Request::ReadKeys).unwrap(), Some(Reply::Done(vec![])));
        let ended = ask(&path, &Request::Status).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
        server.join().unwrap();
        drop(runtime);
        assert!(ask(&path, &Request::Status).unwrap().is_none(), "nobody listens any more");
    }
}
