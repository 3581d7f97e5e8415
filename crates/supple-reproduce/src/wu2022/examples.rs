//! The systems that are measured. The paper's garments and bodies are not public, and draping a garment at every size
//! would cost more than the measurement. So a folded cloth represents the T-shirt where only the matrix matters:
//! stretched and compressed, bent in two directions, pinned at its corners. Bodies are built-in armadillos under
//! their own weight. Where contacts matter, the built-in scenes are run.

use glam::DVec3;
use supple::Error;
use supple::linear::mas::{MasOptions, Modes, Partition};
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::generate::{ClothGrid, GridPattern};
use supple::mesh::geometry::Aabb;
use supple::mesh::implicit::Character;
use supple::scene::{
    Body, LinearKind, LinearOptions, Model, Pin, Region, Scene, Selection, Shape, ShapeSource, Solver, Spread,
};
use supple::simulation::{Simulation, StepSystem};

use super::super::catalogue::Request;
use supple_cli::failure::Failure;

/// The paper's step in seconds.
pub(super) const STEP: f64 = 0.01;
/// Stretch stiffness of the cloth in N/m and bend stiffness in N·m: cotton.
const CLOTH: [f64; 2] = [2000.0, 2e-5];
/// Young's modulus of the bodies in Pa.
const BODY: f64 = 5e4;
/// The pinned part of a body: above this fraction of its height.
const PINNED_ABOVE: f64 = 0.84;
/// Frames for which a body falls and bends before its system is extracted.
const FRAMES: u32 = 3;

/// The linear solvers of figures 4 and 16 and of the scaling figures.
pub(super) fn jacobi() -> (&'static str, LinearOptions) {
    ("Jacobi", LinearKind::Jacobi.into())
}

/// One-level additive Schwarz.
pub(super) fn schwarz() -> (&'static str, LinearOptions) {
    ("AS", LinearKind::Schwarz.into())
}

/// Multilevel additive Schwarz as in the paper: supernodes have three unknowns, domains follow a Morton curve.
pub(super) fn paper_mas() -> (&'static str, LinearOptions) {
    let morton = Some(Partition::Morton);
    ("MAS, 3 unknowns", LinearOptions { modes: Some(3), partition: morton, ..LinearKind::Mas.into() })
}

/// The same by its options.
pub(super) fn as_in_the_paper(request: &Request) -> MasOptions {
    MasOptions {
        modes: Modes::Translations,
        partition: Partition::Morton,
        simd: request.simd,
        ..MasOptions::default()
    }
}

/// Multilevel additive Schwarz with the defaults of this engine: supernodes move rigidly, domains follow strong
/// connections.
pub(super) fn mas() -> (&'static str, LinearOptions) {
    ("MAS, default", LinearKind::Mas.into())
}

/// Multigrid, in place of AmgX.
pub(super) fn multigrid() -> (&'static str, LinearOptions) {
    ("multigrid", LinearKind::Galerkin.into())
}

/// A folded cloth of one metre with about this many vertices and a multiple of the usual stiffness.
pub(super) fn cloth(vertices: f64, stiffness: f64, request: &Request) -> Result<StepSystem, Failure> {
    let side = vertices.sqrt().round().max(4.0) as u32;
    let grid = ClothGrid { size: [1.0, 1.0], vertices: [side; 2], pattern: GridPattern::Irregular, seed: 1 };
    let mut folded = grid.surface(1.0).map_err(Failure::of)?;
    folded.positions.iter_mut().for_each(|p| *p = fold(*p));
    let mut body = Body::from_mesh("cloth", folded).material(cotton(stiffness));
    body.rest = Some(Shape::new(ShapeSource::Grid(grid)));
    body.model = Some(Model::Corotated);
    let corners = Selection::Nearest([-0.5, 0.5].map(|x| fold(DVec3::new(x, 0.0, -0.5))).to_vec());
    let scene = Scene::builder().fps(1.0 / STEP).body(body).pin(Pin::hard("cloth", corners)).build();
    system(scene.map_err(Failure::of)?, 0, request)
}

/// Cotton with a multiple of its stiffness, without damping.
fn cotton(stiffness: f64) -> MaterialSpec {
    MaterialSpec {
        area_density: Some(0.2),
        stretch_stiffness: Some(StretchStiffness::Uniform(stiffness * CLOTH[0])),
        bend_stiffness: Some(stiffness * CLOTH[1]),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}

/// Folds along z that open towards +z, like those of a curtain, with ripples across.
fn fold(p: DVec3) -> DVec3 {
    let depth = 0.02 + 0.03 * (p.z + 0.5);
    let y = depth * (25.0 * p.x + 2.0 * p.z).sin() + 0.004 * (60.0 * p.z + 9.0 * p.x).sin();
    DVec3::new(0.93 * p.x, y, 0.99 * p.z)
}

/// Distribution of stiffness over a body (section 8.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spreading {
    Uniform,
    Random,
    Regions,
}

/// Contrast of stiffness in heterogeneous bodies: a factor of 100 from the softest to the stiffest.
const CONTRAST: f64 = 10.0;

/// An armadillo pinned at its ears, with about this many vertices.
pub(super) fn armadillo(
    vertices: f64,
    spreading: Spreading,
    request: &Request,
) -> Result<StepSystem, Failure> {
    let (cell, bounds) = filled(vertices).map_err(Failure::of)?;
    let mut body = Body::new("armadillo", ShapeSource::Character(Character::Armadillo)).solid(cell);
    body.model = Some(Model::NeoHookean);
    let material = |young: f64| MaterialSpec {
        young_modulus: Some(young),
        poisson_ratio: Some(0.4),
        density: Some(1000.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    };
    body.material = material(BODY);
    match spreading {
        Spreading::Uniform => {}
        Spreading::Random => body.regions.push(Region {
            selection: Selection::All {},
            material: None,
            random: Some(Spread { spread: CONTRAST, seed: 1 }),
        }),
        Spreading::Regions => body.regions.extend(eight_regions(&bounds).map(|(selection, young)| Region {
            selection,
            material: Some(material(young)),
            random: None,
        })),
    }
    let height = bounds.low.y + PINNED_ABOVE * (bounds.high.y - bounds.low.y);
    let fixed = Selection::Plane { point: DVec3::Y * height, normal: DVec3::Y };
    let solver = Solver { linear: Some(LinearKind::Mas.into()), tolerance: Some(1e-2), ..Solver::default() };
    let scene =
        Scene::builder().fps(1.0 / STEP).body(body).pin(Pin::hard("armadillo", fixed)).solver(solver).build();
    system(scene.map_err(Failure::of)?, FRAMES, request)
}

/// The cell that fills an armadillo with about this many vertices, and its bounds.
fn filled(vertices: f64) -> Result<(f64, Aabb), Error> {
    let shape = Character::Armadillo.shape();
    let (mut cell, mut bounds) = (0.06, Aabb::EMPTY);
    // Vertices scale with the inverse cube of the cell size, less where many of them are on the surface.
    for _ in 0..3 {
        let positions = shape.tets(cell)?.positions;
        bounds = Aabb::of_points(&positions);
        cell *= (positions.len() as f64 / vertices).cbrt();
    }
    Ok((cell, bounds))
}

/// Slabs along the height with stiffnesses that differ by the square of the contrast and have the mean of the uniform body.
fn eight_regions(bounds: &Aabb) -> impl Iterator<Item = (Selection, f64)> {
    const ORDER: [i32; 8] = [0, 7, 2, 5, 1, 6, 3, 4];
    let power = |k: usize| CONTRAST.powf(2.0 * f64::from(ORDER[k]) / 7.0 - 1.0);
    let mean = (0..8).map(power).sum::<f64>() / 8.0;
    let (bottom, height) = (bounds.low.y, bounds.high.y - bounds.low.y);
    (0..8).map(move |k| {
        let [low, high] = [k, k + 1].map(|k| bottom + height * k as f64 / 8.0);
        let (min, max) = (DVec3::new(-9.0, low, -9.0), DVec3::new(9.0, high, 9.0));
        (Selection::Box { min, max }, BODY * power(k) / mean)
    })
}

/// A built-in scene at about this fraction of its resolution.
pub(super) fn builtin(name: &str, resolution: f64) -> Result<Scene, Failure> {
    let mut scene = Scene::builtin(name).map_err(Failure::of)?;
    scene.scale_resolution(resolution).map_err(Failure::of)?;
    Ok(scene)
}

/// The system of the step after this many of the paper's steps.
pub(super) fn system(scene: Scene, steps: u32, request: &Request) -> Result<StepSystem, Failure> {
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    for _ in 0..steps {
        simulation.step(STEP).map_err(Failure::of)?;
    }
    simulation.step_system(STEP).map_err(Failure::of)
}
