//! A scene file as a tree of values with their source positions, so that every later error has its line.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use supple_core::{Error, FileError};
use supple_mesh::format::is_known;

/// Tables nest no deeper than this; a scene needs about ten levels.
const MAX_DEPTH: usize = 64;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Origin {
    /// A line of the file, counted from 1.
    Line(u64),
    /// A `--set` text.
    Set(Arc<str>),
}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

/// A key, where it was written, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

/// A TOML value. Tables keep the order of the file.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

impl Node {
    /// The entries of a table; none for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The value of `key`, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The same, mutable.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Removes the first key of this name; `false` if there is none.
    pub(crate) fn remove(&mut self, key: &str, origin: &Origin) -> bool {
        match &mut self.value {
            Value::Table(entries) => {
                if let Some(at) = entries.iter().position(|e| e.key == key && e.origin == *origin) {
                    entries.remove(at);
                    return true;
                }
                entries.iter_mut().any(|entry| entry.node.remove(key, origin))
            }
            Value::Array(elements) => elements.iter_mut().any(|element| element.remove(key, origin)),
            _ => false,
        }
    }

    /// Where `place` (a dotted path; array elements by number) or its deepest existing part was written.
    fn origin_of(&self, place: &str) -> &Origin {
        let mut origin = &self.origin;
        let mut node = self;
        let mut depth = 0;
        for part in place.split('.') {
            match &node.value {
                Value::Table(entries) => {
                    let Some(entry) = entries.iter().find(|entry| entry.key == part) else { break };
                    (origin, node) = (&entry.origin, &entry.node);
                }
                Value::Array(elements) => {
                    let Some(element) = part.parse::<usize>().ok().and_then(|i| elements.get(i)) else {
                        break;
                    };
                    (origin, node) = (&element.origin, element);
                }
                _ => break,
            }
            depth += 1;
        }
        // A problem in a body's shape or a pin's selection is most likely caused by a `--set` inside it; a whole body is
        // too large for such a guess.
        if depth < 3 && !matches!(node.origin, Origin::Set(_)) {
            return origin;
        }
        node.set_within().unwrap_or(origin)
    }

    /// The first `--set` that wrote this or a part of it.
    fn set_within(&self) -> Option<&Origin> {
        if let Origin::Set(_) = self.origin {
            return Some(&self.origin);
        }
        match &self.value {
            Value::Table(entries) => entries.iter().find_map(|entry| entry.node.set_within()),
            Value::Array(elements) => elements.iter().find_map(Self::set_within),
            _ => None,
        }
    }
}

const MESH_AS_SCENE: &str = "this is a mesh, not a scene; write a scene with a `[[body]]` whose `shape = { file = ... }` names it \
                             (`supple scenes demo` prints one to start from), or look at it with `supple check`";

/// Parses a whole file. `path` is for the error.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Node, Error> {
    let lines = LineStarts::new(text);
    refuse_deep_keys(text, path, &lines)?;
    let table = DeTable::parse(text).map_err(|error| {
        if is_known(path) {
            return FileError::whole(path, MESH_AS_SCENE);
        }
        let line = error.span().map_or(1, |span| lines.line_of(span.start));
        FileError::line(path, line, format!("not valid TOML: {}", error.message().replace('\n', "; ")))
    })?;
    let at = |offset| Origin::Line(lines.line_of(offset));
    table_node(table.into_inner(), Origin::Line(1), &at, 0)
        .map_err(|Unusable { offset, problem }| FileError::line(path, lines.line_of(offset), problem).into())
}

/// Parses one value of a `--set` text; `None` if it is not TOML.
pub(crate) fn parse_value(text: &str, origin: &Origin) -> Option<Node> {
    if longest_key(text).1 > MAX_DEPTH {
        return None;
    }
    let value = DeValue::parse(text.trim()).ok()?;
    value_node(value, &|_| origin.clone(), 0).ok()
}

/// Dotted keys nest without brackets, which the parser does not bound: absurd ones are rejected before it builds them.
fn refuse_deep_keys(text: &str, path: &Path, lines: &LineStarts) -> Result<(), FileError> {
    let (end, parts) = longest_key(text);
    if parts <= MAX_DEPTH {
        return Ok(());
    }
    let problem = format!("a key with more than {MAX_DEPTH} dots; a scene nests about ten levels");
    Err(FileError::line(path, lines.line_of(end), problem))
}

/// The end and the number of dots of the run of key characters, quotes and blanks with the most dots (stopping at
/// the first beyond the limit). No key has two adjacent dots; rows of dots in comments and texts do.
fn longest_key(text: &str) -> (usize, usize) {
    let (mut dots, mut most) = (0, (0, 0));
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'.' if bytes[..at].ends_with(b".") => dots = 0,
            b'.' => dots += 1,
            b',' | b'\n' | b'=' | b'[' | b']' | b'{' | b'}' | b'#' => dots = 0,
            _ => {}
        }
        if dots > most.1 {
            most = (at, dots);
        }
        if dots > MAX_DEPTH {
            break;
        }
    }
    most
}

/// A value that is valid TOML but not valid in a scene.
struct Unusable {
    offset: usize,
    problem: String,
}

fn table_node(
    table: DeTable<'_>,
    origin: Origin,
    at: &dyn Fn(usize) -> Origin,
    depth: usize,
) -> Result<Node, Unusable> {
    let mut pairs: Vec<_> = table.into_iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let entries = pairs.into_iter().map(|(key, value)| {
        let origin = at(key.span().start);
        let node = value_node(value, at, depth + 1)?;
        Ok(Entry { key: Cow::into_owned(key.into_inner()), origin, node })
    });
    Ok(Node { origin, value: Value::Table(entries.collect::<Result<_, _>>()?) })
}

fn value_node(
    value: Spanned<DeValue<'_>>,
    at: &dyn Fn(usize) -> Origin,
    depth: usize,
) -> Result<Node, Unusable> {
    let offset = value.span().start;
    let unusable = |problem: String| Unusable { offset, problem };
    if depth > MAX_DEPTH {
        return Err(unusable(format!("nested more than {MAX_DEPTH} levels deep")));
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => return Err(unusable(format!("{digits} does not fit a 64-bit integer"))),
        },
        DeValue::Float(digits) => match digits.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => return Err(unusable(format!("{digits} is not a number"))),
        },
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(elements) => {
            let nodes = elements.into_iter().map(|element| value_node(element, at, depth + 1));
            Value::Array(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return table_node(table, at(offset), at, depth),
    };
    Ok(Node { origin: at(offset), value })
}

/// Byte offsets at which lines start.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn line_of(&self, offset: usize) -> u64 {
        self.0.partition_point(|&start| start <= offset) as u64
    }
}

/// The source of a scene. It is not part of the scene's content, so any two are equal.
#[derive(Clone, Default)]
pub struct Source(Option<Arc<(PathBuf, Node)>>);

impl Source {
    pub(crate) fn new(path: &Path, root: Node) -> Self {
        Self(Some(Arc::new((path.to_path_buf(), root))))
    }

    /// The line on which `place` (dotted, array elements by number) was written, if it was read from a file.
    pub fn line(&self, place: &str) -> Option<u64> {
        match self.0.as_ref()?.1.origin_of(place) {
            Origin::Line(line) => Some(*line),
            Origin::Set(_) => None,
        }
    }

    /// An error about `place`, with the file and line or the `--set` text that wrote it.
    pub(crate) fn error(&self, place: &str, problem: String) -> Error {
        match self.0.as_deref() {
            Some((path, root)) => error_at(root.origin_of(place), path, problem),
            None if place.is_empty() => Error::Invalid(problem),
            None => Error::Invalid(format!("{place}: {problem}")),
        }
    }

    /// The same as a message prefix: "cloth.toml, line 3: ".
    pub(crate) fn prefix(&self, place: &str) -> String {
        self.0.as_deref().map_or_else(String::new, |(path, root)| match root.origin_of(place) {
            Origin::Line(line) => format!("{}, line {line}: ", path.display()),
            Origin::Set(text) => format!("--set {text}: "),
        })
    }
}

/// An error at a place of the file, or about a `--set` text.
pub(crate) fn error_at(origin: &Origin, path: &Path, problem: String) -> Error {
    match origin {
        Origin::Line(line) => FileError::line(path, *line, problem).into(),
        Origin::Set(text) => Error::Invalid(format!("--set {text}: {problem}")),
    }
}

impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_deref() {
            Some((path, _)) => write!(f, "Source({})", path.display()),
            None => f.write_str("Source(none)"),
        }
    }
}
