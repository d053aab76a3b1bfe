"""Public names of a package that are imported on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any


def lazy_names(
    package: str, extra: str | None = None, extras: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of `package`, whose public names its `__init__.pyi` imports.

    `extra` is the optional install that the whole package needs, None for a package of the base install; `extras` has
    the one of each module that needs another, with a package that it brings. `dir`, and so `help`, shows the names of
    such a module if that package is installed. So does `__all__`, but never in a package of the base install.

    A stub has all names for type checkers and for this function, as SPEC 1 of Scientific Python proposes.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    if stub is None:
        raise ImportError(f"the loader of {package} can't read its __init__.pyi, which names what it exports")
    imports = [statement for statement in ast.parse(stub).body if isinstance(statement, ast.ImportFrom)]
    modules = {alias.name: str(statement.module) for statement in imports for alias in statement.names}

    def get_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:  # a public module of it, such as `presets`
            return import_module(f"{package}.{name}")
        try:
            return getattr(import_module(modules[name]), name)
        except ModuleNotFoundError as error:
            from ctxassembly.errors import missing_extra

            needed, _ = extras.get(modules[name], (extra, ""))
            if needed is None:
                raise
            raise missing_extra(f"{package}.{name}", needed) from error

    def installed_names() -> list[str]:
        return [name for name, module in modules.items() if module not in extras or find_spec(extras[module][1])]

    of_base_install = [name for name, module in modules.items() if module not in extras]
    return installed_names() if extra else of_base_install, get_name, installed_names
