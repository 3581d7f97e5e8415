//! Mesh files and meshes of users: reading, rejection, writing and warnings.

mod bad_surface_files;
mod bad_tet_files;
mod mesh_check;
mod surface_file_properties;
mod tet_files;
