//! The linear systems of all bodies, coupled by the Hessians of material points (contact, pins, dragging, wind): flexible GMRES with one
//! cycle per body as the preconditioner. Rows are weighted so that residuals of all bodies are in newtons.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::energy::Energy;
use crate::material::HessianMode;
use crate::solvers::staggered::body::LatticeBody;
use crate::solvers::staggered::contact_block::{ContactBlock, PointBlock};
use crate::solvers::staggered::lattice::runs::Runs;
use crate::solvers::staggered::multigrid::hierarchy::Hierarchy;
use crate::solvers::staggered::solve::residual;
use supple_core::simd::Simd;
use supple_linear::vectors::dot_numbers;
use supple_linear::{FlexibleGmres, FlexibleSystem, StopRule};

/// Hessians of combinations of unknowns, as lists.
#[derive(Debug, Default)]
struct PointBlocks {
    /// The end of the weights of each, and its block.
    blocks: Vec<(u32, DMat3)>,
    weights: Vec<(u32, f64)>,
}

impl PointBlocks {
    fn clear(&mut self) {
        self.blocks.clear();
        self.weights.clear();
    }

    fn collect(&mut self, energies: &[&dyn Energy], mode: HessianMode, x: &[DVec3]) {
        let Self { blocks, weights } = self;
        for energy in energies {
            energy.point_hessians(x, mode, &mut |point, block| {
                weights.extend_from_slice(point);
                blocks.push((weights.len() as u32, block));
            });
        }
    }

    /// All from one on.
    fn iter(&self, from: usize) -> impl Iterator<Item = PointBlock<'_>> + Clone {
        let begin = |n: usize| if n == 0 { 0 } else { self.blocks[n - 1].0 as usize };
        let blocks = self.blocks.iter().enumerate().skip(from);
        blocks.map(move |(n, (end, block))| (&self.weights[begin(n)..*end as usize], block))
    }

    /// Adds the product with `d`.
    fn add_product(&self, d: &[DVec3], out: &mut [DVec3]) {
        for (point, block) in self.iter(0) {
            let force = *block * point.iter().map(|&(v, w)| w * d[v as usize]).sum::<DVec3>();
            point.iter().for_each(|&(v, w)| out[v as usize] += w * force);
        }
    }
}

/// The energies of a step: what is as soft as the bodies, what is stiff on few points, and contact with the form of its Hessian.
pub(super) struct StepEnergies<'a> {
    pub(super) soft: &'a [&'a dyn Energy],
    pub(super) stiff: &'a [&'a dyn Energy],
    pub(super) contact: (&'a dyn Energy, HessianMode),
}

/// Workspace of the coupled solves.
#[derive(Debug, Default)]
pub(super) struct CoupledSolve {
    points: PointBlocks,
    stiffened: ContactBlock,
    moved: Vec<DVec3>,
    answers: Vec<DVec3>,
    packed: Vec<f64>,
    gmres: FlexibleGmres<f32>,
}

impl CoupledSolve {
    /// One step of Newton's method from `x`, from the residuals in the bodies; returns the number of cycles.
    pub(super) fn solve(
        &mut self,
        (bodies, first_unknown): (&mut [LatticeBody], &[u32]),
        (energies, x): (&StepEnergies<'_>, &[DVec3]),
        stop: &StopRule,
        (restart, simd): (usize, Simd),
    ) -> u32 {
        let Self { points, stiffened, moved, answers, packed, gmres } = self;
        points.clear();
        points.collect(energies.soft, HessianMode::PsdProjected, x);
        let first_stiff = points.blocks.len();
        points.collect(energies.stiff, HessianMode::PsdProjected, x);
        points.collect(&[energies.contact.0], energies.contact.1, x);
        stiffened.update((bodies, first_unknown), points.iter(first_stiff), simd);
        moved.resize(x.len(), DVec3::ZERO);
        answers.resize(x.len(), DVec3::ZERO);
        for body in &mut *bodies {
            body.step.fill(0.0);
            body.work.begin(body.u.len());
            body.work.zero.resize(body.u.len(), 0.0);
        }
        let mut system = CoupledSystem { bodies, first_unknown, points, stiffened, moved, answers, packed };
        gmres.solve(&mut system, stop, restart).residuals.len().saturating_sub(1) as u32
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let Self { points, stiffened, moved, answers, packed, gmres } = self;
        let lists = 80 * points.blocks.len() + 16 * points.weights.len() + 8 * packed.len();
        gmres.bytes() + stiffened.bytes() + 24 * (moved.len() + answers.len()) + lists
    }
}

struct CoupledSystem<'a> {
    bodies: &'a mut [LatticeBody],
    first_unknown: &'a [u32],
    points: &'a PointBlocks,
    stiffened: &'a mut ContactBlock,
    moved: &'a mut [DVec3],
    answers: &'a mut [DVec3],
    packed: &'a mut Vec<f64>,
}

/// Which fields of a body a product is taken of.
#[derive(Clone, Copy)]
enum Operand {
    Step,
    Correction,
}

impl Operand {
    fn of(self, body: &LatticeBody) -> &[f64] {
        match self {
            Self::Step => &body.step,
            Self::Correction => &body.work.wide,
        }
    }
}

impl CoupledSystem<'_> {
    /// Subtracts from the bodies' residuals what cycles know nothing of: co-rotational terms and material points.
    fn subtract_additions(&mut self, operand: Operand) {
        for body in &mut *self.bodies {
            let LatticeBody { corotation, step, work, .. } = body;
            let Some(corotation) = corotation else { continue };
            let fields = match operand {
                Operand::Step => &*step,
                Operand::Correction => &work.wide,
            };
            corotation.subtract_product(fields, &mut work.residual);
        }
        if self.points.blocks.is_empty() {
            return;
        }
        for (body, first) in self.bodies.iter().zip(self.first_unknown) {
            let out = &mut self.moved[*first as usize..][..body.points.len()];
            for (n, out) in out.iter_mut().enumerate() {
                *out = body.frame.rotation * body.points.displacement(n, operand.of(body), body.len());
            }
        }
        self.answers.fill(DVec3::ZERO);
        self.points.add_product(self.moved, self.answers);
        for (body, first) in self.bodies.iter_mut().zip(self.first_unknown) {
            let (len, scale) = (body.len(), body.force_scale());
            let LatticeBody { points, frame, prescribed, work, .. } = body;
            let answers = self.answers[*first as usize..][..points.len()].iter().enumerate();
            for (n, answer) in answers.filter(|(_, answer)| **answer != DVec3::ZERO) {
                points.scatter(n, scale * frame.inward(*answer), &mut work.residual, len);
            }
            // Prescribed entries have no equation.
            prescribed.entries.iter().for_each(|h| work.residual[h.field * len + h.entry] = 0.0);
        }
    }

    /// Packs the bodies' residuals in newtons, times a sign.
    fn pack_residuals(&self, sign: f64, out: &mut [f64]) {
        let mut rest = out;
        for body in &*self.bodies {
            let (runs, weight) = (body.hierarchy.runs(), sign / body.force_scale());
            let (own, after) = rest.split_at_mut(runs.unknowns());
            runs.pack(&body.work.residual, own, |r| weight * r);
            rest = after;
        }
    }

    /// After a cycle with the product `w`: corrects what contact resists, and takes the product again.
    fn correct_stiffened(&mut self, v: &[f64], z: &mut [f32], w: &mut [f64]) {
        self.packed.clear();
        self.packed.extend(v.iter().zip(&*w).map(|(v, w)| v - w));
        for (body, runs, own) in Self::parts(self.bodies, self.packed) {
            runs.unpack(own, &mut body.change, |change, r| *change = r);
        }
        self.stiffened.correct(self.bodies);
        let mut rest = z;
        for body in &mut *self.bodies {
            let runs = body.hierarchy.runs();
            let LatticeBody { hierarchy, work, .. } = body;
            // What GMRES stores is of single precision: its product must be that of what is stored.
            work.wide.iter_mut().for_each(|z| *z = f64::from(*z as f32));
            let (own, after) = std::mem::take(&mut rest).split_at_mut(runs.unknowns());
            runs.pack(&work.wide, own, |z| z as f32);
            rest = after;
            residual(hierarchy, &mut work.wide, &work.zero, &mut work.residual);
        }
        self.subtract_additions(Operand::Correction);
        self.pack_residuals(-1.0, w);
    }

    /// The hierarchies with their parts of a packed vector.
    fn parts<'a, T>(
        bodies: &'a mut [LatticeBody],
        packed: &'a [T],
    ) -> impl Iterator<Item = (&'a mut LatticeBody, Arc<Runs>, &'a [T])> {
        let mut rest = packed;
        bodies.iter_mut().map(move |body| {
            let runs = body.hierarchy.runs();
            let (own, after) = rest.split_at(runs.unknowns());
            rest = after;
            (body, runs, own)
        })
    }
}

impl FlexibleSystem for CoupledSystem<'_> {
    type Correction = f32;

    fn unknowns(&self) -> usize {
        self.bodies.iter().map(|body| body.hierarchy.runs().unknowns()).sum()
    }

    fn residual(&mut self, r: &mut [f64]) -> f64 {
        for body in &mut *self.bodies {
            let LatticeBody { hierarchy, step, right, work, .. } = body;
            residual(hierarchy, step, right, &mut work.residual);
        }
        self.subtract_additions(Operand::Step);
        self.pack_residuals(1.0, r);
        dot_numbers(r, r).sqrt()
    }

    fn precondition(&mut self, v: &[f64], z: &mut [f32], w: &mut [f64]) {
        let mut rest = &mut *z;
        for (body, runs, own) in Self::parts(self.bodies, v) {
            let scale = body.force_scale();
            let LatticeBody { hierarchy, work, .. } = body;
            let (right, _) = hierarchy.fields();
            runs.unpack(own, right, |b, v| *b = (scale * v) as f32);
            hierarchy.cycle();
            let (_, correction) = hierarchy.fields();
            let (own, after) = std::mem::take(&mut rest).split_at_mut(runs.unknowns());
            runs.pack(correction, own, |z| z);
            rest = after;
            work.wide.clear();
            work.wide.extend(correction.iter().map(|z| f64::from(*z)));
            Hierarchy::finest_residual(hierarchy, &work.zero, &mut work.residual);
        }
        self.subtract_additions(Operand::Correction);
        self.pack_residuals(-1.0, w);
        if !self.stiffened.is_empty() {
            self.correct_stiffened(v, z, w);
        }
    }

    fn correct(&mut self, weight: f64, z: &[f32]) {
        for (body, runs, own) in Self::parts(self.bodies, z) {
            runs.unpack(own, &mut body.step, |u, z| *u += weight * f64::from(z));
        }
    }
}
