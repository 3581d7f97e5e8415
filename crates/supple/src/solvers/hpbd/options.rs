//! `[solver.hpbd]`: the options of hierarchical position based dynamics.

use serde::{Deserialize, Serialize};

use crate::scene::{Adjustable, NamedOptions};
use crate::solvers::hpbd::hierarchy::RestLengths;
use supple_core::Error;

/// The fraction of an edge that a particle may fall in a small step.
const FALL: f64 = 1.25e-4;
/// Gravity on earth in m/s²: loads in scenes with less are assumed to be similar.
const GRAVITY: f64 = 9.81;

/// How a step is solved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HpbdOptions {
    /// Coarse levels, at most; 0 for plain position based dynamics.
    pub levels: u32,
    /// Parents that every particle has on the next coarser level, at least.
    pub parents: u32,
    /// Sweeps over the constraints of the mesh in every small step, alternating forwards and backwards. Two steps of half the length
    /// with one sweep each stretch less than one with two (Macklin et al. 2019); with full steps the paper uses 2.
    pub sweeps: u32,
    /// Sweeps over the finest of the coarse levels. Every coarser one gets twice the sweeps of the previous one, as long as that
    /// costs no more than the finest: it has fewer constraints, and they propagate farther.
    pub coarse_sweeps: u32,
    /// Length limit of one small step in seconds: longer steps are subdivided. The default is so short that in one of them gravity
    /// moves a particle by no more than an eight-thousandth of an edge, since sweeps must revert that; with a
    /// `stiffness`, which is defined for full steps, there is no limit by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_step: Option<f64>,
    /// Level of detail: the level that is simulated, 0 for the mesh itself. Omitted particles are interpolated.
    pub level: u32,
    /// The rest lengths of coarse constraints.
    pub rest_lengths: RestLengths,
    /// The fraction of a violation that a step removes, 0 to 1, as in the paper [default: the material's stiffness in SI
    /// units].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<f64>,
}

impl Default for HpbdOptions {
    fn default() -> Self {
        Self {
            levels: 16,
            parents: 2,
            sweeps: 1,
            coarse_sweeps: 1,
            longest_step: None,
            level: 0,
            rest_lengths: RestLengths::Auto,
            stiffness: None,
        }
    }
}

impl NamedOptions for HpbdOptions {
    const TABLE: &'static str = "hpbd";

    fn check(&self) -> Result<(), Error> {
        let count = |name: &str, value: u32, low: u32, high: u32| {
            let fine = (low..=high).contains(&value);
            if fine {
                Ok(())
            } else {
                Err(Error::out_of_range(format!("hpbd.{name}"), value, format!("{low} to {high}")))
            }
        };
        count("levels", self.levels, 0, 32)?;
        count("parents", self.parents, 1, 6)?;
        count("sweeps", self.sweeps, 1, 10_000)?;
        count("coarse_sweeps", self.coarse_sweeps, 1, 1000)?;
        count("level", self.level, 0, 32)?;
        if let Some(seconds) = self.longest_step.filter(|seconds| !(seconds.is_finite() && *seconds > 0.0)) {
            return Err(Error::out_of_range("hpbd.longest_step", seconds, "above 0 s"));
        }
        match self.stiffness {
            Some(stiffness) if !(stiffness > 0.0 && stiffness <= 1.0) => {
                Err(Error::out_of_range("hpbd.stiffness", stiffness, "above 0 and at most 1"))
            }
            _ => Ok(()),
        }
    }

    fn adjustable(&self) -> Vec<Adjustable> {
        let sweeps = "Sweeps over the constraints of the mesh per step";
        let levels = "Maximum number of coarse levels; 0 is plain position based dynamics";
        vec![
            Adjustable::count("sweeps", "Sweeps", sweeps, self.sweeps, [1, 50]),
            Adjustable::count("levels", "Coarse levels", levels, self.levels, [0, 16]),
        ]
    }
}

impl HpbdOptions {
    /// The longest small step in seconds for a mesh with edges of this mean length under this many m/s² of gravity.
    pub(crate) fn longest_step(&self, edge: f64, gravity: f64) -> f64 {
        let automatic = (FALL * edge / gravity.max(GRAVITY)).sqrt();
        let unset = if self.stiffness.is_some() || edge <= 0.0 { f64::INFINITY } else { automatic };
        self.longest_step.unwrap_or(unset)
    }

    /// The fraction that each of `sweeps` removes, so that all of them in a step remove `stiffness` together (Müller 2006, section 3.3).
    pub(crate) fn stiffness_of_a_sweep(&self, sweeps: u32) -> Option<f64> {
        self.stiffness.map(|stiffness| 1.0 - (1.0 - stiffness).powf(1.0 / f64::from(sweeps)))
    }
}
