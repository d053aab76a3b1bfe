"""Each page of the site runs from top to bottom, as its reader would, and prints what it says that it prints."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from site_pages import FOLDER, PAGES, blocks, run
from tour.execute import documents

OF_PYTHON = {"before-and-after.md": "6061bdb5e47e53fb"}
"""Pages that show Python's own documents, with the digest of those that they were written with."""
NOT_RUN = 6
"""Blocks of the whole site that don't run here: in install.md one that needs torch, which `make release` runs; in
throughput.md a script with processes, and two that need Ray and Spark, which `test_batch_recipes.py` runs; in
evaluate.md one that needs RAGAS and a language model; in scale.md those of five engines that need a server."""


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """An empty module that is found by name, for what looks up the types or functions of a page."""
    made = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_and_prints_what_it_says(
    page: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    text = (FOLDER / page).read_text("utf-8")
    if "DATABASE_URL" in text:
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database_url"))
    monkeypatch.chdir(tmp_path)
    space = module(f"docs_{Path(page).stem.replace('-', '_')}", monkeypatch)
    is_same = OF_PYTHON.get(page, documents()) == documents()
    for block in blocks(text):
        if not block.runs:
            continue
        printed = run(block, page, space)
        assert not is_same or printed == (block.output or ""), f"docs/{page}, line {block.line}, printed:\n{printed}"


def test_few_blocks_are_only_read():
    left = [
        f"{page}:{block.line}"
        for page in PAGES
        for block in blocks((FOLDER / page).read_text("utf-8"))
        if not block.runs
    ]
    assert len(left) == NOT_RUN, left
