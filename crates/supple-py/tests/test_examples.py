"""Every example runs unchanged."""

import os
import subprocess
import sys

import pytest
from conftest import PROJECT

EXAMPLES = sorted((PROJECT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(example, tmp_path):
    assert len(example.read_text().splitlines()) < 40
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_there_are_ten_of_them():
    assert len(EXAMPLES) == 10
