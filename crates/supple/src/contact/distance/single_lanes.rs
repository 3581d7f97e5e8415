//! Eight numbers in single precision, one for each of eight triangles or boxes. Plain loops, which compilers turn into
//! vector instructions inside kernels (see [`supple_core::simd`]); sets of lanes are the bits of a number.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::ops::{Add, Div, Mul, Sub};

/// The number of lanes.
pub(crate) const LANES: usize = 8;

/// Eight numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub(crate) struct Singles(pub(crate) [f32; LANES]);

/// Eight vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SingleVec3(pub(crate) [Singles; 3]);

macro_rules! lanewise {
    ($trait:ident, $method:ident, $op:tt) => {
        impl $trait for Singles {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: Self) -> Self {
                let mut out = self.0;
                for i in 0..LANES {
                    out[i] $op other.0[i];
                }
                Self(out)
            }
        }
    };
}

lanewise!(Add, add, +=);
lanewise!(Sub, sub, -=);
lanewise!(Mul, mul, *=);
lanewise!(Div, div, /=);

impl Singles {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn sqrt(self) -> Self {
        let mut out = self.0;
        for i in 0..LANES {
            out[i] = out[i].sqrt();
        }
        Self(out)
    }

    /// The smaller of each pair; the second where either is NaN.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn min(self, other: Self) -> Self {
        let mut out = other.0;
        for i in 0..LANES {
            out[i] = if self.0[i] < other.0[i] { self.0[i] } else { other.0[i] };
        }
        Self(out)
    }

    /// The larger of each pair; the second where either is NaN.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn max(self, other: Self) -> Self {
        let mut out = other.0;
        for i in 0..LANES {
            out[i] = if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] };
        }
        Self(out)
    }

    /// Each clamped to the range from 0 to 1.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn fraction(self) -> Self {
        self.max(Self::ZERO).min(Self::splat(1.0))
    }

    /// `then` where it is negative, else `otherwise`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn if_negative(self, then: Self, otherwise: Self) -> Self {
        let mut out = otherwise.0;
        for i in 0..LANES {
            out[i] = if self.0[i] < 0.0 { then.0[i] } else { otherwise.0[i] };
        }
        Self(out)
    }

    /// The lanes where it is not above another; never true for NaN.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn not_above(self, other: Self) -> u32 {
        let mut bits = [0; LANES];
        for i in 0..LANES {
            bits[i] = if self.0[i] > other.0[i] { 0 } else { 1u32 << i };
        }
        joined(bits)
    }
}

/// The lanes in which a number equals this one.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn equal(numbers: &[u32; LANES], number: u32) -> u32 {
    let mut bits = [0; LANES];
    for i in 0..LANES {
        bits[i] = if numbers[i] == number { 1u32 << i } else { 0 };
    }
    joined(bits)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn joined(bits: [u32; LANES]) -> u32 {
    let mut all = 0;
    for i in 0..LANES {
        all |= bits[i];
    }
    all
}

/// Removes the first lane from a set.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn take_lane(set: &mut u32) -> usize {
    let lane = set.trailing_zeros();
    *set &= *set - 1;
    lane as usize
}

impl Add for SingleVec3 {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] + b[0], a[1] + b[1], a[2] + b[2]])
    }
}

impl Sub for SingleVec3 {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sub(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] - b[0], a[1] - b[1], a[2] - b[2]])
    }
}

impl Mul<Singles> for SingleVec3 {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn mul(self, factor: Singles) -> Self {
        Self([self.0[0] * factor, self.0[1] * factor, self.0[2] * factor])
    }
}

impl SingleVec3 {
    pub(crate) const ZERO: Self = Self([Singles::ZERO; 3]);

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn splat(v: [f32; 3]) -> Self {
        Self([Singles::splat(v[0]), Singles::splat(v[1]), Singles::splat(v[2])])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn dot(self, other: Self) -> Singles {
        let (a, b) = (self.0, other.0);
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn cross(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn min(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2])])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn max(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0].max(b[0]), a[1].max(b[1]), a[2].max(b[2])])
    }

    /// The vector of one lane.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn lane(&self, i: usize) -> [f32; 3] {
        [self.0[0].0[i], self.0[1].0[i], self.0[2].0[i]]
    }

    /// The vector of one lane, broadcast to all of them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn splat_of(&self, i: usize) -> Self {
        Self::splat(self.lane(i))
    }

    pub(crate) fn set(&mut self, i: usize, v: [f32; 3]) {
        for axis in 0..3 {
            self.0[axis].0[i] = v[axis];
        }
    }
}
