//! `method = "free-fall"`: every vertex falls on its own with air drag, without elasticity or contact. It represents
//! a crate on top of the engine (a device back-end, a custom solver family): nothing in the engine refers to it.
//!
//! The drag `c` is linear, `v' = g - c v`, and steps are exact, so that any number of them gives the analytic fall:
//!
//! ```text
//! v(t) = g / c + (v₀ - g / c) exp(-c t),    x(t) = x₀ + g t / c + (v₀ - g / c) (1 - exp(-c t)) / c
//! ```
//!
//! Positions are stored relative to the start and in a different layout from the engine's, as on a device: callers
//! that request them get a copy.

use std::borrow::Cow;
use std::time::Instant;

use glam::DVec3;
use serde::{Deserialize, Serialize};
use supple::Error;
use supple::body::Body;
use supple::scene::{
    Method, MethodName, MethodTraits, NamedOptions, OptionTable, Scene, StepperDeclaration, Unsupported,
};
use supple::simulation::{
    Inspection, Registry, SceneState, StateReader, StateWriter, StepReport, Stepper, StepperKind,
};

/// The engine's steppers and this one.
pub fn steppers() -> Registry {
    Registry::builtin().with(&FreeFall)
}

/// Options in `[solver.free_fall]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FreeFallOptions {
    /// Drag coefficient in 1/s.
    pub drag: f64,
}

impl NamedOptions for FreeFallOptions {
    const TABLE: &'static str = "free_fall";

    fn check(&self) -> Result<(), Error> {
        if (0.0..=1000.0).contains(&self.drag) {
            return Ok(());
        }
        Err(Error::out_of_range("free_fall.drag", self.drag, "0 to 1000"))
    }
}

/// The kind of stepper.
pub struct FreeFall;

const NAME: MethodName = MethodName {
    name: "free-fall",
    title: "Free fall",
    about: "Bodies fall and never deform: the least that a stepper can do",
};

/// `method = "free-fall"`.
pub const FREE_FALL: Method = Method::new(NAME.name, &FreeFall);

impl StepperDeclaration for FreeFall {
    fn methods(&self) -> &'static [MethodName] {
        &[NAME]
    }

    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits { own_friction: true, no_stress: Some("nothing deforms"), ..MethodTraits::default() }
    }

    fn options(&self) -> Option<OptionTable> {
        Some(OptionTable::of::<FreeFallOptions>())
    }

    fn unsupported(&self, scene: &Scene) -> Vec<Unsupported> {
        let seams = scene.seams.iter().enumerate();
        seams.map(|(i, _)| Unsupported::new(format!("seam.{i}"), "`[[seam]]` with `free-fall`")).collect()
    }
}

impl StepperKind for FreeFall {
    fn can_take(&self, _method: Method, body: &Body) -> Result<(), Error> {
        if body.pressure.is_none() {
            return Ok(());
        }
        let name = &body.name;
        Err(Error::Invalid(format!(
            "free fall does not support gas inside a body (body `{name}`); omit `pressure`"
        )))
    }

    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error> {
        let mut stepper = FreeFallStepper::default();
        stepper.bodies_changed(scene_state, &vec![None; scene_state.bodies.len()]);
        Ok(Box::new(stepper))
    }
}

/// The moving points.
#[derive(Default)]
struct FreeFallStepper {
    start: Vec<DVec3>,
    /// Displacement of each from its start: x of all, y of all, z of all.
    moved: [Vec<f64>; 3],
    velocities: [Vec<f64>; 3],
    mass: Vec<f64>,
    /// The first point of each body, and the end.
    first: Vec<usize>,
    /// The points of the surfaces on the moving ones.
    surface: Vec<Vec<(u32, f64)>>,
}

impl FreeFallStepper {
    fn displacements(&self) -> Vec<DVec3> {
        gathered(&self.moved)
    }

    fn report(&self, scene_state: &SceneState, started: Instant) -> StepReport {
        let (x, v) = (self.unknown_positions(), self.unknown_velocities());
        let mut report = StepReport::default();
        report.nonlinear_iterations = 1;
        report.converged = true;
        report.energy.kinetic = v.iter().zip(&self.mass).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        report.energy.potential =
            x.iter().zip(&self.mass).map(|(x, m)| -m * scene_state.world.gravity.dot(*x)).sum();
        report.times.total = started.elapsed().as_secs_f64();
        report
    }
}

impl Stepper for FreeFallStepper {
    fn step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        _deadline: Option<Instant>,
    ) -> Result<StepReport, Error> {
        let started = Instant::now();
        let FreeFallOptions { drag } = scene_state.solver.options.get();
        for ((moved, velocities), g) in
            self.moved.iter_mut().zip(&mut self.velocities).zip(scene_state.world.gravity.to_array())
        {
            for (x, v) in moved.iter_mut().zip(velocities) {
                (*x, *v) = fall(*x, *v, g, drag, dt);
            }
        }
        Ok(self.report(scene_state, started))
    }

    fn surface_positions(&self, positions: &mut [DVec3]) {
        let x = self.unknown_positions();
        for (point, weights) in positions.iter_mut().zip(&self.surface) {
            *point = weights.iter().map(|&(v, w)| w * x[v as usize]).sum();
        }
    }

    fn bodies_changed(&mut self, scene_state: &SceneState, old_index: &[Option<usize>]) {
        let before = std::mem::take(self);
        let (moved, velocities) = (before.displacements(), gathered(&before.velocities));
        let (mut new_moved, mut new_velocities) = (Vec::new(), Vec::new());
        self.first.push(0);
        for (body, old) in scene_state.bodies.iter().zip(old_index) {
            let first = self.start.len() as u32;
            let on_unknowns = |p| body.embedding.weights(p).iter().map(|&(v, w)| (v + first, w)).collect();
            self.surface.extend((0..body.embedding.len()).map(on_unknowns));
            self.start.extend(&body.start);
            self.mass.extend(&body.mass);
            self.first.push(self.start.len());
            match old {
                Some(old) => {
                    let own = before.first[*old]..before.first[old + 1];
                    new_moved.extend_from_slice(&moved[own.clone()]);
                    new_velocities.extend_from_slice(&velocities[own]);
                }
                None => {
                    new_moved.extend(body.start.iter().map(|_| DVec3::ZERO));
                    new_velocities.extend(body.start.iter().map(|_| body.velocity));
                }
            }
        }
        (self.moved, self.velocities) = (scattered(&new_moved), scattered(&new_velocities));
    }

    fn materials_changed(&mut self, scene_state: &SceneState) {
        self.mass = scene_state.bodies.iter().flat_map(|body| &body.mass).copied().collect();
    }

    fn unknown_count(&self) -> usize {
        self.start.len()
    }

    fn unknown_positions(&self) -> Cow<'_, [DVec3]> {
        Cow::Owned(self.start.iter().zip(self.displacements()).map(|(start, moved)| *start + moved).collect())
    }

    fn unknown_velocities(&self) -> Cow<'_, [DVec3]> {
        Cow::Owned(gathered(&self.velocities))
    }

    fn masses(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.mass)
    }

    fn save(&self, state: &mut StateWriter) {
        state.vectors(&self.displacements());
        state.vectors(&gathered(&self.velocities));
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let count = self.start.len();
        let (moved, velocities) = (state.vectors(count)?, state.vectors(count)?);
        (self.moved, self.velocities) = (scattered(&moved), scattered(&velocities));
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::default()
    }
}

/// Position and velocity along one axis after `t` seconds.
fn fall(x: f64, v: f64, g: f64, drag: f64, t: f64) -> (f64, f64) {
    if drag == 0.0 {
        return (x + v * t + 0.5 * g * t * t, v + g * t);
    }
    let (terminal, lost) = (g / drag, -(-drag * t).exp_m1());
    (x + terminal * t + (v - terminal) * lost / drag, v + (terminal - v) * lost)
}

fn gathered([x, y, z]: &[Vec<f64>; 3]) -> Vec<DVec3> {
    x.iter().zip(y).zip(z).map(|((&x, &y), &z)| DVec3::new(x, y, z)).collect()
}

fn scattered(vectors: &[DVec3]) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|axis| vectors.iter().map(|vector| vector[axis]).collect())
}
