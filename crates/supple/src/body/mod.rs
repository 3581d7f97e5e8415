//! Bodies: the display surface (the user's mesh), the unknowns (the family's), and the embedding between them.

mod embedding;

pub use embedding::Embedding;
