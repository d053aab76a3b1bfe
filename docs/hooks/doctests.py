"""What the reference shows of the code: public names, examples in docstrings as blocks of code, no internal methods.

mkdocstrings knows examples only below a heading of their own, and public names only where `__all__` is a list.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import griffe

_INTERNAL = frozenset(
    {
        *("aassemble", "aassemble_context", "arguments", "assemble", "assemble_context", "call_filter"),
        *(
            "call_filters",
            "filtered_assembler",
            "limited_to",
            "filtered_postprocessor",
            "neighbor_store",
            "search_arguments",
            "settings",
        ),
        *("share_warnings_with", "start_run", "turn", "aturn"),
    }
)
"""Methods of public classes that only the adapters call, from one module to another."""
_EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """A fence around each run of lines that begins with `>>>`, up to the next blank line; internal methods hidden."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """List the public names of packages that import them on first use, as their stub files say."""
        modules = [pkg]
        for module in modules:
            modules += module.modules.values()
            if module.is_init_module and "lazy_names" in module.members:
                module.exports = import_module(module.path).__all__

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of a module, a class, a function or an attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
        if obj.name in _INTERNAL and obj.parent and obj.parent.is_class:
            obj.docstring = None  # what has none isn't shown


def fenced(docstring: str) -> str:
    """The docstring with its examples in fences of their own indentation."""
    return _EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring)
