//! The triangles of surfaces in patches of eight neighbours, one for each lane, and the pairs of primitives of two patches that come near.

#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use glam::DVec3;

use crate::contact::distance::closest_points::PrimitivePair;
use crate::contact::distance::lane_triangles::{LaneTriangles, at_most, gap_squared, surely};
use crate::contact::surfaces::Surfaces;
use supple_core::Aabb;
use supple_core::simd::{F32x8, Kernel, SingleVec3, WIDTH, lanes_equal, take_lane};

/// Up to eight triangles.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    /// Their number; padding lanes repeat the last.
    pub(crate) count: u32,
    /// The points of each corner.
    pub(crate) points: [[u32; WIDTH]; 3],
    bodies: [u32; WIDTH],
    /// Whether all triangles belong to one body or collider.
    is_uniform: bool,
    /// The lanes whose corner `i` no earlier triangle of the surface has: so each vertex is tested once.
    own_vertices: [u32; 3],
    /// The same for the edge from corner `i` to the next.
    own_edges: [u32; 3],
}

/// The patches of triangles given in an order in which neighbours are near.
pub(crate) fn cut_patches(surfaces: &Surfaces, order: &[u32]) -> Vec<Patch> {
    order.chunks(WIDTH).map(|triangles| Patch::new(surfaces, triangles)).collect()
}

impl Patch {
    fn new(surfaces: &Surfaces, triangles: &[u32]) -> Self {
        let mut patch = Self {
            count: triangles.len() as u32,
            points: [[0; WIDTH]; 3],
            bodies: [0; WIDTH],
            is_uniform: true,
            own_vertices: [0; 3],
            own_edges: [0; 3],
        };
        for lane in 0..WIDTH {
            let triangle = triangles[lane.min(triangles.len() - 1)];
            let own = surfaces.own_pieces(triangle);
            let corners = surfaces.triangles[triangle as usize];
            patch.bodies[lane] = surfaces.body(corners[0]);
            for k in 0..3 {
                patch.points[k][lane] = corners[k];
                patch.own_vertices[k] |= u32::from(own.vertices[k]) << lane;
                patch.own_edges[k] |= u32::from(own.edges[k]) << lane;
            }
        }
        patch.is_uniform = patch.bodies.iter().all(|body| *body == patch.bodies[0]);
        patch
    }

    /// Whether triangles of two patches may touch.
    pub(crate) fn may_touch(&self, other: &Self, surfaces: &Surfaces) -> bool {
        !self.is_uniform || touching(surfaces, self.bodies[0], other) != 0
    }

    /// The corners of a triangle.
    pub(crate) fn triangle(&self, lane: usize) -> [u32; 3] {
        [self.points[0][lane], self.points[1][lane], self.points[2][lane]]
    }

    /// The box around values of its points.
    pub(crate) fn bounds(&self, of_points: &[DVec3]) -> Aabb {
        let points = self.points.iter().flat_map(|corner| &corner[..self.count as usize]);
        points
            .map(|&p| of_points[p as usize])
            .fold(Aabb::EMPTY, |bounds, v| Aabb { low: bounds.low.min(v), high: bounds.high.max(v) })
    }

    fn lanes(&self) -> u32 {
        (1 << self.count) - 1
    }
}

/// A patch at its points' positions, in single precision about one of them, and the motion of its triangles from there.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    origin: DVec3,
    triangles: LaneTriangles,
    /// The mean displacement of each triangle's corners, minus the common one of all patches, and the largest deviation of a corner from it.
    ways: SingleVec3,
    spread: F32x8,
    /// The smallest and the largest displacement of a triangle's corners along each axis.
    least: SingleVec3,
    most: SingleVec3,
    /// The same of the whole patch, and the box around it.
    whole: Whole,
    longest_edge: f32,
    /// The sum of the largest coordinate about the origin and the largest displacement.
    size: f32,
}

/// A patch as a whole.
#[derive(Debug, Clone, Copy)]
struct Whole {
    low: [f32; 3],
    high: [f32; 3],
    least: [f32; 3],
    most: [f32; 3],
}

impl Whole {
    fn new(triangles: &LaneTriangles, least: &SingleVec3, most: &SingleVec3) -> Self {
        let low = |v: &SingleVec3| v.0.map(|lanes| lanes.0.into_iter().fold(f32::INFINITY, f32::min));
        let high = |v: &SingleVec3| v.0.map(|lanes| lanes.0.into_iter().fold(f32::NEG_INFINITY, f32::max));
        Self { low: low(&triangles.low), high: high(&triangles.high), least: low(least), most: high(most) }
    }
}

impl Shape {
    /// The positions of a patch's points with their displacements, which include `common`.
    pub(crate) fn new(patch: &Patch, at: &[DVec3], ways: &[DVec3], common: DVec3) -> Self {
        let origin = at[patch.points[0][0] as usize];
        let mut corners = [SingleVec3::ZERO; 3];
        let (mut mean_ways, mut spread) = (SingleVec3::ZERO, F32x8::ZERO);
        let (mut least, mut most) = (SingleVec3::ZERO, SingleVec3::ZERO);
        for lane in 0..WIDTH {
            let points = patch.triangle(lane).map(|p| p as usize);
            for (corner, p) in corners.iter_mut().zip(points) {
                corner.set(lane, (at[p] - origin).as_vec3().to_array());
            }
            let way = points.map(|p| ways[p] - common);
            let mean = (way[0] + way[1] + way[2]) / 3.0;
            mean_ways.set(lane, mean.as_vec3().to_array());
            least.set(lane, way[0].min(way[1]).min(way[2]).as_vec3().to_array());
            most.set(lane, way[0].max(way[1]).max(way[2]).as_vec3().to_array());
            let off = way.map(|way| way.distance_squared(mean));
            spread.0[lane] = off[0].max(off[1]).max(off[2]).sqrt() as f32;
        }
        let triangles = LaneTriangles::new(corners);
        let largest = |low: SingleVec3, high: SingleVec3| {
            let extent = high.max(SingleVec3::ZERO - low).0;
            extent.iter().flat_map(|extent| extent.0).fold(0.0, f32::max)
        };
        let size = largest(triangles.low, triangles.high) + largest(least, most);
        let longest_edge = triangles.longest_edge(patch.count as usize);
        let whole = Whole::new(&triangles, &least, &most);
        Self { origin, triangles, ways: mean_ways, spread, least, most, whole, longest_edge, size }
    }
}

impl Shape {
    /// The triangles that may come as near as `within` metres to another patch as a whole, which is displaced by `shift`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn meeting_whole(&self, other: &Whole, shift: SingleVec3, within: F32x8, still: bool) -> u32 {
        let (mut back, mut forth) = (SingleVec3::ZERO, SingleVec3::ZERO);
        if !still {
            back = (self.least - SingleVec3::splat(other.most)).min(back);
            forth = (self.most - SingleVec3::splat(other.least)).max(forth);
        }
        let (low, high) = (SingleVec3::splat(other.low) + shift, SingleVec3::splat(other.high) + shift);
        let apart = (self.triangles.low + back - high).max(low - self.triangles.high - forth);
        apart.0[0].max(apart.0[1]).max(apart.0[2]).not_above(within)
    }
}

/// How a triangle and those of another patch move relative to each other, and how near their primitives must be for that.
#[derive(Clone, Copy)]
struct Meeting {
    /// The extent of the others' motion down and up each axis.
    back: SingleVec3,
    forth: SingleVec3,
    /// How near boxes must be along every axis including that.
    within: SingleVec3,
    /// The squared distances that are initially too far.
    far: F32x8,
}

impl Meeting {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new((shape, lane): (&Shape, usize), other: &Shape, within: f32, [edges, size]: [f32; 2]) -> Self {
        let way = other.ways - shape.ways.splat_of(lane);
        let coming = way.dot(way).sqrt() + F32x8::splat(shape.spread.0[lane]) + other.spread;
        Self {
            back: (other.least - shape.most.splat_of(lane)).min(SingleVec3::ZERO),
            forth: (other.most - shape.least.splat_of(lane)).max(SingleVec3::ZERO),
            ..Self::from_all_sides(coming, within, [edges, size])
        }
    }

    /// For primitives that come nearer by this much, in any direction.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_all_sides(coming: F32x8, within: f32, [edges, size]: [f32; 2]) -> Self {
        Self {
            back: SingleVec3::ZERO,
            forth: SingleVec3::ZERO,
            within: SingleVec3::splat([rounded_up(within, size); 3]),
            far: at_most(coming + F32x8::splat(within), edges, size),
        }
    }

    /// The lanes in which a box of the one triangle and one of another may come near.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of_boxes(&self, [low, high]: [SingleVec3; 2], other: [SingleVec3; 2]) -> u32 {
        let apart = (other[0] + self.back - high).max(low - other[1] - self.forth) - self.within;
        let apart = apart.0[0].max(apart.0[1]).max(apart.0[2]);
        gap_squared([low, high], other).not_above(self.far) & apart.not_above(F32x8::ZERO)
    }
}

/// A pair of primitives that come near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    pub(crate) kind: PrimitivePair,
    pub(crate) points: [u32; 4],
    /// A lower bound of its distance in metres, at the points' positions.
    pub(crate) distance: f64,
}

/// Finds the pairs of primitives of two patches that come as near as `within` metres on their displacements. Each pair occurs once over all
/// pairs of patches, in an order that does not depend on the positions.
pub(crate) struct FindNear<'a> {
    pub(crate) surfaces: &'a Surfaces,
    pub(crate) first: (&'a Patch, &'a Shape),
    pub(crate) second: (&'a Patch, &'a Shape),
    /// Whether both are the same patch.
    pub(crate) same: bool,
    /// Whether they are stationary, whatever their displacements.
    pub(crate) still: bool,
    pub(crate) within: f64,
    pub(crate) near: &'a mut Vec<Near>,
}

impl Kernel for FindNear<'_> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Self { surfaces, first: (own, shape), second: (patch, other), same, still, within, near } = self;
        let apart = shape.origin - other.origin;
        let size = shape.size + other.size + apart.abs().max_element() as f32;
        let shift = SingleVec3::splat([apart.x as f32, apart.y as f32, apart.z as f32]);
        let (edges, within) = (2.0 * (shape.longest_edge + other.longest_edge), within as f32);
        let (rounded, back) = (F32x8::splat(rounded_up(within, size)), SingleVec3::ZERO - shift);
        // Most triangles of two overlapping patches are far from each other.
        let mut own_lanes = own.lanes() & shape.meeting_whole(&other.whole, back, rounded, still);
        let near_lanes = patch.lanes() & other.meeting_whole(&shape.whole, shift, rounded, still);
        while own_lanes != 0 && near_lanes != 0 {
            let lane = take_lane(&mut own_lanes);
            let mut lanes = near_lanes & touching(surfaces, own.bodies[lane], patch);
            if same {
                // Each pair of triangles once, and none with itself.
                lanes &= !0 << (lane + 1);
            }
            let meeting = if still {
                Meeting::from_all_sides(F32x8::ZERO, within, [edges, size])
            } else {
                Meeting::new((shape, lane), other, within, [edges, size])
            };
            let one = shape.triangles.one(lane, shift);
            lanes &= meeting.of_boxes([one.low, one.high], [other.triangles.low, other.triangles.high]);
            if lanes != 0 {
                let (corners, triangle, others) = (own.triangle(lane), &one, &other.triangles);
                let one = One { corners, own, lane, triangle, patch, others, meeting, shared: [[0; 3]; 3] };
                one.find(lanes, |kind, points, squared| {
                    near.push(Near { kind, points, distance: surely(squared, edges, size) });
                });
            }
        }
    }
}

/// How near boxes must be along an axis for primitives to come as near as `within` metres, with coordinates of at most `size` metres.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rounded_up(within: f32, size: f32) -> f32 {
    within * (1.0 + 4.0 * f32::EPSILON) + 16.0 * f32::EPSILON * size
}

/// The lanes of a patch that a triangle of a body may touch.
#[cfg_attr(not(debug_assertions), inline(always))]
fn touching(surfaces: &Surfaces, body: u32, patch: &Patch) -> u32 {
    let touched = surfaces.touched_by(body);
    if patch.is_uniform {
        return if touched[patch.bodies[0] as usize] { !0 } else { 0 };
    }
    let mut lanes = 0;
    for lane in 0..WIDTH {
        lanes |= u32::from(touched[patch.bodies[lane] as usize]) << lane;
    }
    lanes
}

/// One triangle against those of a patch.
struct One<'a> {
    corners: [u32; 3],
    own: &'a Patch,
    lane: usize,
    /// Broadcast to all lanes.
    triangle: &'a LaneTriangles,
    patch: &'a Patch,
    others: &'a LaneTriangles,
    meeting: Meeting,
    /// The lanes whose corner `j` is corner `i` of the single one: `shared[i][j]`.
    shared: [[u32; 3]; 3],
}

impl One<'_> {
    /// Calls `visit` with the pairs of its primitives and those of some lanes that are near and share no vertex, and their squared distances.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find(mut self, lanes: u32, mut visit: impl FnMut(PrimitivePair, [u32; 4], f32)) {
        for i in 0..3 {
            for j in 0..3 {
                self.shared[i][j] = lanes_equal(&self.patch.points[j], self.corners[i]);
            }
        }
        self.own_vertices(lanes, &mut visit);
        self.other_vertices(lanes, &mut visit);
        self.edges(lanes, &mut visit);
    }

    /// Its own vertices with the triangles of the lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn own_vertices(&self, lanes: u32, visit: &mut impl FnMut(PrimitivePair, [u32; 4], f32)) {
        let Self { others, shared, meeting, .. } = *self;
        for i in 0..3 {
            let mut near = lanes & !(shared[i][0] | shared[i][1] | shared[i][2]);
            if self.own.own_vertices[i] >> self.lane & 1 == 0 || near == 0 {
                continue;
            }
            let vertex = self.triangle.corners[i];
            near &= meeting.of_boxes([vertex, vertex], [others.low, others.high]);
            if near == 0 {
                continue;
            }
            let squared = others.to_point(vertex);
            near &= squared.not_above(meeting.far);
            while near != 0 {
                let l = take_lane(&mut near);
                let [a, b, c] = self.patch.triangle(l);
                visit(PrimitivePair::VertexTriangle, [self.corners[i], a, b, c], squared.0[l]);
            }
        }
    }

    /// Itself with the vertices of the lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn other_vertices(&self, lanes: u32, visit: &mut impl FnMut(PrimitivePair, [u32; 4], f32)) {
        let Self { triangle, patch, shared, meeting, .. } = *self;
        for j in 0..3 {
            let mut near = lanes & patch.own_vertices[j] & !(shared[0][j] | shared[1][j] | shared[2][j]);
            if near == 0 {
                continue;
            }
            let vertex = self.others.corners[j];
            near &= meeting.of_boxes([triangle.low, triangle.high], [vertex, vertex]);
            if near == 0 {
                continue;
            }
            let squared = triangle.to_point(vertex);
            near &= squared.not_above(meeting.far);
            while near != 0 {
                let l = take_lane(&mut near);
                let [a, b, c] = self.corners;
                visit(PrimitivePair::VertexTriangle, [patch.points[j][l], a, b, c], squared.0[l]);
            }
        }
    }

    /// Its own edges with those of the lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn edges(&self, lanes: u32, visit: &mut impl FnMut(PrimitivePair, [u32; 4], f32)) {
        let Self { others, meeting, .. } = *self;
        for i in 0..3 {
            if self.own.own_edges[i] >> self.lane & 1 == 0 {
                continue;
            }
            let around = lanes & meeting.of_boxes(self.triangle.edge_box(i), [others.low, others.high]);
            if around != 0 {
                self.edges_with(i, around, visit);
            }
        }
    }

    /// Its edge `i` with those of the lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn edges_with(&self, i: usize, lanes: u32, visit: &mut impl FnMut(PrimitivePair, [u32; 4], f32)) {
        let Self { corners, triangle, patch, others, shared, meeting, .. } = *self;
        let next = (i + 1) % 3;
        let edge = triangle.edge_box(i);
        for j in 0..3 {
            let after = (j + 1) % 3;
            let meet = shared[i][j] | shared[i][after] | shared[next][j] | shared[next][after];
            let mut near = lanes & patch.own_edges[j] & !meet;
            if near == 0 {
                continue;
            }
            near &= meeting.of_boxes(edge, others.edge_box(j));
            if near == 0 {
                continue;
            }
            let squared = triangle.edge_to_edge(i, others, j);
            near &= squared.not_above(meeting.far);
            while near != 0 {
                let l = take_lane(&mut near);
                let ends = [corners[i], corners[next], patch.points[j][l], patch.points[after][l]];
                visit(PrimitivePair::EdgeEdge, ends, squared.0[l]);
            }
        }
    }
}
