//! Zhu, Sifakis, Teran and Brandt 2010, *An efficient multigrid method for the simulation of high resolution elastic
//! solids*: convergence rates and times of its elastic box.

mod elastic_box;
mod poisson;

use super::catalogue::{Parameter, Reproduction};

const CELLS: Parameter = Parameter {
    name: "cells",
    default: 32.0,
    range: [8.0, 256.0],
    meaning: "cells along the side of the box",
};

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 2] = [
    Reproduction {
        name: "zhu2010-fig10",
        title: "convergence rates of the Laplacian, of elasticity without pressures, and of the paper's method",
        parameters: &[
            CELLS,
            Parameter {
                name: "sweeps",
                default: 4.0,
                range: [1.0, 16.0],
                meaning: "sweeps over the boundary before and after every interior sweep; the paper has 2 to 4",
            },
            Parameter {
                name: "coarsest",
                default: 8.0,
                range: [2.0, 64.0],
                meaning: "cells along the side of the coarsest lattice of cycles alone",
            },
        ],
        run: elastic_box::rates,
    },
    Reproduction {
        name: "zhu2010-fig22",
        title: "time of a cycle by subroutine, on the elastic box",
        parameters: &[
            CELLS,
            Parameter { name: "cycles", default: 5.0, range: [1.0, 1e3], meaning: "cycles that are timed" },
        ],
        run: elastic_box::times,
    },
];
