//! Vectors of `W` numbers for the dense kernels: registers of AVX-512 and AVX2, and plain lanes as the portable fallback.
//!
//! With plain lanes alone, details of the loops decide whether the compiler keeps the tiles of a product in registers or in
//! memory (measured: a factor of more than ten between two formulations of the same loops), so the x86 vectors use intrinsics
//! (`supple_core::simd`).

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use supple_core::simd::F64x4;
#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
use supple_core::simd::{Avx2, Avx2F64x4, Avx512, Avx512F64x8};

/// `W` numbers.
pub(super) trait KernelVector<const W: usize>: Copy {
    /// Required to create one: proof that the machine has its instructions.
    type Proof: Copy;
    /// Panels side by side in the largest tile, at most three: `TILE_PANELS W` vectors of sums, one per panel and one
    /// more fit into the registers, with a few left for the compiler to load ahead.
    const TILE_PANELS: usize;
    /// Broadcasts a number.
    fn splat(proof: Self::Proof, value: f64) -> Self;
    /// Loads from memory.
    fn load(proof: Self::Proof, from: &[f64; W]) -> Self;
    /// Stores to memory.
    fn store(self, to: &mut [f64; W]);
    /// Loads fewer than `W` numbers, the others are zero.
    fn load_first(proof: Self::Proof, from: &[f64]) -> Self;
    /// Stores the first numbers to fewer than `W`.
    fn store_first(self, to: &mut [f64]);
    /// `self + a b`.
    fn add_product(self, a: Self, b: Self) -> Self;
    /// `self - a b`.
    fn subtract_product(self, a: Self, b: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self other`, element by element.
    fn times(self, other: Self) -> Self;

    /// One of the numbers.
    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        let mut all = [0.0; W];
        self.store(&mut all);
        all[i]
    }
}

/// Whether fused multiply-add is part of the architecture's baseline. Without the instruction, `mul_add` is a slow function of
/// the C library.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

macro_rules! lanes {
    ($lanes:ident, $width:literal) => {
        impl KernelVector<$width> for $lanes {
            type Proof = ();
            const TILE_PANELS: usize = 2;

            #[inline(always)]
            fn splat((): (), value: f64) -> Self {
                Self::splat(value)
            }

            #[inline(always)]
            fn load((): (), from: &[f64; $width]) -> Self {
                Self(*from)
            }

            #[inline(always)]
            fn store(self, to: &mut [f64; $width]) {
                *to = self.0;
            }

            #[inline(always)]
            fn load_first((): (), from: &[f64]) -> Self {
                let mut out = Self::ZERO;
                out.0[..from.len()].copy_from_slice(from);
                out
            }

            #[inline(always)]
            fn store_first(self, to: &mut [f64]) {
                to.copy_from_slice(&self.0[..to.len()]);
            }

            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] = if FUSED { a.0[i].mul_add(b.0[i], out[i]) } else { out[i] + a.0[i] * b.0[i] };
                }
                Self(out)
            }

            #[inline(always)]
            fn subtract_product(self, a: Self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..$width {
                    out[i] = if FUSED { (-a.0[i]).mul_add(b.0[i], out[i]) } else { out[i] - a.0[i] * b.0[i] };
                }
                Self(out)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    };
}

lanes!(F64x4, 4);

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
macro_rules! registers {
    ($register:ident, $proof:ident, $width:literal, $tile_panels:literal) => {
        impl KernelVector<$width> for $register {
            type Proof = $proof;
            const TILE_PANELS: usize = $tile_panels;

            #[inline(always)]
            fn splat(proof: $proof, value: f64) -> Self {
                Self::splat(proof, value)
            }

            #[inline(always)]
            fn load(proof: $proof, from: &[f64; $width]) -> Self {
                Self::load(proof, from)
            }

            #[inline(always)]
            fn store(self, to: &mut [f64; $width]) {
                self.store(to);
            }

            #[inline(always)]
            fn load_first(proof: $proof, from: &[f64]) -> Self {
                Self::load_first(proof, from)
            }

            #[inline(always)]
            fn store_first(self, to: &mut [f64]) {
                self.store_first(to);
            }

            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                self.add_product(a, b)
            }

            #[inline(always)]
            fn subtract_product(self, a: Self, b: Self) -> Self {
                self.subtract_product(a, b)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
registers!(Avx512F64x8, Avx512, 8, 3);
#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
registers!(Avx2F64x4, Avx2, 4, 2);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use supple_core::simd::{Kernel, Lanes, Simd};

    lanes!(Lanes, 8);

    /// All operations, on the same numbers for every vector.
    struct Operations<V: KernelVector<W>, const W: usize>(V::Proof);

    impl<V: KernelVector<W>, const W: usize> Kernel for Operations<V, W> {
        type Output = Vec<f64>;
        #[inline(always)]
        fn run(self) -> Vec<f64> {
            let proof = self.0;
            // Small integers, so that rounding once or twice makes no difference.
            let [mut a, mut b, mut c] = [[0.0; W]; 3];
            for i in 0..W {
                (a[i], b[i], c[i]) = (i as f64 + 1.0, 7.0 - 2.0 * i as f64, 0.5 * i as f64);
            }
            let [x, y, z] = [V::load(proof, &a), V::load(proof, &b), V::load(proof, &c)];
            let three = V::splat(proof, 3.0);
            let mut out = Vec::new();
            for vector in [x.add_product(y, z), x.subtract_product(y, z), x.minus(y), x.times(z), three] {
                let mut all = [0.0; W];
                vector.store(&mut all);
                out.extend(all);
                out.push(vector.lane(W - 1));
            }
            for count in 0..=W {
                let mut first = vec![-1.0; W];
                V::load_first(proof, &a[..count]).times(y).store_first(&mut first[..count]);
                let mut all = [0.0; W];
                V::load_first(proof, &a[..count]).store(&mut all);
                out.extend(first.into_iter().chain(all));
            }
            out
        }
    }

    #[test]
    fn intrinsics_agree_with_plain_arithmetic() {
        if let Some(avx512) = Avx512::detect(Simd::Auto) {
            let results = avx512.run(Operations::<Avx512F64x8, 8>(avx512));
            assert_eq!(results, Operations::<Lanes, 8>(()).run());
        }
        if let Some(avx2) = Avx2::detect(Simd::Auto) {
            let results = avx2.run(Operations::<Avx2F64x4, 4>(avx2));
            assert_eq!(results, Operations::<F64x4, 4>(()).run());
        }
    }
}
