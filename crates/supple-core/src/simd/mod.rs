//! SIMD: numbers side by side ([`Lanes`] and its relatives), vectors and matrices of them, and [`dispatch`], which compiles a
//! kernel for several instruction sets and runs the best one that the machine supports.
//!
//! A kernel is a generic function in plain lane arithmetic, `#[inline(always)]` down to its last call. Rust never contracts a
//! product and a sum into a fused multiply-add by itself, so such a kernel gives bit-identical results with every instruction
//! set. Only kernels that ask for fused operations round differently: the dense kernels of the Cholesky factorisation, by the
//! `add_product` and `subtract_product` of [`Avx2F64x4`] and [`Avx512F64x8`].
//!
//! Kernels are written with plain loops and array literals: a closure passed to `array::map` or `from_fn` is a separate
//! function, and if the compiler does not inline it, it is compiled without the kernel's instruction set (ten times slower).
//!
//! | file | what |
//! | --- | --- |
//! | `lanes` | [`Lanes`] (eight `f64`), [`F32x8`], [`F32x16`], [`F64x4`], [`F64x1`]; sets of lanes |
//! | `functions` | logarithm and angle in lane arithmetic |
//! | `vec3`, `mat3` | [`LaneVec3`], [`SingleVec3`], [`LaneMat3`] |
//! | `dispatch` | [`Kernel`], [`dispatch`], and the proofs of detection [`Avx2`] and [`Avx512`] |
//! | `avx2`, `avx512` | registers in intrinsics, for the few kernels whose loops compilers do not vectorise well |

mod dispatch;
mod functions;
mod lanes;
mod mat3;
mod prefetch;
mod vec3;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2F64x4;
#[cfg(target_arch = "x86_64")]
pub use avx512::{Avx512F32x16, Avx512F64x8};
#[cfg(target_arch = "x86_64")]
pub use dispatch::{Avx2, Avx512};
pub use dispatch::{Kernel, dispatch, instruction_sets};
pub use lanes::{F32x8, F32x16, F64x1, F64x4, Lanes, WIDTH, lanes_equal, take_lane};
pub use mat3::LaneMat3;
pub use prefetch::prefetch;
pub use vec3::{LaneVec3, SingleVec3};

/// The instruction sets that kernels may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simd {
    /// The best of this machine. Results are those of the baseline, except for the Cholesky factorisation, whose dense
    /// kernels use fused operations where the machine has them.
    #[default]
    Auto,
    /// Bit-identical results on every machine.
    Baseline,
}
