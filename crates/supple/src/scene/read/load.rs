//! Reading scenes: from a file, from text, by a built-in name; each with `--set` changes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::scene::builtin::builtin_scenes;
use crate::scene::read::document::{self, Node, Source};
use crate::scene::read::read_scene::{read_scene, read_scene_leniently};
use crate::scene::read::reader;
use crate::scene::read::sets;
use crate::scene::{Declarations, LinearKind, LinearOptions, Scene};
use supple_core::text::suggest::{did_you_mean, list};
use supple_core::{Error, FileError};

/// No scene file is larger than this; meshes belong in their own files.
const MAX_BYTES: u64 = 64 << 20;

/// Reads scenes with the methods and options of some steppers: from a file, from text, by a built-in name. Names,
/// types and keys are checked; [`Scene::validate`] checks the rest.
///
/// ```
/// use supple::simulation::Registry;
/// let steppers = Registry::builtin();
/// let sets = ["solver.method=lbfgs".to_owned()];
/// let scene = steppers.scene_reader().sets(&sets).builtin("demo")?;
/// assert_eq!(scene.solver.method.name(), "lbfgs");
/// # Ok::<(), supple::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SceneReader<'a> {
    steppers: &'a Declarations,
    sets: &'a [String],
}

impl<'a> SceneReader<'a> {
    /// A reader of scenes for these steppers.
    pub fn new(steppers: &'a Declarations) -> Self {
        Self { steppers, sets: &[] }
    }

    /// With changes by `--set` texts.
    pub fn sets(self, sets: &'a [String]) -> Self {
        Self { sets, ..self }
    }

    /// A scene file.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Scene, Error> {
        Text::of_file(path.as_ref())?.read(self)
    }

    /// A scene from text; relative file names start at `folder`.
    pub fn text(&self, text: &str, name: &str, folder: impl AsRef<Path>) -> Result<Scene, Error> {
        let (text, folder) = (Cow::Borrowed(text), folder.as_ref().to_path_buf());
        Text { text, path: name.into(), name: name.to_owned(), folder }.read(self)
    }

    /// A built-in scene by name.
    pub fn builtin(&self, name: &str) -> Result<Scene, Error> {
        Text::of_builtin(name)?.read(self)
    }

    /// The scene that a user names: a built-in name, or a file (`./demo` for a file with the name of a built-in
    /// scene).
    pub fn find(&self, source: &str) -> Result<Scene, Error> {
        Text::find(source)?.read(self)
    }

    /// The same for a report on all that is wrong with it: unknown keys are left out, each with a diagnostic.
    /// `None` if something else prevents reading, which the last diagnostic describes.
    pub fn find_leniently(&self, source: &str) -> (Option<Scene>, Vec<Error>) {
        match Text::find(source) {
            Ok(text) => text.read_leniently(self),
            Err(error) => (None, vec![error]),
        }
    }
}

/// The text of a scene, and its name.
struct Text<'a> {
    text: Cow<'a, str>,
    /// For errors.
    path: PathBuf,
    name: String,
    folder: PathBuf,
}

impl Text<'_> {
    fn of_file(path: &Path) -> Result<Self, Error> {
        let name = path.file_stem().map_or_else(|| "scene".into(), |stem| stem.to_string_lossy());
        Ok(Self {
            text: Cow::Owned(read_text(path)?),
            path: path.to_path_buf(),
            name: name.into_owned(),
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
        })
    }

    fn of_builtin(name: &str) -> Result<Self, Error> {
        let scenes = builtin_scenes();
        let Some((name, _, text)) = scenes.iter().find(|(known, ..)| *known == name) else {
            let names = || scenes.iter().map(|(name, ..)| *name);
            let hint = did_you_mean(name, names());
            let names = list(names());
            return Err(Error::Invalid(format!(
                "there is no built-in scene `{name}`{hint} Available: {names}"
            )));
        };
        let path = format!("built-in scene {name}").into();
        Ok(Self { text: Cow::Borrowed(text), path, name: (*name).to_owned(), folder: PathBuf::new() })
    }

    fn find(source: &str) -> Result<Self, Error> {
        let is_builtin = builtin_scenes().iter().any(|(name, ..)| *name == source);
        let path = Path::new(source);
        let looks_like_a_file = path.components().count() > 1 || path.extension().is_some() || path.exists();
        if is_builtin || !looks_like_a_file {
            return Self::of_builtin(source).map_err(|error| match error {
                Error::Invalid(problem) => Error::Invalid(format!("`{source}` is not a file, and {problem}")),
                other => other,
            });
        }
        Self::of_file(path)
    }

    fn read(self, reader: &SceneReader<'_>) -> Result<Scene, Error> {
        let mut root = document::parse(&self.text, &self.path)?;
        sets::apply_sets(&mut root, reader.sets)?;
        let scene = read_scene(&mut root, &self.path, reader.steppers)?;
        Ok(self.finish(scene, root))
    }

    fn read_leniently(self, reader: &SceneReader<'_>) -> (Option<Scene>, Vec<Error>) {
        let parsed = document::parse(&self.text, &self.path);
        let changed = parsed.and_then(|mut root| {
            sets::apply_sets(&mut root, reader.sets)?;
            Ok(root)
        });
        let mut root = match changed {
            Ok(root) => root,
            Err(error) => return (None, vec![error]),
        };
        let (scene, complaints) = read_scene_leniently(&mut root, &self.path, reader.steppers);
        (scene.map(|scene| self.finish(scene, root)), complaints)
    }

    fn finish(self, mut scene: Scene, root: Node) -> Scene {
        scene.name = self.name;
        scene.folder = self.folder;
        scene.source = Source::new(&self.path, root);
        scene.resolve_paths();
        scene
    }
}

/// A linear solver with options from `--set` texts, such as `levels=[2000, 100]`: the valid keys of `linear` in a scene.
///
/// ```
/// use supple::scene::{LinearKind, linear_with_sets};
/// let linear = linear_with_sets(LinearKind::Mas, &["modes=12".to_owned()])?;
/// assert_eq!(linear.modes, Some(12));
/// # Ok::<(), supple::Error>(())
/// ```
pub fn linear_with_sets(kind: LinearKind, sets: &[String]) -> Result<LinearOptions, Error> {
    let path = Path::new("linear solver");
    let mut root = document::parse(&format!("kind = \"{}\"", kind.name()), path)?;
    sets::apply_sets(&mut root, sets)?;
    let linear: LinearOptions = reader::read(&root, path)?;
    linear.check().map_err(|problem| Error::Invalid(format!("--set: {problem}")))?;
    Ok(linear)
}

fn read_text(path: &Path) -> Result<String, FileError> {
    let io = |error: std::io::Error| FileError::io(path, "read", &error);
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.is_dir() {
        return Err(FileError::whole(path, "is a folder; name the scene file in it"));
    }
    if metadata.len() > MAX_BYTES {
        let problem = format!("has {} bytes; a scene file has at most {MAX_BYTES}", metadata.len());
        return Err(FileError::whole(path, problem));
    }
    let bytes = std::fs::read(path).map_err(io)?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count();
        FileError::line(path, line as u64, "is not UTF-8 text here; a scene is a TOML file")
    })
}
