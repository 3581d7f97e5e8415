//! Scene files: what is accepted, what is rejected and where, and that writing round-trips.

use std::path::Path;

use supple::scene::{LinearKind, PinStrength, Scene, Selection, ShapeSource, builtin_scenes};
use supple::{Error, Place};

const BODY: &str = "[[body]]\nname = \"cloth\"\nshape = { grid = { size = [1, 1], vertices = [5, 5] } }\n";

fn read(text: &str) -> Result<Scene, Error> {
    Scene::from_toml(text, "test.toml", "")
}

/// The line and text of the error from reading or checking.
fn problem(text: &str) -> (u64, String) {
    let error = match read(text) {
        Err(error) => error,
        Ok(scene) => scene.check().into_iter().next().unwrap_or_else(|| panic!("accepted:\n{text}")).error,
    };
    match error {
        Error::File(file) => match file.place {
            Place::Line(line) => {
                assert_eq!(file.path, Path::new("test.toml"));
                (line, file.problem)
            }
            _ => panic!("no line: {file}"),
        },
        other => panic!("no file: {other}"),
    }
}

fn assert_refused(text: &str, line: u64, parts: &[&str]) {
    let (found, message) = problem(text);
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}\n{text}");
    }
    assert_eq!(found, line, "{message}\n{text}");
}

/// A problem in a scene that has the usual body in lines 1 to 3, the text following in line 4.
fn assert_refused_after_body(text: &str, line: u64, parts: &[&str]) {
    assert_refused(&format!("{BODY}{text}"), line, parts);
}

#[test]
fn a_mistyped_key_is_refused_with_line_and_nearest_key_in_every_table() {
    let cases = [
        ("[solvr]\n", 1, "`solvr` is not a key of the scene; did you mean `solver`?"),
        ("[time]\n\nfsp = 30\n", 3, "`fsp` is not a key of [time]; did you mean `fps`?"),
        ("[world]\ngravty = [0, 0, 0]\n", 2, "of [world]; did you mean `gravity`?"),
        ("[solver]\nmethd = \"newton\"\n", 2, "`methd` is not a key of [solver]; did you mean `method`?"),
        ("[solver]\nlinear = { knd = \"mas\" }\n", 2, "of `solver.linear`; did you mean `kind`?"),
        ("[output]\nformat = []\n", 2, "of [output]; did you mean `formats`?"),
        ("[expect]\nmax_strech = 1\n", 2, "of [expect]; did you mean `max_stretch`?"),
        ("[[body]]\nnane = \"a\"\n", 2, "of [[body]]; did you mean `name`?"),
        ("[[body]]\nname = \"a\"\nshape = { gird = 1 }\n", 3, "of `body.shape`; did you mean `grid`?"),
        (
            "[[body]]\nname = \"a\"\n[body.shape.grid]\nsize = [1, 1]\nvertice = [2, 2]\n",
            5,
            "of `body.shape.grid`; did you mean `vertices`?",
        ),
        ("[[body]]\nname = \"a\"\n[body.transform]\ntranslat = 1\n", 4, "did you mean `translate`?"),
        (
            "[[body]]\nmaterial = { young_modules = 1 }\n",
            2,
            "of `body.material`; did you mean `young_modulus`?",
        ),
        ("[[body]]\nmaterial.stretch_stiffness = { wrap = 1 }\n", 2, "did you mean `warp`?"),
        ("[[body]]\n[[body.region]]\nrandon = 1\n", 3, "of `body.region`; did you mean `random`?"),
        ("[[pin]]\nbdy = \"a\"\n", 2, "of [[pin]]; did you mean `body`?"),
        ("[[pin]]\nselection = { bx = 1 }\n", 2, "of `pin.selection`; did you mean `box`?"),
        ("[[pin]]\nselection = { sphere = { centre = 1 } }\n", 2, "did you mean `center`?"),
        ("[[pin]]\nfollows = { keyframe = [] }\n", 2, "of `pin.follows`; did you mean `keyframes`?"),
        ("[[pin]]\nfollows.keyframes = [\n{ time = 0 },\n{ tim = 1 }]\n", 4, "did you mean `time`?"),
        ("[[seam]]\nbody = []\n", 2, "of [[seam]]; did you mean `bodies`?"),
        ("[[collider]]\nfricton = 1\n", 2, "of [[collider]]; did you mean `friction`?"),
        ("[[collider]]\nshape = { spere = {} }\n", 2, "of `collider.shape`; did you mean `sphere`?"),
        (
            "[[collider]]\nshape = { box = { sise = 1 } }\n",
            2,
            "of `collider.shape.box`; did you mean `size`?",
        ),
        ("[[collider]]\nmotion = { pivt = 1 }\n", 2, "of `collider.motion`; did you mean `pivot`?"),
    ];
    for (text, line, message) in cases {
        assert_refused(text, line, &[message, "Valid keys: `"]);
    }
}

#[test]
fn a_wrong_word_is_refused_with_the_nearest() {
    let cases = [
        (
            "[solver]\nmethod = \"hpdb\"\n",
            2,
            "`hpdb` is not a value of `solver.method`; did you mean `hpbd`?",
        ),
        ("[solver]\nlinear = \"choleski\"\n", 2, "value of `solver.linear`; did you mean `cholesky`?"),
        (
            "[solver.linear]\nkind = \"choleski\"\n",
            2,
            "value of `solver.linear.kind`; did you mean `cholesky`?",
        ),
        ("[time]\nmode = \"static\"\n", 2, "did you mean `quasistatic`?"),
        ("[[body]]\nmodel = \"neo_hookean\"\n", 2, "did you mean `neo-hookean`?"),
        ("[[body]]\nname=\"a\"\nshape = { character = \"octopuss\" }\n", 3, "did you mean `octopus`?"),
        ("[[pin]]\nbody = \"a\"\nselection = \"al\"\n", 3, "did you mean `all`?"),
        ("[[pin]]\nbody = \"a\"\nselection = \"all\"\nhold = \"soft\"\n", 4, "Valid values: `hard`"),
    ];
    for (text, line, message) in cases {
        assert_refused(text, line, &[message]);
    }
}

#[test]
fn a_wrong_type_is_refused_with_what_was_found_and_what_is_needed() {
    let cases: [(&str, u64, &[&str]); 13] = [
        ("[time]\nfps = \"fast\"\n", 2, &["`time.fps` must be a number, found the string \"fast\""]),
        ("[time]\nframes = -1\n", 2, &["`time.frames` must be an integer", "found -1"]),
        ("[time]\nframes = 1.5\n", 2, &["must be an integer", "found 1.5"]),
        (
            "[world]\ngravity = [0, 1]\n",
            2,
            &["`world.gravity` must be an array of 3 numbers, found 2 values"],
        ),
        ("[world]\ngravity = [0, 1, 2, 3]\n", 2, &["found 4 values"]),
        ("[world]\ngravity = [0,\n\"x\", 2]\n", 3, &["`world.gravity` must be a number"]),
        ("time = 3\n", 1, &["`time` must be a table, found 3"]),
        ("time = [30, 60, 1]\n", 1, &["`time` must be a table, found an array"]),
        ("body = 3\n", 1, &["`body` must be an array, found 3"]),
        ("[[body]]\nmaterial = 3\n", 2, &["`body.material` must be a preset's name, or a table, found 3"]),
        ("[[body]]\nself_contact = 1\n", 2, &["must be true or false, found 1"]),
        ("[[body]]\nname = 1979-05-27\n", 2, &["must be a string, found the date 1979-05-27"]),
        ("[[pin]]\nselection = { nearest = 4 }\n", 2, &["`pin.selection.nearest` must be an array, found 4"]),
    ];
    for (text, line, parts) in cases {
        assert_refused(text, line, parts);
    }
}

#[test]
fn a_missing_key_is_refused_at_its_table() {
    let cases = [
        ("[time]\n[[body]]\nshape = { file = \"a.obj\" }\n", 2, "[[body]] needs the key `name`"),
        ("\n[[body]]\nname = \"a\"\n", 2, "[[body]] needs the key `shape`"),
        (
            "[[collider]]\nname = \"a\"\nshape = \"plane\"\n",
            3,
            "`collider.shape` must be a table, found the string \"plane\"",
        ),
        ("[[pin]]\nbody = \"a\"\nselection = { box = { min = [0, 0, 0] } }\n", 3, "needs the key `max`"),
        ("[[collider]]\nmotion = { keyframes = [\n{ scale = 1 }] }\n", 3, "needs the key `time`"),
    ];
    for (text, line, message) in cases {
        assert_refused(text, line, &[message]);
    }
}

#[test]
fn contradicting_keys_are_refused() {
    let cases = [
        (
            "[[body]]\nname = \"a\"\nshape = { scale = 2 }\n",
            3,
            "`body.shape` must have exactly one of the keys `file`",
        ),
        (
            "[[body]]\nname = \"a\"\nshape = { file = \"a\", character = \"octopus\" }\n",
            3,
            "found `file`, `character`",
        ),
        ("[[pin]]\nbody = \"a\"\nselection = {}\n", 3, "`pin.selection` must have exactly one of the keys"),
        ("[[pin]]\nbody = \"a\"\nselection = \"nearest\"\n", 3, "needs a value: {"),
        (
            "[[pin]]\nbody = \"a\"\nselection = \"all\"\nhold = \"hard\"\nstiffness = 3\n",
            1,
            "has both `hold = \"hard\"` and `stiffness`",
        ),
        (
            "[[pin]]\nbody = \"a\"\nselection = \"all\"\nfollows = { pivot = [0, 0, 0], collider = \"b\" }\n",
            4,
            "`pivot`",
        ),
        (
            "[[pin]]\nbody = \"a\"\nselection = \"all\"\nfollows = { animation = \"run\", collider = \"b\" }\n",
            4,
            "`animation`, which belongs to `gltf-skin`",
        ),
        (
            "[[pin]]\nbody = \"a\"\nselection = \"all\"\nfollows = { blend_in = 1, collider = \"b\" }\n",
            4,
            "`blend_in`, which belongs to",
        ),
        (
            "[[pin]]\nbody = \"a\"\nselection = \"all\"\nfollows = { }\n",
            4,
            "exactly one of the keys `keyframes`",
        ),
    ];
    for (text, line, message) in cases {
        assert_refused(text, line, &[message]);
    }
}

#[test]
fn pairs_that_name_nothing_or_say_nothing_are_refused() {
    let between = |names: &str, rest: &str| {
        format!(
            "[[collider]]\nname = \"floor\"\nshape = {{ plane = {{ normal = [0, 1, 0] }} }}\ngroup = \"scenery\"\n\
                 [[contact.pair]]\nbetween = [{names}]\n{rest}\n"
        )
    };
    let cases = [
        (
            "\"cloht\", \"floor\"",
            "collide = false",
            9,
            "there is no body, collider or group called `cloht`; did you mean `cloth`?",
        ),
        ("\"cloth\", \"scenary\"", "collide = false", 9, "did you mean `scenery`?"),
        ("\"floor\", \"scenery\"", "collide = true", 8, "`floor` and `scenery` are colliders"),
        ("\"cloth\", \"floor\"", "", 8, "the pair says nothing; give `collide` or `friction`"),
        (
            "\"cloth\", \"floor\"",
            "collide = false\nfriction = 0.1",
            8,
            "what does not collide has no friction",
        ),
        ("\"cloth\", \"cloth\"", "friction = 0.1", 8, "do not collide, so that they have no friction"),
        ("\"cloth\", \"floor\"", "friction = -0.1", 10, "`friction` is -0.1; it must be 0 or above"),
        ("\"cloth\", \"floor\"", "colide = false", 10, "did you mean `collide`?"),
    ];
    for (names, rest, line, message) in cases {
        assert_refused_after_body(&between(names, rest), line, &[message]);
    }
    let grouped = |group: &str| {
        format!("{BODY}group = \"{group}\"\n[[contact.pair]]\nbetween = [\"all\", \"all\"]\ncollide = true\n")
    };
    assert_refused(&grouped("all"), 5, &["no two members of `all` and `all` can meet"]);
    assert_refused(&grouped("cloth"), 4, &["a body is also called `cloth`"]);
    read(&format!("{BODY}{}", between("\"scenery\", \"cloth\"", "collide = false")))
        .unwrap()
        .validate()
        .unwrap();
    let changed = Scene::from_toml_with(
        &format!("{BODY}{}", between("\"scenery\", \"cloth\"", "friction = 0.1")),
        "test.toml",
        "",
        &["contact.pair.0.friction=0.7".to_owned()],
    );
    assert_eq!(changed.unwrap().contact.pairs[0].friction, Some(0.7));
}

#[test]
fn text_that_is_not_toml_is_refused_at_its_line() {
    assert_refused("[time]\nfps = = 3\n", 2, &["not valid TOML"]);
    assert_refused("[time]\nfps = 3\nfps = 4\n", 3, &["not valid TOML", "duplicate key"]);
    assert_refused("[time\n", 1, &["not valid TOML"]);
    assert_refused("[time]\nframes = 99999999999999999999\n", 2, &["does not fit a 64-bit integer"]);
    let dots = ".".repeat(100);
    read(&format!("# {dots}\ndescription = \"{dots}\"\n{BODY}")).unwrap();
    let deep = format!("a{} = 1\n", ".a".repeat(100_000));
    assert_refused(&deep, 1, &["more than 64 dots"]);
    let nested = format!("a = {}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(problem(&nested).0, 1);
}

#[test]
fn numbers_out_of_range_are_refused_at_their_line() {
    let cases = [
        ("[time]\nfps = 0\n", 5, "`fps` is 0; it must be 0.001 to 100000"),
        ("[time]\nfps = 1e-300\n", 5, "`fps` is 1e-300; it must be 0.001 to 100000"),
        ("[expect]\nheight = [1e300, 1]\n", 5, "the first number, 1e300, is above the second, 1"),
        ("[contact]\nthickness = inf\n", 5, "`thickness` is inf; it must be finite and above 0"),
        (
            "material = { young_modulus = inf }\n",
            4,
            "`young_modulus` is inf Pa; it must be finite and above 0",
        ),
        ("material = { friction = inf }\n", 4, "`friction` is inf; it must be finite and 0 or above"),
        ("[time]\nsubsteps = 0\n", 5, "`substeps` is 0; it must be 1 to"),
        ("[time]\nframes = 2000000\n", 5, "`frames` is 2000000; it must be 0 to 1000000"),
        ("[world]\ngust = 1.5\n", 5, "`gust` is 1.5; it must be 0 to 1"),
        ("[world]\nwind = [0,\n nan, 0]\n", 6, "`wind` is NaN; it must be a finite number"),
        ("[world]\ngravity = [0, -inf, 0]\n", 5, "`gravity` is -inf"),
        ("[solver]\ntolerance = 0\n", 5, "`tolerance` is 0; it must be above 0 and below 1"),
        ("[solver]\nmax_iterations = 0\n", 5, "`max_iterations` is 0"),
        ("[output]\nevery = 0\n", 5, "`every` is 0"),
        (
            "[output]\nformats = [\"obj\",\n\"p2c\"]\n",
            6,
            "`p2c` is not an export format; did you mean `pc2`?",
        ),
        ("[expect]\nheight = [2, 1]\n", 5, "the first number, 2, is above the second, 1"),
        ("material = { density = -1 }\n", 4, "`density` is -1 kg/m³; it must be above 0"),
        (
            "material = { poisson_ratio = 0.5 }\n",
            4,
            "`poisson_ratio` is 0.5; it must be at least 0 and below 0.5",
        ),
        ("material = { young_modulus = nan }\n", 4, "`young_modulus` is NaN Pa"),
        ("[body.material]\nfriction = 0.1\nthickness = 0\n", 6, "`thickness` is 0 m"),
        ("material = \"dennim\"\n", 4, "there is no material `dennim`; did you mean `denim`?"),
        ("transform = { scale = 0 }\n", 4, "`scale` is 0; it must be above 0"),
        ("velocity = [0, 0, inf]\n", 4, "`velocity` is inf; it must be a finite number"),
        ("cell = -0.1\n", 4, "`cell` is -0.1"),
        ("tear_stretch = 1\n", 4, "`tear_stretch` is 1; it must be above 1"),
        ("[[pin]]\nbody = \"cloth\"\nselection = \"all\"\nstiffness = 0\n", 7, "`stiffness` is 0"),
        (
            "[[pin]]\nbody = \"cloth\"\nselection = \"all\"\nduring = [2, 1]\n",
            7,
            "the first number, 2, is above",
        ),
        (
            "[[pin]]\nbody = \"cloth\"\nselection = \"all\"\nfollows = { keyframes = [] }\n",
            7,
            "there is no keyframe",
        ),
        (
            "[[pin]]\nbody = \"cloth\"\nselection = \"all\"\n[[pin.follows.keyframes]]\ntime = 1\n\
             [[pin.follows.keyframes]]\ntime = 1\n",
            10,
            "the keyframe at 1 s comes after that at 1 s; times must increase",
        ),
        (
            "[[pin]]\nbody = \"cloth\"\nselection = { box = { min = [1, 0, 0], max = [0, 0, 0] } }\n",
            6,
            "`min` has 1 where `max` has 0",
        ),
        ("[[pin]]\nbody = \"cloth\"\nselection = { nearest = [] }\n", 6, "`nearest` names no point"),
        ("[[pin]]\nbody = \"cloth\"\nselection = { color = [0, 0, 2] }\n", 6, "`color` is 2"),
        (
            "[[collider]]\nname = \"a\"\nshape = { sphere = { center = [0, 0, 0], radius = 0 } }\n",
            6,
            "`radius` is 0",
        ),
        ("[[collider]]\nname = \"a\"\nshape = { plane = { normal = [0, 0, 0] } }\n", 6, "`normal` is zero"),
        (
            "[[collider]]\nname = \"a\"\nshape = { plane = { normal = [0, 1, 0] } }\nfriction = -1\n",
            7,
            "`friction` is -1",
        ),
    ];
    for (text, line, message) in cases {
        assert_refused_after_body(text, line, &[message]);
    }
}

#[test]
fn shapes_that_cannot_be_made_are_refused() {
    let cases = [
        ("grid = { size = [1, 0], vertices = [5, 5] }", "`size` is 0"),
        ("grid = { size = [1, 1], vertices = [1, 5] }", "`vertices` is 1; it must be 2 to"),
        ("grid = { size = [1, 1], vertices = [100000, 100000] }", "about 1.00e10 vertices"),
        ("box = { size = [1, 1, 1], cells = [0, 1, 1] }", "`cells` is 0"),
        ("box = { size = [1, 1, 1] }", "a box of cloth needs `cells`"),
        (
            "cylinder = { radius = 1, height = 1, segments = 2, rings = 1 }",
            "`segments` is 2; it must be 3 to",
        ),
        ("sphere = { radius = -1, cells = 3 }", "`radius` is -1"),
        ("torus = { major_radius = 1, minor_radius = 1, segments = 9, rings = 9 }", "above `minor_radius`"),
        ("character = \"octopus\"", "set `cell`"),
        ("implicit = { union = { of = [] } }", "an empty union"),
        ("file = \"nowhere/shirt.obj\"", "there is no file"),
        ("character = \"octopus\", scale = 0", "`scale` is 0"),
    ];
    for (shape, message) in cases {
        assert_refused(&format!("[[body]]\nname = \"a\"\nshape = {{ {shape} }}\n"), 3, &[message]);
    }
}

#[test]
fn a_box_says_cells_as_cloth_or_cell_as_a_solid_but_not_both() {
    let body = |shape: &str, more: &str| {
        format!("[[body]]\nname = \"a\"\nshape = {{ box = {{ size = [1, 2, 1]{shape} }} }}\n{more}")
    };
    let both = body(", cells = [2, 2, 2]", "cell = 0.5\n");
    assert_refused(&both, 3, &["has `cells`", "a `cell` of 0.5 m", "leave out `cells` for a solid box"]);
    assert!(read(&body("", "cell = 0.5\n")).unwrap().check().is_empty());
    assert!(read(&body(", cells = [2, 2, 2]", "")).unwrap().check().is_empty());
}

#[test]
fn names_must_be_there_once_and_refer_to_something() {
    assert_refused("[time]\n", 1, &["the scene has no [[body]]"]);
    assert_refused_after_body(BODY, 5, &["an earlier body is also called `cloth`"]);
    assert_refused(&BODY.replace("cloth", ""), 2, &["a body needs a name"]);
    assert_refused(&BODY.replace("cloth", "../x"), 2, &["cannot be a body's name"]);
    let pin = "[[pin]]\nbody = \"clth\"\nselection = \"all\"\n";
    assert_refused_after_body(pin, 5, &["there is no body called `clth`; did you mean `cloth`?"]);
    let seam = "[[seam]]\nbodies = [\"cloth\",\n\"moth\"]\nselections = [\"all\", \"all\"]\n";
    assert_refused_after_body(seam, 6, &["there is no body called `moth`"]);
    let follows = "[[pin]]\nbody = \"cloth\"\nselection = \"all\"\nfollows = { collider = \"ball\" }\n";
    assert_refused_after_body(follows, 7, &["there is no collider called `ball`. The scene has none"]);
}

#[test]
fn stiffness_along_warp_and_weft_names_the_model_that_has_it() {
    let woven = "material = { stretch_stiffness = { warp = 1, weft = 2 } }\n";
    let words = ["between warp and weft", "`model = \"spring\"`", "use `model = \"baraff-witkin\"`"];
    assert_refused_after_body(woven, 4, &words);
    assert_refused_after_body(&format!("[[body.region]]\nselection = \"all\"\n{woven}"), 6, &words);
    let fitting = read(&format!("{BODY}model = \"baraff-witkin\"\n{woven}")).unwrap();
    assert!(fitting.check().is_empty());
}

#[test]
fn what_nothing_can_do_yet_is_refused_and_never_ignored() {
    let cases = [
        ("tear_stretch = 1.5\n".to_owned(), 4, "`tear_stretch`"),
        ("interior = 0.5\n".to_owned(), 4, "`interior`"),
        (
            "[[seam]]\nbodies = [\"cloth\", \"cloth\"]\nselections = [\"all\", \"all\"]\n[solver]\nmethod = \"hpbd\"\n"
                .to_owned(),
            4,
            "`[[seam]]` with `hpbd`",
        ),
    ];
    for (text, line, what) in cases {
        let scene = read(&format!("{BODY}{text}")).unwrap();
        let problems = scene.check();
        assert_eq!(problems.len(), 1, "{problems:?}");
        let Error::NotSupported(message) = &problems[0].error else { panic!("{problems:?}") };
        assert!(
            message.starts_with(&format!("test.toml, line {line}: ")) && message.contains(what),
            "{message}"
        );
    }
}

#[test]
fn short_forms_mean_the_same_as_tables() {
    let text = format!(
        "{BODY}material = \"silk\"\n[[pin]]\nbody = \"cloth\"\nselection = \"all\"\nhold = \"hard\"\n\
         [[pin]]\nbody = \"cloth\"\nselection = {{ all = {{}} }}\nstiffness = 100\n[solver]\nlinear = \"mas\"\n"
    );
    let scene = read(&text).unwrap();
    assert_eq!(scene.bodies[0].material.preset.as_deref(), Some("silk"));
    assert_eq!(scene.pins[0].selection, Selection::All {});
    assert_eq!(scene.pins[1].selection, Selection::All {});
    assert_eq!([scene.pins[0].hold, scene.pins[1].hold], [PinStrength::Hard, PinStrength::Stiffness(100.0)]);
    assert_eq!(scene.solver.linear().kind, LinearKind::Mas);
    let table = read(&text.replace("linear = \"mas\"", "linear = { kind = \"mas\" }")).unwrap();
    assert_eq!(scene, table);
}

#[test]
fn the_built_in_scenes_are_read_checked_and_described() {
    for (name, description, text) in builtin_scenes() {
        let scene = Scene::builtin(name).unwrap();
        assert!(!description.is_empty() && &scene.description == description);
        scene.validate().unwrap_or_else(|error| panic!("{error}"));
        assert!(text.contains("[expect]"), "{name}");
        let mut quick = scene.clone();
        quick.scale_resolution(0.25).unwrap();
        quick.validate().unwrap();
    }
}

#[test]
fn a_scene_is_found_by_built_in_name_or_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, format!("{BODY}[[body]]\nname = \"shirt\"\nshape = {{ file = \"shirt.obj\" }}\n"))
        .unwrap();
    let scene = Scene::find(path.to_str().unwrap()).unwrap();
    assert_eq!((scene.name.as_str(), scene.folder.as_path()), ("mine", folder.path()));
    let ShapeSource::File(shirt) = &scene.bodies[1].shape.source else { panic!() };
    assert_eq!(shirt, &folder.path().join("shirt.obj"));
    assert_eq!(Scene::find("demo").unwrap().name, "demo");
    let error = Scene::find("dmeo").unwrap_err().to_string();
    assert!(error.contains("`dmeo` is not a file") && error.contains("did you mean `demo`?"), "{error}");
    let error = Scene::find("nowhere/scene.toml").unwrap_err().to_string();
    assert!(error.starts_with("nowhere/scene.toml: cannot read"), "{error}");
    let error = Scene::find(folder.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("is a folder"), "{error}");
    std::fs::write(&path, b"[time]\n\xff").unwrap();
    let error = Scene::load(&path).unwrap_err().to_string();
    assert!(error.contains("line 2: is not UTF-8"), "{error}");
}

fn with_sets(sets: &[&str]) -> Result<Scene, Error> {
    let text = format!(
        "{BODY}material = \"silk\"\n[[pin]]\nbody = \"cloth\"\nselection = \"all\"\n[[collider]]\nname = \"ball\"\n\
         shape = {{ sphere = {{ center = [0, 0, 0], radius = 1 }} }}\n"
    );
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scene::from_toml_with(&text, "test.toml", "", &sets)
}

#[test]
fn sets_change_what_they_name() {
    let scene = with_sets(&[
        "body.cloth.material.young_modulus=1e5",
        "collider.ball.shape.sphere.radius=0.3",
        "solver.tolerance = 1e-6",
        "solver.linear.kind=mas",
        "time.frames=10",
        "world.gravity=[0, -1.6, 0]",
        "world.gravity.0=3",
        "pin.0.stiffness=7",
        "description=a moon",
    ])
    .unwrap();
    let material = &scene.bodies[0].material;
    assert_eq!((material.preset.as_deref(), material.young_modulus), (Some("silk"), Some(1e5)));
    assert_eq!(scene.colliders[0].shape, supple::scene::Collider::sphere("ball", [0.0; 3], 0.3).shape);
    assert_eq!((scene.solver.tolerance, scene.time.frames), (Some(1e-6), 10));
    assert_eq!(scene.solver.linear().kind, LinearKind::Mas);
    assert_eq!(scene.world.gravity.to_array(), [3.0, -1.6, 0.0]);
    assert_eq!(scene.pins[0].hold, PinStrength::Stiffness(7.0));
    assert_eq!(scene.description, "a moon");
}

#[test]
fn a_bad_set_is_refused_with_its_own_text() {
    let cases = [
        ("time.frames", "expected KEY=VALUE"),
        ("body.clot.cell=1", "there is no `body` called `clot`; did you mean `cloth`? Available: `cloth`"),
        ("pin.3.stiffness=1", "there is no `pin` number 3; there are 1"),
        ("pin.cloth.stiffness=1", "Name it by its number"),
        ("solver.methd=newton", "`methd` is not a key of [solver]; did you mean `method`?"),
        ("solver.method=newtom", "did you mean `newton`?"),
        ("time.frames=many", "must be an integer"),
        ("world.gravity=[0, 1", "is not a TOML value"),
        ("body.cloth.name.x=1", "`name` is a single value and has no `x`"),
        ("a..b=1", "is not a dotted path"),
        ("=1", "is not a dotted path"),
        ("collider.ball.shape.plane.normal=[0,1,0]", "must have exactly one of the keys"),
    ];
    for (set, message) in cases {
        let error = with_sets(&[set]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(message), "{set}: {error}");
    }
    let scene = with_sets(&["time.fps=0"]).unwrap();
    let error = scene.validate().unwrap_err().to_string();
    assert_eq!(error, "--set time.fps=0: `fps` is 0; it must be 0.001 to 100000");
    let error = with_sets(&["solver.methd=newton"]).unwrap_err().to_string();
    assert!(error.starts_with("--set solver.methd=newton: "), "{error}");
}
