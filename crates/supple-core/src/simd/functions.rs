//! Logarithm and angle of eight numbers, in lane arithmetic, so that results are bit-identical on every machine.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::f64::consts::{FRAC_PI_2, PI};

use super::lanes::{Lanes, WIDTH};

impl Lanes {
    /// Natural logarithms of positive normal numbers, to a few units in the last place:
    /// `ln(m 2ᵉ) = e ln 2 + 2 artanh((m - 1)/(m + 1))`.
    #[inline(always)]
    pub fn ln(self) -> Self {
        const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
        const MANTISSA: u64 = (1 << 52) - 1;
        let (mut exponent, mut mantissa) = (Self::default(), Self::default());
        for i in 0..WIDTH {
            // Adding the difference between 1 and √½ makes the exponent that of the nearest power of two.
            let bits = self.0[i].to_bits() + (0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
            exponent.0[i] = ((bits >> 52) as i32 - 1023) as f64;
            mantissa.0[i] = f64::from_bits((bits & MANTISSA) + SQRT_HALF_BITS);
        }
        let s = (mantissa - 1.0) / (mantissa + 1.0);
        // The low part of ln 2 is added separately, so that large exponents lose no digits.
        let (high, low) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
        exponent * high + (s * artanh_series(s * s) * 2.0 + exponent * low)
    }

    /// The angles of the points (`x`, `self`) in (-π, π], to a few units in the last place; zero for the origin.
    #[inline(always)]
    pub fn atan2(self, x: Self) -> Self {
        let zero = Self::default();
        let (high, low) = (self.abs().max(x.abs()), self.abs().min(x.abs()));
        // tan(a/2) = tan a/(1 + √(1 + tan² a)), twice, from at most 1 to at most tan(π/16).
        let halved = |t: Self| t / ((t * t + 1.0).sqrt() + 1.0);
        let t = halved(halved(low / high.max(Self::splat(f64::MIN_POSITIVE))));
        let octant = t * artanh_series(-(t * t)) * 4.0;
        let steep = x.abs().less(self.abs(), Self::splat(FRAC_PI_2) - octant, octant);
        let half_plane = x.less(zero, Self::splat(PI) - steep, steep);
        self.less(zero, -half_plane, half_plane)
    }
}

/// `artanh(√q)/√q` for `|q| < 0.04`, and `arctan(√-q)/√-q` for negative `q`.
#[inline(always)]
fn artanh_series(q: Lanes) -> Lanes {
    let mut sum = Lanes::default();
    for k in 0..12 {
        sum = sum * q + 1.0 / f64::from(23 - 2 * k);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_angles_are_those_of_the_standard_library() {
        for k in -400..400 {
            let x = (0.37 * f64::from(k)).exp() * (1.0 + 0.01 * f64::from(k).sin());
            let (ours, theirs) = (Lanes::splat(x).ln().0[0], x.ln());
            assert!(
                (ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs().max(0.1),
                "{x} {ours} {theirs}"
            );
            let angle = PI * f64::from(k) / 400.0;
            let (sin, cos) = (3.0 * angle.sin(), 3.0 * angle.cos());
            let (ours, theirs) = (Lanes::splat(sin).atan2(Lanes::splat(cos)).0[0], sin.atan2(cos));
            assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs(), "{angle} {ours} {theirs}");
        }
        assert_eq!(Lanes::default().atan2(Lanes::default()), Lanes::default());
        assert_eq!(Lanes::default().atan2(Lanes::splat(-1.0)), Lanes::splat(PI));
    }
}
