//! Everything that is wrong with a scene, as far as it is known without its meshes.

pub(crate) mod body;
pub(crate) mod pairs;
pub(crate) mod parts;
pub(crate) mod supported;

use std::path::Path;

use serde::Serialize;

use crate::output::ExportFormat;
use crate::scene::check::supported::unsupported;
use crate::scene::{
    Collider, ColliderShape, Expect, Follow, Motion, Pin, PinStrength, Placement, Scene, Selection,
    Unsupported,
};
use supple_core::Error;
use supple_core::text::number::{Short, finite_and};
use supple_core::text::suggest::{did_you_mean, list};

/// Something that `run` would refuse.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Problem {
    /// Where: dotted, array elements by number (`body.0.shape.grid`); empty for the scene as a whole.
    pub place: String,
    /// What is wrong, with file and line where they are known.
    pub error: Error,
}

impl Scene {
    /// Everything that is known to be wrong without loading meshes: names, references, numbers, missing files,
    /// and unsupported features. Empty if the scene is fine.
    pub fn check(&self) -> Vec<Problem> {
        self.check_by(|checker| {
            checker.settings();
            checker.bodies();
            checker.pins();
            checker.seams();
            checker.colliders();
            checker.pairs();
        })
    }

    /// The problems found by `parts` and the checks of the scene as a whole.
    pub(crate) fn check_by(&self, parts: impl FnOnce(&mut Checker<'_>)) -> Vec<Problem> {
        let mut checker = Checker { scene: self, problems: Vec::new(), generated_bytes: 0.0 };
        parts(&mut checker);
        checker.not_finite();
        checker.missing_files();
        for Unsupported { place, what } in unsupported(self) {
            let error = Error::NotSupported(format!("{}{what}", self.source.prefix(&place)));
            checker.problems.push(Problem { place, error });
        }
        checker.problems
    }

    /// The first problem of [`Scene::check`] as an error.
    pub fn validate(&self) -> Result<(), Error> {
        self.check().into_iter().next().map_or(Ok(()), |problem| Err(problem.error))
    }
}

/// Collects problems.
pub(crate) struct Checker<'a> {
    pub(crate) scene: &'a Scene,
    problems: Vec<Problem>,
    /// Memory that generated shapes will need, as far as their vertices say it.
    generated_bytes: f64,
}

impl Checker<'_> {
    /// Records a problem at a place.
    pub(crate) fn wrong(&mut self, place: &str, problem: String) {
        let error = self.scene.error_at(place, problem);
        self.problems.push(Problem { place: place.to_owned(), error });
    }

    /// How many problems are recorded.
    pub(crate) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Records an invalid number; the place's last part is the key.
    pub(crate) fn number(&mut self, place: &str, value: f64, fine: bool, must: &str) {
        if !fine {
            let key = place.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(place);
            self.wrong(place, format!("`{key}` is {}; it must be {must}", Short(value)));
        }
    }

    /// A number that must be above 0.
    pub(crate) fn positive(&mut self, place: &str, value: f64) {
        self.number(place, value, value > 0.0 && value.is_finite(), &finite_and(value, "above 0"));
    }

    pub(crate) fn at_least_zero(&mut self, place: &str, value: f64) {
        self.number(place, value, value >= 0.0 && value.is_finite(), &finite_and(value, "0 or above"));
    }

    pub(crate) fn count(&mut self, place: &str, value: u32, least: u32, most: u32) {
        self.number(place, value.into(), (least..=most).contains(&value), &format!("{least} to {most}"));
    }

    pub(crate) fn settings(&mut self) {
        let Scene { time, world, contact, solver, output, expect, .. } = self.scene;
        self.number("time.fps", time.fps, (0.001..=1e5).contains(&time.fps), "0.001 to 100000");
        self.count("time.frames", time.frames, 0, 1_000_000);
        self.count("time.substeps", time.substeps, 1, 10_000);
        self.number("world.gust", world.gust, (0.0..=1.0).contains(&world.gust), "0 to 1");
        if let Some(density) = world.air_density {
            self.at_least_zero("world.air_density", density);
        }
        if let Some(thickness) = contact.thickness {
            self.positive("contact.thickness", thickness);
        }
        if let Some(stiffness) = contact.stiffness {
            self.positive("contact.stiffness", stiffness);
        }
        let tolerance = solver.gradient_tolerance();
        self.number("solver.tolerance", tolerance, tolerance > 0.0 && tolerance < 1.0, "above 0 and below 1");
        self.count("solver.max_iterations", solver.max_iterations, 1, 1_000_000);
        if let Some(Err(problem)) = solver.linear.as_ref().map(supple_linear::LinearOptions::check) {
            self.wrong("solver.linear", problem.to_string());
        } else if let Err(problem) = solver.check() {
            self.wrong("solver", problem.to_string());
        }
        self.count("output.every", output.every, 1, u32::MAX);
        if let Some(every) = output.checkpoint_every {
            self.count("output.checkpoint_every", every, 1, u32::MAX);
        }
        let known = ExportFormat::ALL.map(ExportFormat::name);
        for (i, format) in output.formats.iter().enumerate() {
            if !known.contains(&format.as_str()) {
                let (hint, known) = (did_you_mean(format, known), list(known));
                self.wrong(
                    &format!("output.formats.{i}"),
                    format!("`{format}` is not an export format{hint} Available: {known}"),
                );
            }
        }
        self.expectations(expect);
    }

    fn expectations(&mut self, expect: &Expect) {
        let bounds = [
            ("max_stretch", expect.max_stretch),
            ("p99_stretch", expect.p99_stretch),
            ("residual", expect.residual),
            ("penetration", expect.penetration),
            ("min_volume_ratio", expect.min_volume_ratio),
        ];
        for (key, bound) in bounds {
            if let Some(bound) = bound {
                self.at_least_zero(&format!("expect.{key}"), bound);
            }
        }
        if let Some([low, high]) = expect.height {
            self.ordered("expect.height", low, high);
        }
    }

    fn ordered(&mut self, place: &str, low: f64, high: f64) {
        if low > high {
            let (low, high) = (Short(low), Short(high));
            self.wrong(place, format!("the first number, {low}, is above the second, {high}"));
        }
    }

    /// A name: present, unique, and usable in file names.
    pub(crate) fn name(&mut self, place: &str, kind: &str, name: &str, earlier: &[&str]) {
        let place = format!("{place}.name");
        let bad = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
        if name.trim().is_empty() {
            self.wrong(&place, format!("a {kind} needs a name"));
        } else if name.contains(bad) || name.starts_with('.') || name.len() > 100 {
            let rule = "names become file names: at most 100 characters, without / \\ : * ? \" < > | and no dot first";
            self.wrong(&place, format!("`{}` cannot be a {kind}'s name; {rule}", name.escape_debug()));
        } else if earlier.contains(&name) {
            self.wrong(&place, format!("an earlier {kind} is also called `{name}`; names must be unique"));
        }
    }

    pub(crate) fn known(&mut self, place: &str, kind: &str, name: &str, names: &[&str]) {
        if !names.contains(&name) {
            let hint = did_you_mean(name, names.iter().copied());
            let known = if names.is_empty() {
                "The scene has none".into()
            } else {
                format!("Available: {}", list(names.iter().copied()))
            };
            self.wrong(place, format!("there is no {kind} called `{name}`{hint} {known}"));
        }
    }

    fn pins(&mut self) {
        let scene = self.scene;
        let bodies: Vec<&str> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
        let colliders: Vec<&str> = scene.colliders.iter().map(|collider| collider.name.as_str()).collect();
        for (i, pin) in scene.pins.iter().enumerate() {
            let place = format!("pin.{i}");
            self.known(&format!("{place}.body"), "body", &pin.body, &bodies);
            self.pin(&place, pin);
            if let Some(Follow::Collider(name)) = &pin.follows {
                self.known(&format!("{place}.follows.collider"), "collider", name, &colliders);
                let followed = scene.colliders.iter().find(|collider| collider.name == *name);
                if let Some(motion) = followed.and_then(|collider| collider.motion.as_ref()) {
                    self.no_jump(&format!("{place}.follows.collider"), motion);
                }
            }
        }
    }

    /// A pin without the names it refers to.
    pub(crate) fn pin(&mut self, place: &str, pin: &Pin) {
        self.selection(&format!("{place}.selection"), &pin.selection);
        if let PinStrength::Stiffness(stiffness) = pin.hold {
            self.positive(&format!("{place}.stiffness"), stiffness);
        }
        match &pin.follows {
            Some(Follow::Keyframes(motion)) => {
                self.motion(&format!("{place}.follows"), motion);
                self.no_jump(&format!("{place}.follows.keyframes"), motion);
            }
            Some(
                Follow::GltfSkin { blend_in: Some(seconds), .. }
                | Follow::MeshSequence { blend_in: Some(seconds), .. },
            ) => self.at_least_zero(&format!("{place}.follows.blend_in"), *seconds),
            _ => {}
        }
        if let Some([from, to]) = pin.during {
            self.ordered(&format!("{place}.during"), from, to);
        }
    }

    fn seams(&mut self) {
        let scene = self.scene;
        let bodies: Vec<&str> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
        for (i, seam) in scene.seams.iter().enumerate() {
            for (s, (body, selection)) in seam.bodies.iter().zip(&seam.selections).enumerate() {
                self.known(&format!("seam.{i}.bodies.{s}"), "body", body, &bodies);
                self.selection(&format!("seam.{i}.selections.{s}"), selection);
            }
            self.at_least_zero(&format!("seam.{i}.closes"), seam.closes);
        }
    }

    pub(crate) fn colliders(&mut self) {
        let scene = self.scene;
        let names: Vec<&str> = scene.colliders.iter().map(|collider| collider.name.as_str()).collect();
        for (i, collider) in scene.colliders.iter().enumerate() {
            let place = format!("collider.{i}");
            self.name(&place, "collider", &collider.name, &names[..i]);
            self.collider_shape(&format!("{place}.shape"), &collider.shape);
            self.collider_transform(&format!("{place}.transform"), collider);
            match collider.stiffness {
                Some(stiffness) => {
                    self.positive(&format!("{place}.stiffness"), stiffness);
                    self.at_least_zero(&format!("{place}.thickness"), collider.thickness);
                }
                None => self.positive(&format!("{place}.thickness"), collider.thickness),
            }
            if let Some(friction) = collider.friction {
                self.at_least_zero(&format!("{place}.friction"), friction);
            }
            if let Some(motion) = &collider.motion {
                self.motion(&format!("{place}.motion"), motion);
            }
        }
    }

    fn collider_shape(&mut self, place: &str, shape: &ColliderShape) {
        match shape {
            ColliderShape::Plane { normal, .. } => self.direction(&format!("{place}.plane.normal"), *normal),
            ColliderShape::Sphere { radius, .. } => self.positive(&format!("{place}.sphere.radius"), *radius),
            ColliderShape::Capsule { radius, .. } => {
                self.positive(&format!("{place}.capsule.radius"), *radius)
            }
            ColliderShape::Box { size, .. } => {
                size.to_array()
                    .into_iter()
                    .for_each(|side| self.positive(&format!("{place}.box.size"), side));
            }
            ColliderShape::Mesh(mesh) => {
                self.positive(&format!("{place}.scale"), mesh.scale);
                if let Some(seconds) = mesh.blend_in {
                    self.at_least_zero(&format!("{place}.blend_in"), seconds);
                }
            }
        }
    }

    fn collider_transform(&mut self, place: &str, collider: &Collider) {
        self.positive(&format!("{place}.scale"), collider.transform.scale);
        let is_mesh = matches!(collider.shape, ColliderShape::Mesh(_));
        if !is_mesh && collider.transform != Placement::default() {
            let problem = "`transform` places a `mesh`; other shapes have their places in `shape`, and a `motion` turns them";
            self.wrong(place, problem.to_owned());
        }
    }

    fn direction(&mut self, place: &str, normal: glam::DVec3) {
        if normal.length() < 1e-100 {
            self.wrong(place, "`normal` is zero; it must point to a side".to_owned());
        }
    }

    /// A motion of pinned points, which would tear the rest of their body along.
    fn no_jump(&mut self, place: &str, motion: &Motion) {
        if let Some(key) = motion.keyframes.iter().find(|key| key.jump) {
            let time = Short(key.time);
            let problem = format!(
                "pinned points cannot `jump`, as the motion does at {time} s: the rest of their body stays; only colliders can"
            );
            self.wrong(place, problem);
        }
    }

    fn motion(&mut self, place: &str, motion: &Motion) {
        if motion.keyframes.is_empty() {
            self.wrong(&format!("{place}.keyframes"), "there is no keyframe; add at least one".to_owned());
        }
        for (i, key) in motion.keyframes.iter().enumerate() {
            if let Some(scale) = key.scale {
                self.positive(&format!("{place}.keyframes.{i}.scale"), scale);
            }
            if i > 0 && key.time <= motion.keyframes[i - 1].time {
                let (before, now) = (Short(motion.keyframes[i - 1].time), Short(key.time));
                self.wrong(
                    &format!("{place}.keyframes.{i}.time"),
                    format!("the keyframe at {now} s comes after that at {before} s; times must increase"),
                );
            }
        }
    }

    /// The numbers of a selection; which points it selects is known only with the mesh.
    pub(crate) fn selection(&mut self, place: &str, selection: &Selection) {
        match selection {
            Selection::Box { min, max } => {
                for (low, high) in min.to_array().into_iter().zip(max.to_array()) {
                    if low > high {
                        let (low, high) = (Short(low), Short(high));
                        let problem = format!("`min` has {low} where `max` has {high}; the box is empty");
                        self.wrong(&format!("{place}.box"), problem);
                    }
                }
            }
            Selection::Sphere { radius, .. } => {
                self.at_least_zero(&format!("{place}.sphere.radius"), *radius)
            }
            Selection::Plane { normal, .. } => self.direction(&format!("{place}.plane.normal"), *normal),
            Selection::Nearest(points) if points.is_empty() => {
                self.wrong(&format!("{place}.nearest"), "`nearest` names no point".to_owned());
            }
            Selection::Indices(vertices) if vertices.is_empty() => {
                self.wrong(&format!("{place}.indices"), "`indices` is empty".to_owned());
            }
            Selection::Color(color) => {
                for &part in color {
                    let fine = (0.0..=1.0).contains(&part);
                    self.number(&format!("{place}.color"), part.into(), fine, "0 to 1 in each component");
                }
            }
            Selection::InsideMesh(mesh) => self.positive(&format!("{place}.inside-mesh.scale"), mesh.scale),
            Selection::Any(parts) => self.parts(&format!("{place}.any"), parts),
            Selection::AllOf(parts) => self.parts(&format!("{place}.all-of"), parts),
            Selection::Not(part) => self.selection(&format!("{place}.not"), part),
            _ => {}
        }
    }

    fn parts(&mut self, place: &str, parts: &[Selection]) {
        if parts.is_empty() {
            self.wrong(place, "the list of selections is empty".to_owned());
        }
        parts.iter().enumerate().for_each(|(i, part)| self.selection(&format!("{place}.{i}"), part));
    }

    /// Non-finite numbers anywhere, unless reported already.
    fn not_finite(&mut self) {
        match self.scene.serialize(toml_edit::ser::ValueSerializer::new()) {
            Ok(value) => self.not_finite_in(&value, String::new()),
            Err(error) => self.wrong("", format!("the scene cannot be written as TOML: {error}")),
        }
    }

    /// Whether a problem at this place or at an enclosing key is known already.
    fn is_noted(&self, place: &str) -> bool {
        self.problems.iter().any(|problem| {
            place.strip_prefix(&problem.place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    fn not_finite_in(&mut self, value: &toml_edit::Value, place: String) {
        let inner = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
        match value {
            toml_edit::Value::Float(number) if !number.value().is_finite() && !self.is_noted(&place) => {
                self.number(&place, *number.value(), false, "a finite number");
            }
            toml_edit::Value::InlineTable(table) => {
                table.iter().for_each(|(key, v)| self.not_finite_in(v, inner(key)))
            }
            toml_edit::Value::Array(values) => {
                values.iter().enumerate().for_each(|(i, v)| self.not_finite_in(v, inner(&i.to_string())));
            }
            _ => {}
        }
    }

    fn missing_files(&mut self) {
        let mut scene = self.scene.clone();
        for file in scene.files_mut() {
            // A sequence is named by a pattern, which its reader expands.
            let is_pattern = file.place.starts_with("collider.") && file.path.to_string_lossy().contains('#');
            if !file.place.ends_with(".mesh-sequence") && !is_pattern {
                self.file(&file.place, file.path);
            }
        }
    }

    fn file(&mut self, place: &str, path: &Path) {
        let may_be_a_folder = place.starts_with("collider.");
        if !path.exists() {
            let problem =
                format!("there is no file {}; names are relative to the scene file", path.display());
            self.wrong(place, problem);
        } else if path.is_dir() && !may_be_a_folder {
            self.wrong(place, format!("{} is a folder; name a file", path.display()));
        }
    }
}
