"""Vertices driven kinematically, with new targets every step: two corners of a cloth move along a circle."""

import numpy as np

import supple

b = supple.SceneBuilder()
b.add_cloth(shape={"grid": {"size": [0.6, 0.6], "vertices": [17, 17]}}, material="cotton")
sim = b.finalize()

corners = [0, 16]
start = sim.positions[corners]
for step in range(20):
    angle = 2 * np.pi * (step + 1) / 60
    shift = 0.3 * np.array([np.sin(angle), 0, 1 - np.cos(angle)])
    sim.set_targets(corners, start + shift)
    sim.step(1 / 60)

print("the corners are at", np.round(sim.positions[corners], 3).tolist())
print("and move at", np.round(np.linalg.norm(sim.velocities[corners], axis=1), 2), "m/s")
sim.release_targets()
sim.step(1 / 60)
