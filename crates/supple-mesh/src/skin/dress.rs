//! A generated dress around a figure: a tube of ellipses from below the arms to the knees, each around the figure's section at its height,
//! and never narrower than those above it.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};

use crate::{CornerAttribute, SurfaceMesh};
use supple_core::Error;

/// Heights of the upper and the lower edge, over that of the figure.
const TOP: f64 = 0.735;
const HEM: f64 = 0.32;
/// Sections are measured within this distance of the middle plane, over the height: arms are farther off.
const HALF_WIDTH: f64 = 0.12;
/// Room between the figure and the dress, over the height.
const EASE: f64 = 0.009;
/// How much wider it is for each metre farther down.
const FLARE: f64 = 0.22;

/// A dress for a figure with y up, with edges of about `edge` in its unit.
pub fn dress_around(figure: &SurfaceMesh, edge: f64) -> Result<SurfaceMesh, Error> {
    let (low, high) = figure.bounds().ok_or_else(|| no_section(0.0))?;
    let height = high.y - low.y;
    let middle = 0.5 * (low.x + high.x);
    let rows = ((TOP - HEM) * height / edge).round().clamp(2.0, 2000.0) as u32;
    let mut ellipses: Vec<Ellipse> = Vec::new();
    for row in 0..=rows {
        let down = (TOP - HEM) * height * f64::from(row) / f64::from(rows);
        let y = low.y + TOP * height - down;
        let section = section(figure, y, middle, HALF_WIDTH * height);
        let around = Ellipse::around(&section).ok_or_else(|| no_section(y))?;
        let wider = around.widened(EASE * height);
        let least =
            ellipses.last().map(|above| above.widened(FLARE * (TOP - HEM) * height / f64::from(rows)));
        ellipses.push(Ellipse { y, ..least.map_or(wider.clone(), |least| least.joined(&wider)) });
    }
    let widest = ellipses.last().map_or(0.0, |last| TAU * last.half.max_element());
    let columns = (widest / edge).round().clamp(8.0, 20_000.0) as u32;
    Ok(tube(&ellipses, columns))
}

fn no_section(y: f64) -> Error {
    Error::Invalid(format!(
        "the figure has no section at the height {y:.3} for a dress; it must stand upright along y, with its arms away from the body"
    ))
}

/// An ellipse at a height, along x and z.
#[derive(Debug, Clone)]
struct Ellipse {
    y: f64,
    center: DVec2,
    half: DVec2,
}

impl Ellipse {
    /// Around all points, in the proportion of the box around them.
    fn around(points: &[DVec2]) -> Option<Self> {
        let (low, high) = points.iter().map(|p| (*p, *p)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let (center, half) = (0.5 * (low + high), 0.5 * (high - low));
        let out = |p: &DVec2| ((*p - center) / half).length();
        let factor = points.iter().map(out).fold(1.0, f64::max);
        (half.min_element() > 0.0 && factor.is_finite()).then_some(Self {
            y: 0.0,
            center,
            half: factor * half,
        })
    }

    fn widened(&self, by: f64) -> Self {
        Self { half: self.half + by, ..self.clone() }
    }

    /// Around the boxes of both.
    fn joined(&self, other: &Self) -> Self {
        let low = (self.center - self.half).min(other.center - other.half);
        let high = (self.center + self.half).max(other.center + other.half);
        Self { y: self.y, center: 0.5 * (low + high), half: 0.5 * (high - low) }
    }
}

/// Where edges of the figure near its middle plane cross a height: x and z.
fn section(figure: &SurfaceMesh, y: f64, middle: f64, half_width: f64) -> Vec<DVec2> {
    let mut points = Vec::new();
    for [a, b, c] in figure.triangles().iter().map(|t| t.map(|v| figure.positions[v as usize])) {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            if (from.y < y) != (to.y < y) {
                let p = from.lerp(to, (y - from.y) / (to.y - from.y));
                points.push(DVec2::new(p.x, p.z));
            }
        }
    }
    points.retain(|p| (p.x - middle).abs() < half_width);
    points
}

/// Quadrilaterals between the ellipses, with texture coordinates in their unit: along them, and down.
fn tube(ellipses: &[Ellipse], columns: u32) -> SurfaceMesh {
    let mut mesh = SurfaceMesh::default();
    let mut texture = Vec::new();
    let mut down = 0.0;
    for (row, ellipse) in ellipses.iter().enumerate() {
        down += row.checked_sub(1).map_or(0.0, |above| {
            let side = ellipses[above].half.x - ellipse.half.x;
            DVec2::new(ellipses[above].y - ellipse.y, side).length()
        });
        let girth = TAU * 0.5 * (ellipse.half.x + ellipse.half.y);
        for column in 0..=columns {
            let share = f64::from(column) / f64::from(columns);
            texture.push([girth * (share - 0.5), -down]);
            if column < columns {
                let (sin, cos) = (TAU * share).sin_cos();
                let at = ellipse.center + ellipse.half * DVec2::new(-sin, -cos);
                mesh.positions.push(DVec3::new(at.x, ellipse.y, at.y));
            }
        }
    }
    let mut indices = Vec::new();
    for row in 0..ellipses.len() as u32 - 1 {
        for column in 0..columns {
            let vertex = |row: u32, column: u32| row * columns + column % columns;
            let corner = |row: u32, column: u32| row * (columns + 1) + column;
            let quad = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]];
            mesh.push_face(&quad.map(|[row, column]| vertex(row, column)));
            indices.extend(quad.map(|[row, column]| corner(row, column)));
        }
    }
    mesh.uvs = Some(CornerAttribute { values: texture, indices });
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::TriangleTree;
    use crate::geometry::WindingNumber;
    use crate::skin::walking_figure;

    #[test]
    fn a_dress_is_around_its_figure_and_open_at_both_ends() {
        let figure = walking_figure(0.04).unwrap().surface;
        let dress = dress_around(&figure, 0.04).unwrap();
        let solid = WindingNumber::new(TriangleTree::new(&figure.positions, figure.triangles()));
        assert!(solid.at_each(&dress.positions).into_iter().all(|winding| winding < 0.5));
        let (low, high) = dress.bounds().unwrap();
        assert!(low.y > 0.5 && high.y < 1.3, "{low} {high}");
        // Every ellipse is a loop: vertices and edges of a tube, with a face less than vertices per row.
        let columns = dress.positions.len() - dress.face_count();
        assert!(columns >= 8 && dress.positions.len().is_multiple_of(columns));
        assert!(dress_around(&SurfaceMesh::default(), 0.04).is_err());
    }
}
