//! A generated figure that walks in place: capsules over a skeleton, blended into one closed surface, whose vertices follow the limbs that
//! they are nearest to. It is 1.7 m tall, stands on `y = 0`, faces `+z`, and is modelled with its arms held away from the body.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use crate::SurfaceMesh;
use crate::implicit::{ImplicitShape, surface};
use supple_core::Error;

/// Width of the blend between limbs, in metres.
const BLEND: f64 = 0.03;
/// A vertex follows the limbs that are farther from it than the nearest one by less than this, in metres.
const FOLLOWED: f64 = 0.07;
/// Seconds of a walking cycle of two steps.
const PERIOD: f64 = 1.2;
/// Keys of a cycle; the last one is the first one again.
const KEYS: u32 = 24;

/// A joint of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// The joint it hangs from; earlier in the list.
    pub parent: Option<usize>,
    /// Where it is modelled, in metres.
    pub position: DVec3,
    /// Its rotations at the times of the animation; empty if it does not turn.
    pub turns: Vec<DQuat>,
}

/// A surface with its skeleton and an animation of it, to be written to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Triangles, in metres.
    pub surface: SurfaceMesh,
    /// The joints, parents first.
    pub joints: Vec<Joint>,
    /// For each vertex four joints and their weights, which sum to one.
    pub weights: Vec<[(u32, f64); 4]>,
    /// The animation's name.
    pub animation: String,
    /// The times of the keys in seconds.
    pub times: Vec<f64>,
}

/// A joint while the figure is built, with the shapes that follow it.
struct Limb {
    joint: Joint,
    shape: ImplicitShape,
}

/// The walking figure, with edges of about `cell` metres.
pub fn walking_figure(cell: f64) -> Result<Figure, Error> {
    let limbs = limbs();
    let of = limbs.iter().map(|limb| limb.shape.clone()).collect();
    let surface = surface(&ImplicitShape::Union { of, blend: BLEND }, cell)?;
    let weights = surface.positions.iter().map(|p| weights(*p, &limbs)).collect();
    let times = (0..=KEYS).map(|key| PERIOD * f64::from(key) / f64::from(KEYS)).collect();
    let joints = limbs.into_iter().map(|limb| limb.joint).collect();
    Ok(Figure { surface, joints, weights, animation: "Walk".to_owned(), times })
}

fn limbs() -> Vec<Limb> {
    let at = DVec3::new;
    let still = |_: f64| DQuat::IDENTITY;
    let mut limbs = vec![
        limb(
            "hips",
            None,
            at(0.0, 0.95, 0.0),
            still,
            vec![rod([-0.06, 0.95, 0.0], [0.06, 0.95, 0.0], [0.11; 2])],
        ),
        limb(
            "chest",
            Some(0),
            at(0.0, 1.1, 0.0),
            |phase| DQuat::from_rotation_y(0.06 * phase.sin()),
            vec![
                rod([0.0, 1.02, 0.0], [0.0, 1.28, 0.0], [0.11, 0.12]),
                rod([-0.12, 1.36, 0.0], [0.12, 1.36, 0.0], [0.07; 2]),
            ],
        ),
        limb(
            "head",
            Some(1),
            at(0.0, 1.46, 0.0),
            still,
            vec![
                rod([0.0, 1.4, 0.0], [0.0, 1.5, 0.01], [0.05; 2]),
                ImplicitShape::Sphere { center: at(0.0, 1.6, 0.02), radius: 0.1 },
            ],
        ),
    ];
    for side in [1.0, -1.0] {
        add_leg(&mut limbs, side);
        add_arm(&mut limbs, side);
    }
    limbs
}

/// Half a cycle lies between the two legs.
fn phase_of(side: f64, phase: f64) -> f64 {
    if side > 0.0 { phase } else { phase + 0.5 * TAU }
}

fn add_leg(limbs: &mut Vec<Limb>, side: f64) {
    let x = 0.095 * side;
    let name = |part: &str| side_name(part, side);
    let thigh = limbs.len();
    // Forwards is a negative turn about x.
    let swing = move |phase: f64| DQuat::from_rotation_x(-0.06 - 0.4 * phase_of(side, phase).sin());
    // The knee bends most while the leg swings forwards.
    let bend = move |phase: f64| DQuat::from_rotation_x(0.1 + 0.35 * (1.0 + phase_of(side, phase).cos()));
    let [hip, knee, ankle] = [[x, 0.9, 0.0], [x, 0.49, 0.0], [x, 0.08, -0.01]];
    limbs.push(limb(&name("thigh"), Some(0), hip.into(), swing, vec![rod(hip, knee, [0.08, 0.053])]));
    limbs.push(limb(
        &name("shin"),
        Some(thigh),
        knee.into(),
        bend,
        vec![rod(knee, ankle, [0.053, 0.04]), rod([x, 0.05, -0.01], [1.1 * x, 0.04, 0.13], [0.042, 0.035])],
    ));
}

fn add_arm(limbs: &mut Vec<Limb>, side: f64) {
    let name = |part: &str| side_name(part, side);
    let upper = limbs.len();
    // Arms swing against the legs of their side.
    let swing = move |phase: f64| {
        DQuat::from_rotation_x(0.3 * phase_of(side, phase).sin()) * DQuat::from_rotation_z(-0.2 * side)
    };
    let bend = move |phase: f64| DQuat::from_rotation_x(-0.3 + 0.15 * phase_of(side, phase).sin());
    let [shoulder, elbow, wrist] =
        [[0.18 * side, 1.37, 0.0], [0.38 * side, 1.18, 0.0], [0.56 * side, 1.01, 0.0]];
    limbs.push(limb(
        &name("upper arm"),
        Some(1),
        shoulder.into(),
        swing,
        vec![rod(shoulder, elbow, [0.048, 0.04])],
    ));
    limbs.push(limb(
        &name("forearm"),
        Some(upper),
        elbow.into(),
        bend,
        vec![
            rod(elbow, wrist, [0.04, 0.03]),
            ImplicitShape::Sphere { center: DVec3::new(0.59 * side, 0.98, 0.01), radius: 0.045 },
        ],
    ));
}

fn side_name(part: &str, side: f64) -> String {
    format!("{} {part}", if side > 0.0 { "left" } else { "right" })
}

fn rod(from: [f64; 3], to: [f64; 3], radii: [f64; 2]) -> ImplicitShape {
    ImplicitShape::Capsule { from: from.into(), to: to.into(), radii }
}

fn limb(
    name: &str,
    parent: Option<usize>,
    position: DVec3,
    turn: impl Fn(f64) -> DQuat,
    of: Vec<ImplicitShape>,
) -> Limb {
    let turns = (0..=KEYS).map(|key| turn(TAU * f64::from(key % KEYS) / f64::from(KEYS))).collect();
    let joint = Joint { name: name.to_owned(), parent, position, turns };
    Limb { joint, shape: ImplicitShape::Union { of, blend: 0.0 } }
}

/// The four nearest limbs, weighted by how much farther they are than the nearest.
fn weights(point: DVec3, limbs: &[Limb]) -> [(u32, f64); 4] {
    let mut near: Vec<(u32, f64)> =
        limbs.iter().zip(0..).map(|(limb, joint)| (joint, limb.shape.value(point))).collect();
    near.sort_by(|a, b| a.1.total_cmp(&b.1));
    let nearest = near[0].1;
    let mut weights = [0, 1, 2, 3].map(|i| {
        let (joint, distance) = near[i];
        (joint, (1.0 - (distance - nearest) / FOLLOWED).max(0.0).powi(2))
    });
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_stands_on_the_ground_and_its_cycle_is_closed() {
        let figure = walking_figure(0.05).unwrap();
        let (low, high) = figure.surface.bounds().unwrap();
        assert!(low.y.abs() < 0.02 && (high.y - 1.7).abs() < 0.02, "{low} {high}");
        assert!(figure.weights.iter().all(|of| (of.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12));
        for (index, joint) in figure.joints.iter().enumerate() {
            assert!(joint.parent.is_none_or(|parent| parent < index));
            assert_eq!(joint.turns.first(), joint.turns.last(), "{}", joint.name);
            assert_eq!(joint.turns.len(), figure.times.len());
        }
    }
}
