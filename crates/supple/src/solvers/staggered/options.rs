//! `[solver.staggered]`: the options of staggered multigrid.

use serde::{Deserialize, Serialize};

use crate::scene::{Adjustable, AdjustableValue, NamedOptions};
use crate::solvers::staggered::lattice::embedding::Interpolation;
use crate::solvers::staggered::multigrid::hierarchy::LatticeCycleOptions;
use supple_core::Error;

/// How bodies are placed on lattices, and how these are solved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StaggeredOptions {
    /// Side of the cells in metres [default: that of a cube of six of the body's mean tetrahedra, its own
    /// `cell`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<f64>,
    /// Layers of cells around the body: a smoother surface for a body that is thicker by as much.
    pub padding: u32,
    /// How surfaces follow the lattice.
    pub interpolation: Interpolation,
    /// Sweeps over the boundary before and after every interior sweep.
    pub boundary_sweeps: u32,
    /// Additional ones where lattices differ.
    pub extra_sweeps: u32,
    /// Visits of the coarser lattice in a cycle: 1 is a V-cycle, 2 a W-cycle.
    pub cycle_index: u32,
    /// Whether cycles precondition GMRES; the paper uses cycles alone.
    pub krylov: bool,
    /// The maximum number of cycles of a linear solve.
    pub max_cycles: u32,
}

impl Default for StaggeredOptions {
    fn default() -> Self {
        Self {
            cell: None,
            padding: 0,
            interpolation: Interpolation::Trilinear,
            boundary_sweeps: 1,
            extra_sweeps: 1,
            cycle_index: 2,
            krylov: true,
            max_cycles: 60,
        }
    }
}

impl NamedOptions for StaggeredOptions {
    const TABLE: &'static str = "staggered";

    fn check(&self) -> Result<(), Error> {
        let count = |name: &str, value: u32, low: u32, high: u32| {
            let fine = (low..=high).contains(&value);
            if fine {
                Ok(())
            } else {
                Err(Error::out_of_range(format!("staggered.{name}"), value, format!("{low} to {high}")))
            }
        };
        count("padding", self.padding, 0, 8)?;
        count("boundary_sweeps", self.boundary_sweeps, 1, 100)?;
        count("extra_sweeps", self.extra_sweeps, 0, 100)?;
        count("cycle_index", self.cycle_index, 1, 2)?;
        count("max_cycles", self.max_cycles, 1, 10_000)?;
        match self.cell {
            Some(cell) if !(cell > 0.0 && cell.is_finite()) => {
                Err(Error::out_of_range("staggered.cell", cell, "a positive number of metres"))
            }
            _ => Ok(()),
        }
    }

    fn adjustable(&self) -> Vec<Adjustable> {
        let count = Adjustable::count;
        let boundary = "Before and after every sweep over the interior";
        let extra = "Additional sweeps where lattices differ";
        let index = "Visits of the coarser lattice per cycle: 1 is a V-cycle, 2 a W-cycle";
        let cycles = "Maximum number per linear solve";
        let padding = "Layers of cells around the body; changing it restarts the simulation";
        let interpolation = match self.interpolation {
            Interpolation::Trilinear => "trilinear",
            Interpolation::Tricubic => "tricubic",
        };
        vec![
            count("boundary_sweeps", "Boundary sweeps", boundary, self.boundary_sweeps, [1, 10]),
            count("extra_sweeps", "Extra sweeps", extra, self.extra_sweeps, [0, 10]),
            count("cycle_index", "Cycle index", index, self.cycle_index, [1, 2]),
            count("max_cycles", "Maximum cycles", cycles, self.max_cycles, [1, 200]),
            count("padding", "Padding", padding, self.padding, [0, 8]),
            Adjustable {
                key: "krylov",
                label: "GMRES",
                help: "Whether cycles precondition GMRES or are used alone, as in the paper",
                value: AdjustableValue::Switch(self.krylov),
            },
            Adjustable {
                key: "interpolation",
                label: "Surface",
                help: "How the surface follows the lattice",
                value: AdjustableValue::Choice(
                    interpolation,
                    &[("trilinear", "Trilinear"), ("tricubic", "Tricubic, smooth")],
                ),
            },
        ]
    }

    fn reason_to_restart(&self, changed: &Self) -> Option<&'static str> {
        let another = (self.cell, self.padding) != (changed.cell, changed.padding);
        another.then_some("the lattice has changed")
    }
}

impl StaggeredOptions {
    /// The cycle options.
    pub(crate) fn cycle(&self) -> LatticeCycleOptions {
        LatticeCycleOptions {
            boundary_sweeps: self.boundary_sweeps as usize,
            extra_sweeps: self.extra_sweeps as usize,
            cycle_index: self.cycle_index as usize,
            ..LatticeCycleOptions::default()
        }
    }
}
