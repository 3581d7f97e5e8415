//! Selections: predicates in rest space, evaluated on a solver family's points (vertices, element centres, cells).

use std::fmt;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::scene::ClosedMesh;
use crate::scene::model::boundary::{boundary_loops, boundary_path};
use supple_core::Error;
use supple_core::text::number::Brief;
use supple_core::text::suggest::{did_you_mean, list};
use supple_mesh::SurfaceMesh;

/// Which points of a body, by their rest position (world metres, after the body's transform) or by names and indices of
/// the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Selection {
    /// Every point.
    All {},
    /// Points in an axis-aligned box.
    Box {
        /// Smallest corner.
        min: DVec3,
        /// Largest corner.
        max: DVec3,
    },
    /// Points in a ball.
    Sphere {
        /// Centre.
        center: DVec3,
        /// Radius in metres.
        radius: f64,
    },
    /// Points on the side of a plane to which its normal points.
    Plane {
        /// A point of the plane.
        point: DVec3,
        /// The normal.
        normal: DVec3,
    },
    /// The point nearest to each of these.
    Nearest(Vec<DVec3>),
    /// Vertices of the user's mesh by number, from 0.
    Indices(Vec<u32>),
    /// The boundary loop (counted from 0, longest first).
    BoundaryLoop(u32),
    /// The boundary from the vertex nearest to the first point to that nearest to the last one: the shorter path, or that past
    /// the intermediate points.
    BoundaryPath(Vec<DVec3>),
    /// Points inside a closed mesh file.
    InsideMesh(ClosedMesh),
    /// Vertices of a group, object or material of the file.
    Group(String),
    /// Vertices with this colour in the file (red, green, blue from 0 to 1), within 0.02.
    Color([f32; 3]),
    /// Points that at least one of these selects.
    Any(Vec<Selection>),
    /// Points that all of these select.
    AllOf(Vec<Selection>),
    /// Points that this does not select.
    Not(Box<Selection>),
}

/// How far outside a box, ball or plane a point may be and still count, as a fraction of the body's size: vertices
/// exactly on the border must not be lost to rounding.
const ON_THE_BORDER: f64 = 1e-9;
/// The tolerance per colour component: files have 8 bits, and artists' tools convert.
const COLOR_TOLERANCE: f32 = 0.02;

/// Tests which points are inside a closed mesh file.
pub type InsideTest<'a> = &'a dyn Fn(&ClosedMesh, &[DVec3]) -> Result<Vec<bool>, Error>;

/// The points to select from.
#[derive(Clone, Copy)]
pub struct SelectionPoints<'a> {
    /// The body's name, for messages.
    pub body: &'a str,
    /// Rest positions in world metres.
    pub positions: &'a [DVec3],
    /// The user's mesh, if the points are its vertices in its order: for groups, colours and boundary loops.
    pub surface: Option<&'a SurfaceMesh>,
    /// The test for `inside-mesh`.
    pub inside: Option<InsideTest<'a>>,
}

impl Selection {
    /// Every point.
    pub fn all() -> Self {
        Self::All {}
    }

    /// The point nearest to each of these, in world metres.
    ///
    /// ```
    /// use supple::{Pin, Selection};
    /// let corners = Pin::hard("cloth", Selection::nearest([[-0.5, 1.0, -0.5], [0.5, 1.0, -0.5]]));
    /// # assert_eq!(corners.body, "cloth");
    /// ```
    pub fn nearest(points: impl IntoIterator<Item = impl Into<DVec3>>) -> Self {
        Self::Nearest(points.into_iter().map(Into::into).collect())
    }

    /// Points in the axis-aligned box between its smallest and its largest corner, in world metres.
    pub fn cuboid(min: impl Into<DVec3>, max: impl Into<DVec3>) -> Self {
        Self::Box { min: min.into(), max: max.into() }
    }

    /// Points in a ball, in world metres.
    pub fn sphere(center: impl Into<DVec3>, radius: f64) -> Self {
        Self::Sphere { center: center.into(), radius }
    }

    /// Points on the side of the plane through `point` to which `normal` points.
    pub fn plane(point: impl Into<DVec3>, normal: impl Into<DVec3>) -> Self {
        Self::Plane { point: point.into(), normal: normal.into() }
    }

    /// Vertices of the user's mesh by number, from 0.
    pub fn indices(vertices: impl IntoIterator<Item = u32>) -> Self {
        Self::Indices(vertices.into_iter().collect())
    }

    /// The boundary from the vertex nearest to the first point to that nearest to the last one: the shorter way, or
    /// that past the points between them.
    pub fn boundary_path(points: impl IntoIterator<Item = impl Into<DVec3>>) -> Self {
        Self::BoundaryPath(points.into_iter().map(Into::into).collect())
    }

    /// The selected points, sorted, without duplicates. An empty selection is an error.
    ///
    /// ```
    /// use supple::scene::{Selection, SelectionPoints};
    /// let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]].map(Into::into);
    /// let points = SelectionPoints { body: "cloth", positions: &positions, surface: None, inside: None };
    /// let right = Selection::plane([0.5, 0.0, 0.0], [1.0, 0.0, 0.0]);
    /// assert_eq!(right.evaluate(&points)?, [1, 2]);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn evaluate(&self, points: &SelectionPoints<'_>) -> Result<Vec<u32>, Error> {
        self.evaluate_as(points, "vertex", "whose bounds are")
    }

    /// The same for the centres of elements, with a message that names elements.
    pub fn evaluate_centres(&self, centres: &SelectionPoints<'_>) -> Result<Vec<u32>, Error> {
        self.evaluate_as(centres, "element", "whose elements are selected by their centres, with the bounds")
    }

    fn evaluate_as(
        &self,
        points: &SelectionPoints<'_>,
        what: &str,
        bounds_are: &str,
    ) -> Result<Vec<u32>, Error> {
        let chosen: Vec<u32> = self
            .mask(points)?
            .iter()
            .enumerate()
            .filter(|(_, chosen)| **chosen)
            .map(|(i, _)| i as u32)
            .collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let bounds = match bounds_of(points.positions) {
            Some((low, high)) => format!("{bounds_are} {} to {}", corner(low), corner(high)),
            None => "which has no vertices".to_owned(),
        };
        Err(Error::Invalid(format!("`{self}` selects no {what} of body `{}`, {bounds}", points.body)))
    }

    /// For each point whether it is selected.
    fn mask(&self, points: &SelectionPoints<'_>) -> Result<Vec<bool>, Error> {
        let border =
            ON_THE_BORDER * bounds_of(points.positions).map_or(0.0, |(low, high)| low.distance(high));
        let by = |test: &dyn Fn(DVec3) -> bool| Ok(points.positions.iter().map(|&p| test(p)).collect());
        match self {
            Self::All {} => by(&|_| true),
            Self::Box { min, max } => by(&|p| {
                p.cmpge(*min - DVec3::splat(border)).all() && p.cmple(*max + DVec3::splat(border)).all()
            }),
            Self::Sphere { center, radius } => by(&|p| p.distance(*center) <= radius + border),
            Self::Plane { point, normal } => by(&|p| (p - *point).dot(*normal) >= -border * normal.length()),
            Self::Nearest(targets) => Ok(points.mask_of(targets.iter().filter_map(|&t| points.nearest(t)))),
            Self::Indices(vertices) => points.indices(vertices),
            Self::BoundaryLoop(number) => points.boundary_loop(*number),
            Self::BoundaryPath(along) => points.boundary_path(along),
            Self::InsideMesh(mesh) => points.inside(mesh),
            Self::Group(name) => points.group(name),
            Self::Color(color) => points.color(*color),
            Self::Any(parts) => combine(parts, points, false, |a, b| a || b),
            Self::AllOf(parts) => combine(parts, points, true, |a, b| a && b),
            Self::Not(part) => Ok(part.mask(points)?.into_iter().map(|chosen| !chosen).collect()),
        }
    }
}

impl fmt::Display for Selection {
    /// The selection in scene-file notation, truncated to one line of readable length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.serialize(toml_edit::ser::ValueSerializer::new());
        let text = value.map_or_else(|_| format!("{self:?}"), |value| value.to_string());
        match text.char_indices().nth(100) {
            Some((end, _)) => write!(f, "{} …", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

fn combine(
    parts: &[Selection],
    points: &SelectionPoints<'_>,
    start: bool,
    join: fn(bool, bool) -> bool,
) -> Result<Vec<bool>, Error> {
    let mut all = vec![start; points.positions.len()];
    for part in parts {
        all.iter_mut().zip(part.mask(points)?).for_each(|(chosen, other)| *chosen = join(*chosen, other));
    }
    Ok(all)
}

fn bounds_of(points: &[DVec3]) -> Option<(DVec3, DVec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(low, high), &p| (low.min(p), high.max(p))))
}

fn corner(p: DVec3) -> String {
    format!("({}, {}, {}) m", Brief(p.x), Brief(p.y), Brief(p.z))
}

impl SelectionPoints<'_> {
    fn mask_of(&self, chosen: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let mut mask = vec![false; self.positions.len()];
        for vertex in chosen {
            if let Some(flag) = mask.get_mut(vertex as usize) {
                *flag = true;
            }
        }
        mask
    }

    /// The point nearest to `target`; the lowest index of equally near ones.
    fn nearest(&self, target: DVec3) -> Option<u32> {
        let distances = self.positions.iter().map(|p| p.distance_squared(target)).enumerate();
        distances.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(i, _)| i as u32)
    }

    fn indices(&self, vertices: &[u32]) -> Result<Vec<bool>, Error> {
        let count = self.positions.len();
        match vertices.iter().find(|&&vertex| vertex as usize >= count) {
            Some(beyond) => Err(Error::Invalid(format!(
                "`indices` names vertex {beyond} of body `{}`, which has {count} vertices, numbered from 0",
                self.body
            ))),
            None => Ok(self.mask_of(vertices.iter().copied())),
        }
    }

    /// The user's mesh, or an error that names the selection that needs it.
    fn mesh_for(&self, what: &str) -> Result<&SurfaceMesh, Error> {
        let mesh = self.surface.filter(|mesh| mesh.positions.len() == self.positions.len());
        mesh.ok_or_else(|| {
            Error::Invalid(format!(
                "`{what}` selects on the surface mesh, and body `{}` has none here",
                self.body
            ))
        })
    }

    fn boundary_loop(&self, number: u32) -> Result<Vec<bool>, Error> {
        let loops = boundary_loops(self.mesh_for("boundary-loop")?, self.positions);
        let Some(vertices) = loops.get(number as usize) else {
            return Err(Error::Invalid(match loops.len() {
                0 => format!("`boundary-loop` needs an open mesh; body `{}` is closed", self.body),
                n => {
                    format!("body `{}` has no boundary loop {number}; its {n} are numbered from 0", self.body)
                }
            }));
        };
        Ok(self.mask_of(vertices.iter().copied()))
    }

    fn boundary_path(&self, along: &[DVec3]) -> Result<Vec<bool>, Error> {
        let loops = boundary_loops(self.mesh_for("boundary-path")?, self.positions);
        boundary_path(&loops, self.positions, along).map(|path| self.mask_of(path)).ok_or_else(|| {
            Error::Invalid(format!(
                "`boundary-path` needs at least two points, and an open mesh of which one boundary passes near all of them; it \
                 has {} points, and body `{}` {} boundary loops",
                along.len(),
                self.body,
                loops.len()
            ))
        })
    }

    fn inside(&self, mesh: &ClosedMesh) -> Result<Vec<bool>, Error> {
        let test =
            self.inside.ok_or_else(|| Error::NotSupported("the selection `inside-mesh` here".to_owned()))?;
        test(mesh, self.positions)
    }

    fn group(&self, name: &str) -> Result<Vec<bool>, Error> {
        let mesh = self.mesh_for("group")?;
        if let Some(vertices) = mesh.vertices_labelled(name) {
            return Ok(self.mask_of(vertices));
        }
        let names = || mesh.labels.iter().flat_map(|labels| labels.names.iter().map(String::as_str));
        let known = match names().next() {
            None => "Its mesh names no groups, objects or materials".to_owned(),
            Some(_) => format!("Its mesh names {}", list(names().take(30))),
        };
        let hint = did_you_mean(name, names());
        Err(Error::Invalid(format!("body `{}` has no group `{name}`{hint} {known}", self.body)))
    }

    fn color(&self, [red, green, blue]: [f32; 3]) -> Result<Vec<bool>, Error> {
        let colors = self.mesh_for("color")?.colors.as_ref();
        let colors = colors.filter(|colors| colors.len() == self.positions.len()).ok_or_else(|| {
            Error::Invalid(format!("the mesh of body `{}` has no vertex colours to select by", self.body))
        })?;
        let alike = |a: f32, b: f32| (a - b).abs() <= COLOR_TOLERANCE;
        Ok(colors.iter().map(|&[r, g, b, _]| alike(r, red) && alike(g, green) && alike(b, blue)).collect())
    }
}

#[cfg(test)]
mod tests {
    use glam::dvec3;
    use proptest::prelude::*;

    use super::*;
    use supple_mesh::{FaceLabels, LabelKind};

    fn points(positions: &[DVec3]) -> SelectionPoints<'_> {
        SelectionPoints { body: "cloth", positions, surface: None, inside: None }
    }

    fn on_mesh(mesh: &SurfaceMesh) -> SelectionPoints<'_> {
        SelectionPoints { surface: Some(mesh), ..points(&mesh.positions) }
    }

    /// A row of `n` unit squares along x, from `(left, 0, 0)`.
    fn strip(mesh: &mut SurfaceMesh, left: f64, n: u32) {
        let first = mesh.positions.len() as u32;
        mesh.positions.extend((0..=n).flat_map(|i| {
            let x = left + f64::from(i);
            [dvec3(x, 0.0, 0.0), dvec3(x, 0.0, 1.0)]
        }));
        (0..n).map(|i| first + 2 * i).for_each(|a| mesh.push_face(&[a, a + 1, a + 3, a + 2]));
    }

    #[test]
    fn border_points_are_selected_in_spite_of_rounding() {
        let row: Vec<DVec3> = (0..=10).map(|i| dvec3(0.1 * f64::from(i) + 0.2, 0.0, 0.0)).collect();
        let all = Selection::Box { min: dvec3(0.2, 0.0, 0.0), max: dvec3(1.2, 0.0, 0.0) };
        assert_eq!(all.evaluate(&points(&row)).unwrap().len(), 11);
        let half = Selection::Plane { point: dvec3(0.7, 0.0, 0.0), normal: dvec3(1e6, 0.0, 0.0) };
        assert_eq!(half.evaluate(&points(&row)).unwrap(), [5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn nearest_takes_the_lowest_of_equally_near_points() {
        let square =
            [dvec3(1.0, 0.0, 0.0), dvec3(-1.0, 0.0, 0.0), dvec3(0.0, 1.0, 0.0), dvec3(5.0, 0.0, 0.0)];
        let nearest = Selection::nearest([dvec3(9.0, 0.0, 0.0), DVec3::ZERO, DVec3::ZERO]);
        assert_eq!(nearest.evaluate(&points(&square)).unwrap(), [0, 3]);
    }

    #[test]
    fn an_empty_selection_tells_the_bounds_of_the_body() {
        let corners = [dvec3(-1.0, 0.0, 0.0), dvec3(1.0, 2.0, 0.5)];
        let far = Selection::Sphere { center: dvec3(0.0, 50.0, 0.0), radius: 1.0 };
        let error = far.evaluate(&points(&corners)).unwrap_err().to_string();
        assert!(error.contains("selects no vertex of body `cloth`"), "{error}");
        assert!(error.contains("(-1.0000, 0.0000, 0.0000) m to (1.0000, 2.0000, 0.5000) m"), "{error}");
        assert!(error.contains("sphere") && error.contains("50.0"), "{error}");
        let error = far.evaluate_centres(&points(&corners)).unwrap_err().to_string();
        assert!(error.contains("selects no element") && error.contains("by their centres"), "{error}");
        let huge = [DVec3::splat(-1e150), DVec3::splat(1e150)];
        assert!(far.evaluate(&points(&huge)).unwrap_err().to_string().len() < 300);
        assert!(
            Selection::All {}.evaluate(&points(&[])).unwrap_err().to_string().contains("has no vertices")
        );
    }

    #[test]
    fn vertex_numbers_beyond_the_mesh_are_refused() {
        let error =
            Selection::Indices(vec![0, 2]).evaluate(&points(&[DVec3::ZERO; 2])).unwrap_err().to_string();
        assert!(error.contains("vertex 2 of body `cloth`, which has 2 vertices"), "{error}");
    }

    #[test]
    fn boundary_loops_are_counted_from_the_longest() {
        let mut mesh = SurfaceMesh::default();
        strip(&mut mesh, 0.0, 1);
        strip(&mut mesh, 10.0, 3);
        let selected = |number| Selection::BoundaryLoop(number).evaluate(&on_mesh(&mesh));
        assert_eq!(selected(0).unwrap(), (4..12).collect::<Vec<_>>());
        assert_eq!(selected(1).unwrap(), [0, 1, 2, 3]);
        let error = selected(2).unwrap_err().to_string();
        assert!(error.contains("has no boundary loop 2; its 2 are numbered from 0"), "{error}");
    }

    #[test]
    fn a_hole_is_a_boundary_loop_and_its_surroundings_are_not() {
        let positions = (0..16).map(|i| dvec3(f64::from(i % 4), 0.0, f64::from(i / 4))).collect();
        let mut mesh = SurfaceMesh { positions, ..SurfaceMesh::default() };
        let cells = (0..3).flat_map(|z| (0..3).map(move |x| (x, z))).filter(|&cell| cell != (1, 1));
        cells.map(|(x, z)| x + 4 * z).for_each(|a| mesh.push_face(&[a, a + 4, a + 5, a + 1]));
        let hole = Selection::BoundaryLoop(1).evaluate(&on_mesh(&mesh)).unwrap();
        assert_eq!(hole, [5, 6, 9, 10]);
        let rim = Selection::BoundaryLoop(0).evaluate(&on_mesh(&mesh)).unwrap();
        assert_eq!(rim, [0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn loops_that_touch_in_a_vertex_stay_two() {
        let positions = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -2.0]]
            .map(|[x, z]| dvec3(x, 0.0, z))
            .to_vec();
        let mut mesh = SurfaceMesh { positions, ..SurfaceMesh::default() };
        mesh.push_face(&[0, 1, 2]);
        mesh.push_face(&[0, 3, 4]);
        assert_eq!(Selection::BoundaryLoop(0).evaluate(&on_mesh(&mesh)).unwrap(), [0, 3, 4]);
        assert_eq!(Selection::BoundaryLoop(1).evaluate(&on_mesh(&mesh)).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn a_closed_mesh_has_no_boundary_loop() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
        let mesh = SurfaceMesh::from_triangles(corners.to_vec(), &faces);
        let error = Selection::BoundaryLoop(0).evaluate(&on_mesh(&mesh)).unwrap_err().to_string();
        assert!(error.contains("is closed"), "{error}");
    }

    #[test]
    fn groups_and_colours_come_from_the_mesh() {
        let mut mesh = SurfaceMesh::default();
        strip(&mut mesh, 0.0, 2);
        let names = vec!["collar".to_owned(), "sleeve".to_owned()];
        mesh.labels = vec![FaceLabels { kind: LabelKind::Group, names, label_of_face: vec![0, 1] }];
        mesh.colors = Some(vec![
            [1.0, 0.0, 0.0, 1.0],
            [0.99, 0.01, 0.0, 0.5],
            [0.9, 0.0, 0.0, 1.0],
            [0.0; 4],
            [0.0; 4],
            [0.0; 4],
        ]);
        let evaluate = |selection: Selection| selection.evaluate(&on_mesh(&mesh));
        assert_eq!(evaluate(Selection::Group("sleeve".to_owned())).unwrap(), [2, 3, 4, 5]);
        assert_eq!(evaluate(Selection::Color([1.0, 0.0, 0.0])).unwrap(), [0, 1]);
        let error = evaluate(Selection::Group("coller".to_owned())).unwrap_err().to_string();
        assert!(error.contains("no group `coller`; did you mean `collar`?"), "{error}");
        let bare = Selection::Color([0.0; 3]).evaluate(&points(&[DVec3::ZERO])).unwrap_err().to_string();
        assert!(bare.contains("selects on the surface mesh"), "{bare}");
    }

    #[test]
    fn inside_mesh_asks_the_given_test() {
        let row = [dvec3(0.0, 0.0, 0.0), dvec3(2.0, 0.0, 0.0)];
        let inside = |mesh: &ClosedMesh, points: &[DVec3]| {
            assert_eq!(mesh, &ClosedMesh::new("ball.obj"));
            Ok(points.iter().map(|p| p.length() < 1.0).collect())
        };
        let selection = Selection::InsideMesh(ClosedMesh::new("ball.obj"));
        let points = SelectionPoints { inside: Some(&inside), ..points(&row) };
        assert_eq!(selection.evaluate(&points).unwrap(), [0]);
        let without = SelectionPoints { inside: None, ..points };
        assert!(matches!(selection.evaluate(&without), Err(Error::NotSupported(_))));
    }

    fn vector() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0_f64).prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn selections_agree_with_their_definitions(
            cloud in prop::collection::vec(vector(), 1..60), a in vector(), b in vector(), radius in 0.1..1.5_f64,
        ) {
            let (min, max) = (a.min(b), a.max(b));
            let in_box = |p: DVec3| (0..3).all(|i| p[i] >= min[i] && p[i] <= max[i]);
            let in_ball = |p: DVec3| (p - a).length_squared() <= radius * radius;
            let above = |p: DVec3| (p - a).dot(b) >= 0.0;
            let boxed = Selection::Box { min, max };
            let ball = Selection::Sphere { center: a, radius };
            let side = Selection::Plane { point: a, normal: b };
            let cases: [(Selection, &dyn Fn(DVec3) -> bool); 6] = [
                (boxed.clone(), &in_box),
                (ball.clone(), &in_ball),
                (side.clone(), &above),
                (Selection::Any(vec![boxed.clone(), ball.clone()]), &|p| in_box(p) || in_ball(p)),
                (Selection::AllOf(vec![ball, side.clone()]), &|p| in_ball(p) && above(p)),
                (Selection::Not(Box::new(side)), &|p| !above(p)),
            ];
            for (selection, test) in cases {
                let expected: Vec<u32> = (0..cloud.len() as u32).filter(|&i| test(cloud[i as usize])).collect();
                prop_assert_eq!(selection.evaluate(&points(&cloud)).unwrap_or_default(), expected);
            }
            let nearest = Selection::nearest([a]).evaluate(&points(&cloud)).unwrap();
            let least = cloud.iter().map(|p| p.distance(a)).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(nearest.len(), 1);
            prop_assert_eq!(cloud[nearest[0] as usize].distance(a), least);
        }
    }
}
