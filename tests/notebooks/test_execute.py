"""What is stored of an execution: all that it shows, and nothing that differs from run to run."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from ctxassembly import Chunk, Hit, MemoryStore, assemble
from tour.execute import FOLDER, cleaned, shown


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def result(**data: Any) -> dict[str, Any]:
    kinds = {"plain": "text/plain", "html": "text/html", "png": "image/png"}
    data = {kinds[kind]: value for kind, value in data.items()}
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {"b": 2}, "data": data}


def notebook(*outputs: dict[str, Any]) -> dict[str, Any]:
    cell = {"cell_type": "code", "metadata": {"execution": {"iopub.status.idle": "2026"}}, "outputs": list(outputs)}
    words = {"cell_type": "markdown", "source": "It took 3 ms."}
    return {"cells": [words, cell], "metadata": {"language_info": {"version": "3.11"}}, "nbformat": 4}


@pytest.mark.parametrize(
    ("varying", "settled"),
    [
        ("<object at 0x7f3a2b1c>", "<object at 0x...>"),
        ("Stage(elapsed_ms=1.5e-05, name='a')", "Stage(elapsed_ms=..., name='a')"),
        ("assembled in 1,012.3 ms", "assembled in ... ms"),
        (f"{FOLDER.parent}/notebooks/tour", ".../notebooks/tour"),
        (f"{sys.prefix}/lib/python", ".../lib/python"),
    ],
)
def test_what_varies_is_taken_out_of_every_text(varying: str, settled: str) -> None:
    assert shown(cleaned(notebook(stream(varying), result(plain=varying)))) == [settled, settled]


def html_of(given: dict[str, Any]) -> str:
    (html,) = [output["data"]["text/html"] for cell in given["cells"] for output in cell.get("outputs", ())]
    return str(html)


def test_a_view_of_a_context_is_the_same_each_time() -> None:
    chunks = [Chunk(f"c{place}", "d", f"The text of chunk {place}.", index=place) for place in range(4)]
    contexts = [assemble([Hit(chunks[1])], store=MemoryStore(chunks)) for _ in range(3)]
    views = [context._repr_html_() for context in contexts]
    assert len(set(views)) > 1
    assert len({html_of(cleaned(notebook(result(html=view)))) for view in views}) == 1
    another = assemble([Hit(chunks[2])], store=MemoryStore(chunks))._repr_html_()
    one, other = (html_of(cleaned(notebook(result(html=view)))) for view in (views[0], another))
    assert not anchors(one) & anchors(other)


def anchors(html: str) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', html))
