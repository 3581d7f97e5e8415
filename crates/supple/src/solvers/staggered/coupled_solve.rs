//! The linear systems of all bodies, coupled by the Hessians of material points (contact, pins, dragging, wind): flexible GMRES with one
//! cycle per body as the preconditioner. Rows are weighted so that residuals of all bodies are in newtons.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::energy::Energy;
use crate::material::HessianMode;
use crate::solvers::staggered::body::LatticeBody;
use crate::solvers::staggered::multigrid::hierarchy::Hierarchy;
use crate::solvers::staggered::solve::residual;
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
    fn collect(&mut self, energies: &[&dyn Energy], x: &[DVec3]) {
        let Self { blocks, weights } = self;
        blocks.clear();
        weights.clear();
        for energy in energies {
            energy.point_hessians(x, HessianMode::PsdProjected, &mut |point, block| {
                weights.extend_from_slice(point);
                blocks.push((weights.len() as u32, block));
            });
        }
    }

    /// Adds the product with `d`.
    fn add_product(&self, d: &[DVec3], out: &mut [DVec3]) {
        let mut begin = 0;
        for (end, block) in &self.blocks {
            let point = &self.weights[begin..*end as usize];
            let force = *block * point.iter().map(|&(v, w)| w * d[v as usize]).sum::<DVec3>();
            point.iter().for_each(|&(v, w)| out[v as usize] += w * force);
            begin = *end as usize;
        }
    }
}

/// Workspace of the coupled solves.
#[derive(Debug, Default)]
pub(super) struct CoupledSolve {
    points: PointBlocks,
    moved: Vec<DVec3>,
    answers: Vec<DVec3>,
    gmres: FlexibleGmres<f32>,
}

impl CoupledSolve {
    /// One step of Newton's method from `x`, from the residuals in the bodies; returns the number of cycles.
    pub(super) fn solve(
        &mut self,
        (bodies, first_unknown): (&mut [LatticeBody], &[u32]),
        (energies, x): (&[&dyn Energy], &[DVec3]),
        stop: &StopRule,
        restart: usize,
    ) -> u32 {
        let Self { points, moved, answers, gmres } = self;
        points.collect(energies, x);
        moved.resize(x.len(), DVec3::ZERO);
        answers.resize(x.len(), DVec3::ZERO);
        for body in &mut *bodies {
            body.step.fill(0.0);
            body.work.begin(body.u.len());
            body.work.zero.resize(body.u.len(), 0.0);
        }
        let mut system = CoupledSystem { bodies, first_unknown, points, moved, answers };
        gmres.solve(&mut system, stop, restart).residuals.len().saturating_sub(1) as u32
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let Self { points, moved, answers, gmres } = self;
        gmres.bytes() + 24 * (moved.len() + answers.len()) + 80 * points.blocks.len() + 16 * points.weights.len()
    }
}

struct CoupledSystem<'a> {
    bodies: &'a mut [LatticeBody],
    first_unknown: &'a [u32],
    points: &'a PointBlocks,
    moved: &'a mut [DVec3],
    answers: &'a mut [DVec3],
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

    /// The hierarchies with their parts of a packed vector.
    fn parts<'a, T>(
        bodies: &'a mut [LatticeBody],
        packed: &'a [T],
    ) -> impl Iterator<Item = (&'a mut LatticeBody, Arc<crate::solvers::staggered::lattice::runs::Runs>, &'a [T])>
    {
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
        let mut rest = z;
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
    }

    fn correct(&mut self, weight: f64, z: &[f32]) {
        for (body, runs, own) in Self::parts(self.bodies, z) {
            runs.unpack(own, &mut body.step, |u, z| *u += weight * f64::from(z));
        }
    }
}
