//! Exports read by third-party readers: usd-core, meshio and pygltflib, by `read_exports.py`.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use supple::output::{ExportFormat, Frame, FrameBody, FrameSurface, export};

use crate::small_run::{FPS, ball, cloth, frame, sheet, touched, write_run};

const COMPARED_FRAME: u32 = 10;

/// The Python with the packages `usd-core meshio numpy pygltflib`, which `check.sh` installs.
fn python() -> Command {
    Command::new(std::env::var_os("SUPPLE_PYTHON").expect("SUPPLE_PYTHON names a Python with the readers"))
}

#[test]
#[ignore = "needs a Python with usd-core, meshio, numpy and pygltflib in SUPPLE_PYTHON"]
fn other_programs_read_what_was_exported() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = [Arc::new(cloth(8)), Arc::new(sheet(5)), Arc::new(ball())];
    let frames: Vec<u32> = (0..=12).collect();
    let cache = write_run(&dir.path().join("run"), &frames, &surfaces);
    let out = dir.path().join("out");
    export(&cache, &ExportFormat::ALL, &out, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let expected = dir.path().join("expected.json");
    fs::write(&expected, expectation(&frames, &surfaces).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/read_exports.py");
    let status = python().arg(script).arg(&out).arg(&expected).status().unwrap();
    assert!(status.success(), "read_exports.py found a difference (above)");
}

/// A body whose topology changes half-way is one mesh with sampled topology in USD.
#[test]
#[ignore = "needs a Python with usd-core in SUPPLE_PYTHON"]
fn usd_readers_see_topology_change_over_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut torn = ball();
    torn.mesh.positions.push(glam::DVec3::ONE);
    torn.mesh.corners[0] = 4;
    let (before, after) = (Arc::new(ball()), Arc::new(torn));
    let mut cache = write_run(&dir.path().join("run"), &[0, 1], &[before]);
    (2..4).for_each(|index| cache.write(&frame(index, &[Arc::clone(&after)])).unwrap());
    let files =
        export(&cache, &[ExportFormat::Usd], dir.path(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    let script = "import sys
from pxr import Usd, UsdGeom
stage = Usd.Stage.Open(sys.argv[1])
mesh = UsdGeom.Mesh(stage.GetPrimAtPath('/drop_test/ball'))
seen = [(len(mesh.GetPointsAttr().Get(t)), mesh.GetFaceVertexIndicesAttr().Get(t)[0]) for t in range(4)]
assert seen == [(4, 0), (4, 0), (5, 4), (5, 4)], seen
assert all(UsdGeom.Mesh.ValidateTopology(mesh.GetFaceVertexIndicesAttr().Get(t),
    mesh.GetFaceVertexCountsAttr().Get(t), len(mesh.GetPointsAttr().Get(t)))[0] for t in range(4))";
    let status = python().arg("-c").arg(script).arg(&files[0]).status().unwrap();
    assert!(status.success());
}

/// The expected results of the readers, from the data of the run and not from any export.
fn expectation(frames: &[u32], surfaces: &[Arc<FrameSurface>]) -> Value {
    let (first, compared) = (frame(frames[0], surfaces), frame(COMPARED_FRAME, surfaces));
    let bodies: Vec<Value> = (0..surfaces.len()).map(|b| body_expectation(b, &first, &compared)).collect();
    json!({
        "scene": "drop_test", "fps": FPS, "frames": frames, "frame": COMPARED_FRAME,
        "time": compared.time, "bodies": bodies,
    })
}

fn body_expectation(b: usize, first: &Frame, compared: &Frame) -> Value {
    let positions = |body: &FrameBody| body.positions.iter().map(|p| p.to_array()).collect::<Vec<_>>();
    let surface = &first.bodies[b].surface;
    let mesh = &surface.mesh;
    let stem = ["Kleid_1", "sheet", "ball"][b];
    let uvs =
        mesh.uvs.as_ref().map(|uvs| uvs.indices.iter().map(|&i| uvs.values[i as usize]).collect::<Vec<_>>());
    let materials: Vec<Value> = mesh
        .labels
        .iter()
        .flat_map(|labels| labels.names.iter().enumerate().map(move |(l, name)| (labels, l, name)))
        .map(|(labels, l, name)| {
            let faces = (0..mesh.face_count()).filter(|&f| labels.label_of_face[f] == l as u32);
            json!({ "name": name, "faces": faces.collect::<Vec<_>>() })
        })
        .collect();
    json!({
        "name": surface.name,
        "stem": stem,
        "first_positions": positions(&first.bodies[b]),
        "positions": positions(&compared.bodies[b]),
        "rest": mesh.positions.iter().map(|p| p.to_array()).collect::<Vec<_>>(),
        "faces": mesh.faces().collect::<Vec<_>>(),
        "corner_uvs": uvs,
        "colors": mesh.colors,
        "materials": materials,
    })
}

/// Contact forces of frames are properties of vertices in PLY, point data in VTU and primvars in USD; in frames without them they are absent.
#[test]
#[ignore = "needs a Python with usd-core, meshio and numpy in SUPPLE_PYTHON"]
fn readers_see_stored_contact_forces() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = [Arc::new(ball())];
    let mut cache = write_run(&dir.path().join("run"), &[0], &surfaces);
    (1..3).for_each(|index| cache.write(&touched(index, &surfaces)).unwrap());
    let formats = [ExportFormat::Usd, ExportFormat::Ply, ExportFormat::Vtu];
    export(&cache, &formats, dir.path(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    let script = "import sys, meshio, numpy as np
from pxr import Usd, UsdGeom
root = sys.argv[1]
def check(force, pressure):
    force, pressure = np.asarray(force), np.asarray(pressure)
    k = np.arange(len(pressure))
    assert len(k) > 3 and (pressure == 2 * k).all(), pressure
    assert (force == np.column_stack([k, 0 * k, 0 * k])).all(), force
assert 'contact_force' not in meshio.read(f'{root}/vtu/ball_000000.vtu').point_data
assert b'contact_force' not in open(f'{root}/ply/ball_000000.ply', 'rb').read()
for frame in (1, 2):
    data = meshio.read(f'{root}/vtu/ball_{frame:06}.vtu').point_data
    check(data['contact_force'], data['contact_pressure'])
    data = meshio.read(f'{root}/ply/ball_{frame:06}.ply').point_data
    check(np.column_stack([data[f'contact_force_{axis}'] for axis in 'xyz']), data['contact_pressure'])
stage = Usd.Stage.Open(f'{root}/drop_test.usdc')
prim = stage.GetPrimAtPath('/drop_test/ball')
primvars = UsdGeom.PrimvarsAPI(prim)
force, pressure = primvars.GetPrimvar('contact_force'), primvars.GetPrimvar('contact_pressure')
assert force.GetInterpolation() == pressure.GetInterpolation() == 'vertex'
assert force.GetTimeSamples() == [1, 2], force.GetTimeSamples()
[check(force.Get(time), pressure.Get(time)) for time in (1, 2)]";
    let status = python().arg("-c").arg(script).arg(dir.path()).status().unwrap();
    assert!(status.success());
}
