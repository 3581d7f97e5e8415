//! The part of a lattice tetrahedron inside the surface: one to three tetrahedra.
//!
//! A face with two points inside and one outside is cut to a quadrilateral, whose diagonal must be the same from both
//! sides. It is found from the face alone: it ends at the cut of the long edge where one of the cut edges is long;
//! otherwise, the two points inside share a long edge, and the parity rule chooses the one of which an even number
//! of coordinates are larger than those of the point outside.

use super::cuts::CutLattice;
use super::lattice::{BccLattice, DIRECTIONS, INSIDE, ON, OUTSIDE};

/// Appends the part of a lattice tetrahedron that lies inside; `tet` contains two corners, then two centres.
///
/// Every output is the input with points replaced by cuts on edges to its other points, so its orientation stays.
pub(super) fn cut_tet(lattice: &BccLattice, cut: &CutLattice, tet: [usize; 4], tets: &mut Vec<[u32; 4]>) {
    let stencil = TetStencil::new(lattice, cut, tet);
    match (stencil.slots(INSIDE), stencil.slots(OUTSIDE)) {
        (_, Slots { count: 0, .. }) => tets.push(stencil.vertices),
        (Slots { count: 1, slots: [p, ..] }, outside) => tets.push(stencil.one_inside(p, outside)),
        (Slots { count: 2, slots: [p, q, ..] }, Slots { count: 1, slots: [m, ..] }) => {
            tets.extend(stencil.pyramid(p, q, m));
        }
        (Slots { count: 2, slots: [p, q, ..] }, Slots { slots: [m, n, ..], .. }) => {
            tets.extend(stencil.wedge(p, q, m, n));
        }
        (_, Slots { slots: [m, ..], .. }) => tets.extend(stencil.prism(m)),
    }
}

/// Some of a tetrahedron's four points, in order.
struct Slots {
    count: usize,
    slots: [usize; 4],
}

struct TetStencil<'a> {
    lattice: &'a BccLattice,
    cut: &'a CutLattice,
    points: [usize; 4],
    states: [i8; 4],
    /// The mesh's vertices of the points that are not outside.
    vertices: [u32; 4],
}

impl<'a> TetStencil<'a> {
    fn new(lattice: &'a BccLattice, cut: &'a CutLattice, points: [usize; 4]) -> Self {
        let states = points.map(|point| cut.states[point]);
        Self { lattice, cut, points, states, vertices: points.map(|point| cut.lattice_vertex(point)) }
    }

    fn slots(&self, state: i8) -> Slots {
        let mut found = Slots { count: 0, slots: [0; 4] };
        for slot in 0..4 {
            if self.states[slot] == state {
                found.slots[found.count] = slot;
                found.count += 1;
            }
        }
        found
    }

    /// The vertex on the edge from a point inside to one outside.
    fn cut(&self, inside: usize, outside: usize) -> u32 {
        let step =
            self.lattice.coordinates(self.points[outside]) - self.lattice.coordinates(self.points[inside]);
        let d =
            DIRECTIONS.iter().position(|&direction| direction == step).expect("tetrahedra are made of edges");
        self.cut.cut_vertex(self.points[inside], d)
    }

    /// The tetrahedron with some vertices replaced.
    fn with<const N: usize>(&self, replaced: [(usize, u32); N]) -> [u32; 4] {
        let mut tet = self.vertices;
        for (slot, vertex) in replaced {
            tet[slot] = vertex;
        }
        tet
    }

    fn one_inside(&self, p: usize, outside: Slots) -> [u32; 4] {
        let mut tet = self.vertices;
        for &m in &outside.slots[..outside.count] {
            tet[m] = self.cut(p, m);
        }
        tet
    }

    /// Two points inside, one on the surface, one outside.
    fn pyramid(&self, p: usize, q: usize, m: usize) -> [[u32; 4]; 2] {
        let (from, other) = self.diagonal(p, q, m);
        let to = self.cut(other, m);
        [self.with([(m, to)]), self.with([(other, to), (m, self.cut(from, m))])]
    }

    /// Two points inside, two outside. The two diagonals start at different points, since the outer points
    /// differ in one coordinate (both inner edges short: each is next to one long cut).
    fn wedge(&self, p: usize, q: usize, m: usize, n: usize) -> [[u32; 4]; 3] {
        let (t, u) = self.diagonal(p, q, m);
        debug_assert_eq!(self.diagonal(p, q, n), (u, t));
        let (to_m, to_n) = (self.cut(u, m), self.cut(t, n));
        [
            self.with([(m, to_m), (n, to_n)]),
            self.with([(m, to_m), (n, self.cut(u, n)), (t, to_n)]),
            self.with([(m, self.cut(t, m)), (n, to_n), (u, to_m)]),
        ]
    }

    /// Three points inside, one outside. The point that shares a long edge with the one outside starts no
    /// diagonal; of the other two, parity gives one two of them.
    fn prism(&self, m: usize) -> [[u32; 4]; 3] {
        let partner = m ^ 1;
        let (a, b) = if m < 2 { (2, 3) } else { (0, 1) };
        let (x, y) = self.diagonal(a, b, m);
        let (cut_y, cut_z) = (self.cut(y, m), self.cut(partner, m));
        [
            self.with([(m, cut_z)]),
            self.with([(m, cut_y), (partner, cut_z)]),
            self.with([(m, self.cut(x, m)), (y, cut_y), (partner, cut_z)]),
        ]
    }

    /// The diagonal of the quadrilateral between two points inside and the cuts towards `m`: it goes from the first
    /// returned point to the cut on the edge of the second.
    fn diagonal(&self, p: usize, q: usize, m: usize) -> (usize, usize) {
        debug_assert_ne!(self.states[m], ON);
        let p_starts = match m ^ 1 {
            partner if partner == p => false,
            partner if partner == q => true,
            _ => self.larger_coordinates(p, m).is_multiple_of(2),
        };
        if p_starts { (p, q) } else { (q, p) }
    }

    fn larger_coordinates(&self, p: usize, m: usize) -> u32 {
        let (p, m) = (self.lattice.coordinates(self.points[p]), self.lattice.coordinates(self.points[m]));
        p.cmpgt(m).bitmask().count_ones()
    }
}
