//! Zhu, Sifakis, Teran and Brandt 2010, *An efficient multigrid method for the simulation of high resolution elastic
//! solids*: convergence rates and times of its elastic box and of a body with thin limbs.

mod bodies;
mod conjugate_gradients;
mod disc;
mod poisson;
mod rates;
mod scene_rates;
mod surfaces;
mod tetrahedra;
mod times;

use super::catalogue::{Parameter, Reproduction};

const CELLS: Parameter = Parameter {
    name: "cells",
    default: 32.0,
    range: [8.0, 256.0],
    meaning: "cells along the side of the box",
};
const CYCLES: Parameter =
    Parameter { name: "cycles", default: 5.0, range: [1.0, 1e3], meaning: "timed cycles" };

const CELL: Parameter =
    Parameter { name: "cell", default: 0.025, range: [0.01, 0.05], meaning: "side of the cells in m" };
const STEPS: Parameter = Parameter {
    name: "steps",
    default: 4.0,
    range: [1.0, 100.0],
    meaning: "number of steps for bending the arm",
};

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 9] = [
    Reproduction {
        name: "zhu2010-fig10",
        title: "convergence rates of the Laplacian, of elasticity without pressures and on tetrahedra, and of the paper's method",
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
                default: 135.0,
                range: [32.0, 256.0],
                meaning: "cells along the lattice of the body with thin arms; an eighth of its cells is the body",
            },
            Parameter {
                name: "resolution",
                default: 2.0,
                range: [0.25, 8.0],
                meaning: "resolution of the scenes that represent the paper's armadillo, human and car; at 1 their lattices are solved directly",
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
                meaning: "relative residual norm",
            },
            Parameter {
                name: "most",
                default: 1e5,
                range: [1.0, 1e7],
                meaning: "maximum iterations of conjugate gradients",
            },
        ],
        run: times::against_conjugate_gradients,
    },
    Reproduction {
        name: "zhu2010-fig15",
        title: "errors of staggered differences and of finite elements on a disc whose solution is known",
        parameters: &[Parameter {
            name: "cells",
            default: 192.0,
            range: [32.0, 512.0],
            meaning: "cells along the side of the finest lattice, twice as many as across the disc",
        }],
        run: disc::accuracy,
    },
    Reproduction {
        name: "zhu2010-fig17",
        title: "smoothness of the surface of a bent arm on a coarse lattice, with a layer of padding, and on a finer one",
        parameters: &[CELL, STEPS],
        run: surfaces::padding,
    },
    Reproduction {
        name: "zhu2010-fig18",
        title: "smoothness of the surface of a bent arm with trilinear and tricubic interpolation",
        parameters: &[CELL, STEPS],
        run: surfaces::interpolation,
    },
    Reproduction {
        name: "zhu2010-fig21",
        title: "speedup of each subroutine of a V-cycle on two threads",
        parameters: &[CELLS, CYCLES],
        run: times::by_threads,
    },
    Reproduction {
        name: "zhu2010-fig22",
        title: "time per V-cycle by subroutine, on the elastic box",
        parameters: &[CELLS, CYCLES],
        run: times::by_subroutine,
    },
    Reproduction {
        name: "zhu2010-fig23",
        title: "time and memory per V-cycle from 32^3 to 256^3 cells",
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
    Reproduction {
        name: "zhu2010-tetrahedra",
        title: "the armadillo on the lattice and by Newton's method on tetrahedra (section 9.3)",
        parameters: &[
            Parameter { default: 0.03, range: [0.01, 0.06], ..CELL },
            Parameter { name: "ratio", default: 0.4, range: [0.0, 0.49], meaning: "Poisson's ratio" },
            Parameter { name: "frames", default: 3.0, range: [1.0, 45.0], meaning: "frames of the pull" },
            Parameter {
                name: "tolerance",
                default: 1e-2,
                range: [1e-6, 0.1],
                meaning: "residual relative to the start of the frame",
            },
        ],
        run: tetrahedra::against_newton,
    },
];
