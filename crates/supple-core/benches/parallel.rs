//! Main patterns of loops, as ratios to rayon's own iterators on two threads: the minimum of many alternating rounds.

use std::hint::black_box;
use std::time::Instant;

const COUNT: usize = 1 << 20;
const CHUNK: usize = 2048;
const ROUNDS: usize = 120;

/// The same code on both libraries.
macro_rules! patterns {
    ($name:ident, $prelude:path) => {
        mod $name {
            use super::CHUNK;
            use $prelude::*;

            pub(crate) fn zip_chunks(c: &mut [f64], a: &[f64], b: &[f64]) {
                c.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK)).zip(b.par_chunks(CHUNK)).for_each(
                    |((c, a), b)| {
                        for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
                            *c = a + 3.0 * b;
                        }
                    },
                );
            }

            pub(crate) fn zip_items(c: &mut [f64], a: &[f64], b: &[f64]) {
                c.par_iter_mut().zip(a).zip(b).with_min_len(4096).for_each(|((c, a), b)| *c = a + 3.0 * b);
            }

            pub(crate) fn enumerate(c: &mut [f64], a: &[f64], b: &[f64]) {
                c.par_iter_mut()
                    .enumerate()
                    .with_min_len(4096)
                    .for_each(|(i, c)| *c = a[i] * b[i] + i as f64);
            }

            pub(crate) fn collect(c: &mut [f64], a: &[f64], _: &[f64]) {
                let all: Vec<f64> = a.par_iter().with_min_len(4096).map(|a| a.sqrt() + 1.0).collect();
                c[0] = all[all.len() / 2];
            }

            pub(crate) fn filtered(c: &mut [f64], a: &[f64], _: &[f64]) {
                let all: Vec<f64> = a.par_iter().copied().with_min_len(4096).filter(|a| *a > 0.5).collect();
                c[0] = all[all.len() / 2];
            }

            pub(crate) fn reduce(c: &mut [f64], a: &[f64], b: &[f64]) {
                c[0] = a
                    .par_iter()
                    .zip(b)
                    .with_min_len(4096)
                    .map(|(a, b)| (a - b).abs())
                    .reduce(|| 0.0, f64::max);
            }

            pub(crate) fn short(c: &mut [f64], a: &[f64], _: &[f64]) {
                for _ in 0..200 {
                    c[..256].par_iter_mut().zip(a).with_min_len(64).for_each(|(c, a)| *c += a);
                }
            }

            pub(crate) fn nested(c: &mut [f64], a: &[f64], _: &[f64]) {
                c.par_chunks_mut(1 << 16).zip(a.par_chunks(1 << 16)).for_each(|(c, a)| {
                    c.par_iter_mut().zip(a).with_min_len(1024).for_each(|(c, a)| *c = a.mul_add(2.0, 1.0));
                });
            }

            pub(crate) fn sort(c: &mut [f64], a: &[f64], _: &[f64]) {
                let mut keys: Vec<(u64, u32)> = a.iter().zip(0..).map(|(a, i)| (a.to_bits(), i)).collect();
                keys.par_sort_unstable();
                c[0] = keys[0].1.into();
            }
        }
    };
}

patterns!(own, supple_core::parallel::prelude);
patterns!(rayons, rayon::prelude);

type Pattern = fn(&mut [f64], &[f64], &[f64]);

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool of two threads");
    let noise =
        |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
    let patterns: [(&str, usize, Pattern, Pattern); 9] = [
        ("zip of three chunked slices", COUNT, own::zip_chunks, rayons::zip_chunks),
        ("zip of three slices", COUNT, own::zip_items, rayons::zip_items),
        ("enumerate", COUNT, own::enumerate, rayons::enumerate),
        ("map and collect", COUNT, own::collect, rayons::collect),
        ("filter and collect", COUNT, own::filtered, rayons::filtered),
        ("reduce to the maximum", COUNT, own::reduce, rayons::reduce),
        ("loops over 256 numbers", 256, own::short, rayons::short),
        ("loops within loops", COUNT, own::nested, rayons::nested),
        ("sort", COUNT, own::sort, rayons::sort),
    ];
    for (name, count, own, rayons) in patterns {
        // Sizes that fit in the caches, so that memory traffic does not dominate.
        for count in [count.min(1 << 15), count] {
            let (a, b): (Vec<f64>, Vec<f64>) = (0..count).map(|i| (noise(i), noise(i + 7))).unzip();
            let mut c = vec![0.0; count];
            let mut best = [f64::INFINITY; 2];
            for _ in 0..ROUNDS {
                for (best, work) in best.iter_mut().zip([own, rayons]) {
                    let start = Instant::now();
                    for _ in 0..(COUNT / count / 16).max(1) {
                        pool.install(|| work(black_box(&mut c), black_box(&a), black_box(&b)));
                    }
                    *best = best.min(start.elapsed().as_secs_f64());
                }
            }
            println!("{name}, {count}: {:.3} of rayon's time ({:.3} ms)", best[0] / best[1], 1e3 * best[1]);
        }
    }
}
