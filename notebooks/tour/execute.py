"""`python -m tour.execute`: each notebook anew, on a kernel of its own; what it shows is stored in it.

What differs from run to run is taken out of what is stored: execution times, addresses, paths, and the tail of a long
`repr`. What is left is the same until the code or the documents change, and a test holds it to that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

FOLDER = Path(__file__).parents[1]
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))
CELL_SECONDS = 300
REPR_CHARS = 200
"""Of an object's `repr`: what a reader of the page sees is its HTML or what was printed."""
_ANCHOR = re.compile(r"\bcxa-[0-9a-f]{8}(?=-)")
"""Before the ids of one view of a context: a digest of what it shows, and the ids of its chunks may be random."""
_VOLATILE = (
    (re.compile(r"(?<=\bat )0x[0-9a-f]+"), "0x..."),
    (re.compile(r"\b[\d.,]+(?=(?:&nbsp;|\s)(?:ms|µs)\b)"), "..."),
    # The time of a stage in a view of a context: the last cell of a row with a meter.
    (re.compile(r'(class="cxa-meter"(?:(?!</tr>).)*<td[^>]*>)[\d.,]+(?=</td></tr>)'), r"\1..."),
    (re.compile(r"(?<=elapsed_ms=)[0-9.e-]+"), "..."),
    # The environment mostly lies within the checkout: it is looked for first.
    (re.compile("(?:" + "|".join(map(re.escape, (sys.prefix, str(FOLDER.parent)))) + ")(?=/)"), "..."),
)
_MARKUP = re.compile(r"<style>.*?</style>|<[^>]+>", re.DOTALL)
Notebook = dict[str, Any]


def main(names: list[str]) -> int:
    """The exit code: 0, or an exception from the cell that failed."""
    for path in NOTEBOOKS:
        if not names or any(path.name.startswith(name) for name in names):
            begun = time.perf_counter()
            path.write_text(written(executed(path)), encoding="utf-8")
            print(f"{path.name}: {time.perf_counter() - begun:.0f} s, {path.stat().st_size / 1000:.0f} kB")
    return 0


def stored(path: Path) -> Notebook:
    """The notebook as it stands in the file."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def written(notebook: Notebook) -> str:
    """The notebook's file."""
    import nbformat

    return str(nbformat.writes(nbformat.from_dict(notebook))) + "\n"


def executed(path: Path, env: Mapping[str, str] | None = None) -> Notebook:
    """The notebook with its new outputs, cleaned. The kernel is a fresh one of this interpreter's.

    Raises:
        CellExecutionError: a cell failed.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(FOLDER)}}
    with tempfile.TemporaryDirectory() as sockets:  # not TCP, where others on the machine could listen in
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=where, config=config)
        client.execute(env=dict(os.environ if env is None else env))
    return cleaned(notebook)


def cleaned(notebook: Notebook) -> Notebook:
    """The notebook without what differs from run to run, and with the digest of the documents that it was run on."""
    cells = [cell if cell["cell_type"] != "code" else _cleaned_cell(cell) for cell in notebook["cells"]]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        "documents": documents(),
    }
    return {**notebook, "cells": cells, "metadata": metadata}


def documents() -> str:
    """A digest of the language reference, which differs between versions of Python."""
    return _digest(repr(sorted(topics.items())))[:16]


def shown(notebook: Notebook) -> list[str]:
    """The text of all outputs, in order: the figures that must not go stale."""
    return [text for output in outputs(notebook) for text in _texts(output)]


def outputs(notebook: Notebook) -> Iterator[dict[str, Any]]:
    """Of all cells, in order."""
    for cell in notebook["cells"]:
        yield from cell.get("outputs", ())


def _cleaned_cell(cell: dict[str, Any]) -> dict[str, Any]:
    return {**cell, "metadata": {}, "outputs": [_cleaned(output) for output in _joined(cell["outputs"])]}


def _joined(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighboring pieces of one stream as one: where it was cut is chance."""
    found: list[dict[str, Any]] = []
    for output in given:
        last = found[-1] if found else {}
        if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
            found[-1] = {**last, "text": last["text"] + output["text"]}
        else:
            found.append(dict(output))
    return found


def _cleaned(output: dict[str, Any]) -> dict[str, Any]:
    if "text" in output:
        return {**output, "text": _settled(output["text"])}
    if "data" not in output:
        return output
    data = {kind: _settled(value) if kind.startswith("text/") else value for kind, value in output["data"].items()}
    plain = data.get("text/plain", "")
    if len(plain) > REPR_CHARS:
        data["text/plain"] = plain[:REPR_CHARS] + " ..."
    return {**output, "data": data, "metadata": {}}


def _settled(text: str) -> str:
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return _ANCHOR.sub(f"cxa-{_digest(_MARKUP.sub('', text))[:8]}", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(output: dict[str, Any]) -> Iterator[str]:
    """What is printed, and the words of the HTML, or else the text, of what is displayed."""
    data = output.get("data", {})
    for text in (output.get("text"), data.get("text/html", data.get("text/plain"))):
        if text is not None:
            whole = text if isinstance(text, str) else "".join(text)  # a file may hold a text as its lines
            yield _MARKUP.sub(" ", whole) if "text/html" in data else whole


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
