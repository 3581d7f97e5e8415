//! Reads typed data from a scene document by serde, with diagnostics that name the key, its table, its line, the
//! valid names there and the nearest one. The structs' own `deny_unknown_fields` and enum variants are the only lists.

use std::fmt;
use std::path::Path;

use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, Unexpected, Visitor,
};

use crate::scene::read::document::{Entry, Node, Origin, Value, error_at};
use supple_core::Error;
use supple_core::text::number::Short;
use supple_core::text::suggest::{did_you_mean, list};

/// Reads a `T` from a document; `path` is for the error.
pub(crate) fn read<'de, T: de::Deserialize<'de>>(root: &'de Node, path: &Path) -> Result<T, Error> {
    read_part(root).map_err(|error| error.at(&root.origin).into_error(path))
}

/// Reads a `T` from a part of a document.
pub(crate) fn read_part<'de, T: de::Deserialize<'de>>(node: &'de Node) -> Result<T, ReadError> {
    T::deserialize(ValueReader(node))
}

/// Reads a name.
pub(crate) fn read_name(node: &Node) -> Result<&str, ReadError> {
    let Value::String(name) = &node.value else {
        let text: Result<String, ReadError> = read_part(node);
        return Err(
            text.map_or_else(|error| error.expecting("a name"), |_| de::Error::custom("is not a name"))
        );
    };
    Ok(name)
}

/// Reads from a part of a document from which unknown keys are removed, with a diagnostic for each; `None`
/// if the last diagnostic is about something else. `node` is where in the part its keys are.
pub(crate) fn read_leniently<P, T>(
    part: &mut P,
    path: &Path,
    complaints: &mut Vec<Error>,
    node: impl Fn(&mut P) -> &mut Node,
    mut read: impl FnMut(&P) -> Result<T, ReadError>,
) -> Option<T> {
    loop {
        let error = match read(part) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let node = node(part);
        let origin = error.origin.as_ref().unwrap_or(&node.origin).clone();
        complaints.push(error_at(&origin, path, error.sentence()));
        let removed = match &error.complaint {
            Complaint::UnknownKey { key, spare: true, .. } => node.remove(key, &origin),
            _ => false,
        };
        if !removed {
            return None;
        }
    }
}

/// The subject of a diagnostic.
#[derive(Debug)]
enum Complaint {
    /// `spare` if the table is complete without it.
    UnknownKey {
        key: String,
        valid: Vec<&'static str>,
        spare: bool,
    },
    UnknownName {
        name: String,
        valid: Vec<&'static str>,
    },
    MissingKey(&'static str),
    Mismatch {
        found: String,
        expected: String,
    },
    Other(String),
}

/// A diagnostic, where it was written, and the path of keys (innermost first while it propagates outward).
#[derive(Debug)]
pub(crate) struct ReadError {
    complaint: Complaint,
    origin: Option<Origin>,
    keys: Vec<String>,
}

impl ReadError {
    fn new(complaint: Complaint) -> Self {
        Self { complaint, origin: None, keys: Vec::new() }
    }

    /// A name that is none of the `valid` ones.
    pub(crate) fn unknown_name(name: &str, valid: Vec<&'static str>) -> Self {
        Self::new(Complaint::UnknownName { name: name.to_owned(), valid })
    }

    /// Sets where it was written, unless known already.
    pub(crate) fn at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Adds the enclosing key.
    pub(crate) fn under(mut self, key: &str) -> Self {
        self.keys.push(key.to_owned());
        self
    }

    /// The one of the two that was written earlier.
    pub(crate) fn or_earlier(self, other: Self) -> Self {
        match (&self.origin, &other.origin) {
            (Some(Origin::Line(own)), Some(Origin::Line(line))) if line < own => other,
            _ => self,
        }
    }

    /// A table has more keys than serde knows, some before and some after the others.
    pub(crate) fn with_keys_of(
        mut self,
        table: &str,
        before: &[&'static str],
        after: &[&'static str],
    ) -> Self {
        if let Complaint::UnknownKey { valid, .. } = &mut self.complaint
            && self.keys == [table]
        {
            *valid = [before, valid, after].concat();
        }
        self
    }

    /// A description of what is expected.
    fn expecting(mut self, right: &str) -> Self {
        if let Complaint::Mismatch { expected, .. } = &mut self.complaint {
            *expected = right.to_owned();
        }
        self
    }

    /// The error, with its place, which must be known by now.
    pub(crate) fn into_error(self, path: &Path) -> Error {
        let origin = self.origin.clone().unwrap_or(Origin::Line(1));
        error_at(&origin, path, self.sentence())
    }

    /// The table in the file's own notation.
    fn table(&self) -> String {
        match self.keys.as_slice() {
            [] => "the scene".to_owned(),
            [key] if SEVERAL.contains(&key.as_str()) => format!("[[{key}]]"),
            [key] => format!("[{key}]"),
            _ => format!("`{}`", self.key()),
        }
    }

    /// Whether it is about one of the tables that a scene has several of.
    fn is_single_of_many(&self) -> bool {
        matches!(self.keys.as_slice(), [key] if SEVERAL.contains(&key.as_str()))
    }

    fn key(&self) -> String {
        self.keys.iter().rev().map(String::as_str).collect::<Vec<_>>().join(".")
    }

    fn sentence(&self) -> String {
        match &self.complaint {
            Complaint::UnknownKey { key, valid, .. } => {
                // Presets are known by this word, and given by another.
                let meant = if key == "preset" && valid.contains(&"material") { "material" } else { key };
                let hint = did_you_mean(meant, valid.iter().copied());
                let valid = list(valid.iter().copied());
                format!("`{key}` is not a key of {}{hint} Valid keys: {valid}", self.table())
            }
            Complaint::UnknownName { name, valid } => {
                let hint = did_you_mean(name, valid.iter().copied());
                let valid = list(valid.iter().copied());
                format!("`{name}` is not a value of `{}`{hint} Valid values: {valid}", self.key())
            }
            Complaint::MissingKey(key) => format!("{} needs the key `{key}`", self.table()),
            Complaint::Mismatch { found, expected } if self.keys.is_empty() => {
                format!("expected {expected}, found {found}")
            }
            Complaint::Mismatch { found, .. } if self.is_single_of_many() && found == A_TABLE => {
                let key = self.key();
                format!("a scene may have several of `{key}`: write [[{key}]] in double brackets for each")
            }
            Complaint::Mismatch { found, expected } => {
                format!("`{}` must be {expected}, found {found}", self.key())
            }
            Complaint::Other(problem) if self.keys.is_empty() => problem.clone(),
            Complaint::Other(problem) => format!("`{}` {problem}", self.key()),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(Complaint::Other(problem.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_value(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Complaint::Mismatch { found: plain_found(found), expected: plain_expected(expected) })
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(Complaint::Mismatch { found: count_of_values(length), expected: plain_expected(expected) })
    }

    fn unknown_variant(name: &str, valid: &'static [&'static str]) -> Self {
        Self::unknown_name(name, valid.to_vec())
    }

    fn unknown_field(key: &str, valid: &'static [&'static str]) -> Self {
        Self::new(Complaint::UnknownKey { key: key.to_owned(), valid: valid.to_vec(), spare: true })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Complaint::MissingKey(key))
    }
}

fn count_of_values(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

/// The tables that a scene may have several of.
const SEVERAL: [&str; 4] = ["body", "pin", "seam", "collider"];
/// How a table is called where something else is expected.
const A_TABLE: &str = "a table";

fn plain_found(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => A_TABLE.to_owned(),
        Unexpected::Str(text) => format!("the string {text:?}"),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => Short(number).to_string(),
        Unexpected::Bool(flag) => flag.to_string(),
        other => other.to_string(),
    }
}

/// Human-readable names of serde's and glam's types.
fn plain_expected(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "f64" | "f32" => "a number".to_owned(),
        "u32" => "an integer from 0 to 4294967295".to_owned(),
        "u64" => "a non-negative integer".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "an array".to_owned(),
        "path string" => "a file name in quotes".to_owned(),
        "a sequence of 3 f64 values" => "an array of 3 numbers".to_owned(),
        _ if text.starts_with("struct ") || text.starts_with("struct variant ") => "a table".to_owned(),
        _ if text.starts_with("enum ") => "a name or a table".to_owned(),
        _ => text,
    }
}

/// The deserializer of one value.
#[derive(Clone, Copy)]
struct ValueReader<'de>(&'de Node);

impl<'de> ValueReader<'de> {
    /// That the value is none of what is expected.
    fn mismatch(self, expected: &dyn Expected) -> ReadError {
        let date;
        let found = match &self.0.value {
            Value::String(text) => Unexpected::Str(text),
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(flag) => Unexpected::Bool(*flag),
            Value::Date(text) => {
                date = format!("the date {text}");
                Unexpected::Other(&date)
            }
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        };
        ReadError::invalid_type(found, expected).at(&self.0.origin)
    }

    fn located<T>(self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        read.map_err(|error| error.at(&self.0.origin))
    }

    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Integer(number) => self.located(visitor.visit_i64(*number)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Integer(number) => self.located(visitor.visit_i64(*number)),
            Value::Float(number) => self.located(visitor.visit_f64(*number)),
            _ => Err(self.mismatch(&visitor)),
        }
    }
}

/// Each kind of value visits only what it can be: one function for all would be compiled, with all its branches, for every type.
impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.located(match &self.0.value {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Date(_) => Err(self.mismatch(&visitor)),
            Value::Array(elements) => visitor.visit_seq(ArrayReader(elements.iter())),
            Value::Table(entries) => visitor.visit_map(Entries { entries: entries.iter(), value: None }),
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Boolean(flag) => self.located(visitor.visit_bool(*flag)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.number(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::String(text) => self.located(visitor.visit_borrowed_str(text)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Array(elements) => self.located(visitor.visit_seq(ArrayReader(elements.iter()))),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Table(entries) => {
                self.located(visitor.visit_map(Entries { entries: entries.iter(), value: None }))
            }
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Array(elements) if elements.len() != length => {
                let found = count_of_values(elements.len());
                let expected = plain_expected(&visitor);
                Err(ReadError::new(Complaint::Mismatch { found, expected }).at(&self.0.origin))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(length, visitor)
    }

    /// Serde would also accept an array for a struct, its fields by position: here only a table.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        valid: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let variant = match &self.0.value {
            Value::String(name) => Variant { name, content: None, origin: &self.0.origin },
            Value::Table(entries) => match entries.as_slice() {
                [entry] => Variant { name: &entry.key, content: Some(&entry.node), origin: &entry.origin },
                _ => return Err(not_exactly_one(entries, valid).at(&self.0.origin)),
            },
            _ => return Err(self.mismatch(&visitor)),
        };
        if !valid.contains(&variant.name) {
            let (name, valid) = (variant.name.to_owned(), valid.to_vec());
            let complaint = match variant.content {
                Some(_) => Complaint::UnknownKey { key: name, valid, spare: false },
                None => Complaint::UnknownName { name, valid },
            };
            return Err(ReadError::new(complaint).at(variant.origin));
        }
        self.located(visitor.visit_enum(variant))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 char bytes byte_buf unit unit_struct identifier ignored_any
    }
}

fn not_exactly_one(entries: &[Entry], valid: &'static [&'static str]) -> ReadError {
    let found = match entries {
        [] => "none".to_owned(),
        _ => list(entries.iter().map(|entry| entry.key.as_str())),
    };
    let valid = list(valid.iter().copied());
    ReadError::new(Complaint::Other(format!("must have exactly one of the keys {valid}; found {found}")))
}

struct ArrayReader<'de>(std::slice::Iter<'de, Node>);

impl<'de> de::SeqAccess<'de> for ArrayReader<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(node) = self.0.next() else { return Ok(None) };
        seed.deserialize(ValueReader(node)).map(Some).map_err(|error| error.at(&node.origin))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let key = seed.deserialize(entry.key.as_str().into_deserializer());
        key.map(Some).map_err(|error: ReadError| error.at(&entry.origin))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let entry = self.value.take().ok_or_else(|| de::Error::custom("a value is read before its key"))?;
        seed.deserialize(ValueReader(&entry.node))
            .map_err(|error| error.at(&entry.node.origin).under(&entry.key))
    }
}

/// One variant of an enum: alone, or as the only key of a table. A name alone stands for an empty table, so that
/// `"all"` is `{ all = {} }`.
struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Node>,
    origin: &'de Origin,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let name = seed
            .deserialize(self.name.into_deserializer())
            .map_err(|error: ReadError| error.at(self.origin))?;
        Ok((name, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(de::Error::custom(format!("must be a name: write it as \"{}\"", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let Some(node) = self.content else {
            let name = self.name;
            return Err(de::Error::custom(format!("needs a value: {{ {name} = … }}")));
        };
        seed.deserialize(ValueReader(node)).map_err(|error| error.at(&node.origin).under(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        let node = self.content.ok_or_else(|| de::Error::custom("needs an array"))?;
        ValueReader(node)
            .deserialize_tuple(length, visitor)
            .map_err(|error: ReadError| error.under(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match self.content {
            Some(node) => ValueReader(node).deserialize_struct("", keys, visitor),
            None => visitor.visit_map(Entries { entries: [].iter(), value: None }),
        };
        read.map_err(|error| error.at(self.origin).under(self.name))
    }
}
