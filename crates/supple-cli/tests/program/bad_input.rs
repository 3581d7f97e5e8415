//! Bad input ends with exit code 2 and a message that identifies it; a disk failure with 1; nothing panics.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::Command;

use crate::common::{run, succeed, supple, text};

/// With a limit of the address space, as batch systems set it.
#[cfg(target_os = "linux")]
#[test]
fn what_does_not_fit_into_memory_is_refused_before_it_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, body: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("[[body]]\nname = \"b\"\n{body}")).unwrap();
        path
    };
    let solid = "shape = { box = { size = [1, 1, 1] } }\nmodel = \"corotated\"\n";
    let scenes = [
        (
            write("cloth.toml", "shape = { grid = { size = [1, 1], vertices = [2000, 2000] } }\n"),
            "fewer vertices",
        ),
        (
            write("octree.toml", &format!("{solid}cell = 1e-3\n[solver]\nmethod = \"octree\"\n")),
            "`cell` of at least",
        ),
        (
            write("staggered.toml", &format!("{solid}cell = 2e-3\n[solver]\nmethod = \"staggered\"\n")),
            "`cell` of at least",
        ),
        (write("tets.toml", &format!("{solid}cell = 4e-3\n")), "`cell` of at least"),
    ];
    for (scene, remedy) in scenes {
        let script = "ulimit -v 1500000 && exec \"$0\" \"$@\" --threads 1";
        let program = env!("CARGO_BIN_EXE_supple");
        let output = Command::new("sh")
            .args(["-c", script, program, "run", text(&scene), "--out", text(folder.path())])
            .output();
        let output = output.unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}: {message}", scene.display());
        for word in ["GB of memory", "`ulimit -v`", "1.5 GB", remedy] {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }
}

#[test]
fn bad_usage_names_what_is_wrong_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.toml");
    let typo = folder.path().join("typo.toml");
    fs::write(&typo, "[solver]\nmethd = \"newton\"\n").unwrap();
    let later = folder.path().join("later.toml");
    fs::write(
        &later,
        "[[body]]\nname = \"c\"\nshape = { grid = { size = [1, 1], vertices = [3, 3] } }\ntear_stretch = 5\n",
    )
    .unwrap();
    let noise = folder.path().join("noise.obj");
    fs::write(&noise, [0u8, 255, 7, 13, 200]).unwrap();
    let ball = folder.path().join("ball.obj");
    fs::write(&ball, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n").unwrap();
    let nowhere = folder.path().join("nowhere/x.msh");
    // A body of 170 cm, read as 170 m.
    let tall = folder.path().join("tall.obj");
    fs::write(&tall, "v 0 0 0\nv 90 0 0\nv 0 170 0\nv 0 0 60\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n").unwrap();
    let [octants, lattice] = ["octree", "staggered"].map(|method| {
        let path = folder.path().join(format!("{method}.toml"));
        let body = "[[body]]\nname = \"tall\"\nshape = { file = \"tall.obj\" }\ncell = 0.01\nmodel = \"corotated\"\n";
        fs::write(&path, format!("{body}[solver]\nmethod = \"{method}\"\n")).unwrap();
        path
    });
    let single = folder.path().join("single.toml");
    fs::write(&single, "[body]\nname = \"c\"\n").unwrap();
    let [preset, misspelt] = [("preset", "silk"), ("material", "slik")].map(|(key, value)| {
        let path = folder.path().join(format!("{value}.toml"));
        let body = "[[body]]\nname = \"c\"\nshape = { grid = { size = [1, 1], vertices = [3, 3] } }\n";
        fs::write(&path, format!("{body}{key} = \"{value}\"\n")).unwrap();
        path
    });
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "dmo"], &["dmo", "demo"]),
        (&["run", text(&octants)], &["octants", "170", "at least", "scale = 0.01 for centimetres"]),
        (&["run", text(&lattice)], &["lattice", "170", "cell of at least", "scale = 0.01 for centimetres"]),
        (&["run", "demo", "--resolution", "1000"], &["vertices", "limit", "--resolution"]),
        (&["run", text(&single)], &["line 1", "[[body]]"]),
        (&["run", text(&preset)], &["line 4", "`preset`", "did you mean `material`"]),
        (&["run", text(&misspelt)], &["line 4", "`material` names no material", "`silk`"]),
        (&["run", text(&missing)], &["missing.toml"]),
        (&["run", text(&typo)], &["line 2", "methd", "method"]),
        (&["run", text(&later)], &["not supported yet", "tear_stretch"]),
        (&["run", "demo", "--set", "body.clth.cell=1"], &["clth", "cloth"]),
        (&["run", "demo", "--set", "solver.tolernce=1"], &["tolernce", "tolerance"]),
        (&["run", "demo", "--resolution", "-1"], &["-1"]),
        (&["run", "demo", "--solver", "magic"], &["magic", "newton"]),
        (&["run", "demo", "--solver", "octree"], &["`cloth`", "`octree`", "`cell`"]),
        (&["run", "demo", "--solver", "staggered"], &["`cloth`", "`staggered`", "closed"]),
        (&["run", "demo", "--solver", "newton+newton"], &["newton+newton"]),
        (&["run", "demo", "--solver", "lbfgs+chebyshev"], &["chebyshev", "preconditioner"]),
        (&["run", "bar", "--resolution", "0.2", "--solver", "projective"], &["projective", "model"]),
        (
            &["run", "demo", "--set", "solver.contact_matrix=bound"],
            &["`contact_matrix`", "`projective`", "newton"],
        ),
        (&["run", "demo", "--set", "body.cloth.shape.grid.vertices=[1,1]"], &["--set", "vertices"]),
        (&["compare", "demo", "--frame", "1000"], &["1000", "75"]),
        (&["run", "demo", "--format", "abc"], &["abc", "pc2"]),
        (&["run", "demo", "--threads", "0"], &["threads"]),
        (&["run", "--resume"], &["--out"]),
        (&["run", "--out", text(folder.path()), "--resume"], &["scene.toml"]),
        (&["check", text(&noise)], &["noise.obj"]),
        (&["check", text(&missing)], &["missing.toml"]),
        (&["check", text(folder.path())], &["folder"]),
        (&["mesh", text(&noise), "--out", "x.msh"], &["noise.obj"]),
        (&["mesh", text(&ball), "--cell", "0.001", "--out", "x.stl"], &["x.stl", ".msh"]),
        (&["mesh", text(&ball), "--cell", "0.001", "--out", text(&nowhere)], &["nowhere", "folder"]),
        (&["mesh", text(&ball), "--out", "x.msh"], &["--cell"]),
        (&["render", "demo", "--out", "x.jpg"], &[".png"]),
        (&["export", text(folder.path()), "--format", "pc2"], &["run"]),
        (&["scenes", "hanging"], &["hanging-cloth"]),
        (&["frobnicate"], &["frobnicate"]),
    ];
    for (arguments, words) in cases {
        let output = run(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "supple {}: {message}", arguments.join(" "));
        assert!(!message.contains("panicked"), "{message}");
        for word in *words {
            assert!(message.contains(word), "supple {}: `{word}` is not in: {message}", arguments.join(" "));
        }
        assert!(output.stdout.is_empty() || arguments[0] == "check", "{arguments:?}");
    }
}

#[test]
fn check_on_a_scene_tells_everything_that_run_would_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let scene = folder.path().join("bad.toml");
    let words = "[time]\nfps = -3\n[[body]]\nname = \"a\"\nshape = { file = \"nowhere.obj\" }\n[[pin]]\nbody = \"b\"\nselection = \"all\"\n";
    fs::write(&scene, words).unwrap();
    let output = run(&["check", text(&scene)]);
    assert_eq!(output.status.code(), Some(2));
    let report = String::from_utf8_lossy(&output.stdout);
    for word in ["fps", "nowhere.obj", "`b`", "line 2", "line 5"] {
        assert!(report.contains(word), "`{word}` is not in: {report}");
    }
}

#[test]
fn check_on_a_scene_tells_of_every_body_that_cannot_be_built_and_of_every_pin() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("noise.obj"), [0u8, 255, 7]).unwrap();
    fs::write(folder.path().join("sheet.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n").unwrap();
    let scene = folder.path().join("bad.toml");
    let words = "[time]\nfps = -3\n\
        [[body]]\nname = \"a\"\nshape = { file = \"noise.obj\" }\n\
        [[body]]\nname = \"b\"\nshape = { file = \"sheet.obj\" }\ncell = 0.1\n\
        [[body]]\nname = \"c\"\nshape = { file = \"sheet.obj\" }\n\
        [[pin]]\nbody = \"c\"\nselection = { indices = [7] }\n\
        [[pin]]\nbody = \"c\"\nselection = { boundary-loop = 3 }\n";
    fs::write(&scene, words).unwrap();
    let output = run(&["check", text(&scene)]);
    assert_eq!(output.status.code(), Some(2));
    let report = String::from_utf8_lossy(&output.stdout);
    for word in
        ["fps", "noise.obj", "body `b`", "line 8", "vertex 7", "line 15", "boundary loop 3", "line 18"]
    {
        assert!(report.contains(word), "`{word}` is not in: {report}");
    }
}

#[test]
fn check_on_a_scene_tells_what_is_found_in_its_meshes_at_their_size() {
    let folder = tempfile::tempdir().unwrap();
    // 100 by 100 centimetres, with a vertex that no face uses.
    fs::write(
        folder.path().join("towel.obj"),
        "v 0 0 0\nv 100 0 0\nv 100 0 100\nv 0 0 100\nv 7 7 7\nf 4 3 2 1\n",
    )
    .unwrap();
    let scene = folder.path().join("towels.toml");
    let shape = "shape = { file = \"towel.obj\", scale = 0.01 }";
    fs::write(&scene, format!("[[body]]\nname = \"one\"\n{shape}\n[[body]]\nname = \"two\"\n{shape}\n"))
        .unwrap();
    let output = run(&["check", text(&scene)]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let report = String::from_utf8_lossy(&output.stdout);
    for word in [
        "body `one`, body `two`: ",
        "towel.obj",
        "1.0000 x 0.0000 x 1.0000 m",
        "not closed",
        "1 vertex",
        "can be run",
    ] {
        assert!(report.contains(word), "`{word}` is not in: {report}");
    }
    assert_eq!(report.matches("towel.obj").count(), 1, "{report}");
    let output = run(&["check", text(&scene), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["meshes"][0]["users"], serde_json::json!(["body `one`", "body `two`"]));
    assert_eq!(json["meshes"][0]["report"]["vertices"], 5);
}

#[test]
fn check_on_a_scene_tells_of_every_key_that_is_not_known_and_of_the_rest_too() {
    let folder = tempfile::tempdir().unwrap();
    let scene = folder.path().join("typos.toml");
    let words = "titel = \"x\"\n[time]\nfsp = 30\nframes = 2000000\n[[body]]\nname = \"a\"\nnmae = \"b\"\n\
        shape = { grid = { size = [1, 1], vertices = [3, 3], patern = 1 } }\n";
    fs::write(&scene, words).unwrap();
    let output = run(&["check", text(&scene)]);
    assert_eq!(output.status.code(), Some(2));
    let report = String::from_utf8_lossy(&output.stdout);
    for word in
        ["`titel`", "`fsp`", "`nmae`", "`patern`", "line 1:", "line 3:", "line 7:", "line 8:", "2000000"]
    {
        assert!(report.contains(word), "`{word}` is not in: {report}");
    }
    assert!(!report.contains("can be run"), "{report}");
    // A missing required key ends the reading, after the keys before it.
    fs::write(&scene, words.replace("name = \"a\"", "name = 3")).unwrap();
    let output = run(&["check", text(&scene)]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("`fsp`") && message.contains("`body.name` must be"), "{message}");
}

#[test]
fn run_tells_what_of_a_mesh_does_not_take_part() {
    let folder = tempfile::tempdir().unwrap();
    // A square, a face with a vertex twice, and a vertex that no face uses.
    fs::write(
        folder.path().join("sheet.obj"),
        "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 7 7 7\nf 4 3 2 1\nf 1 1 2\n",
    )
    .unwrap();
    let scene = folder.path().join("sheet.toml");
    fs::write(&scene, "[time]\nframes = 1\n[[body]]\nname = \"sheet\"\nshape = { file = \"sheet.obj\" }\n")
        .unwrap();
    let output = run(&["run", text(&scene), "--out", text(&folder.path().join("run"))]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    for words in ["note: body `sheet`: 1 face without area", "note: body `sheet`: 1 vertex of no face"] {
        assert_eq!(message.matches(words).count(), 1, "`{words}` is not once in: {message}");
    }
    let report = succeed(&["check", text(&scene)]);
    assert_eq!(report.matches("1 vertex of no face").count(), 1, "{report}");
}

#[test]
fn a_free_body_in_quasi_statics_gets_a_note_that_nothing_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let scene = folder.path().join("free.toml");
    let words = "[time]\nmode = \"quasistatic\"\nframes = 1\n[[body]]\nname = \"sail\"\n\
        shape = { grid = { size = [1, 1], vertices = [3, 3] } }\n";
    fs::write(&scene, words).unwrap();
    let output = run(&["run", text(&scene), "--out", text(&folder.path().join("run"))]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("nothing supports body `sail`") && !message.contains("more `substeps`"),
        "{message}"
    );
}

#[test]
fn huge_numbers_are_printed_in_short() {
    let folder = tempfile::tempdir().unwrap();
    let scene = folder.path().join("huge.toml");
    let out = folder.path().join("run");
    let cloth = |side: &str, more: &str| {
        format!(
            "[[body]]\nname = \"c\"\nshape = {{ grid = {{ size = [{side}, 1], vertices = [3, 3] }} }}\n{more}"
        )
    };
    let cases = [
        (cloth("1e300", ""), 2, "too large"),
        (cloth("1", "[world]\ngravity = [0, -1e200, 0]\n"), 1, "failed"),
        (cloth("1", "[expect]\nheight = [1e300, 0]\n"), 2, "1e300"),
    ];
    for (words, code, part) in cases {
        fs::write(&scene, &words).unwrap();
        let output = run(&["run", text(&scene), "--out", text(&out), "--replace", "--quiet"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {message}");
        let digits = message.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
        assert!(message.contains(part) && digits < Some(25), "{words}: {message}");
    }
}

#[test]
fn a_simulation_that_diverges_says_where_and_ends_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let scene = folder.path().join("flung.toml");
    let words = "[time]\nfps = 1\n[[body]]\nname = \"sail\"\nshape = { grid = { size = [1, 1], vertices = [3, 3] } }\n\
                 velocity = [1e38, 0, 0]\n";
    fs::write(&scene, words).unwrap();
    let out = folder.path().join("run");
    let picture = folder.path().join("x.gif");
    for arguments in
        [["run", text(&scene), "--out", text(&out)], ["render", text(&scene), "--out", text(&picture)]]
    {
        let output = run(&arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        // 3.4e38 m, the largest number of single precision, is exceeded in the fourth second.
        for word in ["diverged", "frame 4", "`sail`", "vertex 0", "substeps"] {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
        assert!(!message.contains(".supf"), "no file is to blame: {message}");
    }
    // The valid frames were written.
    succeed(&["export", text(&out), "--format", "pc2", "--quiet"]);
    assert!(out.join("frames/frame-000003.supf").exists() && !picture.exists());
}

#[test]
fn a_built_in_scene_is_printed_as_toml_and_as_json() {
    let toml = succeed(&["scenes", "demo"]);
    let json: serde_json::Value = serde_json::from_str(&succeed(&["scenes", "demo", "--json"])).unwrap();
    assert_eq!(json["scene"], "demo");
    assert_eq!(json["toml"].as_str().unwrap().trim_end(), toml.trim_end());
}

/// A file-size limit emulates a full disk: writing beyond it fails in the same way.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_with_a_clear_message_and_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let start = ["run", "demo", "--resolution", "0.2", "--quiet", "--out", text(&out)];
    assert!(run(&[&start[..], &["--frames", "2"]].concat()).status.success());
    let program = env!("CARGO_BIN_EXE_supple");
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec '{program}' run --out '{}' --resume --quiet --frames 5",
        out.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot") && !message.contains("panicked"), "{message}");
    // All earlier files are still valid: the run resumes.
    let on = supple(&["run", "--out", text(&out), "--resume", "--quiet", "--frames", "5"]).output().unwrap();
    assert!(on.status.success(), "{}", String::from_utf8_lossy(&on.stderr));
}
