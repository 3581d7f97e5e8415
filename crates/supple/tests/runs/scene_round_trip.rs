//! Random scenes: writing round-trips, every key is documented, and no text makes the reader panic.

use std::collections::BTreeSet;
use std::path::PathBuf;

use glam::DVec3;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::generate::{
    ClothGrid, CylinderShape, GridPattern, KnotShape, PanelShape, SphereShape, TorusShape,
};
use supple::mesh::implicit::{Character, ImplicitShape};
use supple::scene::{
    Axis, Bending, Body, ClosedMesh, Collider, ColliderShape, Contact, ContactModel, ContactPair, Cuboid,
    Expect, Follow, FrictionModel, Keyframe, LinearKind, LinearOptions, MeshShape, Method, Mode, Model,
    Motion, Output, Pin, PinStrength, Pinch, Placement, Region, Scene, Seam, Selection, Shape, ShapeSource,
    Solver, Spread, Tangled, Tear, Time, Truncation, World, builtin_scenes,
};
use supple::solvers::hpbd::HpbdOptions;
use supple::solvers::octree;
use supple::solvers::staggered;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e3..1e3_f64,
        Just(0.0),
        Just(1e-300),
        Just(1.0 / 3.0),
        Just(-2e15),
        any::<i32>().prop_map(f64::from)
    ]
}

fn vector() -> impl Strategy<Value = DVec3> {
    prop::array::uniform3(number()).prop_map(DVec3::from)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "\\PC{0,12}", Just("a\"b\\c\n\t'''".to_owned())]
}

fn path() -> impl Strategy<Value = PathBuf> {
    "[a-z]{1,6}(/[a-z]{1,6})?\\.obj".prop_map(PathBuf::from)
}

fn selection() -> BoxedStrategy<Selection> {
    let leaf = prop_oneof![
        Just(Selection::All {}),
        (vector(), vector()).prop_map(|(min, max)| Selection::Box { min, max }),
        (vector(), number()).prop_map(|(center, radius)| Selection::Sphere { center, radius }),
        (vector(), vector()).prop_map(|(point, normal)| Selection::Plane { point, normal }),
        prop::collection::vec(vector(), 0..3).prop_map(Selection::Nearest),
        prop::collection::vec(any::<u32>(), 0..4).prop_map(Selection::Indices),
        any::<u32>().prop_map(Selection::BoundaryLoop),
        prop::collection::vec(vector(), 0..3).prop_map(Selection::BoundaryPath),
        (path(), number(), prop::sample::select(vec![Axis::Y, Axis::Z]))
            .prop_map(|(file, scale, up)| Selection::InsideMesh(ClosedMesh { file, scale, up })),
        text().prop_map(Selection::Group),
        prop::array::uniform3(0.0..1.0_f32).prop_map(Selection::Color),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Selection::Any),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Selection::AllOf),
            inner.prop_map(|part| Selection::Not(Box::new(part))),
        ]
    })
    .boxed()
}

fn implicit() -> BoxedStrategy<ImplicitShape> {
    let leaf = prop_oneof![
        (vector(), number()).prop_map(|(center, radius)| ImplicitShape::Sphere { center, radius }),
        (vector(), vector(), number()).prop_map(|(from, to, r)| ImplicitShape::Capsule {
            from,
            to,
            radii: [r, 2.0 * r]
        }),
        (vector(), vector()).prop_map(|(center, radii)| ImplicitShape::Ellipsoid { center, radii }),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..3), number())
                .prop_map(|(of, blend)| ImplicitShape::Union { of, blend }),
            (inner, vector(), vector(), number()).prop_map(|(of, translate, rotate, scale)| {
                ImplicitShape::Transform { of: Box::new(of), translate, rotate, scale }
            }),
        ]
    })
    .boxed()
}

fn shape() -> BoxedStrategy<Shape> {
    let patterns = vec![GridPattern::Regular, GridPattern::Crossed, GridPattern::Irregular];
    let grid = ([number(), number()], any::<[u32; 2]>(), prop::sample::select(patterns), 0..1u64 << 62);
    let source = prop_oneof![
        path().prop_map(ShapeSource::File),
        grid.prop_map(|(size, vertices, pattern, seed)| {
            ShapeSource::Grid(ClothGrid { size, vertices, pattern, seed })
        }),
        ([number(), number(), number()], any::<Option<[u32; 3]>>())
            .prop_map(|(size, cells)| ShapeSource::Box(Cuboid { size, cells })),
        (number(), any::<u32>(), any::<bool>()).prop_map(|(radius, segments, closed)| {
            ShapeSource::Cylinder(CylinderShape { radius, height: 2.0, segments, rings: 3, closed })
        }),
        (number(), any::<u32>())
            .prop_map(|(radius, cells)| ShapeSource::Sphere(SphereShape { radius, cells })),
        (number(), any::<u32>()).prop_map(|(minor_radius, rings)| {
            ShapeSource::Torus(TorusShape { major_radius: 1.0, minor_radius, segments: 9, rings })
        }),
        (number(), any::<[u32; 2]>())
            .prop_map(|(length, vertices)| { ShapeSource::Knot(KnotShape { length, width: 0.1, vertices }) }),
        (prop::collection::vec([number(), number()], 0..4), number())
            .prop_map(|(outline, spacing)| ShapeSource::Panel(PanelShape { outline, spacing })),
        Just(ShapeSource::Character(Character::SpikyBall)),
        implicit().prop_map(ShapeSource::Implicit),
    ];
    (source, number(), prop::sample::select(vec![Axis::Y, Axis::Z]))
        .prop_map(|(source, scale, up)| Shape { source, object: None, scale, up })
        .boxed()
}

fn material() -> BoxedStrategy<MaterialSpec> {
    let stretch = prop_oneof![
        number().prop_map(StretchStiffness::Uniform),
        (number(), number()).prop_map(|(warp, weft)| StretchStiffness::Directions { warp, weft }),
    ];
    let said = || prop::option::of(number());
    (prop::option::of(text()), prop::array::uniform10(said()), prop::option::of(stretch))
        .prop_map(|(preset, [a, b, c, d, e, f, g, h, i, j], stretch_stiffness)| MaterialSpec {
            preset,
            young_modulus: a,
            poisson_ratio: b,
            density: c,
            thickness: d,
            area_density: e,
            stretch_stiffness,
            bend_stiffness: f,
            strain_limit: g,
            friction: h,
            damping: i,
            shear_stiffness: j,
        })
        .boxed()
}

fn motion() -> BoxedStrategy<Motion> {
    let said = || prop::option::of(vector());
    let key = (number(), said(), said(), prop::option::of(number()), any::<bool>())
        .prop_map(|(time, translate, rotate, scale, jump)| Keyframe { time, translate, rotate, scale, jump });
    (vector(), prop::collection::vec(key, 0..4))
        .prop_map(|(pivot, keyframes)| Motion { pivot, keyframes })
        .boxed()
}

fn region() -> BoxedStrategy<Region> {
    let random = (number(), 0..1u64 << 62).prop_map(|(spread, seed)| Spread { spread, seed });
    (selection(), prop::option::of(material()), prop::option::of(random))
        .prop_map(|(selection, material, random)| Region { selection, material, random })
        .boxed()
}

fn placement() -> BoxedStrategy<Placement> {
    (vector(), vector(), number())
        .prop_map(|(translate, rotate, scale)| Placement { translate, rotate, scale })
        .boxed()
}

fn body() -> BoxedStrategy<Body> {
    let bending = prop::sample::select(vec![None, Some(Bending::Quadratic), Some(Bending::Dihedral)]);
    let said = || prop::option::of(number());
    let self_contact = (prop::option::of(any::<bool>()), prop::option::of(text()));
    let model = prop::option::of(prop::sample::select(&Model::ALL[..]));
    let options = (model, bending, [said(), said(), said(), said()], self_contact);
    let tear = (number(), selection(), vector());
    let tear = tear.prop_map(|(time, selection, across)| Tear { time, selection, across });
    let parts = (prop::collection::vec(region(), 0..2), prop::collection::vec(tear, 0..2));
    (text(), shape(), prop::option::of(shape()), placement(), vector(), material(), options, parts)
        .prop_map(|(name, shape, rest, transform, velocity, material, options, (regions, tears))| {
            let (model, bending, [cell, interior, tear_stretch, pressure], (self_contact, group)) = options;
            Body {
                name,
                shape,
                rest,
                transform,
                velocity,
                material,
                model,
                bending,
                cell,
                interior,
                tear_stretch,
                self_contact,
                group,
                pressure,
                regions,
                tears,
            }
        })
        .boxed()
}

fn pin() -> BoxedStrategy<Pin> {
    let hold = prop_oneof![Just(PinStrength::Hard), number().prop_map(PinStrength::Stiffness)];
    let follow = prop_oneof![
        motion().prop_map(Follow::Keyframes),
        (path(), prop::option::of(number()), any::<bool>())
            .prop_map(|(files, blend_in, repeats)| Follow::MeshSequence { files, blend_in, repeats }),
        (path(), prop::option::of(text()), prop::option::of(number()), any::<bool>()).prop_map(
            |(file, animation, blend_in, repeats)| Follow::GltfSkin { file, animation, blend_in, repeats }
        ),
        text().prop_map(Follow::Collider),
    ];
    let during = prop::option::of([number(), number()]);
    (text(), selection(), hold, prop::option::of(follow), during)
        .prop_map(|(body, selection, hold, follows, during)| Pin { body, selection, hold, follows, during })
        .boxed()
}

fn mesh() -> BoxedStrategy<MeshShape> {
    let follows = prop_oneof![
        Just(None),
        (prop::option::of(text()), prop::option::of(number())).prop_map(|skin| Some(Ok(skin))),
        path().prop_map(|cache| Some(Err(cache))),
    ];
    let up = prop::sample::select(vec![Axis::Y, Axis::Z]);
    (path(), prop::option::of(text()), number(), up, follows, any::<bool>())
        .prop_map(|(file, object, scale, up, follows, repeats)| {
            let mesh = MeshShape { object, scale, up, repeats, ..MeshShape::new(file) };
            match follows {
                Some(Ok((animation, blend_in))) => MeshShape { skin: true, animation, blend_in, ..mesh },
                Some(Err(cache)) => mesh.cached(cache),
                None => mesh,
            }
        })
        .boxed()
}

fn collider() -> BoxedStrategy<Collider> {
    let shape = prop_oneof![
        (vector(), vector()).prop_map(|(point, normal)| ColliderShape::Plane { point, normal }),
        (vector(), number()).prop_map(|(center, radius)| ColliderShape::Sphere { center, radius }),
        (vector(), vector(), number()).prop_map(|(from, to, radius)| ColliderShape::Capsule {
            from,
            to,
            radius
        }),
        (vector(), vector()).prop_map(|(center, size)| ColliderShape::Box { center, size }),
        mesh().prop_map(ColliderShape::Mesh),
    ];
    (
        text(),
        (shape, placement()),
        prop::option::of(motion()),
        prop::option::of(number()),
        prop::option::of(number()),
        number(),
        any::<i32>(),
        prop::option::of(text()),
    )
        .prop_map(|(name, (shape, transform), motion, friction, stiffness, thickness, priority, group)| {
            Collider { name, shape, transform, motion, friction, stiffness, thickness, priority, group }
        })
        .boxed()
}

fn settings() -> BoxedStrategy<(Time, World, Solver, Output, Expect)> {
    let time =
        (number(), any::<u32>(), any::<u32>(), prop::sample::select(vec![Mode::Dynamic, Mode::Quasistatic]))
            .prop_map(|(fps, frames, substeps, mode)| Time { fps, frames, substeps, mode });
    let world = (vector(), prop::option::of(vector()), number(), prop::option::of(number()))
        .prop_map(|(gravity, wind, gust, air_density)| World { gravity, wind, gust, air_density });
    let methods = vec![Method::NEWTON, Method::NONLINEAR_CG, Method::HPBD, Method::OCTREE, Method::STAGGERED];
    let solver =
        (prop::sample::select(methods), prop::sample::select(&LinearKind::ALL[..]), number(), any::<u32>())
            .prop_map(|(method, kind, tolerance, max_iterations)| {
                let hpbd = HpbdOptions {
                    sweeps: max_iterations,
                    stiffness: Some(tolerance),
                    longest_step: Some(tolerance),
                    ..HpbdOptions::default()
                };
                let octree = octree::OctreeOptions {
                    damping: Some(tolerance),
                    max_iterations,
                    ..octree::OctreeOptions::default()
                };
                let staggered = staggered::StaggeredOptions {
                    cell: Some(tolerance),
                    ..staggered::StaggeredOptions::default()
                };
                let solver = Solver {
                    method,
                    linear: (max_iterations % 3 != 0).then(|| LinearOptions::from(kind)),
                    tolerance: (max_iterations % 2 == 0).then_some(tolerance),
                    max_iterations,
                    velocity_tolerance: None,
                    refresh: None,
                    refresh_moved: None,
                    refresh_steps: Some(10),
                    spectral_radius: None,
                    contact_matrix: None,
                    options: Default::default(),
                };
                solver.with_options(hpbd).with_options(octree).with_options(staggered)
            });
    let output = (prop::collection::vec(text(), 0..3), any::<u32>(), prop::option::of(any::<u32>()))
        .prop_map(|(formats, every, checkpoint_every)| Output {
            formats,
            every,
            checkpoint_every,
            record_states: every % 2 == 0,
            verify_steps: every % 5 == 0,
            contact_forces: every % 3 == 0,
        });
    let said = || prop::option::of(number());
    let expect = (
        said(),
        said(),
        prop::option::of(any::<u32>()),
        said(),
        prop::option::of([number(), number()]),
        said(),
    )
        .prop_map(|(max_stretch, p99_stretch, iterations, residual, height, penetration)| {
            let min_volume_ratio = residual;
            Expect { max_stretch, p99_stretch, iterations, residual, min_volume_ratio, height, penetration }
        });
    (time, world, solver, output, expect).boxed()
}

fn contact() -> BoxedStrategy<Contact> {
    let tangled = prop::sample::select(vec![Tangled::Push, Tangled::Ignore]);
    let friction =
        prop::sample::select(vec![FrictionModel::Smooth, FrictionModel::Adhesive, FrictionModel::Impulse]);
    let model = prop::sample::select(vec![ContactModel::Barrier, ContactModel::Repulsion]);
    let truncation = prop::sample::select(vec![Truncation::Vertex, Truncation::Island, Truncation::Global]);
    let pinch = prop::sample::select(vec![Pinch::Release, Pinch::Stop]);
    let numbers = (prop::option::of(number()), prop::option::of(number()));
    let pair = ([text(), text()], prop::option::of(any::<bool>()), prop::option::of(number()))
        .prop_map(|(between, collide, friction)| ContactPair { between, collide, friction });
    let pairs = prop::collection::vec(pair, 0..3);
    (any::<bool>(), numbers, (tangled, friction, pinch), (model, truncation), pairs)
        .prop_map(
            |(
                between_bodies,
                (thickness, stiffness),
                (tangled, friction_model, pinch),
                (model, truncation),
                pairs,
            )| {
                Contact {
                    between_bodies,
                    thickness,
                    stiffness,
                    model,
                    tangled,
                    friction_model,
                    truncation,
                    pinch,
                    pairs,
                }
            },
        )
        .boxed()
}

fn scene() -> BoxedStrategy<Scene> {
    let seam = (text(), text(), selection(), selection(), number()).prop_map(|(a, b, s, t, closes)| Seam {
        bodies: [a, b],
        selections: [s, t],
        closes,
    });
    (
        text(),
        settings(),
        prop::collection::vec(body(), 0..3),
        prop::collection::vec(pin(), 0..3),
        prop::collection::vec(seam, 0..2),
        prop::collection::vec(collider(), 0..3),
        contact(),
    )
        .prop_map(|(description, settings, bodies, pins, seams, colliders, contact)| {
            let (time, world, solver, output, expect) = settings;
            let mut scene = Scene {
                description,
                time,
                world,
                bodies,
                pins,
                seams,
                colliders,
                contact,
                solver,
                output,
                expect,
                name: "random".to_owned(),
                ..Scene::default()
            };
            scene.resolve_paths();
            scene
        })
        .boxed()
}

/// Every table key in a TOML value.
fn keys(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            keys(value, found);
        }),
        toml::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_that_a_scene_can_hold_is_documented() {
    let document = include_str!("../../../../docs/scene-format.md");
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut found = BTreeSet::new();
    for _ in 0..300 {
        let scene = scene().new_tree(&mut runner).unwrap().current();
        keys(&scene.to_toml().unwrap().parse::<toml::Table>().unwrap().into(), &mut found);
    }
    assert!(found.len() > 80, "{found:?}");
    for key in found {
        let tables = ["", "body.", "contact."].map(|table| format!("`[[{table}{key}]]`"));
        let named = [format!("`{key}`"), format!("`[{key}]`")].into_iter().chain(tables);
        assert!(
            named.into_iter().any(|name| document.contains(&name)),
            "`{key}` is not in docs/scene-format.md"
        );
    }
    for preset in supple::material::presets() {
        assert!(document.contains(&format!("`{}`", preset.name)), "{}", preset.name);
    }
}

#[test]
fn the_documents_examples_are_read() {
    let document = include_str!("../../../../docs/scene-format.md");
    let examples: Vec<&str> =
        document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!examples.is_empty(), "docs/scene-format.md has no examples any more");
    for example in examples {
        Scene::from_toml(example, "example", "").unwrap().validate().unwrap();
    }
}

#[test]
fn built_in_scenes_read_back_equal() {
    for (name, ..) in builtin_scenes() {
        let scene = Scene::builtin(name).unwrap();
        let again = Scene::from_toml(&scene.to_toml().unwrap(), name, "").unwrap();
        assert_eq!(scene, again);
    }
}

#[test]
fn a_mesh_made_in_memory_is_simulated_but_not_written() {
    let mesh = supple::mesh::SurfaceMesh::from_triangles(vec![DVec3::ZERO, DVec3::X, DVec3::Z], &[[0, 2, 1]]);
    let scene = Scene::builder().body(Body::from_mesh("leaf", mesh.clone())).build().unwrap();
    assert!(scene.to_toml().unwrap_err().to_string().contains("body `leaf` has a mesh made in memory"));
    let broken = supple::mesh::SurfaceMesh { corners: vec![0, 2, 9], ..mesh };
    let error = Scene::builder().body(Body::from_mesh("leaf", broken)).build().unwrap_err().to_string();
    assert!(error.contains("refers to vertex 9; it has 3 vertices"), "{error}");
}

#[test]
fn a_builder_refuses_what_a_file_may_not_say() {
    let error = Scene::builder().fps(-1.0).build().unwrap_err().to_string();
    assert_eq!(error, "time.fps: `fps` is -1; it must be 0.001 to 100000");
    let cloth = || Body::cloth("cloth").size([1.0, 1.0]).vertices([3, 3]);
    let pin = Pin::hard("cloht", Selection::All {});
    let error = Scene::builder().body(cloth()).pin(pin).build().unwrap_err().to_string();
    assert!(error.contains("did you mean `cloth`?"), "{error}");
    let error = Scene::builder().body(cloth()).gravity([0.0, f64::NAN, 0.0]).build().unwrap_err().to_string();
    assert!(error.contains("`gravity` is NaN"), "{error}");
}

#[test]
fn deep_nesting_is_read_or_refused_but_never_overflows() {
    let nest = |depth: usize| {
        let (open, close) = ("{ not = ".repeat(depth), " }".repeat(depth));
        format!(
            "[[body]]\nname = \"b\"\nshape = {{ grid = {{ size = [1, 1], vertices = [2, 2] }} }}\n\
             [[pin]]\nbody = \"b\"\nselection = {open}\"all\"{close}\n"
        )
    };
    Scene::from_toml(&nest(50), "nested", "").unwrap().validate().unwrap();
    for depth in [60, 100, 10_000] {
        let _ = Scene::from_toml(&nest(depth), "nested", "");
    }
    assert!(Scene::from_toml(&nest(100), "nested", "").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_written_scene_reads_back_equal(scene in scene()) {
        let text = scene.to_toml().unwrap();
        let again = Scene::from_toml(&text, "random", "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(&scene, &again);
        prop_assert_eq!(again.to_toml().unwrap(), text);
        scene.check();
    }

    #[test]
    fn damaged_scenes_never_panic(scene in 0..5usize, cut in any::<prop::sample::Index>(), patch in "\\PC{0,6}") {
        let text = builtin_scenes()[scene].2;
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let damaged = format!("{}{patch}{}", &text[..at], &text[at..]);
        for damaged in [&damaged, &text[..at]] {
            if let Ok(scene) = Scene::from_toml(damaged, "damaged", "") {
                scene.check();
            }
        }
    }

    #[test]
    fn garbage_never_panics(text in "[\\[\\]{}=.,\"'a-z0-9\n -]{0,80}", set in "\\PC{0,20}") {
        let _ = Scene::from_toml_with(&text, "garbage", "", &[]);
        let demo = builtin_scenes()[0].2;
        let _ = Scene::from_toml_with(demo, "garbage", "", &[format!("time.{set}"), set]);
    }
}
