//! A user's OBJ with quads, UV seams and two materials passes through `mesh` and `run` unchanged.

use std::fs;
use std::path::Path;

use crate::common::{run, succeed, text};

/// Two quads and a triangle, a seam between the quads (one edge, two sets of UVs), two materials, in centimetres
/// and z up.
const SHIRT: &str = "mtllib shirt.mtl
o shirt
v 0 0 0
v 50 0 0
v 50 40 10
v 0 40 10
v 100 0 0
v 100 40 10
v 75 70 0
vt 0 0
vt 0.5 0
vt 0.5 1
vt 0 1
vt 0.6 0
vt 1 0
vt 1 1
vt 0.6 1
vt 0.8 1.5
usemtl front
f 1/1 2/2 3/3 4/4
usemtl back
f 2/5 5/6 6/7 3/8
f 3/8 6/7 7/9
";

fn vertex_lines(obj: &str) -> Vec<[f32; 3]> {
    let lines = obj.lines().filter_map(|line| line.strip_prefix("v "));
    lines
        .map(|line| {
            let mut n = line.split_whitespace().map(|w| w.parse().unwrap());
            std::array::from_fn(|_| n.next().unwrap())
        })
        .collect()
}

fn write_scene(folder: &Path) -> std::path::PathBuf {
    fs::write(folder.join("shirt.obj"), SHIRT).unwrap();
    let scene = folder.join("shirt.toml");
    let words = r#"
[time]
frames = 12
[[body]]
name = "shirt"
shape = { file = "shirt.obj", scale = 0.01, up = "z" }
material = "cotton"
[[pin]]
body = "shirt"
selection = { group = "front" }
"#;
    fs::write(&scene, words).unwrap();
    scene
}

#[test]
fn the_point_cache_fits_the_original_file_with_zero_displacement_at_frame_0() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("run");
    succeed(&["run", text(&scene), "--out", text(&out), "--format", "pc2,obj", "--quiet"]);
    let pc2 = fs::read(out.join("exports/shirt.pc2")).unwrap();
    assert_eq!(&pc2[..12], b"POINTCACHE2\0");
    assert_eq!(i32::from_le_bytes(pc2[16..20].try_into().unwrap()), 7, "points");
    assert_eq!(i32::from_le_bytes(pc2[28..32].try_into().unwrap()), 13, "samples");
    let number = |i: usize| f32::from_le_bytes(pc2[32 + 4 * i..36 + 4 * i].try_into().unwrap());
    let original = vertex_lines(SHIRT);
    for (v, expected) in original.iter().enumerate() {
        let found = [0, 1, 2].map(|c| number(3 * v + c));
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5 * 100.0),
            "vertex {v}: {found:?}"
        );
    }
    // The free end has fallen by the last sample, along the file's own down axis.
    let last = 3 * 7 * 12;
    assert!(number(last + 3 * 4 + 2) < original[4][2] - 1.0);
}

#[test]
fn polygons_seams_and_materials_come_back_through_mesh_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let converted = folder.path().join("converted.obj");
    succeed(&["mesh", text(&folder.path().join("shirt.obj")), "--out", text(&converted)]);
    let out = folder.path().join("run");
    succeed(&["run", text(&scene), "--out", text(&out), "--format", "obj", "--quiet"]);
    let frame = fs::read_to_string(out.join("exports/obj/shirt_000012.obj")).unwrap();
    for obj in [fs::read_to_string(&converted).unwrap(), frame] {
        let faces: Vec<&str> = obj.lines().filter(|line| line.starts_with("f ")).collect();
        assert_eq!(faces, ["f 1/1 2/2 3/3 4/4", "f 2/5 5/6 6/7 3/8", "f 3/8 6/7 7/9"]);
        for kept in ["usemtl front", "usemtl back", "mtllib shirt.mtl", "vt 0.8 1.5"] {
            assert!(obj.lines().any(|line| line == kept), "{kept} is missing");
        }
        assert_eq!(vertex_lines(&obj).len(), 7);
    }
    let original = vertex_lines(&fs::read_to_string(&converted).unwrap());
    assert_eq!(original, vertex_lines(SHIRT));
    // The material file belongs to the user; the message names it where it is missing.
    let export = ["export", text(&out), "--format", "obj", "--quiet"];
    let warns = |output: std::process::Output| String::from_utf8_lossy(&output.stderr).contains("shirt.mtl");
    assert!(warns(run(&export)));
    fs::write(out.join("exports/obj/shirt.mtl"), "newmtl front\n").unwrap();
    assert!(!warns(run(&export)));
}

#[test]
fn a_closed_surface_becomes_tetrahedra_and_a_solid_embeds_it() {
    let folder = tempfile::tempdir().unwrap();
    let ball = folder.path().join("ball.obj");
    fs::write(&ball, octahedron()).unwrap();
    let body = folder.path().join("ball.msh");
    succeed(&["mesh", text(&ball), "--cell", "0.2", "--out", text(&body)]);
    assert!(fs::read_to_string(&body).unwrap().starts_with("$MeshFormat\n2.2"));
    let report = succeed(&["check", text(&body)]);
    assert!(report.to_lowercase().contains("tetrahedra"), "{report}");
    let scene = folder.path().join("ball.toml");
    let words = "[time]\nframes = 3\n[[body]]\nname = \"ball\"\nshape = { file = \"ball.obj\" }\ncell = 0.3\nmaterial = \"rubber\"\n";
    fs::write(&scene, words).unwrap();
    let out = folder.path().join("run");
    succeed(&["run", text(&scene), "--out", text(&out), "--format", "obj", "--quiet"]);
    let frame = fs::read_to_string(out.join("exports/obj/ball_000003.obj")).unwrap();
    assert_eq!(vertex_lines(&frame).len(), 6, "the user's own vertices come back");
    // Free fall of implicit Euler after n steps: g h² n (n + 1) / 2.
    let fallen = 9.81 / 900.0 * 6.0;
    for (now, start) in vertex_lines(&frame).iter().zip(vertex_lines(&octahedron())) {
        assert!((start[1] - now[1] - fallen as f32).abs() < 1e-5);
    }
}

fn octahedron() -> String {
    "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n\
     f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n"
        .to_owned()
}

#[test]
fn an_open_surface_is_refused_as_a_solid_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("sheet.obj");
    fs::write(&sheet, "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n").unwrap();
    let output = run(&["mesh", text(&sheet), "--cell", "0.1", "--out", text(&folder.path().join("s.msh"))]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("volume"));
    assert!(!folder.path().join("s.msh").exists());
}
