"""Meshes from other libraries: a trimesh surface becomes cloth, meshio tetrahedra become a solid."""

import meshio
import numpy as np
import trimesh

import supple

balloon = trimesh.creation.icosphere(subdivisions=3, radius=0.2)
corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]) * 0.3
bar = meshio.Mesh(corners, [("tetra", np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))])

b = supple.SceneBuilder(gravity=[0, -9.81, 0])
b.add_cloth(balloon.vertices, balloon.faces, name="balloon", material="rubber", pressure=200.0, translate=[0, 0.3, 0])
b.add_solid(bar.points, tetrahedra=bar.cells_dict["tetra"], name="block", material="rubber", translate=[1, 0.1, 0])
b.add_collider(plane={"normal": [0, 1, 0]})
sim = b.finalize()

for _ in range(10):
    sim.step(1 / 60)

balloon.vertices = sim.positions[sim.bodies["balloon"]]
print(f"the balloon now holds {1000 * balloon.volume:.1f} litres")
balloon.export("balloon.ply")
