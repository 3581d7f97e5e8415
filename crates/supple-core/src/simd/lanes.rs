//! Numbers side by side, as arrays and plain loops, which compilers turn into vector instructions inside kernels. One macro
//! makes all types, so that all have the same operations. Sets of lanes are the bits of a number.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Number of lanes of [`Lanes`] and [`F32x8`].
pub const WIDTH: usize = 8;

macro_rules! operator {
    ($lanes:ident, $number:ty, $width:expr, $trait:ident, $method:ident, $assign_trait:ident, $assign:ident, $op:tt) => {
        impl $trait for $lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] $op other.0[i];
                }
                Self(out)
            }
        }
        impl $trait<$number> for $lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: $number) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] $op other;
                }
                Self(out)
            }
        }
        impl $assign_trait for $lanes {
            #[inline(always)]
            fn $assign(&mut self, other: Self) {
                for i in 0..$width {
                    self.0[i] $op other.0[i];
                }
            }
        }
    };
}

/// A type of lanes: its documentation, name, number, how many, and alignment in bytes.
macro_rules! lanes {
    ($(#[$doc:meta])* $lanes:ident, $number:ty, $width:expr, $align:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        #[repr(align($align))]
        pub struct $lanes(pub [$number; $width]);

        operator!($lanes, $number, $width, Add, add, AddAssign, add_assign, +=);
        operator!($lanes, $number, $width, Sub, sub, SubAssign, sub_assign, -=);
        operator!($lanes, $number, $width, Mul, mul, MulAssign, mul_assign, *=);

        impl Div for $lanes {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] /= other.0[i];
                }
                Self(out)
            }
        }

        impl Neg for $lanes {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] = -out[i];
                }
                Self(out)
            }
        }

        impl $lanes {
            /// Zero in every lane.
            pub const ZERO: Self = Self([0.0; $width]);

            /// The same number in every lane.
            #[inline(always)]
            pub fn splat(value: $number) -> Self {
                Self([value; $width])
            }

            /// `value(i)` in lane `i`.
            #[inline(always)]
            pub fn from_fn(mut value: impl FnMut(usize) -> $number) -> Self {
                let mut out = [0.0; $width];
                for i in 0..$width {
                    out[i] = value(i);
                }
                Self(out)
            }

            /// Square roots.
            #[inline(always)]
            pub fn sqrt(self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] = out[i].sqrt();
                }
                Self(out)
            }

            /// Absolute values.
            #[inline(always)]
            pub fn abs(self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] = out[i].abs();
                }
                Self(out)
            }

            /// The smaller of each pair; `other` where either is NaN.
            #[inline(always)]
            pub fn min(self, other: Self) -> Self {
                self.less(other, self, other)
            }

            /// The larger of each pair; `other` where either is NaN.
            #[inline(always)]
            pub fn max(self, other: Self) -> Self {
                other.less(self, self, other)
            }

            /// Clamps each lane to the range from 0 to 1.
            #[inline(always)]
            pub fn saturate(self) -> Self {
                self.max(Self::ZERO).min(Self::splat(1.0))
            }

            /// `then` where `self < other`, else `otherwise`.
            #[inline(always)]
            pub fn less(self, other: Self, then: Self, otherwise: Self) -> Self {
                let mut out = otherwise.0;
                for i in 0..$width {
                    out[i] = if self.0[i] < other.0[i] { then.0[i] } else { otherwise.0[i] };
                }
                Self(out)
            }

            /// Adds `a b`, with two roundings.
            #[inline(always)]
            pub fn add_product(&mut self, a: Self, b: Self) {
                for i in 0..$width {
                    self.0[i] += a.0[i] * b.0[i];
                }
            }

            /// The set of lanes that are not above those of `other`; NaN is never above.
            #[inline(always)]
            pub fn not_above(self, other: Self) -> u32 {
                let mut bits = [0; $width];
                for i in 0..$width {
                    bits[i] = if self.0[i] > other.0[i] { 0 } else { 1u32 << i };
                }
                joined(bits)
            }

            /// `value` in the lanes whose flags have `bit`, else zero.
            #[inline(always)]
            pub fn where_set(flags: &[u8; $width], bit: u8, value: $number) -> Self {
                let mut out = [0.0; $width];
                for i in 0..$width {
                    out[i] = if flags[i] & bit != 0 { value } else { 0.0 };
                }
                Self(out)
            }

            /// The first three components of rows of a table. `L` is a power of two; rows count modulo `L`.
            #[inline(always)]
            pub fn gather_rows<const L: usize>(table: &[[$number; 4]; L], rows: &[u16; $width]) -> [Self; 3] {
                let mut out = [Self::ZERO; 3];
                for i in 0..$width {
                    let row = &table[row_index::<L>(rows[i])];
                    for c in 0..3 {
                        out[c].0[i] = row[c];
                    }
                }
                out
            }

            /// Adds to the first three components of rows of a table, lane after lane. `L` is a power of two; rows count
            /// modulo `L`.
            #[inline(always)]
            pub fn add_to_rows<const L: usize>(
                values: [Self; 3],
                table: &mut [[$number; 4]; L],
                rows: &[u16; $width],
            ) {
                for i in 0..$width {
                    let row = &mut table[row_index::<L>(rows[i])];
                    for c in 0..3 {
                        row[c] += values[c].0[i];
                    }
                }
            }

            /// The sum of the first `count` lanes, in order.
            #[inline(always)]
            pub fn sum_of_first(self, count: usize) -> $number {
                self.0[..count].iter().sum()
            }
        }
    };
}

lanes!(
    /// Eight numbers in double precision, one per lane: what most kernels work on.
    Lanes, f64, WIDTH, 64
);
lanes!(
    /// Eight numbers in single precision, one per lane. A cache line holds two: none lies across two lines.
    F32x8, f32, WIDTH, 32
);
lanes!(
    /// Sixteen numbers in single precision, one per lane.
    F32x16, f32, 16, 64
);
lanes!(
    /// Four numbers in double precision, one per lane.
    F64x4, f64, 4, 32
);
lanes!(
    /// One number in double precision: a single element by the kernels of many.
    F64x1, f64, 1, 8
);

/// A row of a table with a power of two of them. The mask tells the compiler an invariant: no index is out of bounds.
#[inline(always)]
pub(super) fn row_index<const L: usize>(row: u16) -> usize {
    const { assert!(L.is_power_of_two()) };
    usize::from(row) & (L - 1)
}

/// The set of lanes that hold `number`.
#[inline(always)]
pub fn lanes_equal(numbers: &[u32; WIDTH], number: u32) -> u32 {
    let mut bits = [0; WIDTH];
    for i in 0..WIDTH {
        bits[i] = if numbers[i] == number { 1u32 << i } else { 0 };
    }
    joined(bits)
}

#[inline(always)]
fn joined<const N: usize>(bits: [u32; N]) -> u32 {
    let mut all = 0;
    for i in 0..N {
        all |= bits[i];
    }
    all
}

/// Removes the first lane from a set that is not empty.
#[inline(always)]
pub fn take_lane(set: &mut u32) -> usize {
    let lane = set.trailing_zeros();
    *set &= *set - 1;
    lane as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! agrees_with_scalars {
        ($test:ident, $lanes:ident, $number:ty, $width:expr) => {
            #[test]
            fn $test() {
                let a = $lanes::from_fn(|i| 0.5 + (3.7 * i as $number).sin());
                let b = $lanes::from_fn(|i| 0.3 + (1.9 * i as $number).cos());
                let c = $lanes::splat(0.75);
                let mut assigned = [a; 4];
                assigned[0] += b;
                assigned[1] -= b;
                assigned[2] *= b;
                assigned[3].add_product(b, c);
                let (mut not_above, mut sum) = (0, 0.0);
                for i in 0..$width {
                    let [x, y] = [a.0[i], b.0[i]];
                    assert_eq!(
                        [(a + b).0[i], (a - b).0[i], (a * b).0[i], (a / b).0[i]],
                        [x + y, x - y, x * y, x / y]
                    );
                    assert_eq!(
                        [(a + y).0[i], (a - y).0[i], (a * y).0[i], (-a).0[i]],
                        [x + y, x - y, x * y, -x]
                    );
                    assert_eq!(assigned.map(|lanes| lanes.0[i]), [x + y, x - y, x * y, x + y * 0.75]);
                    assert_eq!([a.abs().0[i], a.abs().sqrt().0[i]], [x.abs(), x.abs().sqrt()]);
                    assert_eq!([a.min(b).0[i], a.max(b).0[i]], [x.min(y), x.max(y)]);
                    assert_eq!(a.saturate().0[i], x.clamp(0.0, 1.0));
                    assert_eq!(a.less(b, c, a).0[i], if x < y { 0.75 } else { x });
                    not_above |= u32::from(x <= y) << i;
                    sum += x;
                    assert_eq!(a.sum_of_first(i + 1), sum);
                }
                assert_eq!(a.not_above(b), not_above);
                let nan = $lanes::splat(<$number>::NAN);
                assert_eq!([nan.min(a), nan.max(a)], [a, a]);
                assert_eq!(nan.not_above(a), a.not_above(a), "NaN is above nothing");
                assert_eq!([$lanes::default(), $lanes::ZERO], [$lanes::splat(0.0); 2]);
            }
        };
    }

    agrees_with_scalars!(eight_doubles_agree_with_scalars, Lanes, f64, WIDTH);
    agrees_with_scalars!(eight_singles_agree_with_scalars, F32x8, f32, WIDTH);
    agrees_with_scalars!(sixteen_singles_agree_with_scalars, F32x16, f32, 16);
    agrees_with_scalars!(four_doubles_agree_with_scalars, F64x4, f64, 4);
    agrees_with_scalars!(one_double_agrees_with_scalars, F64x1, f64, 1);

    #[test]
    fn lanes_are_taken_from_a_set_in_order() {
        let mut set = lanes_equal(&[5, 1, 5, 2, 3, 4, 6, 5], 5);
        let mut taken = Vec::new();
        while set != 0 {
            taken.push(take_lane(&mut set));
        }
        assert_eq!(taken, [0, 2, 7]);
    }
}
