//! The direct solver: an order of elimination from the mesh, the structure of the factor, and a multifrontal Cholesky
//! factorisation on all threads.

mod dense;
mod elimination;
mod front;
mod graph;
mod multifrontal;
mod nested_dissection;
mod plain_front;
mod schedule;
mod supernodes;
mod triangular_solve;
mod vertex_cover;

#[cfg(test)]
mod tests;

use glam::DVec3;

pub(crate) use dense::DenseFactor;
pub(crate) use graph::Graph;
pub(crate) use multifrontal::{Entry, Multifrontal, Numbers};
pub(crate) use triangular_solve::SolveSpace;

use elimination::Elimination;
use graph::ABSENT;
use nested_dissection::nested_dissection;

/// The order of elimination with the least work, of minimum degree and nested dissection.
pub(crate) fn best_order(graph: &Graph, positions: Option<&[DVec3]>) -> Vec<u32> {
    let work = |order: Vec<u32>| {
        let elimination = Elimination::new(&graph.renamed(&order, &mut vec![ABSENT; graph.len()]));
        (elimination.work(), order)
    };
    let (degree, dissected) =
        rayon::join(|| work(graph.minimum_degree()), || work(nested_dissection(graph, positions)));
    if dissected.0 < degree.0 { dissected.1 } else { degree.1 }
}
