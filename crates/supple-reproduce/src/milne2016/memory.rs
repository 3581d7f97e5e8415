//! Figure 10: how elements and memory grow as cells shrink.

use glam::DVec3;
use supple::linear::SolverState;
use supple::mesh::SurfaceMesh;
use supple::mesh::geometry::Aabb;
use supple::mesh::implicit::{Character, surface};
use supple::mesh::octree::{Filled, Grading, fill};
use supple::solvers::octree::{Flesh, Forest, Multigrid, OctreeCycleOptions, Tissue};

use super::super::catalogue::Request;
use super::super::findings::{Findings, slope};
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};

/// Resolutions, each twice as fine as the one before.
const RESOLUTIONS: u32 = 3;
/// The paper's own growth for the octree: the exponent between its points.
const PAPER: [f64; 2] = [2.21, 2.08];

/// The cost of a grid.
struct Cost {
    elements: f64,
    bytes: f64,
}

/// Figure 10.
pub(super) fn growth(request: &Request) -> Result<Findings, Failure> {
    let (mut octree, mut unrefined, mut dense) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..RESOLUTIONS {
        let cells = request.value("cells") * f64::from(1 << step);
        request.report_progress(&format!("{cells:.0} cells along the body"));
        let (body, size) = body(cells, request)?;
        let cell = size.max_element() / cells;
        let refined = filled(&body, cell, Grading::Layers(1))?;
        let cost = cost(&refined, request)?;
        let per_element = cost.bytes / cost.elements;
        octree.push((cells, cost));
        let box_cells = (size / cell).ceil();
        let volume: f64 = (0..refined.fill.len()).map(|e| refined.tree.side(e).powi(3)).sum();
        if volume / cell.powi(3) <= request.value("uniform") {
            let uniform = filled(&body, cell, Grading::Uniform)?;
            unrefined.push((cells, self::cost(&uniform, request)?));
        }
        let count = box_cells.x * box_cells.y * box_cells.z;
        // As many bytes per cell as the octree has, without its node numbers and octants.
        dense.push((cells, Cost { elements: count, bytes: count * (per_element - 60.0).max(1.0) }));
    }
    let mut findings = Findings::default();
    let kinds = [("octree", &octree), ("unrefined octree", &unrefined), ("dense array", &dense)];
    for (name, costs) in kinds {
        for (cells, cost) in costs {
            let case = format!("{name}, {cells:.0} cells");
            findings.add(case.clone(), "elements", None, cost.elements);
            findings.add(case, "memory (MB)", None, cost.bytes / 1e6);
        }
        for (k, pair) in costs.windows(2).enumerate() {
            let case = format!("{name}, {:.0} to {:.0} cells", pair[0].0, pair[1].0);
            let paper = match name {
                "octree" => PAPER.get(k).copied(),
                _ => Some(3.0),
            };
            let exponent = |value: fn(&Cost) -> f64| slope(&[0, 1].map(|i| [pair[i].0, value(&pair[i].1)]));
            findings.add(case.clone(), "exponent of elements", paper, exponent(|cost| cost.elements));
            findings.add(case, "exponent of memory", paper, exponent(|cost| cost.bytes));
        }
    }
    let line = |(name, costs): (&str, &Vec<(f64, Cost)>)| PlotLine {
        name: name.to_owned(),
        points: costs.iter().map(|(cells, cost)| [*cells, cost.bytes / 1e6]).collect(),
    };
    let plot = Plot {
        title: "memory of the solver".to_owned(),
        labels: ["cells along the body", "megabytes"],
        scales: [AxisScale::Logarithmic; 2],
        lines: kinds.into_iter().map(line).collect(),
    };
    findings.plots.push(("", plot));
    Ok(findings)
}

/// A four-legged creature, or a ball with thin spikes, with a surface fine enough for this number of cells, and its
/// size in metres.
pub(super) fn body(cells: f64, request: &Request) -> Result<(SurfaceMesh, DVec3), Failure> {
    let shape = match request.value("thin") > 0.0 {
        true => Character::SpikyBall.shape(),
        false => Character::Creature.shape(),
    };
    let (low, high) = shape.bounds();
    let mesh = surface(&shape, (high - low).max_element() / cells.min(128.0)).map_err(Failure::of)?;
    let bounds = Aabb::of_points(&mesh.positions);
    Ok((mesh, bounds.high - bounds.low))
}

pub(super) fn filled(body: &SurfaceMesh, cell: f64, inside: Grading) -> Result<Filled, Failure> {
    fill(&body.positions, body.triangles(), cell, inside).map_err(Failure::of)
}

/// The tree, the hierarchy, and the vectors of conjugate gradients.
fn cost(filled: &Filled, request: &Request) -> Result<Cost, Failure> {
    let tissue = vec![Tissue { lambda: 1.0, mu: 1.0, ..Tissue::default() }; filled.tree.elements().len()];
    let forest = Forest::new(&[Flesh { tree: &filled.tree, tissue: &tissue }], request.simd);
    let made = Multigrid::new(&forest, &[&filled.tree], &OctreeCycleOptions::default());
    let multigrid = made.map_err(|problem| Failure::usage(anyhow::anyhow!(problem)))?;
    let nodes = filled.tree.nodes().len();
    let bytes = filled.tree.bytes() + multigrid.bytes() + 6 * 24 * nodes;
    Ok(Cost { elements: filled.tree.elements().len() as f64, bytes: bytes as f64 })
}
