//! Müller 2008, *Hierarchical Position Based Dynamics*: its quantitative figures. As in the paper, constraints are as
//! stiff as a sweep makes them (`stiffness = 1`).

mod curtain;
mod dress;

use super::catalogue::{Parameter, Reproduction};

const SECONDS: Parameter = Parameter {
    name: "seconds",
    default: 2.0,
    range: [0.1, 60.0],
    meaning: "how long the cloth hangs before it is measured",
};

/// All reproductions of the paper.
pub(super) static ALL: [Reproduction; 3] = [
    Reproduction {
        name: "mueller2008-fig3",
        title: "sweeps to limit the strain of a hanging cloth of 126 rows, with 0, 3 and 5 coarse levels",
        parameters: &[
            Parameter {
                name: "columns",
                default: 10.0,
                range: [2.0, 1e3],
                meaning: "cells across; the paper's are about 46",
            },
            SECONDS,
            Parameter {
                name: "most",
                default: 400.0,
                range: [1.0, 1e5],
                meaning: "maximum number of sweeps of the search",
            },
        ],
        run: curtain::sweeps_for_strain,
    },
    Reproduction {
        name: "mueller2008-fig4",
        title: "stretch of a garment dragged over the floor in the wind, with and without the hierarchy",
        parameters: &[
            Parameter {
                name: "resolution",
                default: 1.0,
                range: [0.1, 10.0],
                meaning: "resolution of the scene `dress`; 1 has 6480 triangles",
            },
            Parameter {
                name: "seconds",
                default: 4.0,
                range: [0.1, 60.0],
                meaning: "how long the body walks",
            },
        ],
        run: dress::stretch_of_a_garment,
    },
    Reproduction {
        name: "mueller2008-fig7",
        title: "stretch and frames per second: hierarchy and 2 sweeps against 2, 5, 10 and 20 sweeps",
        parameters: &[
            Parameter {
                name: "columns",
                default: 46.0,
                range: [2.0, 1e3],
                meaning: "cells across; 46 give 11592 triangles",
            },
            SECONDS,
        ],
        run: curtain::stretch_and_speed,
    },
];
