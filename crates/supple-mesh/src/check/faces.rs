//! Checks of single faces: indices, area, shape; and duplicate faces.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::report::{Finding, FindingKind, FindingSubject, Severity};
use crate::SurfaceMesh;

/// A face has no area where twice its area is below this fraction of its longest side squared: the rounding of double
/// precision, not thinness.
const ZERO_AREA: f64 = 1e-10;
/// A face is thin where its height is below this fraction of its longest side.
const THIN: f64 = 0.01;
/// A polygon is bent where a corner lies off its plane by more than this fraction of its longest side.
const BENT: f64 = 0.05;

/// The faces that refer to existing vertices, none twice, and the rejected ones.
pub(super) struct CleanFaces {
    /// The mesh of these faces; vertices as in the file, without attributes.
    pub mesh: SurfaceMesh,
    /// The file's index of each face kept.
    pub file_face: Vec<u32>,
    shapes: Vec<FaceShape>,
    malformed: Vec<[u32; 1]>,
    repeating: Vec<[u32; 1]>,
}

impl CleanFaces {
    pub(super) fn of(mesh: &SurfaceMesh) -> Self {
        let positions = mesh.positions.clone();
        let mut clean = Self {
            mesh: SurfaceMesh { positions, face_starts: vec![0], ..SurfaceMesh::default() },
            file_face: Vec::with_capacity(mesh.face_count()),
            shapes: Vec::new(),
            malformed: Vec::new(),
            repeating: Vec::new(),
        };
        for f in 0..mesh.face_count() {
            clean.take(f as u32, face_if_valid(mesh, f));
        }
        let faces = (0..clean.mesh.face_count()).into_par_iter().with_min_len(2048);
        clean.shapes = faces.map(|f| FaceShape::of(&clean.mesh, f)).collect();
        clean
    }

    fn take(&mut self, f: u32, face: Option<&[u32]>) {
        match face {
            None => self.malformed.push([f]),
            Some(face) if has_repeats(face) => self.repeating.push([f]),
            Some(face) => {
                self.mesh.push_face(face);
                self.file_face.push(f);
            }
        }
    }

    /// The area of all faces in square metres.
    pub(super) fn area(&self) -> f64 {
        self.shapes.iter().fold(0.0, |sum, s| sum + s.area)
    }

    /// Findings on single faces.
    pub(super) fn findings(&self) -> Vec<Finding> {
        use FindingKind::{Concave, Duplicates, Malformed, NonPlanar, ThinFaces};
        use Severity::{Error, Note, Warning};
        let of = |kind, severity, faces: &[[u32; 1]], message: &str| {
            Finding::of_items(kind, severity, FindingSubject::Face, faces, message)
        };
        let (concave, bent, thin) =
            (self.which(|s| s.concave), self.which(|s| s.bent), self.which(|s| s.thin));
        let malformed = "with vertices that do not exist or fewer than 3 corners: repair the file";
        let twice = "with the vertices of an earlier one: delete them";
        let folding = "with an interior angle above 180 degrees: they may fold when triangulated; triangulate before export";
        let bending = "bent by more than 5 % of the longest side: the triangulation determines the shape";
        let thinness = "lower than 1 % of the longest side: stiff and slow to solve; remesh if you can";
        let findings = [
            of(Malformed, Error, &self.malformed, malformed),
            self.degenerate(),
            of(Duplicates, Warning, &self.duplicates(), twice),
            of(Concave, Warning, &concave, folding),
            of(NonPlanar, Note, &bent, bending),
            of(ThinFaces, Note, &thin, thinness),
        ];
        findings.into_iter().flatten().collect()
    }

    fn degenerate(&self) -> Option<Finding> {
        let flat = self.which(|s| s.no_area);
        let message = format!(
            "without area ({} with a vertex twice, {} with all corners on a line): merge by distance or delete them",
            self.repeating.len(),
            flat.len()
        );
        let mut all = [self.repeating.as_slice(), &flat].concat();
        all.sort_unstable();
        Finding::of_items(FindingKind::Degenerate, Severity::Warning, FindingSubject::Face, &all, message)
    }

    /// The file's indices of the faces for which `holds` is true.
    fn which(&self, holds: fn(&FaceShape) -> bool) -> Vec<[u32; 1]> {
        (0..self.shapes.len()).filter(|&f| holds(&self.shapes[f])).map(|f| [self.file_face[f]]).collect()
    }

    /// The file's indices of faces with the vertices of an earlier face, in any order.
    fn duplicates(&self) -> Vec<[u32; 1]> {
        let mut sorted = self.mesh.corners.clone();
        for f in 0..self.mesh.face_count() {
            sorted[self.mesh.face_starts[f] as usize..self.mesh.face_starts[f + 1] as usize].sort_unstable();
        }
        let key = |f: u32| {
            let starts = &self.mesh.face_starts;
            &sorted[starts[f as usize] as usize..starts[f as usize + 1] as usize]
        };
        let mut order: Vec<u32> = (0..self.mesh.face_count() as u32).collect();
        order.par_sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let groups = order.chunk_by(|&a, &b| key(a) == key(b));
        let mut later: Vec<[u32; 1]> =
            groups.flat_map(|g| g[1..].iter().map(|&f| [self.file_face[f as usize]])).collect();
        later.sort_unstable();
        later
    }
}

fn face_if_valid(mesh: &SurfaceMesh, f: usize) -> Option<&[u32]> {
    let face = mesh.corners.get(mesh.face_starts[f] as usize..mesh.face_starts[f + 1] as usize)?;
    let valid = face.len() >= 3 && face.iter().all(|&v| (v as usize) < mesh.positions.len());
    valid.then_some(face)
}

/// Faces of up to this many corners are searched for repeated ones without a copy.
const FEW_CORNERS: usize = 16;

pub(super) fn has_repeats(face: &[u32]) -> bool {
    if face.len() <= FEW_CORNERS {
        return (1..face.len()).any(|i| face[..i].contains(&face[i]));
    }
    let mut sorted = face.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// The shape of one face. Faces with coordinates that are not finite have no shape and no other defect.
#[derive(Default)]
struct FaceShape {
    area: f64,
    no_area: bool,
    thin: bool,
    bent: bool,
    concave: bool,
}

impl FaceShape {
    fn of(mesh: &SurfaceMesh, f: usize) -> Self {
        let points: Vec<DVec3> = mesh.face(f).iter().map(|&v| mesh.positions[v as usize]).collect();
        let next = |i: usize| points[(i + 1) % points.len()];
        let origin = points[0];
        // Newell's vector: twice the area of the projection onto the mean plane.
        let doubled: DVec3 =
            (1..points.len() - 1).map(|i| (points[i] - origin).cross(next(i) - origin)).sum();
        let longest = (0..points.len()).map(|i| points[i].distance_squared(next(i))).fold(0.0, f64::max);
        let twice_area = doubled.length();
        if !(longest.is_finite() && twice_area.is_finite()) {
            return Self::default();
        }
        let mut shape = Self { area: 0.5 * twice_area, ..Self::default() };
        shape.no_area = twice_area <= ZERO_AREA * longest;
        shape.thin = !shape.no_area && twice_area < THIN * longest;
        if points.len() > 3 && !shape.no_area {
            let normal = doubled / twice_area;
            let middle = points.iter().sum::<DVec3>() / points.len() as f64;
            shape.bent = points.iter().any(|&p| (p - middle).dot(normal).abs() > BENT * longest.sqrt());
            shape.concave = (0..points.len()).any(|i| {
                let (into, out) = (next(i) - points[i], points[(i + 2) % points.len()] - next(i));
                into.cross(out).dot(normal) < -ZERO_AREA * longest
            });
        }
        shape
    }
}
