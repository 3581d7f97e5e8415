//! The octrees of all bodies as one list of elements and nodes, with their elasticity.

use std::sync::{Arc, PoisonError, RwLock};

use glam::DVec3;

use crate::solvers::octree::element::blocks::{BATCH, Blocks, Output};
use crate::solvers::octree::element::elasticity::{OctantElasticity, Rest, Start, start_strains};
use supple_core::simd::Simd;
use supple_mesh::octree::Octree;

/// Material parameters of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tissue {
    /// Lamé's `λ` in Pa.
    pub lambda: f32,
    /// Lamé's `μ` in Pa.
    pub mu: f32,
    /// Damping time in s.
    pub damping: f32,
    /// Its law.
    pub law: OctantLaw,
}

/// The law of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OctantLaw {
    /// Co-rotational elasticity, as in the paper.
    #[default]
    Corotated,
    /// Stable neo-Hookean elasticity.
    NeoHookean,
}

/// A body's tree and the materials of its elements.
#[derive(Debug, Clone, Copy)]
pub struct Flesh<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Its elements.
    pub tissue: &'a [Tissue],
}

/// All elements of some bodies, one body after the other, and their energy.
#[derive(Debug)]
pub struct Forest {
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) rest: Arc<Vec<Rest>>,
    /// Set for neo-Hookean elements.
    pub(crate) law: OctantLaw,
    is_damped: bool,
    start: RwLock<Start>,
    pub(crate) simd: Simd,
}

impl Forest {
    /// Combines bodies.
    pub fn new(bodies: &[Flesh<'_>], simd: Simd) -> Self {
        let mut rest = rest_of(bodies.iter().map(|flesh| flesh.tree));
        for (e, tissue) in bodies.iter().flat_map(|flesh| flesh.tissue).enumerate() {
            let (batch, lane) = (&mut rest[e / BATCH], e % BATCH);
            (batch.lambda[lane], batch.mu[lane]) = (tissue.lambda, tissue.mu);
            batch.damping[lane] = tissue.damping;
            batch.neo_hookean[lane] = tissue.law == OctantLaw::NeoHookean;
        }
        let has =
            |law: OctantLaw| bodies.iter().flat_map(|flesh| flesh.tissue).any(|tissue| tissue.law == law);
        let law = if has(OctantLaw::NeoHookean) { OctantLaw::NeoHookean } else { OctantLaw::Corotated };
        let is_damped = bodies.iter().flat_map(|flesh| flesh.tissue).any(|tissue| tissue.damping > 0.0);
        let blocks = Blocks::new(bodies.iter().map(|flesh| flesh.tree));
        let (blocks, rest) = (Arc::new(blocks), Arc::new(rest));
        Self { blocks, rest, law, is_damped, start: RwLock::default(), simd }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.blocks.nodes()
    }

    /// Starts a step of `dt` seconds at `x`: damping resists the change of strain from here on.
    pub fn begin_step(&self, x: &[DVec3], dt: f64) {
        let mut start = self.start.write().unwrap_or_else(PoisonError::into_inner);
        start.rate = if self.is_damped { 1.0 / dt } else { 0.0 };
        if start.rate > 0.0 {
            start_strains(&self.blocks, &self.rest, bytemuck::cast_slice(x), &mut start.strains);
        }
    }

    /// One over the step of damping in 1/s; zero where nothing is damped.
    pub fn damping_rate(&self) -> f64 {
        self.start.read().unwrap_or_else(PoisonError::into_inner).rate
    }

    /// The elastic energy at `x` in joules.
    pub fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.elasticity(None).energy(bytemuck::cast_slice(x))
    }

    /// The elastic energy at `x` and the potential of damping in joules.
    pub fn energy(&self, x: &[DVec3]) -> f64 {
        let start = self.start.read().unwrap_or_else(PoisonError::into_inner);
        self.elasticity(Some(&start)).energy(bytemuck::cast_slice(x))
    }

    /// The same, and its gradient in newtons. `outbox` is reusable workspace.
    pub fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3], outbox: &mut Vec<[f64; 3]>) -> f64 {
        let start = self.start.read().unwrap_or_else(PoisonError::into_inner);
        let output = Output { y: bytemuck::cast_slice_mut(gradient), outbox };
        self.elasticity(Some(&start)).gradient(bytemuck::cast_slice(x), output)
    }

    fn elasticity<'a>(&'a self, start: Option<&'a Start>) -> OctantElasticity<'a> {
        OctantElasticity { blocks: &self.blocks, rest: &self.rest, start, simd: self.simd }
    }
}

/// The elements of some trees at rest, without stiffness.
pub(crate) fn rest_of<'a>(trees: impl IntoIterator<Item = &'a Octree>) -> Vec<Rest> {
    let mut rest: Vec<Rest> = Vec::new();
    let elements = trees.into_iter().flat_map(|tree| (0..tree.elements().len()).map(move |e| (tree, e)));
    for (i, (tree, e)) in elements.enumerate() {
        if i % BATCH == 0 {
            rest.push(Rest::default());
        }
        let batch = &mut rest[i / BATCH];
        batch.side[i % BATCH] = tree.side(e);
        batch.mirror[i % BATCH] = tree.elements()[e].child_number() as u8;
    }
    rest
}
