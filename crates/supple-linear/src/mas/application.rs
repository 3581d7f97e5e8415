//! The third stage (Wu 2022, section 7): `z = Σ_l C_(l) M_(l)⁻¹ C_(l)ᵀ r`. The vector is coarsened level by level,
//! every domain of a level is multiplied by its inverse, and the results are prolonged from the coarsest level down
//! and summed. That is the paper's sum over all levels; the maps from the finest level to each coarser one are
//! applied step by step, since each step has a thirtieth of the numbers of the previous one.

use bytemuck::cast_slice;
use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::modes::Modes;
use super::over_domains::{DomainSlice, over_domains};
use super::packed::{PackedInverse, TileNumber};
use super::precomputation::Inverses;
use super::supernodes::SupernodeLevel;
use supple_core::simd::{Simd, prefetch};

/// The vectors of all levels.
#[derive(Debug, Clone, Default)]
pub(super) struct Vectors {
    /// Right-hand side of each coarse level, by nodes.
    coarsened: Vec<Vec<f64>>,
    /// Solutions of each level's domains, by slots.
    solved: Vec<Vec<f64>>,
}

/// Nodes per task.
const NODES: usize = 2048;

impl Vectors {
    /// Allocates all levels.
    pub(super) fn new(levels: &[SupernodeLevel], modes: Modes) -> Self {
        let zeros = |level: &SupernodeLevel, unknowns: usize| vec![0.0; unknowns * level.nodes()];
        let coarsened = levels[1..].iter().map(|level| zeros(level, modes.count())).collect();
        let of_level = |(l, level)| zeros(level, if l == 0 { 3 } else { modes.count() });
        Self { coarsened, solved: levels.iter().enumerate().map(of_level).collect() }
    }

    /// `z = M⁻¹ r`.
    pub(super) fn apply<E: TileNumber>(
        &mut self,
        levels: &[SupernodeLevel],
        inverses: &Inverses<E>,
        r: &[DVec3],
        z: &mut [DVec3],
    ) {
        match inverses.modes {
            Modes::Translations => self.apply_with::<E, 3>(levels, inverses, r, z),
            Modes::Rigid => self.apply_with::<E, 6>(levels, inverses, r, z),
            Modes::Affine => self.apply_with::<E, 12>(levels, inverses, r, z),
        }
    }

    fn apply_with<E: TileNumber, const M: usize>(
        &mut self,
        levels: &[SupernodeLevel],
        inverses: &Inverses<E>,
        r: &[DVec3],
        z: &mut [DVec3],
    ) {
        for (l, level) in levels.iter().enumerate() {
            let (given, next) = self.coarsened.split_at_mut(l);
            let next = next.first_mut().map_or(&mut [][..], |next| next.as_chunks_mut::<M>().0);
            let own = Own { level, inverses: &inverses.domains[l], simd: inverses.simd };
            match given.last() {
                None => own.solve::<3, M>(cast_slice(r), &mut self.solved[0], next),
                Some(given) => own.solve::<M, M>(given, &mut self.solved[l], next),
            }
        }
        for l in (1..levels.len().saturating_sub(1)).rev() {
            let (own, above) = self.solved.split_at_mut(l + 1);
            let above = Above::<M>::new(&levels[l], &levels[l + 1], &above[0]);
            let places = own[l].as_chunks_mut::<M>().0.par_chunks_mut(NODES).enumerate();
            places.for_each(|(chunk, own)| {
                own.iter_mut().zip(chunk * NODES..).for_each(|(own, place)| above.add_to(place, own));
            });
        }
        self.gather::<M>(levels, z);
    }

    /// Adds the finest level's and the coarser levels' contributions at the nodes.
    fn gather<const M: usize>(&self, levels: &[SupernodeLevel], z: &mut [DVec3]) {
        let Some(finest) = levels.first() else { return };
        let (own, _) = self.solved[0].as_chunks::<3>();
        let above = levels.get(1).map(|next| Above::<M>::new(finest, next, &self.solved[1]));
        let parts = z.par_chunks_mut(NODES).zip(finest.place.par_chunks(NODES));
        parts.for_each(|(z, places)| {
            for (z, &place) in z.iter_mut().zip(places) {
                let mut sum = own[place as usize];
                if let Some(above) = &above {
                    above.add_to(place as usize, &mut sum);
                }
                *z = DVec3::from_array(sum);
            }
        });
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.coarsened.iter().chain(&self.solved).map(Vec::len).sum::<usize>()
    }
}

/// The next coarser level, solved.
struct Above<'a, const M: usize> {
    level: &'a SupernodeLevel,
    next: &'a SupernodeLevel,
    solved: &'a [[f64; M]],
}

impl<'a, const M: usize> Above<'a, M> {
    fn new(level: &'a SupernodeLevel, next: &'a SupernodeLevel, solved: &'a [f64]) -> Self {
        Self { level, next, solved: solved.as_chunks().0 }
    }

    /// Adds the contribution of a slot's supernode.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add_to<const C: usize>(&self, place: usize, own: &mut [f64; C]) {
        let above = self.next.place[self.level.parent[place] as usize] as usize;
        self.level.parent_weights[place].prolong_add(&self.solved[above], own);
    }
}

/// A level with its inverses.
struct Own<'a, E: TileNumber> {
    level: &'a SupernodeLevel,
    inverses: &'a [PackedInverse<E>],
    simd: Simd,
}

impl<E: TileNumber> Own<'_, E> {
    /// Coarsens a vector to the next level and multiplies it by the inverses.
    fn solve<const C: usize, const M: usize>(
        &self,
        given: &[f64],
        solved: &mut [f64],
        next: &mut [[f64; M]],
    ) {
        let (given, _) = given.as_chunks::<C>();
        let level = self.level;
        let solved = DomainSlice::listed(solved, &level.starts, C);
        let next = DomainSlice::listed(next, &level.parent_starts, 1);
        over_domains(0..self.inverses.len(), solved, next, &|domain, solved, next| {
            let places = level.places_of(domain);
            // The input of the next domain is scattered: it is prefetched, assuming the same size as this one.
            for &node in level.order[places.end..].iter().take(places.len()) {
                prefetch(&given[node as usize]);
            }
            let (nodes, _) = solved.as_chunks_mut::<C>();
            for (own, &node) in nodes.iter_mut().zip(&level.order[places.clone()]) {
                *own = given[node as usize];
            }
            if !next.is_empty() {
                next.fill([0.0; M]);
                let (parents, first) = (&level.parent[places.clone()], level.parent_starts[domain]);
                for ((own, parent), parent_weight) in
                    nodes.iter().zip(parents).zip(&level.parent_weights[places])
                {
                    parent_weight.restrict_add(own, &mut next[(parent - first) as usize]);
                }
            }
            self.inverses[domain].apply(solved, self.inverses.get(domain + 1), self.simd);
        });
    }
}
