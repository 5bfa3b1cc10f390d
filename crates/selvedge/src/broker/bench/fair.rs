//! How the broker shares: equal applications, and one that asks for little beside those that ask for much.

use selvedge::error::Error;

use super::{Bench, Crowd, Wanted, median, stop};

const EQUAL: Crowd = Crowd { count: 80, pdu_bytes: 1024, outstanding: 4, pause_us: 0, user: None };
const LIGHT: Crowd = Crowd { count: 1, pdu_bytes: 64, outstanding: 1, pause_us: 10_000, user: None };
const GREEDY: Crowd = Crowd { count: 16, pdu_bytes: 64 * 1024, outstanding: 8, pause_us: 0, user: None };

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let (bare, bare_socket) = bench.server("bare")?;
    let (loopback, loopback_socket) = bench.server("loopback")?;
    let mut indices = Vec::new();
    let mut tails = [Vec::new(), Vec::new()];
    for _ in 0..bench.rounds {
        indices.push(bench.ask(&loopback_socket, &[EQUAL])?[0].jain());
        for (socket, tails) in [&bare_socket, &loopback_socket].into_iter().zip(&mut tails) {
            tails.push(bench.ask(socket, &[LIGHT, GREEDY])?[0].latency_us(0.99));
        }
    }
    let index = median(indices);
    let [bare_us, us] = tails.map(median);
    let case = "64 B each 10 ms beside 16 applications with 8 times 64 KiB outstanding";
    bench.row(&format!("{case}, bare socket"), "latency, p99", bare_us, "us");
    bench.row(&format!("{case}, broker"), "latency, p99", us, "us");
    bench.row("80 equal applications, broker", "Jain's index", index, "");
    bench.goal("80 equal applications: Jain's index", index, "-", "-".to_owned(), Wanted::AtLeast(0.99));
    bench.goal(
        "a light application beside 16 greedy ones: p99, of a bare socket's",
        us / bare_us,
        "bare socket",
        format!("{bare_us:.0} us"),
        Wanted::AtMost(1.0),
    );
    stop(loopback)?;
    stop(bare)
}
