//! `solver.method`, and what a stepper declares to the scene: its methods, its option table, and what it
//! rejects. Steppers are in higher layers and in other crates; this module only has their declarations.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::scene::options::OptionTable;
use crate::scene::{LinearKind, Scene};

/// How a step is taken: a name of scene files and command lines, and the stepper that declares it.
///
/// The built-in ones are constants (`Method::NEWTON`, `Method::HPBD` …); other crates create theirs by [`Method::new`].
#[derive(Clone, Copy)]
pub struct Method {
    name: &'static str,
    stepper: &'static dyn StepperDeclaration,
}

impl Method {
    /// A method by its name, which must be one that `stepper` declares.
    pub const fn new(name: &'static str, stepper: &'static dyn StepperDeclaration) -> Self {
        Self { name, stepper }
    }

    /// Its name in scenes and on the command line.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The declaration of its stepper.
    pub const fn stepper(self) -> &'static dyn StepperDeclaration {
        self.stepper
    }

    /// The parts of a scene that it supports.
    pub fn traits(self) -> MethodTraits {
        self.stepper.traits(self)
    }

    /// Its display name.
    pub fn title(self) -> &'static str {
        self.names().map_or(self.name, |names| names.title)
    }

    /// What it is and when it is the right one.
    pub fn about(self) -> &'static str {
        self.names().map_or("", |names| names.about)
    }

    fn names(self) -> Option<&'static MethodName> {
        self.stepper.methods().iter().find(|names| names.name == self.name)
    }

    /// Whether a running simulation can switch from one method to the other and keep its state: the methods of one stepper
    /// solve for the same degrees of freedom, every other stepper has its own discretisation.
    pub fn shares_state_with(self, other: Self) -> bool {
        self == other || self.stepper.methods().iter().any(|name| name.name == other.name)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Method {}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// A method's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodName {
    /// In scenes and on the command line: lower case, with hyphens.
    pub name: &'static str,
    /// A few words for menus: what users get from it, before its name.
    pub title: &'static str,
    /// One sentence: what it is and when it is the right one.
    pub about: &'static str,
}

/// How a method uses `linear` of `[solver]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinearUse {
    /// Not at all: it has no linear systems, or its own solver for them.
    #[default]
    None,
    /// It applies it as a preconditioner once per iteration.
    Preconditioner,
    /// It solves linear systems with it.
    Solver,
}

/// The parts of a scene that a method supports beyond bodies, pins and colliders. The default supports nothing more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MethodTraits {
    /// How it uses `solver.linear`.
    pub linear: LinearUse,
    /// Whether the work of a step is fixed, so that `solver.tolerance` and `solver.max_iterations` have no meaning.
    pub fixed_work: bool,
    /// Whether it uses `solver.velocity_tolerance`.
    pub velocity_tolerance: bool,
    /// Whether it uses `solver.spectral_radius`.
    pub spectral_radius: bool,
    /// Whether it uses `solver.contact_matrix`.
    pub contact_matrix: bool,
    /// Whether it refreshes its matrix by itself, so that `solver.refresh` and the like have no meaning.
    pub renews_by_itself: bool,
    /// Whether solids are divided into octants instead of tetrahedra; only then may bodies have an `interior`.
    pub octants: bool,
    /// Whether bodies cannot consist of springs.
    pub no_springs: bool,
    /// Whether the last body may tear.
    pub tears: bool,
    /// Whether it has its own friction and supports no other `contact.friction_model` than the default.
    pub own_friction: bool,
    /// Why there is no stress to show, or `None` if there is: a clause, such as "it has no elastic law".
    pub no_stress: Option<&'static str>,
}

/// A part of a scene that a stepper does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Where: dotted, array elements by number (`body.0.pressure`).
    pub place: String,
    /// What is there: the subject of a sentence that continues with "is not supported yet".
    pub what: String,
}

impl Unsupported {
    /// `what` at `place`.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

/// A stepper's declaration to the scene: names, options, and what it rejects. Stepping itself is defined in higher
/// layers (`stepper::StepperKind`).
pub trait StepperDeclaration: Send + Sync {
    /// Its methods.
    fn methods(&self) -> &'static [MethodName];

    /// The parts of a scene that one of them supports.
    fn traits(&self, _method: Method) -> MethodTraits {
        MethodTraits::default()
    }

    /// Its table under `[solver]`, if it has options: `Some(OptionTable::of::<Options>())`.
    fn options(&self) -> Option<OptionTable> {
        None
    }

    /// The parts of a scene that it does not support; empty if it supports all. Called only for scenes with one of its methods.
    fn unsupported(&self, _scene: &Scene) -> Vec<Unsupported> {
        Vec::new()
    }
}

/// The declarations by which scenes are read, in the order of listings.
#[derive(Clone, Default)]
pub struct Declarations(Vec<&'static dyn StepperDeclaration>);

impl Declarations {
    /// Adds a stepper.
    ///
    /// # Panics
    /// If one of its methods or its option table has the name of an earlier one: names are chosen by the program.
    pub fn add(&mut self, stepper: &'static dyn StepperDeclaration) {
        for method in stepper.methods() {
            assert!(self.method(method.name).is_none(), "two steppers with a method `{}`", method.name);
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
            stepper.methods().iter().map(move |name| Method::new(name.name, stepper))
        };
        self.0.iter().flat_map(of)
    }

    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<Method> {
        self.methods().find(|method| method.name == name)
    }

    /// The names of all methods.
    pub fn method_names(&self) -> Vec<&'static str> {
        self.methods().map(Method::name).collect()
    }

    /// The option tables.
    pub fn option_tables(&self) -> impl Iterator<Item = OptionTable> {
        self.0.iter().filter_map(|stepper| stepper.options())
    }

    /// The names that `--solver` accepts, for messages: methods, linear solvers, and combinations.
    pub fn solver_names(&self) -> String {
        format!(
            "the methods {}, the linear solvers {}, and both together as `lbfgs+jacobi`",
            self.method_names().join(", "),
            LinearKind::ALL.map(LinearKind::name).join(", ")
        )
    }
}

impl fmt::Debug for Declarations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declarations").field(&self.method_names()).finish()
    }
}
