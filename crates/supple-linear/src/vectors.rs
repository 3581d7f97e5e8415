//! Sums and updates of long vectors, over fixed chunks: results are bit-identical for any number of threads.

use glam::DVec3;
use supple_core::parallel::prelude::*;

/// Vectors in a chunk: large enough for a task to pay off, small enough to stay in the first-level cache.
pub(super) const CHUNK: usize = 1024;

/// `aᵀ b`.
pub fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(|(a, b)| chunk_dot(a, b)).sum()
}

/// `|a|`.
pub fn norm(a: &[DVec3]) -> f64 {
    dot(a, a).sqrt()
}

/// `aᵀ b` of plain numbers.
pub fn dot_numbers(a: &[f64], b: &[f64]) -> f64 {
    a.par_chunks(3 * CHUNK).zip(b.par_chunks(3 * CHUNK)).map(|(a, b)| serial_dot(a, b)).sum()
}

/// `x += alpha p`, `r -= alpha q`, and `rᵀ r` of the new `r`, in one pass.
pub(super) fn advance(alpha: f64, (x, p): (&mut [DVec3], &[DVec3]), (r, q): (&mut [DVec3], &[DVec3])) -> f64 {
    let moves = x.par_chunks_mut(CHUNK).zip(p.par_chunks(CHUNK));
    let falls = r.par_chunks_mut(CHUNK).zip(q.par_chunks(CHUNK));
    let squares = moves.zip(falls).map(|((x, p), (r, q))| {
        add_scaled(x, alpha, p);
        add_scaled(r, -alpha, q);
        chunk_dot(r, r)
    });
    squares.sum()
}

/// `r = b - q`, and `rᵀ r`.
pub(super) fn difference(b: &[DVec3], q: &[DVec3], r: &mut [DVec3]) -> f64 {
    let parts = b.par_chunks(CHUNK).zip(q.par_chunks(CHUNK)).zip(r.par_chunks_mut(CHUNK));
    let squares = parts.map(|((b, q), r)| {
        for (r, (b, q)) in r.iter_mut().zip(b.iter().zip(q)) {
            *r = *b - *q;
        }
        chunk_dot(r, r)
    });
    squares.sum()
}

/// `p = z + beta p`.
pub(super) fn turn(p: &mut [DVec3], beta: f64, z: &[DVec3]) {
    p.par_chunks_mut(CHUNK).zip(z.par_chunks(CHUNK)).for_each(|(p, z)| {
        for (p, z) in p.iter_mut().zip(z) {
            *p = *z + beta * *p;
        }
    });
}

/// `target = source`.
pub(super) fn copy(target: &mut [DVec3], source: &[DVec3]) {
    let parts = target.par_chunks_mut(CHUNK).zip(source.par_chunks(CHUNK));
    parts.for_each(|(target, source)| target.copy_from_slice(source));
}

/// Whether all entries are zero.
pub(super) fn is_zero(x: &[DVec3]) -> bool {
    x.par_chunks(CHUNK).all(|part| part.iter().all(|entry| *entry == DVec3::ZERO))
}

/// `x += alpha p`.
pub fn add(x: &mut [DVec3], alpha: f64, p: &[DVec3]) {
    x.par_chunks_mut(CHUNK).zip(p.par_chunks(CHUNK)).for_each(|(x, p)| add_scaled(x, alpha, p));
}

/// `x += alpha p` of plain numbers.
pub fn add_numbers(x: &mut [f64], alpha: f64, p: &[f64]) {
    x.par_chunks_mut(3 * CHUNK).zip(p.par_chunks(3 * CHUNK)).for_each(|(x, p)| {
        x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
    });
}

fn add_scaled(x: &mut [DVec3], alpha: f64, p: &[DVec3]) {
    for (x, p) in x.iter_mut().zip(p) {
        *x += alpha * *p;
    }
}

/// Norms below the inverse of this, or above it, have squares near the limits of `f64`, and products of these overflow.
const EXTREME: f64 = 1e100;

/// The unit in which a right-hand side of this norm is of ordinary size: a power of two near its largest entry. `None` for
/// ordinary ones, and for those that are zero or not finite.
pub(super) fn unit_of_extreme(rhs: &[DVec3], norm: f64) -> Option<f64> {
    if (EXTREME.recip()..EXTREME).contains(&norm) {
        return None;
    }
    let largest = rhs.iter().map(|b| if b.is_finite() { b.abs().max_element() } else { f64::INFINITY });
    let largest = largest.fold(0.0, f64::max);
    let ordinary = largest == 0.0 || largest.is_infinite();
    // Below 2^-1000 the inverse of the unit would not be finite, and above 2^1023 the unit itself.
    (!ordinary).then(|| largest.log2().round().clamp(-1000.0, 1023.0).exp2())
}

/// Solves for a right-hand side in other units, and returns the solution in those of the caller: the problem is linear.
pub(super) fn solve_in_units<T>(
    unit: f64,
    rhs: &[DVec3],
    x: &mut [DVec3],
    solve: impl FnOnce(&[DVec3], &mut [DVec3]) -> T,
) -> T {
    let ordinary: Vec<DVec3> = rhs.iter().map(|b| *b / unit).collect();
    x.iter_mut().for_each(|x| *x /= unit);
    let outcome = solve(&ordinary, x);
    x.iter_mut().for_each(|x| *x *= unit);
    outcome
}

/// `aᵀ b` on the calling thread. Eight running sums allow the additions to overlap; their order is fixed.
#[inline]
pub fn serial_dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_eights, a_rest) = a.as_chunks::<8>();
    let (b_eights, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_eights.iter().zip(b_eights) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The same of vectors.
fn chunk_dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    serial_dot(bytemuck::cast_slice(a), bytemuck::cast_slice(b))
}

/// A pseudo-random vector that only depends on its length: entries in -1 to 1 by the mixing of splitmix64.
pub(super) fn noise(vector: &mut Vec<DVec3>, length: usize) {
    let entry = |i: usize| mix(i as u64) as f64 / u64::MAX as f64 * 2.0 - 1.0;
    vector.clear();
    vector.extend((0..length).map(|i| DVec3::new(entry(3 * i), entry(3 * i + 1), entry(3 * i + 2))));
}

/// The output function of splitmix64 (Steele, Lea, Flood 2014).
pub(super) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use supple_core::parallel::ThreadPoolBuilder;

    /// Whole chunks and parts of them, in fewer and in more parts than the tree of a sum has.
    const LENGTHS: [usize; 8] =
        [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 17, 130 * CHUNK + 7];

    fn vectors(length: usize) -> [Vec<DVec3>; 2] {
        let mut both = Vec::new();
        noise(&mut both, 2 * length);
        let second = both.split_off(length);
        [both, second]
    }

    /// The results of all operations that sum.
    fn sums([a, b]: &[Vec<DVec3>; 2]) -> [f64; 4] {
        let (mut x, mut r, mut rest) = (a.clone(), b.clone(), a.clone());
        [dot(a, b), norm(a), advance(0.3, (&mut x, b), (&mut r, a)), difference(a, b, &mut rest)]
    }

    #[test]
    fn sums_are_those_of_a_serial_loop() {
        for length in LENGTHS {
            let [a, b] = vectors(length);
            let serial = |term: &dyn Fn(DVec3, DVec3) -> f64| -> f64 {
                a.iter().zip(&b).map(|(a, b)| term(*a, *b)).sum()
            };
            let expected = [
                serial(&|a, b| a.dot(b)),
                serial(&|a, _| a.length_squared()).sqrt(),
                serial(&|a, b| (b - 0.3 * a).length_squared()),
                serial(&|a, b| (a - b).length_squared()),
            ];
            let size = 1.0 + length as f64;
            for (found, expected) in sums(&[a.clone(), b.clone()]).into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-13 * size, "{length}: {found} {expected}");
            }
            let flat = dot_numbers(bytemuck::cast_slice(&a), bytemuck::cast_slice(&b));
            assert_eq!(flat.to_bits(), dot(&a, &b).to_bits());
        }
    }

    #[test]
    fn sums_are_bit_identical_for_any_number_of_threads() {
        for length in LENGTHS {
            let both = vectors(length);
            let by = |threads: usize| {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| sums(&both)).map(f64::to_bits)
            };
            let one = by(1);
            assert!([2, 3, 7].into_iter().all(|threads| by(threads) == one), "{length}");
        }
    }
}
