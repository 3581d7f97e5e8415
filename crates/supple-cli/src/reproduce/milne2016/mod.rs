//! Milne et al. 2016, *Efficient Elasticity for Character Flesh Simulation on Octrees*: its figures with numbers.

mod convergence;
mod memory;

use super::catalogue::{Parameter, Reproduction};

const POISSON: Parameter = Parameter {
    name: "poisson",
    default: 0.3,
    range: [0.0, 0.495],
    meaning: "Poisson's ratio; the paper does not say its own",
};

const DAMPING: Parameter = Parameter {
    name: "damping",
    default: 0.0,
    range: [0.0, 2.0],
    meaning: "of Jacobi's method, 0.857 in the paper; 0 finds it on every level",
};

const SWEEPS: Parameter = Parameter {
    name: "sweeps",
    default: 0.0,
    range: [0.0, 1e4],
    meaning: "of Jacobi's method on the coarsest level, 16 in the paper; 0 factors it",
};

const MOST: Parameter = Parameter {
    name: "most",
    default: 4000.0,
    range: [1.0, 1e6],
    meaning: "iterations after which a method is given up",
};

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 3] = [
    Reproduction {
        name: "milne2016-fig10",
        title: "elements and memory against the inverse of the cell: octree, unrefined octree, dense array",
        parameters: &[
            Parameter {
                name: "cells",
                default: 48.0,
                range: [8.0, 2000.0],
                meaning: "cells along the body at the coarsest of three resolutions, each twice the one before",
            },
            Parameter {
                name: "uniform",
                default: 4e6,
                range: [1e3, 1e9],
                meaning: "largest number of elements of an unrefined octree that is still made",
            },
        ],
        run: memory::growth,
    },
    Reproduction {
        name: "milne2016-fig14",
        title: "reduction of the largest error by CG, Jacobi-CG, MG and MGPCG: a cube held at its corners",
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
            MOST,
        ],
        run: convergence::reduction,
    },
    Reproduction {
        name: "milne2016-thin",
        title: "the same for thin parts: a ball with spikes, held at its core",
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
            MOST,
        ],
        run: convergence::thin_parts,
    },
];
