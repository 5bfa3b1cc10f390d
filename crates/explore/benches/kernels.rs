//! What the library's fastest code takes on the five-stage core without caches, warm, in cycles of the simulator: they are
//! the same on every machine. `cargo bench -p explore --bench kernels` prints every variant, and the goals.

#[path = "../tests/compiled/mod.rs"]
mod compiled;
#[path = "../tests/kernels/mod.rs"]
mod measured;

use explore::image::Leaves;

const AES: [&str; 7] = ["bytes", "t1", "t4", "t4_rv32", "t4_rv32_unrolled", "bitsliced", "fixsliced"];

/// RSA with such leaves; the cycles of the fastest.
fn rsa(leaves: Leaves) -> Option<f64> {
    let (cycles, candidate) = measured::rsa_private(leaves, &measured::LEVELS, false)?;
    println!("RSA-1024 private, leaves {}: {cycles} cycles by {candidate}", leaves.word());
    let (fixed, candidate) = measured::rsa_private(leaves, &measured::LEVELS, true)?;
    println!("RSA-1024 private, leaves {}, a fixed window: {fixed} cycles by {candidate}", leaves.word());
    Some(cycles as f64 / 1e6)
}

fn measure() -> Option<()> {
    let [plain, unrolled, assembly] = Leaves::ALL.map(rsa);
    let c = plain?.min(unrolled?);
    println!("goal\tRSA-1024 private with CRT, C, vex5-tcm, warm, Mcycles\t{c:.2}\t-\t-\t<= 11");
    println!(
        "goal\tRSA-1024 private with CRT, assembly, vex5-tcm, warm, Mcycles\t{:.2}\tC\t{c:.2}\t<= 10",
        assembly?
    );
    let mut best = [f64::MAX; 2];
    for variant in AES {
        let cycles = measured::aes_128(variant)?;
        println!("AES-128 {variant}: {cycles:.2?} cycles a byte for {:?} blocks", measured::BLOCKS);
        let best = &mut best[usize::from(variant.contains("rv32"))];
        *best = best.min(cycles[2]);
    }
    let [c, assembly] = best;
    println!("goal\tAES-128, vex5-tcm, cycles a byte\t{assembly:.2}\tbest C\t{c:.2}\t<= 57");
    Some(())
}

fn main() {
    if measure().is_none() {
        eprintln!("skip: bench of the library's kernels: there is no compiler for RV32");
    }
}
