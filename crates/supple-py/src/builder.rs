//! Scenes built in Python. Every part is read and checked when it is added, so that the exception is raised by the
//! line at fault; checks that need the whole scene follow when it is built.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use supple::mesh::{CornerAttribute, SurfaceMesh, TetMesh};
use supple::scene::{Body, Scene as EngineScene, Shape, ShapeSource};
use toml::{Table, Value};

use crate::errors::{exception, invalid};
use crate::numpy_points::{indices, points};
use crate::program::steppers;
use crate::scene::Scene;
use crate::tables::{read_tables, to_table};

/// A scene under construction.
#[pyclass(frozen, module = "supple._native")]
pub(crate) struct SceneBuilder {
    scene: Mutex<EngineScene>,
    folder: PathBuf,
}

#[pymethods]
impl SceneBuilder {
    #[new]
    fn new(name: String, folder: PathBuf, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut scene = read_tables(&to_table(settings)?, &folder)?;
        scene.name = name;
        // A body that is always valid: any problem found now is in the settings.
        let mut whole = scene.clone();
        whole.contact.pairs.clear();
        whole.bodies.push(Body::cloth("cloth").vertices([2, 2]).into());
        whole.validate().map_err(exception)?;
        Ok(Self { scene: Mutex::new(scene), folder })
    }

    /// Names of the bodies so far.
    fn bodies(&self) -> Vec<String> {
        self.lock().bodies.iter().map(|body| body.name.clone()).collect()
    }

    /// Names of the colliders so far.
    fn colliders(&self) -> Vec<String> {
        self.lock().colliders.iter().map(|collider| collider.name.clone()).collect()
    }

    /// Adds a body whose table contains its shape.
    fn add_body(&self, table: &Bound<'_, PyDict>) -> PyResult<()> {
        let body = self.read_body(to_table(table)?)?;
        self.push_body(body)
    }

    /// Adds a body whose surface is in arrays: vertices, the start of each face, and the vertices of all faces.
    #[pyo3(signature = (table, vertices, starts, corners, *, uvs, rest))]
    fn add_surface(
        &self,
        table: &Bound<'_, PyDict>,
        vertices: PyReadonlyArray2<'_, f64>,
        starts: PyReadonlyArray1<'_, i64>,
        corners: PyReadonlyArray1<'_, i64>,
        uvs: Option<PyReadonlyArray2<'_, f64>>,
        rest: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<()> {
        let positions = points(&vertices)?;
        let corners = indices(&corners, positions.len(), "the vertex of face corner")?;
        let starts = indices(&starts, corners.len() + 1, "the start of face")?;
        let mut mesh = SurfaceMesh { positions, face_starts: starts, corners, ..SurfaceMesh::default() };
        mesh.uvs = uvs.map(|uvs| texture(&uvs, &mesh)).transpose()?;
        let mut body = self.read_body(with_placeholder(to_table(table)?))?;
        if let Some(rest) = rest {
            let flat = SurfaceMesh { positions: points(&rest)?, ..mesh.clone() };
            body.rest = Some(Shape::new(ShapeSource::Mesh(flat.into())));
        }
        body.shape.source = ShapeSource::Mesh(mesh.into());
        self.push_body(body)
    }

    /// Adds a solid whose tetrahedra are in arrays.
    fn add_tets(
        &self,
        table: &Bound<'_, PyDict>,
        vertices: PyReadonlyArray2<'_, f64>,
        tets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let positions = points(&vertices)?;
        let corners = indices(&tets, positions.len(), "the vertex of tetrahedron corner")?;
        let tets = corners.as_chunks::<4>().0.to_vec();
        let mut body = self.read_body(with_placeholder(to_table(table)?))?;
        body.shape.source = ShapeSource::Tets(TetMesh { positions, tets, regions: None }.into());
        self.push_body(body)
    }

    /// Adds a pin.
    fn add_pin(&self, table: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut read = read_tables(&one("pin", to_table(table)?), &self.folder)?;
        let pin = read.pins.remove(0);
        let mut scene = self.lock();
        if !scene.bodies.iter().any(|body| body.name == pin.body) {
            let names: Vec<String> = scene.bodies.iter().map(|body| format!("`{}`", body.name)).collect();
            let names = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
            return Err(invalid(format!("there is no body `{}` to pin; the bodies are {names}", pin.body)));
        }
        check(pin.validate(&self.folder))?;
        scene.pins.push(pin);
        Ok(())
    }

    /// Adds a collider.
    fn add_collider(&self, table: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut read = read_tables(&one("collider", to_table(table)?), &self.folder)?;
        let collider = read.colliders.remove(0);
        check(collider.validate(&self.folder))?;
        let mut scene = self.lock();
        if scene.colliders.iter().any(|other| other.name == collider.name) {
            return Err(taken("collider", &collider.name));
        }
        scene.colliders.push(collider);
        Ok(())
    }

    /// Adds a pair of the contact table; names may follow later.
    fn add_pair(&self, table: &Bound<'_, PyDict>) -> PyResult<()> {
        let pairs = Value::Array(vec![Value::Table(to_table(table)?)]);
        let contact = Value::Table(Table::from_iter([("pair".to_owned(), pairs)]));
        let mut read = read_tables(&Table::from_iter([("contact".to_owned(), contact)]), &self.folder)?;
        self.lock().contact.pairs.append(&mut read.contact.pairs);
        Ok(())
    }

    /// The scene with a solver name and the options of its table; checked.
    #[pyo3(signature = (*, solver, options))]
    fn build(&self, solver: Option<&str>, options: &Bound<'_, PyDict>) -> PyResult<Scene> {
        let mut tables = Table::new();
        tables.insert("solver".into(), Value::Table(to_table(options)?));
        let mut scene = self.lock().clone();
        scene.solver = read_tables(&tables, &self.folder)?.solver;
        if let Some(word) = solver {
            scene.solver.choose_from(word, &steppers()).map_err(exception)?;
        }
        scene.resolve_paths();
        scene.validate().map_err(exception)?;
        Ok(Scene { scene })
    }
}

impl SceneBuilder {
    fn lock(&self) -> MutexGuard<'_, EngineScene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_body(&self, table: Table) -> PyResult<Body> {
        Ok(read_tables(&one("body", table), &self.folder)?.bodies.remove(0))
    }

    fn push_body(&self, body: Body) -> PyResult<()> {
        // Whether the solver supports these is only known once it is chosen.
        let plain = Body { tear_stretch: None, interior: None, ..body.clone() };
        check(plain.validate(&self.folder))?;
        let mut scene = self.lock();
        if scene.bodies.iter().any(|other| other.name == body.name) {
            return Err(taken("body", &body.name));
        }
        scene.bodies.push(body);
        Ok(())
    }
}

/// Rejects a part that is invalid by itself; whether it is supported may depend on the solver, which is chosen later.
fn check(result: Result<(), supple::Error>) -> PyResult<()> {
    match result {
        Ok(()) | Err(supple::Error::NotSupported(_)) => Ok(()),
        Err(error) => Err(exception(error)),
    }
}

fn taken(kind: &str, name: &str) -> PyErr {
    invalid(format!("a {kind} called `{name}` already exists; names must be unique"))
}

/// `[[key]]` with one table.
fn one(key: &str, table: Table) -> Table {
    let mut tables = Table::new();
    tables.insert(key.into(), Value::Array(vec![Value::Table(table)]));
    tables
}

/// With a placeholder shape in place of the arrays, which a scene file cannot contain.
fn with_placeholder(mut table: Table) -> Table {
    let mut shape = Table::new();
    shape.insert("file".into(), Value::String("arrays".into()));
    table.insert("shape".into(), Value::Table(shape));
    table
}

/// Texture coordinates of the vertices, converted to those of face corners.
fn texture(uvs: &PyReadonlyArray2<'_, f64>, mesh: &SurfaceMesh) -> PyResult<CornerAttribute<2>> {
    if uvs.shape() != [mesh.positions.len(), 2] {
        let (shape, count) = (uvs.shape(), mesh.positions.len());
        return Err(invalid(format!("`uvs` has shape {shape:?}; one pair per vertex is ({count}, 2)")));
    }
    let values = uvs.as_array().outer_iter().map(|row| [row[0], row[1]]).collect();
    Ok(CornerAttribute { values, indices: mesh.corners.clone() })
}
