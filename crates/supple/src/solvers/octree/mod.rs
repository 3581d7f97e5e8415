//! Flesh on incomplete linear octrees (Milne et al. 2016, *Efficient Elasticity for Character Flesh Simulation on Octrees*): a
//! triangle mesh from an artist is filled with octants that are fine along the surface and coarse inside, and Newton's
//! method is solved by conjugate gradients with a multigrid cycle. No matrix is stored on any level but the coarsest.
//!
//! | section of the paper | here |
//! | --- | --- |
//! | 3.1 balance | `splits` |
//! | 3.2 hanging nodes, modified shape functions | [`Octree`](supple_mesh::octree::Octree), `shape_functions` |
//! | 4 co-rotational elasticity, one-point quadrature | `elasticity`, [`Forest`] |
//! | 4.2 force differentials, algorithm 1 | `stiffness`, `elasticity` |
//! | 5 linear octrees | [`Octant`](supple_mesh::octree::Octant) |
//! | 6 construction | `rasterise`, [`fill`](supple_mesh::octree::fill) |
//! | 7 the V-cycle as preconditioner | [`Multigrid`], `level` |
//! | 7.1 coarsening | [`coarsen`](supple_mesh::octree::coarsen) |
//! | 7.2 restriction and prolongation | `transfer` |
//! | 7.3 the coarse operator | [`Multigrid`] |
//! | 7.4 the diagonal | `stiffness` |
//! | 8 springs at material points | `springs`, `embed` |
//! | 8 self-collision | `intersection_curves`, `self_collision` |
//! | 9 blocks, threads and vectors | `blocks`, `wide` |
//!
//! Differences from the paper:
//! - The damping of Jacobi's method is found on every level from the largest eigenvalue (`largest_eigenvalue`). The paper's fixed
//!   numbers make the cycle indefinite from a Poisson's ratio of 0.42 on.
//! - The coarsest level is factorised (`coarsest`), and it is the finest one whose factor costs little relative to a cycle ([`Multigrid`]); the
//!   paper's sweeps are an option.
//! - Elements may be stable neo-Hookean too (`principal`), and levels smoothed by Chebyshev's method (`smoother`).
//! - Blocks have an outbox in place of ghost cells (`blocks`).
//! - Nodes are numbered separately from elements (`tree`), so that vectors over nodes have no gaps.
//! - Elements cut by the surface have the mass and stiffness of their inside fraction ([`Filled`](supple_mesh::octree::Filled)); the paper uses whole elements.
//! - Contact with colliders is the engine's, at the points of the embedded surface. Contact of bodies with themselves and each other is
//!   the engine's barrier, or the paper's method if a scene selects it ([`SelfCollisionModel`]).

mod declaration;
mod element;
mod forest;
mod inspection;
#[cfg(test)]
mod mechanics_tests;
mod multigrid;
mod newton;
mod options;
mod self_collision;
mod stepper;

pub use declaration::OctreeFlesh;
pub use forest::{Flesh, Forest, OctantLaw, Tissue};
pub use multigrid::smoother::Smoother;
pub use multigrid::{FineOperator, Multigrid, OctreeCycleOptions};
pub use options::{OctreeOptions, SelfCollisionModel};
