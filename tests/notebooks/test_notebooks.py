"""The notebooks run, on a fresh kernel each, and show what is stored in them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest

from tour.execute import NOTEBOOKS, Notebook, documents, executed, outputs, shown, stored

MOST_BYTES = 300_000
QUICK_START_CELLS = 10

FIGURE = re.compile(r"\b\d+\.\d+\b|\b\d{1,3}(?:,\d{3})+\b")
ROUNDING, SHARE = 0.03, 0.02
"""Embeddings differ between processors in their last digits, which may turn a tie, and so a share of questions."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_eleven() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11"]


def words_of(notebook: Notebook) -> list[str]:
    return [FIGURE.sub("#", text) for text in shown(notebook)]


def figures_of(notebook: Notebook) -> list[float]:
    return [float(figure.replace(",", "")) for text in shown(notebook) for figure in FIGURE.findall(text)]


@each_notebook
def test_a_notebook_is_stored_as_executed_from_top_to_bottom_and_small(path: Path) -> None:
    notebook = stored(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert path.stat().st_size < MOST_BYTES


@each_notebook
def test_its_outputs_are_pictures_or_printed_words(path: Path) -> None:
    found = list(outputs(stored(path)))
    assert [output for output in found if output.get("name") == "stderr"] == []
    displayed = [output["data"] for output in found if "data" in output]
    assert displayed
    assert [data for data in displayed if not {"text/html", "image/png"} & data.keys()] == []
    assert [text for text in shown(stored(path)) if re.search(r"/(?:home|root|tmp|Users|usr|work)/", text)] == []


@each_notebook
def test_it_says_how_to_plug_in_a_model(path: Path) -> None:
    words = ["".join(cell["source"]) for cell in stored(path)["cells"] if cell["cell_type"] == "markdown"]
    assert re.search(r'init_chat_model\("|OpenAI\(model=', " ".join(words))


def test_the_quick_start_is_quick() -> None:
    assert len(stored(NOTEBOOKS[0])["cells"]) <= QUICK_START_CELLS


@pytest.mark.notebooks
@each_notebook
def test_a_notebook_shows_what_is_stored_in_it(path: Path, module_database_url: str) -> None:
    before = stored(path)
    after = executed(path, env={**os.environ, "DATABASE_URL": module_database_url})
    assert [output for output in outputs(after) if output.get("name") == "stderr"] == []
    assert [
        child for child in psutil.Process().children(recursive=True) if "ipykernel" in " ".join(child.cmdline())
    ] == []
    assert shown(after)
    if before["metadata"]["documents"] == documents():
        assert words_of(after) == words_of(before)
        assert figures_of(after) == pytest.approx(figures_of(before), abs=ROUNDING, rel=SHARE)
