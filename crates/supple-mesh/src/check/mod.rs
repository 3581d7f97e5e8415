//! Checks whether a mesh is fit for simulation: defects with their locations, size in metres, and supported solver
//! families. Any input gives a report; nothing here panics or changes the mesh.

mod display;
mod elements;
mod enclosure;
mod faces;
mod families;
mod positions;
mod report;
mod self_intersection;
mod surface;
mod topology;

pub use families::{FamilyVerdict, Fit};
pub use positions::{scale_hint, size_finding, size_note};
pub use report::{
    Component, ElementQuality, Finding, FindingKind, FindingSubject, LISTED, MeshKind, MeshReport, Severity,
};

use self::elements::CleanTets;
use self::faces::CleanFaces;
use self::surface::Surface;
use super::{SurfaceMesh, TetMesh};

/// Checks a polygon mesh.
pub fn check_surface(mesh: &SurfaceMesh) -> MeshReport {
    let clean = CleanFaces::of(mesh);
    let surface = Surface::new(&clean.mesh, &clean.file_face);
    let (mut findings, area) = (clean.findings(), clean.area());
    if surface.triangles().is_empty() {
        let message = "there are no faces: points alone cannot be simulated".to_owned();
        findings.push(Finding::of_mesh(FindingKind::Empty, Severity::Error, message));
    }
    findings.extend(positions::non_finite(&mesh.positions));
    let (unused, bounds) = positions::unreferenced(&mesh.positions, &valid_corners(mesh), "face");
    findings.extend(unused);
    findings.extend(surface.findings(FindingSubject::FacePair));
    findings.extend(surface.welding());
    let mut report = MeshReport {
        kind: MeshKind::Surface,
        faces: mesh.face_count(),
        volume: surface.volume(),
        ..surface.report(bounds, area)
    };
    finish(&mut report, findings, surface.enclosure(&bounds, area));
    report
}

/// Checks of single faces and vertices of a polygon mesh: the fast part of [`check_surface`], without its
/// topology and self-intersections.
pub fn check_faces(mesh: &SurfaceMesh) -> Vec<Finding> {
    let mut findings = CleanFaces::of(mesh).findings();
    findings.extend(positions::unreferenced(&mesh.positions, &valid_corners(mesh), "face").0);
    findings
}

/// Checks a tetrahedral mesh; topology, area and self-intersections are those of its boundary.
pub fn check_tets(mesh: &TetMesh) -> MeshReport {
    let clean = CleanTets::of(mesh);
    let boundary = clean.boundary();
    let shell = SurfaceMesh::from_triangles(mesh.positions.clone(), &boundary.triangles);
    let surface = Surface::new(&shell, &boundary.tet_of_triangle);
    let mut findings = clean.findings();
    if clean.tets.is_empty() {
        let message = "there are no elements: nothing can be simulated".to_owned();
        findings.push(Finding::of_mesh(FindingKind::Empty, Severity::Error, message));
    }
    let overfull = "of three or more elements, which overlap: remesh";
    let (kind, error) = (FindingKind::NonManifoldFaces, Severity::Error);
    findings.extend(Finding::of_items(kind, error, FindingSubject::Triangle, &boundary.overfull, overfull));
    findings.extend(positions::non_finite(&mesh.positions));
    let corners = clean.tets.as_flattened();
    let (unused, bounds) = positions::unreferenced(&mesh.positions, corners, "element");
    findings.extend(unused);
    findings.extend(surface.findings(FindingSubject::TetPair));
    let area = CleanFaces::of(&shell).area();
    let mut report = MeshReport {
        kind: MeshKind::Tets,
        tets: Some(mesh.tets.len()),
        volume: Some(clean.volume()),
        quality: clean.quality(),
        ..surface.report(bounds, area)
    };
    finish(&mut report, findings, surface.enclosure(&bounds, area));
    report
}

fn finish(report: &mut MeshReport, findings: Vec<Finding>, enclosure: enclosure::Enclosure) {
    report.findings = findings;
    if report.triangles > 0 && report.bounds.is_some() {
        report.findings.extend(positions::size_finding(report.size));
    }
    report.findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    report.families = families::verdicts(report, enclosure);
}

fn valid_corners(mesh: &SurfaceMesh) -> Vec<u32> {
    mesh.corners.iter().copied().filter(|&v| (v as usize) < mesh.positions.len()).collect()
}
