//! Linear systems: every solver and preconditioner in one suite, and systems in files.

mod linear_solvers;
mod system_files;
