"""Scenes from names, files and text; bit-identical to the program."""

import numpy as np
import pytest
from conftest import cloth, program, program_reports

import supple

SMALL = {
    "hanging-cloth": 0.04,
    "demo": 0.2,
    "bar": 0.3,
    "flag": 0.15,
}


@pytest.mark.parametrize("name", SMALL)
def test_a_scene_is_bit_identical_from_python_and_from_the_program(name, tmp_path):
    reports = program_reports(tmp_path / "run", name, "--resolution", str(SMALL[name]), "--frames", "3")
    run = supple.scene(name, resolution=SMALL[name]).run(frames=3)
    assert [r["state_hash"] for r in run.reports] == [r["state_hash"] for r in reports]
    sim = supple.scene(name, resolution=SMALL[name]).simulate()
    for _ in range(3):
        sim.step()
    assert sim.state_hash == reports[-1]["state_hash"] == run.state_hash


def body_of(method):
    """A small scene that the method supports."""
    b = supple.SceneBuilder()
    if method in ("octree", "staggered"):
        model = {"model": "linear"} if method == "staggered" else {}
        b.add_solid(shape={"box": {"size": [0.4, 0.2, 0.2]}}, cell=0.1, name="body", **model)
        b.pin("body", {"plane": {"point": [-0.19, 0, 0], "normal": [-1, 0, 0]}}, stiffness=1e4)
    else:
        b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [12, 12]}}, name="body")
        b.pin("body", nearest=[[-0.5, 0, -0.5]])
    return b


@pytest.mark.parametrize("method", supple.solvers()[0])
def test_every_method_steps_as_the_program_does(method, tmp_path):
    scene = body_of(method).scene(solver=method)
    file = tmp_path / "scene.toml"
    file.write_text(scene.to_toml())
    run = scene.run(frames=2)
    assert run.simulation is not None and np.isfinite(run.simulation.positions).all()
    assert run.simulation.positions[:, 1].min() < -1e-4 + scene.simulate().positions[:, 1].min()
    np.testing.assert_array_less(run.simulation.velocities[:, 1].min(), 0.0)
    reports = program_reports(tmp_path / "run", str(file), "--frames", "2")
    assert run.state_hash == reports[-1]["state_hash"]


@pytest.mark.parametrize("linear", supple.solvers()[1])
def test_every_linear_solver_finds_the_same_step(linear):
    def after_a_step(word):
        sim = body_of("newton").finalize(solver=word, tolerance=1e-8)
        sim.step(0.01)
        return sim.positions

    np.testing.assert_allclose(after_a_step(linear), after_a_step("cholesky"), atol=1e-6)


def test_built_in_scenes_are_listed_with_a_line_each():
    listed = program("scenes").stdout.splitlines()
    assert len(supple.scenes()) == len(listed) and all(supple.scenes().values())


def test_a_scene_file_is_read_with_changes(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text('[[body]]\nname = "cloth"\nshape = { grid = { size = [1, 1], vertices = [5, 5] } }\n')
    scene = supple.Scene.load(file, frames=2, solver="lbfgs", set={"time.fps": 50, "body.cloth.velocity": [0, 1, 0]})
    assert (scene.name, scene.frames, scene.fps, scene.bodies) == ("small", 2, 50.0, ["cloth"])
    assert scene.solver.startswith("lbfgs") and "lbfgs" in repr(scene)
    sim = scene.simulate()
    np.testing.assert_array_equal(sim.velocities[:, 1], np.ones(25))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[body]]\nname = "c"\nshape = { gird = {} }\n', ["line 3", "grid"]),
        ('[[body]]\nname = "c"\nshape = { file = "nowhere.obj" }\n', ["line 3", "nowhere.obj"]),
        ("[solver]\nmethod = 3\n", ["line 2", "method"]),
        ("body = 1 2\n", ["line 1"]),
    ],
)
def test_mistakes_in_a_file_have_the_words_of_the_program(text, words, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(supple.SuppleError) as caught:
        supple.Scene.load(file)
    report = program("run", str(file), "--out", str(tmp_path / "out")).stderr
    assert str(caught.value) in report
    assert all(word in report for word in words)


def test_names_and_files_that_are_not_there_are_report():
    with pytest.raises(supple.InvalidInput, match="hanging-cloth"):
        supple.scene("hanging-clot")
    with pytest.raises(OSError, match="nowhere.toml"):
        supple.Scene.load("nowhere.toml")
    with pytest.raises(supple.InvalidInput, match="newton"):
        supple.scene("demo", solver="magic")
    with pytest.raises(supple.InvalidInput, match="resolution"):
        supple.scene("demo", resolution=0)
    with pytest.raises(supple.InvalidInput, match="frames"):
        supple.scene("demo", frames=-1)
    with pytest.raises(supple.InvalidInput, match="gravty"):
        supple.scene("demo", set={"world.gravty": [0, 0, 0]})


def test_a_resumed_run_is_bit_identical(tmp_path):
    scene = supple.scene("hanging-cloth", resolution=0.04)
    whole = scene.run(frames=4, out=tmp_path / "whole", formats=["pc2"])
    scene.run(frames=2, out=tmp_path / "parts")
    rest = scene.run(frames=4, out=tmp_path / "parts", resume=True)
    assert rest.state_hash == whole.state_hash and len(rest.reports) == 2
    assert [file.suffix for file in whole.files] == [".pc2"] and whole.files[0].exists()
    assert "4 frames" in repr(whole) and str(tmp_path) in repr(whole)
    with pytest.raises(supple.SuppleError):
        scene.run(frames=4, out=tmp_path / "whole")
    with pytest.raises(supple.InvalidInput, match="out"):
        scene.run(frames=1, resume=True)


def test_a_scene_from_arrays_runs_in_memory_and_says_why_not_on_disk(grid, tmp_path):
    b = supple.SceneBuilder()
    b.add_cloth(*grid)
    assert len(b.scene().run(frames=2).reports) == 2
    with pytest.raises(supple.InvalidInput, match="made in memory"):
        b.scene().run(frames=2, out=tmp_path / "run")


def test_the_command_is_the_program():
    assert program("--version").returncode == 0
    wrong = program("run", "nothing-like-this")
    assert wrong.returncode == 2 and "nothing-like-this" in wrong.stderr


def test_a_scene_in_text_is_checked():
    text = cloth().scene().to_toml()
    assert supple.Scene.from_toml(text, name="again").name == "again"
    with pytest.raises(supple.SuppleError, match="no .*body"):
        supple.Scene.from_toml("[time]\nfps = 30\n")
