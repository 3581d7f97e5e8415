//! Reading scene files: documents with positions, `--set`, paths, and errors that name the line and the nearest valid key.

pub(crate) mod document;
pub(crate) mod load;
pub(crate) mod paths;
pub(crate) mod read_scene;
pub(crate) mod reader;
pub(crate) mod sets;
pub(crate) mod solver_name;
