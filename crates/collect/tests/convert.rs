//! Samples to bytes and back, by every pair of types, against the standard library's own arithmetic.

use collect::convert::{
    ByteOrder, Convert, Rounding, Sample, from_bytes, from_bytes_in_place, rounding, to_bytes,
    to_bytes_in_place,
};
use proptest::prelude::*;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// Both ways, and in place, against values that the caller has converted. NaN is compared by its bits.
fn check<S, T>(samples: &[S], expected: &[T])
where
    S: Convert<T>,
    T: Convert<T>,
{
    for order in ORDERS {
        let wanted: Vec<u8> =
            expected.iter().flat_map(|value| value.to_bytes(order).as_ref().to_vec()).collect();
        let mut bytes = vec![0; wanted.len()];
        to_bytes::<S, T>(samples, order, &mut bytes);
        assert_eq!(bytes, wanted, "{order:?}");

        // And the way back, from bytes that another machine wrote.
        let written: Vec<u8> =
            samples.iter().flat_map(|value| value.to_bytes(order).as_ref().to_vec()).collect();
        let mut read = expected.to_vec();
        from_bytes::<S, T>(&written, order, &mut read);
        assert_eq!(bits(&read), bits(expected), "{order:?}");
    }
}

fn check_in_place<S, T>(samples: &[S], expected: &[T])
where
    S: Convert<T>,
    T: Sample,
{
    for order in ORDERS {
        let wanted: Vec<u8> =
            expected.iter().flat_map(|value| value.to_bytes(order).as_ref().to_vec()).collect();
        assert_eq!(to_bytes_in_place::<S, T>(&mut samples.to_vec(), order), wanted, "{order:?}");
    }
}

fn bits<T: Sample>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bytes(ByteOrder::Big).as_ref().to_vec()).collect()
}

macro_rules! pairs {
    ($samples:expr; $($to:ty: $convert:expr),*) => {
        $( check::<_, $to>(&$samples, &$samples.iter().map($convert).collect::<Vec<$to>>()); )*
    };
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_f64_is_converted_as_named(samples in prop::collection::vec(prop_oneof![
        any::<f64>(), -40_000.0..40_000.0, -3e9..3e9, (-70_000..70_000).prop_map(|n| f64::from(n) / 2.0),
        any::<u64>().prop_map(f64::from_bits), any::<f32>().prop_map(f64::from),
    ], 0..200)) {
        pairs!(samples; f64: |&x| x, f32: |&x| x as f32, i16: |&x| x.round_ties_even() as i16,
            i32: |&x| x.round_ties_even() as i32);
        let floats: Vec<f32> = samples.iter().map(|&x| x as f32).collect();
        check_in_place::<f64, f32>(&samples, &floats);
        check_in_place::<f64, f64>(&samples, &samples);
    }

    #[test]
    fn every_f32_is_converted_as_named(samples in prop::collection::vec(prop_oneof![
        any::<f32>(), -40_000.0..40_000.0_f32, -3e9..3e9_f32, any::<u32>().prop_map(f32::from_bits),
    ], 0..200)) {
        pairs!(samples; f32: |&x| x, f64: |&x| f64::from(x), i16: |&x| x.round_ties_even() as i16,
            i32: |&x| x.round_ties_even() as i32);
        let integers: Vec<i16> = samples.iter().map(|&x| x.round_ties_even() as i16).collect();
        check_in_place::<f32, i16>(&samples, &integers);
    }

    #[test]
    fn every_i32_is_converted_as_named(samples in prop::collection::vec(prop_oneof![any::<i32>(), -40_000..40_000], 0..200)) {
        pairs!(samples; i32: |&x| x, f64: |&x| f64::from(x), f32: |&x| x as f32,
            i16: |&x| i16::try_from(x).unwrap_or(if x < 0 { i16::MIN } else { i16::MAX }));
        let floats: Vec<f32> = samples.iter().map(|&x| x as f32).collect();
        check_in_place::<i32, f32>(&samples, &floats);
    }

    #[test]
    fn every_i16_is_converted_exactly(samples in prop::collection::vec(any::<i16>(), 0..200)) {
        pairs!(samples; i16: |&x| x, i32: |&x| i32::from(x), f32: |&x| f32::from(x), f64: |&x| f64::from(x));
        check_in_place::<i16, i16>(&samples, &samples);
    }

    #[test]
    fn what_is_as_wide_is_read_where_it_lies(samples in prop::collection::vec(any::<f32>(), 0..200)) {
        for order in ORDERS {
            let mut memory = samples.clone();
            let bytes = to_bytes_in_place::<f32, f32>(&mut memory, order);
            let read = from_bytes_in_place::<f32, f32>(bytes, order).expect("they lie as samples");
            prop_assert_eq!(bits(read), bits(&samples));
        }
    }

    #[test]
    fn any_exact_conversion_comes_back(samples in prop::collection::vec(any::<f32>(), 0..200), count in 0..8_usize) {
        let mut bytes = vec![0; samples.len() * 8];
        let mut back = samples.clone();
        for order in ORDERS {
            to_bytes::<f32, f64>(&samples, order, &mut bytes);
            from_bytes::<f64, f32>(&bytes, order, &mut back);
            prop_assert!(samples.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()));
        }
        // Bytes that do not lie as samples must are refused, not read.
        if let Some(odd) = bytes.get_mut(count..count + 8) {
            let is_aligned = odd.as_ptr().cast::<f64>().is_aligned();
            prop_assert_eq!(from_bytes_in_place::<f64, f64>(odd, ByteOrder::Little).is_some(), is_aligned);
        }
    }
}

#[test]
fn the_ends_of_the_ranges_saturate_and_halves_go_to_the_even_one() {
    let samples = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        32_767.5,
        -32_768.5,
        2_147_483_647.5,
        -2e9,
        3e9,
    ];
    let [small, wide] = [
        [0, 32_767, -32_768, 0, 2, 2, 0, -2, 32_767, -32_768, 32_767, -32_768, 32_767],
        [0, i32::MAX, i32::MIN, 0, 2, 2, 0, -2, 32_768, -32_768, i32::MAX, -2_000_000_000, i32::MAX],
    ];
    check::<f64, i16>(&samples, &small.map(|n| n as i16));
    check::<f64, i32>(&samples, &wide);
}

#[test]
fn every_loss_has_its_name() {
    assert_eq!(rounding::<f32, f64>(), Rounding::Exact);
    assert_eq!(rounding::<f64, f32>(), Rounding::Nearest);
    assert_eq!(rounding::<i32, f32>(), Rounding::Nearest);
    assert_eq!(rounding::<i32, i16>(), Rounding::Saturating);
    assert_eq!(rounding::<f64, i16>(), Rounding::NearestSaturating);
    assert_eq!(rounding::<i16, f32>(), Rounding::Exact);
}
