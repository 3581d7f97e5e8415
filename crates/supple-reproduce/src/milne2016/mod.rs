//! Milne et al. 2016, *Efficient Elasticity for Character Flesh Simulation on Octrees*: its quantitative figures.

mod convergence;
mod frames;
mod memory;
mod slices;
mod spike;

use super::catalogue::{Parameter, Reproduction};

const POISSON: Parameter = Parameter {
    name: "poisson",
    default: 0.3,
    range: [0.0, 0.495],
    meaning: "Poisson's ratio; the paper does not state it",
};

const DAMPING: Parameter = Parameter {
    name: "damping",
    default: 0.0,
    range: [0.0, 2.0],
    meaning: "damping of the Jacobi smoother, 0.857 in the paper; 0 computes it on every level",
};

const SWEEPS: Parameter = Parameter {
    name: "sweeps",
    default: 0.0,
    range: [0.0, 1e4],
    meaning: "Jacobi sweeps on the coarsest level, 16 in the paper; 0 factorises it",
};

const MOST: Parameter =
    Parameter { name: "most", default: 4000.0, range: [1.0, 1e6], meaning: "maximum iterations per method" };

const CHEBYSHEV: Parameter = Parameter {
    name: "chebyshev",
    default: 0.0,
    range: [0.0, 1.0],
    meaning: "1 uses the Chebyshev smoother in place of Jacobi",
};

const THIN: Parameter = Parameter {
    name: "thin",
    default: 0.0,
    range: [0.0, 1.0],
    meaning: "1 uses a ball with thin spikes in place of a four-legged creature",
};

const UNIFORM: Parameter = Parameter {
    name: "uniform",
    default: 4e6,
    range: [1e3, 1e9],
    meaning: "maximum number of elements of a uniform grid",
};

const NEWTON: Parameter =
    Parameter { name: "newton", default: 10.0, range: [1.0, 100.0], meaning: "Newton steps per frame" };

const GROWTH: &[Parameter] = &[
    Parameter {
        name: "cells",
        default: 48.0,
        range: [8.0, 2000.0],
        meaning: "cells along the body at the coarsest resolution; each has twice as many as the one before",
    },
    Parameter { name: "resolutions", default: 3.0, range: [1.0, 8.0], meaning: "how many" },
    UNIFORM,
    NEWTON,
    THIN,
];

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 8] = [
    Reproduction {
        name: "milne2016-fig10",
        title: "elements and memory against the inverse cell size: octree, unrefined octree, dense array",
        parameters: &[
            Parameter {
                name: "cells",
                default: 48.0,
                range: [8.0, 2000.0],
                meaning: "cells along the body at the coarsest of three resolutions, each twice the one before",
            },
            UNIFORM,
            THIN,
        ],
        run: memory::growth,
    },
    Reproduction {
        name: "milne2016-fig11",
        title: "time per frame against the inverse cell size: octree, unrefined octree, dense array",
        parameters: GROWTH,
        run: frames::growth,
    },
    Reproduction {
        name: "milne2016-fig12",
        title: "the same against the number of elements",
        parameters: GROWTH,
        run: frames::growth,
    },
    Reproduction {
        name: "milne2016-fig13",
        title: "time per frame on one, two, four ... threads",
        parameters: &[
            Parameter {
                name: "cells",
                default: 192.0,
                range: [8.0, 2000.0],
                meaning: "cells along the body",
            },
            NEWTON,
            THIN,
        ],
        run: frames::threads,
    },
    Reproduction {
        name: "milne2016-fig14",
        title: "reduction of the largest error by CG, Jacobi-CG, MG and MGPCG: a cube fixed at its corners",
        parameters: &[
            Parameter {
                name: "size",
                default: 128.0,
                range: [8.0, 1024.0],
                meaning: "cells along the largest cube, a power of two, 256 in the paper; smaller ones from 64 on are solved too",
            },
            POISSON,
            DAMPING,
            SWEEPS,
            CHEBYSHEV,
            MOST,
        ],
        run: convergence::reduction,
    },
    Reproduction {
        name: "milne2016-fig15",
        title: "pictures of the error on a face of the cube after 0, 1, 2, 5, 10 and 20 iterations of CG, MG and MGPCG",
        parameters: &[
            Parameter {
                name: "size",
                default: 64.0,
                range: [8.0, 512.0],
                meaning: "cells along the cube, a power of two, 256 in the paper",
            },
            POISSON,
            DAMPING,
            SWEEPS,
            CHEBYSHEV,
        ],
        run: slices::pictures,
    },
    Reproduction {
        name: "milne2016-spike",
        title: "a ball with spikes with 20 Newton steps of 20 iterations and with 10 of 3: time and damping",
        parameters: &[
            Parameter {
                name: "resolution",
                default: 0.5,
                range: [0.1, 4.0],
                meaning: "resolution of the scene `spike`; 1 has cells of a centimetre",
            },
            Parameter {
                name: "frames",
                default: 40.0,
                range: [1.0, 1000.0],
                meaning: "frames, 119 in the paper",
            },
        ],
        run: spike::limits,
    },
    Reproduction {
        name: "milne2016-thin",
        title: "the same for thin parts: a ball with spikes, fixed at its core",
        parameters: &[
            Parameter {
                name: "cells",
                default: 96.0,
                range: [16.0, 1024.0],
                meaning: "cells across the ball and its spikes; their tips are a 48th of it thick",
            },
            POISSON,
            DAMPING,
            SWEEPS,
            CHEBYSHEV,
            MOST,
        ],
        run: convergence::thin_parts,
    },
];
