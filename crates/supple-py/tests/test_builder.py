"""Scenes built in Python: valid input, and errors raised by the line at fault."""

import numpy as np
import pytest
from conftest import cloth

import supple


def test_a_mesh_keeps_its_vertices_and_their_order(grid):
    vertices, triangles = grid
    shuffled = np.random.default_rng(1).permutation(len(vertices))
    b = supple.SceneBuilder()
    b.add_cloth(vertices[shuffled], np.argsort(shuffled)[triangles])
    sim = b.finalize()
    np.testing.assert_array_equal(sim.positions, vertices[shuffled])
    np.testing.assert_array_equal(sim.faces, np.argsort(shuffled)[triangles])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_vertices_of_any_real_dtype_and_layout_are_taken(dtype):
    vertices = np.asfortranarray(np.array([[0, 0, 0], [2, 0, 0], [0, 0, 2], [9, 9, 9]], dtype=dtype))[:3]
    for faces in ([[0, 2, 1]], np.array([[0, 2, 1]], dtype=np.uint8), ((0, 2, 1),)):
        b = supple.SceneBuilder()
        b.add_cloth(vertices, faces)
        np.testing.assert_array_equal(b.finalize().positions, vertices.astype(float))


def test_polygons_of_different_sizes_are_one_cloth():
    vertices = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [2, 0, 0.5]]
    b = supple.SceneBuilder()
    b.add_cloth(vertices, [[0, 3, 2, 1], [1, 2, 4]])
    assert b.finalize().faces.shape == (3, 3)


def test_placement_scales_then_turns_then_moves(grid):
    b = supple.SceneBuilder()
    b.add_cloth(*grid, translate=[1, 2, 3], rotate=[0, 0, 90], scale=2, velocity=[0, 0, 1])
    sim = b.finalize()
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(sim.positions, 2 * grid[0] @ turned.T + [1, 2, 3], atol=1e-12)


def test_a_rest_shape_pulls(grid):
    vertices, triangles = grid
    b = supple.SceneBuilder(gravity=[0, 0, 0])
    b.add_cloth(vertices, triangles, rest=0.5 * vertices)
    sim = b.finalize()
    for _ in range(20):
        sim.step(0.02)
    assert np.ptp(sim.positions[:, 0]) < 0.9


def test_tetrahedra_in_arrays_are_a_solid():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    b = supple.SceneBuilder()
    b.add_solid(corners, tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4]], material="rubber")
    sim = b.finalize()
    volume = 1 / 6 + 1 / 3
    assert sim.mass == pytest.approx(1100 * volume) and sim.elements == 2
    sim.step(0.01)
    np.testing.assert_allclose(sim.velocities[:, 1], np.full(5, -0.0981), atol=1e-9)


def test_a_closed_surface_is_filled_with_cells():
    b = supple.SceneBuilder()
    b.add_solid(shape={"sphere": {"radius": 0.2, "cells": 5}}, cell=0.1, material={"preset": "flesh", "density": 1000})
    ball = 4 / 3 * np.pi * 0.2**3 * 1000
    assert b.finalize().mass == pytest.approx(ball, rel=0.15)


def test_a_collider_from_arrays_stops_a_cloth(grid):
    vertices, triangles = grid
    b = supple.SceneBuilder()
    b.add_cloth(0.5 * vertices, triangles, translate=[0.25, 0.02, 0.25])
    b.add_collider(vertices=vertices, faces=triangles, thickness=0.01)
    sim = b.finalize()
    for _ in range(20):
        sim.step(0.01)
    assert sim.positions[:, 1].min() > -0.01 and sim.report["contacts"] > 0


def test_a_pin_follows_keyframes():
    b = cloth()
    b.pin("cloth", indices=[0], keyframes=[{"time": 0, "translate": [0, 0, 0]}, {"time": 1, "translate": [0, 1, 0]}])
    sim = b.finalize()
    start = sim.positions[0].copy()
    for _ in range(5):
        sim.step(0.02)
    np.testing.assert_allclose(sim.positions[0], start + [0, 0.1, 0], atol=1e-9)


def test_names_are_given_and_kept_apart():
    b = supple.SceneBuilder()
    shape = {"grid": {"size": [1, 1], "vertices": [3, 3]}}
    assert [b.add_cloth(shape=shape), b.add_cloth(shape=shape), b.add_cloth(shape=shape, name="x")] == ["cloth", "cloth-2", "x"]
    assert b.add_collider(plane={"normal": [0, 1, 0]}) == "collider"
    assert b.add_collider(sphere={"center": [0, 0, 0], "radius": 1}) == "collider-2"
    with pytest.raises(supple.InvalidInput, match="called `x` already"):
        b.add_cloth(shape=shape, name="x")


TRIANGLE = ([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]])


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (TRIANGLE[0], [[0, 2, 3]], "corner 2 is 3; there are 3 vertices"),
        (TRIANGLE[0], [[0, 2, -1]], "is -1"),
        (TRIANGLE[0], [[0, 2]], "at least 3"),
        (TRIANGLE[0], [0, 2, 1], "shape"),
        ([[0, 0], [1, 0], [0, 1]], [[0, 2, 1]], r"\(3, 2\); it must be \(n, 3\)"),
        ([[0, 0, 0], [np.nan, 0, 0], [0, 0, 1]], [[0, 2, 1]], r"vertices\[1, 0\]. is nan"),
        ([[0, 0, 0], [np.inf, 0, 0], [0, 0, 1]], [[0, 2, 1]], "is inf"),
        ([[0, 0, 0], [1, 0], [0, 0, 1]], [[0, 2, 1]], "not an array"),
        (TRIANGLE[0], None, "`vertices` and `faces`"),
        (None, None, "`vertices` and `faces`"),
        ([], [], "no faces"),
    ],
)
def test_meshes_that_cannot_be_are_refused(vertices, faces, words):
    with pytest.raises(supple.InvalidInput, match=words):
        b = supple.SceneBuilder()
        b.add_cloth(vertices, faces)
        b.finalize()


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        ([["a", "b", "c"]], [[0, 0, 0]]),
        (np.zeros((3, 3), dtype=complex), [[0, 1, 2]]),
        (TRIANGLE[0], [[0.0, 2.0, 1.0]]),
        (np.zeros((3, 3), dtype=bool), [[0, 1, 2]]),
        (object(), [[0, 1, 2]]),
        (TRIANGLE[0], [["0", "1", "2"]]),
    ],
)
def test_arrays_of_wrong_types_are_type_errors(vertices, faces):
    with pytest.raises(TypeError):
        supple.SceneBuilder().add_cloth(vertices, faces)


def test_tetrahedra_that_cannot_be_are_refused():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for tets, words in [
        ([[0, 1, 2, 4]], "is 4"),
        ([[0, 1, 2]], r"\(n, 4\)"),
        ([[0, 2, 1, 3]], "volume"),
        ([[0, 1, 2, 2]], "volume"),
    ]:
        with pytest.raises(supple.InvalidInput, match=words):
            supple.SceneBuilder().add_solid(corners, tetrahedra=tets)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.add_cloth(*TRIANGLE, name="t", material="coton"), "cotton"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", material={"young_module": 1}), "young_modulus"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", material={"density": -1}), "density"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", model="sprung"), "spring"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", velocity=[0, 1]), "velocity|three|3"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", scale=0), "scale"),
        (lambda b: b.add_cloth(*TRIANGLE, name="t", uvs=[[0, 0]]), "uvs"),
        (lambda b: b.add_cloth(*TRIANGLE, shape={"grid": {"size": [1, 1], "vertices": [3, 3]}}), "either"),
        (lambda b: b.add_cloth(shape={"gird": {}}), "grid"),
        (lambda b: b.add_solid(*TRIANGLE), "cell"),
        (lambda b: b.pin("clot", indices=[0]), "`clot`.*`cloth`"),
        (lambda b: b.pin("cloth"), "choose the pinned vertices"),
        (lambda b: b.pin("cloth", "all", indices=[0]), "one of"),
        (lambda b: b.pin("cloth", {"bx": {}}), "box"),
        (lambda b: b.pin("cloth", indices=[0], stiffness=-5), "stiffness"),
        (lambda b: b.pin("cloth", nearest=[[0, 0, np.nan]]), "nan"),
        (lambda b: b.pin("cloth", indices=[0], keyframes=[]), "keyframe"),
        (lambda b: b.add_collider(), "found none"),
        (lambda b: b.add_collider(plane={"normal": [0, 1, 0]}, box={}), "found `plane` and `box`"),
        (lambda b: b.add_collider(sphere={"center": [0, 0, 0], "radius": -1}), "radius"),
        (lambda b: b.add_collider(sphere={"centre": [0, 0, 0], "radius": 1}), "center"),
        (lambda b: b.add_collider(vertices=TRIANGLE[0], faces=[[0, 1, 7]]), "vertex 7"),
        (lambda b: b.finalize(solver="magic"), "newton"),
        (lambda b: b.finalize(solver="lbfgs+chebyshev"), "preconditioner"),
        (lambda b: b.finalize(tolerance=2.0), "tolerance"),
        (lambda b: b.finalize(options={"linear": {"kind": "jacobi", "domain": 8}}), "domain"),
        (lambda b: b.finalize(simd="fast"), "baseline"),
        (lambda b: b.finalize(record=-1), "record"),
        (lambda b: (b.pin("cloth", indices=[999]), b.finalize()), "999"),
    ],
)
def test_mistakes_are_refused_with_the_remedy(call, words):
    with pytest.raises((supple.InvalidInput, supple.FileError), match=words):
        call(cloth())


def test_settings_that_cannot_be_are_refused_at_once():
    for options, words in [
        ({"fps": 0}, "fps"),
        ({"substeps": 0}, "substeps"),
        ({"frames": -1}, "frames"),
        ({"mode": "static"}, "quasistatic"),
        ({"gravity": [0, float("nan"), 0]}, "gravity|finite"),
        ({"contact": {"thickness": 0}}, "thickness"),
    ]:
        with pytest.raises(supple.InvalidInput, match=words):
            supple.SceneBuilder(**options)
    with pytest.raises(TypeError, match="gravity"):
        supple.SceneBuilder(gravity={"y"})
    with pytest.raises(supple.InvalidInput, match="body"):
        supple.SceneBuilder().finalize()


def test_what_cannot_be_done_yet_is_said():
    b = supple.SceneBuilder()
    b.add_cloth(*TRIANGLE, tear_stretch=1.5)
    with pytest.raises(supple.SuppleError, match="tear"):
        b.finalize(solver="newton")


def test_pairs_decide_who_meets_whom():
    def fallen(**pair):
        b = supple.SceneBuilder()
        b.add_cloth(shape={"grid": {"size": [0.2, 0.2], "vertices": [5, 5]}}, name="sheet", group="clothes")
        b.add_collider(name="shelf", box={"center": [0, -0.02, 0], "size": [1, 0.01, 1]})
        b.contact_pair("clothes", "shelf", **pair)
        sim = b.finalize()
        for _ in range(10):
            sim.step(0.02)
        return sim.positions[:, 1].max()

    assert fallen(collide=False) < -0.1 < fallen(friction=0.2)
    with pytest.raises(supple.InvalidInput, match="there is no body, collider or group called `shef`; did you mean `shelf`"):
        b = supple.SceneBuilder()
        b.add_cloth(shape={"grid": {"size": [0.2, 0.2], "vertices": [5, 5]}}, name="sheet")
        b.add_collider(name="shelf", plane={"normal": [0, 1, 0]})
        b.contact_pair("sheet", "shef", collide=False)
        b.finalize()
