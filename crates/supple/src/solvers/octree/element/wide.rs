//! Vectors in single or double precision for kernels over elements: the operator of the levels is `f32` in rows of
//! sixteen, that of the outer iteration `f64` in rows of eight. See `supple_core::simd` for how such loops become vector
//! instructions.
//!
//! Kernels are generic over [`Vector`]: lanes of plain loops serve every machine. Where a kernel also accesses scattered
//! nodes the compiler fails to vectorise the rows (it pairs components, or the axes), and half of the time goes into shuffles; so
//! the product also runs on registers of AVX-512, with bit-identical results (a test compares them). Like the other instruction
//! sets they are left out of builds with debug assertions.

use std::cell::RefCell;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::solvers::octree::element::blocks::{BATCH, LOCAL, Scratch};
#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
use supple_core::simd::{Avx512, Avx512F32x16, Avx512F64x8};
use supple_core::simd::{F32x16, F64x1, Lanes};

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
    type Portable: Vector<Number = Self, Proof = ()>;
    /// The same with AVX-512.
    #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
    type Avx512: Vector<Number = Self, Proof = Avx512>;
    /// The thread's buffers for the nodes of a block.
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

macro_rules! real {
    ($number:ty, $lanes:ident, $avx512:ident, $scratch:ident) => {
        thread_local! {
            static $scratch: RefCell<Scratch<$number>> = RefCell::new(Scratch::default());
        }
        impl Real for $number {
            type Portable = $lanes;
            #[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
            type Avx512 = $avx512;
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

real!(f32, F32x16, Avx512F32x16, SINGLE);
real!(f64, Lanes, Avx512F64x8, DOUBLE);

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
    /// Required to create one: proof that the machine has its instructions.
    type Proof: Copy;
    /// The number of lanes.
    const LANES: usize;

    /// The same number in every lane.
    fn splat(proof: Self::Proof, value: f32) -> Self;

    /// Part of sixteen stored numbers.
    fn load(stored: &[f32; BATCH], part: Part<Self>) -> Self;

    /// `value` in the lanes of the part whose `flags` have this bit, else zero.
    fn where_set(flags: &[u8; BATCH], part: Part<Self>, bit: u8, value: f32) -> Self;

    /// The components of the nodes of the part.
    fn gather(from: &[[Self::Number; 4]; LOCAL], nodes: &[u16; BATCH], part: Part<Self>) -> [Self; 3];

    /// Adds components to the nodes of the part, in their order.
    fn add_to(values: [Self; 3], to: &mut [[Self::Number; 4]; LOCAL], nodes: &[u16; BATCH], part: Part<Self>);
}

/// Which part of a batch a vector holds, with the proof that it may be made.
#[derive(Clone, Copy)]
pub(crate) struct Part<V: Vector> {
    index: usize,
    proof: V::Proof,
}

impl<V: Vector> Part<V> {
    /// A part by its number, below `BATCH / V::LANES`.
    #[inline(always)]
    pub(crate) fn new(index: usize, proof: V::Proof) -> Self {
        Self { index, proof }
    }

    /// The proof.
    #[inline(always)]
    pub(crate) fn proof(self) -> V::Proof {
        self.proof
    }
}

impl<V: Vector<Proof = ()>> Part<V> {
    /// A part held by plain lanes.
    #[inline(always)]
    pub(crate) fn portable(index: usize) -> Self {
        Self { index, proof: () }
    }
}

macro_rules! lanes {
    ($lanes:ident, $number:ty, $width:literal) => {
        impl Vector for $lanes {
            type Number = $number;
            type Proof = ();
            const LANES: usize = $width;

            #[inline(always)]
            fn splat((): (), value: f32) -> Self {
                Self::splat(value.into())
            }

            #[inline(always)]
            fn load(stored: &[f32; BATCH], part: Part<Self>) -> Self {
                let stored = &stored.as_chunks::<$width>().0[part.index];
                let mut out = Self::ZERO;
                for i in 0..$width {
                    out.0[i] = stored[i].into();
                }
                out
            }

            #[inline(always)]
            fn where_set(flags: &[u8; BATCH], part: Part<Self>, bit: u8, value: f32) -> Self {
                Self::where_set(&flags.as_chunks().0[part.index], bit, value.into())
            }

            #[inline(always)]
            fn gather(from: &[[$number; 4]; LOCAL], nodes: &[u16; BATCH], part: Part<Self>) -> [Self; 3] {
                Self::gather_rows(from, &nodes.as_chunks().0[part.index])
            }

            #[inline(always)]
            fn add_to(
                values: [Self; 3],
                to: &mut [[$number; 4]; LOCAL],
                nodes: &[u16; BATCH],
                part: Part<Self>,
            ) {
                Self::add_to_rows(values, to, &nodes.as_chunks().0[part.index]);
            }
        }
    };
}

lanes!(F32x16, f32, 16);
lanes!(Lanes, f64, 8);
lanes!(F64x1, f64, 1);

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
macro_rules! registers {
    ($register:ident, $number:ty, $width:literal, $load:ident) => {
        impl Vector for $register {
            type Number = $number;
            type Proof = Avx512;
            const LANES: usize = $width;

            #[inline(always)]
            fn splat(proof: Avx512, value: f32) -> Self {
                Self::splat(proof, value.into())
            }

            #[inline(always)]
            fn load(stored: &[f32; BATCH], part: Part<Self>) -> Self {
                Self::$load(part.proof, &stored.as_chunks().0[part.index])
            }

            #[inline(always)]
            fn where_set(flags: &[u8; BATCH], part: Part<Self>, bit: u8, value: f32) -> Self {
                Self::where_set(part.proof, &flags.as_chunks().0[part.index], bit, value.into())
            }

            #[inline(always)]
            fn gather(from: &[[$number; 4]; LOCAL], nodes: &[u16; BATCH], part: Part<Self>) -> [Self; 3] {
                Self::gather_rows(part.proof, from, &nodes.as_chunks().0[part.index])
            }

            #[inline(always)]
            fn add_to(
                values: [Self; 3],
                to: &mut [[$number; 4]; LOCAL],
                nodes: &[u16; BATCH],
                part: Part<Self>,
            ) {
                Self::add_to_rows(values, to, &nodes.as_chunks().0[part.index]);
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
registers!(Avx512F32x16, f32, 16, load);
#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
registers!(Avx512F64x8, f64, 8, load_singles);

/// 3x3 matrices, one per element, as rows.
pub(crate) type WideMat3<V> = [[V; 3]; 3];

/// Part of sixteen stored matrices.
#[inline(always)]
pub(crate) fn load_matrix<V: Vector>(
    [a, b, c, d, e, f, g, h, i]: &[[f32; BATCH]; 9],
    part: Part<V>,
) -> WideMat3<V> {
    [
        [V::load(a, part), V::load(b, part), V::load(c, part)],
        [V::load(d, part), V::load(e, part), V::load(f, part)],
        [V::load(g, part), V::load(h, part), V::load(i, part)],
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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::solvers::octree::element::blocks::Corners;
    use crate::solvers::octree::element::stiffness::{CorotatedBatch, ProductOfBlock};
    use supple_core::simd::{Kernel, Simd};

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

    fn differences<T: Real>(avx512: Avx512) -> usize {
        let noise = &mut Noise(5);
        let corners: Vec<Corners> = (0..8).map(|b| noise.corners(b % 2 == 1)).collect();
        let batches: Vec<CorotatedBatch> = (0..8).map(|_| noise.batch()).collect();
        let [mut plain, mut fast]: [Scratch<T>; 2] = [noise.scratch(), Scratch::default()];
        fast.x.copy_from_slice(&plain.x[..]);
        ProductOfBlock::<_, T::Portable>(&corners, &batches, &mut plain, ()).run();
        avx512.run(ProductOfBlock::<_, T::Avx512>(&corners, &batches, &mut fast, avx512));
        assert!(plain.y[..40].iter().all(|node| node[..3].iter().all(|entry| entry.double() != 0.0)));
        plain.y.iter().zip(&fast.y[..]).filter(|(a, b)| bits(a) != bits(b)).count()
    }

    #[test]
    fn products_by_avx512_and_plain_loops_are_bit_identical() {
        if let Some(avx512) = Avx512::detect(Simd::Auto) {
            assert_eq!([differences::<f32>(avx512), differences::<f64>(avx512)], [0, 0]);
        } else {
            eprintln!("skipped: no AVX-512 on this machine");
        }
    }
}
