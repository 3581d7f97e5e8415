//! Eight 3x3 matrices.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use glam::DMat3;

use super::lanes::{Lanes, WIDTH};
use super::vec3::LaneVec3;

/// Eight 3x3 matrices, as three columns.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneMat3(pub [LaneVec3; 3]);

impl Add for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl Sub for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl Neg for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b, c] = self.0;
        Self([-a, -b, -c])
    }
}

impl AddAssign for LaneMat3 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<Lanes> for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: Lanes) -> Self {
        let [a, b, c] = self.0;
        Self([a * scale, b * scale, c * scale])
    }
}

impl Mul<LaneVec3> for LaneMat3 {
    type Output = LaneVec3;
    #[inline(always)]
    fn mul(self, v: LaneVec3) -> LaneVec3 {
        self.0[0] * v.0[0] + self.0[1] * v.0[1] + self.0[2] * v.0[2]
    }
}

impl Mul for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let [x, y, z] = other.0;
        Self([self * x, self * y, self * z])
    }
}

impl LaneMat3 {
    /// `value(i)` in lane `i`.
    #[inline(always)]
    pub fn from_fn(value: impl Fn(usize) -> DMat3) -> Self {
        let mut out = Self::default();
        for i in 0..WIDTH {
            let matrix = value(i);
            for j in 0..3 {
                for c in 0..3 {
                    out.0[j].0[c].0[i] = matrix.col(j)[c];
                }
            }
        }
        out
    }

    /// `diagonal` on the diagonal.
    #[inline(always)]
    pub fn from_diagonal(diagonal: LaneVec3) -> Self {
        let mut matrix = Self::default();
        for i in 0..3 {
            matrix.0[i].0[i] = diagonal.0[i];
        }
        matrix
    }

    /// `scale` times the identity.
    #[inline(always)]
    pub fn scaled_identity(scale: Lanes) -> Self {
        Self::from_diagonal(LaneVec3([scale; 3]))
    }

    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::scaled_identity(Lanes::splat(1.0))
    }

    /// Products `selfᵀ v`.
    #[inline(always)]
    pub fn transpose_times(self, v: LaneVec3) -> LaneVec3 {
        let [a, b, c] = self.0;
        LaneVec3([a.dot(v), b.dot(v), c.dot(v)])
    }

    /// The sum of products of entries, `self : other`.
    #[inline(always)]
    pub fn contract(self, other: Self) -> Lanes {
        self.0[0].dot(other.0[0]) + self.0[1].dot(other.0[1]) + self.0[2].dot(other.0[2])
    }

    /// The matrices of cofactors, the derivatives of the determinants.
    #[inline(always)]
    pub fn cofactor(self) -> Self {
        let [a, b, c] = self.0;
        Self([b.cross(c), c.cross(a), a.cross(b)])
    }

    /// The matrix of one lane.
    #[inline(always)]
    pub fn lane(&self, i: usize) -> DMat3 {
        DMat3::from_cols(self.0[0].lane(i), self.0[1].lane(i), self.0[2].lane(i))
    }

    /// Transposes.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        let [LaneVec3([a, b, c]), LaneVec3([d, e, f]), LaneVec3([g, h, i])] = self.0;
        Self([LaneVec3([a, d, g]), LaneVec3([b, e, h]), LaneVec3([c, f, i])])
    }

    /// Determinants.
    #[inline(always)]
    pub fn determinant(self) -> Lanes {
        self.0[0].dot(self.0[1].cross(self.0[2]))
    }

    /// Traces.
    #[inline(always)]
    pub fn trace(self) -> Lanes {
        self.0[0].0[0] + self.0[1].0[1] + self.0[2].0[2]
    }

    /// Sums of squares of all entries.
    #[inline(always)]
    pub fn norm_squared(self) -> Lanes {
        self.0[0].dot(self.0[0]) + self.0[1].dot(self.0[1]) + self.0[2].dot(self.0[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd, dispatch, instruction_sets};

    struct MatrixProduct(LaneMat3, LaneMat3);

    impl Kernel for MatrixProduct {
        type Output = LaneMat3;
        #[inline(always)]
        fn run(self) -> LaneMat3 {
            self.0 * self.1
        }
    }

    fn matrices(seed: usize) -> LaneMat3 {
        LaneMat3::from_fn(|lane| {
            DMat3::from_cols_array(&std::array::from_fn(|i| ((seed + 9 * lane + i) as f64).sin()))
        })
    }

    #[test]
    fn lanes_agree_with_scalars_in_every_instruction_set() {
        for (name, here) in instruction_sets() {
            eprintln!(
                "{}",
                if here { name.to_owned() } else { format!("skipped: no {name} on this machine") }
            );
        }
        let (a, b) = (matrices(1), matrices(100));
        let best = dispatch(Simd::Auto, MatrixProduct(a, b));
        assert_eq!(best, dispatch(Simd::Baseline, MatrixProduct(a, b)));
        #[cfg(target_arch = "x86_64")]
        {
            use crate::simd::{Avx2, Avx512};
            if let Some(avx2) = Avx2::detect(Simd::Auto) {
                assert_eq!(best, avx2.run(MatrixProduct(a, b)));
            }
            if let Some(avx512) = Avx512::detect(Simd::Auto) {
                assert_eq!(best, avx512.run(MatrixProduct(a, b)));
            }
        }
        for lane in 0..WIDTH {
            let scalar = a.lane(lane) * b.lane(lane);
            assert!((best.lane(lane) - scalar).to_cols_array().iter().all(|d| d.abs() < 1e-15));
            assert!((a.determinant().0[lane] - a.lane(lane).determinant()).abs() < 1e-15);
            assert_eq!(a.transpose().lane(lane), a.lane(lane).transpose());
        }
    }
}
