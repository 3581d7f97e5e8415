//! Registers of AVX2 in intrinsics; see `avx512` for their purpose and soundness.

#![allow(unsafe_code, reason = "intrinsics for instructions that not every machine has")]

use std::arch::x86_64::*;
use std::ops::{Mul, Sub};

use super::dispatch::Avx2;

/// Four numbers in double precision in a register of AVX2.
#[derive(Debug, Clone, Copy)]
pub struct Avx2F64x4(__m256d);

impl Sub for Avx2F64x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: a register exists only where AVX2 was detected.
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
}

impl Mul for Avx2F64x4 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: a register exists only where AVX2 was detected.
        Self(unsafe { _mm256_mul_pd(self.0, other.0) })
    }
}

impl Avx2F64x4 {
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(_: Avx2, value: f64) -> Self {
        // SAFETY: the proof is there.
        Self(unsafe { _mm256_set1_pd(value) })
    }

    /// From memory.
    #[inline(always)]
    pub fn load(_: Avx2, from: &[f64; 4]) -> Self {
        // SAFETY: reads the whole array; the proof is there.
        Self(unsafe { _mm256_loadu_pd(from.as_ptr()) })
    }

    /// From the first four numbers of a slice, or fewer and zeros.
    #[inline(always)]
    pub fn load_first(proof: Avx2, from: &[f64]) -> Self {
        // SAFETY: the mask selects no more than the slice has; the proof is there.
        Self(unsafe { _mm256_maskload_pd(from.as_ptr(), mask_of_first(proof, from.len())) })
    }

    /// Into memory.
    #[inline(always)]
    pub fn store(self, to: &mut [f64; 4]) {
        // SAFETY: writes the whole array; a register exists only where AVX2 was detected.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), self.0) }
    }

    /// Into the first four numbers of a slice, or as many as it has.
    #[inline(always)]
    pub fn store_first(self, to: &mut [f64]) {
        let mask = mask_of_first(Avx2::of_register(self), to.len());
        // SAFETY: the mask selects no more than the slice has; a register exists only where AVX2 was detected.
        unsafe { _mm256_maskstore_pd(to.as_mut_ptr(), mask, self.0) }
    }

    /// `self + a b`, fused.
    #[inline(always)]
    pub fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: a register exists only where AVX2 and FMA were detected.
        Self(unsafe { _mm256_fmadd_pd(a.0, b.0, self.0) })
    }

    /// `self - a b`, fused.
    #[inline(always)]
    pub fn subtract_product(self, a: Self, b: Self) -> Self {
        // SAFETY: a register exists only where AVX2 and FMA were detected.
        Self(unsafe { _mm256_fnmadd_pd(a.0, b.0, self.0) })
    }
}

/// Selects the first `count` of four.
#[inline(always)]
fn mask_of_first(_: Avx2, count: usize) -> __m256i {
    const MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    let mask: &[i64; 4] = MASKS[4 - count.min(4)..].first_chunk().expect("four of eight");
    // SAFETY: reads the whole array; the proof is there.
    unsafe { _mm256_loadu_si256(mask.as_ptr().cast()) }
}
