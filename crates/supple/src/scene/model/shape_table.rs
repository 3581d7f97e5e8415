//! The `shape` table as it is written: one key for the source of the shape, and `scale` and `up`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scene::{Axis, Cuboid, Shape, ShapeSource};
use supple_core::text::suggest::list;
use supple_mesh::generate::{ClothGrid, CylinderShape, KnotShape, PanelShape, SphereShape, TorusShape};
use supple_mesh::implicit::{Character, ImplicitShape};

const SOURCES: [&str; 10] =
    ["file", "grid", "box", "cylinder", "sphere", "torus", "knot", "panel", "character", "implicit"];

/// Every key of the table.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeTable {
    file: Option<PathBuf>,
    grid: Option<ClothGrid>,
    r#box: Option<Cuboid>,
    cylinder: Option<CylinderShape>,
    sphere: Option<SphereShape>,
    torus: Option<TorusShape>,
    knot: Option<KnotShape>,
    panel: Option<PanelShape>,
    character: Option<Character>,
    implicit: Option<ImplicitShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    scale: Option<f64>,
    up: Option<Axis>,
}

impl TryFrom<ShapeTable> for Shape {
    type Error = String;

    fn try_from(table: ShapeTable) -> Result<Self, String> {
        let given = [
            table.file.map(ShapeSource::File),
            table.grid.map(ShapeSource::Grid),
            table.r#box.map(ShapeSource::Box),
            table.cylinder.map(ShapeSource::Cylinder),
            table.sphere.map(ShapeSource::Sphere),
            table.torus.map(ShapeSource::Torus),
            table.knot.map(ShapeSource::Knot),
            table.panel.map(ShapeSource::Panel),
            table.character.map(ShapeSource::Character),
            table.implicit.map(ShapeSource::Implicit),
        ];
        let names: Vec<&str> =
            given.iter().zip(SOURCES).filter_map(|(source, name)| source.as_ref().map(|_| name)).collect();
        let found = if names.is_empty() { "none".to_owned() } else { list(names.iter().copied()) };
        let mut sources = given.into_iter().flatten();
        match (sources.next(), sources.next()) {
            (Some(source), None) if table.object.is_none() || matches!(source, ShapeSource::File(_)) => {
                Ok(Self {
                    source,
                    object: table.object,
                    scale: table.scale.unwrap_or(1.0),
                    up: table.up.unwrap_or_default(),
                })
            }
            (Some(_), None) => Err("has an `object`, which belongs to `file`".to_owned()),
            _ => Err(format!("must have exactly one of the keys {}; found {found}", list(SOURCES))),
        }
    }
}

impl From<Shape> for ShapeTable {
    fn from(shape: Shape) -> Self {
        let mut table =
            Self { object: shape.object, scale: Some(shape.scale), up: Some(shape.up), ..Self::default() };
        match shape.source {
            ShapeSource::File(path) => table.file = Some(path),
            ShapeSource::Grid(grid) => table.grid = Some(grid),
            ShapeSource::Box(shape) => table.r#box = Some(shape),
            ShapeSource::Cylinder(shape) => table.cylinder = Some(shape),
            ShapeSource::Sphere(shape) => table.sphere = Some(shape),
            ShapeSource::Torus(shape) => table.torus = Some(shape),
            ShapeSource::Knot(shape) => table.knot = Some(shape),
            ShapeSource::Panel(shape) => table.panel = Some(shape),
            ShapeSource::Character(character) => table.character = Some(character),
            ShapeSource::Implicit(shape) => table.implicit = Some(shape),
            ShapeSource::Mesh(_) | ShapeSource::Tets(_) => {}
        }
        table
    }
}
