//! Patches of up to eight consecutive triangles, one for each lane, and the particles around each patch: neighbours in a
//! mesh mostly have neighbouring indices, so one hash query serves all of them, and each particle is tested
//! against all of them at once. The candidates cached over steps (see `self_collisions`) are these particles.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use glam::DVec3;

use crate::solvers::hpbd::collision::particle_hash::ParticleHash;
use supple_core::simd::{LaneVec3, Lanes, WIDTH};

/// Triangles per task; fixed, so that nothing depends on the number of threads.
pub(crate) const BLOCK: usize = 256;
/// How wide a patch may be, in cells of the hash: distant triangles are better queried separately.
const WIDEST: f64 = 6.0;

/// Some consecutive triangles and the particles near them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParticlePatch {
    pub(crate) first: u32,
    /// Triangles.
    pub(crate) count: u32,
    /// The end of its particles in the list of the block; they start where those of the previous patch end.
    pub(crate) end: u32,
}

/// The patches of a block of triangles.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    pub(crate) patches: Vec<ParticlePatch>,
    /// Of each patch, in order of their indices.
    pub(crate) particles: Vec<u32>,
}

/// The search data.
pub(crate) struct PatchSurface<'a> {
    pub(crate) triangles: &'a [[u32; 3]],
    pub(crate) body_of_triangle: &'a [u32],
    pub(crate) at: &'a [DVec3],
    pub(crate) hash: &'a ParticleHash,
    pub(crate) cell: f64,
}

impl Patches {
    /// Finds the particles around the triangles from `first` to `end`: within `radius` of a body, for particles that `meets` allows.
    pub(crate) fn search(
        &mut self,
        surface: &PatchSurface<'_>,
        [first, end]: [usize; 2],
        radius: impl Fn(u32) -> f64,
        meets: impl Fn(u32, u32) -> bool,
    ) {
        self.patches.clear();
        self.particles.clear();
        let mut next = first;
        while next < end {
            let body = surface.body_of_triangle[next];
            let (count, [low, high]) = surface.patch(next, end);
            let (radius, begin) = (radius(body), self.particles.len());
            surface.hash.for_each_in(low - radius, high + radius, |particle| {
                if meets(body, particle) {
                    self.particles.push(particle);
                }
            });
            // The order in the hash depends on the position of its cells.
            self.particles[begin..].sort_unstable();
            let end = self.particles.len() as u32;
            self.patches.push(ParticlePatch { first: next as u32, count: count as u32, end });
            next += count;
        }
    }

    /// Every patch with its particles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ParticlePatch, &[u32])> {
        let mut begin = 0;
        self.patches.iter().map(move |patch| {
            let particles = &self.particles[begin..patch.end as usize];
            begin = patch.end as usize;
            (*patch, particles)
        })
    }
}

impl PatchSurface<'_> {
    /// The number of triangles in the patch that starts at one, and the box around them.
    fn patch(&self, first: usize, end: usize) -> (usize, [DVec3; 2]) {
        let mut bounds = self.bounds(first);
        let mut count = 1;
        while count < WIDTH && first + count < end {
            let next = first + count;
            let [low, high] = self.bounds(next);
            let joined = [low.min(bounds[0]), high.max(bounds[1])];
            let is_near = (joined[1] - joined[0]).max_element() <= WIDEST * self.cell;
            if !is_near || self.body_of_triangle[next] != self.body_of_triangle[first] {
                break;
            }
            (bounds, count) = (joined, count + 1);
        }
        (count, bounds)
    }

    fn bounds(&self, triangle: usize) -> [DVec3; 2] {
        let [a, b, c] = self.triangles[triangle].map(|p| self.at[p as usize]);
        [a.min(b).min(c), a.max(b).max(c)]
    }
}

/// The smallest area of a triangle with a plane, over the product of two sides.
const LEAST_AREA: f64 = 1e-6;

/// Culls particles that are far from the triangles of a patch: their distances from a triangle's plane and, within it, from
/// the lines along its sides are lower bounds of the distance to the triangle.
pub(crate) struct Surroundings {
    corner: LaneVec3,
    normal: LaneVec3,
    /// Within the plane, outward normal of each side.
    out: [LaneVec3; 3],
    /// The offset of the side opposite to the corner along its `out`, from the corner.
    side: Lanes,
}

#[inline(always)]
fn over(v: LaneVec3, length: Lanes) -> LaneVec3 {
    let zero = Lanes::default();
    v * zero.less(length, Lanes::splat(1.0) / length, zero)
}

impl Surroundings {
    #[inline(always)]
    pub(crate) fn new(a: LaneVec3, b: LaneVec3, c: LaneVec3) -> Self {
        let (ab, bc, ca) = (b - a, c - b, a - c);
        let across = ab.cross(-ca);
        let area = across.length();
        // A triangle with hardly any area has no numerically valid plane.
        let least = ab.length() * ca.length() * LEAST_AREA;
        let normal = over(across, least.less(area, area, Lanes::default()));
        let outs = [ab.cross(normal), bc.cross(normal), ca.cross(normal)];
        let out = [
            over(outs[0], outs[0].length()),
            over(outs[1], outs[1].length()),
            over(outs[2], outs[2].length()),
        ];
        Self { corner: a, normal, side: out[1].dot(ab), out }
    }

    /// A lower bound of the squared distance of a point.
    #[inline(always)]
    pub(crate) fn lower_bound(&self, p: LaneVec3) -> Lanes {
        let from = p - self.corner;
        let height = from.dot(self.normal);
        let [ab, bc, ca] = [from.dot(self.out[0]), from.dot(self.out[1]) - self.side, from.dot(self.out[2])];
        let beyond = ab.max(bc).max(ca).max(Lanes::default());
        height * height + beyond * beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use supple_mesh::geometry::triangle::closest_point;

    fn point() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0).prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn no_particle_is_nearer_than_the_surroundings_say(
            corners in prop::array::uniform3(point()),
            p in point(),
            flat in 0..4,
        ) {
            let [a, b, c] = corners;
            // Triangles without area have no planes to cull by.
            let corners = match flat {
                0 => [a, b, a + 0.3 * (b - a)],
                1 => [a, a, a],
                _ => [a, b, c],
            };
            let distance = closest_point(&corners, p).point.distance_squared(p);
            let [a, b, c] = corners.map(|corner| LaneVec3::from_fn(|_| corner));
            let bound = Surroundings::new(a, b, c).lower_bound(LaneVec3::from_fn(|_| p));
            prop_assert!(bound.0[0] <= distance + 1e-9);
        }

        #[test]
        fn patches_hold_every_triangle_once_and_all_that_is_near_it(
            at in prop::collection::vec(point(), 3..60),
            corners in prop::collection::vec(prop::array::uniform3(0usize..1000), 1..40),
            radius in 0.01..0.5_f64,
            cell in 0.02..0.5_f64,
        ) {
            let triangles: Vec<[u32; 3]> = corners.iter().map(|t| t.map(|p| (p % at.len()) as u32)).collect();
            let bodies: Vec<u32> = (0..triangles.len() as u32).map(|t| t / 11).collect();
            let mut hash = ParticleHash::default();
            hash.fill(&at, cell);
            let surface =
                PatchSurface { triangles: &triangles, body_of_triangle: &bodies, at: &at, hash: &hash, cell };
            let mut patches = Patches::default();
            let meets = |body: u32, particle: u32| body != particle % 5;
            patches.search(&surface, [0, triangles.len()], |_| radius, meets);
            let mut next = 0;
            for (patch, particles) in patches.iter() {
                prop_assert_eq!(patch.first, next);
                prop_assert!(particles.is_sorted());
                next += patch.count;
                for t in patch.first..next {
                    prop_assert_eq!(bodies[t as usize], bodies[patch.first as usize]);
                    let at_corners = triangles[t as usize].map(|p| at[p as usize]);
                    for p in 0..at.len() as u32 {
                        let is_near = closest_point(&at_corners, at[p as usize]).point.distance(at[p as usize]) < radius;
                        if is_near && meets(bodies[t as usize], p) {
                            prop_assert!(particles.binary_search(&p).is_ok());
                        }
                    }
                }
            }
            prop_assert_eq!(next as usize, triangles.len());
        }
    }
}
