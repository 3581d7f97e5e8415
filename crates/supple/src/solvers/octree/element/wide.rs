//! Vectors in single or double precision: the operator of the levels is `f32` in rows of sixteen, that of the
//! outer iteration `f64` in rows of eight. See `supple_core::simd` for how such loops become vector instructions.
//!
//! Kernels are generic over [`Vector`]: [`Wide`] consists of plain loops and serves every machine. Where a kernel also accesses
//! scattered nodes the compiler fails to vectorise the rows (it pairs components, or the axes), and
//! half of the time goes into shuffles; so the product has explicit AVX-512 (`avx512`).

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::cell::RefCell;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::solvers::octree::element::blocks::{BATCH, LOCAL, Scratch};

/// `f32` or `f64`.
pub(crate) trait Real:
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
    /// The vector type on any machine.
    type Portable: Vector<Number = Self>;
    /// The same with AVX-512.
    #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
    type Avx512: Vector<Number = Self>;
    /// The thread's buffers for the nodes of a block.
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

macro_rules! real {
    ($number:ty, $lanes:literal, $avx512:ident, $scratch:ident) => {
        thread_local! {
            static $scratch: RefCell<Scratch<$number>> = RefCell::new(Scratch::default());
        }
        impl Real for $number {
            type Portable = Wide<$number, $lanes>;
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            type Avx512 = crate::solvers::octree::element::avx512::$avx512;
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

real!(f32, 16, Sixteen, SINGLE);
real!(f64, 8, Eight, DOUBLE);

/// A vector with one element per lane: a part of the sixteen elements of a batch.
pub(crate) trait Vector:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// The scalar type.
    type Number: Real;
    /// The number of lanes.
    const LANES: usize;

    /// The same number in every lane.
    fn splat(value: f32) -> Self;

    /// Part `half` of sixteen stored numbers.
    fn load(stored: &[f32; BATCH], half: usize) -> Self;

    /// `value` in the lanes of part `half` where `flags` has this bit, else zero.
    fn where_set(flags: &[u8; BATCH], half: usize, bit: u8, value: f32) -> Self;

    /// The components of the nodes in part `half`.
    fn gather(from: &[[Self::Number; 4]; LOCAL], nodes: &[u16; BATCH], half: usize) -> [Self; 3];

    /// Adds components to the nodes in part `half`, in their order.
    fn add_to(values: [Self; 3], to: &mut [[Self::Number; 4]; LOCAL], nodes: &[u16; BATCH], half: usize);
}

/// `N` numbers, one element per lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide<T, const N: usize>(pub(crate) [T; N]);

impl<T: Real, const N: usize> Wide<T, N> {
    /// Zeros.
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self([T::default(); N])
    }
}

impl<T: Real, const N: usize> Vector for Wide<T, N> {
    type Number = T;
    const LANES: usize = N;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([T::of(value); N])
    }

    #[inline(always)]
    fn load(stored: &[f32; BATCH], half: usize) -> Self {
        let part = &stored.as_chunks::<N>().0[half];
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = T::of(part[i]);
        }
        Self(out)
    }

    #[inline(always)]
    fn where_set(flags: &[u8; BATCH], half: usize, bit: u8, value: f32) -> Self {
        let part = &flags.as_chunks::<N>().0[half];
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = if part[i] & bit != 0 { T::of(value) } else { T::default() };
        }
        Self(out)
    }

    #[inline(always)]
    fn gather(from: &[[T; 4]; LOCAL], nodes: &[u16; BATCH], half: usize) -> [Self; 3] {
        let part = &nodes.as_chunks::<N>().0[half];
        let mut out = [Self::zero(); 3];
        for i in 0..N {
            // The mask tells the compiler an invariant: no index is out of bounds.
            let node = &from[usize::from(part[i]) & (LOCAL - 1)];
            for c in 0..3 {
                out[c].0[i] = node[c];
            }
        }
        out
    }

    #[inline(always)]
    fn add_to(values: [Self; 3], to: &mut [[T; 4]; LOCAL], nodes: &[u16; BATCH], half: usize) {
        let part = &nodes.as_chunks::<N>().0[half];
        for i in 0..N {
            let node = &mut to[usize::from(part[i]) & (LOCAL - 1)];
            for c in 0..3 {
                node[c] += values[c].0[i];
            }
        }
    }
}

/// 3x3 matrices, one per element, as rows.
pub(crate) type WideMat3<V> = [[V; 3]; 3];

/// Part `half` of sixteen stored matrices.
#[inline(always)]
pub(crate) fn load_matrix<V: Vector>(
    [a, b, c, d, e, f, g, h, i]: &[[f32; BATCH]; 9],
    half: usize,
) -> WideMat3<V> {
    [
        [V::load(a, half), V::load(b, half), V::load(c, half)],
        [V::load(d, half), V::load(e, half), V::load(f, half)],
        [V::load(g, half), V::load(h, half), V::load(i, half)],
    ]
}

/// `a b`.
#[inline(always)]
pub(crate) fn matrix_product<V: Vector>(a: &WideMat3<V>, b: &WideMat3<V>) -> WideMat3<V> {
    [row_product(&a[0], b), row_product(&a[1], b), row_product(&a[2], b)]
}

#[inline(always)]
fn row_product<V: Vector>(a: &[V; 3], b: &WideMat3<V>) -> [V; 3] {
    [
        a[0] * b[0][0] + a[1] * b[1][0] + a[2] * b[2][0],
        a[0] * b[0][1] + a[1] * b[1][1] + a[2] * b[2][1],
        a[0] * b[0][2] + a[1] * b[1][2] + a[2] * b[2][2],
    ]
}

/// `aᵀ`.
#[inline(always)]
pub(crate) fn transposed<V: Copy>(a: &[[V; 3]; 3]) -> [[V; 3]; 3] {
    [[a[0][0], a[1][0], a[2][0]], [a[0][1], a[1][1], a[2][1]], [a[0][2], a[1][2], a[2][2]]]
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
