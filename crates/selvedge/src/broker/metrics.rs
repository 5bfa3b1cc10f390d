//! What a monitor asks over HTTP: the text of `broker status --prometheus`, and nothing else.
//!
//! Owns so much of HTTP/1.1 (RFC 9112) as a GET takes: one request a connection, without a body. The broker's loop is asked
//! between two of its turns; a monitor that is slow, or many of them, cost it nothing.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use broker::{Control, Endpoint, Listener};
use selvedge::error::Error;
use selvedge::link::service::MetricsAddress;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Of a request, and the most headers in it.
const HEAD_BYTES_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 64;
/// Monitors at a time.
const MONITORS_MAX: usize = 8;
/// How long one may take.
const MONITOR_MAX: Duration = Duration::from_secs(5);
/// After `accept` failed.
const PAUSE: Duration = Duration::from_millis(100);

enum Socket {
    Tcp(TcpListener),
    Unix(Listener),
}

/// Answers monitors until the runtime ends.
pub struct Monitors {
    socket: Socket,
    control: Control,
    places: Arc<Semaphore>,
}

impl Monitors {
    /// Listens.
    pub async fn listen(address: &MetricsAddress, control: Control) -> Result<Monitors, Error> {
        let socket = match address {
            MetricsAddress::Tcp(address) => {
                let listener = TcpListener::bind(address).await;
                Socket::Tcp(listener.map_err(|source| Error::Listen { address: *address, source })?)
            }
            MetricsAddress::Unix(path) => {
                let endpoint = Endpoint::Opened { path: path.clone(), mode: 0o660, group: None };
                Socket::Unix(Listener::open(endpoint)?)
            }
        };
        Ok(Monitors { socket, control, places: Arc::new(Semaphore::new(MONITORS_MAX)) })
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
            let control = self.control.clone();
            let accepted = match &self.socket {
                Socket::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    tokio::spawn(async move { drop((answer_in_time(stream, &control).await, place)) });
                }),
                Socket::Unix(listener) => listener.accept().await.map(|stream| {
                    tokio::spawn(async move { drop((answer_in_time(stream, &control).await, place)) });
                }),
            };
            if accepted.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn answer_in_time(stream: impl AsyncRead + AsyncWrite + Unpin, control: &Control) {
    // One that was too slow, or broke off, asks again.
    let _ = timeout(MONITOR_MAX, answer(stream, control)).await;
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, control: &Control) -> io::Result<()> {
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
    let text = match asked {
        Asked::Metrics { .. } => control.status().await,
        _ => None,
    };
    let (status, kind, body) = match (&asked, text) {
        (Asked::Metrics { .. }, Some(text)) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text),
        (Asked::Metrics { .. }, None) => ("503 Service Unavailable", "text/plain", String::new()),
        (Asked::Wrong(status), _) => (*status, "text/plain", String::new()),
        (Asked::More, _) => unreachable!("it was read to its end"),
    };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    if !matches!(asked, Asked::Metrics { without_body: true }) {
        answer.push_str(&body);
    }
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    More,
    Metrics { without_body: bool },
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
    let path = request.path.and_then(|path| path.split('?').next());
    match (request.method, path) {
        (Some(method @ ("GET" | "HEAD")), Some("/metrics")) => {
            Asked::Metrics { without_body: method == "HEAD" }
        }
        (Some("GET" | "HEAD"), _) => Asked::Wrong("404 Not Found"),
        _ => Asked::Wrong("405 Method Not Allowed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_can_be_asked() {
        let metrics = |without_body| Asked::Metrics { without_body };
        let cases = [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", metrics(false)),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", metrics(false)),
            ("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n", metrics(true)),
            ("GET / HTTP/1.1\r\n\r\n", Asked::Wrong("404 Not Found")),
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
