"""Every public class and function has an example in its docstring, or in that of one of its methods."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from site_pages import PUBLIC as MODULES

POSTGRES = {
    *("PGVectorNeighbors", "PostgresIndex", "number_stored_chunks"),
    *("QdrantIndex", "read_taxonomy"),
}
"""Those that need a server: an example that runs has no place in a docstring, a block of code has."""
WITHOUT_EXAMPLES = ("ctxassembly.errors", "ctxassembly.presets", "ctxassembly.published")
PACKAGES = [import_module(name) for name in MODULES if name not in WITHOUT_EXAMPLES]
PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
    if inspect.isclass(getattr(package, name)) or inspect.isfunction(getattr(package, name))
}


def docstrings(public: Any) -> Iterator[str]:
    """The docstrings of a class or function and of the methods that the class defines itself."""
    methods = vars(public).values() if inspect.isclass(public) else ()
    own = [one for one in methods if isinstance(one, (classmethod, staticmethod, property)) or inspect.isfunction(one)]
    yield from (inspect.cleandoc(one.__doc__) for one in (public, *own) if one.__doc__)


def has_example(public: Any, *, runs: bool) -> bool:
    sign = r"^ *>>> \S" if runs else r"\n\n {4}\S.*[(=]"
    return any(re.search(sign, docstring, re.MULTILINE) for docstring in docstrings(public))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name: str):
    assert has_example(PUBLIC[name], runs=name.rpartition(".")[2] not in POSTGRES)
