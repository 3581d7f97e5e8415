//! Text in and out: numbers in messages, scanning of text files, suggestions for misspelt names.

pub mod number;
pub mod scan;
pub mod suggest;
