"""A cloth is pulled until it tears: position based dynamics, with edges that break beyond a given stretch."""

import supple

b = supple.SceneBuilder(gravity=[0, 0, 0], substeps=4)
b.add_cloth(shape={"grid": {"size": [1, 0.5], "vertices": [31, 16]}}, material="cotton", tear_stretch=1.2)
b.pin("cloth", {"plane": {"point": [-0.499, 0, 0], "normal": [-1, 0, 0]}})
pull = [{"time": 0.0, "translate": [0, 0, 0]}, {"time": 1.0, "translate": [1.0, 0, 0]}]
b.pin("cloth", {"plane": {"point": [0.499, 0, 0], "normal": [1, 0, 0]}}, keyframes=pull)
sim = b.finalize(solver="hpbd")

vertices = len(sim.positions)
for _ in range(30):
    sim.step()
print(f"{vertices} vertices became {len(sim.positions)}")
sim.save("torn.usdc")
