//! [`Vector`] in AVX-512 intrinsics, for the product with the stiffness: half the time of the compiler's code for the
//! plain loops of [`Wide`](crate::solvers::octree::element::wide::Wide), and bit-identical (a test compares them). A node is read and written at once, and
//! shuffles turn rows of nodes into rows of components.
//!
//! Every function must be inlined into one that is compiled for AVX-512 and runs where the machine has it. Like the other
//! instruction sets (`supple_core::simd`) it is left out of builds with debug assertions.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use crate::solvers::octree::element::blocks::{BATCH, LOCAL};
use crate::solvers::octree::element::wide::Vector;

/// Eight numbers in double precision.
#[derive(Clone, Copy)]
pub(crate) struct Eight(__m512d);

/// Sixteen numbers in single precision.
#[derive(Clone, Copy)]
pub(crate) struct Sixteen(__m512);

macro_rules! operator {
    ($vector:ident, $trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: arithmetic; the machine has AVX-512 (see the module).
                Self(unsafe { $instruction(self.0, other.0) })
            }
        }
    };
}

macro_rules! operators {
    ($vector:ident, $add:ident, $sub:ident, $mul:ident) => {
        operator!($vector, Add, add, $add);
        operator!($vector, Sub, sub, $sub);
        operator!($vector, Mul, mul, $mul);
        impl Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::splat(-0.0) - self
            }
        }
        impl AddAssign for $vector {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl SubAssign for $vector {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
}

operators!(Eight, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd);
operators!(Sixteen, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps);

/// A node of the scratch. The mask tells the compiler an invariant: no index is out of bounds.
#[inline(always)]
fn node(number: u16) -> usize {
    usize::from(number) & (LOCAL - 1)
}

impl Vector for Eight {
    type Number = f64;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: no memory; the machine has AVX-512 (see the module).
        Self(unsafe { _mm512_set1_pd(f64::from(value)) })
    }

    #[inline(always)]
    fn load(stored: &[f32; BATCH], half: usize) -> Self {
        let part = &stored.as_chunks::<8>().0[half];
        // SAFETY: eight numbers are read from as many.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(part.as_ptr())) })
    }

    #[inline(always)]
    fn where_set(flags: &[u8; BATCH], half: usize, bit: u8, value: f32) -> Self {
        let part = i64::from_le_bytes(flags.as_chunks::<8>().0[half]);
        // SAFETY: no memory; the machine has AVX-512 (see the module).
        Self(unsafe {
            let wide = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(part));
            let set = _mm512_test_epi64_mask(wide, _mm512_set1_epi64(i64::from(bit)));
            _mm512_maskz_mov_pd(set, Self::splat(value).0)
        })
    }

    #[inline(always)]
    fn gather(from: &[[f64; 4]; LOCAL], nodes: &[u16; BATCH], half: usize) -> [Self; 3] {
        let [a, b, c, d, e, f, g, h] = &nodes.as_chunks::<8>().0[half];
        // SAFETY: four numbers are read from nodes of as many.
        unsafe {
            let row = |number: &u16| _mm256_loadu_pd(from[node(*number)].as_ptr());
            let two =
                |low: &u16, high: &u16| _mm512_insertf64x4(_mm512_castpd256_pd512(row(low)), row(high), 1);
            let [ae, bf, cg, dh] = [two(a, e), two(b, f), two(c, g), two(d, h)];
            let [xz, xz2] = [_mm512_unpacklo_pd(ae, bf), _mm512_unpacklo_pd(cg, dh)];
            let [yw, yw2] = [_mm512_unpackhi_pd(ae, bf), _mm512_unpackhi_pd(cg, dh)];
            let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            [
                Self(_mm512_permutex2var_pd(xz, low, xz2)),
                Self(_mm512_permutex2var_pd(yw, low, yw2)),
                Self(_mm512_permutex2var_pd(xz, high, xz2)),
            ]
        }
    }

    #[inline(always)]
    fn add_to([x, y, z]: [Self; 3], to: &mut [[f64; 4]; LOCAL], nodes: &[u16; BATCH], half: usize) {
        let part = &nodes.as_chunks::<8>().0[half];
        // SAFETY: four numbers are read from and written to nodes of as many.
        unsafe {
            let zero = _mm512_setzero_pd();
            let [xy, xy2] = [_mm512_unpacklo_pd(x.0, y.0), _mm512_unpackhi_pd(x.0, y.0)];
            let [z, z2] = [_mm512_unpacklo_pd(z.0, zero), _mm512_unpackhi_pd(z.0, zero)];
            let low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            let (even, odd) = (_mm512_permutex2var_pd(xy, low, z), _mm512_permutex2var_pd(xy2, low, z2));
            let (even2, odd2) = (_mm512_permutex2var_pd(xy, high, z), _mm512_permutex2var_pd(xy2, high, z2));
            let rows = [
                _mm512_castpd512_pd256(even),
                _mm512_castpd512_pd256(odd),
                _mm512_extractf64x4_pd(even, 1),
                _mm512_extractf64x4_pd(odd, 1),
                _mm512_castpd512_pd256(even2),
                _mm512_castpd512_pd256(odd2),
                _mm512_extractf64x4_pd(even2, 1),
                _mm512_extractf64x4_pd(odd2, 1),
            ];
            for i in 0..8 {
                let at = to[node(part[i])].as_mut_ptr();
                _mm256_storeu_pd(at, _mm256_add_pd(_mm256_loadu_pd(at), rows[i]));
            }
        }
    }
}

impl Vector for Sixteen {
    type Number = f32;
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: no memory; the machine has AVX-512 (see the module).
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    fn load(stored: &[f32; BATCH], _half: usize) -> Self {
        // SAFETY: sixteen numbers are read from as many.
        Self(unsafe { _mm512_loadu_ps(stored.as_ptr()) })
    }

    #[inline(always)]
    fn where_set(flags: &[u8; BATCH], _half: usize, bit: u8, value: f32) -> Self {
        // SAFETY: sixteen bytes are read from as many.
        Self(unsafe {
            let wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(flags.as_ptr().cast()));
            let set = _mm512_test_epi32_mask(wide, _mm512_set1_epi32(i32::from(bit)));
            _mm512_maskz_mov_ps(set, Self::splat(value).0)
        })
    }

    #[inline(always)]
    fn gather(from: &[[f32; 4]; LOCAL], nodes: &[u16; BATCH], _half: usize) -> [Self; 3] {
        // SAFETY: four numbers are read from nodes of as many.
        unsafe {
            let row = |number: u16| _mm_loadu_ps(from[node(number)].as_ptr());
            let four = |i: usize| {
                let one = _mm512_castps128_ps512(row(nodes[i]));
                let two = _mm512_insertf32x4(one, row(nodes[i + 4]), 1);
                let three = _mm512_insertf32x4(two, row(nodes[i + 8]), 2);
                _mm512_insertf32x4(three, row(nodes[i + 12]), 3)
            };
            let [a, b, c, d] = [four(0), four(1), four(2), four(3)];
            let single = |a: __m512d| _mm512_castpd_ps(a);
            let double = |a: __m512| _mm512_castps_pd(a);
            let (xy, xy2) = (double(_mm512_unpacklo_ps(a, b)), double(_mm512_unpacklo_ps(c, d)));
            let (zw, zw2) = (double(_mm512_unpackhi_ps(a, b)), double(_mm512_unpackhi_ps(c, d)));
            [
                Self(single(_mm512_unpacklo_pd(xy, xy2))),
                Self(single(_mm512_unpackhi_pd(xy, xy2))),
                Self(single(_mm512_unpacklo_pd(zw, zw2))),
            ]
        }
    }

    #[inline(always)]
    fn add_to([x, y, z]: [Self; 3], to: &mut [[f32; 4]; LOCAL], nodes: &[u16; BATCH], _half: usize) {
        // SAFETY: four numbers are read from and written to nodes of as many.
        unsafe {
            let zero = _mm512_setzero_ps();
            let double = |a: __m512| _mm512_castps_pd(a);
            let single = |a: __m512d| _mm512_castpd_ps(a);
            let (xy, xy2) = (double(_mm512_unpacklo_ps(x.0, y.0)), double(_mm512_unpackhi_ps(x.0, y.0)));
            let (z, z2) = (double(_mm512_unpacklo_ps(z.0, zero)), double(_mm512_unpackhi_ps(z.0, zero)));
            let rows = [
                single(_mm512_unpacklo_pd(xy, z)),
                single(_mm512_unpackhi_pd(xy, z)),
                single(_mm512_unpacklo_pd(xy2, z2)),
                single(_mm512_unpackhi_pd(xy2, z2)),
            ];
            let mut add = |number: u16, row: __m128| {
                let at = to[node(number)].as_mut_ptr();
                _mm_storeu_ps(at, _mm_add_ps(_mm_loadu_ps(at), row));
            };
            for i in 0..4 {
                add(nodes[i], _mm512_castps512_ps128(rows[i]));
            }
            for i in 0..4 {
                add(nodes[4 + i], _mm512_extractf32x4_ps(rows[i], 1));
            }
            for i in 0..4 {
                add(nodes[8 + i], _mm512_extractf32x4_ps(rows[i], 2));
            }
            for i in 0..4 {
                add(nodes[12 + i], _mm512_extractf32x4_ps(rows[i], 3));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::octree::element::blocks::{Corners, Scratch};
    use crate::solvers::octree::element::stiffness::{CorotatedBatch, ProductOfBlock};
    use crate::solvers::octree::element::wide::Real;
    use supple_core::simd::{Kernel, Simd, has_avx512, run_avx512};

    /// Numbers in -1 to 1.
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        }

        fn row(&mut self) -> [f32; BATCH] {
            std::array::from_fn(|_| self.next())
        }

        fn batch(&mut self) -> CorotatedBatch {
            CorotatedBatch {
                spring: self.row(),
                lambda: self.row(),
                rotation: std::array::from_fn(|_| self.row()),
                twist: std::array::from_fn(|_| self.row()),
            }
        }

        /// Few nodes, so that elements of a batch share some; every other batch has no hanging slots.
        fn corners(&mut self, hang: bool) -> Corners {
            let mut below = |most: f32| (0.5 * most * (self.next() + 1.0)).min(most - 1.0);
            Corners {
                slots: std::array::from_fn(|_| std::array::from_fn(|_| below(40.0) as u16)),
                hanging: std::array::from_fn(|_| if hang { below(64.0) as u8 } else { 0 }),
            }
        }

        fn scratch<T: Real>(&mut self) -> Scratch<T> {
            let mut scratch = Scratch::default();
            for node in &mut scratch.x[..40] {
                *node = [T::of(self.next()), T::of(self.next()), T::of(self.next()), T::default()];
            }
            scratch
        }
    }

    /// Zeros of either sign differ, too.
    fn bits<T: Real>(node: &[T; 4]) -> [u64; 4] {
        node.map(|entry| entry.double().to_bits())
    }

    fn differences<T: Real>() -> usize {
        let noise = &mut Noise(5);
        let corners: Vec<Corners> = (0..8).map(|b| noise.corners(b % 2 == 1)).collect();
        let batches: Vec<CorotatedBatch> = (0..8).map(|_| noise.batch()).collect();
        let [mut plain, mut fast]: [Scratch<T>; 2] = [noise.scratch(), Scratch::default()];
        fast.x.copy_from_slice(&plain.x[..]);
        ProductOfBlock::<_, T::Portable>(&corners, &batches, &mut plain).run();
        // SAFETY: the features were detected on this machine.
        unsafe { run_avx512(ProductOfBlock::<_, T::Avx512>(&corners, &batches, &mut fast)) };
        assert!(plain.y[..40].iter().all(|node| node[..3].iter().all(|entry| entry.double() != 0.0)));
        plain.y.iter().zip(&fast.y[..]).filter(|(a, b)| bits(a) != bits(b)).count()
    }

    #[test]
    fn avx512_and_plain_loops_give_products_of_the_same_bits() {
        if has_avx512(Simd::Auto) {
            assert_eq!([differences::<f32>(), differences::<f64>()], [0, 0]);
        } else {
            eprintln!("skipped: no AVX-512 on this machine");
        }
    }
}
