//! Connectivity of faces: edges, fans around vertices, boundary loops, components, orientation.

use supple_core::parallel::prelude::*;

use super::report::Component;
use crate::SurfaceMesh;
use crate::geometry::DisjointSets;

/// The connectivity of a polygon mesh whose faces refer to existing vertices, none twice.
#[derive(Default)]
pub(super) struct SurfaceTopology {
    /// Edges of one face, as vertices in the face's direction.
    pub boundary_edges: Vec<[u32; 2]>,
    /// Edges of three or more faces.
    pub non_manifold_edges: Vec<[u32; 2]>,
    /// Edges of two faces that traverse it in the same direction.
    pub misoriented_edges: Vec<[u32; 2]>,
    /// Vertices with more than one fan that lie on no non-manifold edge.
    pub non_manifold_vertices: Vec<[u32; 1]>,
    /// Vertices on edges of three or more faces.
    pub on_non_manifold_edges: usize,
    /// Closed curves of boundary edges.
    pub boundary_loops: usize,
    /// Faces to flip for a consistent orientation; `None` if there is none.
    pub faces_to_turn: Option<usize>,
    /// Components connected through vertices, largest first.
    pub components: Vec<Component>,
    /// The index in `components` of each face's component.
    pub component_of_face: Vec<u32>,
}

impl SurfaceTopology {
    pub(super) fn of(mesh: &SurfaceMesh) -> Self {
        let mut builder = TopologyBuilder::new(mesh);
        let edges = edges_of(mesh, &builder.face_of_corner);
        builder.visit_edges(&edges);
        builder.finish()
    }

    pub(super) fn closed(&self) -> bool {
        self.boundary_edges.is_empty()
    }

    pub(super) fn manifold(&self) -> bool {
        self.non_manifold_edges.is_empty() && self.non_manifold_vertices.is_empty()
    }

    pub(super) fn oriented(&self) -> bool {
        self.misoriented_edges.is_empty()
    }

    pub(super) fn euler_characteristic(&self) -> i64 {
        self.components.iter().map(|c| c.euler_characteristic).sum()
    }
}

/// A side of a face: its edge by vertices (smaller first), and its first corner.
struct FaceSide {
    edge: u64,
    corner: u32,
    next: u32,
}

impl FaceSide {
    fn vertices(&self) -> [u32; 2] {
        [(self.edge >> 32) as u32, self.edge as u32]
    }
}

/// All sides of all faces, grouped by edge.
fn edges_of(mesh: &SurfaceMesh, face_of_corner: &[u32]) -> Vec<FaceSide> {
    let side = |corner: usize| {
        let face = face_of_corner[corner] as usize;
        let last = corner + 1 == mesh.face_starts[face + 1] as usize;
        let next = if last { mesh.face_starts[face] as usize } else { corner + 1 };
        let (a, b) = (mesh.corners[corner], mesh.corners[next]);
        let edge = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        FaceSide { edge, corner: corner as u32, next: next as u32 }
    };
    let mut sides: Vec<FaceSide> =
        (0..mesh.corners.len()).into_par_iter().with_min_len(4096).map(side).collect();
    sides.par_sort_unstable_by_key(|s| (s.edge, s.corner));
    sides
}

struct TopologyBuilder<'a> {
    mesh: &'a SurfaceMesh,
    found: SurfaceTopology,
    face_of_corner: Vec<u32>,
    /// Corners of a vertex that are connected through edges.
    fans: DisjointSets,
    /// Faces that must be flipped relative to each other to be consistent.
    turns: DisjointSets,
    /// Faces at which flipping leads to a contradiction.
    contradictions: Vec<u32>,
    /// Corners at which a boundary edge starts, and its end.
    boundary_corners: Vec<[u32; 2]>,
    /// One face of every edge, for counting.
    face_of_edge: Vec<u32>,
}

impl<'a> TopologyBuilder<'a> {
    fn new(mesh: &'a SurfaceMesh) -> Self {
        let face_of_corner =
            (0..mesh.face_count()).flat_map(|f| vec![f as u32; mesh.face(f).len()]).collect();
        Self {
            mesh,
            found: SurfaceTopology::default(),
            face_of_corner,
            fans: DisjointSets::new(mesh.corners.len()),
            turns: DisjointSets::new(mesh.face_count()),
            contradictions: Vec::new(),
            boundary_corners: Vec::new(),
            face_of_edge: Vec::with_capacity(mesh.corners.len() / 2),
        }
    }

    fn visit_edges(&mut self, sides: &[FaceSide]) {
        for edge in sides.chunk_by(|a, b| a.edge == b.edge) {
            self.face_of_edge.push(self.face_of_corner[edge[0].corner as usize]);
            match edge {
                [side] => {
                    let corners = [side.corner, side.next];
                    self.boundary_corners.push(corners);
                    self.found.boundary_edges.push(corners.map(|c| self.mesh.corners[c as usize]));
                }
                [a, b] => self.join_neighbours(a, b),
                _ => self.found.non_manifold_edges.push(edge[0].vertices()),
            }
            for pair in edge.windows(2) {
                self.join_fans(&pair[0], &pair[1]);
            }
        }
    }

    fn join_neighbours(&mut self, a: &FaceSide, b: &FaceSide) {
        let same_direction = self.vertex(a.corner) == self.vertex(b.corner);
        if same_direction {
            self.found.misoriented_edges.push(a.vertices());
        }
        let [f, g] = [a, b].map(|s| self.face_of_corner[s.corner as usize]);
        if !self.turns.join_with_parity(f as usize, g as usize, same_direction) {
            self.contradictions.push(f);
        }
    }

    fn join_fans(&mut self, a: &FaceSide, b: &FaceSide) {
        let same_direction = self.vertex(a.corner) == self.vertex(b.corner);
        let (start, end) = if same_direction { (b.corner, b.next) } else { (b.next, b.corner) };
        self.fans.join(a.corner as usize, start as usize);
        self.fans.join(a.next as usize, end as usize);
    }

    fn vertex(&self, corner: u32) -> u32 {
        self.mesh.corners[corner as usize]
    }

    fn finish(mut self) -> SurfaceTopology {
        self.count_loops();
        self.count_turns();
        let split = self.split_vertices();
        self.find_components(&split);
        self.found
    }

    /// Boundary edges joined end to end through their fans: loops that touch at a vertex stay separate.
    fn count_loops(&mut self) {
        let mut loops = DisjointSets::new(self.mesh.corners.len());
        let ends: Vec<[usize; 2]> =
            self.boundary_corners.iter().map(|c| c.map(|c| self.fans.find(c as usize).0)).collect();
        for &[start, end] in &ends {
            loops.join(start, end);
        }
        let mut names: Vec<usize> = ends.iter().map(|e| loops.find(e[0]).0).collect();
        names.sort_unstable();
        names.dedup();
        self.found.boundary_loops = names.len();
    }

    fn count_turns(&mut self) {
        let mut members = vec![[0usize; 2]; self.mesh.face_count()];
        for f in 0..self.mesh.face_count() {
            let (root, odd) = self.turns.find(f);
            members[root][usize::from(odd)] += 1;
        }
        let turned = members.iter().map(|[even, odd]| even.min(odd)).sum();
        self.found.faces_to_turn = self.contradictions.is_empty().then_some(turned);
    }

    /// Finds the vertices with several fans; returns for each vertex whether it is non-manifold.
    fn split_vertices(&mut self) -> Vec<bool> {
        let mut on_edge = vec![false; self.mesh.positions.len()];
        for &v in self.found.non_manifold_edges.as_flattened() {
            on_edge[v as usize] = true;
        }
        self.found.on_non_manifold_edges = on_edge.iter().filter(|&&on| on).count();
        let mut fans = vec![0u32; self.mesh.positions.len()];
        for corner in 0..self.mesh.corners.len() {
            fans[self.mesh.corners[corner] as usize] += u32::from(self.fans.find(corner).0 == corner);
        }
        let split = |v: &usize| fans[*v] > 1 && !on_edge[*v];
        self.found.non_manifold_vertices = (0..fans.len()).filter(split).map(|v| [v as u32]).collect();
        (0..fans.len()).map(|v| fans[v] > 1 || on_edge[v]).collect()
    }

    fn find_components(&mut self, split: &[bool]) {
        let mesh = self.mesh;
        let mut sets = DisjointSets::new(mesh.positions.len());
        for face in mesh.faces() {
            face.windows(2).for_each(|pair| sets.join(pair[0] as usize, pair[1] as usize));
        }
        let (place_of_root, mut parts) = ordered_parts(mesh, &mut sets);
        let mut place = |v: u32| place_of_root[sets.find(v as usize).0] as usize;
        self.found.component_of_face = mesh.faces().map(|face| place(face[0]) as u32).collect();
        let mut used = vec![false; mesh.positions.len()];
        mesh.corners.iter().for_each(|&v| used[v as usize] = true);
        for v in (0..used.len()).filter(|&v| used[v]) {
            let part = &mut parts[place(v as u32)];
            part.vertices += 1;
            part.manifold &= !split[v];
        }
        for edge in &self.found.boundary_edges {
            parts[place(edge[0])].closed = false;
        }
        for edge in &self.found.misoriented_edges {
            parts[place(edge[0])].oriented = false;
        }
        for &face in &self.face_of_edge {
            parts[self.found.component_of_face[face as usize] as usize].edges += 1;
        }
        for &face in &self.contradictions {
            parts[self.found.component_of_face[face as usize] as usize].orientable = false;
        }
        parts.iter_mut().for_each(finish_part);
        self.found.components = parts;
    }
}

/// The components by number of faces, largest first, and the index of each set's component among them.
fn ordered_parts(mesh: &SurfaceMesh, sets: &mut DisjointSets) -> (Vec<u32>, Vec<Component>) {
    let mut faces_of_root = vec![(0usize, u32::MAX); mesh.positions.len()];
    for (f, face) in mesh.faces().enumerate() {
        let slot = &mut faces_of_root[sets.find(face[0] as usize).0];
        *slot = (slot.0 + 1, slot.1.min(f as u32));
    }
    let mut roots: Vec<usize> = (0..faces_of_root.len()).filter(|&r| faces_of_root[r].0 > 0).collect();
    roots.sort_by_key(|&r| (std::cmp::Reverse(faces_of_root[r].0), faces_of_root[r].1));
    let mut place_of_root = vec![u32::MAX; mesh.positions.len()];
    for (place, &root) in roots.iter().enumerate() {
        place_of_root[root] = place as u32;
    }
    let part = |&root: &usize| Component {
        vertices: 0,
        edges: 0,
        faces: faces_of_root[root].0,
        first_face: faces_of_root[root].1,
        closed: true,
        manifold: true,
        oriented: true,
        orientable: true,
        euler_characteristic: 0,
        genus: None,
        volume: None,
    };
    (place_of_root, roots.iter().map(part).collect())
}

fn finish_part(part: &mut Component) {
    part.euler_characteristic = part.vertices as i64 - part.edges as i64 + part.faces as i64;
    if part.closed && part.manifold && part.orientable {
        part.genus = Some((2 - part.euler_characteristic) / 2);
    }
}
