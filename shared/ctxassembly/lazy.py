"""Public names of a package that are imported on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

import ast
import pkgutil
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple


class Extra(NamedTuple):
    """An optional install, such as `ctxassembly[postgres]`."""

    name: str
    modules: tuple[str, ...]
    """The modules that it brings and that the package imports."""


def _modules_by_name(package: str) -> dict[str, str]:
    """Return the module that each public name of `package` is imported from, as its stub file says."""
    stub = pkgutil.get_data(package, "__init__.pyi")
    if stub is None:
        raise ImportError(f"the loader of {package} can't read its __init__.pyi, which names what it exports")
    imports = [statement for statement in ast.parse(stub).body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: str(statement.module) for statement in imports for alias in statement.names}


def lazy_names(
    package: str, *, base: Extra | None = None, extras: Mapping[str, Extra] = MappingProxyType({})
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of `package`, whose public names its `__init__.pyi` imports.

    `base` is the extra that the whole package needs, None for a package of the base install; `extras` has the extra of
    each module that needs another one. `dir`, and so `help`, shows what is installed. `__all__` has what `import *` can
    import: the same, but in a package of the base install never a name that needs an extra.

    A stub has all names for type checkers and for this function, as SPEC 1 of Scientific Python proposes.
    """
    modules = _modules_by_name(package)

    def get_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:  # a public module of it, such as `presets`
            return import_module(f"{package}.{name}")
        try:
            return getattr(import_module(modules[name]), name)
        except ModuleNotFoundError as error:
            from ctxassembly.errors import missing_extra

            extra = extras.get(modules[name], base)
            if extra is None:
                raise
            needed = {module.partition(".")[0] for module in extra.modules}
            raise missing_extra(error, f"{package}.{name}", extra.name, needed) from None

    def installed_names() -> list[str]:
        from ctxassembly.errors import is_installed

        needed = {module: extra for module in modules.values() if (extra := extras.get(module, base))}
        missing = {module for module, extra in needed.items() if not is_installed(*extra.modules)}
        return sorted(name for name, module in modules.items() if module not in missing)

    public = installed_names() if base else sorted(modules)
    names = [name for name in public if base or modules[name] not in extras]
    return names, get_name, lambda: sorted({*vars(sys.modules[package]), *installed_names()})
