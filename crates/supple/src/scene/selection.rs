//! Selections: predicates in rest space, evaluated on what a family has (vertices, element centres, cells).

use std::fmt;
use std::path::Path;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::Scene;
use super::boundary::boundary_loops;
use super::suggest::{did_you_mean, list};
use crate::error::Error;
use crate::mesh::SurfaceMesh;

/// Which points of a body, by their rest position (world metres, after the body's transform) or by the file's own
/// words.
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
    /// Points inside a closed mesh file.
    InsideMesh(std::path::PathBuf),
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

/// How far outside a box, ball or plane a point may lie and still count, as a fraction of the body's size: vertices
/// exactly on the border must not be lost to rounding.
const ON_THE_BORDER: f64 = 1e-9;
/// How far each component of a colour may be off: files keep 8 bits, and artists' tools convert.
const COLOR_TOLERANCE: f32 = 0.02;

/// Answers which of some points lie inside a closed mesh file.
pub type InsideTest<'a> = &'a dyn Fn(&Path, &[DVec3]) -> Result<Vec<bool>, Error>;

/// The points that a selection picks from.
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
    /// The selected points, sorted, each once. A selection that picks nothing is an error.
    ///
    /// ```
    /// use supple::scene::{Selection, SelectionPoints};
    /// let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]].map(Into::into);
    /// let points = SelectionPoints { body: "cloth", positions: &positions, surface: None, inside: None };
    /// let right = Selection::Plane { point: [0.5, 0.0, 0.0].into(), normal: [1.0, 0.0, 0.0].into() };
    /// assert_eq!(right.evaluate(&points)?, [1, 2]);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn evaluate(&self, points: &SelectionPoints<'_>) -> Result<Vec<u32>, Error> {
        let chosen: Vec<u32> =
            self.mask(points)?.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(i, _)| i as u32).collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let bounds = match bounds_of(points.positions) {
            Some((low, high)) => format!("whose bounds are {} to {}", corner(low), corner(high)),
            None => "which has no vertices".to_owned(),
        };
        Err(Error::Invalid(format!("`{self}` selects no vertex of body `{}`, {bounds}", points.body)))
    }

    /// For each point whether it is selected.
    fn mask(&self, points: &SelectionPoints<'_>) -> Result<Vec<bool>, Error> {
        let border = ON_THE_BORDER * bounds_of(points.positions).map_or(0.0, |(low, high)| low.distance(high));
        let by = |test: &dyn Fn(DVec3) -> bool| Ok(points.positions.iter().map(|&p| test(p)).collect());
        match self {
            Self::All {} => by(&|_| true),
            Self::Box { min, max } => {
                by(&|p| p.cmpge(*min - DVec3::splat(border)).all() && p.cmple(*max + DVec3::splat(border)).all())
            }
            Self::Sphere { center, radius } => by(&|p| p.distance(*center) <= radius + border),
            Self::Plane { point, normal } => by(&|p| (p - *point).dot(*normal) >= -border * normal.length()),
            Self::Nearest(targets) => Ok(points.mask_of(targets.iter().filter_map(|&t| points.nearest(t)))),
            Self::Indices(vertices) => points.indices(vertices),
            Self::BoundaryLoop(number) => points.boundary_loop(*number),
            Self::InsideMesh(path) => points.inside(path),
            Self::Group(name) => points.group(name),
            Self::Color(color) => points.color(*color),
            Self::Any(parts) => combine(parts, points, false, |a, b| a || b),
            Self::AllOf(parts) => combine(parts, points, true, |a, b| a && b),
            Self::Not(part) => Ok(part.mask(points)?.into_iter().map(|chosen| !chosen).collect()),
        }
    }
}

impl fmt::Display for Selection {
    /// The selection as a scene file says it, cut to one line of readable length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = toml::Value::try_from(self).map_or_else(|_| format!("{self:?}"), |value| value.to_string());
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
    format!("({:.4}, {:.4}, {:.4}) m", p.x, p.y, p.z)
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

    /// The point nearest to `target`; the lowest number of equally near ones.
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

    /// The user's mesh, or an error that says which selection needs it.
    fn mesh_for(&self, what: &str) -> Result<&SurfaceMesh, Error> {
        let mesh = self.surface.filter(|mesh| mesh.positions.len() == self.positions.len());
        mesh.ok_or_else(|| {
            Error::Invalid(format!("`{what}` selects on the surface mesh, and body `{}` has none here", self.body))
        })
    }

    fn boundary_loop(&self, number: u32) -> Result<Vec<bool>, Error> {
        let loops = boundary_loops(self.mesh_for("boundary-loop")?, self.positions);
        let Some(vertices) = loops.get(number as usize) else {
            return Err(Error::Invalid(match loops.len() {
                0 => format!("`boundary-loop` needs an open mesh; body `{}` is closed", self.body),
                n => format!("body `{}` has no boundary loop {number}; its {n} are numbered from 0", self.body),
            }));
        };
        Ok(self.mask_of(vertices.iter().copied()))
    }

    fn inside(&self, path: &Path) -> Result<Vec<bool>, Error> {
        let test = self.inside.ok_or_else(|| Error::NotSupported("the selection `inside-mesh` here".to_owned()))?;
        test(path, self.positions)
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

impl Scene {
    /// The points that pin number `pin` holds, with the scene's file and line in any error.
    pub fn evaluate_pin(&self, pin: usize, points: &SelectionPoints<'_>) -> Result<Vec<u32>, Error> {
        self.pins[pin].selection.evaluate(points).map_err(|error| match error {
            Error::Invalid(problem) => self.error_at(&format!("pin.{pin}.selection"), problem),
            other => other,
        })
    }
}
