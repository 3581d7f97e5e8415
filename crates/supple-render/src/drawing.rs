//! Everything that is drawn, as one triangle mesh in stage units: bodies and colliders with their normals, colours
//! and polygon edges.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::camera::Stage;
use super::colors;
use super::normals::{split_at_creases, vertex_normals};
use super::survey::vertex_stretches;
use super::{ColliderMesh, ColorBy, Overlay, RenderScene};
use supple::mesh::SurfaceMesh;
use supple::output::FrameBody;
use supple::simulation::{Slice, SlicedCell};

/// Triangles with longer edges are subdivided, since ambient light is only known at vertices (stage units).
const LONGEST_EDGE: f32 = 0.1;
/// Only triangles this close to the centre of the picture are subdivided.
const CUT_WITHIN: f32 = 3.0;
/// Rounds of subdivision, each halving long edges, and the number of triangles at which it stops.
const CUT_ROUNDS: u32 = 7;
const CUT_TRIANGLES: usize = 200_000;

/// A vertex to draw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vertex {
    pub position: Vec3,
    /// Of length 1, or zero without a face.
    pub normal: Vec3,
    /// The albedo in linear light.
    pub color: Vec3,
}

impl Vertex {
    fn between(a: &Self, b: &Self) -> Self {
        Self {
            position: 0.5 * (a.position + b.position),
            normal: (a.normal + b.normal).normalize_or_zero(),
            color: 0.5 * (a.color + b.color),
        }
    }
}

/// The kind of surface, for shading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SurfaceKind {
    /// A body in its own colour: the back of cloth has another tint.
    Body,
    /// A body coloured by a quantity, which must keep its colours on both sides.
    Measured,
    /// A collider.
    Collider,
}

/// A triangle to draw.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrawnTriangle {
    pub corners: [u32; 3],
    pub surface_kind: SurfaceKind,
    /// Whether the edge from corner `i` to the next is an edge of the user's polygon.
    pub polygon_edges: [bool; 3],
}

/// Quantity shown by the colours of a body.
#[derive(Clone, Copy)]
enum Paint<'a> {
    /// One colour per body.
    Body(usize),
    /// The stretch, up to this limit.
    Stretch(f64),
    /// The region of each vertex.
    Regions(&'a [u32]),
    /// The stress of each vertex, up to this limit.
    Stress(&'a [f64], f64),
    /// The pressure of contact on each vertex, up to this limit, and the released vertices over all bodies with the number of the body's
    /// first vertex.
    Contact(&'a [f32], f64, (&'a [u32], usize)),
}

/// Fraction of a cell drawn along its sides: the gaps separate cells.
const CELL: f64 = 0.94;

/// The mesh of everything drawn.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub vertices: Vec<Vertex>,
    pub triangles: Vec<DrawnTriangle>,
    /// The positions of all vertices used by triangles, each once: every shadow map is fitted around them.
    pub casters: Vec<Vec3>,
}

impl Drawing {
    /// All bodies and colliders of a scene; the colour scale has its limit.
    pub(super) fn new(scene: &RenderScene, stage: &Stage, color: ColorBy) -> Self {
        let (limit, shows_stretch) = match color {
            ColorBy::Stretch { limit } => (limit, true),
            ColorBy::Stress { limit } | ColorBy::Contact { limit } => (limit, false),
            ColorBy::Plain => (None, false),
        };
        let mut drawing = Self::default();
        let cut = match scene.overlay {
            Overlay::Hierarchy { cells, slice, .. } if !cells.is_empty() => Some(*slice),
            _ => None,
        };
        let mut first = 0;
        for (index, body) in scene.frame.bodies.iter().enumerate() {
            let points = first..first + body.positions.len();
            first = points.end;
            let paint = match (scene.overlay, limit) {
                (Overlay::Hierarchy { regions, .. }, _) if !regions.is_empty() => {
                    Paint::Regions(&regions[points])
                }
                (Overlay::Stress(stress), Some(limit)) if stress.has_first_unit(index) => {
                    Paint::Stress(&stress.of_point[points], limit)
                }
                (Overlay::Contact { pressure, released }, Some(limit)) => {
                    let start = points.start;
                    Paint::Contact(&pressure[points], limit, (released, start))
                }
                (Overlay::None, Some(limit)) if shows_stretch => Paint::Stretch(limit),
                _ => Paint::Body(index),
            };
            drawing.add_body(body, paint, stage, cut);
        }
        if let Overlay::Hierarchy { cells, .. } = scene.overlay {
            drawing.add_cells(cells, stage);
        }
        for collider in scene.colliders {
            drawing.add_collider(collider, stage);
        }
        drawing.drop_unusable();
        drawing.cut_long_edges();
        drawing.casters = drawing.used_positions();
        drawing
    }

    fn used_positions(&self) -> Vec<Vec3> {
        let mut is_used = vec![false; self.vertices.len()];
        for corner in self.triangles.iter().flat_map(|triangle| triangle.corners) {
            is_used[corner as usize] = true;
        }
        let used = self.vertices.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        used.map(|(vertex, _)| vertex.position).collect()
    }

    /// The positions of a triangle's corners.
    #[cfg(test)]
    fn positions(&self, triangle: &DrawnTriangle) -> [Vec3; 3] {
        triangle.corners.map(|v| self.vertices[v as usize].position)
    }

    fn add_body(&mut self, body: &FrameBody, paint: Paint<'_>, stage: &Stage, cut: Option<Slice>) {
        let mesh = &body.surface.mesh;
        let triangles = mesh.triangles();
        let edges = polygon_edges(mesh, &triangles);
        let positions: Vec<Vec3> = body.positions.iter().map(|p| stage.point(p.as_dvec3())).collect();
        let (colors, surface_kind) = match paint {
            Paint::Body(index) => (vec![colors::body_color(index); positions.len()], SurfaceKind::Body),
            Paint::Regions(regions) => {
                (regions.iter().map(|&region| colors::region_color(region)).collect(), SurfaceKind::Measured)
            }
            Paint::Stretch(limit) => {
                // A little darker than the legend, otherwise shading would be lost in the nearly white middle of the scale.
                let color = |s: f64| colors::diverging(((s - 1.0) / (limit - 1.0)) as f32) * 0.86;
                (vertex_stretches(body, &triangles).into_iter().map(color).collect(), SurfaceKind::Measured)
            }
            Paint::Stress(stress, limit) => {
                let color = |s: &f64| colors::diverging((s / limit) as f32) * 0.86;
                (stress.iter().map(color).collect(), SurfaceKind::Measured)
            }
            Paint::Contact(pressure, limit, (released, first)) => {
                let color = |p: &f32| colors::diverging((f64::from(*p) / limit) as f32) * 0.86;
                let mut colors: Vec<Vec3> = pressure.iter().map(color).collect();
                for vertex in released.iter().filter_map(|vertex| (*vertex as usize).checked_sub(first)) {
                    colors
                        .iter_mut()
                        .skip(vertex)
                        .take(1)
                        .for_each(|c| *c = colors::linear(colors::RELEASED));
                }
                (colors, SurfaceKind::Measured)
            }
        };
        let mut part = SurfacePart { rest: mesh.positions.clone(), positions, colors, triangles, edges };
        if let Some(slice) = cut {
            part.cut_open(slice.axis(), slice.place(&mesh.positions));
        }
        self.add_mesh(
            &part.rest,
            &part.positions,
            &part.colors,
            &part.triangles,
            part.edges.into_iter(),
            surface_kind,
        );
    }

    /// Cells of a slice, drawn separately.
    fn add_cells(&mut self, cells: &[SlicedCell], stage: &Stage) {
        for cell in cells {
            let middle = cell.corners.iter().sum::<DVec3>() / 4.0;
            let corners = cell.corners.map(|corner| stage.point(middle + CELL * (corner - middle)));
            let normal = (corners[2] - corners[0]).cross(corners[3] - corners[1]).normalize_or_zero();
            let first = self.vertices.len() as u32;
            let color = colors::body_color(cell.kind as usize);
            self.vertices.extend(corners.map(|position| Vertex { position, normal, color }));
            let halves = [([0, 1, 2], [true, true, false]), ([0, 2, 3], [false, true, true])];
            self.triangles.extend(halves.map(|(corners, polygon_edges)| DrawnTriangle {
                corners: corners.map(|corner| first + corner),
                surface_kind: SurfaceKind::Measured,
                polygon_edges,
            }));
        }
    }

    fn add_collider(&mut self, collider: &ColliderMesh, stage: &Stage) {
        let positions: Vec<Vec3> = collider.positions.iter().map(|&p| stage.point(p)).collect();
        let color = colors::linear(collider.color.unwrap_or(colors::COLLIDER));
        let colors = vec![color; positions.len()];
        let edges = std::iter::repeat([true; 3]);
        self.add_mesh(
            &collider.positions,
            &positions,
            &colors,
            &collider.triangles,
            edges,
            SurfaceKind::Collider,
        );
    }

    fn add_mesh(
        &mut self,
        rest: &[DVec3],
        positions: &[Vec3],
        colors: &[Vec3],
        triangles: &[[u32; 3]],
        edges: impl Iterator<Item = [bool; 3]>,
        surface_kind: SurfaceKind,
    ) {
        let split = split_at_creases(rest, triangles);
        let drawn: Vec<Vec3> = split.source.iter().map(|&v| positions[v as usize]).collect();
        let normals = vertex_normals(&drawn, &split.triangles);
        let first = self.vertices.len() as u32;
        for ((&position, normal), &v) in drawn.iter().zip(normals).zip(&split.source) {
            self.vertices.push(Vertex { position, normal, color: colors[v as usize] });
        }
        self.triangles.extend(split.triangles.iter().zip(edges).map(|(t, polygon_edges)| DrawnTriangle {
            corners: t.map(|v| first + v),
            surface_kind,
            polygon_edges,
        }));
    }

    /// Skips triangles with a corner that is not finite or without area.
    fn drop_unusable(&mut self) {
        let Self { vertices, triangles, .. } = self;
        triangles.retain(|t| {
            let [a, b, c] = t.corners.map(|v| vertices[v as usize].position);
            (b - a).cross(c - a).length_squared() > 0.0
        });
    }

    /// Splits triangles at the midpoint of each long edge until none is left, or a limit is reached. Whether an edge
    /// is split depends only on the edge, so neighbours match.
    fn cut_long_edges(&mut self) {
        for _ in 0..CUT_ROUNDS {
            if self.triangles.len() > CUT_TRIANGLES || !self.cut_once() {
                return;
            }
        }
    }

    fn cut_once(&mut self) -> bool {
        let mut middles = HashMap::new();
        let mut cut = Vec::new();
        for index in 0..self.triangles.len() {
            let triangle = self.triangles[index];
            let middle = std::array::from_fn(|i| {
                let (a, b) = (triangle.corners[i], triangle.corners[(i + 1) % 3]);
                self.is_long(a, b).then(|| {
                    *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                        let vertex = Vertex::between(&self.vertices[a as usize], &self.vertices[b as usize]);
                        self.vertices.push(vertex);
                        self.vertices.len() as u32 - 1
                    })
                })
            });
            if middle != [None; 3] {
                let mut parts = cut_triangle(&triangle, middle);
                self.triangles[index] = parts.pop().expect("a triangle is cut into at least two");
                cut.extend(parts);
            }
        }
        self.triangles.extend(cut);
        !middles.is_empty()
    }

    fn is_long(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|v| self.vertices[v as usize].position);
        a.distance_squared(b) > LONGEST_EDGE * LONGEST_EDGE
            && (a + b).length() < 2.0 * CUT_WITHIN + a.distance(b)
    }
}

/// A body while it is prepared for drawing.
struct SurfacePart {
    rest: Vec<DVec3>,
    positions: Vec<Vec3>,
    colors: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    edges: Vec<[bool; 3]>,
}

impl SurfacePart {
    /// Removes everything beyond `at` along an axis of the rest shape.
    fn cut_open(&mut self, axis: usize, at: f64) {
        let mut crossings = HashMap::new();
        let whole = std::mem::take(&mut self.triangles).into_iter().zip(std::mem::take(&mut self.edges));
        for (triangle, edges) in whole {
            let is_kept = triangle.map(|v| self.rest[v as usize][axis] <= at);
            if is_kept == [true; 3] {
                self.triangles.push(triangle);
                self.edges.push(edges);
                continue;
            }
            let mut outline = Vec::with_capacity(4);
            for i in 0..3 {
                let (a, b) = (triangle[i], triangle[(i + 1) % 3]);
                outline.extend(is_kept[i].then_some(a));
                if is_kept[i] != is_kept[(i + 1) % 3] {
                    let key = (a.min(b), a.max(b));
                    outline.push(*crossings.entry(key).or_insert_with(|| self.cross(key, axis, at)));
                }
            }
            for i in 2..outline.len() {
                self.triangles.push([outline[0], outline[i - 1], outline[i]]);
                self.edges.push([false; 3]);
            }
        }
    }

    /// A new vertex where an edge meets the cut.
    fn cross(&mut self, (a, b): (u32, u32), axis: usize, at: f64) -> u32 {
        let (a, b) = (a as usize, b as usize);
        let [low, high] = [a, b].map(|v| self.rest[v][axis]);
        let share = (at - low) / (high - low);
        self.rest.push(self.rest[a].lerp(self.rest[b], share));
        self.positions.push(self.positions[a].lerp(self.positions[b], share as f32));
        self.colors.push(self.colors[a].lerp(self.colors[b], share as f32));
        self.rest.len() as u32 - 1
    }
}

/// For each triangle of a mesh, as [`SurfaceMesh::triangles`] cuts its polygons, which of its edges are edges of the
/// polygon.
fn polygon_edges(mesh: &SurfaceMesh, triangles: &[[u32; 3]]) -> Vec<[bool; 3]> {
    let mut edges = Vec::with_capacity(triangles.len());
    let mut sides = Vec::new();
    for face in mesh.faces() {
        sides.clear();
        sides.extend((0..face.len()).map(|i| (face[i], face[(i + 1) % face.len()])));
        sides.sort_unstable();
        let neighbours = |a: u32, b: u32| sides.binary_search(&(a, b)).is_ok();
        for _ in 2..face.len() {
            let [a, b, c] = triangles[edges.len()];
            edges.push([neighbours(a, b), neighbours(b, c), neighbours(c, a)]);
        }
    }
    edges
}

/// The parts of a triangle whose edges `i` are split at `middle[i]`.
fn cut_triangle(triangle: &DrawnTriangle, middle: [Option<u32>; 3]) -> Vec<DrawnTriangle> {
    // The outline with its midpoints, each point with a flag for whether the following edge belongs to the polygon.
    let mut outline = Vec::with_capacity(6);
    for ((&corner, &of_polygon), middle) in triangle.corners.iter().zip(&triangle.polygon_edges).zip(middle) {
        outline.push((corner, of_polygon));
        outline.extend(middle.map(|m| (m, of_polygon)));
    }
    // Ears at corners between two midpoints first, then the rest as a fan from a midpoint.
    let is_middle = |v: u32| middle.contains(&Some(v));
    let mut parts = Vec::with_capacity(4);
    let part = |a: (u32, bool), b: (u32, bool), c: (u32, bool)| DrawnTriangle {
        corners: [a.0, b.0, c.0],
        surface_kind: triangle.surface_kind,
        polygon_edges: [a.1, b.1, c.1],
    };
    while outline.len() > 3 {
        let n = outline.len();
        let ear = (0..n).find(|&i| {
            !is_middle(outline[i].0)
                && is_middle(outline[(i + n - 1) % n].0)
                && is_middle(outline[(i + 1) % n].0)
        });
        // Without such a corner, cut off the corner after a middle.
        let tip = ear.unwrap_or_else(|| {
            (0..n).find(|&i| is_middle(outline[(i + n - 1) % n].0)).expect("an outline of four has a middle")
        });
        let (before, after) = ((tip + n - 1) % n, (tip + 1) % n);
        parts.push(part(outline[before], outline[tip], (outline[after].0, false)));
        outline[before].1 = false;
        outline.remove(tip);
    }
    parts.push(part(outline[0], outline[1], outline[2]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing_of(positions: &[Vec3], triangles: &[[u32; 3]]) -> Drawing {
        let vertex = |&position: &Vec3| Vertex { position, normal: Vec3::Y, color: Vec3::ONE };
        let triangle = |&corners: &[u32; 3]| DrawnTriangle {
            corners,
            surface_kind: SurfaceKind::Body,
            polygon_edges: [true; 3],
        };
        Drawing {
            vertices: positions.iter().map(vertex).collect(),
            triangles: triangles.iter().map(triangle).collect(),
            casters: positions.to_vec(),
        }
    }

    #[test]
    fn cutting_keeps_the_area_and_leaves_no_gap() {
        let corners = [Vec3::ZERO, Vec3::X * 0.9, Vec3::new(0.8, 0.0, 0.7), Vec3::Z * 0.35];
        let mut drawing = drawing_of(&corners, &[[0, 2, 1], [0, 3, 2]]);
        let area = |d: &Drawing| -> f32 {
            let twice = |t: &DrawnTriangle| {
                let [a, b, c] = d.positions(t);
                (b - a).cross(c - a).y
            };
            d.triangles.iter().map(|t| 0.5 * twice(t)).sum()
        };
        let before = area(&drawing);
        drawing.cut_long_edges();
        assert!((area(&drawing) - before).abs() < 1e-5);
        // Every edge has a partner in the other direction, or lies on the outline of the quad.
        let directed = |d: &Drawing| -> Vec<(u32, u32)> {
            d.triangles
                .iter()
                .flat_map(|t| [0, 1, 2].map(|i| (t.corners[i], t.corners[(i + 1) % 3])))
                .collect()
        };
        let edges = directed(&drawing);
        let single = edges.iter().filter(|&&(a, b)| !edges.contains(&(b, a)));
        let outline: f32 = single
            .map(|&(a, b)| {
                drawing.vertices[a as usize].position.distance(drawing.vertices[b as usize].position)
            })
            .sum();
        let expected: f32 = (0..4).map(|i| corners[i].distance(corners[(i + 1) % 4])).sum();
        assert!((outline - expected).abs() < 1e-4, "{outline} of {expected}");
        assert!(edges.iter().all(|&(a, b)| !drawing.is_long(a, b)));
    }

    #[test]
    fn every_cut_keeps_the_edges_of_the_polygon() {
        for cut in 1..8 {
            let corners = [Vec3::ZERO, Vec3::X, Vec3::NEG_Z];
            let mut drawing = drawing_of(&corners, &[[0, 1, 2]]);
            let middle = std::array::from_fn(|i| {
                (cut >> i & 1 == 1).then(|| {
                    let middle = Vertex::between(&drawing.vertices[i], &drawing.vertices[(i + 1) % 3]);
                    drawing.vertices.push(middle);
                    drawing.vertices.len() as u32 - 1
                })
            });
            let triangle = drawing.triangles[0];
            let mut of_polygon = 0.0;
            for part in cut_triangle(&triangle, middle) {
                let p = drawing.positions(&part);
                assert!((p[1] - p[0]).cross(p[2] - p[0]).y > 0.1, "turned or flat part with cuts {cut:03b}");
                of_polygon += (0..3)
                    .filter(|&i| part.polygon_edges[i])
                    .map(|i| p[i].distance(p[(i + 1) % 3]))
                    .sum::<f32>();
            }
            assert!((of_polygon - (2.0 + 2f32.sqrt())).abs() < 1e-5);
        }
    }

    #[test]
    fn diagonals_of_polygons_are_not_their_edges() {
        let positions = [[0.0, 0.0], [1.0, 0.0], [3.0, 2.0], [0.0, 1.0], [-1.0, 0.5]];
        let mut mesh = SurfaceMesh {
            positions: positions.iter().map(|p| DVec3::new(p[0], p[1], 0.0)).collect(),
            ..SurfaceMesh::default()
        };
        mesh.push_face(&[0, 1, 2, 3]);
        mesh.push_face(&[0, 1, 2, 3, 4]);
        let edges = polygon_edges(&mesh, &mesh.triangles());
        let count = |part: &[[bool; 3]]| part.as_flattened().iter().filter(|&&e| e).count();
        assert_eq!((count(&edges[..2]), count(&edges[2..])), (4, 5));
    }

    #[test]
    fn unusable_triangles_are_left_out() {
        let mut drawing =
            drawing_of(&[Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::NAN], &[[0, 1, 2], [0, 1, 3], [1, 1, 2]]);
        drawing.drop_unusable();
        assert_eq!(drawing.triangles.len(), 1);
    }
}
