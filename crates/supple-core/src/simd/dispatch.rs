//! Kernels compiled for several instruction sets, one of which is selected at run time.

#![allow(unsafe_code, reason = "calls functions compiled for instructions that not every machine has")]

use super::Simd;

/// A kernel that [`dispatch`] compiles for several instruction sets. `run` must be `#[inline(always)]`.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Runs a kernel compiled for the best instructions of this machine, or for the baseline if requested.
///
/// Builds with debug assertions only have the baseline: they are compiled without vectorisation, so other instructions gain
/// nothing and would triple the compile time of every kernel.
#[inline]
#[cfg_attr(debug_assertions, allow(unused_variables, reason = "there is nothing to choose from"))]
pub fn dispatch<K: Kernel>(simd: Simd, kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    if simd == Simd::Auto {
        if let Some(avx512) = Avx512::detect(simd) {
            return avx512.run(kernel);
        }
        if let Some(avx2) = Avx2::detect(simd) {
            return avx2.run(kernel);
        }
    }
    kernel.run()
}

/// The instruction sets that kernels are compiled for, by name, and whether this machine supports them.
pub fn instruction_sets() -> [(&'static str, bool); 3] {
    #[cfg(target_arch = "x86_64")]
    let [avx2, avx512] = [Avx2::detect(Simd::Auto).is_some(), Avx512::detect(Simd::Auto).is_some()];
    #[cfg(not(target_arch = "x86_64"))]
    let [avx2, avx512] = [false, false];
    [("baseline", true), ("AVX2", avx2), ("AVX-512", avx512)]
}

/// Proof that this machine has AVX2 and FMA: only [`Self::detect`] makes one. It is zero-sized.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// The proof, if kernels may use AVX2 and this machine has it.
    #[inline]
    pub fn detect(simd: Simd) -> Option<Self> {
        let detected =
            simd == Simd::Auto && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        detected.then_some(Self(()))
    }

    /// The proof that a register is.
    #[inline(always)]
    pub(super) fn of_register(_: super::avx2::Avx2F64x4) -> Self {
        Self(())
    }

    /// Runs a kernel compiled for AVX2 and FMA.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: `self` exists, so the features were detected on this machine.
        unsafe { run_avx2(kernel) }
    }
}

/// Proof that this machine has AVX-512 (F, VL and DQ), AVX2 and FMA: only [`Self::detect`] makes one. It is zero-sized.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// The proof, if kernels may use AVX-512 and this machine has it.
    #[inline]
    pub fn detect(simd: Simd) -> Option<Self> {
        let detected = simd == Simd::Auto
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma");
        detected.then_some(Self(()))
    }

    /// Runs a kernel compiled for AVX-512, AVX2 and FMA.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: `self` exists, so the features were detected on this machine.
        unsafe { run_avx512(kernel) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}
