//! `--resolution R`: finer or coarser generated shapes and cells.

use crate::scene::{Scene, Selection, ShapeSource};
use supple_core::Error;
use supple_mesh::generate::{ClothGrid, KnotShape};

impl Scene {
    /// Multiplies the resolution of every generated shape by `factor` and divides every `cell` by it (0.25 for a
    /// quick preview, 2 for finer). Sizes in metres and the meaning of selections are unchanged, except selections by vertex
    /// index on a generated shape, which are rejected. Shapes from files keep their vertices. Cells grow no larger than
    /// fits into a generated shape.
    pub fn scale_resolution(&mut self, factor: f64) -> Result<(), Error> {
        if !(0.001..=1000.0).contains(&factor) {
            return Err(Error::Invalid(format!("a resolution of {factor} is not between 0.001 and 1000")));
        }
        if factor == 1.0 {
            return Ok(());
        }
        self.refuse_vertex_numbers_on_generated_shapes()?;
        for body in &mut self.bodies {
            let filled = body.cell.is_some();
            scale_source(&mut body.shape.source, factor, filled);
            if let Some(rest) = &mut body.rest {
                scale_source(&mut rest.source, factor, filled);
            }
            if let Some(cell) = &mut body.cell {
                let largest =
                    thinnest(&body.shape.source).map_or(f64::INFINITY, |thin| thin * body.shape.scale);
                *cell = (*cell / factor).min(largest.max(*cell));
            }
        }
        if !self.description.is_empty() {
            // Descriptions may count vertices.
            self.description += &format!(" (here at {factor} times that resolution)");
        }
        Ok(())
    }

    fn refuse_vertex_numbers_on_generated_shapes(&self) -> Result<(), Error> {
        let generated = |name: &str| {
            let body = self.bodies.iter().find(|body| body.name == name);
            use ShapeSource::{File, Mesh, Tets};
            body.is_some_and(|body| !matches!(body.shape.source, File(_) | Mesh(_) | Tets(_)))
        };
        let problem = |body: &str| {
            format!(
                "selects vertices of the generated body `{body}` by number, which another resolution renumbers: \
                 select by `nearest`, `box`, `sphere` or `plane`, or leave the resolution at 1"
            )
        };
        for (i, pin) in self.pins.iter().enumerate() {
            if names_vertices(&pin.selection) && generated(&pin.body) {
                return Err(self.error_at(&format!("pin.{i}.selection"), problem(&pin.body)));
            }
        }
        for (i, seam) in self.seams.iter().enumerate() {
            for (s, (selection, body)) in seam.selections.iter().zip(&seam.bodies).enumerate() {
                if names_vertices(selection) && generated(body) {
                    return Err(self.error_at(&format!("seam.{i}.selections.{s}"), problem(body)));
                }
            }
        }
        for (i, body) in self.bodies.iter().enumerate() {
            for (r, region) in body.regions.iter().enumerate() {
                if names_vertices(&region.selection) && generated(&body.name) {
                    return Err(self.error_at(&format!("body.{i}.region.{r}.selection"), problem(&body.name)));
                }
            }
            for (t, tear) in body.tears.iter().enumerate() {
                if names_vertices(&tear.selection) && generated(&body.name) {
                    return Err(self.error_at(&format!("body.{i}.tear.{t}.selection"), problem(&body.name)));
                }
            }
        }
        Ok(())
    }
}

fn names_vertices(selection: &Selection) -> bool {
    match selection {
        Selection::Indices(_) => true,
        Selection::Any(parts) | Selection::AllOf(parts) => parts.iter().any(names_vertices),
        Selection::Not(part) => names_vertices(part),
        _ => false,
    }
}

/// Half the thickness of a generated shape, in its own units. A lattice of such a cell has points within it: no point is
/// farther than 0.56 cells from one.
fn thinnest(source: &ShapeSource) -> Option<f64> {
    match source {
        ShapeSource::Box(shape) => Some(0.5 * shape.size.into_iter().fold(f64::INFINITY, f64::min)),
        ShapeSource::Cylinder(shape) => Some(shape.radius.min(0.5 * shape.height)),
        ShapeSource::Sphere(shape) => Some(shape.radius),
        ShapeSource::Torus(shape) => Some(shape.minor_radius),
        // Their bellies; thinner limbs are lost.
        ShapeSource::Character(_) => Some(0.1),
        _ => None,
    }
}

/// `filled` shapes stay round enough to be filled: fewer corners make them thinner.
fn scale_source(source: &mut ShapeSource, factor: f64, filled: bool) {
    let round = if filled { 8 } else { 3 };
    let scale = |count: &mut u32, least: u32| *count = scaled(*count, factor).max(least.min(*count));
    match source {
        ShapeSource::Grid(ClothGrid { vertices, .. }) | ShapeSource::Knot(KnotShape { vertices, .. }) => {
            vertices
                .iter_mut()
                .for_each(|n| *n = scaled(n.saturating_sub(1), factor).max(1).saturating_add(1));
        }
        ShapeSource::Panel(shape) => shape.spacing /= factor,
        ShapeSource::Box(shape) => shape.cells.iter_mut().flatten().for_each(|n| scale(n, 1)),
        ShapeSource::Cylinder(shape) => {
            scale(&mut shape.segments, round);
            scale(&mut shape.rings, 1);
        }
        ShapeSource::Sphere(shape) => scale(&mut shape.cells, if filled { 2 } else { 1 }),
        ShapeSource::Torus(shape) => {
            scale(&mut shape.segments, round);
            scale(&mut shape.rings, round);
        }
        ShapeSource::File(_)
        | ShapeSource::Character(_)
        | ShapeSource::Implicit(_)
        | ShapeSource::Mesh(_)
        | ShapeSource::Tets(_) => {}
    }
}

/// The count times the factor, rounded; conversion saturates.
fn scaled(count: u32, factor: f64) -> u32 {
    (f64::from(count) * factor).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(shape: &str, more: &str) -> Scene {
        let text = format!("[[body]]\nname = \"b\"\nshape = {{ {shape} }}\n{more}");
        Scene::from_toml(&text, "test", "").unwrap()
    }

    fn scaled_source(shape: &str, factor: f64) -> ShapeSource {
        let mut scene = scene(shape, "");
        scene.scale_resolution(factor).unwrap();
        scene.bodies.remove(0).shape.source
    }

    #[test]
    fn grids_scale_their_cells_and_keep_two_vertices() {
        let vertices = |factor| match scaled_source("grid = { size = [1, 2], vertices = [21, 41] }", factor) {
            ShapeSource::Grid(grid) => (grid.vertices, grid.size),
            other => panic!("{other:?}"),
        };
        assert_eq!(vertices(2.0), ([41, 81], [1.0, 2.0]));
        assert_eq!(vertices(0.25), ([6, 11], [1.0, 2.0]));
        assert_eq!(vertices(0.001).0, [2, 2]);
    }

    #[test]
    fn every_built_in_scene_can_be_built_at_a_tenth_of_its_resolution() {
        for (name, ..) in crate::scene::builtin_scenes() {
            let mut scene = Scene::builtin(name).unwrap();
            scene.scale_resolution(0.1).unwrap();
            crate::simulation::Simulation::new(scene).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        }
    }

    #[test]
    fn closed_shapes_stay_closed_at_the_lowest_resolution() {
        let text = "torus = { major_radius = 1, minor_radius = 0.2, segments = 40, rings = 10 }";
        let ShapeSource::Torus(torus) = scaled_source(text, 0.001) else { panic!() };
        assert_eq!((torus.segments, torus.rings), (3, 3));
        let ShapeSource::Box(shape) = scaled_source("box = { size = [1, 1, 1], cells = [4, 8, 2] }", 0.5)
        else {
            panic!()
        };
        assert_eq!(shape.cells, Some([2, 4, 1]));
    }

    #[test]
    fn cells_shrink_as_resolution_grows() {
        let mut scene = scene("character = \"octopus\"", "cell = 0.04");
        scene.scale_resolution(4.0).unwrap();
        assert_eq!(scene.bodies[0].cell, Some(0.01));
    }

    #[test]
    fn meaningless_resolutions_are_refused() {
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9, 1e-9] {
            let error = scene("grid = { size = [1, 1], vertices = [3, 3] }", "").scale_resolution(factor);
            assert!(error.unwrap_err().to_string().contains("between 0.001 and 1000"));
        }
    }

    #[test]
    fn vertex_numbers_on_a_generated_shape_refuse_another_resolution_with_their_line() {
        let pin = "[[pin]]\nbody = \"b\"\nselection = { any = [{ indices = [0] }] }";
        let mut scene = scene("grid = { size = [1, 1], vertices = [3, 3] }", pin);
        scene.scale_resolution(1.0).unwrap();
        let error = scene.scale_resolution(2.0).unwrap_err().to_string();
        assert!(
            error.starts_with("test, line 6: selects vertices of the generated body `b` by number"),
            "{error}"
        );
    }
}
