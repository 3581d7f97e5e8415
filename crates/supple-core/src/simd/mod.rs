//! SIMD without intrinsics: eight numbers side by side ([`Lanes`]), vectors and matrices of them, and [`dispatch`],
//! which compiles a kernel for several instruction sets and runs the best one that the machine supports.
//!
//! A kernel is a generic function in plain lane arithmetic, `#[inline(always)]` down to its last call. Rust never
//! contracts a product and a sum into a fused multiply-add by itself, so all instruction sets give bit-identical
//! results.
//!
//! Kernels are written with plain loops and array literals: a closure passed to `array::map` or `from_fn` is a
//! separate function, and if the compiler does not inline it, it is compiled without the kernel's instruction set
//! (ten times slower).

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use std::f64::consts::{FRAC_PI_2, PI};
use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign};

use glam::{DMat3, DVec3};

/// The instruction sets that kernels may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simd {
    /// The best of this machine.
    #[default]
    Auto,
    /// Bit-identical results on every machine.
    Baseline,
}

/// Number of lanes of a [`Lanes`].
pub const WIDTH: usize = 8;

/// Eight numbers, one per lane.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(64))]
pub struct Lanes(pub [f64; WIDTH]);

macro_rules! lanewise {
    ($trait:ident, $method:ident, $assign_trait:ident, $assign:ident, $op:tt) => {
        impl $trait for Lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = self.0;
                for i in 0..WIDTH {
                    out[i] $op other.0[i];
                }
                Self(out)
            }
        }
        impl $trait<f64> for Lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                let mut out = self.0;
                for i in 0..WIDTH {
                    out[i] $op other;
                }
                Self(out)
            }
        }
        impl $assign_trait for Lanes {
            #[inline(always)]
            fn $assign(&mut self, other: Self) {
                for i in 0..WIDTH {
                    self.0[i] $op other.0[i];
                }
            }
        }
    };
}

lanewise!(Add, add, AddAssign, add_assign, +=);
lanewise!(Sub, sub, SubAssign, sub_assign, -=);
lanewise!(Mul, mul, MulAssign, mul_assign, *=);

impl Div for Lanes {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let mut out = self.0;
        for i in 0..WIDTH {
            out[i] /= other.0[i];
        }
        Self(out)
    }
}

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let mut out = self.0;
        for i in 0..WIDTH {
            out[i] = -out[i];
        }
        Self(out)
    }
}

impl Lanes {
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: f64) -> Self {
        Self([value; WIDTH])
    }

    /// `value(i)` in lane `i`.
    #[inline(always)]
    pub fn from_fn(mut value: impl FnMut(usize) -> f64) -> Self {
        let mut out = [0.0; WIDTH];
        for i in 0..WIDTH {
            out[i] = value(i);
        }
        Self(out)
    }

    /// Square roots.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let mut out = self.0;
        for i in 0..WIDTH {
            out[i] = out[i].sqrt();
        }
        Self(out)
    }

    /// Absolute values.
    #[inline(always)]
    pub fn abs(self) -> Self {
        let mut out = self.0;
        for i in 0..WIDTH {
            out[i] = out[i].abs();
        }
        Self(out)
    }

    /// The smaller of each pair.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        self.less(other, self, other)
    }

    /// The larger of each pair.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        other.less(self, self, other)
    }

    /// `then` where `self < other`, else `otherwise`.
    #[inline(always)]
    pub fn less(self, other: Self, then: Self, otherwise: Self) -> Self {
        let mut out = otherwise.0;
        for i in 0..WIDTH {
            out[i] = if self.0[i] < other.0[i] { then.0[i] } else { otherwise.0[i] };
        }
        Self(out)
    }

    /// Natural logarithms of positive normal numbers, to a few units in the last place. In lane arithmetic, so that
    /// results are bit-identical on every machine: `ln(m 2ᵉ) = e ln 2 + 2 artanh((m - 1)/(m + 1))`.
    #[inline(always)]
    pub fn ln(self) -> Self {
        const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
        const MANTISSA: u64 = (1 << 52) - 1;
        let (mut exponent, mut mantissa) = (Self::default(), Self::default());
        for i in 0..WIDTH {
            // Adding the difference between 1 and √½ makes the exponent that of the nearest power of two.
            let bits = self.0[i].to_bits() + (0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
            exponent.0[i] = ((bits >> 52) as i32 - 1023) as f64;
            mantissa.0[i] = f64::from_bits((bits & MANTISSA) + SQRT_HALF_BITS);
        }
        let s = (mantissa - 1.0) / (mantissa + 1.0);
        // The low part of ln 2 is added separately, so that large exponents lose no digits.
        let (high, low) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
        exponent * high + (s * artanh_series(s * s) * 2.0 + exponent * low)
    }

    /// The angles of the points (`x`, `self`) in (-π, π], to a few units in the last place; zero for the origin. In
    /// lane arithmetic, so that results are bit-identical on every machine.
    #[inline(always)]
    pub fn atan2(self, x: Self) -> Self {
        let zero = Self::default();
        let (high, low) = (self.abs().max(x.abs()), self.abs().min(x.abs()));
        // tan(a/2) = tan a/(1 + √(1 + tan² a)), twice, from at most 1 to at most tan(π/16).
        let halved = |t: Self| t / ((t * t + 1.0).sqrt() + 1.0);
        let t = halved(halved(low / high.max(Self::splat(f64::MIN_POSITIVE))));
        let octant = t * artanh_series(-(t * t)) * 4.0;
        let steep = x.abs().less(self.abs(), Self::splat(FRAC_PI_2) - octant, octant);
        let half_plane = x.less(zero, Self::splat(PI) - steep, steep);
        self.less(zero, -half_plane, half_plane)
    }

    /// The sum of the first `count` lanes, in order.
    #[inline(always)]
    pub fn sum_of_first(self, count: usize) -> f64 {
        self.0[..count].iter().sum()
    }
}

/// `artanh(√q)/√q` for `|q| < 0.04`, and `arctan(√-q)/√-q` for negative `q`.
#[inline(always)]
fn artanh_series(q: Lanes) -> Lanes {
    let mut sum = Lanes::default();
    for k in 0..12 {
        sum = sum * q + 1.0 / f64::from(23 - 2 * k);
    }
    sum
}

/// Eight 3-vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneVec3(pub [Lanes; 3]);

/// Eight 3x3 matrices, as three columns.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneMat3(pub [LaneVec3; 3]);

impl Add for LaneVec3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl Sub for LaneVec3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl Neg for LaneVec3 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b, c] = self.0;
        Self([-a, -b, -c])
    }
}

impl Mul<Lanes> for LaneVec3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: Lanes) -> Self {
        let [a, b, c] = self.0;
        Self([a * scale, b * scale, c * scale])
    }
}

impl AddAssign for LaneVec3 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Index<usize> for LaneVec3 {
    type Output = Lanes;
    #[inline(always)]
    fn index(&self, i: usize) -> &Lanes {
        &self.0[i]
    }
}

impl IndexMut<usize> for LaneVec3 {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut Lanes {
        &mut self.0[i]
    }
}

impl LaneVec3 {
    /// `value(i)` in lane `i`.
    #[inline(always)]
    pub fn from_fn(value: impl Fn(usize) -> DVec3) -> Self {
        let mut out = Self::default();
        for i in 0..WIDTH {
            let v = value(i);
            out.0[0].0[i] = v.x;
            out.0[1].0[i] = v.y;
            out.0[2].0[i] = v.z;
        }
        out
    }

    /// The vector of one lane.
    #[inline(always)]
    pub fn lane(&self, i: usize) -> DVec3 {
        DVec3::new(self.0[0].0[i], self.0[1].0[i], self.0[2].0[i])
    }

    /// Scalar products.
    #[inline(always)]
    pub fn dot(self, other: Self) -> Lanes {
        self.0[0] * other.0[0] + self.0[1] * other.0[1] + self.0[2] * other.0[2]
    }

    /// Cross products.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    /// Lengths.
    #[inline(always)]
    pub fn length(self) -> Lanes {
        self.dot(self).sqrt()
    }

    /// The matrix `[self]×` of the cross product: `[self]× v = self × v`.
    #[inline(always)]
    pub fn cross_matrix(self) -> LaneMat3 {
        let ([a, b, c], o) = (self.0, Lanes::default());
        LaneMat3([LaneVec3([o, c, -b]), LaneVec3([-c, o, a]), LaneVec3([b, -a, o])])
    }

    /// The matrix `self otherᵀ`.
    #[inline(always)]
    pub fn outer(self, other: Self) -> LaneMat3 {
        let [x, y, z] = other.0;
        LaneMat3([self * x, self * y, self * z])
    }
}

impl Add for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl Sub for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl Neg for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b, c] = self.0;
        Self([-a, -b, -c])
    }
}

impl AddAssign for LaneMat3 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<Lanes> for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: Lanes) -> Self {
        let [a, b, c] = self.0;
        Self([a * scale, b * scale, c * scale])
    }
}

impl Mul<LaneVec3> for LaneMat3 {
    type Output = LaneVec3;
    #[inline(always)]
    fn mul(self, v: LaneVec3) -> LaneVec3 {
        self.0[0] * v.0[0] + self.0[1] * v.0[1] + self.0[2] * v.0[2]
    }
}

impl Mul for LaneMat3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let [x, y, z] = other.0;
        Self([self * x, self * y, self * z])
    }
}

impl LaneMat3 {
    /// `value(i)` in lane `i`.
    #[inline(always)]
    pub fn from_fn(value: impl Fn(usize) -> DMat3) -> Self {
        let mut out = Self::default();
        for i in 0..WIDTH {
            let matrix = value(i);
            for j in 0..3 {
                for c in 0..3 {
                    out.0[j].0[c].0[i] = matrix.col(j)[c];
                }
            }
        }
        out
    }

    /// `diagonal` on the diagonal.
    #[inline(always)]
    pub fn from_diagonal(diagonal: LaneVec3) -> Self {
        let mut matrix = Self::default();
        for i in 0..3 {
            matrix.0[i].0[i] = diagonal.0[i];
        }
        matrix
    }

    /// `scale` times the identity.
    #[inline(always)]
    pub fn scaled_identity(scale: Lanes) -> Self {
        Self::from_diagonal(LaneVec3([scale; 3]))
    }

    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::scaled_identity(Lanes::splat(1.0))
    }

    /// Products `selfᵀ v`.
    #[inline(always)]
    pub fn transpose_times(self, v: LaneVec3) -> LaneVec3 {
        let [a, b, c] = self.0;
        LaneVec3([a.dot(v), b.dot(v), c.dot(v)])
    }

    /// The sum of products of entries, `self : other`.
    #[inline(always)]
    pub fn contract(self, other: Self) -> Lanes {
        self.0[0].dot(other.0[0]) + self.0[1].dot(other.0[1]) + self.0[2].dot(other.0[2])
    }

    /// The matrices of cofactors, the derivatives of the determinants.
    #[inline(always)]
    pub fn cofactor(self) -> Self {
        let [a, b, c] = self.0;
        Self([b.cross(c), c.cross(a), a.cross(b)])
    }

    /// The matrix of one lane.
    #[inline(always)]
    pub fn lane(&self, i: usize) -> DMat3 {
        DMat3::from_cols(self.0[0].lane(i), self.0[1].lane(i), self.0[2].lane(i))
    }

    /// Transposes.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        let [LaneVec3([a, b, c]), LaneVec3([d, e, f]), LaneVec3([g, h, i])] = self.0;
        Self([LaneVec3([a, d, g]), LaneVec3([b, e, h]), LaneVec3([c, f, i])])
    }

    /// Determinants.
    #[inline(always)]
    pub fn determinant(self) -> Lanes {
        self.0[0].dot(self.0[1].cross(self.0[2]))
    }

    /// Traces.
    #[inline(always)]
    pub fn trace(self) -> Lanes {
        self.0[0].0[0] + self.0[1].0[1] + self.0[2].0[2]
    }

    /// Sums of squares of all entries.
    #[inline(always)]
    pub fn norm_squared(self) -> Lanes {
        self.0[0].dot(self.0[0]) + self.0[1].dot(self.0[1]) + self.0[2].dot(self.0[2])
    }
}

/// A kernel that [`dispatch`] compiles for several instruction sets. `run` must be `#[inline(always)]`.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Runs a kernel compiled for the best instructions of this machine, or for the baseline if requested.
///
/// Builds with debug assertions only have the baseline: they are compiled without vectorisation, so other
/// instructions gain nothing and would triple the compile time of every kernel.
#[inline]
#[cfg_attr(debug_assertions, allow(unused_variables, reason = "there is nothing to choose from"))]
pub fn dispatch<K: Kernel>(simd: Simd, kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    if simd == Simd::Auto {
        if has_avx512(simd) {
            // SAFETY: the features were detected on this machine.
            return unsafe { run_avx512(kernel) };
        }
        if has_avx2(simd) {
            // SAFETY: the features were detected on this machine.
            return unsafe { run_avx2(kernel) };
        }
    }
    kernel.run()
}

/// The instruction sets that kernels are compiled for, by name, and whether this machine supports them.
pub fn instruction_sets() -> [(&'static str, bool); 3] {
    #[cfg(target_arch = "x86_64")]
    let [avx2, avx512] = [has_avx2(Simd::Auto), has_avx512(Simd::Auto)];
    #[cfg(not(target_arch = "x86_64"))]
    let [avx2, avx512] = [false, false];
    [("baseline", true), ("AVX2", avx2), ("AVX-512", avx512)]
}

/// Whether kernels may use AVX-512 and the machine supports all features that [`run_avx512`] needs.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx512(simd: Simd) -> bool {
    simd == Simd::Auto
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

/// Whether kernels may use AVX2 and the machine supports all features that [`run_avx2`] needs.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2(simd: Simd) -> bool {
    simd == Simd::Auto && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Runs a kernel compiled for AVX-512.
///
/// # Safety
///
/// [`has_avx512`] returned true on this machine.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
pub fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Runs a kernel compiled for AVX2.
///
/// # Safety
///
/// [`has_avx2`] returned true on this machine.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Bytes per cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches a value that will be read soon: short runs of memory end before the hardware prefetcher has detected
/// the sequential access.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>().div_ceil(LINE) {
        let at = std::ptr::from_ref(value).cast::<i8>().wrapping_add(LINE * line);
        // SAFETY: a hint that reads nothing and cannot fail, whatever the address; SSE is part of every x86-64.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct MatrixProduct(LaneMat3, LaneMat3);

    impl Kernel for MatrixProduct {
        type Output = LaneMat3;
        #[inline(always)]
        fn run(self) -> LaneMat3 {
            self.0 * self.1
        }
    }

    fn matrices(seed: usize) -> LaneMat3 {
        LaneMat3::from_fn(|lane| {
            DMat3::from_cols_array(&std::array::from_fn(|i| ((seed + 9 * lane + i) as f64).sin()))
        })
    }

    #[test]
    fn logarithms_and_angles_are_those_of_the_standard_library() {
        for k in -400..400 {
            let x = (0.37 * f64::from(k)).exp() * (1.0 + 0.01 * f64::from(k).sin());
            let (ours, theirs) = (Lanes::splat(x).ln().0[0], x.ln());
            assert!(
                (ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs().max(0.1),
                "{x} {ours} {theirs}"
            );
            let angle = PI * f64::from(k) / 400.0;
            let (sin, cos) = (3.0 * angle.sin(), 3.0 * angle.cos());
            let (ours, theirs) = (Lanes::splat(sin).atan2(Lanes::splat(cos)).0[0], sin.atan2(cos));
            assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs(), "{angle} {ours} {theirs}");
        }
        assert_eq!(Lanes::default().atan2(Lanes::default()), Lanes::default());
        assert_eq!(Lanes::default().atan2(Lanes::splat(-1.0)), Lanes::splat(PI));
    }

    #[test]
    fn lanes_agree_with_scalars_in_every_instruction_set() {
        for (name, here) in instruction_sets() {
            eprintln!(
                "{}",
                if here { name.to_owned() } else { format!("skipped: no {name} on this machine") }
            );
        }
        let (a, b) = (matrices(1), matrices(100));
        let best = dispatch(Simd::Auto, MatrixProduct(a, b));
        assert_eq!(best, dispatch(Simd::Baseline, MatrixProduct(a, b)));
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx2(Simd::Auto) {
                // SAFETY: the features were detected on this machine.
                assert_eq!(best, unsafe { run_avx2(MatrixProduct(a, b)) });
            }
            if has_avx512(Simd::Auto) {
                // SAFETY: the features were detected on this machine.
                assert_eq!(best, unsafe { run_avx512(MatrixProduct(a, b)) });
            }
        }
        for lane in 0..WIDTH {
            let scalar = a.lane(lane) * b.lane(lane);
            assert!((best.lane(lane) - scalar).to_cols_array().iter().all(|d| d.abs() < 1e-15));
            assert!((a.determinant().0[lane] - a.lane(lane).determinant()).abs() < 1e-15);
            assert_eq!(a.transpose().lane(lane), a.lane(lane).transpose());
        }
    }
}
