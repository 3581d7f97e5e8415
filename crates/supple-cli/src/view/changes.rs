//! Changes to the scene while it is simulated: values by their `--set` path, and pins. The scene always describes
//! what is simulated, so it can be saved and restarted at any time.

use glam::DVec3;
use supple::Error;
use supple::linear::Simd;
use supple::mesh::geometry::Ray;
use supple::scene::{Expect, Method, Pin, Scene, Selection};
use supple::simulation::{DryRun, PinId, PinnedPoint, Registry, Simulation};

/// Sections of a scene that may be changed from the page.
const OPEN: [&str; 4] = ["time", "world", "solver", "contact"];
/// Keys that may be changed in both bodies and colliders.
const OPEN_IN_BODY: [&str; 6] = ["material", "model", "bending", "pressure", "self_contact", "tear_stretch"];
const OPEN_IN_COLLIDER: [&str; 3] = ["friction", "stiffness", "thickness"];
/// Maximum length of a value.
const MAX_VALUE_LENGTH: usize = 200;
/// Distance in metres below which a pinned point and a vertex are considered equal.
const SAME_PLACE: f64 = 1e-9;
/// Radius in metres of a ball around a vertex at the start that contains no other vertex.
const AROUND_VERTEX: f64 = 1e-7;

/// A scene and its simulation.
pub(super) struct EditedScene {
    pub(super) scene: Scene,
    /// The scene as originally started.
    started: Scene,
    pub(super) simulation: Simulation,
    /// The available steppers.
    pub(super) steppers: Registry,
    simd: Simd,
}

/// The effect of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// The state was kept.
    Kept,
    /// The simulation was restarted, with the reason.
    Restarted(String),
}

impl EditedScene {
    pub(super) fn new(scene: Scene, simd: Simd, steppers: &Registry) -> Result<Self, Error> {
        let simulation = Simulation::with_steppers(scene.clone(), simd, steppers)?;
        Ok(Self { started: scene.clone(), scene, simulation, steppers: steppers.clone(), simd })
    }

    /// Restarts with the current scene.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        self.simulation = Simulation::with_steppers(self.scene.clone(), self.simd, &self.steppers)?;
        Ok(())
    }

    /// Restarts with another resolution.
    pub(super) fn scale_resolution(&mut self, factor: f64) -> Result<(), Error> {
        let mut changed = self.scene.clone();
        changed.scale_resolution(factor)?;
        changed.validate()?;
        self.simulation = Simulation::with_steppers(changed.clone(), self.simd, &self.steppers)?;
        self.scene = changed;
        Ok(())
    }

    /// Changes a value of the scene. A rejected change has no effect.
    pub(super) fn set(&mut self, path: &str, value: &str) -> Result<Applied, Error> {
        check_path(path, value)?;
        let set = format!("{path}={value}");
        let name = self.scene.name.clone();
        self.apply(&set).map_err(|error| without_place(&error, &set, &name))
    }

    fn apply(&mut self, set: &str) -> Result<Applied, Error> {
        let changed = match set.split_once("solver.method=") {
            Some(("", name)) => self.with_method(name)?,
            _ => self.with_value(set)?,
        };
        changed.validate()?;
        let applied = match self.reason_to_restart(&changed) {
            None => {
                self.go_over_to(&changed)?;
                Applied::Kept
            }
            Some(reason) => {
                self.simulation = Simulation::with_steppers(changed.clone(), self.simd, &self.steppers)?;
                Applied::Restarted(reason)
            }
        };
        self.scene = changed;
        Ok(applied)
    }

    fn with_value(&self, set: &str) -> Result<Scene, Error> {
        self.read_again(&self.scene, &[set.to_owned()])
    }

    /// As by `--solver`: options that mean nothing to the other method are dropped.
    fn with_method(&self, name: &str) -> Result<Scene, Error> {
        let mut changed = self.scene.clone();
        changed.solver.choose_from(name.trim_matches('"'), &self.steppers)?;
        self.read_again(&changed, &[])
    }

    /// A scene as it would be read from its file: errors then name no lines of the file from which it came.
    fn read_again(&self, scene: &Scene, sets: &[String]) -> Result<Scene, Error> {
        let reader = self.steppers.scene_reader().sets(sets);
        reader.text(&scene.to_toml()?, &scene.name, &scene.folder)
    }

    /// The current scene. Its expectations no longer apply once something has changed.
    pub(super) fn scene_to_save(&self) -> Scene {
        let mut scene = self.scene.clone();
        if scene != self.started {
            scene.expect = Expect::default();
        }
        scene
    }

    /// The reason why the state cannot be kept.
    fn reason_to_restart(&self, changed: &Scene) -> Option<String> {
        let (before, after) = (self.scene.solver.method, changed.solver.method);
        if !after.shares_state_with(before) {
            let (before, after) = (before.name(), after.name());
            return Some(format!("`{after}` uses a different discretisation from `{before}`"));
        }
        let options = (&self.scene.solver.options, &changed.solver.options);
        let table = after.stepper().options();
        if let Some(reason) = table.and_then(|table| table.reason_to_restart(options.0, options.1)) {
            return Some(reason.into());
        }
        if self.scene.time.mode != changed.time.mode {
            return Some("dynamic and quasistatic modes do not share a state".into());
        }
        let self_contact =
            |scene: &Scene| scene.bodies.iter().map(|body| body.self_contact).collect::<Vec<_>>();
        if self_contact(&self.scene) != self_contact(changed) {
            return Some("whether cloth collides with itself is decided before the first step".into());
        }
        (self.scene.contact != changed.contact).then(|| "contact is set up before the first step".into())
    }

    /// Applies changes that are possible between steps.
    fn go_over_to(&mut self, changed: &Scene) -> Result<(), Error> {
        let (scene, simulation) = (&self.scene, &mut self.simulation);
        if scene.bodies != changed.bodies && changed.solver.method == Method::PROJECTIVE {
            // Whether projective dynamics supports all bodies is only known after inspecting them.
            DryRun::with_steppers(changed, &self.steppers).problems.into_iter().next().map_or(Ok(()), Err)?;
        }
        for (before, after) in scene.bodies.iter().zip(&changed.bodies).filter(|(a, b)| a != b) {
            let id = simulation.body(&before.name);
            simulation.change_body(id.ok_or_else(|| missing("body", &before.name))?, after)?;
        }
        for (before, after) in scene.colliders.iter().zip(&changed.colliders).filter(|(a, b)| a != b) {
            let known =
                simulation.scene_state().colliders.iter().find(|(_, other)| other.name == before.name);
            let id = known.map(|(id, _)| *id).ok_or_else(|| missing("collider", &before.name))?;
            simulation.set_collider(id, after.clone())?;
        }
        if scene.world != changed.world {
            simulation.set_world(changed.world.clone())?;
        }
        if scene.solver != changed.solver {
            simulation.set_solver(changed.solver.clone())?;
        }
        Ok(())
    }

    /// Pins the vertex nearest to where a ray meets a body, or releases it; returns whether it is now pinned, and
    /// `None` if the ray hits nothing.
    pub(super) fn toggle_pin(&mut self, ray: &Ray) -> Result<Option<bool>, Error> {
        let Some(picked) = self.simulation.pick(ray) else { return Ok(None) };
        let (body, vertex) = (picked.body, picked.vertex() as usize);
        let id = self.simulation.scene_state().body_ids[body];
        let place = self.simulation.body_positions(id).map(|positions| positions[vertex]);
        let is_it = |point: &PinnedPoint| {
            point.body == body && place.is_some_and(|place| place.distance(point.target) < SAME_PLACE)
        };
        let pinned = self.simulation.pinned_points().find(is_it);
        if let Some(pinned) = pinned {
            self.unpin(&pinned)?;
            return Ok(Some(false));
        }
        let built = &self.simulation.scene_state().bodies[body];
        let selection = Selection::nearest([built.surface_start[vertex]]);
        let pin = Pin::hard(built.name.clone(), selection);
        self.simulation.pin(id, &pin.selection, pin.hold)?;
        self.scene.pins.push(pin);
        Ok(Some(true))
    }

    /// Releases the pinned point nearest to a position; returns whether there was one.
    pub(super) fn unpin_near(&mut self, place: DVec3) -> Result<bool, Error> {
        let distance = |point: &PinnedPoint| point.target.distance_squared(place);
        let nearest = self.simulation.pinned_points().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(Ok(false), |point| self.unpin(&point).map(|()| true))
    }

    fn unpin(&mut self, point: &PinnedPoint) -> Result<(), Error> {
        let index = self.pin_index(point.pin).ok_or_else(|| missing("pin", "held here"))?;
        let points = self.simulation.scene_state().pins[index].points.len();
        self.simulation.unpin_point(point.pin, point.index)?;
        if points == 1 {
            self.scene.pins.remove(index);
        } else {
            let around = Selection::Sphere { center: point.start, radius: AROUND_VERTEX };
            let without = Selection::Not(Box::new(around));
            let selection = &mut self.scene.pins[index].selection;
            match selection {
                Selection::AllOf(parts) => parts.push(without),
                other => {
                    let before = std::mem::replace(other, Selection::All {});
                    *other = Selection::AllOf(vec![before, without]);
                }
            }
        }
        Ok(())
    }

    /// The pins of the scene and of the simulation are in the same order.
    fn pin_index(&self, pin: PinId) -> Option<usize> {
        self.simulation.scene_state().pins.iter().position(|other| other.id == pin)
    }
}

fn missing(kind: &str, name: &str) -> Error {
    Error::Invalid(format!("the {kind} `{name}` is no longer in the simulation: restart it"))
}

/// A rejection for users of the page: mentions neither the `--set` syntax nor lines of a file that they never saw.
fn without_place(error: &Error, set: &str, name: &str) -> Error {
    let text = error.to_string();
    let after_line = |text: &str| {
        let rest = text.strip_prefix(name)?.trim_start_matches([':', ',', ' ']);
        let rest = rest.strip_prefix("line ").unwrap_or(rest);
        let problem = rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(':')?;
        Some(problem.trim_start().to_owned())
    };
    let plain = text.strip_prefix(&format!("--set {set}: ")).map(str::to_owned);
    Error::Invalid(plain.or_else(|| after_line(&text)).unwrap_or(text))
}

/// Files and shapes stay as they were at the start; the page only changes numbers and choices.
fn check_path(path: &str, value: &str) -> Result<(), Error> {
    let parts: Vec<&str> = path.split('.').collect();
    let open = match parts[..] {
        ["body", _, part, ..] => OPEN_IN_BODY.contains(&part),
        ["collider", _, part, ..] => OPEN_IN_COLLIDER.contains(&part),
        [part, _, ..] => OPEN.contains(&part),
        _ => false,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !open || !path.chars().all(plain) {
        return Err(Error::Invalid(format!(
            "`{path}` cannot be changed while the scene runs: save the scene, change the file and start it again"
        )));
    }
    if value.len() > MAX_VALUE_LENGTH {
        return Err(Error::Invalid(format!("the value for `{path}` is too long")));
    }
    if value.contains(['\n', '\r']) {
        return Err(Error::Invalid(format!("the value for `{path}` must be on one line")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> EditedScene {
        let mut scene = Scene::builtin("hanging-cloth").unwrap();
        scene.scale_resolution(0.05).unwrap();
        let mut subject = EditedScene::new(scene, Simd::Auto, &Registry::builtin()).unwrap();
        for _ in 0..3 {
            subject.simulation.step(1.0 / 30.0).unwrap();
        }
        subject
    }

    #[test]
    fn changes_within_a_discretisation_keep_the_state_and_stand_in_the_scene() {
        for (path, value) in [
            ("solver.linear", "mas"),
            ("solver.method", "lbfgs"),
            ("solver.tolerance", "1e-3"),
            ("time.substeps", "2"),
            ("world.gravity", "[0, -1.6, 0]"),
            ("world.wind", "[3, 0, 0]"),
            ("body.0.material.stretch_stiffness", "500"),
            ("body.0.material.poisson_ratio", "0.2"),
            ("body.0.material", "\"silk\""),
        ] {
            let mut subject = subject();
            let (before, time) = (subject.simulation.positions().to_vec(), subject.simulation.time());
            assert_eq!(subject.set(path, value).unwrap(), Applied::Kept, "{path}");
            assert_eq!((subject.simulation.positions(), subject.simulation.time()), (&before[..], time));
            subject.simulation.step(1.0 / 30.0).unwrap();
            let saved = subject.scene.to_toml().unwrap();
            let name = path.rsplit('.').next().unwrap();
            assert!(saved.contains(name), "{path}: {saved}");
            let read = Scene::from_toml(&saved, "saved", ".").unwrap();
            assert_eq!(read.solver, subject.scene.solver);
            assert_eq!((read.bodies, read.world), (subject.scene.bodies, subject.scene.world));
        }
    }

    #[test]
    fn another_discretisation_begins_again_and_says_so() {
        let mut subject = subject();
        let applied = subject.set("solver.method", "hpbd").unwrap();
        assert!(matches!(applied, Applied::Restarted(reason) if reason.contains("discretisation")));
        assert_eq!(subject.simulation.time(), 0.0);
        subject.simulation.step(1.0 / 120.0).unwrap();
    }

    #[test]
    fn a_preset_replaces_all_numbers_of_a_material() {
        let mut subject = subject();
        subject.set("body.0.material.stretch_stiffness", "222").unwrap();
        assert_eq!(subject.set("body.0.material", "\"silk\"").unwrap(), Applied::Kept);
        assert_eq!(subject.scene.bodies[0].material, "silk".into());
    }

    #[test]
    fn self_contact_is_switched_from_the_start() {
        let mut subject = subject();
        let switched = (subject.scene.bodies[0].self_contact != Some(true)).to_string();
        let applied = subject.set("body.0.self_contact", &switched).unwrap();
        assert!(matches!(applied, Applied::Restarted(reason) if reason.contains("collides with itself")));
        assert_eq!(subject.simulation.time(), 0.0);
    }

    #[test]
    fn another_method_drops_options_of_the_one_before() {
        let mut subject = subject();
        subject.set("solver.velocity_tolerance", "0.01").unwrap();
        subject.set("solver.method", "\"hpbd\"").unwrap();
        assert_eq!(subject.scene.solver.velocity_tolerance, None);
    }

    #[test]
    fn refused_changes_say_why_and_change_nothing() {
        let mut subject = subject();
        let (scene, before) = (subject.scene.clone(), subject.simulation.positions().to_vec());
        for (path, value, reason) in [
            ("solver.tolerance", "7", "below 1"),
            ("solver.method", "magic", "magic"),
            ("solver.nonsense", "1", "nonsense"),
            ("body.0.material.poisson_ratio", "0.7", "poisson_ratio"),
            ("body.0.shape.file", "\"/etc/passwd\"", "cannot be changed"),
            ("output.formats", "[\"usd\"]", "cannot be changed"),
            ("", "", "cannot be changed"),
            ("solver.tolerance", &"9".repeat(1000), "too long"),
            ("solver.tolerance", "0.1\n", "one line"),
            ("solver.method", "octree", "octree"),
        ] {
            let error = subject.set(path, value).unwrap_err().to_string();
            assert!(!error.contains("--set") && !error.contains("hanging-cloth"), "{error}");
            assert!(error.contains(reason), "{path}={value}: {error}");
            assert_eq!(subject.scene, scene);
            assert_eq!(subject.simulation.positions(), before);
        }
    }

    #[test]
    fn expectations_are_saved_only_with_a_scene_that_is_as_it_was() {
        let mut subject = subject();
        assert!(subject.scene.expect != Expect::default());
        assert_eq!(subject.scene_to_save(), subject.scene);
        subject.set("world.gravity", "[0, -20, 0]").unwrap();
        assert_eq!(subject.scene_to_save().expect, Expect::default());
    }

    #[test]
    fn another_lattice_begins_again_and_other_sweeps_keep_the_state() {
        let mut scene = Scene::builtin("elastic-box").unwrap();
        scene.scale_resolution(0.4).unwrap();
        let mut subject = EditedScene::new(scene, Simd::Auto, &Registry::builtin()).unwrap();
        subject.simulation.step(0.01).unwrap();
        let before = subject.simulation.positions().to_vec();
        assert_eq!(subject.set("solver.staggered.boundary_sweeps", "2").unwrap(), Applied::Kept);
        assert_eq!(subject.simulation.positions(), before);
        let applied = subject.set("solver.staggered.padding", "1").unwrap();
        assert_eq!(applied, Applied::Restarted("the lattice has changed".into()));
        assert_ne!(subject.simulation.positions(), before);
    }

    #[test]
    fn a_click_pins_a_vertex_another_lets_it_go_and_the_scene_says_both() {
        let mut subject = subject();
        let pinned = |subject: &EditedScene| subject.simulation.pinned_points().count();
        let in_scene = |subject: &EditedScene| {
            let again = Simulation::new(subject.scene.clone()).unwrap();
            again.pinned_points().count()
        };
        assert_eq!(pinned(&subject), 2);
        let middle = subject.simulation.positions()[subject.simulation.positions().len() / 2];
        let ray = Ray { origin: middle + DVec3::Y, direction: -DVec3::Y };
        assert_eq!(subject.toggle_pin(&ray).unwrap(), Some(true));
        assert_eq!((pinned(&subject), in_scene(&subject)), (3, 3));
        assert_eq!(subject.toggle_pin(&ray).unwrap(), Some(false));
        assert_eq!((pinned(&subject), in_scene(&subject)), (2, 2));
        assert!(subject.unpin_near(DVec3::new(-1.0, 2.5, -1.0)).unwrap());
        assert_eq!((pinned(&subject), in_scene(&subject)), (1, 1));
        assert!(subject.unpin_near(DVec3::ZERO).unwrap());
        assert!(!subject.unpin_near(DVec3::ZERO).unwrap());
        assert_eq!((pinned(&subject), in_scene(&subject)), (0, 0));
        subject.simulation.step(1.0 / 30.0).unwrap();
        let miss = Ray { origin: DVec3::splat(100.0), direction: DVec3::Y };
        assert_eq!(subject.toggle_pin(&miss).unwrap(), None);
    }
}
