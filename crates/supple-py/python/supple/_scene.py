"""Scenes and runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._errors import InvalidInput
from ._simulation import RECORD_LIMIT, Simulation


class Run:
    """The result of `Scene.run`: the report of every frame, and the final simulation or the folder."""

    def __init__(
        self,
        *,
        scene: str,
        solver: str,
        vertices: int,
        reports: list[dict[str, Any]],
        seconds: float,
        simulation: Simulation | None,
        folder: Path | None,
        files: list[Path],
    ) -> None:
        self.scene = scene
        #: The solver's name.
        self.solver = solver
        #: Vertices of all bodies.
        self.vertices = vertices
        #: One dictionary per frame, with the keys of `supple run --json`.
        self.reports = reports
        #: Wall time in seconds.
        self.seconds = seconds
        #: The simulation at the last frame; None if the run is on disk.
        self.simulation = simulation
        #: The folder of the run; None if it is in memory.
        self.folder = folder
        #: The exported files.
        self.files = files

    @property
    def state_hash(self) -> str | None:
        """The hash of the last frame's state."""
        return self.reports[-1]["state_hash"] if self.reports else None

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", in {self.folder}"
        last = ""
        if self.reports:
            report = self.reports[-1]
            residual = "" if report.get("residual") is None else f", residual {report['residual']:.1e}"
            last = f", stretch up to {report['max_stretch']:.3f}{residual}, state {report['state_hash']}"
        return (
            f"{self.scene}: {len(self.reports)} frames of {self.vertices} vertices by {self.solver} "
            f"in {self.seconds:.2f} s{last}{where}"
        )


class Scene:
    """A scene, with the content of a scene file. It is immutable; `changed` returns a new one.

    Created by `Scene.load`, `supple.scene`, `Scene.from_toml` or `SceneBuilder.scene`.
    """

    def __init__(self, native: _native.Scene) -> None:
        self._native = native
        self._kept: object = None

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        solver: str | None = None,
        resolution: float | None = None,
        frames: int | None = None,
        set: Mapping[str, object] | None = None,
    ) -> Scene:
        """Reads a scene file. Options as in `supple.scene`."""
        native = _native.Scene.load(os.fspath(path), _settings(set))
        return cls(native).changed(solver=solver, resolution=resolution, frames=frames)

    @classmethod
    def from_toml(
        cls, text: str, *, name: str = "scene", folder: str | os.PathLike[str] = ".", set: Mapping[str, object] | None = None
    ) -> Scene:
        """Reads a scene from TOML; relative file names start at `folder`."""
        native = _native.Scene.from_toml(text, name, os.fspath(folder), _settings(set))
        return cls(native).changed()

    def changed(
        self, *, solver: str | None = None, resolution: float | None = None, frames: int | None = None
    ) -> Scene:
        """The same scene with another solver, resolution or number of frames."""
        native = self._native.changed(
            solver=solver, resolution=None if resolution is None else float(resolution), frames=frames
        )
        other = Scene(native)
        other._kept = self._kept
        return other

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def description(self) -> str:
        """A one-line description."""
        return self._native.description

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self._native.fps

    @property
    def frames(self) -> int:
        """Frames after the start."""
        return self._native.frames

    @property
    def substeps(self) -> int:
        """Time steps per frame."""
        return self._native.substeps

    @property
    def solver(self) -> str:
        """Method and linear solver, such as `newton+cholesky`; the method alone if the engine chooses the linear solver."""
        return self._native.solver

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies."""
        return self._native.bodies

    def to_toml(self) -> str:
        """The scene as a scene file, with every default written out and file names absolute. Meshes from arrays cannot be written."""
        return self._native.to_toml()

    def simulate(self, *, simd: str = "auto", record: bool | int = True) -> Simulation:
        """Builds the bodies in their initial state.

        `simd="baseline"` gives bit-identical results on every machine. `record` stores positions after every step for `Simulation.save`, in
        single precision, 12 bytes per vertex, up to 1 GiB or the given number of bytes; `record=False` stores none.
        """
        limit = RECORD_LIMIT if record is True else int(record)
        if limit < 0:
            raise InvalidInput(f"`record` is {record}; it must be True, False or a number of bytes")
        simulation = Simulation(_native.Simulation(self._native, simd, limit), self.name, self.solver)
        simulation._kept = self._kept
        return simulation

    def run(
        self,
        *,
        frames: int | None = None,
        out: str | os.PathLike[str] | None = None,
        formats: Sequence[str] = (),
        resume: bool = False,
        replace: bool = False,
        simd: str = "auto",
        record: bool | int = True,
    ) -> Run:
        """Simulates all frames, or the first `frames`, and returns their reports.

        With `out` everything is written into that folder as `supple run --out` does, and exported to `formats`; `resume` continues
        a run that was stopped, `replace` removes an earlier run. Ctrl-C raises `KeyboardInterrupt` after the current frame; a run on disk
        can then be resumed.
        """
        scene = self.changed(frames=frames)
        if out is not None:
            return _run_on_disk(scene, Path(out), list(formats), resume, replace, simd)
        if formats or resume or replace:
            raise InvalidInput("`formats`, `resume` and `replace` apply to runs on disk: set `out`, the folder")
        started = time.perf_counter()
        simulation = scene.simulate(simd=simd, record=record)
        reports = []
        for _ in range(scene.frames):
            simulation.step()
            reports.append(simulation.report)
        return Run(
            scene=scene.name,
            solver=scene.solver,
            vertices=len(simulation.positions),
            reports=reports,
            seconds=time.perf_counter() - started,
            simulation=simulation,
            folder=None,
            files=[],
        )

    def __repr__(self) -> str:
        return f"<supple.Scene {self.name}: {', '.join(self.bodies)}; {self.frames} frames, {self.solver}>"


def _run_on_disk(scene: Scene, out: Path, formats: list[str], resume: bool, replace: bool, simd: str) -> Run:
    if resume and replace:
        raise InvalidInput("`resume` and `replace` exclude each other")
    started = time.perf_counter()
    begin = "resume" if resume else "replace" if replace else "fresh"
    run = _native.DiskRun(scene._native, os.fspath(out), begin, simd)
    reports = []
    try:
        while not run.is_done:
            reports.append(json.loads(run.next_frame()))
    finally:
        run.checkpoint()
    files = [Path(file) for file in run.export(formats)] if formats else []
    return Run(
        scene=scene.name,
        solver=scene.solver,
        vertices=run.counts[0],
        reports=reports,
        seconds=time.perf_counter() - started,
        simulation=None,
        folder=out,
        files=files,
    )


def scene(
    source: str | os.PathLike[str],
    *,
    solver: str | None = None,
    resolution: float | None = None,
    frames: int | None = None,
    set: Mapping[str, object] | None = None,
) -> Scene:
    """A built-in scene by name, or a scene file.

    `solver` is a method, a linear solver or both, such as `"mas"` or `"lbfgs+jacobi"`; `resolution` multiplies that of generated shapes;
    `set` changes values by their dotted paths before the scene is read, such as `{"body.cloth.material.damping": 0.01}`.
    """
    native = _native.Scene.find(os.fspath(source), _settings(set))
    return Scene(native).changed(solver=solver, resolution=resolution, frames=frames)


def scenes() -> dict[str, str]:
    """The built-in scenes: names with one-line descriptions."""
    return dict(_native.builtin_scenes())


def _settings(changes: Mapping[str, object] | None) -> list[str]:
    return [_native.setting(key, value) for key, value in (changes or {}).items()]
