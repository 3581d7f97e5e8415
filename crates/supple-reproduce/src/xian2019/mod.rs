//! Xian, Tong and Liu 2019, *A Scalable Galerkin Multigrid Method for Real-time Simulation of Deformable Objects*:
//! its tables and quantitative figures. The paper measures a GPU; this is a CPU, so times are only comparable as
//! ratios.

mod contact;
mod convergence;
mod examples;
mod flexibility;
mod measure;
mod scaling;
mod stiffness;
mod table1;
mod table3;

use super::catalogue::{Parameter, Reproduction};

const SIZE: Parameter = Parameter {
    name: "size",
    default: 0.2,
    range: [0.01, 10.0],
    meaning: "vertices and coarse nodes as a fraction of the paper's; 1 is its full size",
};

const FRAMES: Parameter = Parameter {
    name: "frames",
    default: 10.0,
    range: [1.0, 1e5],
    meaning: "timed frames, after one that is not timed",
};

const FRAME: Parameter = Parameter {
    name: "frame",
    default: 5.0,
    range: [1.0, 1e4],
    meaning: "the frame whose first step or linear system is used",
};

const METRES: Parameter = Parameter {
    name: "metres",
    default: 2.5,
    range: [1e-3, 1e3],
    meaning: "size of the solid in m, not stated in the paper; at this size three unknowns per node perform as in the paper",
};

const BUDGET: Parameter = Parameter {
    name: "budget",
    default: 4.0,
    range: [0.01, 1e5],
    meaning: "time limit per solver in seconds",
};

const HALF: Parameter = Parameter { default: 0.5, ..SIZE };

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 12] = [
    Reproduction {
        name: "xian2019-table1",
        title: "frames per second and pre-computation of all set-ups",
        parameters: &[SIZE, FRAMES],
        run: table1::frame_rates,
    },
    Reproduction {
        name: "xian2019-table2",
        title: "breakdown of the time per frame",
        parameters: &[SIZE, FRAMES],
        run: table1::breakdown,
    },
    Reproduction {
        name: "xian2019-table3",
        title: "error reduction of coarse spaces by unknowns per node and weights",
        parameters: &[Parameter { default: 1.0, ..SIZE }, Parameter { default: 9.0, ..FRAME }, METRES],
        run: table3::error_reduction,
    },
    Reproduction {
        name: "xian2019-fig3",
        title: "entries of the coarse matrix with smooth and with piecewise-constant weights",
        parameters: &[HALF, FRAME],
        run: table3::nonzeros,
    },
    Reproduction {
        name: "xian2019-fig6",
        title: "the same swing at six resolutions",
        parameters: &[
            SIZE,
            Parameter { default: 30.0, meaning: "number of frames", ..FRAMES },
            Parameter {
                default: 0.2,
                meaning: "size of the solid in m, not stated in the paper; a small one swings more than it stretches",
                ..METRES
            },
        ],
        run: scaling::same_motion,
    },
    Reproduction {
        name: "xian2019-fig7",
        title: "memory and time against the number of elements",
        parameters: &[
            Parameter {
                name: "elements",
                default: 2e5,
                range: [1e4, 1e8],
                meaning: "the largest number of tetrahedra; the paper's is 405899",
            },
            Parameter {
                name: "smallest",
                default: 3e3,
                range: [1e3, 1e7],
                meaning: "the smallest number of tetrahedra; the paper's is 3581",
            },
            Parameter { default: 5.0, ..FRAMES },
        ],
        run: scaling::memory_and_time,
    },
    Reproduction {
        name: "xian2019-fig8",
        title: "a hanging cloth, and a solid, by direct and multigrid projective dynamics; the cloth by multigrid Newton",
        parameters: &[HALF, FRAMES],
        run: flexibility::three_solvers,
    },
    Reproduction {
        name: "xian2019-fig9",
        title: "residuals over V-cycles for stiffnesses from 5e2 to 2.56e5",
        parameters: &[
            HALF,
            FRAME,
            Parameter { name: "cycles", default: 10.0, range: [2.0, 1e3], meaning: "V-cycles per stiffness" },
        ],
        run: stiffness::residuals,
    },
    Reproduction {
        name: "xian2019-fig10",
        title: "error over time on cloth, against Gauss-Seidel and Chebyshev",
        parameters: &[HALF, FRAME, BUDGET],
        run: convergence::cloth,
    },
    Reproduction {
        name: "xian2019-fig11",
        title: "error over time on an octopus, against Gauss-Seidel and Chebyshev",
        parameters: &[HALF, FRAME, BUDGET],
        run: convergence::octopus,
    },
    Reproduction {
        name: "xian2019-fig12",
        title: "error over time on an octopus, against Jacobi-preconditioned conjugate gradients",
        parameters: &[HALF, FRAME, BUDGET],
        run: convergence::octopus_against_conjugate_gradients,
    },
    Reproduction {
        name: "xian2019-contact",
        title: "iterations of projective dynamics with contact in its matrix as blocks, against a scalar bound (section 4.6)",
        parameters: &[
            Parameter {
                name: "resolution",
                default: 2.0,
                range: [0.1, 10.0],
                meaning: "vertices per length, relative to the scene `cloth-on-sphere`",
            },
            Parameter {
                name: "stiffness",
                default: 10.0,
                range: [1e-3, 1e6],
                meaning: "stiffness of the springs in N/m; 100 is the paper's for a hanging cloth, where they outweigh contact",
            },
            Parameter { default: 10.0, ..FRAME },
            Parameter { default: 30.0, ..BUDGET },
        ],
        run: contact::iterations_with_contact,
    },
];
