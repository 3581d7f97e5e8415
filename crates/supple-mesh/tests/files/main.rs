//! Mesh files and meshes as users give them: what is read, refused, written and warned about.

mod bad_surface_files;
mod bad_tet_files;
mod mesh_check;
mod surface_file_properties;
mod tet_files;
