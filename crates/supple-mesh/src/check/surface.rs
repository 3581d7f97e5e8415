//! The checks shared by polygon meshes and boundaries of tetrahedral meshes.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::enclosure::{self, Enclosure};
use super::positions;
use super::report::{Finding, FindingKind, FindingSubject, LISTED, MeshKind, MeshReport, Severity};
use super::self_intersection::{Intersections, PAIR_LIMIT, self_intersections};
use super::topology::SurfaceTopology;
use crate::SurfaceMesh;
use crate::geometry::{Aabb, TriangleTree, WindingNumber};

/// A mesh of valid faces with its connectivity.
pub(super) struct Surface<'a> {
    mesh: &'a SurfaceMesh,
    /// The index of each face in the file, or that of the element it bounds.
    name_of_face: &'a [u32],
    face_of_triangle: Vec<u32>,
    tree: TriangleTree,
    topology: SurfaceTopology,
    weld: Vec<u32>,
    /// The connectivity after welding, if there is anything to weld.
    welded: Option<SurfaceTopology>,
}

impl<'a> Surface<'a> {
    pub(super) fn new(mesh: &'a SurfaceMesh, name_of_face: &'a [u32]) -> Self {
        let face_of_triangle =
            (0..mesh.face_count()).flat_map(|f| vec![f as u32; mesh.face(f).len() - 2]).collect();
        let weld = positions::weld(&mesh.positions);
        let any_welded = mesh.corners.iter().any(|&v| weld[v as usize] != v);
        let mut surface = Self {
            mesh,
            name_of_face,
            face_of_triangle,
            tree: TriangleTree::new(&mesh.positions, mesh.triangles()),
            topology: SurfaceTopology::of(mesh),
            welded: any_welded.then(|| SurfaceTopology::of(&welded_mesh(mesh, &weld))),
            weld,
        };
        let volumes = surface.component_volumes();
        for (part, volume) in surface.topology.components.iter_mut().zip(volumes) {
            part.volume = Some(volume).filter(|v| part.closed && part.oriented && v.is_finite());
        }
        surface
    }

    pub(super) fn triangles(&self) -> &[[u32; 3]] {
        self.tree.triangles()
    }

    /// The enclosed volume in cubic metres, if the surface is closed and oriented.
    pub(super) fn volume(&self) -> Option<f64> {
        let defined = self.topology.closed() && self.topology.oriented() && !self.triangles().is_empty();
        defined.then(|| self.signed_volume()).filter(|v| v.is_finite())
    }

    pub(super) fn enclosure(&self, bounds: &Aabb, area: f64) -> Enclosure {
        let watertight = |t: &SurfaceTopology| t.closed() && t.non_manifold_edges.is_empty();
        let known = [Some(&self.topology), self.welded.as_ref()];
        let closed: Vec<&SurfaceTopology> = known.into_iter().flatten().filter(|t| watertight(t)).collect();
        if closed.iter().any(|t| t.oriented()) {
            return enclosure::of_closed(self.signed_volume(), area);
        }
        if closed.iter().any(|t| t.faces_to_turn.is_some()) && !self.triangles().is_empty() {
            return Enclosure::OnceTurned;
        }
        enclosure::by_sampling(&WindingNumber::new(self.tree.clone()), bounds)
    }

    /// The report without findings and verdicts.
    pub(super) fn report(&self, bounds: Aabb, area: f64) -> MeshReport {
        let known = !bounds.is_empty();
        let some_faces = !self.triangles().is_empty();
        MeshReport {
            kind: MeshKind::Surface,
            vertices: self.mesh.positions.len(),
            faces: self.mesh.face_count(),
            triangles: self.triangles().len(),
            tets: None,
            bounds: known.then_some([bounds.low, bounds.high]),
            size: if known { (bounds.high - bounds.low).max_element() } else { 0.0 },
            area,
            volume: None,
            closed: self.topology.closed() && some_faces,
            manifold: self.topology.manifold(),
            oriented: self.topology.oriented(),
            boundary_loops: self.topology.boundary_loops,
            euler_characteristic: self.topology.euler_characteristic(),
            component_count: self.topology.components.len(),
            components: self
                .topology
                .components
                .iter()
                .take(LISTED)
                .cloned()
                .map(|c| self.renamed(c))
                .collect(),
            quality: None,
            findings: Vec::new(),
            families: Vec::new(),
        }
    }

    /// Findings on connectivity, orientation and intersecting triangles; `pairs` is the kind of index used for
    /// intersecting pairs.
    pub(super) fn findings(&self, pairs: FindingSubject) -> Vec<Finding> {
        let mut findings = self.connectivity();
        findings.extend(self.orientation());
        findings.extend(self.inside_out());
        findings.extend(self.crossings(pairs));
        findings
    }

    fn connectivity(&self) -> Vec<Finding> {
        let t = &self.topology;
        let edges = format!(
            "with three or more faces, through {} vertices: split the surface there, or delete the extra faces",
            t.on_non_manifold_edges
        );
        let loops = if t.boundary_loops == 1 { "loop" } else { "loops" };
        let boundary = format!("with one face only, in {} {loops}", t.boundary_loops);
        let (warning, note) = (Severity::Warning, Severity::Note);
        let fans = "between several fans of faces that share no edge there: split them or close the gap";
        [
            Finding::of_items(
                FindingKind::NonManifoldEdges,
                warning,
                FindingSubject::Edge,
                &t.non_manifold_edges,
                edges,
            ),
            Finding::of_items(
                FindingKind::NonManifoldVertices,
                warning,
                FindingSubject::Vertex,
                &t.non_manifold_vertices,
                fans,
            ),
            Finding::of_items(
                FindingKind::BoundaryEdges,
                note,
                FindingSubject::Edge,
                &t.boundary_edges,
                boundary,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn orientation(&self) -> Option<Finding> {
        let remedy = match self.topology.faces_to_turn {
            Some(count) => {
                format!("flipping {count} faces makes the orientation consistent (\"recalculate normals\")")
            }
            None => "no consistent orientation exists: the surface has only one side, like a Moebius strip"
                .to_owned(),
        };
        let message = format!(
            "traversed in the same direction by both faces, which are oriented inconsistently: {remedy}"
        );
        let edges = &self.topology.misoriented_edges;
        Finding::of_items(FindingKind::Misoriented, Severity::Warning, FindingSubject::Edge, edges, message)
    }

    /// Closed components of negative volume, unless they bound a cavity of another component.
    fn inside_out(&self) -> Option<Finding> {
        let inward: Vec<usize> = (0..self.topology.components.len())
            .filter(|&c| self.topology.components[c].volume.is_some_and(|v| v < 0.0))
            .collect();
        if inward.is_empty() {
            return None;
        }
        let alone = self.topology.components.len() == 1;
        let winding = if alone { None } else { Some(WindingNumber::new(self.tree.clone())) };
        let wrong: Vec<[u32; 1]> = (inward.iter())
            .filter(|&&c| winding.as_ref().is_none_or(|w| !self.is_hollow(c, w)))
            .map(|&c| [self.name_of_face[self.topology.components[c].first_face as usize]])
            .collect();
        let message = "facing inwards, with negative volume: flip all their faces";
        Finding::of_items(FindingKind::InsideOut, Severity::Warning, FindingSubject::Part, &wrong, message)
    }

    /// On the wall of a cavity the mean winding number of both sides is 1/2; on a body that is inside out, -1/2.
    fn is_hollow(&self, component: usize, winding: &WindingNumber) -> bool {
        let area_vector = |t: &u32| {
            let [a, b, c] = *self.tree.corners(*t);
            0.5 * (b - a).cross(c - a)
        };
        let own = (0..self.triangles().len() as u32).filter(|&t| self.component_of(t) == component);
        let Some(largest) = own.max_by(|a, b| area_vector(a).length().total_cmp(&area_vector(b).length()))
        else {
            return false;
        };
        let corners = self.tree.corners(largest);
        let middle = corners.iter().sum::<DVec3>() / 3.0;
        let area = area_vector(&largest);
        let offset = 1e-3 * area.length().sqrt() * area.normalize_or_zero();
        winding.at(middle + offset) + winding.at(middle - offset) > 0.0
    }

    /// Of all triangles, copies left out: they meet everywhere, and are a finding of their own.
    fn intersections(&self) -> Intersections {
        let face = |t: u32| self.face_of_triangle[t as usize];
        let positions = &self.mesh.positions;
        let first = first_copies(self.triangles());
        if first.len() == self.triangles().len() {
            return self_intersections(positions, &self.tree, &self.weld, |a, b| face(a) != face(b));
        }
        let distinct = first.iter().map(|&t| self.triangles()[t as usize]).collect();
        let original = |t: u32| first[t as usize];
        let may_meet = |a: u32, b: u32| face(original(a)) != face(original(b));
        let tree = TriangleTree::new(positions, distinct);
        let mut found = self_intersections(positions, &tree, &self.weld, may_meet);
        found.first.iter_mut().for_each(|pair| *pair = pair.map(original));
        found
    }

    fn crossings(&self, subject: FindingSubject) -> Option<Finding> {
        let face = |t: u32| self.face_of_triangle[t as usize];
        let found = self.intersections();
        if found.count == 0 {
            return None;
        }
        let limit = format!(
            " (counted up to the limit of {PAIR_LIMIT} pairs or 200 candidates per triangle: there may be more)"
        );
        let named = |t: u32| self.name_of_face[face(t) as usize];
        Some(Finding {
            kind: FindingKind::SelfIntersections,
            severity: Severity::Warning,
            count: found.count,
            subject,
            first: found.first.iter().map(|pair| pair.map(named).to_vec()).collect(),
            message: format!(
                "{} intersecting, touching or overlapping beyond a common edge or vertex{}: contact separates them gradually; `supple untangle` does so beforehand",
                subject.counted(found.count),
                if found.ended_early { &limit } else { "" }
            ),
        })
    }

    /// The finding on equal positions, with the result of welding them.
    pub(super) fn welding(&self) -> Option<Finding> {
        let double: Vec<[u32; 1]> =
            (0..self.weld.len()).filter(|&v| self.weld[v] != v as u32).map(|v| [v as u32]).collect();
        let count = self.weld.len() - double.len();
        let after = self.welded.as_ref().map_or_else(
            || "no change for the faces".to_owned(),
            |t| {
                let closed = if t.closed() {
                    "closed".to_owned()
                } else {
                    format!("open ({} boundary edges)", t.boundary_edges.len())
                };
                format!("{closed} and {}", if t.manifold() { "manifold" } else { "not manifold" })
            },
        );
        let message = format!("exactly on another; after welding, {count} vertices: {after}");
        let matters =
            self.welded.as_ref().is_some_and(|t| t.boundary_edges.len() < self.topology.boundary_edges.len());
        let severity = if matters { Severity::Warning } else { Severity::Note };
        Finding::of_items(FindingKind::DuplicatePositions, severity, FindingSubject::Vertex, &double, message)
    }

    fn component_of(&self, triangle: u32) -> usize {
        let face = self.face_of_triangle[triangle as usize];
        self.topology.component_of_face[face as usize] as usize
    }

    /// The sum over all triangles of the signed volume below them, by component, relative to the centre.
    fn component_volumes(&self) -> Vec<f64> {
        let bounds = self.tree.bvh().bounds();
        let middle = if bounds.is_empty() { DVec3::ZERO } else { bounds.center() };
        let mut volumes = vec![0.0; self.topology.components.len()];
        for t in 0..self.triangles().len() as u32 {
            let [a, b, c] = self.tree.corners(t).map(|p| p - middle);
            volumes[self.component_of(t)] += a.dot(b.cross(c)) / 6.0;
        }
        volumes
    }

    fn signed_volume(&self) -> f64 {
        self.component_volumes().iter().sum()
    }

    fn renamed(&self, mut part: super::Component) -> super::Component {
        part.first_face = self.name_of_face[part.first_face as usize];
        part
    }
}

/// The mesh with each vertex replaced by the first at its position, without faces that lose a corner.
fn welded_mesh(mesh: &SurfaceMesh, weld: &[u32]) -> SurfaceMesh {
    let mut welded =
        SurfaceMesh { positions: mesh.positions.clone(), face_starts: vec![0], ..SurfaceMesh::default() };
    for face in mesh.faces() {
        let face: Vec<u32> = face.iter().map(|&v| weld[v as usize]).collect();
        if !super::faces::has_repeats(&face) {
            welded.push_face(&face);
        }
    }
    welded
}

/// The first triangle of each set of corners, in any order and orientation.
fn first_copies(triangles: &[[u32; 3]]) -> Vec<u32> {
    let sorted = |t: u32| {
        let mut triangle = triangles[t as usize];
        triangle.sort_unstable();
        triangle
    };
    let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
    order.par_sort_unstable_by_key(|&t| (sorted(t), t));
    order.dedup_by_key(|t| sorted(*t));
    order.par_sort_unstable();
    order
}
