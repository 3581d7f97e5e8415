//! The steppers of a program. The built-in ones and those of other crates are registered alike, so that nothing below
//! names them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::Stepper;
use crate::body::Body;
use crate::scene::{Declarations, Method, SceneReader, StepperDeclaration};
use crate::scene_state::SceneState;
use supple_core::Error;
use supple_core::text::suggest::list;

/// A kind of stepper: what it declares to scenes, which bodies it can simulate, and how it is built.
pub trait StepperKind: StepperDeclaration {
    /// Rejects a body that one of its methods cannot simulate, with the reason and the remedy. Problems that are known without the
    /// body's mesh are rejected by [`StepperDeclaration::unsupported`].
    fn can_take(&self, _method: Method, _body: &Body) -> Result<(), Error> {
        Ok(())
    }

    /// A stepper for the bodies of a scene state, at their start.
    fn build(&self, scene_state: &SceneState) -> Result<Box<dyn Stepper>, Error>;
}

/// The steppers by which scenes are read, checked and simulated. Cheap to clone.
///
/// ```
/// use supple::simulation::Registry;
/// let steppers = Registry::builtin();
/// assert!(steppers.method_names().contains(&"hpbd"));
/// let scene = steppers.scene_reader().builtin("demo")?;
/// assert_eq!(scene.name, "demo");
/// # Ok::<(), supple::Error>(())
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Registered>);

#[derive(Clone, Default)]
struct Registered {
    kinds: Vec<&'static dyn StepperKind>,
    declarations: Declarations,
}

impl Registry {
    /// No stepper.
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Adds a stepper.
    ///
    /// # Panics
    /// If one of its methods or its option table has the name of an earlier one.
    pub fn with(mut self, kind: &'static dyn StepperKind) -> Self {
        let registered = Arc::make_mut(&mut self.0);
        registered.kinds.push(kind);
        registered.declarations.add(kind);
        self
    }

    /// The declarations of the steppers.
    pub fn declarations(&self) -> &Declarations {
        &self.0.declarations
    }

    /// Reads scenes for these steppers.
    pub fn scene_reader(&self) -> SceneReader<'_> {
        SceneReader::new(self.declarations())
    }

    /// The kind of stepper of a method.
    pub fn kind(&self, method: Method) -> Result<&'static dyn StepperKind, Error> {
        let answers =
            |kind: &&'static dyn StepperKind| kind.methods().iter().any(|known| known.name == method.name());
        self.0.kinds.iter().copied().find(answers).ok_or_else(|| {
            Error::Invalid(format!(
                "this program has no stepper for the method `{}`; it has {}",
                method.name(),
                list(self.method_names())
            ))
        })
    }
}

/// Lists and lookups of methods are delegated to the declarations.
impl Deref for Registry {
    type Target = Declarations;

    fn deref(&self) -> &Declarations {
        self.declarations()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.method_names()).finish()
    }
}
