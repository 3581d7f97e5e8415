//! A small run on disk, with everything that exports must preserve: quads and triangles, a UV seam, colours, names.

use std::path::Path;
use std::sync::Arc;

use glam::{DMat3, DVec3, Vec3};
use supple::mesh::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, SurfaceMesh};
use supple::output::{Frame, FrameBody, FrameCache, FrameContact, FrameSurface, RunInfo};

/// Frames per second of [`write_run`].
pub(crate) const FPS: f64 = 24.0;

/// A file in centimetres with z up.
pub(crate) fn centimetres_z_up() -> DMat3 {
    DMat3::from_cols(DVec3::new(100., 0., 0.), DVec3::new(0., 0., 100.), DVec3::new(0., -100., 0.))
}

/// A cloth of `cells` squared quads, the last of which is two triangles; its UVs have a seam in the middle.
pub(crate) fn cloth(cells: u32) -> FrameSurface {
    let side = cells + 1;
    let mut mesh = SurfaceMesh::default();
    for i in 0..side * side {
        let (x, z) = (f64::from(i % side) / f64::from(cells), f64::from(i / side) / f64::from(cells));
        mesh.positions.push(DVec3::new(x, 1.0, z));
    }
    let mut uvs = CornerAttribute { values: Vec::new(), indices: Vec::new() };
    let mut materials = Vec::new();
    for cell in 0..cells * cells {
        let (x, z) = (cell % cells, cell / cells);
        let corner = [(0, 0), (0, 1), (1, 1), (1, 0)].map(|(i, k)| (x + i, z + k));
        let faces: &[&[usize]] =
            if cell + 1 == cells * cells { &[&[0, 1, 2], &[0, 2, 3]] } else { &[&[0, 1, 2, 3]] };
        for face in faces {
            let vertices: Vec<u32> = face.iter().map(|&c| corner[c].0 + side * corner[c].1).collect();
            mesh.push_face(&vertices);
            for &c in *face {
                let half = if 2 * x >= cells { 0.25 } else { 0.0 };
                uvs.indices.push(uvs.values.len() as u32);
                uvs.values.push([
                    f64::from(corner[c].0) / f64::from(2 * cells) + half,
                    f64::from(corner[c].1) / f64::from(cells),
                ]);
            }
            materials.push(if x == 0 { 0 } else { NO_LABEL });
        }
    }
    mesh.colors = Some((0..side * side).map(|i| [i as f32 / (side * side) as f32, 0.5, 0.25, 1.0]).collect());
    mesh.uvs = Some(uvs);
    let names = vec!["red silk".into()];
    mesh.labels = vec![FaceLabels { kind: LabelKind::Material, names, label_of_face: materials }];
    FrameSurface { name: "Kleid 1".into(), mesh, file_from_world: centimetres_z_up() }
}

/// The same polygons with one UV per vertex, in metres.
pub(crate) fn sheet(cells: u32) -> FrameSurface {
    let mut surface = cloth(cells);
    let values = surface.mesh.positions.iter().map(|p| [p.x, p.z]).collect();
    surface.mesh.uvs = Some(CornerAttribute { values, indices: surface.mesh.corners.clone() });
    FrameSurface { name: "sheet".into(), file_from_world: DMat3::IDENTITY, ..surface }
}

/// A tetrahedron's surface without attributes.
pub(crate) fn ball() -> FrameSurface {
    let corners = [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]].map(DVec3::from_array);
    let triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
    let mesh = SurfaceMesh::from_triangles(corners.to_vec(), &triangles);
    FrameSurface { name: "ball".into(), mesh, file_from_world: DMat3::IDENTITY }
}

/// The position of a rest vertex in a frame.
pub(crate) fn moved(rest: DVec3, frame: u32) -> Vec3 {
    let t = f64::from(frame) / FPS;
    (rest + DVec3::new(0.1 * (3.0 * t + rest.z).sin(), -0.5 * t * t, 0.07 * (2.0 * rest.x + t).cos()))
        .as_vec3()
}

/// A frame in which every vertex is at its [`moved`] position.
pub(crate) fn frame(index: u32, surfaces: &[Arc<FrameSurface>]) -> Frame {
    let body = |surface: &Arc<FrameSurface>| FrameBody {
        surface: Arc::clone(surface),
        positions: surface.mesh.positions.iter().map(|&p| moved(p, index)).collect(),
        contact: None,
    };
    Frame { index, time: f64::from(index) / FPS, bodies: surfaces.iter().map(body).collect() }
}

/// The same with a force of k newtons along x on vertex k, and a pressure of 2 k Pa.
pub(crate) fn touched(index: u32, surfaces: &[Arc<FrameSurface>]) -> Frame {
    let mut frame = frame(index, surfaces);
    for body in &mut frame.bodies {
        let numbers = || (0..body.positions.len()).map(|k| k as f32);
        let (force, pressure) =
            (numbers().map(|k| k * Vec3::X).collect(), numbers().map(|k| 2.0 * k).collect());
        body.contact = Some(FrameContact { force, pressure });
    }
    frame
}

/// Writes the given frames as a run called `drop test`.
pub(crate) fn write_run(dir: &Path, frames: &[u32], surfaces: &[Arc<FrameSurface>]) -> FrameCache {
    let info = RunInfo { scene: "drop test".into(), fps: FPS, simd: Default::default() };
    let mut cache = FrameCache::create(dir, info, false).unwrap();
    for &index in frames {
        cache.write(&frame(index, surfaces)).unwrap();
    }
    cache
}
