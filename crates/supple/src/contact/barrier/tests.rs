//! Properties of contact between surfaces.

use std::path::Path;

use super::potential::{barrier, repulsion};
use super::*;
use crate::body::Body;
use crate::energy::Energy;
use crate::energy::conformance::*;
use crate::scene::{self, Contact, Method};

const THICKNESS: f64 = 0.1;

/// Two small cloths of 1 m, the upper one turned and tilted so that vertices, edges and almost parallel edges come near.
fn two_sheets(turn: f64, friction: f64) -> (ContactSystem, Vec<DVec3>) {
    sheets_of(ContactModel::Barrier, turn, friction)
}

/// The same with any potential.
fn sheets_of(model: ContactModel, turn: f64, friction: f64) -> (ContactSystem, Vec<DVec3>) {
    let lower = scene::Body::from(scene::Body::cloth("lower").size([1.0, 1.0]).vertices([3, 3]));
    let mut upper = scene::Body::cloth("upper").size([1.0, 1.0]).vertices([3, 3]).at([0.07, 0.06, 0.04]);
    upper.transform.rotate = DVec3::new(1.5, turn, -2.0);
    let bodies = [lower, upper].map(|body| Body::build(&body, Path::new(""), Method::NEWTON).unwrap());
    let x: Vec<DVec3> = bodies.iter().flat_map(|body| body.start.clone()).collect();
    let mut points = Embedding::default();
    bodies.iter().zip([0, 9]).for_each(|(body, first)| points.append(&body.embedding, first));
    let mut contact = ContactSystem::new(ContactProperties {
        surfaces: Surfaces::new(&bodies, &Contact::default(), false),
        points: Arc::new(points),
        stiffness: (0..18).map(|i| 50.0 + f64::from(i)).collect(),
        friction: vec![friction; 18],
        model,
        thickness: THICKNESS,
        untangle: true,
        friction_model: FrictionModel::Smooth,
        simd: Simd::Auto,
    });
    contact.update_tangle(&x);
    contact.begin_step(&x, [1.0, 1.0]);
    (contact, x)
}

/// A cloth of 1 m whose faces are parallel to a capsule below them, and whose edges cross it.
fn sheet_over_a_capsule() -> (ContactSystem, Vec<DVec3>) {
    let sheet = scene::Body::from(scene::Body::cloth("sheet").size([1.0, 1.0]).vertices([3, 3]));
    let body = Body::build(&sheet, Path::new(""), Method::NEWTON).unwrap();
    let x = body.start.clone();
    let mut contact = ContactSystem::new(ContactProperties {
        points: Arc::new(body.embedding.clone()),
        surfaces: Surfaces::new(&[body], &Contact::default(), true),
        stiffness: vec![50.0; 9],
        friction: vec![0.0; 9],
        model: ContactModel::Barrier,
        thickness: THICKNESS,
        untangle: true,
        friction_model: FrictionModel::Smooth,
        simd: Simd::Auto,
    });
    let mut wire = scene::Collider::capsule("wire", [-2.0, -0.15, -0.4], [2.0, -0.15, 0.5], 0.1);
    wire.thickness = THICKNESS;
    contact.pose_colliders([&wire].into_iter(), &Default::default(), [0.0; 2]).unwrap();
    contact.begin_step(&x, [1.0, 1.0]);
    (contact, x)
}

#[test]
fn forces_of_a_capsule_do_not_jump_where_a_face_is_parallel_to_it() {
    let (contact, x) = sheet_over_a_capsule();
    let forces = |tilt: f64| {
        let tilted: Vec<DVec3> = x.iter().map(|p| *p + tilt * p.x * DVec3::Y).collect();
        let mut gradient = vec![DVec3::ZERO; x.len()];
        contact.add_gradient(&tilted, &mut gradient);
        gradient
    };
    let (before, after) = (forces(-1e-9), forces(1e-9));
    let largest = before.iter().map(|force| force.length()).fold(0.0, f64::max);
    let jump = before.iter().zip(&after).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(largest > 0.1 && jump < 1e-6 * largest, "{jump} {largest}");
    let tilted: Vec<DVec3> = x.iter().map(|p| *p + 0.01 * p.x * DVec3::Y).collect();
    assert!(gradient_error(&contact, &tilted) < 1e-5);
}

#[test]
fn the_barrier_and_its_slope_end_smoothly_and_it_has_no_bound() {
    let [value, slope, curvature] = barrier(0.2, 0.2);
    assert_eq!([value, slope, curvature], [0.0; 3]);
    assert!(barrier(1e-12, 0.2)[0] > 1.0);
    for d in [1e-4, 0.03, 0.11, 0.199] {
        let step = 1e-7 * d;
        let [low, high] = [d - step, d + step].map(|d| barrier(d, 0.2));
        let [_, slope, curvature] = barrier(d, 0.2);
        assert!(((high[0] - low[0]) / (2.0 * step) - slope).abs() < 1e-6 * slope.abs());
        assert!(((high[1] - low[1]) / (2.0 * step) - curvature).abs() < 1e-6 * curvature);
        assert!(slope < 0.0 && curvature > 0.0);
    }
}

#[test]
fn the_repulsion_is_a_spring_with_a_smooth_onset_and_finite_at_contact() {
    assert_eq!(repulsion(0.2, 0.2), [0.0; 3]);
    assert!(repulsion(0.0, 0.2)[0].is_finite());
    for d in [1e-4, 0.03, 0.11, 0.15, 0.17, 0.199] {
        let step = 1e-6;
        let [low, high] = [d - step, d + step].map(|d| repulsion(d, 0.2));
        let [_, slope, curvature] = repulsion(d, 0.2);
        assert!(((high[0] - low[0]) / (2.0 * step) - slope).abs() < 1e-7);
        assert!(((high[1] - low[1]) / (2.0 * step) - curvature).abs() < 1e-4);
        // Below the onset it is a spring of stiffness one.
        assert!(d >= 0.15 || curvature == 1.0);
    }
}

const MODELS: [ContactModel; 2] = [ContactModel::Barrier, ContactModel::Repulsion];

#[test]
fn gradients_are_derivatives_and_forces_sum_to_zero() {
    // A rotation of a twentieth of a degree fades edges out, as for almost parallel ones.
    for (turn, model) in [17.0, 0.05, 90.02].into_iter().flat_map(|turn| MODELS.map(|model| (turn, model))) {
        let (contact, mut x) = sheets_of(model, turn, 0.3);
        assert!(contact.summary(&x).pairs > 10 && contact.summary(&x).crossings == 0);
        x.iter_mut()
            .skip(9)
            .enumerate()
            .for_each(|(i, p)| *p += 0.004 * DVec3::new(1.0, -0.5, (i % 3) as f64));
        let error = gradient_error(&contact, &x);
        assert!(error < 1e-5, "{turn}: {error}");
        let mut gradient = vec![DVec3::ZERO; x.len()];
        contact.add_gradient(&x, &mut gradient);
        let scale = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
        assert!(scale > 0.1 && total_force(&contact, &x).length() < 1e-12 * scale);
        // Friction is lagged: only without it is the energy rotation-invariant.
        gradient.fill(DVec3::ZERO);
        sheets_of(model, turn, 0.0).0.add_gradient(&x, &mut gradient);
        let torque: DVec3 = x.iter().zip(&gradient).map(|(x, g)| x.cross(*g)).sum();
        assert!(torque.length() < 1e-12 * scale, "{torque}");
    }
}

#[test]
fn hessians_are_positive_and_exact_where_sheets_approach() {
    MODELS.into_iter().for_each(check_hessian);
}

fn check_hessian(model: ContactModel) {
    let (mut contact, x) = sheets_of(model, 17.0, 0.3);
    assert!(smallest_eigenvalue(&mut contact, &x) > -1e-12);
    let (contact, x) = sheets_of(model, 17.0, 0.0);
    // All normals are almost vertical: lowering the upper sheet changes distances, but hardly normals.
    let down: Vec<DVec3> = (0..18).map(|i| if i < 9 { DVec3::ZERO } else { -DVec3::Y }).collect();
    let slope = |h: f64| {
        let moved: Vec<DVec3> = x.iter().zip(&down).map(|(x, d)| *x + h * *d).collect();
        let mut gradient = vec![DVec3::ZERO; 18];
        contact.add_gradient(&moved, &mut gradient);
        gradient.iter().zip(&down).map(|(g, d)| g.dot(*d)).sum::<f64>()
    };
    let mut product = vec![DVec3::ZERO; 18];
    contact.apply_point_hessians(&x, crate::material::HessianMode::Exact, &down, &mut product);
    let curvature: f64 = product.iter().zip(&down).map(|(p, d)| p.dot(*d)).sum();
    let expected = (slope(1e-6) - slope(-1e-6)) / 2e-6;
    assert!((curvature / expected - 1.0).abs() < 0.05, "{model:?}: {curvature} {expected}");
}

#[test]
fn friction_stays_below_its_coefficient_times_the_normal_force() {
    MODELS.into_iter().for_each(check_friction);
}

fn check_friction(model: ContactModel) {
    let (contact, x) = sheets_of(model, 17.0, 0.3);
    let normal: f64 = contact.lock().normal_contacts.iter().map(|contact| -contact.barrier()[1]).sum();
    for slip in [1e-4, 1e-3, 0.01] {
        let moved: Vec<DVec3> =
            x.iter().enumerate().map(|(i, p)| if i < 9 { *p } else { *p + slip * DVec3::X }).collect();
        let mut with = vec![DVec3::ZERO; 18];
        contact.add_gradient(&moved, &mut with);
        let mut without = vec![DVec3::ZERO; 18];
        sheets_of(model, 17.0, 0.0).0.add_gradient(&moved, &mut without);
        let drag: f64 = with[9..].iter().zip(&without[9..]).map(|(a, b)| (*a - *b).x).sum();
        assert!(drag > 0.0 && drag <= 0.3 * normal * (1.0 + 1e-12), "{drag} of {normal}");
        assert!(slip < 1e-3 || drag > 0.25 * normal, "sliding: {drag} of {normal}");
    }
}

#[test]
fn no_way_through_is_free_and_values_do_not_depend_on_what_was_looked_at_before() {
    let (contact, x) = two_sheets(17.0, 0.0);
    let value = contact.value(&x);
    let below: Vec<DVec3> =
        x.iter().enumerate().map(|(i, p)| if i < 9 { *p } else { *p - 3.0 * DVec3::Y }).collect();
    let free = contact.collision_free_step(&x, &below);
    assert!(free > 0.0 && free < 0.02, "{free}");
    assert_eq!(contact.collision_free_step(&x, &x), 1.0);
    assert_eq!(contact.value(&x).to_bits(), value.to_bits());
    let away: Vec<DVec3> = x.iter().map(|p| *p + 100.0 * DVec3::X).collect();
    assert_eq!(contact.collision_free_step(&x, &away), 1.0, "everything moves together");
}
