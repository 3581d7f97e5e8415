//! Cloth that tears: independent halves, masses, saved states, frames, long runs.

use std::collections::BTreeSet;

use glam::DVec3;
use supple::body::Elements;
use supple::scene::{Body, Method, Pin, PinStrength, Scene, Selection, Tear};
use supple::simulation::Simulation;
use supple::solvers::hpbd;

const DT: f64 = 1.0 / 240.0;

/// A strip of rubbery cloth, hung by its upper side, whose lower side is pulled down faster than it can bear.
fn strip(cells: [u32; 2]) -> (Scene, Selection) {
    let mut cloth =
        Body::cloth("strip").size([0.4, 1.0]).vertices([cells[0] + 1, cells[1] + 1]).material("jersey");
    cloth.transform.rotate = 90.0 * DVec3::X;
    let side = |y: f64| Selection::Plane { point: DVec3::new(0.0, 0.499 * y, 0.0), normal: y * DVec3::Y };
    let mut scene = Scene::builder().body(cloth).pin(Pin::hard("strip", side(1.0))).build().unwrap();
    scene.solver.method = Method::HPBD;
    scene.bodies[0].tear_stretch = Some(1.2);
    (scene, side(-1.0))
}

/// Pulls the lower side down until the strip is in two, and some steps more.
fn torn(cells: [u32; 2]) -> Simulation {
    let (scene, lower) = strip(cells);
    let mut simulation = Simulation::new(scene).unwrap();
    let body = simulation.body("strip").unwrap();
    let pin = simulation.pin(body, &lower, PinStrength::Hard).unwrap();
    for step in 1..400 {
        simulation.move_pin(pin, f64::from(step) * -0.004 * DVec3::Y).unwrap();
        simulation.step(DT).unwrap();
        if pieces(&simulation).1 > 1 {
            break;
        }
    }
    simulation.unpin(pin).unwrap();
    assert!(pieces(&simulation).1 > 1, "it is in two");
    simulation
}

/// The piece of every unknown, and how many there are with elements.
fn pieces(simulation: &Simulation) -> (Vec<u32>, usize) {
    let body = &simulation.scene_state().bodies[0];
    let Elements::Triangles(triangles) = &body.elements else { panic!("a cloth") };
    let mut piece: Vec<u32> = (0..body.start.len() as u32).collect();
    loop {
        let before = piece.clone();
        for triangle in triangles {
            let least = triangle.iter().map(|&v| piece[v as usize]).min().unwrap();
            triangle.iter().for_each(|&v| piece[v as usize] = least);
        }
        if piece == before {
            break;
        }
    }
    let mut names: Vec<u32> = triangles.iter().map(|t| piece[t[0] as usize]).collect();
    names.sort_unstable();
    names.dedup();
    (piece, names.len())
}

#[test]
fn nothing_on_any_level_joins_the_halves() {
    let simulation = torn([16, 40]);
    let (piece, _) = pieces(&simulation);
    let levels = simulation.particle_levels();
    assert!(levels.len() >= 4, "{}", levels.len());
    for (l, level) in levels.iter().enumerate() {
        for &[a, b] in level.links.iter().chain(&level.parents) {
            assert_eq!(piece[a as usize], piece[b as usize], "{a} and {b} on level {l}");
        }
    }
    // Away from the tear the hierarchy is unchanged.
    assert!(levels[1].links.len() > 200 && levels[2].links.len() > 40);
}

/// The longest side of any triangle.
fn longest_side(simulation: &Simulation) -> f64 {
    let Elements::Triangles(triangles) = &simulation.scene_state().bodies[0].elements else {
        panic!("a cloth")
    };
    let x = simulation.positions();
    let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    sides.map(|[a, b]| x[a as usize].distance(x[b as usize])).fold(0.0, f64::max)
}

#[test]
fn a_torn_cloth_stays_together_on_coarse_levels() {
    for level in [1, 2] {
        let mut simulation = torn([16, 40]);
        simulation.set_level(level).unwrap();
        for _ in 0..240 {
            simulation.step(DT).unwrap();
        }
        // Sides are 35 mm at most, and the cells of the second level 0.1 m.
        let longest = longest_side(&simulation);
        assert!(longest < 0.15, "{longest} on level {level}");
    }
}

#[test]
fn a_state_saved_on_a_coarse_level_after_a_tear_continues_bit_identically() {
    let mut simulation = torn([12, 30]);
    simulation.set_level(1).unwrap();
    let run = |simulation: &mut Simulation| {
        for _ in 0..20 {
            simulation.step(DT).unwrap();
        }
    };
    run(&mut simulation);
    let mut resumed = Simulation::new(strip([12, 30]).0).unwrap();
    resumed.restore(&simulation.save()).unwrap();
    resumed.set_level(1).unwrap();
    run(&mut simulation);
    run(&mut resumed);
    assert_eq!(simulation.state_hash(), resumed.state_hash());
}

#[test]
fn one_half_does_not_feel_what_happens_to_the_other() {
    let start = torn([12, 30]);
    let (piece, _) = pieces(&start);
    // The upper side is vertex 0's piece.
    let other: Vec<u32> = (0..piece.len() as u32).filter(|&v| piece[v as usize] != piece[0]).collect();
    let state = start.save();
    let half = |move_other: bool| {
        // Nothing else tears, so that vertices keep their numbers.
        let mut scene = strip([12, 30]).0;
        scene.bodies[0].tear_stretch = Some(1e6);
        let mut simulation = Simulation::new(scene).unwrap();
        simulation.restore(&state).unwrap();
        if move_other {
            let body = simulation.body("strip").unwrap();
            let surface = &simulation.scene_state().bodies[0];
            let points = 0..surface.embedding.len() as u32;
            let points =
                points.filter(|&p| other.contains(&surface.embedding.weights(p as usize)[0].0)).collect();
            let pin = simulation.pin(body, &Selection::Indices(points), PinStrength::Hard).unwrap();
            simulation.move_pin(pin, DVec3::new(0.3, -2.0, 1.0)).unwrap();
        }
        for _ in 0..60 {
            simulation.step(DT).unwrap();
        }
        simulation
    };
    let (alone, moved) = (half(false), half(true));
    let body = &alone.scene_state().bodies[0];
    assert_eq!(body.elements, moved.scene_state().bodies[0].elements, "both tear in the same places");
    // Both continue to tear in the same places; clones of clones belong where their originals do.
    let clones = &body.surface.mesh.clone_of;
    let whole = body.surface.mesh.positions.len() - clones.len();
    let side = |mut vertex: usize| {
        while vertex >= piece.len() {
            vertex = clones[vertex - whole] as usize;
        }
        piece[vertex]
    };
    let mut compared = 0;
    for (p, (a, b)) in alone.positions().iter().zip(moved.positions()).enumerate() {
        if side(body.embedding.weights(p)[0].0 as usize) == piece[0] {
            assert_eq!(a, b, "vertex {p}");
            compared += 1;
        }
    }
    assert!(compared > 100);
}

#[test]
fn tears_keep_the_mass_and_the_rest_shape() {
    let simulation = torn([12, 30]);
    let whole = Simulation::new(strip([12, 30]).0).unwrap();
    assert!((simulation.mass() / whole.mass() - 1.0).abs() < 1e-12);
    let (torn, whole) = (&simulation.scene_state().bodies[0], &whole.scene_state().bodies[0]);
    assert_eq!(torn.rest_corners, whole.rest_corners);
    let area = |areas: &[f64]| areas.iter().sum::<f64>();
    assert!((area(&torn.point_areas) / area(&whole.point_areas) - 1.0).abs() < 1e-12);
    let mesh = &torn.surface.mesh;
    assert_eq!(mesh.positions.len(), whole.surface.mesh.positions.len() + mesh.clone_of.len());
    assert!(!mesh.clone_of.is_empty());
    for (&clone, &of) in
        torn.surface_triangles.as_flattened().iter().zip(whole.surface_triangles.as_flattened())
    {
        assert_eq!(mesh.positions[clone as usize], mesh.positions[of as usize]);
    }
}

#[test]
fn a_state_saved_after_a_tear_continues_bit_identically_for_any_number_of_threads() {
    let mut simulation = torn([12, 30]);
    let state = simulation.save();
    for _ in 0..40 {
        simulation.step(DT).unwrap();
    }
    for threads in [1, 2, 3] {
        let pool = rayon_pool(threads);
        let hash = pool.install(|| {
            let mut resumed = Simulation::new(strip([12, 30]).0).unwrap();
            resumed.restore(&state).unwrap();
            for _ in 0..40 {
                resumed.step(DT).unwrap();
            }
            resumed.state_hash()
        });
        assert_eq!(hash, simulation.state_hash(), "{threads} threads");
    }
}

/// Enough particles that threads share the prolongation of corrections, with tears that gave many of them other parents.
#[test]
fn a_large_torn_cloth_is_bit_identical_for_any_number_of_threads() {
    let cells = [60, 150];
    let state = torn(cells).save();
    let hash = |threads: usize| {
        rayon_pool(threads).install(|| {
            let mut resumed = Simulation::new(strip(cells).0).unwrap();
            resumed.restore(&state).unwrap();
            for _ in 0..10 {
                resumed.step(DT).unwrap();
            }
            resumed.state_hash()
        })
    };
    let alone = hash(1);
    assert_eq!(hash(2), alone);
    assert_eq!(hash(3), alone);
}

fn rayon_pool(threads: usize) -> supple_core::parallel::ThreadPool {
    supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn a_damaged_state_is_refused_and_changes_nothing() {
    let mut simulation = torn([12, 30]);
    let (state, hash) = (simulation.save(), simulation.state_hash());
    for cut in [20, 60, state.len() / 2] {
        assert!(simulation.restore(&state[..cut]).is_err());
        assert_eq!(simulation.state_hash(), hash);
    }
    // A split of a nonexistent particle.
    let mut wrong = state.clone();
    wrong[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(simulation.restore(&wrong).is_err());
    assert_eq!(simulation.state_hash(), hash);
}

/// The mean position of the mass of a piece's elements.
fn middle(simulation: &Simulation, of: u32) -> DVec3 {
    let (piece, _) = pieces(simulation);
    let body = &simulation.scene_state().bodies[0];
    let (mut mass, mut sum) = (0.0, DVec3::ZERO);
    for (p, at) in simulation.positions().iter().enumerate() {
        let unknown = body.embedding.weights(p)[0].0 as usize;
        if piece[unknown] == of {
            (mass, sum) = (mass + body.mass[unknown], sum + body.mass[unknown] * *at);
        }
    }
    sum / mass
}

#[test]
fn vertices_tear_when_the_scene_says_so_and_what_is_cut_off_falls_freely() {
    let (mut scene, _) = strip([12, 30]);
    let row = Selection::Box { min: DVec3::new(-1.0, -1e-3, -1.0), max: DVec3::new(1.0, 1e-3, 1.0) };
    scene.bodies[0].tear_stretch = None;
    scene.bodies[0].tears = vec![Tear { time: 10.5 * DT, selection: row, across: DVec3::Y }];
    let mut simulation = Simulation::new(scene.clone()).unwrap();
    for _ in 0..10 {
        simulation.step(DT).unwrap();
    }
    assert_eq!(pieces(&simulation).1, 1);
    simulation.step(DT).unwrap();
    let (piece, count) = pieces(&simulation);
    assert_eq!((count, simulation.scene_state().bodies[0].surface.mesh.clone_of.len()), (2, 13));
    for level in simulation.particle_levels() {
        for &[a, b] in level.links.iter().chain(&level.parents) {
            assert_eq!(piece[a as usize], piece[b as usize]);
        }
    }
    // Prolonged corrections (equation 7) do not conserve momentum, so it falls without a hierarchy.
    scene.solver.options.get_mut::<hpbd::HpbdOptions>().levels = 0;
    let mut simulation = Simulation::new(scene.clone()).unwrap();
    for _ in 0..11 {
        simulation.step(DT).unwrap();
    }
    let lower = *piece.iter().find(|name| **name != piece[0]).unwrap();
    let mut resumed = Simulation::new(scene).unwrap();
    resumed.restore(&simulation.save()).unwrap();
    let steps = 1.0 / 4096.0;
    let places: Vec<f64> = (0..3)
        .map(|_| {
            simulation.step(steps).unwrap();
            resumed.step(steps).unwrap();
            middle(&simulation, lower).y
        })
        .collect();
    let fall = (places[2] - 2.0 * places[1] + places[0]) / (steps * steps);
    assert!((fall + 9.81).abs() < 1e-6, "{fall}");
    assert_eq!(resumed.state_hash(), simulation.state_hash());
}

#[test]
fn earlier_frames_take_the_final_vertices_with_clones_on_their_originals() {
    let first = Simulation::new(strip([12, 30]).0).unwrap().frame(0);
    let last = torn([12, 30]).frame(1);
    let mut body = first.bodies[0].clone();
    body.make_torn(&last.bodies[0].surface);
    assert_eq!(body.positions.len(), last.bodies[0].positions.len());
    let mesh = &last.bodies[0].surface.mesh;
    let whole = mesh.positions.len() - mesh.clone_of.len();
    for (clone, &of) in mesh.clone_of.iter().enumerate() {
        assert_eq!(body.positions[whole + clone], body.positions[of as usize]);
    }
    assert_eq!(body.positions[..whole], first.bodies[0].positions[..]);
}

#[test]
fn a_torn_cloth_stays_finite_over_two_thousand_steps() {
    let mut simulation = torn([8, 20]);
    for _ in 0..2000 {
        simulation.step(1.0 / 60.0).unwrap();
    }
    assert!(simulation.first_non_finite().is_none());
    let upper = simulation.positions()[0];
    assert!((upper - DVec3::new(-0.2, 0.5, 0.0)).length() < 1e-9, "{upper}: pinned points stay");
}

#[test]
fn fewer_coarse_constraints_are_removed_than_by_the_papers_rule() {
    let torn = torn([16, 40]);
    let whole = Simulation::new(strip([16, 40]).0).unwrap().particle_levels();
    let now = torn.particle_levels();
    let vertices = whole[0].particles.len() as u32;
    let clone_of = &torn.scene_state().bodies[0].surface.mesh.clone_of;
    let original = |mut v: u32| {
        while v >= vertices {
            v = clone_of[(v - vertices) as usize];
        }
        v
    };
    // The paper removes all constraints of the split particles and of their ancestors (section 8).
    let mut ancestors: BTreeSet<u32> = clone_of.iter().map(|&v| original(v)).collect();
    let (mut by_paper, mut lost) = (0, 0);
    for (before, after) in whole.iter().zip(&now).skip(1) {
        let parents = before.parents.iter().filter(|[child, _]| ancestors.contains(child)).map(|[_, p]| *p);
        let here = before.particles.iter().copied().filter(|p| ancestors.contains(p));
        ancestors = parents.chain(here).collect();
        by_paper += before.links.iter().filter(|link| link.iter().any(|p| ancestors.contains(p))).count();
        lost += before.links.len() - after.links.len();
    }
    assert!(lost > 0 && lost < by_paper, "{lost} {by_paper}");
}

#[test]
fn a_body_with_fewer_levels_than_are_simulated_stays_whole_when_another_tears() {
    let (mut scene, _) = strip([24, 60]);
    let row = Selection::Box { min: DVec3::new(-1.0, -1e-3, -1.0), max: DVec3::new(1.0, 1e-3, 1.0) };
    scene.bodies[0].tear_stretch = None;
    scene.bodies[0].tears = vec![Tear { time: 10.5 * DT, selection: row, across: DVec3::Y }];
    let mut small =
        Body::cloth("small").size([0.2, 0.2]).vertices([4, 4]).material("jersey").at([1.0, 0.0, 0.0]);
    small.transform.rotate = 90.0 * DVec3::X;
    let side = Selection::Plane { point: DVec3::new(1.0, 0.0999, 0.0), normal: DVec3::Y };
    scene.pins.push(Pin::hard("small", side));
    scene.bodies.insert(0, small);
    let mut simulation = Simulation::new(scene).unwrap();
    let start = simulation.positions()[..16].to_vec();
    let levels = simulation.particle_levels();
    let of_small = |level: usize| levels[level].particles.iter().filter(|p| **p < 16).count();
    assert!(levels.len() >= 4 && of_small(3) == of_small(2) && of_small(3) > 0, "{}", levels.len());
    simulation.set_level(3).unwrap();
    for step in 0..240 {
        simulation.step(DT).unwrap();
        // It hangs where it was, stretched by its own weight and by the error of a sweep: a tenth at most.
        for (now, then) in simulation.positions().iter().zip(&start) {
            assert!(now.distance(*then) < 0.02, "{now} {then} at step {step}");
        }
    }
    assert!(!simulation.scene_state().bodies[1].surface.mesh.clone_of.is_empty(), "the other is torn");
}
