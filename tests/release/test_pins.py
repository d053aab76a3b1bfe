"""What development installs: constraints.txt by hand, requirements-dev.txt by `make lock`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NOT_LOCKED = {"cyclonedx-bom", "torch", "uv"}
"""Torch has other hashes in each of its builds; the others are tools in environments of their own."""


def pins(name: str) -> dict[str, set[str]]:
    """The versions of each package in a file of requirements; on a new Python there may be another."""
    found = defaultdict(set)
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if "==" in line:
            pin = Requirement(line.removesuffix("\\"))
            found[canonicalize_name(pin.name)].add(str(pin.specifier))
    return found


def test_the_lock_has_the_versions_of_the_constraints() -> None:
    locked, constraints = pins("requirements-dev.txt"), pins("constraints.txt")
    differing = {
        name: versions
        for name, versions in constraints.items()
        if name not in NOT_LOCKED and locked.get(name) != versions
    }
    assert not differing, "run `make lock`"
    assert "torch" not in locked


def test_each_dependency_is_pinned_on_every_python() -> None:
    """A group or an extra brings nothing that constraints.txt doesn't name."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lists = (
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    )
    named = {canonicalize_name(Requirement(one).name) for each in lists for one in each} - {"ctxassembly"}
    assert sorted(named - set(pins("constraints.txt"))) == []


def test_each_pin_of_the_lock_has_hashes_and_no_address() -> None:
    text = (ROOT / "requirements-dev.txt").read_text("utf-8")
    entries = [entry for entry in text.split("\n") if "==" in entry]
    assert len(entries) > 100
    assert all(entry.endswith("\\") for entry in entries)
    assert "://" not in text
    assert "--index" not in text
