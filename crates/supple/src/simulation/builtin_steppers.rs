//! The built-in steppers, and shorthands for programs that use no others: reading scenes, choosing solvers and defaults
//! with them.

use std::path::Path;

use crate::dynamics::ImplicitDynamics;
use crate::scene::{Method, Scene, Solver};
use crate::solvers::hpbd::Hpbd;
use crate::solvers::octree::OctreeFlesh;
use crate::solvers::staggered::StaggeredMultigrid;
use crate::stepper::Registry;
use supple_core::Error;

impl Registry {
    /// The built-in steppers; [`Registry::with`] adds others.
    pub fn builtin() -> Self {
        Self::new().with(&ImplicitDynamics).with(&Hpbd).with(&OctreeFlesh).with(&StaggeredMultigrid)
    }
}

impl Default for Registry {
    /// The built-in steppers.
    fn default() -> Self {
        Self::builtin()
    }
}

impl Default for Method {
    /// The method of a scene that does not specify one.
    fn default() -> Self {
        Self::NEWTON
    }
}

/// Scenes for the built-in steppers; [`Registry::scene_reader`] reads them for others.
impl Scene {
    /// Reads a scene file. Its names, types and keys are checked; [`Scene::validate`] checks the rest.
    ///
    /// ```no_run
    /// let scene = supple::Scene::load("tablecloth.toml")?;
    /// scene.validate()?;
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_with(path, &[])
    }

    /// Reads a scene file after changing it by `--set` texts.
    pub fn load_with(path: impl AsRef<Path>, sets: &[String]) -> Result<Self, Error> {
        Registry::builtin().scene_reader().sets(sets).file(path)
    }

    /// Reads a scene from text; relative file names start at `folder`.
    ///
    /// ```
    /// use supple::Scene;
    /// let text = r#"
    /// [[body]]
    /// name = "cloth"
    /// shape = { grid = { size = [1, 1], vertices = [21, 21] } }
    /// material = "silk"
    /// "#;
    /// let scene = Scene::from_toml(text, "small", ".")?;
    /// assert_eq!(scene.bodies[0].name, "cloth");
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn from_toml(text: &str, name: &str, folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_toml_with(text, name, folder, &[])
    }

    /// Reads a scene from text after changing it by `--set` texts.
    pub fn from_toml_with(
        text: &str,
        name: &str,
        folder: impl AsRef<Path>,
        sets: &[String],
    ) -> Result<Self, Error> {
        Registry::builtin().scene_reader().sets(sets).text(text, name, folder)
    }

    /// A built-in scene by name.
    pub fn builtin(name: &str) -> Result<Self, Error> {
        Self::builtin_with(name, &[])
    }

    /// A built-in scene after changing it by `--set` texts.
    pub fn builtin_with(name: &str, sets: &[String]) -> Result<Self, Error> {
        Registry::builtin().scene_reader().sets(sets).builtin(name)
    }

    /// The scene that a user names: a built-in name, or a file (`./demo` for a file with the name of a built-in
    /// scene).
    pub fn find(source: &str) -> Result<Self, Error> {
        Self::find_with(source, &[])
    }

    /// The same after changing it by `--set` texts.
    pub fn find_with(source: &str, sets: &[String]) -> Result<Self, Error> {
        Registry::builtin().scene_reader().sets(sets).find(source)
    }
}

impl Solver {
    /// [`Solver::choose_from`] the built-in steppers.
    ///
    /// ```
    /// let mut solver = supple::Solver::default();
    /// solver.choose("lbfgs+mas")?;
    /// assert_eq!(solver.name(), "lbfgs+mas");
    /// assert!(solver.choose("conjugate").is_err());
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn choose(&mut self, name: &str) -> Result<(), Error> {
        self.choose_from(name, &Registry::builtin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_registered_methods() {
        let builtin = [
            Method::NEWTON,
            Method::PROJECTIVE,
            Method::LBFGS,
            Method::NONLINEAR_CG,
            Method::ACCELERATED_GRADIENT,
            Method::HPBD,
            Method::OCTREE,
            Method::STAGGERED,
        ];
        let registry = Registry::builtin();
        assert_eq!(registry.methods().collect::<Vec<_>>(), builtin);
        for method in builtin {
            assert!(registry.kind(method).is_ok() && method.title() != method.name());
            assert!(Solver::default().choose(method.name()).is_ok());
        }
    }

    #[test]
    fn methods_of_one_stepper_share_their_state_and_no_others() {
        assert!(Method::NEWTON.shares_state_with(Method::LBFGS));
        assert!(Method::HPBD.shares_state_with(Method::HPBD));
        assert!(!Method::NEWTON.shares_state_with(Method::OCTREE));
        assert!(!Method::STAGGERED.shares_state_with(Method::PROJECTIVE));
    }

    #[test]
    #[should_panic(expected = "two steppers with a method `hpbd`")]
    fn a_name_is_taken_once() {
        let _ = Registry::builtin().with(&Hpbd);
    }
}
