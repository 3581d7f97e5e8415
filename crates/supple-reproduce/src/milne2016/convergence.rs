//! Figure 14: a cube whose corner elements are fixed is displaced at random, and the rest stiffness is solved for the
//! displacement back. The same for a ball with thin spikes that is fixed at its core.

use std::time::Instant;

use glam::{DMat3, DVec3};
use supple::linear::{LinearOperator, Preconditioner};
use supple::mesh::SurfaceMesh;
use supple::mesh::generate::BoxShape;
use supple::mesh::implicit::{self, Character};
use supple::mesh::octree::{Grading, Octree, fill};
use supple::solvers::octree::{Flesh, Forest, Multigrid, OctreeCycleOptions, Smoother, Tissue};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Reductions of the largest error that are reported.
const REDUCTIONS: [f64; 3] = [1e-1, 1e-3, 1e-6];
/// The largest random displacement, in cells.
const SHAKE: f64 = 100.0;

/// A method of the figure.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SolveMethod {
    Plain,
    Jacobi,
    Cycles,
    Preconditioned,
}

/// All methods.
const METHODS: [(SolveMethod, &str); 4] = [
    (SolveMethod::Plain, "CG"),
    (SolveMethod::Jacobi, "Jacobi-CG"),
    (SolveMethod::Cycles, "MG"),
    (SolveMethod::Preconditioned, "MGPCG"),
];

/// Seconds and the largest error over that at the start, after every iteration.
pub(super) type ErrorCurve = Vec<[f64; 2]>;

/// Figure 14, for cubes of 64 cells per side and more.
pub(super) fn reduction(request: &Request) -> Result<Findings, Failure> {
    let largest = request.count("size");
    let sizes = std::iter::successors(Some(largest.min(64)), |size| Some(2 * size));
    let mut findings = Findings::default();
    for size in sizes.take_while(|size| *size <= largest) {
        let mut cube = PerturbedSystem::cube(request, size)?;
        let title = format!("a cube of {size} cells per side, fixed at its corners");
        cube.measure(request, size, title, &mut findings);
    }
    Ok(findings)
}

/// The same for a ball with thin spikes.
pub(super) fn thin_parts(request: &Request) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let cells = request.count("cells");
    let mut ball = PerturbedSystem::spiky_ball(request, cells)?;
    ball.measure(request, cells, format!("a ball with spikes, {cells} cells across"), &mut findings);
    Ok(findings)
}

impl PerturbedSystem {
    /// The curves of all methods.
    fn measure(&mut self, request: &Request, size: usize, title: String, findings: &mut Findings) {
        let [elements, _] = self.multigrid.size(0);
        findings.add(format!("{size}, octree"), "elements", None, elements as f64);
        let mut curves = Vec::new();
        for (method, name) in METHODS {
            request.report_progress(&format!("{name}, {size} cells"));
            let curve = self.solve(method, request.count("most"), &[]).points;
            report_progress(&curve, size, name, findings);
            curves.push(curve);
        }
        report_ratios(&curves, size, findings);
        let line = |((_, name), points): (&(SolveMethod, &str), ErrorCurve)| PlotLine {
            name: (*name).to_owned(),
            points,
        };
        let plot = Plot {
            title,
            labels: ["seconds", "largest error / initial largest error"],
            scales: [AxisScale::Linear, AxisScale::Logarithmic],
            lines: METHODS.iter().zip(curves).map(line).collect(),
        };
        findings.plots = vec![("", plot)];
    }
}

/// When a method reached each reduction.
fn report_progress(curve: &ErrorCurve, size: usize, name: &str, findings: &mut Findings) {
    for reduction in REDUCTIONS {
        let case = format!("{size}, {name}, to {reduction:.0e}");
        let [iterations, seconds] = reached(curve, reduction).unwrap_or([f64::INFINITY; 2]);
        findings.add(case.clone(), "iterations", None, iterations);
        findings.add(case, "time (s)", None, seconds);
    }
}

/// Speedup of conjugate gradients by the cycle.
fn report_ratios(curves: &[ErrorCurve], size: usize, findings: &mut Findings) {
    for (method, name) in [(0, "CG"), (1, "Jacobi-CG")] {
        for reduction in REDUCTIONS {
            let [slow, fast] = [method, 3].map(|method| reached(&curves[method], reduction));
            if let (Some([_, slow]), Some([_, fast])) = (slow, fast) {
                findings.add(
                    format!("{size}, {name} over MGPCG, to {reduction:.0e}"),
                    "ratio of times",
                    None,
                    slow / fast,
                );
            }
        }
    }
}

/// Iterations and seconds until the error has fallen by this factor.
fn reached(curve: &ErrorCurve, reduction: f64) -> Option<[f64; 2]> {
    let at = curve.iter().position(|[_, error]| *error <= reduction)?;
    Some([at as f64, curve[at][0]])
}

/// A body's system with its random start.
pub(super) struct PerturbedSystem {
    pub(super) tree: Octree,
    multigrid: Multigrid,
    is_fixed: Vec<bool>,
    start: Vec<DVec3>,
}

impl PerturbedSystem {
    /// A cube of unit cells fixed at its corner elements.
    pub(super) fn cube(request: &Request, side: usize) -> Result<Self, Failure> {
        let surface = BoxShape { size: [side as f64; 3], cells: [1; 3] }.surface(1.0).map_err(Failure::of)?;
        Self::new(request, &surface, 1.0, |tree| corner_nodes(tree, side))
    }

    /// A ball with thin spikes fixed within half of the ball's radius.
    fn spiky_ball(request: &Request, cells: usize) -> Result<Self, Failure> {
        let shape = Character::SpikyBall.shape();
        let (low, high) = shape.bounds();
        let cell = (high - low).max_element() / cells as f64;
        let surface = implicit::surface(&shape, cell).map_err(Failure::of)?;
        let core = |p: DVec3| p.distance(DVec3::new(0.0, 0.5, 0.0)) < 0.13;
        Self::new(request, &surface, cell, |tree| tree.node_places().into_iter().map(core).collect())
    }

    fn new(
        request: &Request,
        surface: &SurfaceMesh,
        cell: f64,
        is_fixed: impl Fn(&Octree) -> Vec<bool>,
    ) -> Result<Self, Failure> {
        let filled = fill(&surface.positions, surface.triangles(), cell, Grading::Layers(1));
        let tree = filled.map_err(Failure::of)?.tree;
        let poisson = request.value("poisson");
        let lambda = (2.0 * poisson / (1.0 - 2.0 * poisson)) as f32;
        let tissue = vec![Tissue { lambda, mu: 1.0, ..Tissue::default() }; tree.elements().len()];
        let forest = Forest::new(&[Flesh { tree: &tree, tissue: &tissue }], request.simd);
        let given = |name: &str| Some(request.value(name)).filter(|value| *value > 0.0);
        let options = OctreeCycleOptions {
            damping: given("damping"),
            coarsest_sweeps: given("sweeps").map(|sweeps| sweeps as u32),
            smoother: match request.value("chebyshev") > 0.0 {
                true => Smoother::Chebyshev,
                false => Smoother::Jacobi,
            },
            ..OctreeCycleOptions::default()
        };
        let mut multigrid = Multigrid::new(&forest, &[&tree], &options).map_err(Failure::usage)?;
        multigrid.linearise(&tree.node_places(), 0.0);
        let is_fixed = is_fixed(&tree);
        multigrid.set_fixed(&is_fixed);
        multigrid.prepare(true).map_err(Failure::usage)?;
        let start = perturbation(&is_fixed);
        Ok(Self { tree, multigrid, is_fixed, start })
    }

    /// Solves by a method, in at most this many iterations, and stores the displacements after some of them.
    pub(super) fn solve(&mut self, method: SolveMethod, most: usize, kept: &[usize]) -> CurveRecorder {
        let curves = CurveRecorder::new(&self.start, kept);
        match method {
            SolveMethod::Cycles => self.cycles(most, curves),
            _ => self.conjugate_gradients(method, most, curves),
        }
    }

    /// `x += M (0 - K x)`.
    fn cycles(&mut self, most: usize, mut curve: CurveRecorder) -> CurveRecorder {
        let operator = self.multigrid.operator();
        let mut x = self.start.clone();
        let (mut r, mut z) = (x.clone(), x.clone());
        for _ in 0..most {
            operator.apply(&x, &mut r);
            r.iter_mut().for_each(|r| *r = -*r);
            self.multigrid.apply(&r, &mut z);
            x.iter_mut().zip(&z).for_each(|(x, z)| *x += *z);
            if curve.is_done(&x) {
                break;
            }
        }
        curve
    }

    fn conjugate_gradients(
        &mut self,
        method: SolveMethod,
        most: usize,
        mut curve: CurveRecorder,
    ) -> CurveRecorder {
        let operator = self.multigrid.operator();
        let mut jacobi = Jacobi::new(&operator, &self.is_fixed);
        let mut x = self.start.clone();
        let (mut r, mut z, mut p, mut q) = (x.clone(), x.clone(), x.clone(), x.clone());
        operator.apply(&x, &mut r);
        r.iter_mut().for_each(|r| *r = -*r);
        let mut before = None;
        for _ in 0..most {
            match method {
                SolveMethod::Preconditioned => self.multigrid.apply(&r, &mut z),
                SolveMethod::Jacobi => jacobi.apply(&r, &mut z),
                _ => z.copy_from_slice(&r),
            }
            let rz = dot(&r, &z);
            if rz <= 0.0 {
                break;
            }
            let beta = before.map_or(0.0, |before| rz / before);
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = *z + beta * *p);
            before = Some(rz);
            operator.apply(&p, &mut q);
            let alpha = rz / dot(&p, &q);
            x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * *p);
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * *q);
            if curve.is_done(&x) {
                break;
            }
        }
        curve
    }
}

/// The inverse of the diagonal.
struct Jacobi(Vec<DVec3>);

impl Jacobi {
    fn new(operator: &impl LinearOperator, is_fixed: &[bool]) -> Self {
        let mut diagonal = vec![DMat3::ZERO; is_fixed.len()];
        operator.diagonal(&mut diagonal);
        let inverse = |(entry, is_fixed): (&DMat3, &bool)| match is_fixed {
            true => DVec3::ZERO,
            false => DVec3::ONE / DVec3::new(entry.x_axis.x, entry.y_axis.y, entry.z_axis.z),
        };
        Self(diagonal.iter().zip(is_fixed).map(inverse).collect())
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        z.iter_mut().zip(r.iter().zip(&self.0)).for_each(|(z, (r, inverse))| *z = *r * *inverse);
    }
}

/// A curve under construction.
pub(super) struct CurveRecorder {
    started: Instant,
    first: f64,
    pub(super) points: ErrorCurve,
    /// Iterations after which displacements are stored.
    wanted: Vec<usize>,
    pub(super) kept: Vec<Vec<DVec3>>,
}

impl CurveRecorder {
    fn new(x: &[DVec3], wanted: &[usize]) -> Self {
        let kept = if wanted.contains(&0) { vec![x.to_vec()] } else { Vec::new() };
        let points = vec![[0.0, 1.0]];
        Self { started: Instant::now(), first: largest(x), points, wanted: wanted.to_vec(), kept }
    }

    /// Records the state after an iteration; returns whether the curve is complete.
    fn is_done(&mut self, x: &[DVec3]) -> bool {
        let error = largest(x) / self.first;
        if self.wanted.contains(&self.points.len()) {
            self.kept.push(x.to_vec());
        }
        self.points.push([self.started.elapsed().as_secs_f64(), error]);
        let is_kept = self.wanted.iter().all(|wanted| *wanted < self.points.len());
        !error.is_finite() || is_kept && error <= REDUCTIONS[2]
    }
}

/// Which nodes belong to the eight corner elements.
fn corner_nodes(tree: &Octree, side: usize) -> Vec<bool> {
    let at_end = |c: &u16| *c <= 1 || usize::from(*c) + 1 >= side;
    tree.nodes().iter().map(|node| node.iter().all(at_end)).collect()
}

/// Random displacements, zero at fixed nodes.
fn perturbation(is_fixed: &[bool]) -> Vec<DVec3> {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        SHAKE * ((seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    let mut displacement = || DVec3::new(random(), random(), random());
    is_fixed.iter().map(|is_fixed| if *is_fixed { DVec3::ZERO } else { displacement() }).collect()
}

fn largest(x: &[DVec3]) -> f64 {
    x.iter().map(|x| x.abs().max_element()).fold(0.0, f64::max)
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}
