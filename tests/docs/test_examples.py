"""The examples in docstrings run, and give what they say."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import ctxassembly
import langchain_ctxassembly
import llamaindex_ctxassembly

ROOTS = (ctxassembly, langchain_ctxassembly, llamaindex_ctxassembly)
MODULES = [root.__name__ for root in ROOTS] + [
    found.name for root in ROOTS for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")
]


def examples(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(import_module(name))
    return [example for example in found if example.examples]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name: str):
    runner = doctest.DocTestRunner(verbose=False)
    printed: list[str] = []
    for example in examples(name):
        runner.run(example, out=printed.append)
    assert not runner.failures, "".join(printed)
