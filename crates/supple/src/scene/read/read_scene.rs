//! Builds a scene from its document. The stepper-specific part of `[solver]` (the method, and the option tables) is read by the steppers'
//! declarations, everything else by serde.

use std::path::Path;

use crate::scene::options::OptionSet;
use crate::scene::read::document::{Entry, Node, Value};
use crate::scene::read::reader::{self, ReadError};
use crate::scene::{Declarations, Method, Scene};
use supple_core::Error;

const METHOD: &str = "method";

/// Reads a scene; `path` is for the error. The document is unchanged afterwards.
pub(crate) fn read_scene(root: &mut Node, path: &Path, steppers: &Declarations) -> Result<Scene, Error> {
    let taken = StepperEntries::take(root, steppers);
    let rest = read_rest(root, steppers);
    let mut of_steppers = OfSteppers::default();
    let declared = taken.0.iter().try_for_each(|entry| of_steppers.read(entry, steppers));
    let scene = match (rest, declared) {
        (Ok(scene), Ok(())) => Ok(of_steppers.put_into(scene)),
        (Err(one), Err(other)) => Err(one.or_earlier(other)),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    taken.put_back(root);
    scene.map_err(|error| error.at(&root.origin).into_error(path))
}

/// Reads a scene from a document from which unknown keys are removed, with a diagnostic for each; `None` if
/// the last diagnostic is about something else.
pub(crate) fn read_scene_leniently(
    root: &mut Node,
    path: &Path,
    steppers: &Declarations,
) -> (Option<Scene>, Vec<Error>) {
    let mut complaints = Vec::new();
    let mut taken = StepperEntries::take(root, steppers);
    let rest =
        reader::read_leniently(root, path, &mut complaints, |node| node, |node| read_rest(node, steppers));
    let scene = rest.and_then(|scene| {
        let mut of_steppers = OfSteppers::default();
        for entry in &mut taken.0 {
            let read = |entry: &Entry| of_steppers.read(entry, steppers);
            reader::read_leniently(entry, path, &mut complaints, |entry| &mut entry.node, read)?;
        }
        Some(of_steppers.put_into(scene))
    });
    taken.put_back(root);
    (scene, complaints)
}

/// Everything except stepper declarations; the error for a wrong key of `[solver]` lists theirs too.
fn read_rest(root: &Node, steppers: &Declarations) -> Result<Scene, ReadError> {
    let tables = || steppers.option_tables().map(|table| table.name());
    reader::read_part(root)
        .map_err(|error| error.with_keys_of("solver", &[METHOD], &tables().collect::<Vec<_>>()))
}

/// The entries of `[solver]` declared by steppers, while they are out of the document.
struct StepperEntries(Vec<Entry>);

impl StepperEntries {
    fn take(root: &mut Node, steppers: &Declarations) -> Self {
        let is_declared =
            |key: &str| key == METHOD || steppers.option_tables().any(|table| table.name() == key);
        let Some(Value::Table(entries)) = root.get_mut("solver").map(|solver| &mut solver.value) else {
            return Self(Vec::new());
        };
        Self(entries.extract_if(.., |entry| is_declared(&entry.key)).collect())
    }

    fn put_back(self, root: &mut Node) {
        if let Some(Value::Table(entries)) = root.get_mut("solver").map(|solver| &mut solver.value) {
            entries.extend(self.0);
        }
    }
}

/// The values read from them.
#[derive(Default)]
struct OfSteppers {
    method: Option<Method>,
    options: OptionSet,
}

impl OfSteppers {
    fn read(&mut self, entry: &Entry, steppers: &Declarations) -> Result<(), ReadError> {
        let read = match steppers.option_tables().find(|table| table.name() == entry.key) {
            Some(table) => table.read(&entry.node).map(|options| self.options.insert(options)),
            None => read_method(&entry.node, steppers).map(|method| self.method = Some(method)),
        };
        read.map_err(|error| error.at(&entry.node.origin).under(&entry.key).under("solver"))
    }

    fn put_into(self, mut scene: Scene) -> Scene {
        scene.solver.method = self.method.unwrap_or_default();
        scene.solver.options = self.options;
        scene
    }
}

fn read_method(node: &Node, steppers: &Declarations) -> Result<Method, ReadError> {
    let name = reader::read_name(node)?;
    steppers.method(name).ok_or_else(|| ReadError::unknown_name(name, steppers.method_names()))
}
