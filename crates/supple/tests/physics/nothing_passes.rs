//! `hpbd`: no edge of a body passes a collider's triangle or the other way round, and colliders are on time. The check of edges against
//! triangles is of its own: by signs of volumes, at the positions that the colliders' motion prescribes.

use glam::DVec3;
use supple::mesh::format::write_obj;
use supple::mesh::{SurfaceMesh, generate::BoxShape};
use supple::scene::{Body, Collider, Keyframe, Method, Motion, Pin, Scene, Selection};
use supple::simulation::Simulation;

/// Triangles over positions.
struct Mesh {
    positions: Vec<DVec3>,
    triangles: Vec<[usize; 3]>,
}

impl Mesh {
    fn of_box(center: DVec3, size: DVec3) -> Self {
        let shape = BoxShape { size: size.to_array(), cells: [1, 1, 1] }.surface(1.0).unwrap();
        let triangles = shape.triangles().iter().map(|t| t.map(|v| v as usize)).collect();
        Self { positions: shape.positions.iter().map(|p| *p + center).collect(), triangles }
    }

    fn moved(&self, by: DVec3) -> Self {
        let positions = self.positions.iter().map(|p| *p + by).collect();
        Self { positions, triangles: self.triangles.clone() }
    }

    fn edges(&self) -> impl Iterator<Item = [DVec3; 2]> {
        let edge = |t: &[usize; 3], i: usize| [t[i], t[(i + 1) % 3]].map(|v| self.positions[v]);
        self.triangles.iter().flat_map(move |t| [edge(t, 0), edge(t, 1), edge(t, 2)])
    }

    /// Edges that pass through triangles of another mesh.
    fn pierces(&self, other: &Self) -> usize {
        let corners = |t: &[usize; 3]| t.map(|v| other.positions[v]);
        let passes = |edge: &[DVec3; 2]| other.triangles.iter().any(|t| passes_through(*edge, corners(t)));
        self.edges().filter(passes).count()
    }
}

fn volume(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    (b - a).cross(c - a).dot(d - a)
}

fn passes_through([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let sides = [volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)];
    let within = sides.iter().all(|v| *v > 0.0) || sides.iter().all(|v| *v < 0.0);
    within && volume(a, b, c, p) * volume(a, b, c, q) < 0.0
}

fn surface(simulation: &Simulation) -> Mesh {
    let body = &simulation.scene_state().bodies[0];
    let triangles = body.surface_triangles.iter().map(|t| t.map(|v| v as usize)).collect();
    Mesh { positions: simulation.positions().to_vec(), triangles }
}

/// A sheet of 40 cm in the plane z = 0, held at its two upper corners.
fn hung_sheet() -> Scene {
    let mut sheet = Body::cloth("sheet").size([0.4, 0.4]).vertices([13, 13]).material("cotton");
    sheet.transform.rotate = 90.0 * DVec3::X;
    let corners = [DVec3::new(-0.2, 0.2, 0.0), DVec3::new(0.2, 0.2, 0.0)];
    let held = Pin::hard("sheet", Selection::Nearest(corners.to_vec()));
    let mut scene = Scene::builder().body(sheet).pin(held).build().unwrap();
    scene.solver.method = Method::HPBD;
    scene
}

fn along_z(speed: f64, duration: f64) -> Motion {
    let keyframe =
        |time: f64| Keyframe { time, translate: Some(speed * time * DVec3::Z), ..Keyframe::default() };
    Motion { pivot: DVec3::ZERO, keyframes: vec![keyframe(0.0), keyframe(duration)] }
}

/// Drives a collider into a sheet and counts what passes what after every step.
fn crossings_of(collider: Collider, shape: &Mesh, speed: f64) -> usize {
    let mut scene = hung_sheet();
    let duration = 0.4 / speed;
    scene.colliders.push(collider.moving(along_z(speed, duration)));
    let mut simulation = Simulation::new(scene).unwrap();
    let mut crossings = 0;
    let steps = 12;
    for _ in 0..steps {
        simulation.step(duration / f64::from(steps)).unwrap();
        let (sheet, at) = (surface(&simulation), shape.moved(speed * simulation.time() * DVec3::Z));
        crossings += sheet.pierces(&at) + at.pierces(&sheet);
    }
    crossings
}

#[test]
fn thin_plates_do_not_pass_a_sheet() {
    let center = DVec3::new(0.007, 0.011, -0.15);
    for (size, speed) in [
        ([0.1, 0.1, 1e-4], 20.0),
        ([0.1, 1e-4, 0.1], 20.0),
        ([0.15, 0.15, 0.02], 1.0),
        ([0.15, 0.15, 0.02], 3.0),
    ] {
        let size = DVec3::from(size);
        let shape = Mesh::of_box(center, size);
        let crossings = crossings_of(Collider::cuboid("plate", center, size), &shape, speed);
        assert_eq!(crossings, 0, "{size} at {speed} m/s");
    }
}

#[test]
fn the_point_of_a_cone_does_not_pass_a_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let ring = |i: u32| {
        let angle = f64::from(i) / 12.0 * std::f64::consts::TAU;
        DVec3::new(0.007 + 0.03 * angle.cos(), 0.011 + 0.03 * angle.sin(), -0.25)
    };
    let mut positions = vec![DVec3::new(0.007, 0.011, -0.1), DVec3::new(0.007, 0.011, -0.25)];
    positions.extend((0..12).map(ring));
    let sides = (0..12_u32).flat_map(|i| {
        let [a, b] = [2 + i, 2 + (i + 1) % 12];
        [[0, a, b], [1, b, a]]
    });
    let triangles: Vec<[u32; 3]> = sides.collect();
    let mesh = SurfaceMesh::from_triangles(positions.clone(), &triangles);
    let mut bytes = Vec::new();
    write_obj(&mesh, &mut bytes).unwrap();
    let path = folder.path().join("cone.obj");
    std::fs::write(&path, bytes).unwrap();
    let triangles = triangles.iter().map(|t| t.map(|v| v as usize)).collect();
    let shape = Mesh { positions, triangles };
    assert_eq!(crossings_of(Collider::mesh("cone", path), &shape, 20.0), 0);
}

#[test]
fn what_falls_onto_a_thin_table_stays_on_it() {
    let table = DVec3::new(1.0, 0.002, 1.0);
    let mut cloth =
        Body::cloth("cloth").size([0.3, 0.3]).vertices([10, 10]).material("cotton").moving(-6.0 * DVec3::Y);
    cloth.transform.translate = 0.1 * DVec3::Y;
    let mut scene =
        Scene::builder().body(cloth).collider(Collider::cuboid("table", DVec3::ZERO, table)).build().unwrap();
    scene.solver.method = Method::HPBD;
    let mut simulation = Simulation::new(scene).unwrap();
    for _ in 0..20 {
        simulation.step(1.0 / 30.0).unwrap();
        let lowest = simulation.positions().iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > 0.001, "{lowest}");
    }
}

#[test]
fn where_nothing_is_near_a_collider_changes_no_bit() {
    let run = |far: bool| {
        let mut scene = hung_sheet();
        if far {
            let motion = along_z(0.5, 1.0);
            scene.colliders.push(Collider::sphere("ball", [0.0, 0.0, -3.0], 0.2).moving(motion));
        }
        let mut simulation = Simulation::new(scene).unwrap();
        (0..10).for_each(|_| _ = simulation.step(1.0 / 30.0).unwrap());
        simulation.positions().to_vec()
    };
    assert_eq!(run(true), run(false));
}
