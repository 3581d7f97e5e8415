//! Octrees that fill closed surfaces: construction, balance, hanging nodes, coarsening and shape functions (Milne et
//! al. 2016; each file names its section). Independent of materials: the elements on them are in the engine's `solvers::octree`.

mod coarsen;
mod construct;
mod embed;
mod octant;
mod rasterise;
mod shape_functions;
pub(crate) mod splits;
mod tree;
#[cfg(test)]
mod tree_tests;

pub use coarsen::{Coarsened, coarsen};
pub use construct::{Filled, Grading, fill};
pub use octant::{MAX_HEIGHT, Octant, morton_order};
pub use shape_functions::{gather_matrix, weights_at};
pub use tree::{Hanging, Octree, OctreeFrame, hangs};
