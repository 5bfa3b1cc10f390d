//! Samples to the bytes that travel and back, the paper's `t_conv`: f32, f64, i16 and i32, in either byte order, whatever
//! the program computes in.
//!
//! What a conversion may lose is named by [`rounding`]. The loops are plain, so that compilers make vectors of them.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The order of a sample's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// What a conversion does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Every value survives; of a NaN that it is one.
    Exact,
    /// To the nearest value, of two as near the one whose last bit is 0; beyond the greatest float, to infinity.
    Nearest,
    /// To the nearest integer, of two as near the even one; beyond the range, to its end; a NaN to 0.
    NearestSaturating,
    /// Beyond the range, to its end.
    Saturating,
}

/// A type of samples.
pub trait Sample: Copy + FromBytes + IntoBytes + Immutable + 'static {
    /// Its bytes, in an array.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy + Default;
    /// In an order.
    fn to_bytes(self, order: ByteOrder) -> Self::Bytes;
    /// From an order.
    fn from_bytes(bytes: Self::Bytes, order: ByteOrder) -> Self;
}

/// A conversion between types of samples.
pub trait Convert<T>: Sample {
    /// What it does to a value.
    const ROUNDING: Rounding;
    /// The converted value.
    fn convert(self) -> T;
}

/// What the conversion from S to T does to a value.
pub const fn rounding<S: Convert<T>, T: Sample>() -> Rounding {
    S::ROUNDING
}

macro_rules! samples {
    ($($sample:ty),*) => {
        $(
            impl Sample for $sample {
                type Bytes = [u8; size_of::<$sample>()];

                #[inline]
                fn to_bytes(self, order: ByteOrder) -> Self::Bytes {
                    match order {
                        ByteOrder::Little => self.to_le_bytes(),
                        ByteOrder::Big => self.to_be_bytes(),
                    }
                }

                #[inline]
                fn from_bytes(bytes: Self::Bytes, order: ByteOrder) -> Self {
                    match order {
                        ByteOrder::Little => <$sample>::from_le_bytes(bytes),
                        ByteOrder::Big => <$sample>::from_be_bytes(bytes),
                    }
                }
            }
        )*
    };
}

samples!(f32, f64, i16, i32);

macro_rules! conversions {
    ($($from:ty => $to:ty, $rounding:ident, |$value:ident| $converted:expr;)*) => {
        $(
            impl Convert<$to> for $from {
                const ROUNDING: Rounding = Rounding::$rounding;

                #[inline]
                fn convert(self) -> $to {
                    let $value = self;
                    $converted
                }
            }
        )*
    };
}

#[rustfmt::skip]
conversions! {
    f32 => f32, Exact,             |x| x;
    f32 => f64, Exact,             |x| f64::from(x);
    f32 => i16, NearestSaturating, |x| nearest(f64::from(x), f64::from(i16::MIN), f64::from(i16::MAX)) as i16;
    f32 => i32, NearestSaturating, |x| nearest(f64::from(x), f64::from(i32::MIN), f64::from(i32::MAX));
    f64 => f32, Nearest,           |x| x as f32;
    f64 => f64, Exact,             |x| x;
    f64 => i16, NearestSaturating, |x| nearest(x, f64::from(i16::MIN), f64::from(i16::MAX)) as i16;
    f64 => i32, NearestSaturating, |x| nearest(x, f64::from(i32::MIN), f64::from(i32::MAX));
    i16 => f32, Exact,             |x| f32::from(x);
    i16 => f64, Exact,             |x| f64::from(x);
    i16 => i16, Exact,             |x| x;
    i16 => i32, Exact,             |x| i32::from(x);
    i32 => f32, Nearest,           |x| x as f32;
    i32 => f64, Exact,             |x| f64::from(x);
    i32 => i16, Saturating,        |x| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    i32 => i32, Exact,             |x| x;
}

/// The nearest integer within bounds, which are integers of 32 bits.
#[inline]
fn nearest(value: f64, min: f64, max: f64) -> i32 {
    // Behind this sum there is no place for a fraction, so the addition itself rounds, and the last bits are the integer.
    const NO_FRACTION: f64 = (3_u64 << 51) as f64;
    let value = if value.is_nan() { 0.0 } else { value };
    let value = if value < min { min } else { value };
    let value = if value > max { max } else { value };
    (value + NO_FRACTION).to_bits() as i32
}

/// Writes samples as values of type T.
///
/// # Panics
/// When `bytes` is not as long as so many values.
pub fn to_bytes<S: Convert<T>, T: Sample>(samples: &[S], order: ByteOrder, bytes: &mut [u8]) {
    assert_eq!(bytes.len(), size_of_val(samples) / size_of::<S>() * size_of::<T>(), "bytes of the samples");
    for (bytes, sample) in bytes.chunks_exact_mut(size_of::<T>()).zip(samples) {
        bytes.copy_from_slice(sample.convert().to_bytes(order).as_ref());
    }
}

/// Reads values of type T as samples.
///
/// # Panics
/// When `bytes` is not as long as so many values.
pub fn from_bytes<T: Convert<S>, S: Sample>(bytes: &[u8], order: ByteOrder, samples: &mut [S]) {
    assert_eq!(bytes.len(), samples.len() * size_of::<T>(), "bytes of the samples");
    for (bytes, sample) in bytes.chunks_exact(size_of::<T>()).zip(samples) {
        *sample = value::<T>(bytes, order).convert();
    }
}

/// Writes samples where they lie, as values of a type T that is no wider; returns the bytes, which begin at the first sample.
pub fn to_bytes_in_place<S: Convert<T>, T: Sample>(samples: &mut [S], order: ByteOrder) -> &mut [u8] {
    const { assert!(size_of::<T>() <= size_of::<S>(), "only what is no wider fits in place") };
    let count = samples.len();
    let bytes = samples.as_mut_bytes();
    for at in (0..count).step_by(RUN) {
        let run = RUN.min(count - at);
        // A run is read whole before it is written, and what is written never passes what was read.
        let mut converted = [T::Bytes::default(); RUN];
        let read = &bytes[at * size_of::<S>()..(at + run) * size_of::<S>()];
        for (converted, bytes) in converted.iter_mut().zip(read.chunks_exact(size_of::<S>())) {
            let sample = S::read_from_bytes(bytes).expect("a chunk is a sample");
            *converted = sample.convert().to_bytes(order);
        }
        let written = &mut bytes[at * size_of::<T>()..(at + run) * size_of::<T>()];
        for (bytes, converted) in written.chunks_exact_mut(size_of::<T>()).zip(&converted) {
            bytes.copy_from_slice(converted.as_ref());
        }
    }
    &mut bytes[..count * size_of::<T>()]
}

/// Reads values of type T where they lie, as samples of the same width; `None` when the bytes do not lie as samples must.
pub fn from_bytes_in_place<T: Convert<S>, S: Sample>(bytes: &mut [u8], order: ByteOrder) -> Option<&mut [S]> {
    const { assert!(size_of::<T>() == size_of::<S>(), "only what is as wide fits in place") };
    let samples = <[S]>::mut_from_bytes(bytes).ok()?;
    for sample in &mut *samples {
        *sample = value::<T>(sample.as_bytes(), order).convert();
    }
    Some(samples)
}

/// How many samples are converted at once in place.
const RUN: usize = 64;

#[inline]
fn value<T: Sample>(bytes: &[u8], order: ByteOrder) -> T {
    let mut array = T::Bytes::default();
    array.as_mut().copy_from_slice(bytes);
    T::from_bytes(array, order)
}
