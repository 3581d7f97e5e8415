"""Exporting to Blender: the OBJ to import, and the point cache for its Mesh Cache modifier.

In Blender: File > Import > Wavefront (.obj), flag.obj; then Modifiers > Mesh Cache, flag.pc2, with "Up Axis" and "Forward Axis"
as the file was imported. A USD file with the same animation needs no modifier.
"""

import supple

b = supple.SceneBuilder(wind=[6, 0, 1], gust=0.4, fps=24)
b.add_cloth(name="flag", shape={"grid": {"size": [0.9, 0.6], "vertices": [22, 15]}}, material="nylon", rotate=[90, 0, 0])
b.pin("flag", {"plane": {"point": [-0.449, 0, 0], "normal": [-1, 0, 0]}})
sim = b.finalize()

sim.save("flag.obj")
for _ in range(12):
    sim.step(1 / 24)
for file in [*sim.save("flag.pc2"), *sim.save("flag.usdc")]:
    print(f"{file}: {file.stat().st_size} bytes, {sim.recorded} frames")
