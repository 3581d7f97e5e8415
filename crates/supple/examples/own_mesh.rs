//! A mesh made by the caller, bodies added and removed while the simulation runs.

use supple::mesh::SurfaceMesh;
use supple::{Body, Collider, Scene, Simulation};

/// A pyramid of cloth falls on the floor, another one follows, the first disappears.
pub fn main() -> Result<(), supple::Error> {
    let corners = [[-0.2, 0.0, -0.2], [0.2, 0.0, -0.2], [0.2, 0.0, 0.2], [-0.2, 0.0, 0.2], [0.0, 0.3, 0.0]];
    let mut pyramid = SurfaceMesh { positions: corners.map(Into::into).to_vec(), ..SurfaceMesh::default() };
    pyramid.push_face(&[0, 1, 2, 3]);
    for side in [[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]] {
        pyramid.push_face(&side);
    }

    let scene = Scene::builder()
        .body(Body::from_mesh("first", pyramid.clone()).at([0.0, 0.2, 0.0]).material("denim"))
        .collider(Collider::plane("floor", [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]).friction(0.5))
        .build()?;
    let mut simulation = Simulation::new(scene)?;
    for _ in 0..20 {
        simulation.step(1.0 / 60.0)?;
    }

    let second =
        simulation.add_body(&Body::from_mesh("second", pyramid).at([1.0, 0.2, 0.0]).material("silk"))?;
    if let Some(first) = simulation.body("first") {
        simulation.remove_body(first)?;
    }
    for _ in 0..20 {
        simulation.step(1.0 / 60.0)?;
    }
    println!("{} vertices left", simulation.body_positions(second).map_or(0, <[_]>::len));
    Ok(())
}
