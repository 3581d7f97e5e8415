//! Whether results can be shown: positions go to disk and to screens in single precision.

use glam::DVec3;

use crate::simulation::Simulation;
use supple_core::Error;
use supple_core::text::number::components;

impl Simulation {
    /// Rejects positions that are not finite or too far away for single precision, by body and vertex. `frame` is the
    /// number of the frame they belong to: the first one is the scene's own, the others were computed.
    pub fn check_finite(&self, frame: u32) -> Result<(), Error> {
        let Some((body, vertex, position)) = self.first_unshowable() else { return Ok(()) };
        let place = format!("body `{body}`, vertex {vertex} is at {}", components(position));
        let limit = format!("positions must be finite and within {:.1e} m", f32::MAX);
        if frame == 0 {
            return Err(Error::Invalid(format!(
                "{place} at the start: {limit}; check its scale and transform"
            )));
        }
        let problem = format!(
            "it diverged in frame {frame}: {place}, but {limit}; try more `substeps`, softer materials or slower motions"
        );
        Err(Error::Failed { time: self.time(), problem })
    }

    fn first_unshowable(&self) -> Option<(&str, usize, DVec3)> {
        let bodies = self.scene_state.bodies.iter().enumerate();
        bodies.into_iter().find_map(|(b, body)| {
            let positions = self.body_range(b);
            let vertex = positions.iter().position(|p| !p.as_vec3().is_finite())?;
            Some((body.name.as_str(), vertex, positions[vertex]))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;
    use crate::simulation::Simulation;
    use supple_core::Error;

    fn flung(speed: f64) -> Simulation {
        let text = format!(
            "[[body]]\nname = \"sail\"\nshape = {{ grid = {{ size = [1, 1], vertices = [2, 2] }} }}\nvelocity = [{speed:e}, 0, 0]\n"
        );
        Simulation::new(Scene::from_toml(&text, "flung", ".").unwrap()).unwrap()
    }

    #[test]
    fn positions_beyond_single_precision_are_reported_by_frame_body_and_vertex() {
        let mut simulation = flung(1e39);
        simulation.check_finite(0).unwrap();
        simulation.step(1.0).unwrap();
        assert!(simulation.first_non_finite().is_none(), "double precision holds it");
        let error = simulation.check_finite(1).unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error:?}");
        for word in ["diverged", "frame 1", "`sail`", "vertex 0", "substeps"] {
            assert!(error.to_string().contains(word), "`{word}` is not in: {error}");
        }
    }

    #[test]
    fn a_start_beyond_single_precision_is_the_scenes_fault() {
        let mut simulation = flung(1e39);
        simulation.step(1.0).unwrap();
        assert!(matches!(simulation.check_finite(0), Err(Error::Invalid(_))));
    }
}
