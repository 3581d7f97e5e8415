"""Steps, states and reports."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import cloth, hanging

import supple


def test_a_free_cloth_falls_as_implicit_euler_says():
    sim = cloth().finalize()
    start, dt, steps = sim.positions, 0.01, 7
    for _ in range(steps):
        sim.step(dt)
    np.testing.assert_allclose(sim.velocities, np.broadcast_to([0, -9.81 * dt * steps, 0], (81, 3)), atol=1e-9)
    fall = -9.81 * dt**2 * steps * (steps + 1) / 2
    np.testing.assert_allclose(sim.positions - start, np.broadcast_to([0, fall, 0], (81, 3)), atol=1e-9)
    np.testing.assert_allclose(sim.momentum, [0, -9.81 * dt * steps * sim.mass, 0], atol=1e-9)
    assert sim.time == pytest.approx(dt * steps) and sim.frame == steps


def test_velocities_are_the_change_of_positions():
    sim = hanging().finalize()
    before = sim.positions
    sim.step(0.02)
    np.testing.assert_allclose(sim.velocities, (sim.positions - before) / 0.02, atol=1e-9)


def test_velocities_of_a_surface_inside_tetrahedra_go_through_its_weights():
    b = supple.SceneBuilder()
    b.add_solid(shape={"sphere": {"radius": 0.2, "cells": 6}}, cell=0.1, velocity=[1, 0, 0])
    sim = b.finalize()
    before = sim.positions
    sim.step(0.01)
    np.testing.assert_allclose(sim.velocities, (sim.positions - before) / 0.01, atol=1e-9)


def test_stress_is_that_of_the_strain(grid):
    """A uniformly stretched cloth has the same stress everywhere, and nearly twice as much under twice the strain."""
    vertices, faces = grid

    def stress(strain: float) -> np.ndarray:
        b = supple.SceneBuilder()
        b.add_cloth(vertices * (1 + strain), faces, rest=vertices)
        return b.finalize().stress()

    assert np.abs(stress(0.0)).max() < 1e-9
    once, twice = stress(0.001), stress(0.002)
    assert once.shape == (len(vertices),) and once.min() > 0
    np.testing.assert_allclose(once, once[0], rtol=1e-6)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-2)


def test_particles_have_no_stress():
    with pytest.raises(supple.InvalidInput, match="elastic law"):
        cloth().finalize(solver="hpbd").stress()


def test_positions_are_not_copied_and_stay_what_they_are():
    sim = hanging().finalize()
    first = sim.positions
    assert np.shares_memory(first, sim.positions)
    kept = first.copy()
    sim.step(0.02)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, sim.positions)
    assert np.abs(sim.positions - kept).max() > 1e-4


def test_positions_outlive_their_simulation():
    positions = hanging().finalize().positions
    assert np.isfinite(positions).all() and positions.shape == (81, 3)


def test_positions_cannot_be_written_to():
    positions = cloth().finalize().positions
    with pytest.raises(ValueError, match="read-only"):
        positions[0, 0] = 1.0
    with pytest.raises(ValueError):
        positions.flags.writeable = True


def test_faces_and_bodies_number_the_rows_of_positions():
    b = cloth(4)
    b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [3, 3]}}, name="other", translate=[0, 1, 0])
    sim = b.finalize()
    assert sim.bodies == {"cloth": slice(0, 16), "other": slice(16, 25)}
    assert sim.faces.shape == (2 * 9 + 2 * 4, 3)
    assert set(sim.faces[:18].ravel()) == set(range(16)) and set(sim.faces[18:].ravel()) == set(range(16, 25))
    np.testing.assert_array_equal(sim.positions[sim.bodies["other"]][:, 1], np.ones(9))


def test_the_report_has_the_keys_of_the_program():
    sim = hanging().finalize(tolerance=1e-4)
    sim.step()
    report = sim.report
    assert report["frame"] == 1 and report["time"] == pytest.approx(1 / 30) and report["finite"]
    assert report["residual"] <= 1e-4 and report["converged"] and report["nonlinear_iterations"] > 0
    assert report["energy"]["kinetic"] > 0 and report["state_hash"] == sim.state_hash
    assert len(sim.residuals) > 1 and sim.residuals[-1] == pytest.approx(report["residual"])


def test_a_restored_state_continues_bit_identically():
    sim = hanging().finalize(solver="mas")
    for _ in range(3):
        sim.step()
    saved = sim.checkpoint()
    hashes = []
    for _ in range(2):
        sim.step()
        sim.step()
        hashes.append(sim.state_hash)
        sim.restore(saved)
    assert hashes[0] == hashes[1] and sim.frame == 3
    other = hanging().finalize(solver="mas")
    other.restore(saved)
    other.step()
    other.step()
    assert other.state_hash == hashes[0] and other.frame == 5


def test_what_is_no_checkpoint_is_refused_and_changes_nothing():
    sim = hanging().finalize()
    sim.step()
    before, saved = sim.state_hash, sim.checkpoint()
    for wrong in (b"", b"abc", saved[:-7], saved + b"more", bytes(200), cloth(5).finalize().checkpoint()):
        with pytest.raises(supple.InvalidInput):
            sim.restore(wrong)
    assert sim.state_hash == before


def test_driven_vertices_are_at_their_targets():
    sim = cloth().finalize()
    corners = np.array([0, 8])
    for step in range(3):
        goal = [[-0.5, 0.01 * step, -0.5], [0.5, 0.02 * step, -0.5]]
        sim.set_targets(corners, goal)
        sim.step(0.01)
        np.testing.assert_allclose(sim.positions[corners], goal, atol=1e-12)
    sim.release_targets()
    sim.step(0.05)
    assert np.abs(sim.positions[corners] - goal).max() > 1e-3


def test_a_checkpoint_keeps_what_is_driven():
    sim = cloth().finalize()
    free = sim.checkpoint()
    sim.set_targets([0, 8], [[-0.5, 0.1, -0.5], [0.5, 0.1, -0.5]])
    sim.step(0.01)
    driven = sim.checkpoint()
    sim.step(0.01)
    after = sim.state_hash

    # In another simulation, and in the same one after the release.
    other = cloth().finalize()
    sim.release_targets()
    for one in (other, sim):
        one.restore(driven)
        one.step(0.01)
        assert one.state_hash == after

    # Restored to a state without targets, the same targets drive again.
    sim.restore(free)
    sim.set_targets([0, 8], [[-0.5, 0.1, -0.5], [0.5, 0.1, -0.5]])
    sim.step(0.01)
    np.testing.assert_allclose(sim.positions[[0, 8], 1], 0.1, atol=1e-12)


def test_soft_targets_pull_by_their_stiffness():
    b = supple.SceneBuilder(gravity=[0, 0, 0])
    b.add_solid(shape={"sphere": {"radius": 0.1, "cells": 4}}, cell=0.05)
    sim = b.finalize()
    top = int(sim.positions[:, 1].argmax())
    with pytest.raises(supple.InvalidInput, match="stiffness"):
        sim.set_targets([top], [[0, 0.2, 0]])
    sim.set_targets([top], sim.positions[[top]] + [0, 0.1, 0], stiffness=100.0)
    sim.step(0.01)
    # Implicit Euler: the force acts at the end of the step, where the spring is a little shorter.
    pull = sim.momentum[1] / 0.01
    left = 0.1 - (sim.positions[top, 1] - b.finalize().positions[top, 1])
    assert pull == pytest.approx(100.0 * left, rel=1e-3)


@pytest.mark.parametrize(
    ("indices", "positions", "words"),
    [
        ([81], [[0, 0, 0]], "81 vertices"),
        ([-1], [[0, 0, 0]], "index 0 is -1"),
        ([0, 0], [[0, 0, 0]] * 2, "twice"),
        ([0, 1], [[0, 0, 0]], "one position per vertex"),
        ([0], [[0, 0]], r"\(n, 3\)"),
        ([0], [[0, np.nan, 0]], r"positions\[0, 1\]. is nan"),
        ([[0]], [[0, 0, 0]], "shape"),
    ],
)
def test_targets_that_cannot_be_are_refused_and_change_nothing(indices, positions, words):
    sim = cloth().finalize()
    sim.set_targets([3], [[0, 1, 0]])
    with pytest.raises(supple.InvalidInput, match=words):
        sim.set_targets(indices, positions)
    sim.step(0.01)
    np.testing.assert_allclose(sim.positions[3], [0, 1, 0], atol=1e-12)


def test_targets_of_wrong_types_are_type_errors():
    sim = cloth().finalize()
    with pytest.raises(TypeError, match="integers"):
        sim.set_targets([0.5], [[0, 0, 0]])
    with pytest.raises(TypeError, match="real numbers"):
        sim.set_targets([0], [["a", "b", "c"]])
    with pytest.raises(TypeError, match="complex"):
        sim.set_targets([0], np.zeros((1, 3), dtype=complex))


@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan"), float("inf")])
def test_meaningless_steps_are_refused(dt):
    with pytest.raises(supple.InvalidInput, match="step of"):
        cloth().finalize().step(dt)


def test_a_budget_ends_a_step_early_and_says_so():
    b = hanging(41)
    sim = b.finalize(tolerance=1e-12, max_iterations=1000)
    sim.step(0.1, budget=0.0)
    assert not sim.report["converged"]
    with pytest.raises(supple.InvalidInput, match="budget"):
        sim.step(0.1, budget=-1)


def test_a_budget_ends_a_step_of_position_based_dynamics():
    sim = hanging(21).finalize(solver="hpbd")
    sim.step(0.1)
    assert "converged" not in sim.report
    sim.step(0.1, budget=0.0)
    assert sim.report["converged"] is False
    assert np.isfinite(sim.positions).all()


def test_the_number_of_threads_changes_no_bit():
    hashes = set()
    for count in (1, 3, None):
        supple.set_threads(count)
        sim = hanging(21).finalize(solver="galerkin")
        sim.step()
        hashes.add(sim.state_hash)
    assert len(hashes) == 1 and supple.threads() >= 1
    for wrong in (0, -2, 5000):
        with pytest.raises(supple.InvalidInput, match="threads"):
            supple.set_threads(wrong)


def test_stepping_leaves_the_interpreter_to_others():
    sim = hanging(41).finalize(tolerance=1e-8)
    sim.step()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    sim.step()
    ended = time.perf_counter()
    stop.set()
    thread.join()
    assert any(started + 0.1 * (ended - started) < at < ended - 0.1 * (ended - started) for at in ticks)


def test_simulations_in_parallel_threads_are_bit_identical():
    def run(_):
        sim = hanging(15).finalize()
        for _ in range(3):
            sim.step()
        return sim.state_hash

    with ThreadPoolExecutor(max_workers=3) as pool:
        assert len(set(pool.map(run, range(4)))) == 1


def test_one_simulation_in_two_threads_is_refused_not_broken():
    sim = hanging(41).finalize(tolerance=1e-8)
    refused = []

    def step():
        try:
            sim.step()
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sim.frame == 4 - len(refused)
    assert all("another thread" in message for message in refused)


def step_in_child(queue):
    sim = hanging(15).finalize()
    sim.step()
    queue.put(sim.state_hash)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_threads_of_its_own():
    sim = hanging(15).finalize()
    sim.step()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=step_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == sim.state_hash
    child.join(timeout=60)


@pytest.fixture
def heeds_ctrl_c():
    """Shells make background processes ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_loop_of_steps(heeds_ctrl_c):
    sim = hanging(31).finalize()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        while time.perf_counter() - started < 60:
            sim.step(1e-3)
    frame = sim.frame
    sim.step(1e-3)
    assert sim.frame == frame + 1


def test_a_step_that_fails_tells_when_and_what_to_do():
    sim = cloth(3).finalize()
    sim.set_targets([0], [[1e300, 0, 0]])
    with pytest.raises(supple.SimulationFailed, match="failed at"):
        for _ in range(5):
            sim.step(0.1)


def test_a_collider_that_is_placed_pushes_what_is_in_its_way():
    b = supple.SceneBuilder(gravity=[0, 0, 0])
    b.add_cloth(shape={"grid": {"size": [0.3, 0.3], "vertices": [7, 7]}}, name="sheet")
    b.add_collider(name="ball", sphere={"center": [0, -0.1, 0], "radius": 0.05})
    sim = b.finalize()
    for step in range(1, 5):
        sim.place_collider("ball", translate=[0, 0.05 * step, 0])
        sim.step(1 / 60)
    center = np.array([0, 0.1, 0])
    assert np.linalg.norm(sim.positions - center, axis=1).min() > 0.05
    assert sim.positions[24, 1] > 0.15
    with pytest.raises(supple.InvalidInput, match="there is no collider `bal`"):
        sim.place_collider("bal")
