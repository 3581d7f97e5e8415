"""The pages of the manual: their examples run, and what they refer to exists."""

import re

import pytest
from conftest import PROJECT

import supple

DOCS = PROJECT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_the_python_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_solver_has_its_place_in_the_manual():
    text = "".join(page.read_text() for page in PAGES if page.stem != "scene-format")
    methods, linear = supple.solvers()
    for word in [*methods, *linear]:
        assert f"`{word}`" in text, word


def test_everything_public_is_on_the_python_page_and_documented():
    page = (DOCS / "python.md").read_text()
    for name in supple.__all__:
        assert name in page, name
        assert getattr(supple, name).__doc__, name
