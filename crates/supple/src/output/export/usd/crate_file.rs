//! Writes USD's binary format, the crate file (`.usdc`), version 0.8.0, which every reader since 2018 opens; the layout
//! is that of OpenUSD's `crateFile.h`. All little-endian:
//!
//! a bootstrap (`PXR-USDC`, version, offset of the table of contents), values wherever they were written, then the
//! sections TOKENS, STRINGS, FIELDS, FIELDSETS, PATHS, SPECS, then the table of contents. A spec is a path, a type
//! and a set of fields; a field is a name and a [`CrateValue`], which contains a small value inline and otherwise its offset.

use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

use super::integers::{MAX_BLOCK_BYTES, compress, compress_integers};

const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];
const BOOTSTRAP_BYTES: u64 = 88;
/// Shorter integer arrays are not compressed (readers insist).
const MIN_COMPRESSED: usize = 16;
/// Ends a set of fields.
const END_OF_SET: u32 = u32::MAX;
const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;
const PAYLOAD: u64 = (1 << 48) - 1;

/// The types of values used here, with their numbers in the file.
#[derive(Clone, Copy)]
enum Type {
    Bool = 1,
    Int = 3,
    Float = 8,
    Double = 9,
    String = 10,
    Token = 11,
    Vec2f = 20,
    Vec3f = 24,
    TokenListOp = 32,
    PathListOp = 34,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    TimeSamples = 46,
    DoubleVector = 48,
}

/// The kind of a spec.
#[derive(Clone, Copy)]
pub(super) enum SpecType {
    /// An attribute.
    Attribute = 1,
    /// A prim.
    Prim = 6,
    /// The layer itself.
    PseudoRoot = 7,
    /// A relationship.
    Relationship = 8,
}

/// A value, or its offset in the file (`ValueRep`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CrateValue(u64);

impl CrateValue {
    fn inlined(kind: Type, payload: u32) -> Self {
        Self(INLINED | (kind as u64) << 48 | u64::from(payload))
    }

    fn at(kind: Type, offset: u64) -> Self {
        Self((kind as u64) << 48 | offset & PAYLOAD)
    }

    /// A boolean.
    pub(super) fn bool(value: bool) -> Self {
        Self::inlined(Type::Bool, u32::from(value))
    }

    /// The specifier `def`.
    pub(super) fn def() -> Self {
        Self::inlined(Type::Specifier, 0)
    }

    /// The variability `uniform`: no time samples.
    pub(super) fn uniform() -> Self {
        Self::inlined(Type::Variability, 1)
    }
}

/// A path in the scene, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathId(u32);

struct PathNode {
    name: u32,
    is_property: bool,
    children: Vec<u32>,
}

/// A crate file being written: values go straight to the file, the structure is kept until [`CrateWriter::finish`].
pub(super) struct CrateWriter<W> {
    out: W,
    at: u64,
    tokens: Vec<String>,
    token_of: HashMap<String, u32>,
    strings: Vec<u32>,
    fields: Vec<(u32, CrateValue)>,
    field_of: HashMap<(u32, CrateValue), u32>,
    field_sets: Vec<u32>,
    paths: Vec<PathNode>,
    specs: Vec<[u32; 3]>,
    sections: Vec<(&'static str, u64, u64)>,
}

impl<W: Write + Seek> CrateWriter<W> {
    /// Starts a file with an empty bootstrap, which [`CrateWriter::finish`] fills.
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&[0; BOOTSTRAP_BYTES as usize])?;
        let mut writer = Self {
            out,
            at: BOOTSTRAP_BYTES,
            tokens: Vec::new(),
            token_of: HashMap::new(),
            strings: Vec::new(),
            fields: Vec::new(),
            field_of: HashMap::new(),
            field_sets: Vec::new(),
            paths: vec![PathNode { name: 0, is_property: false, children: Vec::new() }],
            specs: Vec::new(),
            sections: Vec::new(),
        };
        // Properties are marked by negative token numbers, so number 0 must not name a property. The token
        // is the one that OpenUSD puts there.
        writer.token_number(";-)");
        Ok(writer)
    }

    /// The root of all paths.
    pub(super) fn root(&self) -> PathId {
        PathId(0)
    }

    /// A prim below `parent`.
    pub(super) fn child(&mut self, parent: PathId, name: &str) -> PathId {
        self.add_path(parent, name, false)
    }

    /// A property of the prim `parent`.
    pub(super) fn property(&mut self, parent: PathId, name: &str) -> PathId {
        self.add_path(parent, name, true)
    }

    /// Adds the spec of a path.
    pub(super) fn spec(&mut self, path: PathId, kind: SpecType, fields: &[(&str, CrateValue)]) {
        let set = self.field_sets.len() as u32;
        for &(name, value) in fields {
            let field = self.field_number(name, value);
            self.field_sets.push(field);
        }
        self.field_sets.push(END_OF_SET);
        self.specs.push([path.0, set, kind as u32]);
    }

    /// A token.
    pub(super) fn token(&mut self, text: &str) -> CrateValue {
        CrateValue::inlined(Type::Token, self.token_number(text))
    }

    /// A string.
    pub(super) fn string(&mut self, text: &str) -> CrateValue {
        let token = self.token_number(text);
        self.strings.push(token);
        CrateValue::inlined(Type::String, self.strings.len() as u32 - 1)
    }

    /// A number; one that is exact in single precision is stored inline.
    pub(super) fn double(&mut self, value: f64) -> io::Result<CrateValue> {
        let single = value as f32;
        if f64::from(single) == value {
            return Ok(CrateValue::inlined(Type::Double, single.to_bits()));
        }
        let offset = self.align()?;
        self.put(&value.to_le_bytes())?;
        Ok(CrateValue::at(Type::Double, offset))
    }

    /// A list of names (children, properties).
    pub(super) fn token_vector(&mut self, texts: &[&str]) -> io::Result<CrateValue> {
        let numbers: Vec<u32> = texts.iter().map(|text| self.token_number(text)).collect();
        let offset = self.align()?;
        self.put_indices(&numbers)?;
        Ok(CrateValue::at(Type::TokenVector, offset))
    }

    /// The applied schemas of a prim, put before those of weaker layers.
    pub(super) fn prepended_tokens(&mut self, texts: &[&str]) -> io::Result<CrateValue> {
        let numbers: Vec<u32> = texts.iter().map(|text| self.token_number(text)).collect();
        let offset = self.align()?;
        self.put(&[0b10_0000])?;
        self.put_indices(&numbers)?;
        Ok(CrateValue::at(Type::TokenListOp, offset))
    }

    /// The targets of a relationship.
    pub(super) fn explicit_paths(&mut self, paths: &[PathId]) -> io::Result<CrateValue> {
        let numbers: Vec<u32> = paths.iter().map(|path| path.0).collect();
        let offset = self.align()?;
        self.put(&[0b11])?;
        self.put_indices(&numbers)?;
        Ok(CrateValue::at(Type::PathListOp, offset))
    }

    /// An array of integers.
    pub(super) fn int_array(&mut self, values: &[i32]) -> io::Result<CrateValue> {
        if values.len() < MIN_COMPRESSED || 5 * values.len() + 8 > MAX_BLOCK_BYTES {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            return self.array(Type::Int, values.len(), &bytes);
        }
        let bytes = compress_integers(values);
        let offset = self.align()?;
        self.put(&(values.len() as u64).to_le_bytes())?;
        self.put_sized(&bytes)?;
        Ok(CrateValue(CrateValue::at(Type::Int, offset).0 | ARRAY | COMPRESSED))
    }

    /// An array of numbers.
    pub(super) fn float_array(&mut self, values: impl Iterator<Item = f32>) -> io::Result<CrateValue> {
        self.vector_array(Type::Float, values.map(|value| [value]))
    }

    /// An array of pairs.
    pub(super) fn vec2_array(&mut self, values: impl Iterator<Item = [f32; 2]>) -> io::Result<CrateValue> {
        self.vector_array(Type::Vec2f, values)
    }

    /// An array of vectors.
    pub(super) fn vec3_array(&mut self, values: impl Iterator<Item = [f32; 3]>) -> io::Result<CrateValue> {
        self.vector_array(Type::Vec3f, values)
    }

    /// The times of samples, to be shared by all attributes sampled at them.
    pub(super) fn times(&mut self, times: &[f64]) -> io::Result<CrateValue> {
        let offset = self.align()?;
        self.put(&(times.len() as u64).to_le_bytes())?;
        times.iter().try_for_each(|time| self.put(&time.to_le_bytes()))?;
        Ok(CrateValue::at(Type::DoubleVector, offset))
    }

    /// One value per time in `times`.
    pub(super) fn time_samples(
        &mut self,
        times: CrateValue,
        values: &[CrateValue],
    ) -> io::Result<CrateValue> {
        // Both parts start with the offset of their continuation: directly behind, as their values are elsewhere.
        let directly_behind = 8i64.to_le_bytes();
        let offset = self.align()?;
        self.put(&directly_behind)?;
        self.put(&times.0.to_le_bytes())?;
        self.put(&directly_behind)?;
        self.put(&(values.len() as u64).to_le_bytes())?;
        values.iter().try_for_each(|value| self.put(&value.0.to_le_bytes()))?;
        Ok(CrateValue::at(Type::TimeSamples, offset))
    }

    /// Writes the sections, the table of contents and the bootstrap, and returns the file.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.section("TOKENS", Self::put_tokens)?;
        self.section("STRINGS", |writer| writer.put_indices(&writer.strings.clone()))?;
        self.section("FIELDS", Self::put_fields)?;
        self.section("FIELDSETS", Self::put_field_sets)?;
        self.section("PATHS", Self::put_paths)?;
        self.section("SPECS", Self::put_specs)?;
        let contents = self.align()?;
        self.put(&(self.sections.len() as u64).to_le_bytes())?;
        for (name, start, size) in self.sections.clone() {
            let mut padded = [0; 16];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            self.put(&padded)?;
            self.put(&start.to_le_bytes())?;
            self.put(&size.to_le_bytes())?;
        }
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(b"PXR-USDC")?;
        self.out.write_all(&VERSION)?;
        self.out.write_all(&contents.to_le_bytes())?;
        self.out.seek(SeekFrom::End(0))?;
        Ok(self.out)
    }

    fn section(
        &mut self,
        name: &'static str,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.align()?;
        write(self)?;
        self.sections.push((name, start, self.at - start));
        Ok(())
    }

    fn put_tokens(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        for token in &self.tokens {
            text.extend_from_slice(token.as_bytes());
            text.push(0);
        }
        self.put(&(self.tokens.len() as u64).to_le_bytes())?;
        self.put(&(text.len() as u64).to_le_bytes())?;
        self.put_sized(&compress(&text))
    }

    fn put_fields(&mut self) -> io::Result<()> {
        let names: Vec<i32> = self.fields.iter().map(|&(name, _)| name as i32).collect();
        let values: Vec<u8> = self.fields.iter().flat_map(|(_, value)| value.0.to_le_bytes()).collect();
        self.put(&(names.len() as u64).to_le_bytes())?;
        self.put_sized(&compress_integers(&names))?;
        self.put_sized(&compress(&values))
    }

    fn put_field_sets(&mut self) -> io::Result<()> {
        let sets: Vec<i32> = self.field_sets.iter().map(|&field| field as i32).collect();
        self.put(&(sets.len() as u64).to_le_bytes())?;
        self.put_sized(&compress_integers(&sets))
    }

    /// The tree of paths, parents before children: for each its number, its name (negative for a property) and a
    /// jump: -2 for a leaf, -1 with children only, 0 with a sibling only, else the distance to the sibling, which
    /// comes after the children.
    fn put_paths(&mut self) -> io::Result<()> {
        let mut columns: [Vec<i32>; 3] = Default::default();
        self.list_paths(0, false, &mut columns);
        self.put(&(self.paths.len() as u64).to_le_bytes())?;
        self.put(&(self.paths.len() as u64).to_le_bytes())?;
        columns.iter().try_for_each(|column| self.put_sized(&compress_integers(column)))
    }

    fn list_paths(&self, path: u32, has_sibling: bool, columns: &mut [Vec<i32>; 3]) {
        let node = &self.paths[path as usize];
        let here = columns[0].len();
        columns[0].push(path as i32);
        columns[1].push(if node.is_property { -(node.name as i32) } else { node.name as i32 });
        columns[2].push(0);
        for (i, &child) in node.children.iter().enumerate() {
            self.list_paths(child, i + 1 < node.children.len(), columns);
        }
        columns[2][here] = match (node.children.is_empty(), has_sibling) {
            (true, false) => -2,
            (false, false) => -1,
            (true, true) => 0,
            (false, true) => (columns[0].len() - here) as i32,
        };
    }

    fn put_specs(&mut self) -> io::Result<()> {
        self.put(&(self.specs.len() as u64).to_le_bytes())?;
        for column in 0..3 {
            let values: Vec<i32> = self.specs.iter().map(|spec| spec[column] as i32).collect();
            self.put_sized(&compress_integers(&values))?;
        }
        Ok(())
    }

    fn add_path(&mut self, parent: PathId, name: &str, is_property: bool) -> PathId {
        let name = self.token_number(name);
        let path = self.paths.len() as u32;
        self.paths.push(PathNode { name, is_property, children: Vec::new() });
        self.paths[parent.0 as usize].children.push(path);
        PathId(path)
    }

    fn token_number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.token_of.get(text) {
            return number;
        }
        let number = self.tokens.len() as u32;
        self.tokens.push(text.to_owned());
        self.token_of.insert(text.to_owned(), number);
        number
    }

    fn field_number(&mut self, name: &str, value: CrateValue) -> u32 {
        let field = (self.token_number(name), value);
        *self.field_of.entry(field).or_insert_with(|| {
            self.fields.push(field);
            self.fields.len() as u32 - 1
        })
    }

    fn vector_array<const N: usize>(
        &mut self,
        kind: Type,
        values: impl Iterator<Item = [f32; N]>,
    ) -> io::Result<CrateValue> {
        let mut bytes = Vec::with_capacity(values.size_hint().0 * 4 * N);
        for value in values {
            bytes.extend_from_slice(value.map(f32::to_le_bytes).as_flattened());
        }
        self.array(kind, bytes.len() / (4 * N), &bytes)
    }

    fn array(&mut self, kind: Type, length: usize, bytes: &[u8]) -> io::Result<CrateValue> {
        if length == 0 {
            return Ok(CrateValue(CrateValue::at(kind, 0).0 | ARRAY));
        }
        let offset = self.align()?;
        self.put(&(length as u64).to_le_bytes())?;
        self.put(bytes)?;
        Ok(CrateValue(CrateValue::at(kind, offset).0 | ARRAY))
    }

    fn put_indices(&mut self, indices: &[u32]) -> io::Result<()> {
        self.put(&(indices.len() as u64).to_le_bytes())?;
        indices.iter().try_for_each(|index| self.put(&index.to_le_bytes()))
    }

    fn put_sized(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Values start at multiples of eight bytes, so that readers can use them in place.
    fn align(&mut self) -> io::Result<u64> {
        let padding = self.at.next_multiple_of(8) - self.at;
        self.put(&[0; 8][..padding as usize])?;
        Ok(self.at)
    }
}
