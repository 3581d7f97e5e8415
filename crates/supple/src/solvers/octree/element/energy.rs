//! The elasticity of all octants of a scene as one of its energies.

use std::sync::{Arc, Mutex};

use glam::DVec3;

use crate::body::Elements;
use crate::energy::Energy;
use crate::scene::Model;
use crate::scene_state::SceneState;
use crate::solvers::octree::forest::{Flesh, Forest, OctantLaw, Tissue};
use supple_mesh::octree::Octree;

/// The energy of a forest.
pub(crate) struct OctreeEnergy {
    forest: Arc<Forest>,
    scratch: Mutex<EnergyScratch>,
}

/// Reusable vectors.
#[derive(Default)]
struct EnergyScratch {
    gradient: Vec<DVec3>,
    outbox: Vec<[f64; 3]>,
}

impl OctreeEnergy {
    /// Of a forest.
    pub(crate) fn new(forest: Arc<Forest>) -> Self {
        Self { forest, scratch: Mutex::default() }
    }
}

impl Energy for OctreeEnergy {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.forest.begin_step(x, dt);
    }

    fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.forest.elastic_energy(x)
    }

    fn value(&self, x: &[DVec3]) -> f64 {
        self.forest.energy(x)
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        let mut scratch = self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let EnergyScratch { gradient: own, outbox } = &mut *scratch;
        own.resize(x.len(), DVec3::ZERO);
        self.forest.gradient(x, own, outbox);
        gradient.iter_mut().zip(own.iter()).for_each(|(sum, own)| *sum += *own);
    }

    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}
}

/// The trees of a scene state's bodies.
pub(crate) fn trees(scene_state: &SceneState) -> Vec<&Octree> {
    scene_state
        .bodies
        .iter()
        .filter_map(|body| match &body.elements {
            Elements::Octants(filled) => Some(&filled.tree),
            _ => None,
        })
        .collect()
}

/// The octants of a scene state's bodies.
pub(crate) fn forest(scene_state: &SceneState) -> Forest {
    let mut tissue: Vec<Vec<Tissue>> = Vec::new();
    for body in &scene_state.bodies {
        let Elements::Octants(filled) = &body.elements else { continue };
        let law = match body.model {
            Model::NeoHookean => OctantLaw::NeoHookean,
            _ => OctantLaw::Corotated,
        };
        let of = |e: usize| {
            let (material, part) = (body.materials.of(e), filled.fill[e]);
            let lame = material.solid_lame();
            Tissue {
                lambda: part * lame.lambda as f32,
                mu: part * lame.mu as f32,
                damping: material.damping as f32,
                law,
            }
        };
        tissue.push((0..filled.tree.elements().len()).map(of).collect());
    }
    let bodies: Vec<Flesh<'_>> =
        trees(scene_state).into_iter().zip(&tissue).map(|(tree, tissue)| Flesh { tree, tissue }).collect();
    Forest::new(&bodies, scene_state.simd)
}
