"""Contact forces and released vertices."""

from typing import Any

import numpy as np
import pytest

import supple


def lying(**options: Any) -> supple.Simulation:
    """A square metre of cloth that comes to rest on a plane."""
    b = supple.SceneBuilder()
    b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [9, 9]}}, translate=[0, 0.001, 0])
    b.add_collider(name="table", plane={"normal": [0, 1, 0]})
    return b.finalize(**options)


def test_contact_forces_of_a_cloth_at_rest_are_its_weight():
    sim = lying(tolerance=1e-8)
    for _ in range(60):
        sim.step()
    forces = sim.contact_forces()
    weight = 9.81 * sim.mass
    assert forces.force.shape == (81, 3) and forces.pressure.shape == (81,)
    np.testing.assert_allclose(forces.force.sum(axis=0), [0, weight, 0], atol=2e-3 * weight)
    # Weight over area.
    np.testing.assert_allclose(forces.pressure.mean(), weight, rtol=0.1)
    table = forces.colliders["table"]
    np.testing.assert_allclose(table.force, -forces.force.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(table.torque, -np.cross(sim.positions, forces.force).sum(axis=0), atol=1e-9)
    assert forces.bodies == {} and sim.released() == []
    assert sim.report["collider_forces"][0]["force"] == pytest.approx(table.force.tolist())


def test_bodies_press_each_other():
    b = supple.SceneBuilder()
    for name, height in (("lower", 0.001), ("upper", 0.004)):
        b.add_cloth(name=name, shape={"grid": {"size": [1, 1], "vertices": [7, 7]}}, translate=[0, height, 0])
    b.add_collider(name="table", plane={"normal": [0, 1, 0]})
    sim = b.finalize(tolerance=1e-8)
    for _ in range(60):
        sim.step()
    forces = sim.contact_forces()
    weight = 9.81 * sim.mass
    assert forces.bodies["lower", "upper"].force[1] == pytest.approx(-0.5 * weight, rel=0.01)
    assert forces.colliders["table"].force[1] == pytest.approx(-weight, rel=0.01)


def test_hpbd_knows_forces_after_a_step_only():
    sim = lying(solver="hpbd")
    with pytest.raises(supple.NotSupported, match="step"):
        sim.contact_forces()
    state = sim.checkpoint()
    sim.step()
    assert sim.contact_forces().force.shape == (81, 3)
    sim.restore(state)
    with pytest.raises(supple.NotSupported):
        sim.contact_forces()


def test_released_vertices_are_named():
    b = supple.SceneBuilder()
    b.add_cloth(name="sheet", shape={"grid": {"size": [0.4, 0.4], "vertices": [13, 13]}}, rotate=[90, 0, 0], material="cotton")
    b.pin("sheet", nearest=[[-0.2, 0.2, 0], [0.2, 0.2, 0]])
    for name, z in (("left", -0.15), ("right", 0.15)):
        closing = [{"time": 0, "translate": [0, 0, 0]}, {"time": 0.4, "translate": [0, 0, -0.4 * z]}]
        b.add_collider(name=name, box={"center": [0, 0, z], "size": [0.2, 0.2, 0.2]}, keyframes=closing)
    sim = b.finalize()
    for _ in range(15):
        sim.step()
    (released,) = sim.released()
    assert (released.body, released.collider) == ("sheet", "right")
    assert released.vertices.dtype == np.int64 and len(released.vertices) > 10
    inside = sim.positions[sim.bodies["sheet"]][released.vertices]
    assert (np.abs(inside[:, :2]) < 0.101).all()
