"""A character from a glTF file collides with a cloth, and the result is exported to glTF."""

import supple

# Replaces your own file: the built-in octopus, saved as glTF.
model = supple.SceneBuilder()
model.add_solid(name="octopus", shape={"character": "octopus"}, cell=0.05)
model.finalize().save("octopus.glb")

b = supple.SceneBuilder()
b.add_collider(name="octopus", mesh="octopus.glb", thickness=0.005)
b.add_cloth(
    name="blanket",
    shape={"grid": {"size": [1.4, 1.4], "vertices": [25, 25]}},
    material="wool",
    translate=[0, 1.05, 0],
)
sim = b.finalize(solver="mas")
for _ in range(8):
    sim.step(1 / 30)
print(f"{sim.report['contacts']} points of the blanket lie on the octopus")
print("wrote", *sim.save("blanket.glb"))
sim.preview().save("blanket.png")
