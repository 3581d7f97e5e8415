//! Eight 3-vectors, in double and in single precision.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub};

use glam::DVec3;

use super::lanes::{F32x8, Lanes, WIDTH};
use super::mat3::LaneMat3;

macro_rules! vec3 {
    ($(#[$doc:meta])* $vector:ident, $lanes:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct $vector(pub [$lanes; 3]);

        impl Add for $vector {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let ([a, b, c], [x, y, z]) = (self.0, other.0);
                Self([a + x, b + y, c + z])
            }
        }

        impl Sub for $vector {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                let ([a, b, c], [x, y, z]) = (self.0, other.0);
                Self([a - x, b - y, c - z])
            }
        }

        impl Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let [a, b, c] = self.0;
                Self([-a, -b, -c])
            }
        }

        impl Mul<$lanes> for $vector {
            type Output = Self;
            #[inline(always)]
            fn mul(self, scale: $lanes) -> Self {
                let [a, b, c] = self.0;
                Self([a * scale, b * scale, c * scale])
            }
        }

        impl AddAssign for $vector {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Index<usize> for $vector {
            type Output = $lanes;
            #[inline(always)]
            fn index(&self, i: usize) -> &$lanes {
                &self.0[i]
            }
        }

        impl IndexMut<usize> for $vector {
            #[inline(always)]
            fn index_mut(&mut self, i: usize) -> &mut $lanes {
                &mut self.0[i]
            }
        }

        impl $vector {
            /// Zero vectors.
            pub const ZERO: Self = Self([$lanes::ZERO; 3]);

            /// Scalar products.
            #[inline(always)]
            pub fn dot(self, other: Self) -> $lanes {
                self.0[0] * other.0[0] + self.0[1] * other.0[1] + self.0[2] * other.0[2]
            }

            /// Cross products.
            #[inline(always)]
            pub fn cross(self, other: Self) -> Self {
                let ([a, b, c], [x, y, z]) = (self.0, other.0);
                Self([b * z - c * y, c * x - a * z, a * y - b * x])
            }

            /// Lengths.
            #[inline(always)]
            pub fn length(self) -> $lanes {
                self.dot(self).sqrt()
            }

            /// The smaller of each pair of components.
            #[inline(always)]
            pub fn min(self, other: Self) -> Self {
                let ([a, b, c], [x, y, z]) = (self.0, other.0);
                Self([a.min(x), b.min(y), c.min(z)])
            }

            /// The larger of each pair of components.
            #[inline(always)]
            pub fn max(self, other: Self) -> Self {
                let ([a, b, c], [x, y, z]) = (self.0, other.0);
                Self([a.max(x), b.max(y), c.max(z)])
            }
        }
    };
}

vec3!(
    /// Eight 3-vectors.
    LaneVec3, Lanes
);
vec3!(
    /// Eight 3-vectors in single precision.
    SingleVec3, F32x8
);

impl LaneVec3 {
    /// `value(i)` in lane `i`.
    #[inline(always)]
    pub fn from_fn(value: impl Fn(usize) -> DVec3) -> Self {
        let mut out = Self::default();
        for i in 0..WIDTH {
            let v = value(i);
            out.0[0].0[i] = v.x;
            out.0[1].0[i] = v.y;
            out.0[2].0[i] = v.z;
        }
        out
    }

    /// The vector of one lane.
    #[inline(always)]
    pub fn lane(&self, i: usize) -> DVec3 {
        DVec3::new(self.0[0].0[i], self.0[1].0[i], self.0[2].0[i])
    }

    /// The matrix `[self]×` of the cross product: `[self]× v = self × v`.
    #[inline(always)]
    pub fn cross_matrix(self) -> LaneMat3 {
        let ([a, b, c], o) = (self.0, Lanes::default());
        LaneMat3([LaneVec3([o, c, -b]), LaneVec3([-c, o, a]), LaneVec3([b, -a, o])])
    }

    /// The matrix `self otherᵀ`.
    #[inline(always)]
    pub fn outer(self, other: Self) -> LaneMat3 {
        let [x, y, z] = other.0;
        LaneMat3([self * x, self * y, self * z])
    }
}

impl SingleVec3 {
    /// The same vector in every lane.
    #[inline(always)]
    pub fn splat(v: [f32; 3]) -> Self {
        Self([F32x8::splat(v[0]), F32x8::splat(v[1]), F32x8::splat(v[2])])
    }

    /// The vector of one lane.
    #[inline(always)]
    pub fn lane(&self, i: usize) -> [f32; 3] {
        [self.0[0].0[i], self.0[1].0[i], self.0[2].0[i]]
    }

    /// The vector of one lane in every lane.
    #[inline(always)]
    pub fn splat_of(&self, i: usize) -> Self {
        Self::splat(self.lane(i))
    }

    /// Sets the vector of one lane.
    #[inline(always)]
    pub fn set(&mut self, i: usize, v: [f32; 3]) {
        for axis in 0..3 {
            self.0[axis].0[i] = v[axis];
        }
    }
}
