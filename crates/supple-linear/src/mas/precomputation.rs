//! The second stage (Wu 2022, section 6): the inverses of all domains' matrices on all levels, or of those that changed.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::coarse_rows::{CoarseRow, LevelRows};
use super::inverse::{InverseTile, SingularDirections, diagonal, eliminate, triangle};
use super::modes::Modes;
use super::over_domains::{DomainSlice, over_domains};
use super::packed::{PackedInverse, TileNumber};
use super::supernodes::SupernodeLevel;
use crate::{BlockMatrix, LinearError, domain_not_definite};
use supple_core::simd::{Lanes, Simd, WIDTH};

/// The inverses of all levels, with the coarse matrices that they were made from.
#[derive(Debug, Clone)]
pub(super) struct Inverses<E: TileNumber> {
    pub modes: Modes,
    pub simd: Simd,
    /// By level, by domain.
    pub domains: Vec<Vec<PackedInverse<E>>>,
    /// The matrices of the coarse levels.
    pub coarse: Vec<Vec<CoarseRow>>,
}

thread_local! {
    /// The tiles of the domain a thread is processing.
    static TILES: RefCell<Vec<InverseTile>> = const { RefCell::new(Vec::new()) };
}

impl<E: TileNumber> Inverses<E> {
    /// Allocates all levels.
    pub(super) fn new(levels: &[SupernodeLevel], modes: Modes, simd: Simd) -> Self {
        let domains = levels.iter().map(|level| vec![PackedInverse::default(); level.domains()]).collect();
        let coarse = levels[1..].iter().map(|level| vec![CoarseRow::default(); level.nodes()]).collect();
        Self { modes, simd, domains, coarse }
    }

    /// Recomputes the domains of each level that are `touched`.
    pub(super) fn update(
        &mut self,
        levels: &[SupernodeLevel],
        matrix: &BlockMatrix,
        touched: &[Vec<bool>],
    ) -> Result<(), LinearError> {
        let outside = matrix.outside_rows();
        for (l, level) in levels.iter().enumerate() {
            let (finer, coarser) = self.coarse.split_at_mut(l);
            let rows = match finer.last() {
                None => LevelRows::Fine(matrix, &outside),
                Some(rows) => LevelRows::Coarse(rows, self.modes.count()),
            };
            let coarse = coarser.first_mut().map_or(&mut [][..], |coarse| &mut coarse[..]);
            let task = LevelTask {
                rows,
                level,
                flat: if l == 0 { SingularDirections::Refuse } else { SingularDirections::Soften },
            };
            let refused = task.run(self.modes, self.simd, &touched[l], &mut self.domains[l], coarse);
            match refused {
                Some(place) if l == 0 => {
                    return Err(domain_not_definite(matrix, level.order[place] as usize));
                }
                Some(_) => return Err(LinearError::IndefiniteLevel { solver: "mas", level: l }),
                None => {}
            }
        }
        Ok(())
    }

    /// Memory of the inverses alone.
    pub(super) fn applied_bytes(&self) -> usize {
        self.domains.iter().flatten().map(PackedInverse::bytes).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.applied_bytes() + self.coarse.iter().flatten().map(CoarseRow::bytes).sum::<usize>()
    }
}

/// The work of one level.
struct LevelTask<'a> {
    rows: LevelRows<'a>,
    level: &'a SupernodeLevel,
    flat: SingularDirections,
}

impl LevelTask<'_> {
    /// Returns the first slot whose pivot is not positive.
    fn run<E: TileNumber>(
        &self,
        modes: Modes,
        simd: Simd,
        touched: &[bool],
        inverses: &mut [PackedInverse<E>],
        coarse: &mut [CoarseRow],
    ) -> Option<usize> {
        let refused = AtomicUsize::new(usize::MAX);
        let (inverses, coarse) =
            (DomainSlice::one_each(inverses), DomainSlice::listed(coarse, &self.level.parent_starts, 1));
        over_domains(0..touched.len(), inverses, coarse, &|domain, inverse, coarse| {
            if !touched[domain] {
                return;
            }
            if let Err(place) = self.invert(domain, &mut inverse[0], simd) {
                refused.fetch_min(place, Ordering::Relaxed);
            }
            if !coarse.is_empty() {
                self.rows.coarsen(self.level, domain, modes, coarse);
            }
        });
        Some(refused.into_inner()).filter(|&place| place != usize::MAX)
    }

    fn invert<E: TileNumber>(
        &self,
        domain: usize,
        inverse: &mut PackedInverse<E>,
        simd: Simd,
    ) -> Result<(), usize> {
        let places = self.level.places_of(domain);
        let rows = self.rows.unknowns() * places.len();
        TILES.with_borrow_mut(|tiles| {
            tiles.clear();
            tiles.resize(triangle(rows.div_ceil(WIDTH)), [Lanes::default(); WIDTH]);
            self.rows.dense(self.level, domain, tiles);
            let diagonal = diagonal(tiles, rows);
            let done = eliminate(tiles, rows, &diagonal, self.flat, simd);
            done.map_err(|row| places.start + row / self.rows.unknowns())?;
            inverse.store(tiles, rows, &diagonal, simd);
            Ok(())
        })
    }
}
