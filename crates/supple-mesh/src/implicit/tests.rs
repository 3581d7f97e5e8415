//! Implicit shapes: exact distances, the Lipschitz bound, symmetry, bounds, and the extracted surfaces.

use std::f64::consts::PI;

use glam::DVec3;
use proptest::prelude::*;

use super::*;
use crate::test_measure::{area, assert_closed_manifold, euler_characteristic, volume};

const CHARACTERS: [Character; 4] =
    [Character::Octopus, Character::SpikyBall, Character::Creature, Character::Armadillo];

fn point(extent: f64) -> impl Strategy<Value = DVec3> {
    [-extent..extent, -extent..extent, -extent..extent].prop_map(DVec3::from_array)
}

fn primitive() -> impl Strategy<Value = ImplicitShape> {
    prop_oneof![
        (point(1.0), 0.1..1.0).prop_map(|(center, radius)| ImplicitShape::Sphere { center, radius }),
        (point(1.0), point(1.0), [0.05..0.6, 0.0..0.6])
            .prop_map(|(from, to, radii)| ImplicitShape::Capsule { from, to, radii }),
        (point(1.0), [0.05..1.0, 0.05..1.0, 0.05..1.0])
            .prop_map(|(center, radii)| ImplicitShape::Ellipsoid { center, radii: DVec3::from_array(radii) }),
    ]
}

fn shape() -> impl Strategy<Value = ImplicitShape> {
    primitive().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 1..4), 0.0..0.4)
                .prop_map(|(of, blend)| ImplicitShape::Union { of, blend }),
            (inner, point(0.5), point(180.0), 0.5..2.0).prop_map(|(of, translate, rotate, scale)| {
                ImplicitShape::Transform { of: Box::new(of), translate, rotate, scale }
            }),
        ]
    })
}

/// Points spread over a unit sphere.
fn directions(count: u32) -> impl Iterator<Item = DVec3> {
    (0..count).map(move |i| {
        let y = 1.0 - 2.0 * (f64::from(i) + 0.5) / f64::from(count);
        let (sin, cos) = (f64::from(i) * PI * (3.0 - 5f64.sqrt())).sin_cos();
        let across = (1.0 - y * y).sqrt();
        DVec3::new(across * cos, y, across * sin)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fields_change_no_faster_than_distance(shape in shape(), p in point(3.0), q in point(3.0)) {
        let (f, g) = (shape.value(p), shape.value(q));
        prop_assert!((f - g).abs() <= p.distance(q) * (1.0 + 1e-9) + 1e-12, "{f} {g}");
    }

    #[test]
    fn outside_the_bounds_the_field_is_no_less_than_the_distance_to_them(shape in shape(), p in point(4.0)) {
        let (low, high) = shape.bounds();
        let outside = (low - p).max(p - high).max(DVec3::ZERO).length();
        prop_assert!(outside == 0.0 || shape.value(p) >= outside - 1e-12);
    }

    #[test]
    fn prepared_shapes_are_bit_identical(shape in shape(), p in point(2.0)) {
        use crate::stuffing::SignedField;
        prop_assert_eq!(Prepared::new(&shape).value(p).to_bits(), shape.value(p).to_bits());
    }

    #[test]
    fn unions_do_not_depend_on_the_order_of_their_parts(
        parts in prop::collection::vec(primitive(), 2..6), blend in 0.0..0.5, p in point(2.0),
    ) {
        let union = |of: Vec<ImplicitShape>| ImplicitShape::Union { of, blend }.value(p);
        let least = parts.iter().map(|part| part.value(p)).fold(f64::INFINITY, f64::min);
        let (forward, backward) = (union(parts.clone()), union(parts.iter().rev().cloned().collect()));
        prop_assert_eq!(forward.to_bits(), backward.to_bits());
        prop_assert!(forward <= least + 1e-12 && forward >= least - blend);
        let sharp = ImplicitShape::Union { of: parts, blend: 0.0 };
        prop_assert_eq!(sharp.value(p), least);
    }

    #[test]
    fn ellipsoid_distances_are_those_to_the_nearest_of_many_surface_points(
        radii in [0.2..1.0, 0.2..1.0, 0.2..1.0], p in point(1.5),
    ) {
        let radii = DVec3::from_array(radii);
        let value = ImplicitShape::Ellipsoid { center: DVec3::ZERO, radii }.value(p);
        let nearest = directions(20_000).map(|d| p.distance(d * radii)).fold(f64::INFINITY, f64::min);
        prop_assert!(value.abs() <= nearest + 1e-12 && value.abs() > nearest - 0.03, "{value} {nearest}");
        prop_assert_eq!(value < 0.0, (p / radii).length() < 1.0);
    }

    #[test]
    fn capsule_distances_are_those_to_the_nearest_of_all_balls_along_it(
        to in point(1.0), radii in [0.0..0.5, 0.0..0.5], p in point(2.0),
    ) {
        // Outside, the hull of two balls is the union of the balls between them.
        let value = ImplicitShape::Capsule { from: DVec3::ZERO, to, radii }.value(p);
        let ball = |i: u32| {
            let t = f64::from(i) / 2000.0;
            p.distance(t * to) - (radii[0] + t * (radii[1] - radii[0]))
        };
        let nearest = (0..=2000).map(ball).fold(f64::INFINITY, f64::min);
        if value > 0.0 {
            prop_assert!((value - nearest).abs() < 1e-5, "{value} {nearest}");
        } else {
            prop_assert!(nearest < 1e-5);
        }
    }
}

#[test]
fn the_blend_of_two_walls_is_a_round_fillet() {
    // Two large balls represent two walls that meet at a right angle; the fillet is an arc of radius 1.
    let blend = |x: f64, y: f64| {
        let mut minimum = SmoothMinimum::new(1.0);
        minimum.push(x);
        minimum.push(y);
        minimum.finish()
    };
    for degrees in [5.0, 30.0, 45.0, 80.0f64] {
        let (y, x) = degrees.to_radians().sin_cos();
        assert!(blend(1.0 - x, 1.0 - y).abs() < 1e-12);
    }
    assert_eq!(blend(0.3, 1.4), 0.3);
}

#[test]
fn points_on_the_symmetry_planes_of_an_ellipsoid_get_exact_distances() {
    let ellipsoid = ImplicitShape::Ellipsoid { center: DVec3::ZERO, radii: DVec3::new(3.0, 2.0, 1.0) };
    assert!((ellipsoid.value(DVec3::ZERO) + 1.0).abs() < 1e-12);
    assert!((ellipsoid.value(DVec3::new(5.0, 0.0, 0.0)) - 2.0).abs() < 1e-12);
    assert!((ellipsoid.value(DVec3::new(0.0, -2.5, 0.0)) - 0.5).abs() < 1e-12);
    assert!((ellipsoid.value(DVec3::new(0.0, 0.0, 0.5)) + 0.5).abs() < 1e-12);
    let ball = ImplicitShape::Ellipsoid { center: DVec3::ZERO, radii: DVec3::splat(2.0) };
    assert!((ball.value(DVec3::new(0.3, 0.4, 0.0)) + 1.5).abs() < 1e-12);
}

#[test]
fn sphere_surfaces_lie_on_the_sphere_and_converge_at_second_order() {
    let ball = ImplicitShape::Sphere { center: DVec3::new(0.1, 0.2, 0.3), radius: 0.5 };
    let errors = [0.1, 0.05].map(|cell| {
        let mesh = surface(&ball, cell).unwrap();
        assert_closed_manifold(&mesh);
        assert_eq!(euler_characteristic(&mesh), 2);
        assert!(mesh.positions.iter().all(|&p| ball.value(p).abs() < 1e-12));
        [(PI - area(&mesh)) / PI, (PI / 6.0 - volume(&mesh)) / (PI / 6.0)]
    });
    for (coarse, fine) in errors[0].iter().zip(errors[1]) {
        assert!(*coarse > 0.0 && fine > 0.0 && coarse / fine > 3.3, "{coarse} {fine}");
    }
}

#[test]
fn characters_are_about_a_metre_large_and_stand_on_the_ground() {
    for character in CHARACTERS {
        let mesh = surface(&character.shape(), 0.02).unwrap();
        let (low, high) = mesh.bounds().unwrap();
        assert!(low.y.abs() < 0.01, "{character:?} stands at {}", low.y);
        assert!((0.8..1.25).contains(&(high - low).max_element()), "{character:?} {low} {high}");
    }
}

#[test]
fn character_surfaces_are_closed_manifolds_of_one_piece_without_handles() {
    for character in CHARACTERS {
        let shape = character.shape();
        let mesh = surface(&shape, 0.0125).unwrap();
        assert_closed_manifold(&mesh);
        assert_eq!(euler_characteristic(&mesh), 2, "{character:?}");
        assert!(volume(&mesh) > 0.0);
        let off = mesh.positions.iter().map(|&p| shape.value(p).abs()).fold(0.0, f64::max);
        assert!(off < 1e-3 * 0.0125, "{character:?}: a vertex is {off} m off the surface");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn surfaces_of_crowded_unresolved_shapes_are_still_closed_manifolds(
        centers in prop::collection::vec(point(0.4), 20..60), radius in 0.03..0.12,
    ) {
        let of = centers.into_iter().map(|center| ImplicitShape::Sphere { center, radius }).collect();
        let shape = ImplicitShape::Union { of, blend: 0.02 };
        let mesh = surface(&shape, 0.07).map_err(|refused| TestCaseError::reject(refused.to_string()))?;
        assert_closed_manifold(&mesh);
    }
}

#[test]
fn bad_shapes_and_cells_are_refused_with_their_value() {
    let ball = |radius: f64| ImplicitShape::Sphere { center: DVec3::ZERO, radius };
    for bad in [0.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(surface(&ball(bad), 0.1).unwrap_err().to_string().contains(&bad.to_string()));
        assert!(surface(&ball(1.0), bad).unwrap_err().to_string().contains(&bad.to_string()));
        assert!(ball(1.0).tets(bad).is_err());
    }
    assert!(surface(&ball(1.0), 1e-4).unwrap_err().to_string().contains("the limit is 2e8"));
    let empty = ImplicitShape::Union { of: vec![], blend: 0.0 };
    assert!(empty.validate().unwrap_err().to_string().contains("no parts"));
    let mut deep = ball(1.0);
    for _ in 0..100 {
        deep = ImplicitShape::Union { of: vec![deep], blend: 0.0 };
    }
    assert!(deep.validate().unwrap_err().to_string().contains("64 levels"));
}

#[test]
fn shapes_are_read_from_scene_words() {
    let text = "union = { blend = 0.1, of = [{ sphere = { center = [0, 1, 0], radius = 0.5 } }, { transform = \
                { of = { ellipsoid = { center = [0, 0, 0], radii = [1, 2, 3] } }, rotate = [0, 90, 0] } }] }";
    let shape: ImplicitShape = toml::from_str(text).unwrap();
    // Turned by 90 degrees about y, the half axis of 3 m lies along x.
    assert!((shape.bounds().1.x - 3.0) < 0.1 && shape.bounds().1.x >= 3.0);
    assert!(
        toml::from_str::<ImplicitShape>("sphere = { center = [0, 0, 0], radius = 1, colour = 3 }").is_err()
    );
}
