//! `solver.method`, and what a stepper declares to the scene: the methods it answers to, its option table, and what it
//! refuses. Steppers lie in higher layers and in other crates; here is only what they say of themselves.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::scene::options::OptionTable;
use crate::scene::{LinearKind, Scene};

/// How a step is taken: a name of scene files and command lines, and the stepper that declares it.
///
/// The built-in ones are constants (`Method::NEWTON`, `Method::HPBD` …); another crate makes its own by [`Method::new`].
#[derive(Clone, Copy)]
pub struct Method {
    word: &'static str,
    stepper: &'static dyn StepperDeclaration,
}

impl Method {
    /// A method by its name, which must be one that `stepper` declares.
    pub const fn new(word: &'static str, stepper: &'static dyn StepperDeclaration) -> Self {
        Self { word, stepper }
    }

    /// Its name in scenes and on the command line.
    pub const fn word(self) -> &'static str {
        self.word
    }

    /// What the stepper behind it declares.
    pub const fn stepper(self) -> &'static dyn StepperDeclaration {
        self.stepper
    }

    /// What it takes of a scene.
    pub fn traits(self) -> MethodTraits {
        self.stepper.traits(self)
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        let names = self.stepper.methods();
        names.iter().find(|name| name.word == self.word).map_or(self.word, |name| name.title)
    }

    /// Whether a running simulation can change from one method to the other and keep its state: the methods of one stepper
    /// solve for the same degrees of freedom, every other stepper has its own discretisation.
    pub fn shares_state_with(self, other: Self) -> bool {
        self == other || self.stepper.methods().iter().any(|name| name.word == other.word)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Method {}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Method").field(&self.word).finish()
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word)
    }
}

/// A method's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodName {
    /// In scenes and on the command line: lower case, with hyphens.
    pub word: &'static str,
    /// For people, on one line.
    pub title: &'static str,
}

/// What a method does with `linear` of `[solver]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinearUse {
    /// Nothing: it has no linear systems, or its own solver for them.
    #[default]
    None,
    /// It applies it as a preconditioner once per iteration.
    Preconditioner,
    /// It solves linear systems with it.
    Solver,
}

/// What a method takes of a scene beyond bodies, pins and colliders. The default takes nothing more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MethodTraits {
    /// What it does with `solver.linear`.
    pub linear: LinearUse,
    /// Whether it takes `solver.velocity_tolerance`.
    pub velocity_tolerance: bool,
    /// Whether it takes `solver.spectral_radius`.
    pub spectral_radius: bool,
    /// Whether it renews its matrix by itself, so that `solver.refresh` and its kin have no meaning.
    pub renews_by_itself: bool,
    /// Whether solids are cut into octants in place of tetrahedra; only then bodies may have an `interior`.
    pub octants: bool,
    /// Whether the last body may tear.
    pub tears: bool,
    /// Whether it has friction of its own and takes no other `contact.friction_model` than the default.
    pub own_friction: bool,
    /// Why there is no stress to show, if so: a clause, such as "it has no elastic law".
    pub no_stress: Option<&'static str>,
}

/// Something of a scene that a stepper cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Where: dotted, array elements by number (`body.0.pressure`).
    pub place: String,
    /// What stands there: the subject of a sentence that goes on with "is not supported yet".
    pub what: String,
}

impl Unsupported {
    /// `what` at `place`.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

/// What a stepper says of itself to the scene: names, options, and what it refuses. How it steps is the matter of higher
/// layers (`stepper::StepperKind`).
pub trait StepperDeclaration: Send + Sync {
    /// The methods it answers to.
    fn methods(&self) -> &'static [MethodName];

    /// What one of them takes of a scene.
    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits::default()
    }

    /// Its table under `[solver]`, if it has options: `Some(OptionTable::of::<Options>())`.
    fn options(&self) -> Option<OptionTable> {
        None
    }

    /// What of a scene it cannot do; none if it can do it all. Asked only for scenes with one of its methods.
    fn unsupported(&self, _scene: &Scene) -> Vec<Unsupported> {
        Vec::new()
    }
}

/// The declarations that scenes are read by, in the order in which lists name them.
#[derive(Clone, Default)]
pub struct Declarations(Vec<&'static dyn StepperDeclaration>);

impl Declarations {
    /// Adds a stepper.
    ///
    /// # Panics
    /// If one of its methods or its option table has the name of an earlier one: names are the program's to choose.
    pub fn add(&mut self, stepper: &'static dyn StepperDeclaration) {
        for name in stepper.methods() {
            assert!(self.method(name.word).is_none(), "two steppers with a method `{}`", name.word);
        }
        if let Some(table) = stepper.options() {
            let known = self.option_tables().any(|other| other.name() == table.name());
            assert!(!known, "two steppers with an option table `{}`", table.name());
        }
        self.0.push(stepper);
    }

    /// All methods.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        let of = |&stepper: &&'static dyn StepperDeclaration| {
            stepper.methods().iter().map(move |name| Method::new(name.word, stepper))
        };
        self.0.iter().flat_map(of)
    }

    /// The method of this name.
    pub fn method(&self, word: &str) -> Option<Method> {
        self.methods().find(|method| method.word == word)
    }

    /// The names of all methods.
    pub fn method_words(&self) -> Vec<&'static str> {
        self.methods().map(Method::word).collect()
    }

    /// The option tables.
    pub fn option_tables(&self) -> impl Iterator<Item = OptionTable> {
        self.0.iter().filter_map(|stepper| stepper.options())
    }

    /// The names of what `--solver` takes, for messages: methods, linear solvers, and both together.
    pub fn solver_words(&self) -> String {
        format!(
            "the methods {}, the linear solvers {}, and both together as `lbfgs+jacobi`",
            self.method_words().join(", "),
            LinearKind::ALL.map(LinearKind::word).join(", ")
        )
    }
}

impl fmt::Debug for Declarations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declarations").field(&self.method_words()).finish()
    }
}
