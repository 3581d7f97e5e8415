//! Advice for simulations that are too slow to play with. It is given by measured speeds only, and never followed
//! without the user.
//!
//! | rule | constant |
//! | --- | --- |
//! | a simulation is slow below this speed, and below half of the speed that was asked for | [`SLOW`] |
//! | measured for at least this long since the last change | [`LEAST_TIME`] |
//! | first advice: a method of fixed work per step that can take the scene, unless it was measured here and is no faster | [`FASTER`] |
//! | else the fastest method that was measured on this scene before | [`FASTER`] |
//! | else, in `hpbd`, longer small steps: fewer of them are less work, and stretch more | [`QUICK_STEP`], [`LONGEST_STEP`] |
//! | else half the resolution, where shapes are generated | [`LEAST_VERTICES`] |

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use supple::scene::{Method, Scene};
use supple::simulation::Registry;
use supple::solvers::hpbd::HpbdOptions;

/// Multiple of real time below which a simulation is slow.
const SLOW: f64 = 0.25;
/// How long a speed is measured before there is advice.
const LEAST_TIME: Duration = Duration::from_secs(3);
/// A method is faster than another if it was measured this many times faster.
const FASTER: f64 = 2.0;
/// The small steps in seconds by which `hpbd` is quick; by itself it takes far shorter ones.
const QUICK_STEP: f64 = 0.004;
/// Longer small steps stretch visibly.
const LONGEST_STEP: f64 = 0.016;
/// Smaller simulations are not made coarser.
const LEAST_VERTICES: usize = 400;

/// Something that the user may do, with the requests that do it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Offer {
    text: String,
    label: String,
    requests: Vec<Value>,
}

/// What is simulated.
pub(super) struct Subject<'a> {
    pub(super) scene: &'a Scene,
    pub(super) vertices: usize,
    pub(super) steppers: &'a Registry,
}

/// Watches the speed.
pub(super) struct Advisor {
    since: Instant,
    offer: Option<Offer>,
    /// The latest speed of each method on this scene, with the number of vertices.
    measured: Vec<(Method, usize, f64)>,
}

impl Advisor {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), offer: None, measured: Vec::new() }
    }

    /// Something has changed: the speed so far says nothing about it.
    pub(super) fn restart(&mut self) {
        (self.since, self.offer) = (Instant::now(), None);
    }

    /// The current advice.
    pub(super) fn offer(&self) -> Option<&Offer> {
        self.offer.as_ref()
    }

    /// After a step: `rate` is the achieved speed, `wanted` the one asked for, both as multiples of real time.
    pub(super) fn look(&mut self, subject: &Subject<'_>, rate: Option<f64>, wanted: Option<f64>) {
        let Some(rate) = rate.filter(|_| self.since.elapsed() >= LEAST_TIME) else { return };
        let method = subject.scene.solver.method;
        let is_it = |known: &(Method, usize, f64)| known.0 == method && known.1 == subject.vertices;
        self.measured.retain(|known| !is_it(known));
        self.measured.push((method, subject.vertices, rate));
        let bound = SLOW.min(0.5 * wanted.unwrap_or(1.0));
        if rate >= FASTER * bound {
            self.offer = None;
        } else if rate < bound && self.offer.is_none() {
            self.offer = self.find(subject, rate);
        }
    }

    fn find(&self, subject: &Subject<'_>, rate: f64) -> Option<Offer> {
        let Subject { scene, vertices, steppers } = *subject;
        let known = |method: Method| {
            self.measured.iter().find(|known| known.0 == method && known.1 == vertices).map(|known| known.2)
        };
        let is_faster = |method: Method| known(method).is_none_or(|other| other >= FASTER * rate);
        let current = scene.solver.method;
        let now = format!("This runs at {} times real time", brief(rate));
        let untried = steppers.methods().find(|&method| {
            method != current
                && method.traits().fixed_work
                && is_faster(method)
                && can_take(scene, method, steppers)
        });
        if let Some(method) = untried {
            let (title, name, about) = (method.title(), method.name(), method.about());
            let mut offer = to_method(
                method,
                format!("{now}. “{title}” ({name}) may be quick enough to play with. {about}."),
                format!("Try {name}"),
            );
            let is_by_mesh = scene.solver.options.get::<HpbdOptions>().longest_step.is_none();
            if method == Method::HPBD && is_by_mesh {
                offer.requests.push(with_small_steps(QUICK_STEP));
            }
            return Some(offer);
        }
        let others = self.measured.iter().filter(|known| known.1 == vertices && known.2 >= FASTER * rate);
        if let Some(&(method, _, before)) = others.max_by(|a, b| a.2.total_cmp(&b.2)) {
            let text = format!("{now}; with {} it ran at {} times.", method.name(), brief(before));
            return Some(to_method(method, text, format!("Go back to {}", method.name())));
        }
        let small_step = scene.solver.options.get::<HpbdOptions>().longest_step.unwrap_or(0.0);
        if current == Method::HPBD && small_step < LONGEST_STEP {
            let longer = (4.0 * small_step).clamp(QUICK_STEP, LONGEST_STEP);
            return Some(Offer {
                text: format!(
                    "{now}. Small steps of {:.0} ms are less work, and stretch more.",
                    1e3 * longer
                ),
                label: "Take longer small steps".into(),
                requests: vec![with_small_steps(longer)],
            });
        }
        let mut coarser = scene.clone();
        let is_coarser = vertices >= LEAST_VERTICES
            && coarser.scale_resolution(0.5).is_ok()
            && coarser.bodies != scene.bodies
            && coarser.validate().is_ok();
        is_coarser.then(|| Offer {
            text: format!("{now} with {vertices} vertices. Half the resolution is several times faster."),
            label: "Halve the resolution".into(),
            requests: vec![json!({ "type": "resolution", "factor": 0.5 })],
        })
    }
}

fn to_method(method: Method, text: String, label: String) -> Offer {
    let request = json!({ "type": "set", "path": "solver.method", "value": method.name() });
    Offer { text, label, requests: vec![request] }
}

fn with_small_steps(seconds: f64) -> Value {
    json!({ "type": "set", "path": "solver.hpbd.longest_step", "value": seconds.to_string() })
}

fn can_take(scene: &Scene, method: Method, steppers: &Registry) -> bool {
    let mut changed = scene.clone();
    // Cells are for solids, which methods of fixed work may refuse only when they are built.
    let is_cloth = scene.bodies.iter().all(|body| body.cell.is_none());
    is_cloth && changed.solver.choose_from(method.name(), steppers).is_ok() && changed.validate().is_ok()
}

/// Two digits.
fn brief(rate: f64) -> String {
    let digits = (1.0 - rate.max(1e-6).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{rate:.digits$}")
}

#[cfg(test)]
mod tests {
    use supple::linear::Simd;

    use super::super::changes::EditedScene;
    use super::*;

    fn advised(advisor: &mut Advisor, scene: &Scene, rate: f64, wanted: Option<f64>) -> Option<Offer> {
        let steppers = Registry::builtin();
        advisor.restart();
        advisor.since = advisor.since.checked_sub(LEAST_TIME).unwrap();
        let subject = Subject { scene, vertices: 40_401, steppers: &steppers };
        advisor.look(&subject, Some(rate), wanted);
        advisor.offer().cloned()
    }

    #[test]
    fn advice_follows_the_measured_speed() {
        let scene = Scene::builtin("hanging-cloth").unwrap();
        let advised = |rate, wanted| advised(&mut Advisor::new(), &scene, rate, wanted);
        assert_eq!(advised(1.0, Some(1.0)), None);
        assert_eq!(advised(0.3, Some(1.0)), None);
        assert_eq!(advised(0.1, Some(0.1)), None, "the user asked for slow motion");
        assert_eq!(advised(0.02, Some(1.0)).unwrap().requests[0]["value"], "hpbd");
        assert_eq!(advised(0.02, None).unwrap().requests[0]["value"], "hpbd");
    }

    #[test]
    fn nothing_is_advised_before_the_speed_is_known() {
        let scene = Scene::builtin("hanging-cloth").unwrap();
        let (mut advisor, steppers) = (Advisor::new(), Registry::builtin());
        let subject = Subject { scene: &scene, vertices: 40_401, steppers: &steppers };
        advisor.look(&subject, Some(0.001), Some(1.0));
        assert_eq!(advisor.offer(), None);
    }

    #[test]
    fn a_method_that_was_no_faster_is_not_offered_again() {
        let newton = Scene::builtin("hanging-cloth").unwrap();
        let mut hpbd = newton.clone();
        hpbd.solver = hpbd
            .solver
            .with_options(HpbdOptions { longest_step: Some(LONGEST_STEP), ..HpbdOptions::default() });
        hpbd.solver.choose("hpbd").unwrap();
        let mut advisor = Advisor::new();
        assert_eq!(advised(&mut advisor, &newton, 0.04, Some(1.0)).unwrap().requests[0]["value"], "hpbd");
        let after = advised(&mut advisor, &hpbd, 0.03, Some(1.0)).unwrap();
        assert_eq!(after.requests, [json!({ "type": "resolution", "factor": 0.5 })]);
        assert_eq!(
            advised(&mut advisor, &newton, 0.04, Some(1.0)).unwrap().requests[0]["type"],
            "resolution"
        );
        // One that was much faster is.
        assert_eq!(advised(&mut advisor, &hpbd, 0.01, Some(1.0)).unwrap().requests[0]["value"], "newton");
    }

    #[test]
    fn small_steps_grow_before_the_resolution_falls() {
        let mut scene = Scene::builtin("flag-hpbd").unwrap();
        let mut steps = Vec::new();
        for _ in 0..10 {
            let offer = advised(&mut Advisor::new(), &scene, 0.01, Some(1.0)).unwrap();
            let request = &offer.requests[0];
            if request["type"] == "resolution" {
                break;
            }
            assert_eq!(request["path"], "solver.hpbd.longest_step");
            let longest_step: f64 = request["value"].as_str().unwrap().parse().unwrap();
            steps.push(longest_step);
            let options = HpbdOptions { longest_step: Some(longest_step), ..HpbdOptions::default() };
            scene.solver = scene.solver.with_options(options);
        }
        assert!(
            steps.windows(2).all(|pair| pair[0] < pair[1]) && steps.last() == Some(&LONGEST_STEP),
            "{steps:?}"
        );
    }

    #[test]
    fn what_is_offered_can_be_done() {
        let mut scene = Scene::builtin("demo").unwrap();
        scene.scale_resolution(0.2).unwrap();
        let offer = advised(&mut Advisor::new(), &scene, 0.01, Some(1.0)).unwrap();
        let mut subject = EditedScene::new(scene, Simd::Auto, &Registry::builtin()).unwrap();
        assert_eq!(offer.requests.len(), 2);
        for request in &offer.requests {
            let text = |key: &str| request[key].as_str().unwrap();
            subject.set(text("path"), text("value")).unwrap();
        }
        assert_eq!(subject.scene.solver.method, Method::HPBD);
        assert_eq!(subject.scene.solver.options.get::<HpbdOptions>().longest_step, Some(QUICK_STEP));
    }

    #[test]
    fn solids_are_not_offered_a_method_for_cloth() {
        let scene = Scene::builtin("octopus").unwrap();
        let offer = advised(&mut Advisor::new(), &scene, 0.01, Some(1.0));
        assert!(offer.is_none_or(|offer| offer.requests[0]["type"] == "resolution"));
    }
}
