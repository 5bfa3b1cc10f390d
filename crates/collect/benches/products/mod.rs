//! The core's own cycle, where a virtual machine hides what counts it: products that wait for each other.
//!
//! A product of 64-bit numbers takes 3 cycles on every x86-64 core since Nehalem and Zen (uops.info). Additions of constants
//! and lowest bits that are set do not serve: cores since Golden Cove do several of those in a cycle, before they execute
//! anything.

use std::hint::black_box;

/// Cycles of a product.
pub const PRODUCT_CYCLES: u64 = 3;

/// Multiplies so many times; each product waits for the one before.
pub fn multiply(products: u64) {
    // Odd, so that it never comes to 0.
    let mut product = black_box(3_u64);
    for _ in 0..products {
        product = product.wrapping_mul(product);
    }
    black_box(product);
}
