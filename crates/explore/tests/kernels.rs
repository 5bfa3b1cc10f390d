//! The library's fastest code takes at most what it is wanted to take: `benches/kernels.rs` prints by how much less.

mod compiled;
#[path = "kernels/mod.rs"]
mod measured;

use explore::image::Leaves;

#[test]
fn rsas_private_operation_takes_few_cycles_in_c_and_fewer_with_assembly() {
    let [Some(c), Some(unrolled), Some(assembly)] = [Leaves::Plain, Leaves::Unrolled, Leaves::Assembly]
        .map(|leaves| measured::rsa_private(leaves, &measured::LEVELS[1..], false))
    else {
        return;
    };
    println!("{c:?}, {unrolled:?}, {assembly:?}");
    assert!(c.0.min(unrolled.0) <= 11_000_000);
    assert!(assembly.0 <= 10_000_000 && assembly.0 < unrolled.0);
}

#[test]
fn aes_takes_few_cycles_for_a_byte_by_tables_and_more_without() {
    let variants = ["t4_rv32_unrolled", "t4_rv32", "t4", "bytes", "fixsliced", "bitsliced"];
    let [Some(unrolled), Some(assembly), Some(c), Some(bytes), Some(fixsliced), Some(bitsliced)] =
        variants.map(measured::aes_128)
    else {
        return;
    };
    println!("{unrolled:?}, {assembly:?}, {c:?}, {bytes:?}, {fixsliced:?}, {bitsliced:?}");
    assert!(unrolled.iter().chain(&assembly).all(|cycles| *cycles <= 57.0));
    assert!(c.iter().zip(&assembly).all(|(c, assembly)| assembly < c));
    assert!(c[2] < bytes[2] && fixsliced[2] < bitsliced[2]);
}
