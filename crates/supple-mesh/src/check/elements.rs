//! Checks of single tetrahedra, and of the faces shared between elements.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::faces::has_repeats;
use super::report::{ElementQuality, Finding, FindingKind, FindingSubject, Severity};
use crate::TetMesh;

/// An element has no volume where six times its volume is below this fraction of its longest edge cubed.
const ZERO_VOLUME: f64 = 1e-12;
/// An element is a sliver where its mean ratio is below this.
const SLIVER: f64 = 0.1;

/// The elements that refer to existing vertices, none twice, and the rejected ones.
pub(super) struct CleanTets {
    /// The vertices of each element kept.
    pub tets: Vec<[u32; 4]>,
    /// The file's index of each element kept.
    file_tet: Vec<u32>,
    shapes: Vec<TetShape>,
    malformed: Vec<[u32; 1]>,
    repeating: Vec<[u32; 1]>,
}

/// A triangle on the boundary, facing outwards, and the element it belongs to (the file's index).
pub(super) struct BoundaryFaces {
    pub triangles: Vec<[u32; 3]>,
    pub tet_of_triangle: Vec<u32>,
    /// Triangles of three or more elements.
    pub overfull: Vec<[u32; 3]>,
}

impl CleanTets {
    pub(super) fn of(mesh: &TetMesh) -> Self {
        let mut clean = Self {
            tets: Vec::with_capacity(mesh.tets.len()),
            file_tet: Vec::with_capacity(mesh.tets.len()),
            shapes: Vec::new(),
            malformed: Vec::new(),
            repeating: Vec::new(),
        };
        for (t, &tet) in mesh.tets.iter().enumerate() {
            if tet.iter().any(|&v| v as usize >= mesh.positions.len()) {
                clean.malformed.push([t as u32]);
            } else if has_repeats(&tet) {
                clean.repeating.push([t as u32]);
            } else {
                clean.tets.push(tet);
                clean.file_tet.push(t as u32);
            }
        }
        let shape = |tet: &[u32; 4]| TetShape::of(tet.map(|v| mesh.positions[v as usize]));
        clean.shapes = clean.tets.par_iter().with_min_len(2048).map(shape).collect();
        clean
    }

    /// The sum of all signed volumes in cubic metres; elements that are not finite are skipped.
    pub(super) fn volume(&self) -> f64 {
        self.shapes.iter().map(|s| s.volume).filter(|v| v.is_finite()).sum()
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let which = |holds: fn(&TetShape) -> bool| -> Vec<[u32; 1]> {
            (0..self.tets.len()).filter(|&t| holds(&self.shapes[t])).map(|t| [self.file_tet[t]]).collect()
        };
        let of = |kind, severity, items: &[[u32; 1]], message: &str| {
            Finding::of_items(kind, severity, FindingSubject::Tet, items, message)
        };
        let inverted = which(|s| s.volume < 0.0 && !s.no_volume);
        let turn = if inverted.len() == self.tets.len() {
            "of negative volume, which is all of them: the file uses the opposite vertex order; swap two vertices of each"
        } else {
            "of negative volume: swap two of their vertices if the file mixes orders, otherwise remesh"
        };
        let (error, warning) = (Severity::Error, Severity::Warning);
        let findings = [
            of(
                FindingKind::Malformed,
                error,
                &self.malformed,
                "with vertices that do not exist: repair the file",
            ),
            of(FindingKind::Degenerate, error, &self.repeating, "with a vertex twice: delete them"),
            of(FindingKind::Inverted, error, &inverted, turn),
            of(FindingKind::ZeroVolume, error, &which(|s| s.no_volume), "without volume: remesh"),
            of(
                FindingKind::Slivers,
                warning,
                &which(|s| !s.no_volume && s.mean_ratio < SLIVER),
                "of mean ratio below 0.1 (1 = regular): slow to solve and first to fail; remesh if you can",
            ),
            of(
                FindingKind::Duplicates,
                error,
                &self.duplicates(),
                "with the vertices of an earlier one: delete them",
            ),
        ];
        findings.into_iter().flatten().collect()
    }

    pub(super) fn quality(&self) -> Option<ElementQuality> {
        let sorted = |of: fn(&TetShape) -> f64| -> Vec<f64> {
            let mut values: Vec<f64> = self.shapes.iter().map(of).filter(|v| v.is_finite()).collect();
            values.par_sort_unstable_by(f64::total_cmp);
            values
        };
        let (mean, radius) = (sorted(|s| s.mean_ratio), sorted(|s| s.radius_ratio));
        let (low, high) = (sorted(|s| s.dihedral[0]), sorted(|s| s.dihedral[1]));
        Some(ElementQuality {
            mean_ratio_min: *mean.first()?,
            mean_ratio_median: mean[mean.len() / 2],
            radius_ratio_min: *radius.first()?,
            radius_ratio_median: radius[radius.len() / 2],
            dihedral_min: low.first()?.to_degrees(),
            dihedral_max: high.last()?.to_degrees(),
        })
    }

    fn duplicates(&self) -> Vec<[u32; 1]> {
        let mut keys: Vec<([u32; 4], u32)> =
            self.tets.iter().zip(&self.file_tet).map(|(&tet, &t)| (sorted_copy(tet), t)).collect();
        keys.par_sort_unstable();
        let groups = keys.chunk_by(|a, b| a.0 == b.0);
        let mut later: Vec<[u32; 1]> = groups.flat_map(|g| g[1..].iter().map(|key| [key.1])).collect();
        later.sort_unstable();
        later
    }

    /// The faces of exactly one element, turned outwards independent of the element's orientation, and those of three
    /// or more.
    pub(super) fn boundary(&self) -> BoundaryFaces {
        let outward = |t: usize, side: usize| {
            let [a, b, c, d] = self.tets[t];
            let mut face = [[a, c, b], [a, b, d], [b, c, d], [a, d, c]][side];
            if self.shapes[t].volume < 0.0 {
                face.swap(0, 1);
            }
            face
        };
        let key = |slot: usize| (sorted_copy(outward(slot / 4, slot % 4)), slot as u32);
        let mut keys: Vec<([u32; 3], u32)> =
            (0..4 * self.tets.len()).into_par_iter().with_min_len(4096).map(key).collect();
        keys.par_sort_unstable();
        let mut slots = Vec::new();
        let mut overfull = Vec::new();
        for group in keys.chunk_by(|a, b| a.0 == b.0) {
            match group.len() {
                1 => slots.push(group[0].1 as usize),
                2 => {}
                _ => overfull.push(group[0].0),
            }
        }
        slots.sort_unstable();
        BoundaryFaces {
            triangles: slots.iter().map(|&s| outward(s / 4, s % 4)).collect(),
            tet_of_triangle: slots.iter().map(|&s| self.file_tet[s / 4]).collect(),
            overfull,
        }
    }
}

fn sorted_copy<const N: usize>(mut vertices: [u32; N]) -> [u32; N] {
    vertices.sort_unstable();
    vertices
}

/// Measures of one element.
struct TetShape {
    volume: f64,
    no_volume: bool,
    mean_ratio: f64,
    radius_ratio: f64,
    /// Smallest and largest angle between faces, in radians.
    dihedral: [f64; 2],
}

impl TetShape {
    fn of([a, b, c, d]: [DVec3; 4]) -> Self {
        let edges = [b - a, c - a, d - a, c - b, d - b, d - c];
        let squares = edges.map(DVec3::length_squared);
        let longest = squares.iter().copied().fold(0.0, f64::max);
        let six_volume = edges[0].cross(edges[1]).dot(edges[2]);
        let half = (0.5 * six_volume).abs();
        Self {
            volume: six_volume / 6.0,
            no_volume: six_volume.abs() <= ZERO_VOLUME * longest * longest.sqrt(),
            mean_ratio: 12.0 * half.cbrt().powi(2) / squares.iter().sum::<f64>(),
            radius_ratio: radius_ratio(edges, six_volume),
            dihedral: dihedral_range(edges),
        }
    }
}

/// Three times the inscribed over the circumscribed radius: 0 for a flat element.
fn radius_ratio([ab, ac, ad, bc, bd, _]: [DVec3; 6], six_volume: f64) -> f64 {
    let faces = [ab.cross(ac), ab.cross(ad), ac.cross(ad), bc.cross(bd)];
    let twice_area: f64 = faces.iter().map(|f| f.length()).sum();
    let toward_center =
        ad.length_squared() * faces[0] - ac.length_squared() * faces[1] + ab.length_squared() * faces[2];
    // Inscribed radius: 6 V / (2 area); circumscribed: |toward_center| / (12 V).
    let ratio = 3.0 * six_volume.abs() / twice_area * 2.0 * six_volume.abs() / toward_center.length();
    if ratio.is_nan() && six_volume == 0.0 { 0.0 } else { ratio }
}

/// The smallest and largest angle between two faces of an element.
fn dihedral_range([ab, ac, ad, bc, bd, cd]: [DVec3; 6]) -> [f64; 2] {
    let around = |edge: DVec3, to: DVec3, other: DVec3| edge.cross(to).angle_between(edge.cross(other));
    let angles = [
        around(ab, ac, ad),
        around(ac, ab, ad),
        around(ad, ab, ac),
        around(bc, -ab, bd),
        around(bd, -ab, bc),
        around(cd, -ac, -bc),
    ];
    [
        angles.iter().copied().fold(f64::INFINITY, f64::min),
        angles.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_tetrahedron_has_quality_one_and_angles_of_arccos_one_third() {
        let shape = TetShape::of([
            DVec3::ONE,
            DVec3::new(1., -1., -1.),
            DVec3::new(-1., 1., -1.),
            DVec3::new(-1., -1., 1.),
        ]);
        assert!((shape.mean_ratio - 1.0).abs() < 1e-14 && (shape.radius_ratio - 1.0).abs() < 1e-14);
        assert!(shape.dihedral.iter().all(|a| (a - (1.0f64 / 3.0).acos()).abs() < 1e-12));
        assert!((shape.volume.abs() - 8.0 / 3.0).abs() < 1e-14);
    }

    #[test]
    fn a_corner_of_a_cube_has_its_known_radii_and_angles() {
        // Inscribed radius 1 / (3 + sqrt 3), circumscribed sqrt(3) / 2.
        let shape = TetShape::of([DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]);
        let expected = 3.0 / (3.0 + 3.0f64.sqrt()) / (0.75f64).sqrt();
        assert!((shape.radius_ratio - expected).abs() < 1e-14, "{} {expected}", shape.radius_ratio);
        assert!((shape.dihedral[1].to_degrees() - 90.0).abs() < 1e-9);
        assert!((shape.dihedral[0] - (1.0 / 3.0f64.sqrt()).acos()).abs() < 1e-12);
        assert!((shape.mean_ratio - 12.0 * 0.5f64.powf(2.0 / 3.0) / 9.0).abs() < 1e-14);
    }
}
