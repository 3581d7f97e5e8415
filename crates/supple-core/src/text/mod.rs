//! Text in and out: numbers in messages, scanning of text files, the nearest valid word.

pub mod number;
pub mod scan;
pub mod suggest;
