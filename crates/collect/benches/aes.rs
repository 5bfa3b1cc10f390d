//! How fast the server's AES is, beside OpenSSL's, Intel's multi-buffer library and RustCrypto's, in cycles of the
//! core per byte. A table for each question, and the lines of the goals that `scripts/bench.sh` collects.
//!
//! Everybody in a table takes short windows in turns, and the figure is the 10th percentile of a few hundred:
//! whatever else runs here only ever makes a window longer. A virtual machine seldom lends out its performance
//! counters, so that cycles are counted by products that wait for each other (`products`), in front of every window.

#[cfg(target_arch = "x86_64")]
#[path = "../tests/peers/mod.rs"]
mod peers;

#[cfg(target_arch = "x86_64")]
#[path = "aes/cycles.rs"]
mod cycles;
#[cfg(target_arch = "x86_64")]
mod products;
#[cfg(target_arch = "x86_64")]
#[path = "aes/rows.rs"]
mod rows;

fn main() {
    #[cfg(target_arch = "x86_64")]
    rows::print();
    #[cfg(not(target_arch = "x86_64"))]
    println!("skip (machine): bench of AES: it counts cycles of an x86-64");
}
