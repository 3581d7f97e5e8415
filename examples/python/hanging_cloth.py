"""A cloth pinned at two corners: simulate it, inspect it, save a picture."""

import supple

b = supple.SceneBuilder()
b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [21, 21]}}, material="silk")
b.pin("cloth", nearest=[[-0.5, 0, -0.5], [0.5, 0, -0.5]])
sim = b.finalize(solver="mas")

for _ in range(20):
    sim.step(1 / 60)

report = sim.report
print(f"after {sim.time:.2f} s the lowest point is at {sim.positions[:, 1].min():.3f} m")
print(f"stretched up to {report['max_stretch']:.3f}, residual {report['residual']:.1e}")
sim.preview(color="stretch").save("hanging_cloth.png")
