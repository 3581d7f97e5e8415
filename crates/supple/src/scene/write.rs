//! Writes a scene back to TOML, with every default written out and absolute file names.

use toml_edit::{DocumentMut, Item, Table};

use crate::scene::{Scene, ShapeSource};
use supple_core::Error;

impl Scene {
    /// The scene as TOML, with every default written out and every file name absolute, so that it can be
    /// read back unchanged from any folder. A mesh built in memory has no file and cannot be written.
    pub fn to_toml(&self) -> Result<String, Error> {
        let in_memory =
            |shape: &crate::scene::Shape| matches!(shape.source, ShapeSource::Mesh(_) | ShapeSource::Tets(_));
        if let Some(body) =
            self.bodies.iter().find(|b| in_memory(&b.shape) || b.rest.as_ref().is_some_and(in_memory))
        {
            return Err(Error::Invalid(format!(
                "body `{}` has a mesh made in memory, which a scene file cannot contain: save the mesh and use its file",
                body.name
            )));
        }
        let mut resolved = self.clone();
        resolved.resolve_paths();
        let mut document = toml_edit::ser::to_document(&resolved)
            .map_err(|error| Error::Invalid(format!("the scene cannot be written as TOML: {error}")))?;
        lay_out(&mut document);
        Ok(document.to_string())
    }
}

/// Top-level tables and `[[body.region]]` get headers; everything deeper stays inline.
fn lay_out(document: &mut DocumentMut) {
    spread(document.as_table_mut(), &["body", "pin", "seam", "collider"]);
    if let Some(bodies) = document.get_mut("body").and_then(Item::as_array_of_tables_mut) {
        bodies.iter_mut().for_each(|body| spread_arrays(body, &["region"]));
    }
}

fn spread(table: &mut Table, arrays: &[&str]) {
    spread_arrays(table, arrays);
    for (_, item) in table.iter_mut() {
        if item.is_inline_table()
            && let Ok(mut inner) = std::mem::take(item).into_table()
        {
            inner.decor_mut().set_prefix("\n");
            *item = Item::Table(inner);
        }
    }
}

fn spread_arrays(table: &mut Table, keys: &[&str]) {
    for key in keys {
        if let Some(item) = table.get_mut(key)
            && let Ok(mut array) = std::mem::take(item).into_array_of_tables()
        {
            array.iter_mut().for_each(|element| element.decor_mut().set_prefix("\n"));
            *item = Item::ArrayOfTables(array);
        }
    }
}
