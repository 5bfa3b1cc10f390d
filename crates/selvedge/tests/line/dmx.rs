//! A DMX512 receiver: a UART at 250 kbit/s that takes a long low for the beginning of a packet (ANSI E1.11).

use isa::Cycles;

/// Cycles of a microsecond, and of a bit.
const US: Cycles = 16;
const BIT: Cycles = 4 * US;
/// What a transmitter's break and mark are at least.
const BREAK_MIN: Cycles = 92 * US;
const MARK_MIN: Cycles = 12 * US;

/// The slots of the packet on a line, whose levels from their cycles on these are; none when it stays as it is.
///
/// # Panics
/// When it is no packet.
pub fn slots(levels: &[(Cycles, bool)], begins: Cycles) -> Vec<u8> {
    let edges: Vec<(Cycles, bool)> = levels.iter().copied().filter(|&(cycle, _)| cycle >= begins).collect();
    let level_at = |cycle: Cycles| {
        let count = edges.partition_point(|&(edge, _)| edge <= cycle);
        count.checked_sub(1).is_none_or(|last| edges[last].1)
    };
    // Where the line changes to a level, from a cycle on.
    let edge = |from: Cycles, to: bool| {
        edges.iter().find(|&&(cycle, level)| cycle >= from && level == to).map(|&(cycle, _)| cycle)
    };
    let Some(low) = edge(begins, false) else { return Vec::new() };
    let high = edge(low, true).expect("a break ends");
    assert!(high - low >= BREAK_MIN, "a break of {} cycles", high - low);
    let mut slots = Vec::new();
    let mut from = high;
    while let Some(start) = edge(from, false) {
        if slots.is_empty() {
            assert!(start - high >= MARK_MIN, "a mark of {} cycles", start - high);
        } else {
            assert_eq!(start, from + BIT / 2, "slots without a pause");
        }
        // Each bit is looked at in its middle.
        let bit = |number: Cycles| level_at(start + number * BIT + BIT / 2);
        assert!(!bit(0), "a start bit is low");
        assert!(bit(9) && bit(10), "two stop bits are high");
        slots.push((1..9).rev().fold(0, |byte, number| byte << 1 | u8::from(bit(number))));
        from = start + 10 * BIT + BIT / 2;
    }
    slots
}
