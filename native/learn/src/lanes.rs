//! Auto-vectorised arithmetic whose results do not depend on the vector width.
//!
//! Sums are accumulated in `LANES` columns, which are then added in order; multiply and add are never fused.

use crate::number::Number;
use std::f32::consts::LOG2_E;

const LANES: usize = 16;

/// Below this, exponentials are negligible.
const MIN_EXPONENT: f32 = -87.0;

/// Returns `e^x` for `x <= 88`, within two units in the last place; `x` is clamped to at least `MIN_EXPONENT`.
///
/// The polynomial is that of Cephes' `expf` (Moshier).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// Adding this rounds to an integer, which ends up in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts: products of the first with small integers are exact.
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    // Unlike `max`, this keeps NaN.
    let x = if x < MIN_EXPONENT { MIN_EXPONENT } else { x };
    let rounded = x * LOG2_E + ROUND;
    let integer = rounded - ROUND;
    let fraction = x - integer * LN_2.0 - integer * LN_2.1;
    let mut sum = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5] {
        sum = sum * fraction + coefficient;
    }
    let power = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    (sum * fraction * fraction + fraction + 1.0) * f32::from_bits(power)
}

/// Returns the largest number; arbitrary if there are NaNs.
#[inline(always)]
pub fn largest<T: Number>(row: &[T]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, number.to_f32());
        }
    }
    rest.iter().map(|number| number.to_f32()).chain(lanes).fold(f32::NEG_INFINITY, larger)
}

/// Returns the sum of `e^(x - shift)`.
#[inline(always)]
pub fn sum_of_exps<T: Number>(row: &[T], shift: f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane += exp(number.to_f32() - shift);
        }
    }
    rest.iter().map(|number| exp(number.to_f32() - shift)).chain(lanes).sum()
}

#[cfg(test)]
mod tests {
    use super::{exp, largest, sum_of_exps, MIN_EXPONENT};

    #[test]
    fn exponentials_are_right_to_the_last_places() {
        for i in 0..=200_000 {
            let x = MIN_EXPONENT + i as f32 * (175.0 / 200_000.0);
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 2.5e-7, "exp({x}) is wrong by {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e9), exp(MIN_EXPONENT));
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn rows_of_any_length_are_whole() {
        for length in [1, 6, 15, 16, 17, 100] {
            let row: Vec<f32> = (0..length).map(|i| (i * 7 % length) as f32 / 3.0).collect();
            let most = row.iter().copied().fold(f32::MIN, f32::max);
            assert_eq!(largest(&row), most);
            let expected: f64 = row.iter().map(|&x| f64::from(x - most).exp()).sum();
            assert!((f64::from(sum_of_exps(&row, most)) / expected - 1.0).abs() < 1e-6);
        }
    }
}
