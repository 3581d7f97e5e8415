//! What couples two functions of a level: a 3x3 block, or one number that stands for a multiple of the identity.
//!
//! The matrices of projective dynamics have such numbers only, and with them all coarse matrices: `Uᵀ (a ⊗ I₃) U = (UᵀaU) ⊗ I₃`, since
//! the functions of a node do not mix directions. Kept as numbers, every level is a ninth as large, and its three
//! directions are three right-hand sides of one matrix.

use std::ops::{AddAssign, Mul};

use glam::DMat3;

use crate::linear::definite_inverse;

/// A coupling of two functions.
pub(super) trait Entry:
    bytemuck::NoUninit + Send + Sync + AddAssign + Mul<f64, Output = Self>
{
    /// None at all.
    const ZERO: Self;
    /// How many unknowns of each function it couples; the other directions are right-hand sides of their own.
    const WIDTH: usize;
    /// Numbers of a function in the vectors of a level.
    const STRIDE: usize;

    /// A number of it.
    fn at(&self, row: usize, column: usize) -> f64;

    /// Its inverse, if it is positive definite beyond rounding.
    fn inverse(&self) -> Option<Self>;

    /// Its largest number on the diagonal.
    fn largest(&self) -> f64 {
        (0..Self::WIDTH).map(|k| self.at(k, k)).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl Entry for DMat3 {
    const ZERO: Self = Self::ZERO;
    const WIDTH: usize = 3;
    const STRIDE: usize = 3;

    fn at(&self, row: usize, column: usize) -> f64 {
        self.col(column)[row]
    }

    fn inverse(&self) -> Option<Self> {
        definite_inverse(self)
    }
}

impl Entry for f64 {
    const ZERO: Self = 0.0;
    const WIDTH: usize = 1;
    /// The three directions, and one that stays zero: together they fill a register.
    const STRIDE: usize = 4;

    fn at(&self, _row: usize, _column: usize) -> f64 {
        *self
    }

    fn inverse(&self) -> Option<Self> {
        (*self > 0.0 && self.is_finite()).then(|| 1.0 / self)
    }
}
