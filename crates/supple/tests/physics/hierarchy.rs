//! Hierarchies reported by solvers: regions that cover the bodies, nest from level to level, and contain their own nodes.

use std::collections::BTreeMap;

use supple::scene::{Body, Cuboid, LinearKind, Method, Model, Pin, Scene, Selection, ShapeSource, Solver};
use supple::simulation::{HierarchyLevel, NO_REGION, Simulation, Slice};

fn stepped(solver: Solver) -> Simulation {
    let corners = Selection::nearest([[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5]]);
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([25, 25]))
        .pin(Pin::hard("cloth", corners))
        .solver(solver)
        .build()
        .unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    simulation.step(0.01).unwrap();
    simulation
}

fn linear(kind: LinearKind) -> Solver {
    Solver { linear: Some(kind.into()), ..Solver::default() }
}

/// Every point except the pinned ones has a region, every region has points.
fn covers(level: &HierarchyLevel, held: usize) {
    let mut sizes = vec![0; level.regions];
    let mut none = 0;
    for &region in &level.region_of_point {
        match region {
            NO_REGION => none += 1,
            region => sizes[region as usize] += 1,
        }
    }
    assert_eq!(none, held, "{}", level.name);
    assert!(sizes.iter().all(|size| *size > 0), "{}", level.name);
}

/// Points that share a region on a level share one on the next coarser level.
fn nest(finer: &HierarchyLevel, coarser: &HierarchyLevel) {
    let mut parent = BTreeMap::new();
    for (fine, coarse) in finer.region_of_point.iter().zip(&coarser.region_of_point) {
        assert_eq!(*parent.entry(fine).or_insert(coarse), coarse);
    }
    assert!(coarser.regions < finer.regions);
}

/// The region of the surface point at a position.
fn region_at(simulation: &Simulation, level: &HierarchyLevel, place: glam::DVec3) -> u32 {
    let point = simulation.positions().iter().position(|x| *x == place).expect("a node is a vertex");
    level.region_of_point[point]
}

#[test]
fn galerkin_tells_nested_regions_around_its_coarse_nodes() {
    let mut solver = linear(LinearKind::Galerkin);
    solver.linear.as_mut().unwrap().levels = Some(supple::scene::Levels::Counts(vec![60, 15, 4]));
    let simulation = stepped(solver);
    let levels = simulation.hierarchy();
    assert_eq!(levels.iter().map(|level| level.regions).collect::<Vec<_>>(), [60, 15, 4]);
    levels.windows(2).for_each(|pair| nest(&pair[0], &pair[1]));
    for level in &levels {
        covers(level, 2);
        assert_eq!(level.nodes.len(), level.regions);
        for (k, &node) in level.nodes.iter().enumerate() {
            assert_eq!(region_at(&simulation, level, node), k as u32);
        }
    }
}

#[test]
fn schwarz_and_mas_tell_domains_of_the_size_that_was_asked_for() {
    for kind in [LinearKind::Schwarz, LinearKind::Mas] {
        let mut solver = linear(kind);
        solver.linear.as_mut().unwrap().domain = Some(16);
        let levels = stepped(solver).hierarchy();
        covers(&levels[0], 2);
        // Along a curve all are full but the last; along strong connections a few are not.
        let full = (25usize * 25 - 2).div_ceil(16);
        let most = if kind == LinearKind::Mas { full + full / 8 } else { full };
        assert!((full..=most).contains(&levels[0].regions), "{kind:?}: {}", levels[0].regions);
        let largest = (0..levels[0].regions as u32)
            .map(|region| levels[0].region_of_point.iter().filter(|other| **other == region).count())
            .max();
        assert_eq!(largest, Some(16));
        levels.windows(2).for_each(|pair| assert!(pair[1].regions < pair[0].regions));
    }
}

#[test]
fn hpbd_tells_the_particles_of_its_levels_and_what_links_them() {
    let simulation = stepped(Solver { method: Method::HPBD, ..Solver::default() });
    let levels = simulation.hierarchy();
    assert!(levels.len() >= 2);
    levels.windows(2).for_each(|pair| nest(&pair[0], &pair[1]));
    for level in &levels {
        covers(level, 0);
        assert_eq!(level.nodes.len(), level.regions);
        for (k, &node) in level.nodes.iter().enumerate() {
            assert_eq!(region_at(&simulation, level, node), k as u32);
        }
        let ends = level.links.iter().flatten();
        assert!(ends.into_iter().all(|end| level.nodes.contains(end)) && !level.links.is_empty());
    }
}

#[test]
fn solvers_without_a_hierarchy_tell_none_and_no_solver_does_before_the_first_step() {
    assert!(stepped(linear(LinearKind::Cholesky)).hierarchy().is_empty());
    assert!(stepped(linear(LinearKind::Jacobi)).hierarchy().is_empty());
    let scene = Scene::builder()
        .body(Body::cloth("cloth").size([1.0, 1.0]).vertices([9, 9]))
        .solver(linear(LinearKind::Mas));
    assert!(Simulation::new(scene.build().unwrap()).unwrap().hierarchy().is_empty());
}

#[test]
fn a_simulation_continues_from_its_state_when_the_solver_changes() {
    let mut simulation = stepped(Solver { tolerance: Some(1e-9), ..Solver::default() });
    let mut unchanged = stepped(Solver { tolerance: Some(1e-9), ..Solver::default() });
    for kind in [LinearKind::Galerkin, LinearKind::Mas, LinearKind::Ic0, LinearKind::Cholesky] {
        simulation.set_solver(Solver { tolerance: Some(1e-9), max_iterations: 200, ..linear(kind) }).unwrap();
        simulation.step(0.01).unwrap();
        unchanged.step(0.01).unwrap();
        // All of them solve the same steps to the same tolerance.
        let largest = simulation.positions().iter().zip(unchanged.positions()).map(|(a, b)| a.distance(*b));
        assert!(largest.fold(0.0, f64::max) < 1e-6, "{kind:?}");
    }
    let held: Vec<_> = simulation.pinned_points().collect();
    assert_eq!(held.len(), 2);
    simulation.unpin_point(held[0].pin, held[0].index).unwrap();
    assert_eq!(simulation.pinned_points().count(), 1);
    assert_eq!(simulation.pinned_points().next().map(|point| point.start), Some(held[1].start));
    simulation.unpin_point(held[0].pin, 0).unwrap();
    assert!(simulation.unpin_point(held[0].pin, 0).is_err());
    simulation.step(0.01).unwrap();
}

/// A solid that hangs from its top and has swung for two steps.
fn solid(method: Method) -> Simulation {
    let block = ShapeSource::Box(Cuboid { size: [1.0, 1.0, 0.8], cells: None });
    let top = Selection::Box { min: [-1.0, 0.49, -1.0].into(), max: [1.0, 1.0, 1.0].into() };
    let scene = Scene::builder()
        .body(Body { model: Some(Model::Corotated), ..Body::new("block", block).solid(0.0625) })
        .pin(Pin::hard("block", top))
        .solver(Solver { method, ..Solver::default() })
        .build()
        .unwrap();
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..2 {
        simulation.step(0.02).unwrap();
    }
    simulation
}

/// Twice the area of a quadrilateral.
fn area([a, b, c, d]: [glam::DVec3; 4]) -> f64 {
    (c - a).cross(d - b).length()
}

/// The cells of a slice cover it without holes: their areas sum to at least that of the body's cross-section, and exceed it by no more
/// than the cells that stick out.
fn fills(level: &HierarchyLevel, section: f64, most: f64) {
    let sum: f64 = level.cells.iter().map(|cell| 0.5 * area(cell.corners)).sum();
    assert!(sum > 0.98 * section && sum < most * section, "{}: {sum} of {section}", level.name);
    assert!(level.cells.iter().all(|cell| (cell.kind as usize) < level.kinds.len()));
}

#[test]
fn octrees_tell_a_slice_of_octants_by_size_and_the_octants_of_the_surface() {
    let simulation = solid(Method::OCTREE);
    for (axis, section) in [(0, 0.8), (1, 0.8), (2, 1.0)] {
        let levels = simulation.hierarchy_in(&Slice { axis, share: 0.5 });
        assert!(levels.len() >= 2);
        for level in &levels {
            covers(level, 0);
            fills(level, section, 2.6);
        }
        levels.windows(2).for_each(|pair| nest(&pair[0], &pair[1]));
        // Fine along the surface, coarse in the middle: every size named in the legend occurs.
        let kinds = |level: &HierarchyLevel| level.cells.iter().map(|cell| cell.kind).max();
        assert!(
            levels[0].kinds.len() >= 2 && levels[0].kinds[0].contains("62.5 mm"),
            "{:?}",
            levels[0].kinds
        );
        assert_eq!(kinds(&levels[0]), Some(levels[0].kinds.len() as u32 - 1));
    }
    let [low, high] = [0.1, 0.9].map(|share| simulation.hierarchy_in(&Slice { axis: 1, share })[0].cells[0]);
    assert!(low.corners[0].y < high.corners[0].y - 0.7, "slices are at the requested positions");
}

#[test]
fn lattices_tell_a_slice_of_cells_by_kind_and_leave_held_points_out() {
    let simulation = solid(Method::STAGGERED);
    let levels = simulation.hierarchy();
    assert!(levels.len() >= 2);
    for level in &levels {
        fills(level, 1.0, 1.6);
        assert_eq!(level.kinds.len(), 3);
    }
    let count = |kind: u32| levels[0].cells.iter().filter(|cell| cell.kind == kind).count();
    // 16 by 16 cells, or one more by rounding; the uppermost row is pinned, next to the rest of the rim something is missing.
    assert!((16..=18).contains(&count(2)), "{} held", count(2));
    assert!((240..=17 * 17).contains(&(count(0) + count(1))));
    assert!(count(0) > 100 && count(1) > 30, "{} inside, {} at the boundary", count(0), count(1));
    let held = levels[0].region_of_point.iter().filter(|region| **region == NO_REGION).count();
    let pinned = simulation.pinned_points().filter(|point| point.target.y > 0.49).count();
    assert!(held > 0 && held <= pinned, "{held} points are grey of {pinned} that are pinned");
}
