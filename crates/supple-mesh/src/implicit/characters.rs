//! The built-in characters: about a metre in size, standing on `y = 0`, facing `+z`.

use std::f64::consts::{PI, TAU};

use glam::DVec3;

use super::{Character, ImplicitShape};

impl Character {
    /// The character as an implicit shape.
    pub fn shape(self) -> ImplicitShape {
        match self {
            Self::Octopus => octopus(),
            Self::SpikyBall => spiky_ball(),
            Self::Creature => creature(),
            Self::Armadillo => armadillo(),
        }
    }
}

fn point(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

fn ball(center: DVec3, radius: f64) -> ImplicitShape {
    ImplicitShape::Sphere { center, radius }
}

fn capsule(from: DVec3, to: DVec3, r: f64, s: f64) -> ImplicitShape {
    ImplicitShape::Capsule { from, to, radii: [r, s] }
}

fn ellipsoid(center: DVec3, radii: DVec3) -> ImplicitShape {
    ImplicitShape::Ellipsoid { center, radii }
}

fn union(of: Vec<ImplicitShape>, blend: f64) -> ImplicitShape {
    ImplicitShape::Union { of, blend }
}

fn turned(of: ImplicitShape, translate: DVec3, rotate: DVec3) -> ImplicitShape {
    ImplicitShape::Transform { of: Box::new(of), translate, rotate, scale: 1.0 }
}

/// A chain of capsules along a curve over `0..=1`, with the radius at each parameter.
fn limb(links: u32, curve: impl Fn(f64) -> DVec3, radius: impl Fn(f64) -> f64) -> ImplicitShape {
    let at = |i: u32| f64::from(i) / f64::from(links);
    let link = |i: u32| capsule(curve(at(i)), curve(at(i + 1)), radius(at(i)), radius(at(i + 1)));
    union((0..links).map(link).collect(), 0.0)
}

/// A part and its mirror image across the plane `x = 0`, built by calling `part` with +1 and -1.
fn both_sides(part: impl Fn(f64) -> ImplicitShape) -> [ImplicitShape; 2] {
    [part(1.0), part(-1.0)]
}

fn octopus() -> ImplicitShape {
    let mut parts = vec![
        turned(
            ellipsoid(DVec3::ZERO, point(0.19, 0.24, 0.2)),
            point(0.0, 0.62, -0.05),
            point(-14.0, 0.0, 0.0),
        ),
        ellipsoid(point(0.0, 0.36, 0.03), point(0.15, 0.12, 0.15)),
    ];
    parts.extend((0..8).map(octopus_arm));
    let eyes = both_sides(|side| ball(point(side * 0.1, 0.535, 0.118), 0.05));
    union(vec![union(parts, 0.06), union(eyes.into(), 0.0)], 0.015)
}

/// An arm leaves the body downwards, extends over the ground and curls up at its tip; neighbours curl to
/// different sides.
fn octopus_arm(k: u32) -> ImplicitShape {
    // Tips thick enough to be filled by cells of a 25th of the octopus.
    limb(20, |t| octopus_arm_curve(k, t), |t| 0.07 * (1.0 - t) + 0.028 * t)
}

fn octopus_arm_curve(k: u32, t: f64) -> DVec3 {
    let angle = TAU * (f64::from(k) + 0.5) / 8.0;
    let (out, side) = (point(angle.sin(), 0.0, angle.cos()), point(angle.cos(), 0.0, -angle.sin()));
    let turn = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let curl = 0.08;
    if t < 0.6 {
        let u = t / 0.6;
        let height = 0.038 + 0.3 * (1.0 - u).powi(2) * (1.0 + 0.6 * u);
        out * (0.08 + 0.4 * u) + side * (turn * 0.05 * (PI * u).sin()) + DVec3::Y * height
    } else {
        // A spiral that starts along the ground and winds in, leaning aside.
        let u = (t - 0.6) / 0.4;
        let (phase, radius) = (1.25 * PI * u, curl * (1.0 - 0.35 * u));
        let lean = side * (turn * (0.05 * u - 0.16 * 0.4 * u * (1.0 - u)));
        out * (0.48 + radius * phase.sin()) + DVec3::Y * (0.038 + curl - radius * phase.cos()) + lean
    }
}

fn spiky_ball() -> ImplicitShape {
    let (center, spikes) = (point(0.0, 0.5, 0.0), 42);
    let mut parts = vec![ball(center, 0.26)];
    for i in 0..spikes {
        // Points spread evenly over the sphere along a golden spiral; one points straight down at i = 0.
        let y = -1.0 + 2.0 * f64::from(i) / f64::from(spikes - 1);
        let angle = f64::from(i) * PI * (3.0 - 5f64.sqrt());
        let across = (1.0 - y * y).max(0.0).sqrt();
        let direction = point(across * angle.cos(), y, across * angle.sin());
        parts.push(capsule(center + 0.2 * direction, center + 0.49 * direction, 0.045, 0.01));
    }
    union(parts, 0.03)
}

fn creature() -> ImplicitShape {
    let mut parts = vec![
        capsule(point(0.0, 0.5, -0.22), point(0.0, 0.53, 0.2), 0.145, 0.155),
        capsule(point(0.0, 0.58, 0.24), point(0.0, 0.74, 0.36), 0.1, 0.085),
        ellipsoid(point(0.0, 0.79, 0.41), point(0.115, 0.11, 0.12)),
        capsule(point(0.0, 0.76, 0.48), point(0.0, 0.74, 0.56), 0.068, 0.055),
        limb(10, creature_tail, |t| 0.052 * (1.0 - t) + 0.018 * t),
    ];
    parts.extend(both_sides(|side| creature_leg(side, 0.19)));
    parts.extend(both_sides(|side| creature_leg(side, -0.24)));
    let ears = both_sides(|side| {
        let ear = ellipsoid(DVec3::ZERO, point(0.042, 0.085, 0.026));
        turned(ear, point(side * 0.085, 0.91, 0.385), point(-10.0, 0.0, -side * 28.0))
    });
    let eyes = both_sides(|side| ball(point(side * 0.062, 0.825, 0.5), 0.022));
    let details = [union(ears.into(), 0.0), union(eyes.into(), 0.0), ball(point(0.0, 0.755, 0.61), 0.026)];
    union([vec![union(parts, 0.055)], details.into()].concat(), 0.018)
}

fn creature_tail(t: f64) -> DVec3 {
    point(0.05 * (TAU * t).sin() * t, 0.55 + 0.28 * t * t, -0.32 - 0.26 * t + 0.06 * t * t)
}

fn creature_leg(side: f64, z: f64) -> ImplicitShape {
    let (hip, knee, ankle) =
        (point(side * 0.1, 0.45, z), point(side * 0.115, 0.25, z + 0.02), point(side * 0.115, 0.07, z));
    union(
        vec![
            capsule(hip, knee, 0.085, 0.06),
            capsule(knee, ankle, 0.06, 0.052),
            ellipsoid(point(side * 0.115, 0.046, z + 0.03), point(0.06, 0.045, 0.08)),
        ],
        0.03,
    )
}

fn armadillo() -> ImplicitShape {
    let mut parts = vec![
        ellipsoid(point(0.0, 0.42, 0.01), point(0.155, 0.2, 0.13)),
        ellipsoid(point(0.0, 0.58, 0.02), point(0.13, 0.11, 0.1)),
        capsule(point(0.0, 0.66, 0.03), point(0.0, 0.76, 0.06), 0.07, 0.06),
        ellipsoid(point(0.0, 0.81, 0.08), point(0.085, 0.08, 0.095)),
        capsule(point(0.0, 0.8, 0.14), point(0.0, 0.775, 0.265), 0.05, 0.026),
        limb(
            8,
            |t| point(0.0, 0.27 - 0.2 * t + 0.04 * t * t, -0.1 - 0.34 * t),
            |t| 0.075 * (1.0 - t) + 0.016 * t,
        ),
    ];
    parts.extend(both_sides(armadillo_arm));
    parts.extend(both_sides(armadillo_leg));
    let ears = both_sides(|side| {
        let ear = ellipsoid(DVec3::ZERO, point(0.036, 0.09, 0.02));
        turned(ear, point(side * 0.075, 0.925, 0.05), point(-8.0, side * 20.0, -side * 24.0))
    });
    let eyes = both_sides(|side| ball(point(side * 0.05, 0.835, 0.155), 0.017));
    let mut all = vec![union(parts, 0.04), union(ears.into(), 0.0), union(eyes.into(), 0.0)];
    all.extend(armadillo_shell());
    union(all, 0.015)
}

fn armadillo_arm(side: f64) -> ImplicitShape {
    let (shoulder, elbow, wrist) =
        (point(side * 0.12, 0.6, 0.02), point(side * 0.255, 0.52, 0.05), point(side * 0.3, 0.64, 0.16));
    let mut parts = vec![
        capsule(shoulder, elbow, 0.062, 0.046),
        capsule(elbow, wrist, 0.048, 0.036),
        ball(point(side * 0.305, 0.665, 0.175), 0.044),
    ];
    for finger in [-1.0, 0.0, 1.0] {
        let root = point(side * 0.305 + 0.024 * finger, 0.69, 0.19);
        parts.push(capsule(root, root + point(0.022 * finger, 0.055, 0.02), 0.018, 0.01));
    }
    union(parts, 0.015)
}

fn armadillo_leg(side: f64) -> ImplicitShape {
    let (hip, knee, ankle) =
        (point(side * 0.1, 0.32, 0.02), point(side * 0.15, 0.19, 0.07), point(side * 0.145, 0.07, 0.02));
    let mut parts = vec![
        capsule(hip, knee, 0.088, 0.064),
        capsule(knee, ankle, 0.062, 0.048),
        ellipsoid(point(side * 0.15, 0.042, 0.055), point(0.056, 0.042, 0.095)),
    ];
    for toe in [-1.0, 0.0, 1.0] {
        let root = point(side * 0.15 + 0.032 * toe, 0.026, 0.13);
        parts.push(capsule(root, root + point(0.008 * toe, -0.008, 0.035), 0.024, 0.014));
    }
    union(parts, 0.015)
}

/// A shield over the back with bands across it.
fn armadillo_shell() -> Vec<ImplicitShape> {
    let shield = ellipsoid(point(0.0, 0.475, -0.06), point(0.165, 0.235, 0.115));
    let band = |i: u32| {
        let t = f64::from(i) / 6.0;
        let profile = (1.0 - (1.7 * t - 0.85).powi(2)).sqrt();
        let size = point(0.03 + 0.152 * profile, 0.03, 0.02 + 0.112 * profile);
        turned(
            ellipsoid(DVec3::ZERO, size),
            point(0.0, 0.29 + 0.37 * t, -0.06),
            point(-14.0 + 28.0 * t, 0.0, 0.0),
        )
    };
    std::iter::once(shield).chain((0..7).map(band)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{TriangleTree, WindingNumber};

    /// The cell of the built-in scene `spring-octopus`, 12 mm of 30 cm.
    #[test]
    fn the_octopus_is_filled_to_the_tips_of_its_arms() {
        let (surface, _) = Character::Octopus.shape().tets(0.04).unwrap().boundary_surface();
        let tree = TriangleTree::new(&surface.positions, surface.triangles());
        let winding = WindingNumber::new(tree);
        for arm in 0..8 {
            for t in [0.2, 0.4, 0.6, 0.8, 0.9, 1.0] {
                let is_filled = winding.is_inside(octopus_arm_curve(arm, t));
                assert!(is_filled, "arm {arm} is not filled at {t} of its length");
            }
        }
    }
}
