//! The tables of a scene as plain data, one file per table.

pub(crate) mod body;
pub(crate) mod boundary;
pub(crate) mod closed_mesh;
pub(crate) mod collider;
pub(crate) mod collider_table;
pub(crate) mod contact;
pub(crate) mod elastic_model;
pub(crate) mod mesh_shape;
pub(crate) mod motion;
pub(crate) mod pin;
pub(crate) mod pin_table;
pub(crate) mod seam;
pub(crate) mod selection;
pub(crate) mod settings;
pub(crate) mod shape_table;
pub(crate) mod solver;
