"""Each page of the site runs from top to bottom, as its reader would, and prints what it says that it prints."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from textwrap import dedent

import pytest

from site_pages import FOLDER, PAGES, Block, blocks, run
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


PAGE = dedent("""
    # A page

    ```python title="app.py" hl_lines="1"
    print("one")
    ```

    ```text
    one
    ```

    === "In a tab"

        ```{.python .no-run}
        print("two")
        ```

    ```py
    print("three")
    ```

    Words between.

    ```text
    no output
    ```

    ```bash
    pip install ctxassembly
    ```
""")


def test_blocks_are_found_with_titles_in_tabs_and_with_what_they_print():
    assert list(blocks(PAGE)) == [
        Block(5, 'python title="app.py" hl_lines="1"', 'print("one")\n', "one\n"),
        Block(15, "{.python .no-run}", 'print("two")\n', None),
        Block(19, "py", 'print("three")\n', None),
    ]
    assert [block.runs for block in blocks(PAGE)] == [True, False, True]


def test_a_failure_names_the_page_and_its_line(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ZeroDivisionError) as failure:
        run(Block(7, "python", "x = 1\nx / 0\n", None), "a.md", module("docs_a", monkeypatch))
    last = failure.traceback[-1]
    assert (Path(last.path).name, last.lineno + 1) == ("a.md", 8)


def test_a_warning_of_ours_is_printed_and_another_one_fails(monkeypatch: pytest.MonkeyPatch):
    said = 'import warnings\nfrom ctxassembly import NothingToJoinWarning\nwarnings.warn("no index", {})\n'
    space = module("docs_w", monkeypatch)
    ours = run(Block(1, "python", said.format("NothingToJoinWarning"), None), "w.md", space)
    assert ours == "NothingToJoinWarning: no index\n"
    with pytest.raises(DeprecationWarning):
        run(Block(1, "python", said.format("DeprecationWarning"), None), "w.md", space)
