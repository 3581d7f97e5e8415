//! Vectors of `W` numbers for the dense kernels: AVX-512, AVX2, and plain arrays as the portable fallback.
//!
//! With arrays alone, details of the loops decide whether the compiler keeps the tiles of a product in registers or
//! in memory (measured: a factor of more than ten between two formulations of the same loops), so the x86 vectors use
//! intrinsics. Their methods are inlined into the caller, which [`super::dense_kernels::Isa::run`] compiles for the
//! required instructions and calls only if the machine supports them.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

/// `W` numbers.
pub(super) trait Vector<const W: usize>: Copy {
    /// Panels side by side in the largest tile, at most three: `TILE_PANELS W` vectors of sums, one per panel and one
    /// more fit into the registers, with a few left for the compiler to load ahead.
    const TILE_PANELS: usize;
    /// Broadcasts a number.
    fn splat(value: f64) -> Self;
    /// Loads from memory.
    fn load(from: &[f64; W]) -> Self;
    /// Stores to memory.
    fn store(self, to: &mut [f64; W]);
    /// Loads fewer than `W` numbers, the others are zero.
    fn load_first(from: &[f64]) -> Self;
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

/// In plain arithmetic; fused multiply-add if it is part of the architecture's baseline.
#[derive(Clone, Copy)]
pub(super) struct Plain<const W: usize>([f64; W]);

/// Without the instruction, `mul_add` is a slow function of the C library.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

impl<const W: usize> Vector<W> for Plain<W> {
    const TILE_PANELS: usize = 2;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value; W])
    }

    #[inline(always)]
    fn load(from: &[f64; W]) -> Self {
        Self(*from)
    }

    #[inline(always)]
    fn store(self, to: &mut [f64; W]) {
        *to = self.0;
    }

    #[inline(always)]
    fn load_first(from: &[f64]) -> Self {
        let mut out = [0.0; W];
        out[..from.len()].copy_from_slice(from);
        Self(out)
    }

    #[inline(always)]
    fn store_first(self, to: &mut [f64]) {
        to.copy_from_slice(&self.0[..to.len()]);
    }

    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        let mut out = self.0;
        for i in 0..W {
            out[i] = if FUSED { a.0[i].mul_add(b.0[i], out[i]) } else { out[i] + a.0[i] * b.0[i] };
        }
        Self(out)
    }

    #[inline(always)]
    fn subtract_product(self, a: Self, b: Self) -> Self {
        let mut out = self.0;
        for i in 0..W {
            out[i] = if FUSED { (-a.0[i]).mul_add(b.0[i], out[i]) } else { out[i] - a.0[i] * b.0[i] };
        }
        Self(out)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        let mut out = self.0;
        for i in 0..W {
            out[i] -= other.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let mut out = self.0;
        for i in 0..W {
            out[i] *= other.0[i];
        }
        Self(out)
    }
}

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
pub(super) use x86::{Avx2, Avx512};

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    /// Eight numbers in an AVX-512 register.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512(__m512d);

    /// Four numbers in an AVX register, with AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256d);

    /// Both instruction sets have the same methods under different names.
    macro_rules! vector {
        ($vector:ident, $width:literal, $tile_panels:literal, $splat:ident, $load:ident, $store:ident, $add_product:ident,
         $subtract_product:ident, $minus:ident, $times:ident, $mask:ident, $load_first:expr, $store_first:expr) => {
            impl Vector<$width> for $vector {
                const TILE_PANELS: usize = $tile_panels;

                #[inline(always)]
                fn splat(value: f64) -> Self {
                    // SAFETY: runs only where the instructions were detected.
                    Self(unsafe { $splat(value) })
                }

                #[inline(always)]
                fn load(from: &[f64; $width]) -> Self {
                    // SAFETY: reads the whole array; runs only where the instructions were detected.
                    Self(unsafe { $load(from.as_ptr()) })
                }

                #[inline(always)]
                fn store(self, to: &mut [f64; $width]) {
                    // SAFETY: writes the whole array; runs only where the instructions were detected.
                    unsafe { $store(to.as_mut_ptr(), self.0) }
                }

                #[inline(always)]
                fn load_first(from: &[f64]) -> Self {
                    // SAFETY: the mask selects no more than the slice has; runs only where the instructions were detected.
                    Self(unsafe { $load_first($mask(from.len()), from.as_ptr()) })
                }

                #[inline(always)]
                fn store_first(self, to: &mut [f64]) {
                    // SAFETY: the mask selects no more than the slice has; runs only where the instructions were detected.
                    unsafe { $store_first(to.as_mut_ptr(), $mask(to.len()), self.0) }
                }

                #[inline(always)]
                fn add_product(self, a: Self, b: Self) -> Self {
                    // SAFETY: runs only where the instructions were detected.
                    Self(unsafe { $add_product(a.0, b.0, self.0) })
                }

                #[inline(always)]
                fn subtract_product(self, a: Self, b: Self) -> Self {
                    // SAFETY: runs only where the instructions were detected.
                    Self(unsafe { $subtract_product(a.0, b.0, self.0) })
                }

                #[inline(always)]
                fn minus(self, other: Self) -> Self {
                    // SAFETY: runs only where the instructions were detected.
                    Self(unsafe { $minus(self.0, other.0) })
                }

                #[inline(always)]
                fn times(self, other: Self) -> Self {
                    // SAFETY: runs only where the instructions were detected.
                    Self(unsafe { $times(self.0, other.0) })
                }
            }
        };
    }

    vector!(
        Avx512,
        8,
        3,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        mask_of_eight,
        _mm512_maskz_loadu_pd,
        _mm512_mask_storeu_pd
    );
    vector!(
        Avx2,
        4,
        2,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        mask_of_four,
        |mask, from| _mm256_maskload_pd(from, mask),
        _mm256_maskstore_pd
    );

    /// Selects the first `count` of eight.
    #[inline(always)]
    fn mask_of_eight(count: usize) -> __mmask8 {
        if count < 8 { (1 << count) - 1 } else { !0 }
    }

    /// Selects the first `count` of four.
    #[inline(always)]
    fn mask_of_four(count: usize) -> __m256i {
        const MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
        let mask: &[i64; 4] = MASKS[4 - count.min(4)..].first_chunk().expect("four of eight");
        // SAFETY: reads the whole array; runs only where the instructions were detected.
        unsafe { _mm256_loadu_si256(mask.as_ptr().cast()) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use supple_core::simd::{Kernel, Simd, has_avx2, has_avx512, run_avx2, run_avx512};

    /// All operations, on the same numbers for every vector.
    struct Operations<V>(std::marker::PhantomData<V>);

    impl<V> Operations<V> {
        #[inline(always)]
        fn results<const W: usize>(self) -> Vec<f64>
        where
            V: Vector<W>,
        {
            // Small integers, so that rounding once or twice makes no difference.
            let [mut a, mut b, mut c] = [[0.0; W]; 3];
            for i in 0..W {
                (a[i], b[i], c[i]) = (i as f64 + 1.0, 7.0 - 2.0 * i as f64, 0.5 * i as f64);
            }
            let [x, y, z] = [V::load(&a), V::load(&b), V::load(&c)];
            let mut out = Vec::new();
            for vector in
                [x.add_product(y, z), x.subtract_product(y, z), x.minus(y), x.times(z), V::splat(3.0)]
            {
                let mut all = [0.0; W];
                vector.store(&mut all);
                out.extend(all);
                out.push(vector.lane(W - 1));
            }
            for count in 0..=W {
                let mut first = vec![-1.0; W];
                V::load_first(&a[..count]).times(y).store_first(&mut first[..count]);
                let mut all = [0.0; W];
                V::load_first(&a[..count]).store(&mut all);
                out.extend(first.into_iter().chain(all));
            }
            out
        }
    }

    impl Kernel for Operations<Avx512> {
        type Output = Vec<f64>;
        #[inline(always)]
        fn run(self) -> Vec<f64> {
            self.results::<8>()
        }
    }

    impl Kernel for Operations<Avx2> {
        type Output = Vec<f64>;
        #[inline(always)]
        fn run(self) -> Vec<f64> {
            self.results::<4>()
        }
    }

    #[test]
    fn intrinsics_agree_with_plain_arithmetic() {
        if has_avx512(Simd::Auto) {
            // SAFETY: the features were detected on this machine.
            let results = unsafe { run_avx512(Operations::<Avx512>(Default::default())) };
            assert_eq!(results, Operations::<Plain<8>>(Default::default()).results::<8>());
        }
        if has_avx2(Simd::Auto) {
            // SAFETY: the features were detected on this machine.
            let results = unsafe { run_avx2(Operations::<Avx2>(Default::default())) };
            assert_eq!(results, Operations::<Plain<4>>(Default::default()).results::<4>());
        }
    }
}
