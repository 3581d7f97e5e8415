//! Zhu, Sifakis, Teran and Brandt 2010, *An efficient multigrid method for the simulation of high resolution elastic
//! solids*: convergence rates and times of its elastic box and of a body with thin limbs.

mod bodies;
mod conjugate_gradients;
mod poisson;
mod rates;
mod times;

use super::catalogue::{Parameter, Reproduction};

const CELLS: Parameter = Parameter {
    name: "cells",
    default: 32.0,
    range: [8.0, 256.0],
    meaning: "cells along the side of the box",
};
const CYCLES: Parameter =
    Parameter { name: "cycles", default: 5.0, range: [1.0, 1e3], meaning: "cycles that are timed" };

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 4] = [
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
                name: "arms",
                default: 96.0,
                range: [32.0, 256.0],
                meaning: "cells along the lattice of the body with thin arms; an eighth of its cells is the body",
            },
        ],
        run: rates::rates,
    },
    Reproduction {
        name: "zhu2010-fig11",
        title: "the default solver against conjugate gradients scaled by the diagonal, without pressures",
        parameters: &[
            CELLS,
            Parameter {
                name: "tolerance",
                default: 1e-8,
                range: [1e-12, 0.1],
                meaning: "the residual's norm over that of the right-hand side",
            },
            Parameter {
                name: "most",
                default: 1e5,
                range: [1.0, 1e7],
                meaning: "the most iterations of conjugate gradients",
            },
        ],
        run: times::against_conjugate_gradients,
    },
    Reproduction {
        name: "zhu2010-fig22",
        title: "time of a V-cycle by subroutine, on the elastic box",
        parameters: &[CELLS, CYCLES],
        run: times::by_subroutine,
    },
    Reproduction {
        name: "zhu2010-fig23",
        title: "time and memory of a V-cycle from 32^3 to 256^3 cells",
        parameters: &[
            Parameter {
                name: "cells",
                default: 128.0,
                range: [32.0, 256.0],
                meaning: "cells along the side of the largest box",
            },
            CYCLES,
        ],
        run: times::scaling,
    },
];
