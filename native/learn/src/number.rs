//! The number types of networks on the CPU. Sums always use `f32`.

/// A number type of networks.
pub trait Number: Copy + Send + Sync {
    fn to_f32(self) -> f32;
    /// Rounds to the nearest value, ties to even.
    fn from_f32(number: f32) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_f32(number: f32) -> Self {
        number
    }
}

/// The bits of a bfloat16: the upper half of an `f32`.
pub type Bf16 = u16;

impl Number for Bf16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self) << 16)
    }

    #[inline(always)]
    fn from_f32(number: f32) -> Self {
        const NOT_A_NUMBER: u16 = 0x7fc0;
        let bits = number.to_bits();
        let nearest = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
        if number.is_nan() {
            NOT_A_NUMBER
        } else {
            nearest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bf16, Number};

    #[test]
    fn every_bfloat16_is_what_it_is_narrowed_from() {
        for bits in 0..=Bf16::MAX {
            let number = bits.to_f32();
            if !number.is_nan() {
                assert_eq!(Bf16::from_f32(number), bits);
            }
        }
    }

    #[test]
    fn halves_go_to_the_even_one() {
        let (one, next, after) = (1.0f32, 1.0078125f32, 1.015625f32);
        assert_eq!(Bf16::from_f32((one + next) / 2.0).to_f32(), one);
        assert_eq!(Bf16::from_f32((next + after) / 2.0).to_f32(), after);
        assert_eq!(Bf16::from_f32((one + next) / 2.0 + 1e-6).to_f32(), next);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        assert!(Bf16::from_f32(f32::NAN).to_f32().is_nan());
        assert!(Bf16::from_f32(f32::from_bits(0x7fff_ffff)).to_f32().is_nan());
        assert_eq!(Bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    }
}
