"""Cloth and soft bodies by multilevel solvers, with NumPy in and out.

SI units, y up, bit-identical results for any number of threads. Start with `supple.scene("hanging-cloth").run(frames=5)`, with a
`SceneBuilder` for your own mesh, or with `MultilevelSchwarz` and `Galerkin` for your own matrix.
"""

from ._builder import SceneBuilder
from ._errors import FileError, InvalidInput, NotSupported, SimulationFailed, SuppleError
from ._linear import (
    BlockJacobi,
    Cholesky,
    Galerkin,
    GaussSeidel,
    IncompleteCholesky,
    MultilevelSchwarz,
    Preconditioner,
    Schwarz,
    SolveReport,
    solve,
    solvers,
)
from ._native import set_threads, threads
from ._picture import Picture
from ._scene import Run, Scene, scene, scenes
from ._simulation import ContactForces, Released, Simulation, Wrench

__all__ = [
    "BlockJacobi",
    "Cholesky",
    "ContactForces",
    "FileError",
    "Galerkin",
    "GaussSeidel",
    "IncompleteCholesky",
    "InvalidInput",
    "MultilevelSchwarz",
    "NotSupported",
    "Picture",
    "Preconditioner",
    "Released",
    "Run",
    "Scene",
    "SceneBuilder",
    "Schwarz",
    "Simulation",
    "SimulationFailed",
    "SolveReport",
    "SuppleError",
    "Wrench",
    "scene",
    "scenes",
    "set_threads",
    "solve",
    "solvers",
    "threads",
]
