//! `[solver.octree]`: the options of flesh on octrees.

use serde::{Deserialize, Serialize};

use crate::scene::{Adjustable, AdjustableValue, NamedOptions};
use crate::solvers::octree::multigrid::OctreeCycleOptions;
use crate::solvers::octree::multigrid::smoother::Smoother;
use supple_core::Error;

/// The contact model of bodies with themselves and each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfCollisionModel {
    /// A barrier that grows without bound as surfaces approach contact; every displacement is truncated before they would touch, up to
    /// rounding.
    #[default]
    Barrier,
    /// Springs that pull out penetrations, as in the paper.
    Intersection,
}

/// How the linear systems of Newton's method are solved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OctreeOptions {
    /// Levels of the hierarchy, at most.
    pub levels: u32,
    /// The factor of Jacobi's method on every level [default: per level from an estimate of the largest eigenvalue].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// Sweeps of Jacobi's method on the coarsest level in place of a direct solve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarsest_sweeps: Option<u32>,
    /// The smoother of every level.
    pub smoother: Smoother,
    /// Conjugate gradients stop when the residual has fallen to this fraction.
    pub tolerance: f64,
    /// Or after this many iterations.
    pub max_iterations: u32,
    /// The contact model of bodies with themselves and each other.
    pub self_collision: SelfCollisionModel,
}

impl Default for OctreeOptions {
    fn default() -> Self {
        Self {
            levels: 32,
            damping: None,
            coarsest_sweeps: None,
            smoother: Smoother::Jacobi,
            tolerance: 1e-2,
            max_iterations: 200,
            self_collision: SelfCollisionModel::Barrier,
        }
    }
}

impl NamedOptions for OctreeOptions {
    const TABLE: &'static str = "octree";

    fn check(&self) -> Result<(), Error> {
        let number = |name: &str, value: f64, low: f64, high: f64| {
            let fine = (low..=high).contains(&value);
            if fine {
                Ok(())
            } else {
                Err(Error::out_of_range(format!("octree.{name}"), value, format!("{low} to {high}")))
            }
        };
        number("levels", f64::from(self.levels), 1.0, 32.0)?;
        number("damping", self.damping.unwrap_or(1.0), 1e-3, 2.0)?;
        number("coarsest_sweeps", f64::from(self.coarsest_sweeps.unwrap_or(1)), 1.0, 1e4)?;
        number("tolerance", self.tolerance, 0.0, 1.0)?;
        number("max_iterations", f64::from(self.max_iterations), 1.0, 1e9)
    }

    fn adjustable(&self) -> Vec<Adjustable> {
        let smoother = match self.smoother {
            Smoother::Jacobi => "jacobi",
            Smoother::Chebyshev => "chebyshev",
        };
        let levels = "Maximum number of octree levels; 1 means no coarse levels";
        let tolerance =
            "Conjugate gradients stop when the residual of the linear system has fallen to this fraction";
        let most = "Maximum number of conjugate gradient iterations";
        vec![
            Adjustable::count("levels", "Levels", levels, self.levels, [1, 32]),
            Adjustable {
                key: "smoother",
                label: "Smoother",
                help: "Smoother of every level",
                value: AdjustableValue::Choice(
                    smoother,
                    &[("jacobi", "Damped Jacobi"), ("chebyshev", "Chebyshev")],
                ),
            },
            Adjustable {
                key: "tolerance",
                label: "Linear tolerance",
                help: tolerance,
                value: AdjustableValue::Number(self.tolerance, [1e-8, 0.5]),
            },
            Adjustable::count(
                "max_iterations",
                "Maximum linear iterations",
                most,
                self.max_iterations,
                [1, 1000],
            ),
        ]
    }
}

impl OctreeOptions {
    /// Those of the cycle.
    pub(crate) fn cycle(&self) -> OctreeCycleOptions {
        let Self { levels, damping, coarsest_sweeps, smoother, .. } = *self;
        OctreeCycleOptions { levels, damping, coarsest_sweeps, smoother }
    }
}
