//! Exports against the published layouts of their formats, byte for byte or through an independent reader.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DVec3, Vec3};
use supple::Error;
use supple::mesh::SurfaceMesh;
use supple::mesh::format::load_surface;
use supple::output::{ExportFormat, FrameCache, FrameSurface, export};
use supple::scene::Scene;

use crate::small_run::{FPS, ball, cloth, frame, moved, write_run};

fn run(formats: &[ExportFormat], cache: &FrameCache, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    export(cache, formats, folder, &mut |_, _| ControlFlow::Continue(()))
}

fn two_bodies() -> [Arc<FrameSurface>; 2] {
    [Arc::new(cloth(4)), Arc::new(ball())]
}

/// The user's file has centimetres and z up: x, -z, y.
fn in_file_space(p: Vec3) -> [f32; 3] {
    let p = 100.0 * p.as_dvec3();
    [p.x as f32, -p.z as f32, p.y as f32]
}

#[test]
fn pc2_follows_its_published_layout_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = two_bodies();
    let cache = write_run(&dir.path().join("run"), &[4, 6, 8], &surfaces);
    let files = run(&[ExportFormat::Pc2], &cache, &dir.path().join("out")).unwrap();
    assert_eq!(files, ["Kleid_1.pc2", "ball.pc2"].map(|name| dir.path().join("out").join(name)));

    let mut expected = b"POINTCACHE2\0".to_vec();
    expected.extend([1, 0, 0, 0]);
    expected.extend(25i32.to_le_bytes());
    expected.extend(4f32.to_le_bytes());
    expected.extend(2f32.to_le_bytes());
    expected.extend(3i32.to_le_bytes());
    for index in [4, 6, 8] {
        for &rest in &surfaces[0].mesh.positions {
            in_file_space(moved(rest, index)).iter().for_each(|x| expected.extend(x.to_le_bytes()));
        }
    }
    assert_eq!(fs::read(&files[0]).unwrap(), expected);
}

#[test]
fn mdd_follows_its_published_layout_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = two_bodies();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 5], &surfaces);
    let files = run(&[ExportFormat::Mdd], &cache, &dir.path().join("out")).unwrap();

    let mut expected = Vec::new();
    expected.extend(3i32.to_be_bytes());
    expected.extend(4i32.to_be_bytes());
    for index in [0.0, 1.0, 5.0] {
        expected.extend(((index / FPS) as f32).to_be_bytes());
    }
    for index in [0, 1, 5] {
        for &rest in &surfaces[1].mesh.positions {
            moved(rest, index).to_array().iter().for_each(|x| expected.extend(x.to_be_bytes()));
        }
    }
    assert_eq!(fs::read(&files[1]).unwrap(), expected);
}

#[test]
fn missing_frames_are_refused_by_pc2_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2, 5, 6], &two_bodies());
    let error = run(&[ExportFormat::Pc2], &cache, &dir.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("between 2 and 5") && error.contains("mdd"), "{error}");
    assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 0);
}

#[test]
fn a_torn_body_is_refused_by_formats_of_fixed_points_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut torn = ball();
    torn.mesh.positions.push(DVec3::ONE);
    torn.mesh.corners[0] = 4;
    let mut cache = write_run(&dir.path().join("run"), &[0, 1], &[Arc::new(ball())]);
    cache.write(&frame(2, &[Arc::new(torn)])).unwrap();
    for format in [ExportFormat::Pc2, ExportFormat::Mdd, ExportFormat::Gltf] {
        let error = run(&[format], &cache, &dir.path().join("out")).unwrap_err().to_string();
        assert!(error.contains("`ball` has 4 vertices in frame 0 and 5 in frame 2"), "{error}");
    }
    assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 0);
    for format in [ExportFormat::Usd, ExportFormat::Obj, ExportFormat::Ply, ExportFormat::Vtu] {
        run(&[format], &cache, &dir.path().join("out")).unwrap();
    }
    let (mesh, _) = load_surface(&dir.path().join("out/obj/ball_000002.obj")).unwrap();
    assert_eq!(mesh.positions.len(), 5);
    assert_eq!(mesh.corners[0], 4);
}

#[test]
fn a_format_that_is_refused_keeps_no_other_from_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = ball();
    other.mesh.positions.push(DVec3::ONE);
    let mut cache = write_run(&dir.path().join("run"), &[0, 1], &[Arc::new(ball())]);
    cache.write(&frame(2, &[Arc::new(other)])).unwrap();
    let mut last = (0, 0);
    let error = export(
        &cache,
        &[ExportFormat::Mdd, ExportFormat::Gltf, ExportFormat::Obj],
        dir.path(),
        &mut |d, t| {
            last = (d, t);
            ControlFlow::Continue(())
        },
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("MDD") && error.contains("glTF"), "{error}");
    assert_eq!(fs::read_dir(dir.path().join("obj")).unwrap().count(), 3);
    assert_eq!(last, (9, 9));
}

#[test]
fn gltf_and_point_caches_hold_a_run_in_which_a_vertex_is_split() {
    let dir = tempfile::tempdir().unwrap();
    let mut torn = ball();
    torn.mesh.positions.push(torn.mesh.positions[torn.mesh.corners[0] as usize]);
    torn.mesh.clone_of.push(torn.mesh.corners[0]);
    torn.mesh.corners[0] = 4;
    let mut cache = write_run(&dir.path().join("run"), &[0, 1], &[Arc::new(ball())]);
    cache.write(&frame(2, &[Arc::new(torn)])).unwrap();
    let files = run(&[ExportFormat::Gltf, ExportFormat::Mdd], &cache, &dir.path().join("out")).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    let primitive = &document["meshes"][0]["primitives"][0];
    assert_eq!(primitive["targets"].as_array().unwrap().len(), 2);
    let accessor = |index: &serde_json::Value| &document["accessors"][index.as_u64().unwrap() as usize];
    let base = accessor(&primitive["attributes"]["POSITION"])["count"].as_u64().unwrap();
    assert!(base >= 5, "{base}");
    for target in primitive["targets"].as_array().unwrap() {
        assert_eq!(accessor(&target["POSITION"])["count"], base);
    }
    assert_eq!(fs::read(&files[1]).unwrap()[4..8], 5i32.to_be_bytes());
}

#[test]
fn obj_keeps_order_polygons_uvs_and_names() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = two_bodies();
    let cache = write_run(&dir.path().join("run"), &[0, 7], &surfaces);
    let files = run(&[ExportFormat::Obj], &cache, dir.path()).unwrap();
    assert_eq!(files.len(), 4);
    let (mesh, _) = load_surface(&dir.path().join("obj/Kleid_1_000007.obj")).unwrap();
    let user = &surfaces[0].mesh;
    assert_eq!((&mesh.face_starts, &mesh.corners), (&user.face_starts, &user.corners));
    assert_eq!(corner_uvs(&mesh), corner_uvs(user));
    assert_eq!(mesh.labels[0].label_of_face, user.labels[0].label_of_face);
    assert!(mesh.normals.is_none());
    let positions: Vec<Vec3> = mesh.positions.iter().map(|p| p.as_vec3()).collect();
    assert_eq!(positions, frame(7, &surfaces).bodies[0].positions);
}

#[test]
fn ply_keeps_order_polygons_uvs_and_exact_positions() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = two_bodies();
    let cache = write_run(&dir.path().join("run"), &[3], &surfaces);
    run(&[ExportFormat::Ply], &cache, dir.path()).unwrap();
    let (mesh, _) = load_surface(&dir.path().join("ply/Kleid_1_000003.ply")).unwrap();
    let user = &surfaces[0].mesh;
    assert_eq!((&mesh.face_starts, &mesh.corners), (&user.face_starts, &user.corners));
    assert_eq!(corner_uvs(&mesh), corner_uvs(user));
    let positions: Vec<Vec3> = mesh.positions.iter().map(|p| p.as_vec3()).collect();
    assert_eq!(positions, frame(3, &surfaces).bodies[0].positions);
}

#[test]
fn a_pvd_names_every_vtu_with_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 12], &two_bodies());
    run(&[ExportFormat::Vtu], &cache, dir.path()).unwrap();
    let text = fs::read_to_string(dir.path().join("Kleid_1.pvd")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let sets: Vec<_> = document.descendants().filter(|node| node.has_tag_name("DataSet")).collect();
    let times: Vec<f64> =
        sets.iter().map(|set| set.attribute("timestep").unwrap().parse().unwrap()).collect();
    assert_eq!(times, [0.0, 0.5]);
    for set in sets {
        assert!(dir.path().join(set.attribute("file").unwrap()).is_file());
    }
}

#[test]
fn glb_opens_in_an_independent_reader_and_its_targets_are_the_frames() {
    let dir = tempfile::tempdir().unwrap();
    let surfaces = two_bodies();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2], &surfaces);
    let files = run(&[ExportFormat::Gltf], &cache, dir.path()).unwrap();
    assert_eq!(files, [dir.path().join("drop_test.glb")]);
    let glb = gltf::Gltf::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    let blob = glb.blob.as_deref().unwrap();
    let mesh = glb.document.meshes().next().unwrap();
    assert_eq!(mesh.name(), Some("Kleid 1"));
    let primitive = mesh.primitives().next().unwrap();
    assert_eq!(primitive.material().name(), Some("red silk"));
    let reader = primitive.reader(|_| Some(blob));
    let base: Vec<Vec3> = reader.read_positions().unwrap().map(Vec3::from).collect();
    let targets: Vec<Vec<Vec3>> = reader
        .read_morph_targets()
        .map(|(positions, _, _)| positions.unwrap().map(Vec3::from).collect())
        .collect();
    assert_eq!(targets.len(), 2);
    // The user's vertices come first, in their order; copies for the UV seam follow.
    assert_eq!(base.len(), 25 + 5);
    for (v, &rest) in surfaces[0].mesh.positions.iter().enumerate() {
        assert_eq!(base[v], moved(rest, 0));
        assert!((base[v] + targets[1][v]).distance(moved(rest, 2)) < 1e-6);
    }
    let uvs = reader.read_tex_coords(0).unwrap().into_f32().count();
    assert_eq!(uvs, base.len());
}

#[test]
fn the_glb_animation_shows_one_frame_at_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2], &two_bodies());
    let files = run(&[ExportFormat::Gltf], &cache, dir.path()).unwrap();
    let glb = gltf::Gltf::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    let blob = glb.blob.as_deref().unwrap();
    let animation = glb.document.animations().next().unwrap();
    assert_eq!(animation.channels().count(), 2);
    let channel = animation.channels().next().unwrap();
    let reader = channel.reader(|_| Some(blob));
    let times: Vec<f32> = reader.read_inputs().unwrap().collect();
    assert_eq!(times, [0.0, 1.0 / 24.0, 2.0 / 24.0]);
    let Some(gltf::animation::util::ReadOutputs::MorphTargetWeights(weights)) = reader.read_outputs() else {
        panic!("the channel moves weights");
    };
    assert_eq!(weights.into_f32().collect::<Vec<_>>(), [0., 0., 1., 0., 0., 1.]);
}

#[test]
fn a_single_frame_and_an_empty_body_export_to_everything() {
    let dir = tempfile::tempdir().unwrap();
    let empty = FrameSurface { name: "nothing".into(), mesh: SurfaceMesh::default(), ..ball() };
    let cache = write_run(&dir.path().join("run"), &[3], &[Arc::new(empty), Arc::new(ball())]);
    let mut seen = Vec::new();
    let mut progress = |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    };
    export(&cache, &ExportFormat::ALL, &dir.path().join("out"), &mut progress).unwrap();
    seen.dedup();
    seen.retain(|(done, _)| *done > 0);
    assert_eq!(seen, (1..=7).map(|done| (done, 7)).collect::<Vec<_>>());
    let glb = fs::read(dir.path().join("out/drop_test.glb")).unwrap();
    assert_eq!(gltf::Gltf::from_slice(&glb).unwrap().document.meshes().count(), 1);
}

#[test]
fn an_export_that_is_stopped_leaves_whole_files_alone() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2], &[Arc::new(ball())]);
    for format in ExportFormat::ALL {
        let out = dir.path().join(format.name());
        let error = export(&cache, &[format], &out, &mut |done, _| match done {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        assert!(matches!(error, Err(Error::Stopped { done: 1, total: 3 })), "{format}: {error:?}");
        // Sequences keep the files of finished frames; a file for all frames does not exist.
        let sequence = out.join(format.name());
        let kept = if sequence.exists() { fs::read_dir(sequence).unwrap().count() } else { 0 };
        let expected = matches!(format, ExportFormat::Obj | ExportFormat::Ply | ExportFormat::Vtu);
        assert_eq!(kept, usize::from(expected), "{format}");
        let files =
            fs::read_dir(&out).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
        assert_eq!(files, 0, "{format}");
    }
    // An interrupt that comes with the last frame changes nothing.
    let stop =
        &mut |done, total| if done == total { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert_eq!(export(&cache, &[ExportFormat::Pc2], dir.path(), stop).unwrap().len(), 1);
}

#[test]
fn a_run_without_frames_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[], &[]);
    let error = run(&[ExportFormat::Usd], &cache, dir.path()).unwrap_err().to_string();
    assert!(error.contains("no frames"), "{error}");
}

#[test]
fn a_damaged_frame_stops_the_export_by_name_and_keeps_an_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2], &two_bodies());
    let out = dir.path().join("out");
    run(&ExportFormat::ALL, &cache, &out).unwrap();
    let older = fs::read(out.join("drop_test.usdc")).unwrap();
    let damaged = cache.frame_path(2);
    let bytes = fs::read(&damaged).unwrap();
    fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    for format in ExportFormat::ALL {
        let error = run(&[format], &cache, &out).unwrap_err().to_string();
        assert!(error.contains("frame-000002.supf"), "{format}: {error}");
    }
    assert_eq!(fs::read(out.join("drop_test.usdc")).unwrap(), older);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let cache = write_run(&dir.path().join("run"), &[0, 1, 2], &two_bodies());
    let first = run(&ExportFormat::ALL, &cache, &dir.path().join("a")).unwrap();
    let second = run(&ExportFormat::ALL, &cache, &dir.path().join("b")).unwrap();
    for (a, b) in first.iter().zip(&second) {
        assert!(fs::read(a).unwrap() == fs::read(b).unwrap(), "{}", a.display());
    }
}

#[test]
fn format_words_are_read_and_wrong_ones_get_the_nearest() {
    for format in ExportFormat::ALL {
        assert_eq!(format.name().parse::<ExportFormat>().unwrap(), format);
        let json = serde_json::to_string(&format).unwrap();
        assert_eq!(json, format!("\"{format}\""));
        assert_eq!(serde_json::from_str::<ExportFormat>(&json).unwrap(), format);
    }
    for (wrong, right) in [("usdc", "usd"), ("glb", "gltf"), ("mmd", "mdd"), ("OBJ", "obj"), ("pvd", "vtu")] {
        let error = wrong.parse::<ExportFormat>().unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean `{right}`?")), "{error}");
    }
    let error = serde_json::from_str::<ExportFormat>("\"alembic\"").unwrap_err().to_string();
    assert!(
        error.contains("pc2, mdd, usd, gltf, obj, ply, vtu") && !error.contains("did you mean"),
        "{error}"
    );
}

fn corner_uvs(mesh: &SurfaceMesh) -> Vec<[f32; 2]> {
    let uvs = mesh.uvs.as_ref().unwrap();
    uvs.indices.iter().map(|&i| uvs.values[i as usize].map(|x| x as f32)).collect()
}

#[test]
fn scenes_can_ask_for_every_export_format_and_for_no_other() {
    let problems = |formats: &[&str]| {
        let text = format!(
            "[output]\nformats = {formats:?}\n[[body]]\nname = \"cloth\"\nshape = {{ grid = {{ size = [1, 1], vertices = [3, 3] }} }}\n"
        );
        let scene = Scene::from_toml(&text, "formats", ".").unwrap();
        scene.check().into_iter().map(|problem| problem.error.to_string()).collect::<Vec<_>>()
    };
    let words = ExportFormat::ALL.map(ExportFormat::name);
    assert_eq!(problems(&words), [""; 0]);
    let [unknown] = &problems(&["fbx"])[..] else { panic!("one problem was expected") };
    let named = unknown.split("Available: ").nth(1).unwrap().split('`').skip(1).step_by(2);
    assert!(named.eq(words), "{unknown}");
}
