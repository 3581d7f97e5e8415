//! Registers of AVX-512 in intrinsics: eight numbers in double or sixteen in single precision. They are used in kernels whose
//! lanes compilers do not keep in registers: products of dense tiles, and products that gather and scatter nodes (half
//! the time of the compiler's code for plain loops). Operations that are not fused give results bit-identical to
//! those of [`Lanes`](super::Lanes) and [`F32x16`](super::F32x16).
//!
//! Soundness: a register is made from an [`Avx512`], which proves that the machine has the instructions, or from another
//! register. For speed, call from kernels that [`Avx512::run`] runs: everything here is inlined into its caller.

#![allow(unsafe_code, reason = "intrinsics for instructions that not every machine has")]
#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use super::dispatch::Avx512;
use super::lanes::row_index;

/// Eight numbers in double precision in a register of AVX-512.
#[derive(Debug, Clone, Copy)]
pub struct Avx512F64x8(__m512d);

/// Sixteen numbers in single precision in a register of AVX-512.
#[derive(Debug, Clone, Copy)]
pub struct Avx512F32x16(__m512);

macro_rules! operator {
    ($vector:ident, $trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: a register exists only where AVX-512 was detected.
                Self(unsafe { $instruction(self.0, other.0) })
            }
        }
    };
}

macro_rules! arithmetic {
    ($vector:ident, $number:ty, $splat:ident, $add:ident, $sub:ident, $mul:ident) => {
        operator!($vector, Add, add, $add);
        operator!($vector, Sub, sub, $sub);
        operator!($vector, Mul, mul, $mul);

        impl Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: a register exists only where AVX-512 was detected.
                Self(unsafe { $sub($splat(-0.0), self.0) })
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

        impl $vector {
            /// The same number in every lane.
            #[inline(always)]
            pub fn splat(_: Avx512, value: $number) -> Self {
                // SAFETY: the proof is there.
                Self(unsafe { $splat(value) })
            }
        }
    };
}

arithmetic!(Avx512F64x8, f64, _mm512_set1_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd);
arithmetic!(Avx512F32x16, f32, _mm512_set1_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps);

impl Avx512F64x8 {
    /// From memory.
    #[inline(always)]
    pub fn load(_: Avx512, from: &[f64; 8]) -> Self {
        // SAFETY: reads the whole array; the proof is there.
        Self(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }

    /// From numbers in single precision.
    #[inline(always)]
    pub fn load_singles(_: Avx512, from: &[f32; 8]) -> Self {
        // SAFETY: reads the whole array; the proof is there.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())) })
    }

    /// From the first eight numbers of a slice, or fewer and zeros.
    #[inline(always)]
    pub fn load_first(_: Avx512, from: &[f64]) -> Self {
        // SAFETY: the mask selects no more than the slice has; the proof is there.
        Self(unsafe { _mm512_maskz_loadu_pd(mask_of_first(from.len()), from.as_ptr()) })
    }

    /// Into memory.
    #[inline(always)]
    pub fn store(self, to: &mut [f64; 8]) {
        // SAFETY: writes the whole array; a register exists only where AVX-512 was detected.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }

    /// Into the first eight numbers of a slice, or as many as it has.
    #[inline(always)]
    pub fn store_first(self, to: &mut [f64]) {
        // SAFETY: the mask selects no more than the slice has; a register exists only where AVX-512 was detected.
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), mask_of_first(to.len()), self.0) }
    }

    /// `self + a b`, fused.
    #[inline(always)]
    pub fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: a register exists only where AVX-512 was detected.
        Self(unsafe { _mm512_fmadd_pd(a.0, b.0, self.0) })
    }

    /// `self - a b`, fused.
    #[inline(always)]
    pub fn subtract_product(self, a: Self, b: Self) -> Self {
        // SAFETY: a register exists only where AVX-512 was detected.
        Self(unsafe { _mm512_fnmadd_pd(a.0, b.0, self.0) })
    }

    /// As [`Lanes::where_set`](super::Lanes::where_set).
    #[inline(always)]
    pub fn where_set(proof: Avx512, flags: &[u8; 8], bit: u8, value: f64) -> Self {
        // SAFETY: no memory; the proof is there.
        Self(unsafe {
            let wide = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(*flags)));
            let set = _mm512_test_epi64_mask(wide, _mm512_set1_epi64(i64::from(bit)));
            _mm512_maskz_mov_pd(set, Self::splat(proof, value).0)
        })
    }

    /// As [`Lanes::gather_rows`](super::Lanes::gather_rows): rows are read whole, and shuffles turn them into components.
    #[inline(always)]
    pub fn gather_rows<const L: usize>(_: Avx512, table: &[[f64; 4]; L], rows: &[u16; 8]) -> [Self; 3] {
        let [a, b, c, d, e, f, g, h] = rows;
        // SAFETY: four numbers are read from rows of four; the proof is there.
        unsafe {
            let row = |number: &u16| _mm256_loadu_pd(table[row_index::<L>(*number)].as_ptr());
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

    /// As [`Lanes::add_to_rows`](super::Lanes::add_to_rows); adds zero to the fourth component.
    #[inline(always)]
    pub fn add_to_rows<const L: usize>([x, y, z]: [Self; 3], table: &mut [[f64; 4]; L], rows: &[u16; 8]) {
        // SAFETY: four numbers are read from and written to rows of four; a register exists only where AVX-512 was
        // detected.
        unsafe {
            let zero = _mm512_setzero_pd();
            let [xy, xy2] = [_mm512_unpacklo_pd(x.0, y.0), _mm512_unpackhi_pd(x.0, y.0)];
            let [z, z2] = [_mm512_unpacklo_pd(z.0, zero), _mm512_unpackhi_pd(z.0, zero)];
            let low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            let (even, odd) = (_mm512_permutex2var_pd(xy, low, z), _mm512_permutex2var_pd(xy2, low, z2));
            let (even2, odd2) = (_mm512_permutex2var_pd(xy, high, z), _mm512_permutex2var_pd(xy2, high, z2));
            let values = [
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
                let at = table[row_index::<L>(rows[i])].as_mut_ptr();
                _mm256_storeu_pd(at, _mm256_add_pd(_mm256_loadu_pd(at), values[i]));
            }
        }
    }
}

/// Selects the first `count` of eight.
#[inline(always)]
fn mask_of_first(count: usize) -> __mmask8 {
    if count < 8 { (1 << count) - 1 } else { !0 }
}

impl Avx512F32x16 {
    /// From memory.
    #[inline(always)]
    pub fn load(_: Avx512, from: &[f32; 16]) -> Self {
        // SAFETY: reads the whole array; the proof is there.
        Self(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }

    /// Into memory.
    #[inline(always)]
    pub fn store(self, to: &mut [f32; 16]) {
        // SAFETY: writes the whole array; a register exists only where AVX-512 was detected.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    /// As [`F32x16::where_set`](super::F32x16::where_set).
    #[inline(always)]
    pub fn where_set(proof: Avx512, flags: &[u8; 16], bit: u8, value: f32) -> Self {
        // SAFETY: reads the whole array; the proof is there.
        Self(unsafe {
            let wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(flags.as_ptr().cast()));
            let set = _mm512_test_epi32_mask(wide, _mm512_set1_epi32(i32::from(bit)));
            _mm512_maskz_mov_ps(set, Self::splat(proof, value).0)
        })
    }

    /// As [`F32x16::gather_rows`](super::F32x16::gather_rows): rows are read whole, and shuffles turn them into components.
    #[inline(always)]
    pub fn gather_rows<const L: usize>(_: Avx512, table: &[[f32; 4]; L], rows: &[u16; 16]) -> [Self; 3] {
        // SAFETY: four numbers are read from rows of four; the proof is there.
        unsafe {
            let row = |number: u16| _mm_loadu_ps(table[row_index::<L>(number)].as_ptr());
            let four = |i: usize| {
                let one = _mm512_castps128_ps512(row(rows[i]));
                let two = _mm512_insertf32x4(one, row(rows[i + 4]), 1);
                let three = _mm512_insertf32x4(two, row(rows[i + 8]), 2);
                _mm512_insertf32x4(three, row(rows[i + 12]), 3)
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

    /// As [`F32x16::add_to_rows`](super::F32x16::add_to_rows); adds zero to the fourth component.
    #[inline(always)]
    pub fn add_to_rows<const L: usize>([x, y, z]: [Self; 3], table: &mut [[f32; 4]; L], rows: &[u16; 16]) {
        // SAFETY: four numbers are read from and written to rows of four; a register exists only where AVX-512 was
        // detected.
        unsafe {
            let zero = _mm512_setzero_ps();
            let double = |a: __m512| _mm512_castps_pd(a);
            let single = |a: __m512d| _mm512_castpd_ps(a);
            let (xy, xy2) = (double(_mm512_unpacklo_ps(x.0, y.0)), double(_mm512_unpackhi_ps(x.0, y.0)));
            let (z, z2) = (double(_mm512_unpacklo_ps(z.0, zero)), double(_mm512_unpackhi_ps(z.0, zero)));
            let values = [
                single(_mm512_unpacklo_pd(xy, z)),
                single(_mm512_unpackhi_pd(xy, z)),
                single(_mm512_unpacklo_pd(xy2, z2)),
                single(_mm512_unpackhi_pd(xy2, z2)),
            ];
            let mut add = |number: u16, row: __m128| {
                let at = table[row_index::<L>(number)].as_mut_ptr();
                _mm_storeu_ps(at, _mm_add_ps(_mm_loadu_ps(at), row));
            };
            for i in 0..4 {
                add(rows[i], _mm512_castps512_ps128(values[i]));
            }
            for i in 0..4 {
                add(rows[4 + i], _mm512_extractf32x4_ps(values[i], 1));
            }
            for i in 0..4 {
                add(rows[8 + i], _mm512_extractf32x4_ps(values[i], 2));
            }
            for i in 0..4 {
                add(rows[12 + i], _mm512_extractf32x4_ps(values[i], 3));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{F32x16, Lanes, Simd};

    fn number(i: usize) -> f32 {
        (12.9898 * i as f32).sin()
    }

    fn table<T: From<f32>>() -> [[T; 4]; 32] {
        std::array::from_fn(|row| {
            std::array::from_fn(|c| if c < 3 { number(4 * row + c).into() } else { 0.0.into() })
        })
    }

    /// Rows with repetitions, so that sums depend on their order; some beyond the table.
    fn rows<const N: usize>() -> [u16; N] {
        std::array::from_fn(|i| [3, 7, 3, 32, 0, 31, 3, 9][i % 8])
    }

    macro_rules! agrees_with_lanes {
        ($test:ident, $register:ident, $lanes:ident, $number:ty, $width:literal) => {
            #[test]
            fn $test() {
                let Some(proof) = Avx512::detect(Simd::Auto) else {
                    eprintln!("skipped: no AVX-512 on this machine");
                    return;
                };
                let stored = |register: $register| {
                    let mut all = [0.0; $width];
                    register.store(&mut all);
                    all
                };
                let plain =
                    [$lanes::from_fn(|i| number(i).into()), $lanes::from_fn(|i| number(i + 50).into())];
                let [a, b] = plain.map(|lanes| $register::load(proof, &lanes.0));
                let [c, d] = plain;
                for (ours, theirs) in [(a + b, c + d), (a - b, c - d), (a * b, c * d), (-a, -c)] {
                    assert_eq!(stored(ours), theirs.0);
                }
                assert!(stored(-$register::splat(proof, 0.0)).iter().all(|zero| zero.is_sign_negative()));
                assert_eq!(stored($register::splat(proof, 2.5)), [2.5; $width]);
                let flags = std::array::from_fn(|i| 37 * i as u8);
                for bit in 0..8 {
                    let ours = $register::where_set(proof, &flags, 1 << bit, 0.25);
                    assert_eq!(stored(ours), $lanes::where_set(&flags, 1 << bit, 0.25).0);
                }
                let [mut ours, mut theirs] = [table::<$number>(); 2];
                let gathered = $register::gather_rows(proof, &ours, &rows());
                let expected = $lanes::gather_rows(&theirs, &rows());
                assert_eq!(gathered.map(stored), expected.map(|lanes| lanes.0));
                $register::add_to_rows([a, b, a * b], &mut ours, &rows());
                $lanes::add_to_rows([c, d, c * d], &mut theirs, &rows());
                assert_eq!(ours, theirs);
            }
        };
    }

    agrees_with_lanes!(registers_of_doubles_agree_with_lanes, Avx512F64x8, Lanes, f64, 8);
    agrees_with_lanes!(registers_of_singles_agree_with_lanes, Avx512F32x16, F32x16, f32, 16);
}
