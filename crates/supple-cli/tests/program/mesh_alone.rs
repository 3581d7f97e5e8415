//! A mesh file in place of a scene, and a scene to start from.

use std::fs;

use crate::common::{run, succeed, supple, text, values};

/// A square of polygons with a side of `size`, and a tetrahedron of 0.2 m.
fn square(size: f64) -> String {
    let at = |i: u32| size * f64::from(i) / 4.0;
    let vertices: String =
        (0..5).flat_map(|z| (0..5).map(move |x| format!("v {} 0 {}\n", at(x), at(z)))).collect();
    let face = |x: u32, z: u32| {
        let first = 5 * z + x + 1;
        format!("f {} {} {} {}\n", first, first + 5, first + 6, first + 1)
    };
    let faces: String = (0..4).flat_map(|z| (0..4).map(move |x| face(x, z))).collect();
    vertices + &faces
}

const TET: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 0.2 0 0\n3 0 0.2 0\n4 0 0 0.2\n$EndNodes\n\
    $Elements\n1\n1 4 0 1 2 3 4\n$EndElements\n";

#[test]
fn a_mesh_alone_is_dropped_on_a_floor() {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents, material) in
        [("my shirt.obj", square(0.5), "cotton"), ("cube.msh", TET.to_owned(), "gelatin")]
    {
        let (mesh, out) = (folder.path().join(name), folder.path().join(format!("{name}-run")));
        fs::write(&mesh, contents).unwrap();
        let report = succeed(&["run", text(&mesh), "--frames", "24", "--json", "--out", text(&out)]);
        assert_eq!(values(&report, "frame").len(), 24, "{report}");
        let scene = fs::read_to_string(out.join("scene.toml")).unwrap();
        assert!(scene.contains(&format!("\"{material}\"")) && scene.contains("floor"), "{scene}");
        let contacts = values(&report, "contacts");
        assert!(contacts.last().is_some_and(|last| last.as_u64() > Some(0)), "it has landed: {report}");
    }
}

#[test]
fn a_mesh_in_another_unit_is_named_with_its_likely_scale() {
    let folder = tempfile::tempdir().unwrap();
    let (mesh, picture) = (folder.path().join("shirt.obj"), folder.path().join("shirt.png"));
    fs::write(&mesh, square(150.0)).unwrap();
    let draw = |more: &[&str]| {
        let all = [&["render", text(&mesh), "--out", text(&picture), "--frames", "1"], more].concat();
        let output = run(&all);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = draw(&[]);
    assert!(said.contains("scale = 0.01") && said.contains("body.shirt.shape.scale"), "{said}");
    let said = draw(&["--set", "body.shirt.shape.scale=0.01"]);
    assert!(!said.contains("scale = 0.01"), "{said}");
    assert!(fs::metadata(&picture).unwrap().len() > 1000);
}

#[test]
fn a_new_scene_runs_as_it_is_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str| supple(&["new", name]).current_dir(folder.path()).output().unwrap();
    assert!(new("tablecloth").status.success());
    let scene = folder.path().join("tablecloth.toml");
    let out = folder.path().join("out");
    succeed(&["check", text(&scene)]);
    let report = succeed(&["run", text(&scene), "--frames", "2", "--json", "--quiet", "--out", text(&out)]);
    assert_eq!(values(&report, "frame").len(), 2, "{report}");
    let again = new("tablecloth.toml");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(2) && said.contains("exists"), "{said}");
    assert_eq!(new("../").status.code(), Some(2));
}

#[test]
fn a_dress_on_a_figure_that_walks_is_a_scene_of_at_most_twenty_lines() {
    let folder = tempfile::tempdir().unwrap();
    let new = supple(&["new", "walk", "--figure"]).current_dir(folder.path()).output().unwrap();
    assert!(new.status.success(), "{}", String::from_utf8_lossy(&new.stderr));
    let scene = folder.path().join("walk.toml");
    assert!(fs::read_to_string(&scene).unwrap().lines().count() <= 20);
    let report = succeed(&["check", text(&scene)]);
    assert!(report.contains("can be run"), "{report}");
    // The figure is one of the user's as well.
    let figure = folder.path().join("walk-figure.glb");
    let again = supple(&["new", "again", "--figure", text(&figure)]).current_dir(folder.path()).output();
    assert!(again.unwrap().status.success());
    let scene = fs::read_to_string(folder.path().join("again.toml")).unwrap();
    assert!(scene.contains("loop = true") && scene.contains("frames = 100"), "{scene}");
}
