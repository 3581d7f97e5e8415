//! Fills a user's closed surface with tetrahedra: isosurface stuffing of the region with a generalised winding number
//! above one half, which tolerates small holes and overlaps.

use glam::DVec3;

use super::groups::UnionFind;
use super::stuffing::{NOTHING_FITS, SignedField, find_root, stuff};
use super::weld::distinct_triangles;
use super::{SurfaceMesh, TetMesh};
use crate::geometry::triangle::intersect_ray;
use crate::geometry::{Aabb, Ray, TriangleTree, WindingNumber};
use supple_core::Error;

/// Relative difference between the volumes of tetrahedra and surface above which a note is given.
const VOLUME_TOLERANCE: f64 = 0.1;
/// Error bound of the approximate winding number.
const WINDING_ERROR: f64 = 0.01;

/// A surface filled with tetrahedra, with notes for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Tetrahedralised {
    /// The tetrahedra.
    pub mesh: TetMesh,
    /// Notes for the user: faces flipped, holes closed, thin parts lost.
    pub notes: Vec<String>,
}

/// Fills a surface with tetrahedra of edge length about `cell` metres; see [`stuff`] for their quality. The surface's
/// vertices are not among theirs: bind them with [`locate`](super::locate::locate).
pub fn tetrahedralise(surface: &SurfaceMesh, cell: f64) -> Result<Tetrahedralised, Error> {
    let bounds = check_positions(surface)?;
    let mut triangles = distinct_triangles(surface.triangles());
    let open_edges = open_edges(&triangles);
    let mut volume = enclosed_volume(&surface.positions, &triangles, bounds.center());
    let mut notes = Vec::new();
    if volume < 0.0 {
        volume = -volume;
        triangles.iter_mut().for_each(|t| t.swap(1, 2));
        notes.push("the surface's faces point inwards; they were flipped".into());
    }
    if open_edges > 0 {
        notes.push(format!("the surface is not closed ({open_edges} open edges); its holes were bridged"));
    }
    let pieces = count_pieces(surface.positions.len(), triangles.iter().map(|t| &t[..]));
    let winding = WindingNumber::new(TriangleTree::new(&surface.positions, triangles));
    let field = SurfaceField { winding, bounds, open_edges, volume };
    let mesh = stuff(&field, (bounds.low, bounds.high), cell).map_err(|error| field.explain(error))?;
    field.check_volume(tet_volume(&mesh), cell)?;
    notes.extend(volume_note(tet_volume(&mesh), volume, cell, open_edges == 0));
    notes.extend(pieces_note(&mesh, pieces, cell));
    Ok(Tetrahedralised { mesh, notes })
}

/// Rejects invalid surfaces; returns the bounds.
fn check_positions(surface: &SurfaceMesh) -> Result<Aabb, Error> {
    if let Some(v) = surface.positions.iter().position(|p| !p.is_finite()) {
        let p = surface.positions[v];
        return Err(Error::Invalid(format!(
            "vertex {v} of the surface is {p}; its coordinates must be finite"
        )));
    }
    let count = surface.positions.len();
    if let Some(&v) = surface.corners.iter().find(|&&v| v as usize >= count) {
        return Err(Error::Invalid(format!(
            "a face of the surface refers to vertex {v}, but there are only {count}"
        )));
    }
    let corners: Vec<DVec3> = surface.corners.iter().map(|&v| surface.positions[v as usize]).collect();
    if corners.is_empty() {
        return Err(Error::Invalid("the surface has no faces, so it encloses no volume".into()));
    }
    Ok(Aabb::of_points(&corners))
}

/// The number of edges that are not traversed equally often in both directions; 0 for a closed oriented surface.
fn open_edges(triangles: &[[u32; 3]]) -> usize {
    let mut edges: Vec<(u32, u32, i32)> = Vec::with_capacity(3 * triangles.len());
    for &[a, b, c] in triangles {
        for (u, v) in [(a, b), (b, c), (c, a)] {
            edges.push((u.min(v), u.max(v), if u < v { 1 } else { -1 }));
        }
    }
    edges.sort_unstable();
    let same_edge = |a: &(u32, u32, i32), b: &(u32, u32, i32)| (a.0, a.1) == (b.0, b.1);
    edges
        .chunk_by(same_edge)
        .filter(|edge| edge[0].0 != edge[0].1 && edge.iter().map(|e| e.2).sum::<i32>() != 0)
        .count()
}

/// The signed volume between the triangles and a point.
fn enclosed_volume(positions: &[DVec3], triangles: &[[u32; 3]], apex: DVec3) -> f64 {
    let volume = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize] - apex);
        a.dot(b.cross(c)) / 6.0
    };
    triangles.iter().map(volume).sum()
}

/// The region with a winding number above one half.
struct SurfaceField {
    winding: WindingNumber,
    /// Points outside the bounds are outside, even if holes let the winding number leak.
    bounds: Aabb,
    /// Without open edges the winding number is constant away from triangles.
    open_edges: usize,
    /// The volume enclosed by its triangles in cubic metres.
    volume: f64,
}

impl SignedField for SurfaceField {
    fn value(&self, point: DVec3) -> f64 {
        if self.bounds.contains(point) { 0.5 - self.winding.at(point) } else { 0.5 }
    }

    /// Where the surface is open the winding number is still harmonic away from it. By Harnack's inequality a
    /// harmonic function from 0 to 1 in a ball of `k` radii rises within the inner ball to at most
    /// `k (k + 1) / (k - 1)^2` times its middle value, so a clear value at the centre decides.
    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        if self.bounds.distance_squared(center) > radius * radius {
            return Some(false);
        }
        let closed = self.open_edges == 0;
        let extent = if closed { radius } else { 4.0 * radius };
        let nearest = self.winding.tree().closest_point(center, extent);
        let k = nearest.map_or(extent, |nearest| nearest.distance) / radius;
        let doubt = match nearest {
            None if closed => 0.5,
            _ if !closed && k > 1.0 => 0.5 * (k - 1.0).powi(2) / (k * (k + 1.0)) - WINDING_ERROR,
            _ => return None,
        };
        let winding = self.winding.at(center);
        let leaks = winding > 0.5 && !self.bounds.inflated(-radius).contains(center);
        (!leaks && (winding < doubt || winding > 1.0 - doubt)).then_some(winding > 0.5)
    }

    /// The first hit with the outside behind it; in a hole, the root of the winding number.
    fn crossing(&self, inside: DVec3, outside: DVec3) -> f64 {
        let hits = self.hits(inside, outside);
        if let [only] = hits[..] {
            return only;
        }
        let mut from = 0.0;
        for (k, &to) in hits.iter().chain([&1.0]).enumerate() {
            let middle = 0.5 * (from + to);
            if k > 0 && self.value(inside.lerp(outside, middle)) > 0.0 {
                return from;
            }
            from = to;
        }
        find_root(|t| self.value(inside.lerp(outside, t)), inside.distance(outside))
    }
}

impl SurfaceField {
    /// The parameters at which the segment hits triangles, ascending, without duplicates.
    fn hits(&self, from: DVec3, to: DVec3) -> Vec<f64> {
        let ray = Ray { origin: from, direction: to - from };
        let mut hits = Vec::new();
        self.winding.tree().bvh().for_each_overlap(&Aabb::of_points(&[from, to]), |t| {
            let hit = intersect_ray(self.winding.tree().corners(t), &ray);
            hits.extend(hit.map(|(at, _)| at).filter(|at| (0.0..=1.0).contains(at)));
        });
        hits.sort_unstable_by(f64::total_cmp);
        hits.dedup_by(|a, b| *a - *b < 1e-9);
        hits
    }

    /// Rejects an open surface whose interior is ambiguous: by the winding number it has less than half or more than
    /// twice the volume that its triangles enclose.
    fn check_volume(&self, volume: f64, cell: f64) -> Result<(), Error> {
        if self.open_edges == 0 || (0.5..=2.0).contains(&(volume / self.volume)) {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the surface encloses no well-defined volume: {} edges are open or lie between inconsistently oriented faces, \
             and with a cell of {cell} m the winding number gives {volume:.4e} m3 where the faces enclose {:.4e} m3; close \
             it and orient its faces consistently, use a smaller cell, or simulate it as cloth",
            self.open_edges, self.volume
        )))
    }

    /// For a surface in which no tetrahedron fits: reports whether a smaller cell can help.
    fn explain(&self, error: Error) -> Error {
        let nothing_fits = matches!(&error, Error::Invalid(text) if text.starts_with(NOTHING_FITS));
        let is_bag = self.volume > 1e-9 * self.bounds.low.distance(self.bounds.high).powi(3);
        let reason = match self.open_edges {
            0 if is_bag || !nothing_fits => return error,
            0 => "it is flat".to_owned(),
            _ if !nothing_fits => return error,
            open => format!("{open} edges are open or lie between inconsistently oriented faces"),
        };
        Error::Invalid(format!(
            "the surface encloses no volume that fits a tetrahedron ({reason}): close it and orient its faces consistently, use a \
             smaller cell, or simulate it as cloth"
        ))
    }
}

fn tet_volume(mesh: &TetMesh) -> f64 {
    (0..mesh.tets.len()).map(|t| mesh.volume(t)).sum()
}

fn volume_note(volume: f64, surface_volume: f64, cell: f64, closed: bool) -> Option<String> {
    let ratio = volume / surface_volume;
    ((ratio - 1.0).abs() > VOLUME_TOLERANCE || ratio.is_nan()).then(|| {
        let reason = match (closed, ratio < 1.0) {
            (false, _) => "its holes make its volume ambiguous",
            (true, true) => "parts thinner than a cell were lost, or it overlaps itself",
            (true, false) => "some of its parts face inwards",
        };
        format!(
            "with a cell of {cell} m the tetrahedra fill {volume:.4e} m3, {:.1} % of the {surface_volume:.4e} m3 in the \
             surface: {reason}",
            100.0 * ratio
        )
    })
}

fn pieces_note(mesh: &TetMesh, surface_pieces: usize, cell: f64) -> Option<String> {
    let pieces = count_pieces(mesh.positions.len(), mesh.tets.iter().map(|t| &t[..]));
    (pieces > surface_pieces).then(|| {
        format!(
            "with a cell of {cell} m the body has {pieces} pieces, but the surface has {surface_pieces}: use a \
             smaller cell if they should be connected"
        )
    })
}

/// The number of components of elements connected by shared vertices.
fn count_pieces<'a>(vertices: usize, elements: impl Iterator<Item = &'a [u32]>) -> usize {
    let mut groups = UnionFind::new(vertices);
    let mut used = vec![false; vertices];
    for element in elements {
        for &v in element {
            used[v as usize] = true;
            groups.join(element[0], v);
        }
    }
    (0..vertices).filter(|&v| used[v] && groups.find(v as u32) == v as u32).count()
}

#[cfg(test)]
mod tests;
