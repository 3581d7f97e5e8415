//! `mas`: Botao Wu, Zhendong Wang, Huamin Wang, *A GPU-Based Multilevel Additive Schwarz Preconditioner for Cloth and Deformable
//! Body Simulation*, ACM Transactions on Graphics 41 (4), 2022.
//!
//! | section of the paper | here |
//! | --- | --- |
//! | 3.2, equation 5: `M⁻¹ = Σ_l C_(l)ᵀ M_(l)⁻¹ C_(l)` | [`Mas`] |
//! | 5.1 domains along the Morton curve | `morton_domains` |
//! | 5.2 supernodes split by connections | `supernodes`, `connections` |
//! | 5.3 skipping the construction | [`begin_step`](crate::SolverState::begin_step) of [`Mas`] |
//! | 6.2, algorithm 1: sub-matrices of all levels | `coarse_rows`, `precomputation` |
//! | 6.2 one-way elimination | `inverse` |
//! | 6.3 selective update | `selective_update` |
//! | 7 coarsening, products, prolongation | `application` |
//! | 7.1 packed symmetric inverses | `packed` |
//! | 9, future work: stiffness in the coarse space | `stiffness_domains`, the default |
//!
//! What differs, and why:
//! - Supernodes may move rigidly or affinely (`modes`), not by translations only. That halves the iterations on solids for a few
//!   per cent more numbers. Domains of coarser levels have as many unknowns as those of the finest: 16 supernodes of 6.
//! - Stored is the factor `W` of `A⁻¹ = Wᵀ W` and not its product: on a CPU a tile row stays in the nearest cache for both halves. It
//!   saves the product, and the result is positive definite however coarsely `W` is rounded; so 16 bits do.
//! - The elimination is in `f64`: matrices of thin cloth are too ill-conditioned for single precision, and by tiles it is fast.
//! - Vectors are coarsened from level to level instead of from the finest to each.
//! - Domains follow strong connections, not the Morton curve: as many iterations where the stiffness is about the same everywhere, and
//!   less than half of them where stiff parts lie in soft ones or cloths on each other.
//! - Without positions, nodes are ordered by the graph and supernodes have translations only.
//! - What has changed since the last update is found from the matrix, not told by the contacts.

mod application;
mod coarse_rows;
mod connections;
mod inverse;
mod modes;
mod morton_domains;
mod over_domains;
mod packed;
mod precomputation;
mod saved_levels;
mod selective_update;
mod stiffness_domains;
mod supernodes;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::{
    BlockMatrix, BlockPattern, LinearError, LinearOperator, Preconditioner, Regions, Simd, SolverState,
    assembled,
};
use application::Vectors;
use connections::Connections;
use precomputation::Inverses;
use saved_levels::Saved;
use selective_update::{Signatures, touched_domains};
use supernodes::{DomainSizes, SupernodeLevel, levels};

pub use inverse::MOST_NODES;
pub use modes::Modes;

/// How domains are cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// Along strong connections: those of stiff parts, and of surfaces in contact.
    #[default]
    Stiffness,
    /// Along the Morton curve through the positions, as in the paper.
    Morton,
}

/// How inverses are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// In single precision.
    F32,
    /// As 16-bit fractions of the largest number in their row: half the memory, the same iterations.
    #[default]
    I16,
}

/// Options of [`Mas`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MasOptions {
    /// Nodes in a domain of the finest level, up to [`MOST_NODES`].
    pub domain: usize,
    /// The motions of a supernode.
    pub modes: Modes,
    /// Maximum number of levels; 1 is the one-level preconditioner.
    pub levels: usize,
    /// How domains are cut.
    pub partition: Partition,
    /// How inverses are stored.
    pub layout: Layout,
    /// Steps between two constructions of the domains (section 5.3).
    pub rebuild: u32,
    /// The instruction sets to use.
    pub simd: Simd,
}

impl Default for MasOptions {
    fn default() -> Self {
        Self {
            domain: 32,
            modes: Modes::Rigid,
            levels: usize::MAX,
            partition: Partition::Stiffness,
            layout: Layout::I16,
            rebuild: 10,
            simd: Simd::Auto,
        }
    }
}

/// The seconds that the stages have taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct MasTimes {
    /// Domains and supernodes.
    pub construction: Duration,
    /// Sub-matrices and inverses.
    pub precomputation: Duration,
    /// Applications.
    pub application: Duration,
}

/// Multilevel additive Schwarz.
pub struct Mas {
    options: MasOptions,
    /// Where the nodes are, or were when the domains were cut.
    positions: Option<Arc<[DVec3]>>,
    /// Steps begun since then; `None` before the first one.
    age: Option<u32>,
    /// The levels of a restored state.
    restored: Option<Vec<SupernodeLevel>>,
    built: Option<Built>,
    times: MasTimes,
}

/// What is made for matrices on one pattern.
struct Built {
    pattern: Arc<BlockPattern>,
    levels: Vec<SupernodeLevel>,
    inverses: Stored,
    signatures: Signatures,
    vectors: Vectors,
}

enum Stored {
    Single(Inverses<f32>),
    Short(Inverses<i16>),
}

impl Mas {
    /// With the given options. Domains follow the positions, one for each unknown, where there are positions, else the graph.
    pub fn new(options: MasOptions, positions: Option<Arc<[DVec3]>>) -> Self {
        let options = MasOptions { domain: options.domain.clamp(1, MOST_NODES), ..options };
        let positions = positions.filter(|positions| positions.iter().all(|x| x.is_finite()));
        Self { options, positions, age: None, restored: None, built: None, times: MasTimes::default() }
    }

    /// The numbers of nodes of all levels, the finest first; nothing before the first update.
    pub fn level_sizes(&self) -> Vec<usize> {
        self.built.iter().flat_map(|built| &built.levels).map(SupernodeLevel::nodes).collect()
    }

    /// The map from the unknowns to a level: the supernode of each. `None` for a level that there is not.
    pub fn supernodes(&self, level: usize) -> Option<Vec<u32>> {
        let levels = &self.built.as_ref()?.levels;
        let (below, _) = levels.split_at_checked(level).filter(|(_, above)| !above.is_empty())?;
        let up = |node: u32, level: &SupernodeLevel| level.parent[level.place[node as usize] as usize];
        Some((0..levels[0].nodes() as u32).map(|node| below.iter().fold(node, up)).collect())
    }

    /// The bytes of inverses, vectors and maps that an application goes through.
    pub fn applied_bytes(&self) -> usize {
        let Some(Built { levels, inverses, vectors, .. }) = &self.built else { return 0 };
        let inverses = match inverses {
            Stored::Single(inverses) => inverses.applied_bytes(),
            Stored::Short(inverses) => inverses.applied_bytes(),
        };
        inverses + levels.iter().map(SupernodeLevel::bytes).sum::<usize>() + vectors.bytes()
    }

    /// The time that each stage has taken so far.
    pub fn times(&self) -> MasTimes {
        self.times
    }

    /// Cuts domains if there are none for the matrix's pattern.
    fn construct(&mut self, matrix: &BlockMatrix) {
        if self.built.as_ref().is_some_and(|built| Arc::ptr_eq(&built.pattern, matrix.pattern())) {
            return;
        }
        let started = Instant::now();
        let positions = self.positions.as_deref().filter(|x| x.len() == matrix.unknowns());
        let options = &self.options;
        let modes = if positions.is_some() { options.modes } else { Modes::Translations };
        let by_stiffness = options.partition == Partition::Stiffness;
        let sizes = [options.domain, coarse_domain(options.domain, modes)];
        let restored =
            self.restored.take().filter(|levels| saved_levels::fit(levels, matrix.unknowns(), sizes));
        let levels = restored.unwrap_or_else(|| {
            let cut = DomainSizes { by_stiffness, sizes, most_levels: options.levels.max(1) };
            levels(Connections::of_matrix(matrix), positions, cut)
        });
        let inverses = match options.layout {
            Layout::F32 => Stored::Single(Inverses::new(&levels, modes, options.simd)),
            Layout::I16 => Stored::Short(Inverses::new(&levels, modes, options.simd)),
        };
        let vectors = Vectors::new(&levels, modes);
        let pattern = matrix.pattern().clone();
        self.built = Some(Built { pattern, levels, inverses, signatures: Signatures::default(), vectors });
        self.times.construction += started.elapsed();
    }
}

/// Supernodes in a domain of a coarse level: as many unknowns as on the finest.
fn coarse_domain(nodes: usize, modes: Modes) -> usize {
    (3 * nodes / modes.count()).max(2)
}

impl Preconditioner for Mas {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "mas")?;
        self.construct(matrix);
        let started = Instant::now();
        let Some(Built { levels, inverses, signatures, .. }) = &mut self.built else { return Ok(()) };
        let changed = signatures.update(matrix);
        let touched = touched_domains(levels, changed.as_deref());
        let updated = match inverses {
            Stored::Single(inverses) => inverses.update(levels, matrix, &touched),
            Stored::Short(inverses) => inverses.update(levels, matrix, &touched),
        };
        if updated.is_err() {
            signatures.forget();
        }
        self.times.precomputation += started.elapsed();
        updated
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let started = Instant::now();
        let Some(Built { levels, inverses, vectors, .. }) = &mut self.built else { return };
        match inverses {
            Stored::Single(inverses) => vectors.apply(levels, inverses, r, z),
            Stored::Short(inverses) => vectors.apply(levels, inverses, r, z),
        }
        self.times.application += started.elapsed();
    }
}

impl SolverState for Mas {
    fn bytes(&self) -> usize {
        let Some(Built { levels, inverses, signatures, vectors, .. }) = &self.built else { return 0 };
        let inverses = match inverses {
            Stored::Single(inverses) => inverses.bytes(),
            Stored::Short(inverses) => inverses.bytes(),
        };
        inverses
            + levels.iter().map(SupernodeLevel::bytes).sum::<usize>()
            + signatures.bytes()
            + vectors.bytes()
    }

    /// Rebuilds the domains every few steps.
    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        self.age = self.age.map(|age| age + 1).filter(|&age| age < self.options.rebuild);
        if self.age.is_some() {
            return false;
        }
        self.age = Some(0);
        self.positions = Some(positions.into()).filter(|_| positions.iter().all(|x| x.is_finite()));
        (self.built, self.restored) = (None, None);
        true
    }

    fn save(&self) -> Vec<u32> {
        match (self.age, &self.built, &self.restored) {
            (Some(age), Some(Built { levels, .. }), _) | (Some(age), None, Some(levels)) => {
                saved_levels::write(age, levels)
            }
            (Some(age), None, None) => saved_levels::write_due(age, self.positions.as_deref().unwrap_or(&[])),
            (None, ..) => Vec::new(),
        }
    }

    fn restore(&mut self, saved: &[u32]) {
        (self.age, self.restored, self.built) = (None, None, None);
        let Some((age, saved)) = saved_levels::read(saved) else { return };
        self.age = Some(age);
        match saved {
            Saved::Levels(levels) => self.restored = Some(levels),
            Saved::Due(positions) => {
                self.positions = Some(positions.into())
                    .filter(|x: &Arc<[DVec3]>| !x.is_empty() && x.iter().all(|p| p.is_finite()))
            }
        }
    }

    fn regions(&self) -> Vec<Regions> {
        let levels = self.built.as_ref().map_or(&[][..], |built| &built.levels);
        let regions = |(number, level): (usize, &SupernodeLevel)| {
            let name = format!("level {number}: {} domains of {} nodes", level.domains(), level.nodes());
            let of_node = Regions::of_runs(String::new(), &level.order, &level.starts).of_unknown;
            let supernodes = self.supernodes(number)?;
            let of_unknown = supernodes.iter().map(|&node| of_node[node as usize]).collect();
            Some(Regions { name, of_unknown, nodes: Vec::new() })
        };
        levels.iter().enumerate().filter_map(regions).collect()
    }
}
