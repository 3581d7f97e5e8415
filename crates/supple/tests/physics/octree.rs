//! Flesh on octrees against theory and against tetrahedra.

use glam::DVec3;
use supple::material::MaterialSpec;
use supple::mesh::generate::BoxShape;
use supple::scene::{
    Body, ClosedMesh, Collider, Cuboid, Keyframe, Method, Mode, Model, Motion, Pin, Region, Scene, Selection,
    Shape, ShapeSource, World,
};
use supple::simulation::Simulation;
use supple::solvers::octree;

use crate::bars::elastic;

/// A solid box fixed at its low end `x = 0`, in quasi-statics.
fn held_bar(size: [f64; 3], cell: f64, material: MaterialSpec, method: Method) -> Scene {
    let shape = Shape::new(ShapeSource::Box(Cuboid { size, cells: None }));
    let body = Body { cell: Some(cell), model: Some(Model::Corotated), ..Body::new("bar", shape) };
    let body = body.at([0.5 * size[0], 0.0, 0.0]).material(material);
    let wall = Selection::Plane { point: DVec3::new(1e-6, 0.0, 0.0), normal: -DVec3::X };
    let mut scene = Scene::builder().body(body).pin(Pin::hard("bar", wall)).build().unwrap();
    scene.time.mode = Mode::Quasistatic;
    scene.solver.method = method;
    scene.solver.tolerance = Some(1e-6);
    scene.solver.options.get_mut::<octree::OctreeOptions>().tolerance = 1e-3;
    scene
}

/// The state after a step, which must have converged.
fn settled(scene: Scene) -> Simulation {
    let mut simulation = Simulation::new(scene).unwrap();
    let report = simulation.step(1.0).unwrap();
    assert!(report.converged, "{report:?}");
    simulation
}

/// The mean position of the surface points for which `chosen` holds at the start.
fn mean(simulation: &Simulation, chosen: impl Fn(DVec3) -> bool) -> DVec3 {
    let start = &simulation.scene_state().bodies[0].surface_start;
    let picked = start.iter().zip(simulation.positions()).filter(|(start, _)| chosen(**start));
    let (sum, count) = picked.fold((DVec3::ZERO, 0.0), |(sum, count), (_, now)| (sum + *now, count + 1.0));
    sum / count
}

/// A bar of density ρ that hangs by one end is longer by ρ g L²/(2 E).
#[test]
fn a_hung_bar_is_as_long_as_theory_says() {
    let mut scene = held_bar([1.0, 0.25, 0.25], 1.0 / 16.0, elastic(2e6, 0.0), Method::OCTREE);
    scene.world = World { gravity: 9.81 * DVec3::X, ..World::default() };
    let end = mean(&settled(scene), |p| p.x > 0.999).x - 1.0;
    let theory = 1000.0 * 9.81 / (2.0 * 2e6);
    assert!((end / theory - 1.0).abs() < 0.01, "{end} {theory}");
}

/// Timoshenko's beam under its own weight sags by w L⁴/(8 E I) + w L²/(2 κ G A), κ = 5/6. In an octant that bends by itself the
/// quadrature along the edges counts μκ²h²/4 twice, for strain and for parasitic shear, in place of Eκ²h²/24: with n octants
/// through the height, whose own bending is a part 1/n² of the whole, the beam is 1 + 5/n² times too stiff without Poisson's ratio.
#[test]
fn a_cantilever_converges_to_beam_theory_as_its_quadrature_says() {
    let (length, height, young) = (1.0_f64, 0.2_f64, 4e7);
    let (area, inertia) = (height * height, height.powi(4) / 12.0);
    let weight = 1000.0 * 9.81 * area;
    let theory = weight * length.powi(4) / (8.0 * young * inertia)
        + weight * length.powi(2) / (2.0 * 5.0 / 6.0 * 0.5 * young * area);
    let stiffness = |cells: f64| {
        let mut scene =
            held_bar([length, height, height], height / cells, elastic(young, 0.0), Method::OCTREE);
        // As fine inside as along the surface.
        scene.bodies[0].interior = Some(0.1);
        theory / -mean(&settled(scene), |p| p.x > 0.999).y
    };
    // The coarsest is a single level, which is factorised.
    let [two, four, eight] = [2.0, 4.0, 8.0].map(stiffness);
    for (found, cells) in [(two, 2.0), (four, 4.0), (eight, 8.0_f64)] {
        let expected = 1.0 + 5.0 / (cells * cells);
        assert!((found / expected - 1.0).abs() < 0.05, "{cells}: {found} {expected}");
    }
    let limit = eight + (eight - four) / 3.0;
    assert!((limit - 1.0).abs() < 0.02, "{limit} from {four} and {eight}");
}

/// Two consistent discretisations of the same block: their difference decreases as cells shrink, inside too.
fn sheared_block_differs_less_and_less_from_tetrahedra(model: Model) {
    let sag = |method: Method, cells: f64| {
        let mut scene = held_bar([0.4, 0.4, 0.4], 0.4 / cells, elastic(1e5, 0.3), method);
        scene.world = World { gravity: DVec3::new(0.0, -30.0, 0.0), ..World::default() };
        scene.bodies[0].interior = (method == Method::OCTREE).then_some(0.25);
        scene.bodies[0].model = Some(model);
        -mean(&settled(scene), |p| p.x > 0.399).y
    };
    let difference = |cells: f64| (sag(Method::OCTREE, cells) / sag(Method::NEWTON, cells) - 1.0).abs();
    let (coarse, fine) = (difference(8.0), difference(16.0));
    assert!(fine < 0.02 && fine < 0.7 * coarse, "{coarse} {fine}");
}

#[test]
fn a_sheared_block_takes_the_shape_it_has_in_tetrahedra() {
    sheared_block_differs_less_and_less_from_tetrahedra(Model::Corotated);
}

#[test]
fn a_sheared_neo_hookean_block_does_too() {
    sheared_block_differs_less_and_less_from_tetrahedra(Model::NeoHookean);
}

/// A block pressed to four fifths between plates that fix its ends bulges in the middle as it does in tetrahedra.
#[test]
fn a_pressed_block_bulges_as_it_does_in_tetrahedra() {
    let side = 0.4;
    let bulge = |method: Method| {
        let mut scene = held_bar([side; 3], side / 16.0, elastic(1e5, 0.3), method);
        scene.bodies[0].interior = (method == Method::OCTREE).then_some(0.25);
        scene.world = World { gravity: DVec3::ZERO, ..World::default() };
        let plate = Selection::Plane { point: DVec3::new(side - 1e-6, 0.0, 0.0), normal: DVec3::X };
        let keyframes = vec![Keyframe::at(0.0), Keyframe::at(1.0).translate([-0.2 * side, 0.0, 0.0])];
        scene.pins.push(Pin::hard("bar", plate).following(Motion { keyframes, ..Motion::default() }));
        let middle = |p: DVec3| (p.x - 0.5 * side).abs() < 1e-6 && p.y > 0.499 * side && p.z.abs() < 1e-6;
        mean(&settled(scene), middle).y - 0.5 * side
    };
    let [octants, tets] = [Method::OCTREE, Method::NEWTON].map(bulge);
    assert!(tets > 0.01 * side && (octants / tets - 1.0).abs() < 0.02, "{octants} {tets}");
}

/// Nearly incompressible flesh stretches by a third and keeps its volume: stress in the middle is ρgL/2, and the bulk
/// modulus gives a third of that over it as the mean change of volume.
#[test]
fn nearly_incompressible_flesh_stretches_and_keeps_its_volume() {
    let (young, ratio) = (1.2e4, 0.49);
    let mut scene = held_bar([0.6, 0.2, 0.2], 0.025, elastic(young, ratio), Method::OCTREE);
    scene.world = World { gravity: 9.81 * DVec3::X, ..World::default() };
    scene.bodies[0].model = Some(Model::NeoHookean);
    let mut simulation = Simulation::new(scene).unwrap();
    let volume = |simulation: &Simulation| {
        let positions = simulation.positions();
        let body = &simulation.scene_state().bodies[0];
        let part = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        body.surface_triangles.iter().map(part).sum::<f64>()
    };
    let before = volume(&simulation);
    let report = simulation.step(1.0).unwrap();
    assert!(report.converged, "{report:?}");
    let longer = mean(&simulation, |p| p.x > 0.599).x / 0.6 - 1.0;
    let stress = 0.5 * 1000.0 * 9.81 * 0.6;
    assert!((0.8..1.4).contains(&(longer / (stress / young))), "{longer}");
    let expected = stress * (1.0 - 2.0 * ratio) / young;
    let change = volume(&simulation) / before - 1.0;
    assert!(change > 0.0 && change < 3.0 * expected, "{change} {expected}");
}

#[test]
fn regions_differ_in_stiffness_within_one_body() {
    let end = |soft: Option<f64>| {
        let mut scene = held_bar([1.0, 0.25, 0.25], 1.0 / 16.0, elastic(2e6, 0.0), Method::OCTREE);
        scene.world = World { gravity: 9.81 * DVec3::X, ..World::default() };
        let half = Selection::Plane { point: DVec3::new(0.5, 0.0, 0.0), normal: DVec3::X };
        let region = |young| Region { selection: half, material: Some(elastic(young, 0.0)), random: None };
        scene.bodies[0].regions.extend(soft.map(region));
        mean(&settled(scene), |p| p.x > 0.999).x - 1.0
    };
    // Of the whole elongation a quarter is that of the lower half.
    let (whole, soft) = (end(None), end(Some(1e6)));
    assert!((soft / whole - 1.25).abs() < 0.02, "{whole} {soft}");
}

#[test]
fn what_flies_freely_keeps_its_momentum() {
    let mut scene = held_bar([0.4, 0.3, 0.3], 0.05, elastic(1e5, 0.4), Method::OCTREE);
    scene.pins.clear();
    scene.time.mode = Mode::Dynamic;
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    scene.bodies[0].velocity = DVec3::new(1.0, -2.0, 0.5);
    let mut simulation = Simulation::new(scene).unwrap();
    let before = mean(&simulation, |_| true);
    for _ in 0..20 {
        simulation.step(0.01).unwrap();
    }
    let way = mean(&simulation, |_| true) - before;
    assert!(way.distance(0.2 * DVec3::new(1.0, -2.0, 0.5)) < 1e-9, "{way}");
}

#[test]
fn a_block_comes_to_rest_on_the_floor_without_sinking_in() {
    let mut scene = held_bar([0.3, 0.3, 0.3], 0.05, elastic(5e4, 0.4), Method::OCTREE);
    scene.pins.clear();
    scene.time.mode = Mode::Dynamic;
    scene.solver.tolerance = Some(1e-3);
    scene.bodies[0].transform.translate = DVec3::new(0.0, 0.16, 0.0);
    scene.bodies[0].material.damping = Some(0.05);
    scene.colliders.push(Collider::plane("floor", [0.0; 3], [0.0, 1.0, 0.0]));
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..60 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!((-0.005..0.01).contains(&lowest), "{lowest}");
    let middle = mean(&simulation, |_| true);
    assert!((0.12..0.155).contains(&middle.y) && middle.x.abs() < 0.01, "{middle}");
}

/// A rod thinner than the octants around it, as a mesh file.
fn write_rod(folder: &std::path::Path) {
    let rod = BoxShape { size: [0.3, 0.004, 0.004], cells: [30, 1, 1] }.surface(1.0).unwrap();
    let vertices = rod.positions.iter().map(|p| format!("v {} {} {}\n", p.x, p.y, p.z));
    let faces = rod.triangles().into_iter().map(|t| {
        let [a, b, c] = t.map(|v| v + 1);
        format!("f {a} {b} {c}\n")
    });
    std::fs::write(folder.join("rod.obj"), vertices.chain(faces).collect::<String>()).unwrap();
}

/// Without gravity flesh follows a rigid motion of its bone, undeformed.
#[test]
fn flesh_follows_a_bone_that_is_thinner_than_its_octants() {
    let folder = tempfile::tempdir().unwrap();
    write_rod(folder.path());
    let mut scene = held_bar([0.4, 0.2, 0.2], 0.025, elastic(1e5, 0.4), Method::OCTREE);
    scene.bodies[0].transform.translate = DVec3::ZERO;
    scene.world = World { gravity: DVec3::ZERO, ..World::default() };
    let motion = Motion {
        pivot: DVec3::new(0.1, 0.0, 0.0),
        keyframes: vec![
            Keyframe::at(0.0).translate([0.0; 3]).rotate([0.0; 3]),
            Keyframe::at(1.0).translate([0.02, 0.1, 0.0]).rotate([0.0, 0.0, 25.0]),
        ],
    };
    let pose = motion.pose(1.0);
    let bone = Selection::InsideMesh(ClosedMesh::new(folder.path().join("rod.obj")));
    scene.pins = vec![Pin::soft("bar", bone, 1e3).following(motion)];
    let simulation = settled(scene);
    let start = &simulation.scene_state().bodies[0].surface_start;
    let farthest =
        start.iter().zip(simulation.positions()).map(|(start, now)| pose.apply(*start).distance(*now));
    let farthest = farthest.fold(0.0, f64::max);
    // A rod constrains its flesh against rotation about its own axis by its thickness alone.
    assert!(farthest < 1e-3, "{farthest}");
}

#[test]
fn a_bone_outside_its_flesh_is_refused_with_what_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    write_rod(folder.path());
    let mut scene = held_bar([0.4, 0.2, 0.2], 0.05, elastic(1e5, 0.4), Method::OCTREE);
    scene.bodies[0].transform.translate = DVec3::new(0.0, 3.0, 0.0);
    let bone = Selection::InsideMesh(ClosedMesh::new(folder.path().join("rod.obj")));
    scene.pins = vec![Pin::soft("bar", bone, 1e3)];
    let problem = Simulation::new(scene).err().unwrap().to_string();
    assert!(problem.contains("rod.obj") && problem.contains("`scale`"), "{problem}");
}

#[test]
fn cloth_and_other_models_are_refused_with_what_to_do() {
    let mut scene =
        Scene::builder().body(Body::cloth("cloth").size([1.0, 1.0]).vertices([4, 4])).build().unwrap();
    scene.solver.method = Method::OCTREE;
    let problem = Simulation::new(scene).err().unwrap().to_string();
    assert!(problem.contains("`cell`"), "{problem}");
    let mut scene = held_bar([0.4, 0.3, 0.3], 0.05, elastic(1e5, 0.4), Method::OCTREE);
    scene.bodies[0].model = Some(Model::Stvk);
    let problem = Simulation::new(scene).err().unwrap().to_string();
    assert!(problem.contains("use one of `corotated`, `neo-hookean`"), "{problem}");
}
