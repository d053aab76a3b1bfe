"""Examples in docstrings as blocks of code: mkdocstrings knows them only below a heading of their own."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """A fence around each run of lines that begins with `>>>`, up to the next blank line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of a module, a class, a function or an attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The docstring with its examples in fences of their own indentation."""
    return _EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring)
