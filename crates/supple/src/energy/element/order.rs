//! The order in which elements are stored: along the Morton curve of their rest centroids, so that a chunk's elements
//! share vertices, and packed into batches of eight.

use glam::DVec3;

use supple_core::Aabb;
use supple_core::morton::MortonGrid;
use supple_core::simd::WIDTH;

/// The elements `0..count` in Morton order of their centroids.
pub(crate) fn morton_order(count: usize, centroid: impl Fn(usize) -> DVec3) -> Vec<u32> {
    let mut bounds = Aabb::EMPTY;
    for e in 0..count {
        let point = centroid(e);
        bounds.low = bounds.low.min(point);
        bounds.high = bounds.high.max(point);
    }
    let grid = MortonGrid::new(&bounds);
    let mut coded: Vec<(u64, u32)> = (0..count).map(|e| (grid.code(centroid(e)), e as u32)).collect();
    coded.sort_unstable();
    coded.into_iter().map(|(_, e)| e).collect()
}

/// Calls `pack` for every batch with the elements of its lanes; the last batch repeats the last element.
pub(crate) fn pack_batches<B>(order: &[u32], mut pack: impl FnMut(&[usize; WIDTH]) -> B) -> Vec<B> {
    let lanes =
        |batch: usize| std::array::from_fn(|i| order[(WIDTH * batch + i).min(order.len() - 1)] as usize);
    (0..order.len().div_ceil(WIDTH)).map(|batch| pack(&lanes(batch))).collect()
}
