//! Builds meshes from a scene's shape: reads files, runs generators, fills surfaces with tetrahedra.

use std::path::Path;

use glam::DVec3;

use super::Discretisation;
use crate::scene::{ClosedMesh, Cuboid, Shape, ShapeSource};
use supple_core::{Error, memory};
use supple_mesh::check::{FindingKind, check_faces};
use supple_mesh::format::{self, Mesh};
use supple_mesh::generate::BoxShape;
use supple_mesh::geometry::{TriangleTree, WindingNumber};
use supple_mesh::implicit::{ImplicitShape, surface};
use supple_mesh::{SurfaceMesh, TetMesh, tetrahedralise};

/// The meshes of a shape, in metres and y-up, before its placement in the world.
pub(super) struct BuiltShape {
    pub surface: SurfaceMesh,
    pub inside: Option<VolumeMesh>,
    pub notes: Vec<String>,
}

/// The tetrahedra of a solid.
pub(super) struct VolumeMesh {
    pub tets: TetMesh,
    /// The tet vertex of each surface vertex, where the surface is the boundary of the tetrahedra; without it the
    /// surface is embedded.
    pub vertex_of_surface: Option<Vec<u32>>,
}

/// The surface of a shape, and its tetrahedra if it is meshed into some.
pub(super) fn shape_meshes(
    shape: &Shape,
    cell: Option<f64>,
    folder: &Path,
    cut: Discretisation,
) -> Result<BuiltShape, Error> {
    let turn = shape.to_metres();
    let cell = cell.map(|cell| cell / shape.scale);
    let mut shaped = match cut {
        Discretisation::Tets => unscaled(shape, cell, folder)?,
        Discretisation::Octants => only_surface(shape, cell, folder)?,
    };
    for p in &mut shaped.surface.positions {
        *p = turn * *p;
    }
    for p in shaped.inside.iter_mut().flat_map(|inside| &mut inside.tets.positions) {
        *p = turn * *p;
    }
    Ok(shaped)
}

/// The surface alone, to be filled by octants.
fn only_surface(shape: &Shape, cell: Option<f64>, folder: &Path) -> Result<BuiltShape, Error> {
    match &shape.source {
        ShapeSource::File(_) => {
            let shaped = unscaled(shape, None, folder)?;
            Ok(BuiltShape { inside: None, ..shaped })
        }
        ShapeSource::Character(character) => smooth_surface(&character.shape(), cell),
        ShapeSource::Implicit(shape) => smooth_surface(shape, cell),
        ShapeSource::Box(shape) => from_surface(cell_surface(shape, cell)?, None, Vec::new()),
        _ => unscaled(shape, None, folder),
    }
}

fn smooth_surface(shape: &ImplicitShape, cell: Option<f64>) -> Result<BuiltShape, Error> {
    let cell = cell.ok_or_else(needs_cell)?;
    shape.validate()?;
    from_surface(surface(shape, cell)?, None, Vec::new())
}

/// The surface of a box with its own cells, or with cells of about a size.
fn cell_surface(shape: &Cuboid, cell: Option<f64>) -> Result<SurfaceMesh, Error> {
    let size = shape.size;
    let about = |cell: f64| size.map(|side| (side / cell).round().max(1.0) as u32);
    let cells = shape.cells.or(cell.map(about)).unwrap_or([1; 3]);
    let [x, y, z] = cells.map(f64::from);
    check_box(shape, cell, SURFACE_CELL_BYTES * 2.0 * (x * y + y * z + z * x), 0.5)?;
    BoxShape { size, cells }.surface(1.0)
}

fn unscaled(shape: &Shape, cell: Option<f64>, folder: &Path) -> Result<BuiltShape, Error> {
    match &shape.source {
        ShapeSource::File(file) => from_file(&folder.join(file), shape.object.as_deref(), cell),
        ShapeSource::Mesh(mesh) => from_users_surface(mesh.as_ref().clone(), cell, Vec::new()),
        ShapeSource::Tets(_) if cell.is_some() => {
            Err(Error::Invalid("it already has tetrahedra: leave out the body's `cell`".into()))
        }
        ShapeSource::Tets(tets) => Ok(from_tets(tets.as_ref().clone(), Vec::new())),
        ShapeSource::Grid(grid) => from_surface(grid.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Box(shape) => from_box(shape, cell),
        ShapeSource::Cylinder(shape) => from_surface(shape.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Sphere(shape) => from_surface(shape.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Torus(shape) => from_surface(shape.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Knot(shape) => from_surface(shape.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Panel(shape) => from_surface(shape.surface(1.0)?, cell, Vec::new()),
        ShapeSource::Character(character) => from_implicit(&character.shape(), cell),
        ShapeSource::Implicit(shape) => from_implicit(shape, cell),
    }
}

fn from_file(path: &Path, object: Option<&str>, cell: Option<f64>) -> Result<BuiltShape, Error> {
    let loaded = format::load_object(path, object)?;
    match loaded.mesh {
        Mesh::Surface(surface) => from_users_surface(surface, cell, loaded.notes),
        Mesh::Tets(_) if cell.is_some() => {
            let problem = "it already has tetrahedra: leave out the body's `cell`";
            Err(supple_core::FileError::whole(path, problem).into())
        }
        Mesh::Tets(tets) => Ok(from_tets(tets, loaded.notes)),
    }
}

/// A surface that was not generated here: parts that are ignored for cloth are reported.
fn from_users_surface(
    surface: SurfaceMesh,
    cell: Option<f64>,
    mut notes: Vec<String>,
) -> Result<BuiltShape, Error> {
    let reported = [FindingKind::Degenerate, FindingKind::Duplicates, FindingKind::Unreferenced];
    if cell.is_none() {
        let findings = check_faces(&surface).into_iter().filter(|finding| reported.contains(&finding.kind));
        notes.extend(findings.map(|finding| finding.message));
    }
    from_surface(surface, cell, notes)
}

fn from_surface(
    surface: SurfaceMesh,
    cell: Option<f64>,
    mut notes: Vec<String>,
) -> Result<BuiltShape, Error> {
    let Some(cell) = cell else { return Ok(BuiltShape { surface, inside: None, notes }) };
    let filled = tetrahedralise(&surface, cell)?;
    notes.extend(filled.notes);
    Ok(BuiltShape { surface, inside: Some(VolumeMesh { tets: filled.mesh, vertex_of_surface: None }), notes })
}

fn from_tets(tets: TetMesh, notes: Vec<String>) -> BuiltShape {
    let (surface, vertices) = tets.boundary_surface();
    BuiltShape { surface, inside: Some(VolumeMesh { tets, vertex_of_surface: Some(vertices) }), notes }
}

fn from_implicit(shape: &ImplicitShape, cell: Option<f64>) -> Result<BuiltShape, Error> {
    let cell = cell.ok_or_else(needs_cell)?;
    shape.validate()?;
    Ok(from_tets(shape.tets(cell)?, Vec::new()))
}

fn needs_cell() -> Error {
    Error::Invalid("an implicit shape or character needs the body's `cell`, its resolution in metres".into())
}

/// Memory of a solid box per cell of its interior and per cell of its surface alone, in bytes.
const CELL_BYTES: f64 = 1700.0;
const SURFACE_CELL_BYTES: f64 = 400.0;

/// Refuses a box whose cells this process cannot have; `power` is that of the cell's side with which their number falls.
fn check_box(shape: &Cuboid, cell: Option<f64>, bytes: f64, power: f64) -> Result<(), Error> {
    let [x, y, z] = shape.size;
    let what = match cell {
        Some(cell) => format!("a box of {x} x {y} x {z} m with a `cell` of {cell} m"),
        None => format!("a box of {x} x {y} x {z} m with these `cells`"),
    };
    memory::require(&what, bytes, |excess| match cell {
        Some(cell) => format!("use a `cell` of at least {:.2e} m", cell * excess.powf(power)),
        None => "use fewer `cells`".to_owned(),
    })
}

/// A box of cloth with its own cells, or a solid divided into cells as close to cubes of a given size as its sides allow.
fn from_box(shape: &Cuboid, cell: Option<f64>) -> Result<BuiltShape, Error> {
    let size = shape.size;
    match (shape.cells, cell) {
        (None, Some(cell)) => {
            let cells = size.map(|side| (side / cell).round().max(1.0) as u32);
            let count: f64 = cells.iter().map(|&n| f64::from(n)).product();
            check_box(shape, Some(cell), CELL_BYTES * count, 1.0 / 3.0)?;
            Ok(from_tets(BoxShape { size, cells }.tets(1.0)?, Vec::new()))
        }
        (Some(cells), None) => from_surface(BoxShape { size, cells }.surface(1.0)?, None, Vec::new()),
        _ => Err(Error::Invalid("a box needs either `cells` (cloth) or the body's `cell` (solid)".into())),
    }
}

/// Which of the points are inside a closed mesh file, by winding number; the file is relative to `folder`.
pub fn inside_mesh(mesh: &ClosedMesh, folder: &Path, points: &[DVec3]) -> Result<Vec<bool>, Error> {
    Ok(are_inside(&closed_mesh(mesh, folder)?, points))
}

/// The mesh of a file in the world; the file is relative to `folder`.
pub(crate) fn closed_mesh(mesh: &ClosedMesh, folder: &Path) -> Result<SurfaceMesh, Error> {
    let mut surface = format::load_surface(&folder.join(&mesh.file))?.0;
    let placed = mesh.world_from_file();
    surface.positions.iter_mut().for_each(|p| *p = placed * *p);
    Ok(surface)
}

/// Which of the points are inside a closed mesh, by winding number.
pub(crate) fn are_inside(surface: &SurfaceMesh, points: &[DVec3]) -> Vec<bool> {
    let winding = WindingNumber::new(TriangleTree::new(&surface.positions, surface.triangles()));
    winding.at_each(points).into_iter().map(|w| w > 0.5).collect()
}
