"""The stability page names all that is experimental, and the versions that are supported and tested."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc, ismodule

from site_pages import FOLDER, PUBLIC

PAGE = (FOLDER / "stability.md").read_text("utf-8")


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]


def is_experimental(thing: object) -> bool:
    return re.search(r"^Experimental\b", getdoc(thing) or "", re.MULTILINE) is not None


def test_each_thing_marked_experimental_is_in_the_table_and_nothing_else() -> None:
    marked = set()
    for name in PUBLIC:
        module = import_module(name)
        if is_experimental(module):
            marked.add(name)
        else:
            members = ((one, getattr(module, one)) for one in getattr(module, "__all__", ()))
            marked |= {f"{name}.{one}" for one, it in members if not ismodule(it) and is_experimental(it)}
    assert set(re.findall(r"^\| `([\w.]+)` \|", section("What is experimental"), re.MULTILINE)) == marked


def test_tested_versions_are_those_that_the_tests_run_with() -> None:
    pins = dict(
        re.findall(r"^([\w-]+)==([^;\s]+)", (FOLDER.parent / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    )
    tested = dict(re.findall(r"([a-z-]+) (\d+\.\d+\.\d+)", re.sub(r" and later.*?\|", "|", section("Supported"))))
    assert len(tested) >= 7
    assert tested.items() <= pins.items()
