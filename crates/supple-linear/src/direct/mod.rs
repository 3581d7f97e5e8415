//! The direct solver: an elimination order from the mesh, the structure of the factor, and a multifrontal Cholesky
//! factorisation on all threads.

pub(crate) mod cholesky;
mod dense;
mod dense_kernels;
mod elimination;
mod front;
mod graph;
mod minimum_degree;
mod multifrontal;
mod nested_dissection;
mod plain_front;
mod schedule;
mod supernodes;
mod triangular_solve;
mod vector;
mod vertex_cover;

#[cfg(test)]
mod tests;

use glam::DVec3;

pub use dense::DenseFactor;
pub(crate) use graph::AdjacencyGraph;
pub(crate) use multifrontal::{BlockValues, FrontEntry, Multifrontal};
pub(crate) use triangular_solve::SolveSpace;

use elimination::Elimination;
use graph::ABSENT;
use minimum_degree::minimum_degree;
use nested_dissection::nested_dissection;

/// The ordering method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ordering {
    /// Both of the others; the one with less work is used.
    #[default]
    Best,
    /// Approximate minimum degree (Amestoy, Davis and Duff 1996).
    MinimumDegree,
    /// Nested dissection (George 1973), by positions if available.
    NestedDissection,
}

impl Ordering {
    /// The vertices of a graph in elimination order.
    pub(crate) fn order(self, graph: &AdjacencyGraph, positions: Option<&[DVec3]>) -> Vec<u32> {
        let work = |order: Vec<u32>| {
            let elimination = Elimination::new(&graph.renamed(&order, &mut vec![ABSENT; graph.len()]));
            (elimination.work(), order)
        };
        match self {
            Self::MinimumDegree => minimum_degree(graph),
            Self::NestedDissection => nested_dissection(graph, positions),
            Self::Best => {
                let degree = || work(minimum_degree(graph));
                let (degree, dissected) =
                    supple_core::parallel::join(degree, || work(nested_dissection(graph, positions)));
                if dissected.0 < degree.0 { dissected.1 } else { degree.1 }
            }
        }
    }
}
