//! Numbers side by side in single or double precision: the operator of the levels is `f32` in rows of sixteen, that of the
//! outer iteration `f64` in rows of eight. See `crate::simd` for how such loops become vector instructions.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::cell::RefCell;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::blocks::Scratch;

/// `f32` or `f64`.
pub(super) trait Real:
    Copy
    + Default
    + Send
    + Sync
    + 'static
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// A stored number.
    fn of(value: f32) -> Self;
    /// To double precision.
    fn double(self) -> f64;
    /// The thread's buffers for the nodes of a block.
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

macro_rules! real {
    ($number:ty, $scratch:ident) => {
        thread_local! {
            static $scratch: RefCell<Scratch<$number>> = RefCell::new(Scratch::default());
        }
        impl Real for $number {
            #[inline(always)]
            fn of(value: f32) -> Self {
                value.into()
            }
            #[inline(always)]
            fn double(self) -> f64 {
                self.into()
            }
            fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R {
                $scratch.with(|scratch| work(&mut scratch.borrow_mut()))
            }
        }
    };
}

real!(f32, SINGLE);
real!(f64, DOUBLE);

/// `N` numbers, each of its own element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide<T, const N: usize>(pub(super) [T; N]);

impl<T: Real, const N: usize> Wide<T, N> {
    /// Zeros.
    #[inline(always)]
    pub(super) fn zero() -> Self {
        Self([T::default(); N])
    }

    /// The same number in every place.
    #[inline(always)]
    pub(super) fn splat(value: T) -> Self {
        Self([value; N])
    }

    /// Part `half` of sixteen stored numbers.
    #[inline(always)]
    pub(super) fn load(stored: &[f32; 16], half: usize) -> Self {
        let part = &stored.as_chunks::<N>().0[half];
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = T::of(part[i]);
        }
        Self(out)
    }
}

/// 3x3 matrices, one of each element, as rows.
pub(super) type WideMat3<T, const N: usize> = [[Wide<T, N>; 3]; 3];

/// Part `half` of sixteen stored matrices.
#[inline(always)]
pub(super) fn load_matrix<T: Real, const N: usize>(stored: &[[f32; 16]; 9], half: usize) -> WideMat3<T, N> {
    let mut out = [[Wide::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i][j] = Wide::load(&stored[3 * i + j], half);
        }
    }
    out
}

/// `a b`.
#[inline(always)]
pub(super) fn matrix_product<T: Real, const N: usize>(
    a: &WideMat3<T, N>,
    b: &WideMat3<T, N>,
) -> WideMat3<T, N> {
    let mut out = [[Wide::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
        }
    }
    out
}

/// `aᵀ`.
#[inline(always)]
pub(super) fn transposed<T: Real, const N: usize>(a: &WideMat3<T, N>) -> WideMat3<T, N> {
    let mut out = [[Wide::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i][j] = a[j][i];
        }
    }
    out
}

macro_rules! by_place {
    ($trait:ident, $method:ident, $op:tt) => {
        impl<T: Real, const N: usize> $trait for Wide<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = self.0;
                for i in 0..N {
                    out[i] $op other.0[i];
                }
                Self(out)
            }
        }
    };
}

by_place!(Add, add, +=);
by_place!(Sub, sub, -=);
by_place!(Mul, mul, *=);

impl<T: Real, const N: usize> AddAssign for Wide<T, N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<T: Real, const N: usize> SubAssign for Wide<T, N> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<T: Real, const N: usize> Neg for Wide<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let mut out = self.0;
        for i in 0..N {
            out[i] = -out[i];
        }
        Self(out)
    }
}
