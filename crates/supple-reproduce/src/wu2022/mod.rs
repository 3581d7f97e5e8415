//! Wu, Wang and Wang 2022, *A GPU-Based Multilevel Additive Schwarz Preconditioner for Cloth and Deformable Body
//! Simulation*: its table and quantitative figures. The paper measures a GPU (and a CPU in figure 16); this is a CPU,
//! so times are only comparable as ratios.

mod cg_run;
mod convergence;
mod examples;
mod scaling;
mod simulation;

use super::catalogue::{Parameter, Reproduction};

const VERTICES: Parameter = Parameter {
    name: "vertices",
    default: 2e4,
    range: [300.0, 1e7],
    meaning: "vertices, about; the paper's T-shirt has 260000, its armadillos 122000",
};

const RESOLUTION: Parameter = Parameter {
    name: "resolution",
    default: 0.3,
    range: [0.01, 10.0],
    meaning: "resolution of the built-in scene, as for `run`",
};

const STEPS: Parameter = Parameter {
    name: "steps",
    default: 80.0,
    range: [1.0, 1e5],
    meaning: "steps of 1/100 s before the system is extracted",
};

const FIRST: Parameter = Parameter {
    name: "first",
    default: 40.0,
    meaning: "steps before the first system is extracted",
    ..STEPS
};

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 14] = [
    Reproduction {
        name: "wu2022-table1",
        title: "cost of each stage and condition numbers",
        parameters: &[VERTICES],
        run: simulation::costs,
    },
    Reproduction {
        name: "wu2022-fig4",
        title: "error over iterations and time against Jacobi, one-level Schwarz and multigrid",
        parameters: &[VERTICES],
        run: convergence::preconditioners,
    },
    Reproduction {
        name: "wu2022-fig5",
        title: "nonlinear solvers preconditioned by Jacobi and by multilevel Schwarz",
        parameters: &[
            Parameter { default: 0.6, ..RESOLUTION },
            Parameter {
                name: "frame",
                default: 12.0,
                range: [1.0, 1e4],
                meaning: "the frame whose first step is used",
            },
            Parameter {
                name: "budget",
                default: 5.0,
                range: [0.01, 1e5],
                meaning: "time limit per solver in seconds",
            },
        ],
        run: simulation::nonlinear,
    },
    Reproduction {
        name: "wu2022-fig9",
        title: "domains from node orderings 0 to 60 steps old",
        parameters: &[RESOLUTION, STEPS],
        run: convergence::sorted_before,
    },
    Reproduction {
        name: "wu2022-fig10",
        title: "domain sizes and numbers of levels",
        parameters: &[VERTICES],
        run: convergence::domain_sizes,
    },
    Reproduction {
        name: "wu2022-fig14",
        title: "convergence in all scenes",
        parameters: &[Parameter {
            default: 1.0,
            meaning: "multiple of the resolution at which the scenes are fast",
            ..RESOLUTION
        }],
        run: simulation::all_scenes,
    },
    Reproduction {
        name: "wu2022-fig16",
        title: "error over iterations and time against incomplete and complete Cholesky",
        parameters: &[VERTICES],
        run: convergence::factorisations,
    },
    Reproduction {
        name: "wu2022-fig17",
        title: "breakdown of a step of the T-shirt",
        parameters: &[
            Parameter { default: 0.6, ..RESOLUTION },
            Parameter { default: 20.0, meaning: "steps of 1/100 s that are timed", ..STEPS },
        ],
        run: simulation::breakdown,
    },
    Reproduction {
        name: "wu2022-fig18",
        title: "cost for 0.1 to 100 times the stiffness",
        parameters: &[VERTICES],
        run: scaling::stiffness,
    },
    Reproduction {
        name: "wu2022-fig19",
        title: "cost for 16 times the vertices of a cloth",
        parameters: &[Parameter { default: 4e4, ..VERTICES }],
        run: scaling::cloth_resolution,
    },
    Reproduction {
        name: "wu2022-fig20",
        title: "cost for 15 times the vertices of a body",
        parameters: &[VERTICES],
        run: scaling::body_resolution,
    },
    Reproduction {
        name: "wu2022-fig21",
        title: "cost as contacts increase: a cloth wound up by a rotating ball",
        parameters: &[
            RESOLUTION,
            FIRST,
            Parameter { default: 120.0, meaning: "steps before the last system is extracted", ..STEPS },
            Parameter {
                name: "thickness",
                default: 0.004,
                range: [1e-5, 0.1],
                meaning: "thickness of the cloth in m; a larger one gives more contact pairs",
            },
        ],
        run: scaling::contacts,
    },
    Reproduction {
        name: "wu2022-stacked",
        title: "cost as contacts increase: ten cloths falling onto each other",
        parameters: &[
            RESOLUTION,
            Parameter { default: 5.0, ..FIRST },
            Parameter { default: 65.0, meaning: "steps before the last system is extracted", ..STEPS },
        ],
        run: scaling::stacked,
    },
    Reproduction {
        name: "wu2022-fig23",
        title: "bodies of equal mean stiffness: uniform, random, in eight regions",
        parameters: &[VERTICES],
        run: convergence::heterogeneity,
    },
];
