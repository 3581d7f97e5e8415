//! Python dictionaries as parts of a scene: they contain what a scene file contains in TOML, and the engine reads
//! both with the same checks.

use std::path::Path;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use supple::scene::Scene;
use toml::{Table, Value};

use crate::errors::{exception, invalid};
use crate::program::steppers;

/// A Python value as TOML. NumPy arrays and scalars become lists and numbers; `name` appears in errors.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Value> {
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(Value::Table(to_table(table)?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => Err(invalid(format!("`{name}` is {value}, which does not fit 64 bits"))),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let elements = value.try_iter()?.map(|element| to_toml(&element?, name));
        return Ok(Value::Array(elements.collect::<PyResult<_>>()?));
    }
    if value.hasattr("tolist")? {
        return to_toml(&value.call_method0("tolist")?, name);
    }
    if value.hasattr("__fspath__")? {
        return to_toml(&value.call_method0("__fspath__")?, name);
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "`{name}` is of type `{kind}`; use numbers, strings, booleans, lists, arrays or dictionaries"
    )))
}

/// A dictionary as a table; `None` values are omitted.
pub(crate) fn to_table(dictionary: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in dictionary.iter().filter(|(_, value)| !value.is_none()) {
        let Ok(key) = key.extract::<String>() else {
            return Err(PyTypeError::new_err(format!("the key {key} of a table is not a string")));
        };
        let value = to_toml(&value, &key)?;
        table.insert(key, value);
    }
    Ok(table)
}

/// Reads tables as a scene file would be read. There is no file, so errors carry no line.
pub(crate) fn read_tables(tables: &Table, folder: &Path) -> PyResult<Scene> {
    let text = toml::to_string(tables).map_err(|error| invalid(error.to_string()))?;
    let mut scene = steppers().scene_reader().text(&text, "scene", folder).map_err(|error| match error {
        supple::Error::File(error) => invalid(error.problem),
        other => exception(other),
    })?;
    scene.source = Default::default();
    Ok(scene)
}
