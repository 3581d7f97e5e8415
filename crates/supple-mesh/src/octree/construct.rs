//! The octree of an arbitrary triangle mesh (Milne 2016, section 6): finest octants along the surface, the coarsest
//! balanced tree around them, and of its leaves those that lie inside by the winding number. Tolerates holes and
//! overlaps.

use glam::DVec3;

use super::octant::{MAX_HEIGHT, Octant};
use super::rasterise::rasterise;
use super::splits::Splits;
use super::tree::{Octree, OctreeFrame};
use crate::check::scale_hint;
use crate::geometry::{Aabb, TriangleTree, WindingNumber};
use crate::weld::distinct_triangles;
use supple_core::text::number::Brief;
use supple_core::{Error, memory};

/// Vertices are moved towards the centre by this fraction before rasterisation: a face on the border between two
/// cells belongs to the inner ones.
const SHRINK: f64 = 1e-7;
/// Sides this close to an integer number of cells are rounded to it.
const ROUNDING: f64 = 1e-6;
/// Maximum number of octants along the surface.
const MOST_OCTANTS: f64 = 1e8;
/// Memory of a body per octant of the smallest size on its surface (or in its interior, if all are), in bytes: octree, nodes,
/// embedding, levels and what a step adds, as measured in runs.
const OCTANT_BYTES: f64 = 3500.0;
/// More octants than these in a body larger than this in metres are a mesh in another unit.
const SUSPICIOUS_OCTANTS: f64 = 2e7;
const SUSPICIOUS_SIZE: f64 = 20.0;
/// A surface whose volume is below this fraction of the cube of its size encloses nothing.
const FLAT: f64 = 1e-9;
/// Minimum volume fraction of an element: less would create nodes with hardly any stiffness.
const LEAST_FILL: f64 = 0.1;

/// How a tree coarsens inward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grading {
    /// At least this many octants of each size between two sizes; 1 is as fast as balance allows.
    Layers(u32),
    /// Not at all: finest octants throughout.
    Uniform,
}

impl Grading {
    /// From the rate at which a tree coarsens inwards: 1 is as fast as balance allows, one half takes twice the distance.
    pub fn at_rate(rate: f64) -> Self {
        Self::Layers((1.0 / rate).round().clamp(1.0, 1e4) as u32)
    }
}

/// An octree in a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// The tree.
    pub tree: Octree,
    /// The fraction of each element that is inside the surface, at least a tenth.
    pub fill: Vec<f32>,
    /// Notes for the user about the surface.
    pub notes: Vec<String>,
}

/// Fills a surface with octants whose finest have a side of `cell` metres.
pub fn fill(
    positions: &[DVec3],
    triangles: Vec<[u32; 3]>,
    cell: f64,
    inside: Grading,
) -> Result<Filled, Error> {
    let mut triangles = distinct_triangles(triangles);
    let bounds = check(positions, &triangles, cell)?;
    let mut notes = Vec::new();
    let volume = enclosed_volume(positions, &triangles, bounds.center());
    if volume.abs() <= FLAT * (bounds.high - bounds.low).length().powi(3) {
        let problem = "the surface encloses no volume; close it, or simulate it as cloth with another method";
        return Err(Error::Invalid(problem.to_owned()));
    }
    check_memory(positions, &triangles, volume.abs(), (cell, inside), &bounds)?;
    if volume < 0.0 {
        triangles.iter_mut().for_each(|t| t.swap(1, 2));
        notes.push("the surface's faces point inwards; they were flipped".to_owned());
    }
    let cells = ((bounds.high - bounds.low) / cell - ROUNDING).ceil().max(DVec3::ONE);
    let root = (0..=MAX_HEIGHT).find(|&h| f64::from(1u32 << h) >= cells.max_element());
    let root = root.ok_or_else(|| too_fine(cell, &bounds))?;
    let frame = OctreeFrame { origin: bounds.center() - 0.5 * cell * cells, cell, root };
    let to_cells = |p: &DVec3| 0.5 * cells + (*p - bounds.center()) * ((1.0 - SHRINK) / cell);
    let in_cells: Vec<DVec3> = positions.iter().map(to_cells).collect();
    let finest = rasterise(&in_cells, &triangles, root);
    let layers = match inside {
        Grading::Layers(layers) => layers,
        Grading::Uniform => 1,
    };
    let leaves = Splits::around(&finest, root, layers).leaves(root, &finest);
    let winding = WindingNumber::new(TriangleTree::new(positions, triangles));
    let mut elements = inside_leaves(leaves, &frame, &winding);
    if inside == Grading::Uniform {
        elements = split_to_finest(&elements);
    }
    let tree = Octree::new(frame, elements);
    let fill = filled_parts(&tree, &winding);
    Ok(Filled { tree, fill, notes })
}

/// Rejects invalid surfaces; returns the bounds.
fn check(positions: &[DVec3], triangles: &[[u32; 3]], cell: f64) -> Result<Aabb, Error> {
    if let Some(v) = positions.iter().position(|p| !p.is_finite()) {
        let problem =
            format!("vertex {v} of the surface is {}; its coordinates must be finite", positions[v]);
        return Err(Error::Invalid(problem));
    }
    if triangles.is_empty() {
        return Err(Error::Invalid("the surface has no faces to fill with octants".to_owned()));
    }
    let bounds = Aabb::of_points(positions);
    let size = (bounds.high - bounds.low).max_element();
    if !(cell > 0.0 && cell.is_finite() && size > 0.0) {
        let problem =
            format!("octants of {cell} m in a surface of {size} m: both must be positive and finite");
        return Err(Error::Invalid(problem));
    }
    if size / cell > f64::from(1u32 << MAX_HEIGHT) {
        return Err(too_fine(cell, &bounds));
    }
    let octants = area(positions, triangles) / (cell * cell);
    if octants > MOST_OCTANTS {
        let least = cell * (octants / MOST_OCTANTS).sqrt();
        let problem = format!(
            "a `cell` of {cell} m would need about {octants:.0e} octants along a surface of {} m; use at least {least:.2e} m{}",
            Brief(size),
            scale_hint(size)
        );
        return Err(Error::Invalid(problem));
    }
    Ok(bounds)
}

/// Refuses octrees that this process cannot have, and those that a mesh in a wrong unit most likely did not mean.
fn check_memory(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    volume: f64,
    (cell, inside): (f64, Grading),
    bounds: &Aabb,
) -> Result<(), Error> {
    let size = (bounds.high - bounds.low).max_element();
    let octants = area(positions, triangles) / (cell * cell);
    let (octants, power) = match inside {
        Grading::Layers(layers) => (octants * f64::from(layers).min((0.5 * size / cell).max(1.0)), 0.5),
        Grading::Uniform => (octants.max(volume / cell.powi(3)), 1.0 / 3.0),
    };
    let what =
        format!("a `cell` of {cell} m in a body of {} m: about {octants:.1e} octants, which", Brief(size));
    let remedy = |excess: f64| {
        format!("use a `cell` of at least {:.2e} m{}", cell * excess.powf(power), scale_hint(size))
    };
    memory::require(&what, OCTANT_BYTES * octants, remedy)?;
    if octants > SUSPICIOUS_OCTANTS && size > SUSPICIOUS_SIZE {
        let least = cell * (octants / SUSPICIOUS_OCTANTS).powf(power);
        return Err(Error::Invalid(format!(
            "{what} is more than {SUSPICIOUS_OCTANTS:.0e} for a body of more than {SUSPICIOUS_SIZE} m: use a `cell` of at least \
             {least:.2e} m{}",
            scale_hint(size)
        )));
    }
    Ok(())
}

fn too_fine(cell: f64, bounds: &Aabb) -> Error {
    let size = (bounds.high - bounds.low).max_element();
    let most = 1u32 << MAX_HEIGHT;
    let least = size / f64::from(most);
    Error::Invalid(format!(
        "a `cell` of {cell} m divides a body of {size} m into more than {most} octants per side; use at least {least:.2e} m{}",
        scale_hint(size)
    ))
}

/// In square metres.
fn area(positions: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    triangles.iter().map(|t| doubled_area(t.map(|v| positions[v as usize]))).sum::<f64>() / 2.0
}

fn doubled_area([a, b, c]: [DVec3; 3]) -> f64 {
    (b - a).cross(c - a).length()
}

fn enclosed_volume(positions: &[DVec3], triangles: &[[u32; 3]], around: DVec3) -> f64 {
    let part = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize] - around);
        a.dot(b.cross(c)) / 6.0
    };
    triangles.iter().map(part).sum()
}

/// The leaves on the surface and those whose centre is inside.
fn inside_leaves(leaves: Vec<Octant>, frame: &OctreeFrame, winding: &WindingNumber) -> Vec<Octant> {
    let centre = |leaf: &Octant| frame.place(leaf.anchor()) + 0.5 * frame.cell * f64::from(leaf.size());
    let asked: Vec<DVec3> = leaves.iter().filter(|leaf| !leaf.is_on_surface()).map(centre).collect();
    let mut answers = winding.at_each(&asked).into_iter();
    let mut keep = |leaf: &Octant| leaf.is_on_surface() || answers.next().is_some_and(|w| w > 0.5);
    let mut leaves = leaves;
    leaves.retain(|leaf| keep(leaf));
    leaves
}

/// The same elements divided into finest octants.
fn split_to_finest(elements: &[Octant]) -> Vec<Octant> {
    fn descend(octant: Octant, found: &mut Vec<Octant>) {
        match octant.height() {
            0 => found.push(octant),
            _ => (0..8).for_each(|number| descend(octant.child(number), found)),
        }
    }
    let mut found = Vec::new();
    elements.iter().for_each(|element| descend(*element, &mut found));
    found
}

/// The volume fraction of each element inside the surface: 1 away from the surface, otherwise the part on the inner
/// side of the closest piece of the surface, approximated by a plane.
fn filled_parts(tree: &Octree, winding: &WindingNumber) -> Vec<f32> {
    use supple_core::parallel::prelude::*;
    let part = |e: usize| {
        if !tree.elements()[e].is_on_surface() {
            return 1.0;
        }
        let (centre, side) = (tree.centre(e), tree.side(e));
        let Some(nearest) = winding.signed_closest_point(centre, f64::INFINITY) else { return 1.0 };
        let [a, b, c] = *winding.tree().corners(nearest.triangle);
        let normal = (b - a).cross(c - a).normalize_or_zero().abs();
        let width = side * (normal.x + normal.y + normal.z).max(1.0);
        (0.5 - nearest.distance / width).clamp(LEAST_FILL, 1.0) as f32
    };
    (0..tree.elements().len()).into_par_iter().with_min_len(1024).map(part).collect()
}
