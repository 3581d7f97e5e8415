//! The solver's hierarchy, drawn on the bodies: regions of coarse nodes and domains, the nodes themselves and what links
//! them. Everything is told in surface points and places, so that it looks the same for every family.

use glam::DVec3;

use super::Simulation;
use crate::body::Embedding;
use crate::linear::Regions;

/// In [`HierarchyLevel::region_of_point`]: the point belongs to no region, for instance since it is held.
pub const NO_REGION: u32 = u32::MAX;

/// One level of a solver's hierarchy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HierarchyLevel {
    /// What its regions are.
    pub name: String,
    /// How many regions there are.
    pub regions: usize,
    /// The region of every surface point of all bodies, in the order of [`Simulation::positions`], or [`NO_REGION`].
    pub region_of_point: Vec<u32>,
    /// Where its nodes are now, in metres.
    pub nodes: Vec<DVec3>,
    /// Lines to draw between places, in metres: constraints between nodes, or edges of cells.
    pub links: Vec<[DVec3; 2]>,
}

impl HierarchyLevel {
    /// A level from the region of every vertex that is simulated. `points` are the surface points on these vertices; one
    /// between several vertices goes with the vertex of the largest weight.
    pub fn of_vertices(name: String, region_of_vertex: &[u32], points: &Embedding) -> Self {
        let strongest = |point: usize| {
            let weights = points.weights(point).iter();
            weights.max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(vertex, _)| region_of_vertex[vertex as usize])
        };
        let region_of_point = (0..points.len()).map(|point| strongest(point).unwrap_or(NO_REGION)).collect();
        let highest = region_of_vertex.iter().filter(|region| **region != NO_REGION).max();
        let regions = highest.map_or(0, |highest| *highest as usize + 1);
        Self { name, regions, region_of_point, nodes: Vec::new(), links: Vec::new() }
    }

    /// A level of a preconditioner. `vertices` has the vertex of every unknown, `x` the places of all vertices.
    pub(crate) fn of_regions(regions: &Regions, vertices: &[u32], x: &[DVec3], points: &Embedding) -> Self {
        let mut region_of_vertex = vec![NO_REGION; x.len()];
        for (&vertex, &region) in vertices.iter().zip(&regions.of_unknown) {
            region_of_vertex[vertex as usize] = region;
        }
        let place = |&node: &u32| x[vertices[node as usize] as usize];
        Self {
            nodes: regions.nodes.iter().map(place).collect(),
            ..Self::of_vertices(regions.name.clone(), &region_of_vertex, points)
        }
    }
}

impl Simulation {
    /// The levels of the solver's hierarchy, the finest first; none before the first step that had something to solve, and none
    /// in solvers that have no hierarchy.
    ///
    /// ```
    /// use glam::DVec3;
    /// use supple::{scene::{Body, LinearKind, Pin, Scene, Selection, Solver}, simulation::Simulation};
    /// let solver = Solver { linear: LinearKind::Schwarz.into(), ..Solver::default() };
    /// let corner = Pin::hard("cloth", Selection::Nearest(vec![DVec3::new(0.5, 0.0, 0.5)]));
    /// let builder = Scene::builder().body(Body::cloth("cloth", 1.0, 1.0, [9, 9])).pin(corner);
    /// let scene = builder.solver(solver).build()?;
    /// let mut simulation = Simulation::new(scene)?;
    /// simulation.step(0.01)?;
    /// let levels = simulation.hierarchy();
    /// assert_eq!((levels.len(), levels[0].regions), (1, 3));    // 80 free nodes in domains of 32
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn hierarchy(&self) -> Vec<HierarchyLevel> {
        self.stepper.hierarchy()
    }
}
