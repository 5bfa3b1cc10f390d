//! What the broker adds to a bare Unix socket, when the device costs nothing.

use selvedge::error::Error;

use super::{Bench, Crowd, Wanted, median, stop};

const PDU_BYTES: usize = 64;

/// Applications, and what each has outstanding.
const POINTS: [(usize, usize); 5] = [(1, 1), (8, 1), (80, 1), (8, 8), (80, 8)];

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let (bare, bare_socket) = bench.server("bare")?;
    let (loopback, loopback_socket) = bench.server("loopback")?;
    for (count, outstanding) in POINTS {
        let crowd = Crowd { count, pdu_bytes: PDU_BYTES, outstanding, pause_us: 0, user: None };
        let mut sides = [("bare socket", &bare_socket), ("broker", &loopback_socket)]
            .map(|(name, socket)| (name, socket, Vec::new(), Vec::new(), Vec::new()));
        for _ in 0..bench.rounds {
            for (_, socket, rates, medians, tails) in &mut sides {
                let seen = &bench.ask(socket, &[crowd])?[0];
                rates.push(seen.rate(bench.duration_ms));
                medians.push(seen.latency_us(0.5));
                tails.push(seen.latency_us(0.99));
            }
        }
        let case = format!("echo of {PDU_BYTES} B, {count} applications, {outstanding} outstanding");
        let measured = sides.map(|(name, _, rates, medians, tails)| {
            let values = [median(rates), median(medians), median(tails)];
            let case = format!("{case}, {name}");
            bench.row(&case, "requests", values[0], "1/s");
            bench.row(&case, "latency, median", values[1], "us");
            bench.row(&case, "latency, p99", values[2], "us");
            values
        });
        let [[bare_rate, bare_us, _], [rate, us, _]] = measured;
        match (count, outstanding) {
            (1, 1) => bench.goal(
                "echo of 64 B, one application: median latency, of a bare socket's",
                us / bare_us,
                "bare socket",
                format!("{bare_us:.1} us"),
                Wanted::AtMost(1.8),
            ),
            (80, 1) => bench.goal(
                "echo of 64 B, 80 applications: requests, of a bare socket's",
                rate / bare_rate,
                "bare socket",
                format!("{bare_rate:.0}/s"),
                Wanted::AtLeast(0.7),
            ),
            (80, 8) => bench.goal(
                "echo of 64 B, 80 applications with 8 outstanding: requests a second",
                rate,
                "bare socket",
                format!("{bare_rate:.0}/s"),
                Wanted::AtLeast(400_000.0),
            ),
            _ => {}
        }
    }
    stop(loopback)?;
    stop(bare)?;
    Ok(())
}
