//! The program as users see it: commands, files, exit codes.

mod bad_input;
mod common;
mod compare;
mod crossings;
mod documented_lists;
mod killed_and_resumed;
mod mesh_alone;
mod rendering;
mod solve;
#[cfg(unix)]
mod stopped;
mod users_mesh_comes_back;
