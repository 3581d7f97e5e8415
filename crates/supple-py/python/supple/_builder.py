"""Scenes built in Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy.typing as npt

from . import _native
from ._arrays import Faces, faces as face_arrays, points, tetrahedra as tetrahedron_array
from ._errors import InvalidInput
from ._scene import Scene
from ._simulation import Simulation

#: Three numbers.
Vector = Union[Sequence[float], npt.ArrayLike]
#: A table of the scene format.
Table = Mapping[str, Any]


class SceneBuilder:
    """Builds a scene step by step; every call validates its own arguments.

    SI units: metres, seconds, kilograms, newtons, pascals; angles in degrees; y is up. Options have the names and defaults of the
    scene format, whose tables are dictionaries here.
    """

    def __init__(
        self,
        *,
        name: str = "scene",
        fps: float = 30.0,
        frames: int = 60,
        substeps: int = 1,
        mode: str = "dynamic",
        gravity: Vector = (0.0, -9.81, 0.0),
        wind: Vector | None = None,
        gust: float | None = None,
        air_density: float | None = None,
        contact: Table | None = None,
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        """Frames per second, frames and time steps per frame; `mode` is `"dynamic"` or `"quasistatic"`; `gravity` in m/s², `wind` in m/s,
        `gust` a fraction, `air_density` in kg/m³; `contact` is the table `[contact]`. Relative file names start at `folder`.
        """
        settings = {
            "time": {"fps": float(fps), "frames": frames, "substeps": substeps, "mode": mode},
            "world": {"gravity": gravity, "wind": wind, "gust": gust, "air_density": air_density},
            "contact": contact,
        }
        self._native = _native.SceneBuilder(name, os.fspath(folder), settings)
        self._meshes: tempfile.TemporaryDirectory[str] | None = None

    def add_cloth(
        self,
        vertices: npt.ArrayLike | None = None,
        faces: Faces | None = None,
        *,
        name: str | None = None,
        shape: Table | None = None,
        material: str | Table = "cotton",
        model: str = "spring",
        bending: str | None = None,
        rest: npt.ArrayLike | Table | None = None,
        uvs: npt.ArrayLike | None = None,
        translate: Vector = (0.0, 0.0, 0.0),
        rotate: Vector = (0.0, 0.0, 0.0),
        scale: float = 1.0,
        velocity: Vector = (0.0, 0.0, 0.0),
        self_contact: bool = False,
        group: str | None = None,
        pressure: float | None = None,
        tear_stretch: float | None = None,
        regions: Sequence[Table] = (),
    ) -> str:
        """Adds a cloth from `vertices`, shape (n, 3) in metres, and `faces`, triangles or polygons; or from a `shape` of the scene
        format, such as `{"grid": {"size": [1, 1], "vertices": [51, 51]}}` or `{"file": "shirt.obj", "scale": 0.01}`. Returns its name.

        `material` is a preset's name or a table (`young_modulus` in Pa, `area_density` in kg/m² ...). `rest` are vertices whose
        distances are the rest lengths, such as flat panels; `uvs`, shape (n, 2), define the directions of warp and weft. It starts scaled,
        rotated about the origin by a rotation vector in degrees, translated in metres, with a `velocity` in m/s. `pressure` is in Pa;
        `tear_stretch` is the stretch, above 1, at which it tears.
        """
        table = {
            **_body_table(name or self._free_name("cloth"), material, model, translate, rotate, scale, velocity, regions),
            "bending": bending,
            "self_contact": self_contact,
            "group": group,
            "pressure": pressure,
            "tear_stretch": tear_stretch,
        }
        return self._add_surface(table, vertices, faces, shape, rest, uvs)

    def add_solid(
        self,
        vertices: npt.ArrayLike | None = None,
        faces: Faces | None = None,
        *,
        tetrahedra: npt.ArrayLike | None = None,
        cell: float | None = None,
        name: str | None = None,
        shape: Table | None = None,
        material: str | Table = "flesh",
        model: str = "corotated",
        translate: Vector = (0.0, 0.0, 0.0),
        rotate: Vector = (0.0, 0.0, 0.0),
        scale: float = 1.0,
        velocity: Vector = (0.0, 0.0, 0.0),
        self_contact: bool = False,
        group: str | None = None,
        interior: float | None = None,
        tear_stretch: float | None = None,
        regions: Sequence[Table] = (),
    ) -> str:
        """Adds a solid and returns its name: from a closed surface (`vertices` and `faces`) that is filled with cells of size `cell` in
        metres; from `vertices` and `tetrahedra`, shape (m, 4); or from a `shape` of the scene format, such as `{"file": "bar.msh"}`.

        `positions` of a simulation are the vertices of the surface; for tetrahedra these are the vertices of the boundary, in the order
        in which its triangles use them.
        """
        table = {
            **_body_table(name or self._free_name("solid"), material, model, translate, rotate, scale, velocity, regions),
            "cell": cell,
            "self_contact": self_contact,
            "group": group,
            "interior": interior,
            "tear_stretch": tear_stretch,
        }
        if tetrahedra is None:
            if shape is None and cell is None:
                raise InvalidInput("a solid from a surface needs `cell`, the size of its cells in metres")
            return self._add_surface(table, vertices, faces, shape, None, None)
        if vertices is None or faces is not None or shape is not None:
            raise InvalidInput("`tetrahedra` go with `vertices`, and without `faces` and `shape`")
        corners = tetrahedron_array(tetrahedra, "tetrahedra")
        self._native.add_tets(table, points(vertices, "vertices"), corners)
        return str(table["name"])

    def pin(
        self,
        body: str,
        selection: str | Table | None = None,
        *,
        indices: npt.ArrayLike | None = None,
        nearest: npt.ArrayLike | None = None,
        stiffness: float | None = None,
        keyframes: Sequence[Table] | None = None,
        pivot: Vector = (0.0, 0.0, 0.0),
        follows: Table | None = None,
        during: tuple[float, float] | None = None,
    ) -> None:
        """Pins vertices of a body: those of a `selection` of the scene format (`"all"`, `{"box": {...}}` ...), of `indices` in the body's
        own numbering, or `nearest` to points, shape (k, 3) in metres.

        Pins are hard, or springs of `stiffness` in N/m each. They follow `keyframes` about a `pivot` (`{"time": s, "translate": m, "rotate":
        degrees, "scale": 1}`), or another driver of the scene format's `follows`; `during` is the time in s in which the pin is active.
        """
        chosen: object = selection
        if sum(given is not None for given in (selection, indices, nearest)) != 1:
            raise InvalidInput("use one of `selection`, `indices` and `nearest` to choose the pinned vertices")
        if indices is not None:
            from ._arrays import indices as index_array

            chosen = {"indices": index_array(indices, "indices")}
        elif nearest is not None:
            chosen = {"nearest": points(nearest, "nearest")}
        if keyframes is not None and follows is not None:
            raise InvalidInput("a pin follows either `keyframes` or `follows`")
        if keyframes is not None:
            follows = {"keyframes": list(keyframes), "pivot": pivot}
        self._native.add_pin(
            {"body": body, "selection": chosen, "stiffness": stiffness, "follows": follows, "during": during}
        )

    def add_collider(
        self,
        *,
        name: str | None = None,
        plane: Table | None = None,
        sphere: Table | None = None,
        capsule: Table | None = None,
        box: Table | None = None,
        mesh: str | os.PathLike[str] | None = None,
        vertices: npt.ArrayLike | None = None,
        faces: Faces | None = None,
        object: str | None = None,
        scale: float = 1.0,
        up: str = "y",
        translate: Vector = (0.0, 0.0, 0.0),
        rotate: Vector = (0.0, 0.0, 0.0),
        skin: bool = False,
        animation: str | None = None,
        blend_in: float | None = None,
        cache: str | os.PathLike[str] | None = None,
        loop: bool = False,
        keyframes: Sequence[Table] | None = None,
        pivot: Vector = (0.0, 0.0, 0.0),
        friction: float | None = None,
        stiffness: float | None = None,
        thickness: float | None = None,
        priority: int = 0,
        group: str | None = None,
    ) -> str:
        """Adds a collider and returns its name. Exactly one of

        - `plane`: `{"normal": [0, 1, 0], "point": [0, 0, 0]}`, the normal pointing to the free side,
        - `sphere`: `{"center": ..., "radius": ...}`, `capsule`: `{"from": ..., "to": ..., "radius": ...}`, `box`: `{"center": ..., "size": ...}`,
        - `mesh`: a file, a sequence of files (`walk_####.obj`) or the folder of a finished run,
        - `vertices`, shape (n, 3), with `faces`.

        A mesh may be one `object` of its file, in units of `scale` metres with the axis `up` (`"y"` or `"z"`) upwards, and is rotated by a
        rotation vector in degrees, then translated. Its vertices follow the skeleton of its glTF file with `skin=True` or the name of an
        `animation`, blending from the modelled pose in `blend_in` seconds, or have the places of a point `cache` (`.pc2`, `.mdd`); `loop`
        repeats what moves them.

        Metres throughout. It moves by `keyframes` about a `pivot`; `friction` is Coulomb's coefficient, `stiffness` is in Pa/m,
        `thickness` the distance kept, in metres. Where a body has no room between two
        colliders it is released from that of lower `priority`. `group` is a name for `contact_pair`.
        """
        shapes: dict[str, Any] = {"plane": plane, "sphere": sphere, "capsule": capsule, "box": box, "mesh": mesh}
        said = [key for key, value in shapes.items() if value is not None]
        if vertices is not None or faces is not None:
            said.append("vertices")
        if len(said) != 1:
            found = " and ".join(f"`{key}`" for key in said) or "none"
            raise InvalidInput(f"a collider is one of `plane`, `sphere`, `capsule`, `box`, `mesh` or `vertices`; found {found}")
        name = name or self._free_name("collider", self._native.colliders())
        if said == ["vertices"]:
            shapes["mesh"] = self._write_mesh(vertices, faces)
        mesh_keys: dict[str, Any] = {
            "object": object,
            "scale": None if scale == 1.0 else float(scale),
            "up": None if up == "y" else up,
            "skin": skin or None,
            "animation": animation,
            "blend_in": blend_in,
            "cache": cache,
            "loop": loop or None,
        }
        motion = None if keyframes is None else {"keyframes": list(keyframes), "pivot": pivot}
        self._native.add_collider(
            {
                "name": name,
                "shape": {**shapes, **mesh_keys},
                "transform": {"translate": translate, "rotate": rotate},
                "motion": motion,
                "friction": friction,
                "stiffness": stiffness,
                "thickness": thickness,
                "priority": priority,
                "group": group,
            }
        )
        return name

    def contact_pair(
        self, first: str, second: str, *, collide: bool | None = None, friction: float | None = None
    ) -> None:
        """Whether two bodies, colliders or groups `collide`, and the coefficient of their `friction` in place of that of materials and
        colliders. The name of a body twice is the body with itself. Later pairs win. Names are checked when the scene is built.
        """
        self._native.add_pair({"between": [first, second], "collide": collide, "friction": friction})

    def scene(
        self,
        *,
        solver: str | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        options: Table | None = None,
    ) -> Scene:
        """The scene, checked. Options as in `finalize`."""
        settings = {**(options or {})}
        for key, value in (("tolerance", tolerance), ("max_iterations", max_iterations)):
            if value is not None:
                settings[key] = value
        scene = Scene(self._native.build(solver=solver, options=settings))
        scene._kept = self._meshes
        return scene

    def finalize(
        self,
        *,
        solver: str | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        options: Table | None = None,
        simd: str = "auto",
        record: bool | int = True,
    ) -> Simulation:
        """A simulation of the scene.

        `solver` is a method, a linear solver or both, such as `"mas"`, `"hpbd"`, `"lbfgs+jacobi"`; a step stops when the gradient has fallen to
        the fraction `tolerance`, or after `max_iterations`. `options` is the table `[solver]`, such as `{"linear": {"kind": "mas", "domain": 64}}`.
        `simd` and `record` as in `Scene.simulate`.
        """
        scene = self.scene(solver=solver, tolerance=tolerance, max_iterations=max_iterations, options=options)
        return scene.simulate(simd=simd, record=record)

    def _add_surface(
        self,
        table: dict[str, object],
        vertices: npt.ArrayLike | None,
        faces: Faces | None,
        shape: Table | None,
        rest: npt.ArrayLike | Table | None,
        uvs: npt.ArrayLike | None,
    ) -> str:
        if shape is not None:
            if vertices is not None or faces is not None or uvs is not None:
                raise InvalidInput("a body has either a `shape` or `vertices` and `faces`")
            self._native.add_body({**table, "shape": shape, "rest": rest})
        elif vertices is None or faces is None:
            raise InvalidInput("a body needs `vertices` and `faces`, or a `shape`")
        else:
            starts, corners = face_arrays(faces, "faces")
            if isinstance(rest, Mapping):
                raise InvalidInput("`rest` of a body from `vertices` is an array of its vertices at rest")
            self._native.add_surface(
                table,
                points(vertices, "vertices"),
                starts,
                corners,
                uvs=None if uvs is None else points(uvs, "uvs", 2),
                rest=None if rest is None else points(rest, "rest"),
            )
        return str(table["name"])

    def _write_mesh(self, vertices: npt.ArrayLike | None, faces: Faces | None) -> str:
        """Writes a collider's mesh to a file: the engine reads colliders from files."""
        if vertices is None or faces is None:
            raise InvalidInput("a collider needs both `vertices` and `faces`")
        rows = points(vertices, "vertices")
        starts, corners = face_arrays(faces, "faces")
        wrong = (corners < 0) | (corners >= len(rows))
        if wrong.any():
            raise InvalidInput(
                f"`faces` refers to vertex {corners[wrong][0]}; there are {len(rows)} vertices, numbered from 0"
            )
        if self._meshes is None:
            self._meshes = tempfile.TemporaryDirectory(prefix="supple-")
        path = Path(self._meshes.name) / f"collider-{len(self._native.colliders())}.obj"
        lines = [f"v {x!r} {y!r} {z!r}\n" for x, y, z in rows.tolist()]
        for first, end in zip(starts.tolist(), starts.tolist()[1:]):
            lines.append("f " + " ".join(str(corner + 1) for corner in corners[first:end].tolist()) + "\n")
        path.write_text("".join(lines))
        return str(path)

    def _free_name(self, word: str, taken: Sequence[str] | None = None) -> str:
        names = self._native.bodies() if taken is None else taken
        number = 1
        while (name := word if number == 1 else f"{word}-{number}") in names:
            number += 1
        return name


def _body_table(
    name: str,
    material: str | Table,
    model: str,
    translate: Vector,
    rotate: Vector,
    scale: float,
    velocity: Vector,
    regions: Sequence[Table],
) -> dict[str, object]:
    return {
        "name": name,
        "material": material,
        "model": model,
        "transform": {"translate": translate, "rotate": rotate, "scale": float(scale)},
        "velocity": velocity,
        "region": list(regions) or None,
    }
