"""Shared by several tests: small bodies, and the program next to the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple

#: The folder of the whole project.
PROJECT = Path(__file__).resolve().parents[3]


def cloth(count: int = 9, **options: Any) -> supple.SceneBuilder:
    """A square metre of cloth with `count` vertices along each side."""
    b = supple.SceneBuilder(**options)
    b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [count, count]}})
    return b


def hanging(count: int = 9, **options: Any) -> supple.SceneBuilder:
    """The same, pinned at two corners."""
    b = cloth(count, **options)
    b.pin("cloth", nearest=[[-0.5, 0, -0.5], [0.5, 0, -0.5]])
    return b


def program(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The `supple` program: that of `SUPPLE_PROGRAM`, or the package's own command."""
    own = os.environ.get("SUPPLE_PROGRAM")
    words = [own] if own else [sys.executable, "-m", "supple"]
    return subprocess.run([*words, *arguments], capture_output=True, text=True, cwd=cwd)


def program_reports(out: Path, *arguments: str) -> list[dict[str, Any]]:
    """The frames of `supple run --json`."""
    done = program("run", *arguments, "--out", str(out), "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if "frame" in line]


@pytest.fixture
def grid() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Vertices and triangles of a small square."""
    n = 4
    x, z = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    vertices = np.column_stack([x.ravel(), np.zeros(n * n), z.ravel()])
    quads = [[i * n + j, i * n + j + 1, (i + 1) * n + j + 1, (i + 1) * n + j] for i in range(n - 1) for j in range(n - 1)]
    triangles = [[q[0], q[1], q[2]] for q in quads] + [[q[0], q[2], q[3]] for q in quads]
    return vertices, np.array(triangles)
