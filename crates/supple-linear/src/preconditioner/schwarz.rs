//! One-level additive Schwarz without overlap, the baseline `AS` of Wu 2022 (equation 3, figures 10, 16, 18 to 20):
//! `M⁻¹ = Σ_d S_dᵀ M_d⁻¹ S_d` over domains of consecutive nodes on the Morton curve.
//!
//! Domains of up to 32 nodes are inverted explicitly (section 6.2). Larger ones are approximated by symmetric Gauss-Seidel
//! sweeps from zero (section 6.1: eight iterations, here four forward and four backward, so that `M` stays symmetric).

use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::matrix::pivot;
use crate::ordering::node_order::local_order;
use crate::preconditioner::domain_inverse::{DomainInverse, LARGEST};
use crate::relaxation::block_jacobi::domain_not_definite;
use crate::{
    BlockMatrix, BlockPattern, ExtraBlock, LinearError, LinearOperator, Preconditioner, Regions, Simd,
    SolverState, assembled,
};

/// Domains up to this many nodes are inverted explicitly.
pub const EXPLICIT_DOMAIN: usize = LARGEST / 3;

/// Options of [`Schwarz`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SchwarzOptions {
    /// Nodes per domain.
    pub domain: usize,
    /// Symmetric Gauss-Seidel sweeps in domains above [`EXPLICIT_DOMAIN`] nodes.
    pub sweeps: usize,
    /// The instruction sets to use.
    pub simd: Simd,
}

impl Default for SchwarzOptions {
    fn default() -> Self {
        Self { domain: 32, sweeps: 4, simd: Simd::Auto }
    }
}

/// Additive Schwarz.
pub struct Schwarz {
    options: SchwarzOptions,
    positions: Option<Arc<[DVec3]>>,
    pattern: Option<Arc<BlockPattern>>,
    domains: Domains,
    solvers: Solvers,
    y: Vec<DVec3>,
}

/// Which node stands where; a domain is a run of places.
#[derive(Default)]
struct Domains {
    order: Vec<u32>,
    place: Vec<u32>,
    size: usize,
}

enum Solvers {
    Inverses(Vec<DomainInverse>),
    Sweeps(Vec<DomainSweeps>),
}

impl Schwarz {
    /// With the given options; domains follow the positions where there are positions, else the graph.
    pub fn new(options: SchwarzOptions, positions: Option<Arc<[DVec3]>>) -> Self {
        let solvers = if options.domain <= EXPLICIT_DOMAIN {
            Solvers::Inverses(Vec::new())
        } else {
            Solvers::Sweeps(Vec::new())
        };
        Self { options, positions, pattern: None, domains: Domains::default(), solvers, y: Vec::new() }
    }

    fn partition(&mut self, pattern: &Arc<BlockPattern>) {
        if self.pattern.as_ref().is_some_and(|known| Arc::ptr_eq(known, pattern)) {
            return;
        }
        let order = local_order(pattern, self.positions.as_deref());
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        self.domains = Domains { order, place, size: self.options.domain.max(1) };
        self.pattern = Some(pattern.clone());
    }
}

impl Preconditioner for Schwarz {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "schwarz")?;
        self.partition(matrix.pattern());
        self.y.resize(matrix.unknowns(), DVec3::ZERO);
        let parts = Parts { matrix, domains: &self.domains, outside: self.domains.inner_outside(matrix) };
        let count = self.domains.count();
        let simd = self.options.simd;
        let failures: Option<usize> = match &mut self.solvers {
            Solvers::Inverses(inverses) => {
                inverses.resize_with(count, DomainInverse::default);
                let work = inverses.par_iter_mut().enumerate();
                let refused = work.filter_map(|(d, inverse)| {
                    let mut dense = [0.0; LARGEST * LARGEST];
                    let rows = parts.dense(d, &mut dense);
                    inverse.compute(&mut dense, rows, simd).err().map(|row| parts.domains.first(d) + row / 3)
                });
                refused.min()
            }
            Solvers::Sweeps(sweeps) => {
                sweeps.resize_with(count, DomainSweeps::default);
                let work = sweeps.par_iter_mut().enumerate();
                work.filter_map(|(d, sweeps)| sweeps.fill(&parts, d).err()).min()
            }
        };
        let Some(place) = failures else { return Ok(()) };
        let node = self.domains.order[place] as usize;
        Err(domain_not_definite(matrix, node))
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let Self { domains, solvers, y, options, .. } = self;
        let gathered = domains.order.par_chunks(domains.size).zip(y.par_chunks_mut(domains.size));
        match solvers {
            Solvers::Inverses(inverses) => gathered.zip(inverses).for_each(|((nodes, y), inverse)| {
                let mut x = [0.0; LARGEST];
                let (triples, _) = x.as_chunks_mut::<3>();
                triples.iter_mut().zip(nodes).for_each(|(x, &node)| *x = r[node as usize].to_array());
                inverse.apply(&mut x, options.simd);
                let (triples, _) = x.as_chunks::<3>();
                y.iter_mut().zip(triples).for_each(|(y, x)| *y = DVec3::from_array(*x));
            }),
            Solvers::Sweeps(sweeps) => {
                gathered
                    .zip(sweeps)
                    .for_each(|((nodes, y), domain)| domain.solve(nodes, r, y, options.sweeps));
            }
        }
        z.par_iter_mut().zip(&domains.place).with_min_len(4096).for_each(|(z, &p)| *z = y[p as usize]);
    }
}

impl SolverState for Schwarz {
    fn regions(&self) -> Vec<Regions> {
        if self.domains.order.is_empty() {
            return Vec::new();
        }
        let (count, size, end) = (self.domains.count(), self.domains.size, self.domains.order.len());
        let starts: Vec<u32> = (0..=count).map(|domain| (domain * size).min(end) as u32).collect();
        vec![Regions::of_runs(format!("{count} Schwarz domains"), &self.domains.order, &starts)]
    }

    fn bytes(&self) -> usize {
        let solvers: usize = match &self.solvers {
            Solvers::Inverses(inverses) => inverses.iter().map(DomainInverse::bytes).sum(),
            Solvers::Sweeps(sweeps) => sweeps.iter().map(DomainSweeps::bytes).sum(),
        };
        solvers + 8 * self.domains.order.len() + 24 * self.y.len()
    }
}

impl Domains {
    fn count(&self) -> usize {
        self.order.len().div_ceil(self.size.max(1))
    }

    fn first(&self, domain: usize) -> usize {
        domain * self.size
    }

    fn nodes(&self, domain: usize) -> &[u32] {
        let first = self.first(domain);
        &self.order[first..(first + self.size).min(self.order.len())]
    }

    /// The blocks outside the pattern that couple two nodes of one domain, by the index of their row.
    fn inner_outside(&self, matrix: &BlockMatrix) -> Vec<(u32, ExtraBlock)> {
        let place = |node: u32| self.place[node as usize];
        let domain = |node: u32| place(node) as usize / self.size;
        let inner = matrix.outside().iter().filter(|o| domain(o.row) == domain(o.column));
        let both = inner.flat_map(|o| {
            let mirrored = ExtraBlock { row: o.column, column: o.row, block: o.block.transpose() };
            [*o, mirrored]
        });
        let mut inner: Vec<_> = both.map(|o| (place(o.row), o)).collect();
        inner.sort_by_key(|(place, _)| *place);
        inner
    }
}

/// A matrix seen by domains.
struct Parts<'a> {
    matrix: &'a BlockMatrix,
    domains: &'a Domains,
    outside: Vec<(u32, ExtraBlock)>,
}

impl Parts<'_> {
    /// Calls `take(column, block)` for every block of a row inside its domain, in places counted from the domain's first;
    /// blocks that stand in the pattern first, then those outside, which may repeat.
    fn row(&self, domain: usize, row: usize, mut take: impl FnMut(usize, DMat3)) {
        let (first, nodes) = (self.domains.first(domain), self.domains.nodes(domain));
        let local = |node: u32| (self.domains.place[node as usize] as usize).wrapping_sub(first);
        let (start, columns) = self.matrix.pattern().row(nodes[row] as usize);
        for (&j, block) in columns.iter().zip(&self.matrix.blocks()[start..]) {
            if local(j) < nodes.len() {
                take(local(j), *block);
            }
        }
        let place = (first + row) as u32;
        let begin = self.outside.partition_point(|(p, _)| *p < place);
        for (_, o) in self.outside[begin..].iter().take_while(|(p, _)| *p == place) {
            take(local(o.column), o.block);
        }
    }

    /// Adds a domain's matrix to a dense one of stride [`LARGEST`]; gives its number of rows.
    fn dense(&self, domain: usize, dense: &mut [f64]) -> usize {
        let nodes = self.domains.nodes(domain).len();
        for row in 0..nodes {
            self.row(domain, row, |column, block| {
                for (c, values) in block.to_cols_array_2d().iter().enumerate() {
                    for (r, value) in values.iter().enumerate() {
                        dense[(3 * row + r) * LARGEST + 3 * column + c] += value;
                    }
                }
            });
        }
        3 * nodes
    }
}

/// Symmetric Gauss-Seidel within a domain: `x_i = D_i⁻¹ r_i - Σ_j G_ij x_j` with `G_ij = D_i⁻¹ A_ij`.
#[derive(Debug, Clone, Default)]
struct DomainSweeps {
    starts: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<[f32; 9]>,
    inverses: Vec<DMat3>,
}

impl DomainSweeps {
    /// `Err` contains the index whose diagonal block is not positive definite.
    fn fill(&mut self, parts: &Parts<'_>, domain: usize) -> Result<(), usize> {
        self.inverses.clear();
        self.columns.clear();
        self.blocks.clear();
        self.starts.clear();
        self.starts.push(0);
        for (row, &node) in parts.domains.nodes(domain).iter().enumerate() {
            let inverse = pivot::inverse(&parts.matrix.diagonal_block(node as usize));
            let inverse = inverse.ok_or(parts.domains.first(domain) + row)?;
            parts.row(domain, row, |column, block| {
                if column != row {
                    self.columns.push(column as u32);
                    self.blocks.push((inverse * block).to_cols_array().map(|e| e as f32));
                }
            });
            self.inverses.push(inverse);
            self.starts.push(self.columns.len() as u32);
        }
        Ok(())
    }

    fn solve(&self, nodes: &[u32], r: &[DVec3], x: &mut [DVec3], sweeps: usize) {
        x.fill(DVec3::ZERO);
        for _ in 0..sweeps {
            (0..x.len()).for_each(|i| x[i] = self.relaxed(i, nodes, r, x));
            (0..x.len()).rev().for_each(|i| x[i] = self.relaxed(i, nodes, r, x));
        }
    }

    #[inline]
    fn relaxed(&self, i: usize, nodes: &[u32], r: &[DVec3], x: &[DVec3]) -> DVec3 {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        let own = self.inverses[i] * r[nodes[i] as usize];
        let couplings = self.columns[range.clone()].iter().zip(&self.blocks[range]);
        couplings
            .fold(own, |sum, (&j, block)| sum - DMat3::from_cols_array(&block.map(f64::from)) * x[j as usize])
    }

    fn bytes(&self) -> usize {
        4 * self.starts.len() + 40 * self.columns.len() + 72 * self.inverses.len()
    }
}
