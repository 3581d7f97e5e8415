//! Figures 11, 12 and 13: the time per frame as cells shrink, and on more threads. A frame consists of several Newton
//! steps of a body that hangs by its back under its own weight, each with three iterations of conjugate gradients
//! with a cycle, as in the paper: the stiffness on all levels, the largest eigenvalues once, forces, cycles and
//! products, without contact.
//!
//! The dense array is a grid over the whole bounding box, whose empty cells are computed like full ones with zero
//! stiffness. It uses the same lists of nodes as the octrees, which an array would not need.

use std::time::Instant;

use glam::DVec3;
use supple::linear::{ConjugateGradient, SolverState, StopRule};
use supple::mesh::SurfaceMesh;
use supple::mesh::generate::BoxShape;
use supple::mesh::geometry::Aabb;
use supple::mesh::octree::{Grading, Octree};
use supple::solvers::octree::{Flesh, Forest, Multigrid, OctreeCycleOptions, Tissue};

use super::super::catalogue::Request;
use super::super::findings::{Findings, slope};
use super::memory::{body, filled};
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Iterations of conjugate gradients per Newton step.
const ITERATIONS: usize = 3;
/// The grids, and the paper's exponent of the time per frame over the inverse cell size.
const PAPER_EXPONENTS: [(&str, f64); 3] = [("octree", 2.0), ("unrefined octree", 3.0), ("dense array", 3.0)];

/// Measurements of a frame on a grid.
struct FrameTimes {
    cells: f64,
    elements: f64,
    seconds: f64,
    megabytes: f64,
}

/// Figures 11 and 12: seconds per frame against the inverse cell size and against the number of elements.
pub(super) fn growth(request: &Request) -> Result<Findings, Failure> {
    let names = PAPER_EXPONENTS.map(|(name, _)| name);
    let mut all: [Vec<FrameTimes>; 3] = Default::default();
    for step in 0..request.count("resolutions") {
        let cells = request.value("cells") * f64::from(1 << step);
        let (mesh, size) = body(cells, request)?;
        let cell = size.max_element() / cells;
        let refined = filled(&mesh, cell, Grading::Layers(1))?.tree;
        let finest: f64 =
            (0..refined.elements().len()).map(|e| (refined.side(e) / cell).powi(3).round()).sum();
        let boxed: f64 = (size / cell).ceil().to_array().iter().product();
        let most = request.value("uniform");
        request
            .report_progress(&format!("{cells:.0} cells, octree of {} elements", refined.elements().len()));
        all[0].push(measured(cells, FilledTree::full(refined.clone()), request)?);
        if finest <= most {
            request.report_progress(&format!("{cells:.0} cells, unrefined octree of {finest} elements"));
            all[1].push(measured(
                cells,
                FilledTree::full(filled(&mesh, cell, Grading::Uniform)?.tree),
                request,
            )?);
        }
        if boxed <= most {
            request.report_progress(&format!("{cells:.0} cells, dense array of {boxed} elements"));
            all[2].push(measured(cells, FilledTree::dense(&mesh, &refined, cell)?, request)?);
        }
    }
    let mut findings = Findings::default();
    for ((name, paper), grids) in PAPER_EXPONENTS.iter().zip(&all) {
        report_progress(name, *paper, grids, &mut findings);
    }
    findings.plots.push(("-cells", plot("cells along the body", &names, &all, |m| m.cells)));
    findings.plots.push(("-elements", plot("elements", &names, &all, |m| m.elements)));
    Ok(findings)
}

fn report_progress(name: &str, paper: f64, grids: &[FrameTimes], findings: &mut Findings) {
    for grid in grids {
        let case = format!("{name}, {:.0} cells", grid.cells);
        findings.add(case.clone(), "elements", None, grid.elements);
        findings.add(case.clone(), "seconds per frame", None, grid.seconds);
        findings.add(case, "memory (MB)", None, grid.megabytes);
    }
    if let [.., before, last] = grids {
        let exponent = |of: fn(&FrameTimes) -> f64| slope(&[before, last].map(|m| [of(m), m.seconds]));
        let case = format!("{name}, {:.0} to {:.0} cells", before.cells, last.cells);
        findings.add(case.clone(), "exponent of time over cells", paper, exponent(|m| m.cells));
        findings.add(case, "exponent of time over elements", 1.0, exponent(|m| m.elements));
    }
}

fn plot(
    label: &'static str,
    names: &[&str; 3],
    all: &[Vec<FrameTimes>; 3],
    x: fn(&FrameTimes) -> f64,
) -> Plot {
    let line = |(name, grids): (&&str, &Vec<FrameTimes>)| PlotLine {
        name: (*name).to_owned(),
        points: grids.iter().map(|m| [x(m), m.seconds]).collect(),
    };
    Plot {
        title: "time per frame".to_owned(),
        labels: [label, "seconds"],
        scales: [AxisScale::Logarithmic; 2],
        lines: names.iter().zip(all).map(line).collect(),
    }
}

/// Figure 13: the same frame on increasing numbers of threads.
pub(super) fn threads(request: &Request) -> Result<Findings, Failure> {
    let cells = request.value("cells");
    let (mesh, size) = body(cells, request)?;
    let tree = filled(&mesh, size.max_element() / cells, Grading::Layers(1))?.tree;
    let elements = tree.elements().len();
    let grid = FilledTree::full(tree);
    let (mut findings, mut points) = (Findings::default(), Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let counts = std::iter::successors(Some(1), |count| Some(2 * count)).take_while(|count| *count <= cores);
    for count in counts {
        request.report_progress(&format!("{count} threads, {elements} elements"));
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = pool.map_err(|error| Failure::running(anyhow::anyhow!(error)))?;
        let (seconds, _) = pool.install(|| frame(&grid, request))?;
        let first = points.first().map_or(seconds, |[_, first]: &[f64; 2]| *first);
        let case = format!("{count} threads, {elements} elements");
        findings.add(case.clone(), "seconds per frame", None, seconds);
        // Above 0.9 up to 16 threads in the paper.
        findings.add(case, "efficiency", 0.9, first / seconds / count as f64);
        points.push([count as f64, seconds]);
    }
    let plot = Plot {
        title: "time per frame".to_owned(),
        labels: ["threads", "seconds"],
        scales: [AxisScale::Logarithmic; 2],
        lines: vec![PlotLine { name: "octree".to_owned(), points }],
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

/// A tree, and which of its cells are full.
struct FilledTree {
    tree: Octree,
    tissue: Vec<Tissue>,
    fixed: Vec<bool>,
}

impl FilledTree {
    /// Whether every cell is full.
    fn full(tree: Octree) -> Self {
        let is_full = vec![true; tree.elements().len()];
        Self::new(tree, &is_full)
    }

    /// A grid over the bounding box of a surface, full where its octree is.
    fn dense(mesh: &SurfaceMesh, octree: &Octree, cell: f64) -> Result<Self, Failure> {
        let bounds = Aabb::of_points(&mesh.positions);
        let size = (bounds.high - bounds.low).to_array();
        let mut outer = BoxShape { size, cells: [1; 3] }.surface(1.0).map_err(Failure::of)?;
        let middle = Aabb::of_points(&outer.positions).center();
        outer.positions.iter_mut().for_each(|p| *p += bounds.center() - middle);
        let tree = filled(&outer, cell, Grading::Uniform)?.tree;
        // Both frames have the same bounds, and so the same cells.
        let is_full: Vec<bool> =
            tree.elements().iter().map(|element| octree.find(element.anchor()).is_some()).collect();
        Ok(Self::new(tree, &is_full))
    }

    /// Fixes unused nodes and the upper quarter.
    fn new(tree: Octree, is_full: &[bool]) -> Self {
        let places = tree.node_places();
        let bounds = Aabb::of_points(&places);
        let back = bounds.high.y - 0.25 * (bounds.high.y - bounds.low.y);
        let mut fixed = vec![true; places.len()];
        for (nodes, _) in tree.conforming().iter().zip(is_full).filter(|(_, full)| **full) {
            nodes.iter().for_each(|node| fixed[*node as usize] = places[*node as usize].y > back);
        }
        let flesh = |full: &bool| match full {
            true => Tissue { lambda: 5e4, mu: 1.4e4, ..Tissue::default() },
            false => Tissue::default(),
        };
        let tissue = is_full.iter().map(flesh).collect();
        Self { tree, tissue, fixed }
    }
}

fn measured(cells: f64, grid: FilledTree, request: &Request) -> Result<FrameTimes, Failure> {
    let (seconds, bytes) = frame(&grid, request)?;
    let elements = grid.tree.elements().len() as f64;
    Ok(FrameTimes { cells, elements, seconds, megabytes: bytes as f64 / 1e6 })
}

/// Seconds of a frame, and the memory of its solver.
fn frame(grid: &FilledTree, request: &Request) -> Result<(f64, usize), Failure> {
    let FilledTree { tree, tissue, fixed } = grid;
    let forest = Forest::new(&[Flesh { tree, tissue }], request.simd);
    let mut multigrid =
        Multigrid::new(&forest, &[tree], &OctreeCycleOptions::default()).map_err(Failure::running)?;
    multigrid.set_fixed(fixed);
    let mut x = tree.node_places();
    let zero = vec![DVec3::ZERO; x.len()];
    let (mut force, mut change, mut outbox) = (zero.clone(), zero, Vec::new());
    let mut iteration = ConjugateGradient::default();
    let started = Instant::now();
    for step in 0..request.count("newton") {
        forest.gradient(&x, &mut force, &mut outbox);
        for (force, fixed) in force.iter_mut().zip(fixed) {
            // As if every node had the same mass: the solution is not used.
            *force = if *fixed { DVec3::ZERO } else { DVec3::new(0.0, -1e-3, 0.0) - *force };
        }
        multigrid.linearise(&x, 0.0);
        multigrid.prepare(step == 0).map_err(Failure::running)?;
        change.fill(DVec3::ZERO);
        let operator = multigrid.operator();
        iteration.solve(&operator, &mut multigrid, &force, &mut change, &StopRule::iterations(ITERATIONS));
        x.iter_mut().zip(&change).for_each(|(x, change)| *x += *change);
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok((seconds, tree.bytes() + multigrid.bytes() + iteration.bytes() + 72 * x.len()))
}
