//! `supple untangle`: parts what crosses or is inside colliders at the start of a scene, without simulating it.
//!
//! The same contact pushes everything apart, in equilibria without gravity, wind or motion: what is in nobody's way stays as it is.

use super::Simulation;
use crate::body::build::world_from_shape;
use crate::scene::{Body, Collider, ColliderShape, Keyframe, Mode, Pose, Scene, Solver, Tangled};
use supple_core::Error;
use supple_linear::Simd;
use supple_mesh::SurfaceMesh;

/// Equilibria after which it gives up, and those in a row without progress.
const MOST_ROUNDS: u32 = 300;
const PATIENCE: u32 = 40;

/// The duration in seconds by which the speed of separation limits the displacement of an equilibrium.
const ROUND: f64 = 1.0 / 30.0;

/// A scene whose parts were separated.
#[derive(Debug)]
pub struct Untangled {
    /// What crossed or was inside at first.
    pub before: Vec<String>,
    /// What remains.
    pub remains: Vec<String>,
    /// Name and mesh of every body: the user's vertices, polygons and UVs, in the unit, axes and place of its shape, so that a file may
    /// replace the one of the scene.
    pub meshes: Vec<(String, SurfaceMesh)>,
    /// The farthest that a vertex was moved, in metres.
    pub moved: f64,
    /// The equilibria that were computed.
    pub rounds: u32,
}

/// Parts what crosses or is inside colliders at the start of a scene. `progress` gets the number of vertices inside and of crossing pairs.
pub fn untangle(scene: &Scene, simd: Simd, mut progress: impl FnMut(usize)) -> Result<Untangled, Error> {
    let mut simulation = Simulation::with_simd(at_rest(scene)?, simd)?;
    let before = simulation.stepper.notes(&simulation.scene_state);
    let first = simulation.positions().to_vec();
    let (mut rounds, mut least, mut since) = (0, simulation.stepper.entangled(), 0);
    while least > 0 && rounds < MOST_ROUNDS && since < PATIENCE {
        simulation.step(ROUND)?;
        let now = simulation.stepper.entangled();
        progress(now);
        (rounds, since) = (rounds + 1, if now < least { 0 } else { since + 1 });
        least = least.min(now);
    }
    let remains = simulation.stepper.notes(&simulation.scene_state);
    let moves = first.iter().zip(simulation.positions()).map(|(a, b)| a.distance_squared(*b));
    let moved = moves.fold(0.0, f64::max).sqrt();
    let mesh = |(b, spec): (usize, &Body)| {
        let shape_from_world = world_from_shape(spec).inverse();
        let mut mesh = simulation.scene_state.bodies[b].surface.mesh.clone();
        let now = simulation.body_range(b).iter().map(|p| shape_from_world.transform_point3(*p));
        mesh.positions = now.collect();
        (spec.name.clone(), mesh)
    };
    let meshes = scene.bodies.iter().enumerate().map(mesh).collect();
    Ok(Untangled { before, remains, meshes, moved, rounds })
}

/// The same bodies, pins and colliders with nothing that moves them.
fn at_rest(scene: &Scene) -> Result<Scene, Error> {
    let mut scene = scene.clone();
    scene.time.mode = Mode::Quasistatic;
    scene.world = crate::scene::World { gravity: glam::DVec3::ZERO, ..Default::default() };
    scene.contact.tangled = Tangled::Push;
    scene.solver = Solver::default();
    scene.expect = Default::default();
    for collider in &mut scene.colliders {
        hold_still(collider)?;
    }
    Ok(scene)
}

fn hold_still(collider: &mut Collider) -> Result<(), Error> {
    if let ColliderShape::Mesh(mesh) = &mut collider.shape {
        if mesh.is_sequence() || mesh.cache.is_some() || mesh.blend_in == Some(0.0) {
            return Err(Error::Invalid(format!(
                "collider `{}`: {} changes in time; name one of its frames for `untangle`",
                collider.name,
                mesh.file.display()
            )));
        }
        // A skin starts as modelled.
        (mesh.skin, mesh.animation, mesh.blend_in, mesh.repeats) = (false, None, None, false);
    }
    if let Some(motion) = &mut collider.motion {
        let Pose { translate, rotate, scale, .. } = motion.pose(0.0);
        let rotate = rotate.map(f64::to_degrees);
        motion.keyframes = vec![Keyframe::at(0.0).translate(translate).rotate(rotate).scale(scale)];
    }
    Ok(())
}
