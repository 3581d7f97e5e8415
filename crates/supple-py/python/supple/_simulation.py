"""A running simulation."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import FloatArray, indices, numbers, points
from ._errors import InvalidInput
from ._picture import Picture

#: Default limit of recorded positions in bytes.
RECORD_LIMIT = 1 << 30

#: File endings of `Simulation.save`: the format, and whether one file contains the whole animation.
_ENDINGS = {f".{extension}": (name, animated) for extension, name, animated in _native.export_extensions()}


@dataclass(frozen=True)
class Wrench:
    """A force and its torque."""

    #: In N, shape (3,).
    force: FloatArray
    #: About the origin of the world in N m, shape (3,); about a point `c` it is `torque - cross(c, force)`.
    torque: FloatArray


@dataclass(frozen=True)
class ContactForces:
    """Contact at the end of a step."""

    #: The force on every vertex in N, shape (n, 3), in the order of `Simulation.positions`. Of vertices at one place the first has it all.
    force: FloatArray
    #: The pressure on every vertex in Pa, shape (n,): normal forces from either side over the area that the vertex represents.
    pressure: FloatArray
    #: What contact exerts on each collider, by name.
    colliders: dict[str, Wrench]
    #: What the second of two bodies exerts on the first, by their names, for those that touch.
    bodies: dict[tuple[str, str], Wrench]


@dataclass(frozen=True)
class Released:
    """Vertices of a body that are left out of contact with a collider."""

    body: str
    collider: str
    #: Numbers of the body's vertices, shape (k,): `sim.positions[sim.bodies[body]][vertices]` are their positions.
    vertices: npt.NDArray[np.int64]


def _wrench(pair: tuple[list[float], list[float]]) -> Wrench:
    return Wrench(np.array(pair[0]), np.array(pair[1]))


class Simulation:
    """A running simulation: `step` advances it, `positions` and `velocities` are NumPy arrays.

    Created by `SceneBuilder.finalize` or `Scene.simulate`. Only one thread may use a simulation at a time; while it steps, the
    interpreter lock is released, so that several simulations can run in parallel threads.
    """

    def __init__(self, native: _native.Simulation, name: str, solver: str) -> None:
        self._native = native
        self._kept: object = None
        self.name = name
        self.solver = solver

    def step(self, dt: float | None = None, *, budget: float | None = None) -> None:
        """Advances by `dt` seconds in one time step; without it by a frame of the scene, all its substeps, like the program.

        With `budget` the solver stops after this wall time in seconds and keeps the best state reached. Ctrl-C raises
        `KeyboardInterrupt` when the step is done.
        """
        self._native.step(None if dt is None else float(dt), None if budget is None else float(budget))

    @property
    def positions(self) -> FloatArray:
        """The vertex positions in metres, shape (n, 3): those of every body's own mesh in their order, body by body.

        Read-only and not copied. The array does not change when the simulation advances.
        """
        return self._native.positions

    @property
    def velocities(self) -> FloatArray:
        """The vertex velocities in m/s, shape (n, 3); a new array each time."""
        return self._native.velocities

    def stress(self) -> FloatArray:
        """The von Mises stress at every vertex, shape (n,): in Pa in solids, in N/m in cloth. `hpbd` has none and raises `InvalidInput`."""
        return self._native.stress()

    def contact_forces(self) -> ContactForces:
        """The forces of contact at the end of the last step: on every vertex, on every collider, and between bodies.

        Methods that know none raise `NotSupported`; so does `hpbd` before its first step and right after `restore`.
        """
        force, pressure, colliders, pairs = self._native.contact_forces()
        return ContactForces(
            force=force,
            pressure=pressure,
            colliders={name: _wrench(wrench) for name, wrench in colliders},
            bodies={names: _wrench(wrench) for names, wrench in pairs},
        )

    def released(self) -> list[Released]:
        """The vertices that are left out of contact with a collider now: they are inside of it, or had no room between two."""
        return [Released(body, collider, vertices) for body, collider, vertices in self._native.released()]

    @property
    def faces(self) -> npt.NDArray[np.int32]:
        """The triangles of all surfaces, shape (m, 3), as vertex indices; polygons are triangulated."""
        return self._native.faces

    @property
    def bodies(self) -> dict[str, slice]:
        """The rows of `positions` that belong to each body, by name: `sim.positions[sim.bodies["cloth"]]`."""
        return {name: slice(first, first + count) for name, first, count in self._native.bodies()}

    @property
    def report(self) -> dict[str, Any]:
        """The report of the last `step`, with the keys of `supple run --json`: iterations, residual, stretch, energies in J, times in s."""
        report: dict[str, Any] = json.loads(self._native.report())
        return report

    @property
    def time(self) -> float:
        """Simulated time in seconds."""
        return self._native.time

    @property
    def frame(self) -> int:
        """The number of calls of `step`."""
        return self._native.frame

    @property
    def unknowns(self) -> int:
        """Scalar unknowns."""
        return self._native.counts[2]

    @property
    def elements(self) -> int:
        """Triangles and tetrahedra that carry elasticity."""
        return self._native.counts[1]

    @property
    def mass(self) -> float:
        """Total mass in kg."""
        return self._native.mass

    @property
    def momentum(self) -> FloatArray:
        """Total momentum in kg m/s, shape (3,)."""
        return np.array(self._native.momentum)

    @property
    def state_hash(self) -> str:
        """A hash of the exact bits of all unknowns and velocities: equal for any number of threads, and to that of the program."""
        return self._native.state_hash

    @property
    def notes(self) -> list[str]:
        """Notes about how the bodies were built."""
        return self._native.notes

    @property
    def residuals(self) -> FloatArray:
        """The residual at the start of every nonlinear iteration of the last time step, and at its end."""
        return self._native.residuals

    def set_targets(
        self, indices: npt.ArrayLike, positions: npt.ArrayLike, *, stiffness: float | None = None
    ) -> None:
        """Drives vertices: each is at its target position, in metres, at the end of every step from now on.

        `indices` are rows of `positions`, shape (k,), and `positions` has the shape (k, 3). They are pinned exactly, or by springs of
        `stiffness` in N/m, which a surface inside coarser tetrahedra needs. A call replaces the previous one; no indices, or
        `release_targets`, release all vertices.
        """
        vertices, places = _indices(indices), points(positions, "positions")
        self._native.set_targets(vertices, places, None if stiffness is None else float(stiffness))

    def release_targets(self) -> None:
        """Releases the vertices driven by `set_targets`."""
        self._native.release_targets()

    def place_collider(
        self,
        name: str,
        *,
        translate: Sequence[float] | npt.ArrayLike = (0.0, 0.0, 0.0),
        rotate: Sequence[float] | npt.ArrayLike = (0.0, 0.0, 0.0),
        scale: float = 1.0,
        pivot: Sequence[float] | npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Places a collider, in place of its motion: scaled and rotated about `pivot` by a rotation vector in degrees, then translated,
        in metres, from where its shape is in the scene.

        It goes there over the next step, with the velocity of this change, and is there at its end: bodies yield on the way, and
        friction drags them along. Checkpoints do not contain it: the first place after `restore` is taken without sweeping.
        """

        def vector(value: npt.ArrayLike, word: str) -> list[float]:
            return [float(x) for x in points(np.reshape(numbers(value, word), (1, -1)), word)[0]]

        self._native.place_collider(
            name, vector(pivot, "pivot"), vector(translate, "translate"), vector(rotate, "rotate"), float(scale)
        )

    def checkpoint(self) -> bytes:
        """The complete state, including the targets of `set_targets`; `restore` resumes from it bit-identically, in any simulation of the same scene."""
        return self._native.checkpoint()

    def restore(self, checkpoint: bytes) -> None:
        """Restores a state. One that does not match is rejected without any change. The recording continues."""
        self._native.restore(checkpoint)

    @property
    def recorded(self) -> int:
        """The number of recorded frames: the start, and one after every `step`."""
        return self._native.recorded

    def clear_recording(self) -> None:
        """Clears the recorded frames; the recording restarts with the current state."""
        self._native.clear_recording()

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Writes a file by its extension and returns its path: `.pc2`, `.mdd`, `.usdc` and `.glb` contain everything recorded so far, `.obj`,
        `.ply` and `.vtu` the current surface, `.png` a picture of it.

        PC2, MDD, OBJ, PLY and VTU store one body; with several there is one file per body, with its name added.
        """
        ending = Path(path).suffix.lower()
        if ending == ".png":
            self.preview().save(path)
            return [Path(path)]
        if ending not in _ENDINGS:
            known = ", ".join([*_ENDINGS, ".png"])
            raise InvalidInput(f"{os.fspath(path)}: `{ending}` is not a supported extension; use one of {known}")
        word, animated = _ENDINGS[ending]
        return [Path(file) for file in self._native.save(os.fspath(path), word, animated)]

    def export(self, folder: str | os.PathLike[str], formats: Sequence[str]) -> list[Path]:
        """Writes everything recorded so far into a folder, in each of the formats: those of `[output]` in the scene format."""
        words = [formats] if isinstance(formats, str) else list(formats)
        return [Path(file) for file in self._native.export(os.fspath(folder), words)]

    def preview(
        self,
        *,
        width: int = 640,
        height: int = 480,
        color: str = "plain",
        wireframe: bool = False,
        camera: Sequence[Sequence[float]] | None = None,
    ) -> Picture:
        """A picture of the current state for notebooks. No window or graphics card is needed.

        `color` is `"plain"` or `"stretch"`; `camera` is position and target in metres, `[[x, y, z], [x, y, z]]`; everything is in view
        without it. Sizes are in pixels.
        """
        if color not in ("plain", "stretch"):
            raise InvalidInput(f'`color` is "{color}"; it must be "plain" or "stretch"')
        for name, size in (("width", width), ("height", height)):
            if not 1 <= size <= 8192:
                raise InvalidInput(f"`{name}` is {size} pixels; it must be 1 to 8192")
        view = None if camera is None else points(camera, "camera").tolist()
        if view is not None and len(view) != 2:
            raise InvalidInput(f"`camera` has {len(view)} points; it must be position and target")
        png = self._native.picture(
            width=width, height=height, stretch=color == "stretch", wireframe=wireframe, camera=view
        )
        return Picture(png)

    def plot(self) -> Any:
        """The residuals of the last time step over its iterations, as matplotlib axes; matplotlib must be installed."""
        from ._plot import residual_axes

        return residual_axes(self.residuals, f"{self.name}, {self.time:.3f} s, {self.solver}", "nonlinear iteration")

    def _repr_png_(self) -> bytes:
        return self.preview().png

    def __repr__(self) -> str:
        vertices, elements, _ = self._native.counts
        return (
            f"<supple.Simulation {self.name}: {vertices} vertices, {elements} elements, {self.solver}, "
            f"at {self.time:.4g} s after {self.frame} frames>"
        )


def _indices(value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return indices(value, "indices")
