//! Where surfaces pass through themselves or each other: the curves of intersection, and the regions of the surfaces that they
//! enclose (Milne 2016, section 8).
//!
//! A *piercing* is an edge that passes through a triangle; its sign is that of exact orientations. Two triangles that cross
//! do so along a line between two piercings, and the triangles on the other side of a pierced edge continue it: piercings
//! joined by such lines make a curve.
//!
//! The *depth* `d` of a vertex is the number of parts that enclose it besides its own. Along an edge that is not pierced it is constant,
//! and from the end in front of a triangle to the end behind it grows by one:
//!
//! ```text
//! d(behind) = d(before) + 1.
//! ```
//!
//! So filling along unpierced edges gives patches of one depth, and the piercings between them all depths up to a
//! constant, which is the winding number just outside one vertex of the largest patch. Patches deeper than zero are the regions. A part
//! that is entirely inside another one has no curve and is not detected.

use std::f64::consts::PI;

use glam::DVec3;

use crate::contact::Surfaces;
use supple_core::parallel;
use supple_mesh::geometry::triangle_overlap::{orientation, triangles_overlap};
use supple_mesh::geometry::winding_number::solid_angle;
use supple_mesh::geometry::{Bvh, DisjointSets};

/// How far outside a vertex winding numbers are evaluated, over the length of its edges.
const OUTSIDE: f64 = 1e-3;
/// No patch.
const NONE: u32 = u32::MAX;

/// The triangles around each vertex.
#[derive(Debug, Default)]
pub(crate) struct Fans {
    starts: Vec<u32>,
    triangles: Vec<u32>,
}

/// An edge that passes through a triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CurvePiercing {
    /// Its ends, the smaller first.
    edge: [u32; 2],
    triangle: u32,
    /// The end behind the triangle.
    behind: u32,
}

/// Curves of intersection.
#[derive(Debug, Default)]
pub(crate) struct Curves {
    /// Pairs of triangles that cross, sorted.
    pub(crate) crossings: Vec<[u32; 2]>,
    /// Sorted.
    piercings: Vec<CurvePiercing>,
    /// The curve of each piercing, by its first piercing.
    curve: Vec<u32>,
}

/// Which vertices are inside another part.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    /// The depth of each vertex.
    depth: Vec<i32>,
    /// The patch of each vertex.
    patch: Vec<u32>,
    /// Patches whose curves are those of another region, as pairs, sorted.
    partners: Vec<[u32; 2]>,
    /// Patches and the triangles that pierce their border, sorted.
    borders: Vec<[u32; 2]>,
}

impl Fans {
    /// Of `vertices` vertices.
    pub(crate) fn new(triangles: &[[u32; 3]], vertices: usize) -> Self {
        let mut starts = vec![0u32; vertices + 1];
        triangles.as_flattened().iter().for_each(|&v| starts[v as usize + 1] += 1);
        (0..vertices).for_each(|v| starts[v + 1] += starts[v]);
        let mut next = starts.clone();
        let mut list = vec![0; 3 * triangles.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for &v in corners {
                list[next[v as usize] as usize] = t as u32;
                next[v as usize] += 1;
            }
        }
        Self { starts, triangles: list }
    }

    /// The triangles around a vertex.
    pub(crate) fn around(&self, vertex: u32) -> &[u32] {
        &self.triangles[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }

    /// The normal of a vertex, weighted by area, of no particular length.
    pub(crate) fn normal(&self, vertex: u32, triangles: &[[u32; 3]], at: &[DVec3]) -> DVec3 {
        let area = |&t: &u32| {
            let [a, b, c] = triangles[t as usize].map(|v| at[v as usize]);
            (b - a).cross(c - a)
        };
        self.around(vertex).iter().map(area).sum()
    }
}

impl Curves {
    /// Finds them, with a hierarchy over the triangles at their current positions.
    pub(crate) fn find(surfaces: &Surfaces, hierarchy: &Bvh, at: &[DVec3]) -> Self {
        let corners = |t: u32| surfaces.triangles[t as usize];
        let shared = |a: [u32; 3], b: [u32; 3]| a.iter().filter(|v| b.contains(v)).count();
        let crossings = hierarchy.overlapping_pairs(|a, b| {
            let [first, second] = [corners(a), corners(b)];
            // Two triangles at an edge meet nowhere else unless they are flat on each other.
            shared(first, second) < 2 && surfaces.may_touch(a, b) && triangles_overlap(at, first, second)
        });
        let mut piercings: Vec<CurvePiercing> = Vec::with_capacity(2 * crossings.len());
        for &[a, b] in &crossings {
            piercings.extend(piercings_of([a, b], surfaces, at));
        }
        piercings.sort_unstable();
        piercings.dedup();
        let mut curves = Self { crossings, piercings, curve: Vec::new() };
        curves.join(surfaces, at);
        curves
    }

    /// The number of curves.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.curve.iter().enumerate().filter(|(i, curve)| *i == **curve as usize).count()
    }

    /// Joins piercings into curves.
    fn join(&mut self, surfaces: &Surfaces, at: &[DVec3]) {
        let mut sets = DisjointSets::new(self.piercings.len());
        for &pair in &self.crossings {
            let found =
                piercings_of(pair, surfaces, at).filter_map(|p| self.piercings.binary_search(&p).ok());
            let own: Vec<usize> = found.collect();
            own.windows(2).for_each(|two| sets.join(two[0], two[1]));
        }
        self.curve = (0..self.piercings.len()).map(|i| sets.find(i).0 as u32).collect();
    }

    /// Whether nothing crosses.
    pub(crate) fn is_empty(&self) -> bool {
        self.piercings.is_empty()
    }

    fn pierces(&self, edge: [u32; 2]) -> bool {
        let first = self.piercings.partition_point(|piercing| piercing.edge < edge);
        self.piercings.get(first).is_some_and(|piercing| piercing.edge == edge)
    }
}

/// Every edge of two triangles that passes through the other one.
fn piercings_of([a, b]: [u32; 2], surfaces: &Surfaces, at: &[DVec3]) -> impl Iterator<Item = CurvePiercing> {
    [(a, b), (b, a)].into_iter().flat_map(move |(own, other)| {
        let [corners, through] = [own, other].map(|t| surfaces.triangles[t as usize]);
        (0..3).filter_map(move |i| {
            let [p, q] = [corners[i], corners[(i + 1) % 3]];
            let edge = [p.min(q), p.max(q)];
            let behind = end_behind(edge, through, at)?;
            Some(CurvePiercing { edge, triangle: other, behind })
        })
    })
}

/// The end of an edge behind a triangle through which it passes. Points in a plane count as behind it, and lines that meet
/// as passing each other on the same side, whichever triangle is tested: so an edge that passes exactly between two
/// triangles pierces one of them.
fn end_behind(edge: [u32; 2], triangle: [u32; 3], at: &[DVec3]) -> Option<u32> {
    if edge.iter().any(|v| triangle.contains(v)) {
        return None;
    }
    let place = |v: u32| at[v as usize];
    let [a, b, c] = triangle.map(place);
    let is_behind = edge.map(|v| orientation(a, b, c, place(v)) >= 0);
    if is_behind[0] == is_behind[1] {
        return None;
    }
    let passes_left = |i: usize| {
        let [p, q] = [triangle[i], triangle[(i + 1) % 3]];
        let turn = orientation(place(edge[0]), place(edge[1]), place(p.min(q)), place(p.max(q)));
        (turn >= 0) == (p < q)
    };
    let passes = passes_left(0) == passes_left(1) && passes_left(1) == passes_left(2);
    passes.then(|| if is_behind[0] { edge[0] } else { edge[1] })
}

impl Regions {
    /// Those of some curves.
    pub(crate) fn find(curves: &Curves, surfaces: &Surfaces, fans: &Fans, at: &[DVec3]) -> Self {
        if curves.is_empty() {
            return Self::default();
        }
        let (patch, sizes) = patches(curves, surfaces, fans);
        let depths = patch_depths(curves, &patch, &sizes, |vertex| depth_outside(vertex, surfaces, fans, at));
        let depth: Vec<i32> = patch.iter().map(|&p| if p == NONE { 0 } else { depths[p as usize] }).collect();
        let mut regions = Self { depth, patch, ..Self::default() };
        regions.pair(curves);
        regions
    }

    /// Whether a vertex is inside another part.
    pub(crate) fn holds(&self, vertex: u32) -> bool {
        self.depth.get(vertex as usize).is_some_and(|depth| *depth > 0)
    }

    /// Whether a triangle belongs to the part that a vertex has crossed: to a region with the same border, or to the border itself.
    pub(crate) fn is_across(&self, vertex: u32, triangle: u32, corners: [u32; 3]) -> bool {
        let own = self.patch[vertex as usize];
        let opposite = |v: u32| self.holds(v) && self.is_partner(own, self.patch[v as usize]);
        corners.into_iter().any(opposite) || self.borders.binary_search(&[own, triangle]).is_ok()
    }

    fn is_partner(&self, patch: u32, other: u32) -> bool {
        self.partners.binary_search(&[patch, other]).is_ok()
    }

    /// Regions along the same curves are partners; one that is alone along its curves, as in a fold, is its own.
    fn pair(&mut self, curves: &Curves) {
        let mut along: Vec<[u32; 2]> = Vec::new();
        for (piercing, &curve) in curves.piercings.iter().zip(&curves.curve) {
            if self.holds(piercing.behind) {
                let patch = self.patch[piercing.behind as usize];
                along.push([curve, patch]);
                self.borders.push([patch, piercing.triangle]);
            }
        }
        along.sort_unstable();
        along.dedup();
        for same in along.chunk_by(|a, b| a[0] == b[0]) {
            for &[_, patch] in same {
                let others = same.iter().filter(|other| same.len() == 1 || other[1] != patch);
                self.partners.extend(others.map(|other| [patch, other[1]]));
            }
        }
        for list in [&mut self.partners, &mut self.borders] {
            list.sort_unstable();
            list.dedup();
        }
    }
}

/// The patch of each vertex, and for each patch a vertex away from curves, if it has one, and its size.
fn patches(curves: &Curves, surfaces: &Surfaces, fans: &Fans) -> (Vec<u32>, Vec<(u32, u32)>) {
    let vertices = surfaces.start.len();
    let mut is_cut = vec![false; vertices];
    curves.piercings.iter().flat_map(|p| p.edge).for_each(|v| is_cut[v as usize] = true);
    let (mut patch, mut sizes, mut open) = (vec![NONE; vertices], Vec::new(), Vec::new());
    for first in 0..vertices as u32 {
        if patch[first as usize] != NONE || fans.around(first).is_empty() {
            continue;
        }
        let number = sizes.len() as u32;
        let (mut whole, mut size) = (first, 0);
        patch[first as usize] = number;
        open.push(first);
        while let Some(vertex) = open.pop() {
            size += 1;
            if is_cut[whole as usize] && !is_cut[vertex as usize] {
                whole = vertex;
            }
            for &next in fans.around(vertex).iter().flat_map(|&t| &surfaces.triangles[t as usize]) {
                let may_be_cut = is_cut[vertex as usize] && is_cut[next as usize];
                let edge = [vertex.min(next), vertex.max(next)];
                if patch[next as usize] == NONE && !(may_be_cut && curves.pierces(edge)) {
                    patch[next as usize] = number;
                    open.push(next);
                }
            }
        }
        sizes.push((whole, size));
    }
    (patch, sizes)
}

/// The depth of each patch: that of the largest in a surface by `measure` at its vertex, that of others along piercings.
fn patch_depths(
    curves: &Curves,
    patch: &[u32],
    sizes: &[(u32, u32)],
    measure: impl Fn(u32) -> i32,
) -> Vec<i32> {
    let mut steps: Vec<Vec<(u32, i32)>> = vec![Vec::new(); sizes.len()];
    for same in curves.piercings.chunk_by(|a, b| a.edge == b.edge) {
        let [from, to] = same[0].edge.map(|v| patch[v as usize]);
        let deeper: i32 = same.iter().map(|p| if p.behind == p.edge[1] { 1 } else { -1 }).sum();
        steps[from as usize].push((to, deeper));
        steps[to as usize].push((from, -deeper));
    }
    let mut largest_first: Vec<u32> = (0..sizes.len() as u32).collect();
    largest_first.sort_by_key(|&p| std::cmp::Reverse(sizes[p as usize].1));
    let mut depths: Vec<Option<i32>> = vec![None; sizes.len()];
    for first in largest_first {
        if depths[first as usize].is_some() || steps[first as usize].is_empty() {
            continue;
        }
        depths[first as usize] = Some(measure(sizes[first as usize].0));
        let mut open = vec![first];
        while let Some(from) = open.pop() {
            let own = depths[from as usize].unwrap_or(0);
            for &(to, deeper) in &steps[from as usize] {
                if depths[to as usize].is_none() {
                    depths[to as usize] = Some(own + deeper);
                    open.push(to);
                }
            }
        }
    }
    depths.into_iter().map(|depth| depth.unwrap_or(0)).collect()
}

/// The winding number just outside a vertex.
fn depth_outside(vertex: u32, surfaces: &Surfaces, fans: &Fans, at: &[DVec3]) -> i32 {
    let normal = fans.normal(vertex, &surfaces.triangles, at);
    // The edge length of a triangle of the same area.
    let length = (normal.length() / fans.around(vertex).len() as f64).sqrt();
    let query = at[vertex as usize] + OUTSIDE * length * normal.normalize_or_zero();
    let own = fans.around(vertex)[0];
    let angle = |t: usize| {
        let corners = surfaces.triangles[t].map(|v| at[v as usize]);
        let counts = surfaces.may_touch(own, t as u32);
        if counts { Some(solid_angle(&corners, query)).filter(|a| a.is_finite()).unwrap_or(0.0) } else { 0.0 }
    };
    (parallel::sum(surfaces.triangles.len(), angle) / (4.0 * PI)).round() as i32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use supple_core::Aabb;

    /// A tube of a `radius` along `axis` from -`half` to `half`, with caps, facing outwards.
    pub(crate) fn tube(axis: usize, radius: f64, half: f64, cells: [u32; 2]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let [around, along] = cells;
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for ring in 0..=along {
            for s in 0..around {
                // Half a cell of rotation per ring keeps vertices off planes of symmetry.
                let angle = 2.0 * PI * (f64::from(s) + 0.5 * f64::from(ring % 2) + 0.21) / f64::from(around);
                let mut p = [0.0; 3];
                p[axis] = half * (2.0 * f64::from(ring) / f64::from(along) - 1.0);
                p[(axis + 1) % 3] = radius * angle.cos();
                p[(axis + 2) % 3] = radius * angle.sin();
                positions.push(DVec3::from_array(p));
            }
        }
        let at = |ring: u32, s: u32| ring * around + s % around;
        for ring in 0..along {
            for s in 0..around {
                let odd = ring % 2;
                let (a, b, c, d) = (at(ring, s), at(ring, s + 1), at(ring + 1, s), at(ring + 1, s + 1));
                triangles.extend(if odd == 1 { [[a, b, d], [a, d, c]] } else { [[a, b, c], [b, d, c]] });
            }
        }
        let mut cap = [0.0; 3];
        for (ring, side) in [(0, -1.0), (along, 1.0)] {
            cap[axis] = side * half;
            let middle = positions.len() as u32;
            positions.push(DVec3::from_array(cap));
            for s in 0..around {
                let (a, b) = (at(ring, s), at(ring, s + 1));
                triangles.push(if side > 0.0 { [middle, a, b] } else { [middle, b, a] });
            }
        }
        (positions, triangles)
    }

    /// Several pieces as one surface that touches itself.
    fn united(pieces: Vec<(Vec<DVec3>, Vec<[u32; 3]>)>) -> Surfaces {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for (own, corners) in pieces {
            let first = positions.len() as u32;
            positions.extend(own);
            triangles.extend(corners.into_iter().map(|t| t.map(|v| v + first)));
        }
        Surfaces::of_one(positions, triangles)
    }

    fn found(surfaces: &Surfaces) -> (Curves, Regions, Fans) {
        let at = &surfaces.start;
        let fans = Fans::new(&surfaces.triangles, at.len());
        let boxes: Vec<Aabb> =
            surfaces.triangles.iter().map(|t| Aabb::of_points(&t.map(|v| at[v as usize]))).collect();
        let curves = Curves::find(surfaces, &Bvh::build(&boxes), at);
        let regions = Regions::find(&curves, surfaces, &fans, at);
        (curves, regions, fans)
    }

    /// The area of the region whose vertices `choose` selects, a third of each triangle for each of its corners.
    fn area(surfaces: &Surfaces, regions: &Regions, choose: impl Fn(u32) -> bool) -> f64 {
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| surfaces.start[v as usize]);
            let inside = t.iter().filter(|&&v| regions.holds(v) && choose(v)).count() as f64;
            inside / 3.0 * 0.5 * (b - a).cross(c - a).length()
        };
        surfaces.triangles.iter().map(area).sum()
    }

    /// Simpson's rule over a circle.
    fn around_a_circle(f: impl Fn(f64) -> f64) -> f64 {
        let n = 400;
        let weight = |i: usize| if i.is_multiple_of(2) { 2.0 } else { 4.0 } / 3.0;
        let step = 2.0 * PI / n as f64;
        (0..n).map(|i| weight(i) * step * f(i as f64 * step)).sum()
    }

    #[test]
    fn a_thin_tube_through_a_thick_one_has_two_curves_and_three_regions_of_known_area() {
        let (thick, thin) = (1.0, 0.4);
        let first = tube(1, thick, 2.0, [120, 80]);
        let count = first.0.len() as u32;
        let surfaces = united(vec![first, tube(0, thin, 2.0, [72, 120])]);
        let (curves, regions, _) = found(&surfaces);
        assert_eq!(curves.count(), 2);
        let mut inside: Vec<u32> = (0..surfaces.start.len() as u32)
            .filter(|&v| regions.holds(v))
            .map(|v| regions.patch[v as usize])
            .collect();
        inside.sort_unstable();
        inside.dedup();
        assert_eq!(inside.len(), 3);
        // The thin tube is inside along the chord of the thick one's circle, which is across its axis.
        let chord =
            around_a_circle(|angle| 2.0 * thin * (thick * thick - (thin * angle.sin()).powi(2)).sqrt());
        let on_thin = area(&surfaces, &regions, |v| v >= count);
        // A ring of triangles half in and half out is in or out by its vertices: a cell at each of two curves.
        let bound = 2.0 * 2.0 * PI * thin * (4.0 / 120.0);
        assert!((on_thin - chord).abs() < bound, "{on_thin} {chord}");
        // Two patches of the thick tube above discs of the thin one: ∫∫ dy dz / cos, by arcs in the angle over z.
        let half = (thin / thick).asin();
        let n = 400;
        let patch: f64 = (0..n)
            .map(|i| {
                let t = half * (2.0 * (f64::from(i) + 0.5) / f64::from(n) - 1.0);
                2.0 * (thin * thin - (thick * t.sin()).powi(2)).sqrt() * thick * 2.0 * half / f64::from(n)
            })
            .sum();
        let on_thick = area(&surfaces, &regions, |v| v < count);
        let bound = 2.0 * 2.0 * PI * thin * (2.0 * PI / 120.0);
        assert!((on_thick - 2.0 * patch).abs() < bound, "{on_thick} {}", 2.0 * patch);
    }

    #[test]
    fn depths_are_winding_numbers_whatever_the_larger_part_is() {
        // A small ball of which more than half is inside a tube, and one that is outside.
        let sphere = |at: DVec3| {
            let (positions, triangles) = supple_mesh::test_support::sphere(10, 0.3);
            (positions.into_iter().map(|p| p + at).collect(), triangles)
        };
        let deep = sphere(DVec3::new(0.85, 0.013, 0.007));
        let surfaces = united(vec![tube(1, 1.0, 2.0, [60, 40]), deep, sphere(3.0 * DVec3::X)]);
        let (_, regions, fans) = found(&surfaces);
        for v in 0..surfaces.start.len() as u32 {
            let expected = depth_outside(v, &surfaces, &fans, &surfaces.start);
            assert_eq!(i32::from(regions.holds(v)), expected, "{v}");
        }
    }

    #[test]
    fn regions_face_each_other_across_their_curve_only() {
        let first = tube(1, 1.0, 2.0, [60, 40]);
        let count = first.0.len() as u32;
        let surfaces = united(vec![first, tube(0, 0.4, 2.0, [36, 60])]);
        let (_, regions, _) = found(&surfaces);
        for v in (0..surfaces.start.len() as u32).filter(|&v| regions.holds(v)) {
            for (t, corners) in (0..).zip(&surfaces.triangles) {
                let is_across = regions.is_across(v, t, *corners);
                let is_other = (corners[0] < count) != (v < count);
                assert!(is_other || !is_across, "{v} and {t} are of one tube");
                let whole = corners.iter().all(|&c| regions.holds(c));
                assert!(is_across || !(is_other && whole), "{v} has crossed {t}");
            }
        }
    }

    #[test]
    fn surfaces_apart_have_no_curve() {
        let mut far = tube(0, 0.4, 2.0, [12, 8]);
        far.0.iter_mut().for_each(|p| p.z += 1.5);
        let surfaces = united(vec![tube(1, 1.0, 2.0, [12, 8]), far]);
        let (curves, regions, _) = found(&surfaces);
        assert!(curves.is_empty() && !(0..surfaces.start.len() as u32).any(|v| regions.holds(v)));
    }
}
