//! `--set KEY=VALUE`: changes to a scene document before it is read.
//!
//! KEY is a dotted path. An element of `[[body]]`, `[[collider]]` and other arrays is named by its `name` or by its
//! number from 0 (`body.cloth.material.damping=0`, `pin.0.stiffness=1e4`). VALUE is a TOML value; anything else is
//! taken as a string (`solver.method=newton`).

use std::sync::Arc;

use crate::scene::read::document::{Entry, Node, Origin, Value, parse_value};
use supple_core::Error;
use supple_core::text::suggest::{did_you_mean, list};

/// Applies the changes in order.
pub(crate) fn apply_sets(root: &mut Node, sets: &[String]) -> Result<(), Error> {
    for set in sets {
        apply(root, set).map_err(|problem| Error::Invalid(format!("--set {set}: {problem}")))?;
    }
    Ok(())
}

fn apply(root: &mut Node, set: &str) -> Result<(), String> {
    let (path, value) = set.split_once('=').ok_or("expected KEY=VALUE, such as solver.tolerance=1e-4")?;
    let keys = toml_edit::Key::parse(path.trim())
        .map_err(|_| format!("`{}` is not a dotted path, such as body.cloth.velocity", path.trim()))?;
    if keys.len() > 32 {
        return Err("the path has more than 32 parts".to_owned());
    }
    let origin = Origin::Set(Arc::from(set));
    let mut target = root;
    let mut parent = String::new();
    for key in &keys {
        target = child(target, &parent, key.get(), &origin)?;
        parent = key.get().to_owned();
    }
    *target = read_value(value, origin)?;
    Ok(())
}

fn read_value(text: &str, origin: Origin) -> Result<Node, String> {
    let text = text.trim();
    match parse_value(text, &origin) {
        Some(node) => Ok(node),
        None if text.starts_with(['[', '{', '"', '\'']) => Err(format!("`{text}` is not a TOML value")),
        None => Ok(Node { value: Value::String(text.to_owned()), origin }),
    }
}

/// The part of `node` (itself under the key `parent`) named `key`, created if it is a missing key of a table.
fn child<'a>(node: &'a mut Node, parent: &str, key: &str, origin: &Origin) -> Result<&'a mut Node, String> {
    if matches!(node.value, Value::String(_)) {
        widen(node, parent, origin);
    }
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
                let node = Node { origin: origin.clone(), value: Value::Table(Vec::new()) };
                entries.push(Entry { key: key.to_owned(), origin: origin.clone(), node });
                entries.len() - 1
            });
            Ok(&mut entries[at].node)
        }
        Value::Array(elements) => {
            let at = element(elements, parent, key)?;
            Ok(&mut elements[at])
        }
        _ => Err(format!("`{parent}` is a single value and has no `{key}`")),
    }
}

/// `material = "silk"` and `linear = "cholesky"` are short for tables; creates the table to change something in it.
fn widen(node: &mut Node, key: &str, origin: &Origin) {
    let inner = match key {
        "material" => "preset",
        "linear" => "kind",
        _ => return,
    };
    let word = Node { origin: node.origin.clone(), value: node.value.clone() };
    let entry = Entry { key: inner.to_owned(), origin: origin.clone(), node: word };
    node.value = Value::Table(vec![entry]);
}

/// The index of the element named `key` or with this number.
fn element(elements: &[Node], parent: &str, key: &str) -> Result<usize, String> {
    let name = |node: &Node| match node.get("name").map(|name| name.value.clone()) {
        Some(Value::String(name)) => Some(name),
        _ => None,
    };
    let names: Vec<Option<String>> = elements.iter().map(name).collect();
    if let Some(at) = names.iter().position(|name| name.as_deref() == Some(key)) {
        return Ok(at);
    }
    match key.parse::<usize>() {
        Ok(number) if number < elements.len() => Ok(number),
        Ok(number) => Err(format!("there is no `{parent}` number {number}; there are {}", elements.len())),
        Err(_) => {
            let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            let hint = did_you_mean(key, names.iter().copied());
            let known = if names.is_empty() {
                format!("Name it by its number, 0 to {}", elements.len().saturating_sub(1))
            } else {
                format!("Available: {}", list(names))
            };
            Err(format!("there is no `{parent}` called `{key}`{hint} {known}"))
        }
    }
}
