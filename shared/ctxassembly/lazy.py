"""Public names of a package that are imported on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], *, extras: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of `package`.

    `homes` has the public names by module, separated by spaces; a module that is itself public has no names. `extras`
    has the import name of the package that a name needs beyond the base install. `__all__` leaves such a name out, so
    that `import *` works in every install; `dir`, and so `help`, shows it if its package is installed.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}
    public_modules = {module.rpartition(".")[2]: module for module, names in homes.items() if not names}

    def get_name(name: str) -> Any:
        if name in public_modules:
            return import_module(public_modules[name])
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    def list_names() -> list[str]:
        from ctxassembly.errors import is_installed

        missing = {name for name, needed in extras.items() if not is_installed(needed)}
        return sorted({*vars(sys.modules[package]), *modules, *public_modules} - missing)

    return sorted({*modules, *public_modules} - extras.keys()), get_name, list_names
