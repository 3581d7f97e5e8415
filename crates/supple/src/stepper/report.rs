//! Reports of a step and of a frame.

use glam::DVec3;
use serde::{Deserialize, Deserializer, Serialize};

use crate::body::Body;
use supple_mesh::geometry::stretch::principal_stretches;

/// Energies in joules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnergyReport {
    /// Kinetic.
    #[serde(deserialize_with = "number_or_null")]
    pub kinetic: f64,
    /// Elastic.
    #[serde(deserialize_with = "number_or_null")]
    pub elastic: f64,
    /// Gravitational, zero at the origin.
    #[serde(deserialize_with = "number_or_null")]
    pub potential: f64,
}

/// Wall time of the stages of a step, or of the steps of a frame, in seconds. Stages do not overlap; the
/// remainder of the total belongs to none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StageTimes {
    /// Pins, colliders, the initial guess, and this report.
    pub setup: f64,
    /// Gradients and values of the objective.
    pub evaluation: f64,
    /// Assembling matrices.
    pub assembly: f64,
    /// Preparing the linear solver for them: factorisations, preconditioners, the matrices of coarse levels.
    pub update: f64,
    /// Smoothing of multigrid cycles.
    pub smoothing: f64,
    /// Their coarsest level.
    pub coarsest: f64,
    /// Their restriction and prolongation.
    pub transfer: f64,
    /// Linear solvers and preconditioners other than multigrid cycles: products, sums, substitutions.
    pub solve: f64,
    /// Everything.
    pub total: f64,
}

impl StageTimes {
    /// The stages by name, without the total.
    pub fn stages(&self) -> [(&'static str, f64); 8] {
        [
            ("setup", self.setup),
            ("evaluation", self.evaluation),
            ("assembly", self.assembly),
            ("update", self.update),
            ("smoothing", self.smoothing),
            ("coarsest", self.coarsest),
            ("transfer", self.transfer),
            ("solve", self.solve),
        ]
    }
}

impl std::ops::AddAssign for StageTimes {
    fn add_assign(&mut self, other: Self) {
        self.setup += other.setup;
        self.evaluation += other.evaluation;
        self.assembly += other.assembly;
        self.update += other.update;
        self.smoothing += other.smoothing;
        self.coarsest += other.coarsest;
        self.transfer += other.transfer;
        self.solve += other.solve;
        self.total += other.total;
    }
}

impl std::ops::Div<f64> for StageTimes {
    type Output = Self;

    fn div(self, by: f64) -> Self {
        Self {
            setup: self.setup / by,
            evaluation: self.evaluation / by,
            assembly: self.assembly / by,
            update: self.update / by,
            smoothing: self.smoothing / by,
            coarsest: self.coarsest / by,
            transfer: self.transfer / by,
            solve: self.solve / by,
            total: self.total / by,
        }
    }
}

/// How far a step ended from its solution: as far as one Newton step from there, solved tightly, would move a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Correction {
    /// In metres; the largest over the limit, if a step has parts.
    #[serde(deserialize_with = "number_or_null")]
    pub distance: f64,
    /// The distance up to which a step counts as solved, in metres.
    #[serde(deserialize_with = "number_or_null")]
    pub limit: f64,
}

impl Correction {
    /// Of a distance under a limit.
    pub(crate) fn new(distance: f64, limit: f64) -> Self {
        Self { distance, limit }
    }

    /// Whether the step was solved.
    pub fn is_solved(&self) -> bool {
        self.distance <= self.limit
    }

    /// The one that is larger, over its limit.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.distance * self.limit > self.distance * other.limit { other } else { self }
    }
}

/// The corrections of the steps of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrameCorrection {
    /// The largest, over its limit.
    #[serde(flatten)]
    pub worst: Correction,
    /// The steps that were not solved.
    pub unsolved: u32,
    /// Of these, those that are reported as converged.
    pub wrongly_converged: u32,
}

impl FrameCorrection {
    /// Of all steps of a frame; `None` if they were not verified.
    pub(crate) fn of(steps: &[StepReport]) -> Option<Self> {
        let worst = steps.iter().filter_map(|step| step.correction).reduce(Correction::worse)?;
        let is_unsolved = |step: &&StepReport| step.correction.is_some_and(|found| !found.is_solved());
        let unsolved = steps.iter().filter(is_unsolved);
        Some(Self {
            worst,
            unsolved: unsolved.clone().count() as u32,
            wrongly_converged: unsolved.filter(|step| step.converged).count() as u32,
        })
    }
}

/// Report of one step. A stepper starts from [`StepReport::default`], a step that has not converged, and fills in what it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct StepReport {
    /// Nonlinear iterations.
    pub nonlinear_iterations: u32,
    /// Linear iterations, or solves of a direct solver.
    pub linear_iterations: u32,
    /// Norm of the objective's gradient over that at the step's start; `None` for families that minimise nothing.
    pub residual: Option<f64>,
    /// Whether the tolerance was reached; in families without one, whether all their sweeps and small steps were done.
    /// `false` also where a time budget has cut the step short.
    pub converged: bool,
    /// How far the step ended from its solution, if steps are verified.
    pub correction: Option<Correction>,
    /// Energies at the step's end.
    pub energy: EnergyReport,
    /// Points in contact.
    pub contacts: u32,
    /// Deepest penetration of a point into a collider's shape, in metres.
    pub penetration: f64,
    /// Active contact pairs between surfaces.
    pub pairs: u32,
    /// The smallest distance of such a pair in metres; `None` without any.
    pub closest: Option<f64>,
    /// Displacements that were truncated to stay collision-free.
    pub cuts: u32,
    /// Of these, those with one step length for each island of connected bodies.
    pub island_cuts: u32,
    /// Of these, those with one step length for everything.
    pub global_cuts: u32,
    /// Pairs of triangles that intersected when the step started; `None` for methods that do not detect them.
    pub crossings: Option<u32>,
    /// Vertices that were released from a collider in this step, since they had no room.
    pub pinched: u32,
    /// The farthest that a collider, or a hard-driven pin, is from where its motion says at the end, in metres.
    pub lag: f64,
    /// Wall time by stage.
    pub times: StageTimes,
}

/// Principal stretches of the surface triangles: current over rest length, 1 is unstretched.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct StretchReport {
    /// The largest.
    pub max: f64,
    /// Exceeded by one triangle in a hundred.
    pub p99: f64,
    /// The mean.
    pub mean: f64,
}

impl StretchReport {
    /// Over the surfaces of some bodies at their current positions.
    pub(crate) fn of<'a>(bodies: impl Iterator<Item = (&'a Body, &'a [DVec3])>) -> Self {
        let mut stretches = Vec::new();
        for (body, positions) in bodies {
            let rest = &body.surface.mesh.positions;
            let found = principal_stretches(rest, positions, &body.surface_triangles);
            stretches.extend(found.into_iter().flatten().map(|stretch| stretch.largest));
        }
        if stretches.is_empty() {
            return Self::default();
        }
        stretches.sort_unstable_by(f64::total_cmp);
        let count = stretches.len();
        Self {
            max: stretches[count - 1],
            p99: stretches[(count * 99 / 100).min(count - 1)],
            mean: stretches.iter().sum::<f64>() / count as f64,
        }
    }
}

/// One line of `run --json` and of `reports.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrameReport {
    /// The frame's number.
    pub frame: u32,
    /// Simulated time in seconds.
    #[serde(deserialize_with = "number_or_null")]
    pub time: f64,
    /// Wall time of the frame in seconds.
    #[serde(deserialize_with = "number_or_null")]
    pub wall_seconds: f64,
    /// Time steps.
    pub steps: u32,
    /// Nonlinear iterations of all steps.
    pub nonlinear_iterations: u32,
    /// Nonlinear iterations of the step that took the most.
    pub max_step_iterations: u32,
    /// Linear iterations of all steps.
    pub linear_iterations: u32,
    /// The largest residual of any step; absent in families without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
    /// Whether every step reached its tolerance, or what double precision allows. Families without one say `false` if a time
    /// budget has cut a step short, and nothing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    /// How far the steps ended from their solution; absent if they were not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<FrameCorrection>,
    /// Largest principal stretch of any surface triangle.
    #[serde(deserialize_with = "number_or_null")]
    pub max_stretch: f64,
    /// Its 99th percentile.
    #[serde(deserialize_with = "number_or_null")]
    pub p99_stretch: f64,
    /// Its mean.
    #[serde(deserialize_with = "number_or_null")]
    pub mean_stretch: f64,
    /// Smallest volume of any tetrahedron over its rest volume; absent without tetrahedra.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_volume_ratio: Option<f64>,
    /// Energies in joules.
    pub energy: EnergyReport,
    /// Points in contact.
    pub contacts: u32,
    /// Deepest penetration into a collider in metres.
    #[serde(deserialize_with = "number_or_null")]
    pub penetration: f64,
    /// Active contact pairs between surfaces; absent in reports of earlier versions.
    #[serde(default)]
    pub pairs: u32,
    /// The smallest distance of such a pair in any step in metres; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<f64>,
    /// Displacements that were truncated to stay collision-free, in all steps.
    #[serde(default)]
    pub cuts: u32,
    /// Of these, those with one step length for each island of connected bodies.
    #[serde(default)]
    pub island_cuts: u32,
    /// Of these, those with one step length for everything.
    #[serde(default)]
    pub global_cuts: u32,
    /// Pairs of triangles that intersected when the last step started; absent for methods that do not detect them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossings: Option<u32>,
    /// The vertices that were released from a collider since they had no room between colliders, in the step with the most.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pinched: u32,
    /// The vertices that are left out of contact with a collider at the end of the frame: they are inside, or had no room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<ReleasedVertices>,
    /// The farthest that a collider, or a hard-driven pin, was from where its motion says, in metres; absent if all were on time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<f64>,
    /// What contact exerts on each collider that is touched, at the end of the frame; absent in families that do not know it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collider_forces: Vec<ColliderForce>,
    /// The same between bodies that touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body_forces: Vec<BodyForce>,
    /// Lowest and highest point of all bodies in metres.
    #[serde(deserialize_with = "numbers_or_nulls")]
    pub height: [f64; 2],
    /// Wall time of the steps' stages in seconds.
    #[serde(default)]
    pub stages: StageTimes,
    /// Whether everything is finite.
    pub finite: bool,
    /// Hash of the exact bits of the state.
    pub state_hash: String,
}

/// Vertices of a body that are left out of contact with a collider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReleasedVertices {
    /// The body's name.
    pub body: String,
    /// The collider's name.
    pub collider: String,
    /// The numbers of the vertices.
    pub vertices: Vec<u32>,
}

impl ReleasedVertices {
    /// Of the vertices `vertices` of `body` from `collider`.
    pub(crate) fn new(body: &str, collider: &str) -> Self {
        Self { body: body.to_owned(), collider: collider.to_owned(), vertices: Vec::new() }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What contact exerts on a collider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColliderForce {
    /// The collider's name.
    pub collider: String,
    /// In newtons.
    pub force: DVec3,
    /// About the origin of the world, in N·m.
    pub torque: DVec3,
}

/// What the second of two bodies exerts on the first by contact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BodyForce {
    /// Their names.
    pub bodies: [String; 2],
    /// In newtons.
    pub force: DVec3,
    /// About the origin of the world, in N·m.
    pub torque: DVec3,
}

/// JSON cannot represent NaN and infinity and writes null.
fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Two of them.
fn numbers_or_nulls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    Ok(<[Option<f64>; 2]>::deserialize(deserializer)?.map(|number| number.unwrap_or(f64::NAN)))
}
