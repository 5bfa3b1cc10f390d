//! The one HTTP room of the daemons: where monitors and browsers ask what a daemon does.
//!
//! Owns so much of HTTP/1.1 (RFC 9112) as a GET takes: one request a connection, without a body; and how long, how much and
//! how many at a time. What the answers are is the daemon's ([`Answers`]), whose own work nobody here keeps waiting: who is
//! slow, or one of many, waits for others of its kind. Who holds all places holds them from monitors, too.
//!
//! Invariant: what an answer holds is wiped when it was sent, or could not be.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use broker::{Endpoint, Listener};
use selvedge::error::Error;
use selvedge::link::monitoring::MonitorAddress;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Of a request, and the most headers in it.
const HEAD_BYTES_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 64;
/// Monitors at a time.
const MONITORS_MAX: usize = 8;
/// How long one may take.
const MONITOR_MAX: Duration = Duration::from_secs(5);
/// After `accept` failed.
const PAUSE: Duration = Duration::from_millis(100);
/// The kind of a text of metrics.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The path, without what follows a `?`.
    pub path: String,
    /// What follows it.
    pub query: String,
    /// Whom the asker believes to ask: `Host`.
    pub host: Option<String>,
    /// Whether a browser asks for a page of another site: `Sec-Fetch-Site`, which no page can write.
    pub is_foreign: bool,
}

/// Who knows the answers.
pub trait Answers: Clone + Send + Sync + 'static {
    /// Answers.
    fn answer(&self, wanted: &Wanted) -> impl Future<Output = Reply> + Send;
}

/// An answer.
pub struct Reply {
    status: &'static str,
    kind: &'static str,
    /// Each with its end of line.
    headers: String,
    body: Zeroizing<Vec<u8>>,
}

impl Reply {
    /// What was asked for.
    pub fn found(kind: &'static str, body: impl Into<Zeroizing<Vec<u8>>>) -> Reply {
        Reply { status: "200 OK", kind, headers: String::new(), body: body.into() }
    }

    /// Metrics, in Prometheus' text format; none while the daemon cannot say them.
    pub fn metrics(text: Option<String>) -> Reply {
        let found = |text: String| Reply::found(EXPOSITION, text.into_bytes());
        text.map_or_else(Reply::unavailable, found)
    }

    /// Not now.
    pub fn unavailable() -> Reply {
        Reply::refused("503 Service Unavailable", "")
    }

    /// There is no such thing.
    pub fn nowhere() -> Reply {
        Reply::refused("404 Not Found", "")
    }

    /// With this status, and a few words.
    pub fn refused(status: &'static str, words: &str) -> Reply {
        let (headers, body) = (String::new(), words.as_bytes().to_vec().into());
        Reply { status, kind: "text/plain; charset=utf-8", headers, body }
    }

    /// The same with another header.
    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    async fn send(&self, stream: &mut (impl AsyncWrite + Unpin), without_body: bool) -> io::Result<()> {
        let Reply { status, kind, headers, body } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        if !without_body {
            stream.write_all(body).await?;
        }
        stream.shutdown().await
    }
}

enum Socket {
    Tcp(TcpListener),
    Unix(Listener),
}

/// Answers monitors until the runtime ends.
pub struct Monitors<A> {
    socket: Socket,
    answers: A,
    places: Arc<Semaphore>,
}

impl<A: Answers> Monitors<A> {
    /// Listens; a Unix socket has these permissions.
    pub async fn listen(address: &MonitorAddress, mode: u32, answers: A) -> Result<Monitors<A>, Error> {
        let socket = match address {
            MonitorAddress::Tcp(address) => {
                let listener = TcpListener::bind(address).await;
                Socket::Tcp(listener.map_err(|source| Error::Listen { address: *address, source })?)
            }
            MonitorAddress::Unix(path) => {
                Socket::Unix(Listener::open(Endpoint::Opened { path: path.clone(), mode, group: None })?)
            }
        };
        Ok(Monitors { socket, answers, places: Arc::new(Semaphore::new(MONITORS_MAX)) })
    }

    /// Where, as it is: a port that was 0 is one now.
    pub fn address(&self) -> String {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().map_or_else(|_| "tcp".into(), |at| at.to_string()),
            Socket::Unix(_) => "unix".into(),
        }
    }

    /// Answers them.
    pub async fn answer(self) {
        loop {
            let place = Arc::clone(&self.places).acquire_owned().await;
            let answers = self.answers.clone();
            let accepted = match &self.socket {
                Socket::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    // An answer is a head and a body; waiting for one to fill a packet only delays it.
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(async move { drop((answer_in_time(stream, &answers).await, place)) });
                }),
                Socket::Unix(listener) => listener.accept().await.map(|stream| {
                    tokio::spawn(async move { drop((answer_in_time(stream, &answers).await, place)) });
                }),
            };
            if accepted.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn answer_in_time(stream: impl AsyncRead + AsyncWrite + Unpin, answers: &impl Answers) {
    // One that was too slow, or broke off, asks again.
    let _ = timeout(MONITOR_MAX, answer(stream, answers)).await;
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, answers: &impl Answers) -> io::Result<()> {
    let mut head = Vec::new();
    let asked = loop {
        match asked(&head) {
            Asked::More if head.len() < HEAD_BYTES_MAX => {}
            Asked::More => break Asked::Wrong("431 Request Header Fields Too Large"),
            asked => break asked,
        }
        if (&mut stream).take((HEAD_BYTES_MAX - head.len()) as u64).read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    };
    match asked {
        Asked::For { wanted, without_body } => {
            answers.answer(&wanted).await.send(&mut stream, without_body).await
        }
        Asked::Wrong(status) => {
            let reply = Reply::refused(status, "");
            let is_method = status.starts_with("405");
            let reply = if is_method { reply.with("Allow", "GET, HEAD") } else { reply };
            reply.send(&mut stream, false).await
        }
        Asked::More => unreachable!("it was read to its end"),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    More,
    For { wanted: Wanted, without_body: bool },
    Wrong(&'static str),
}

fn asked(head: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => return Asked::More,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Asked::Wrong("431 Request Header Fields Too Large"),
        Err(_) => return Asked::Wrong("400 Bad Request"),
    }
    let without_body = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Asked::Wrong("405 Method Not Allowed"),
    };
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = hosts.next().map(|header| String::from_utf8_lossy(header.value).into_owned());
    if hosts.next().is_some() {
        return Asked::Wrong("400 Bad Request");
    }
    let is_foreign = request.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("sec-fetch-site")
            && !matches!(header.value, b"same-origin" | b"none")
    });
    let target = request.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Asked::For { wanted: Wanted { path: path.into(), query: query.into(), host, is_foreign }, without_body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_site_is_foreign_and_who_opens_the_page_is_not() {
        let is_foreign = |headers: &str| {
            let Asked::For { wanted, .. } = asked(format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes())
            else {
                panic!("{headers:?} is a request")
            };
            wanted.is_foreign
        };
        for headers in ["", "Sec-Fetch-Site: none\r\n", "sec-fetch-site: same-origin\r\n"] {
            assert!(!is_foreign(headers), "{headers:?}");
        }
        let others = [
            "Sec-Fetch-Site: cross-site\r\n",
            "sec-fetch-SITE: same-site\r\n",
            "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n",
            "Sec-Fetch-Site:\r\n",
        ];
        for headers in others {
            assert!(is_foreign(headers), "{headers:?}");
        }
    }

    #[test]
    fn what_is_asked_for_is_a_path_a_query_and_a_host() {
        let of = |path: &str, query: &str, host: Option<&str>, without_body| Asked::For {
            wanted: Wanted {
                path: path.into(),
                query: query.into(),
                host: host.map(str::to_owned),
                is_foreign: false,
            },
            without_body,
        };
        let cases = [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", of("/metrics", "", Some("a"), false)),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", of("/metrics", "x=1", None, false)),
            ("HEAD /metrics HTTP/1.1\r\nhOST: a:1\r\n\r\n", of("/metrics", "", Some("a:1"), true)),
            ("GET / HTTP/1.1\r\n\r\n", of("/", "", None, false)),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Asked::Wrong("400 Bad Request")),
            ("POST /metrics HTTP/1.1\r\n\r\n", Asked::Wrong("405 Method Not Allowed")),
            ("\x02\x01\r\n\r\n", Asked::Wrong("400 Bad Request")),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n", Asked::More),
        ];
        for (head, expected) in cases {
            assert_eq!(asked(head.as_bytes()), expected, "{head:?}");
        }
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(asked(many.as_bytes()), Asked::Wrong("431 Request Header Fields Too Large"));
    }
}
