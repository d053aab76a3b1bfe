"""Public names of a package that are imported on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple


class Extra(NamedTuple):
    """An optional install, such as `ctxassembly[postgres]`."""

    name: str
    modules: tuple[str, ...]
    """The modules that it brings and that the package imports."""


def _with_guesses(value: Any) -> Any:
    """Return `value`; a class, other than one of data, then suggests the parameter that was meant."""
    is_service = isinstance(value, type) and "__init__" in vars(value) and not hasattr(value, "__dataclass_fields__")
    if is_service and isinstance(value.__init__, FunctionType) and not hasattr(value.__init__, "__wrapped__"):
        from ctxassembly.parameter_names import guess_names

        guess_names(value)
    return value


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    *,
    base: Extra | None = None,
    extras: Mapping[str, Extra] = MappingProxyType({}),
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of `package`.

    `homes` has the public names by module, separated by spaces; a module that is itself public has no names. `base` is
    the extra that the package needs, None for a package of the base install; `extras` has the extras of the modules
    that need another one. `dir`, and so `help`, shows what is installed. So does `__all__`, so that `import *` works in
    every install; in a package of the base install it leaves out all names that need an extra.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}
    public_modules = {module.rpartition(".")[2]: module for module, names in homes.items() if not names}

    def get_name(name: str) -> Any:
        if name in public_modules:
            return import_module(public_modules[name])
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return _with_guesses(getattr(import_module(modules[name]), name))
        except ModuleNotFoundError as error:
            from ctxassembly.errors import missing_extra

            extra = extras.get(modules[name], base)
            if extra is None:
                raise
            needed = {module.partition(".")[0] for module in extra.modules}
            raise missing_extra(error, f"{package}.{name}", extra.name, needed) from None

    def installed_names() -> list[str]:
        from ctxassembly.errors import is_installed

        needed = {module: extra for module in homes if (extra := extras.get(module, base))}
        missing = {module for module, extra in needed.items() if not is_installed(*extra.modules)}
        return sorted(name for name, module in {**modules, **public_modules}.items() if module not in missing)

    public = installed_names() if base else sorted(public_modules.keys() | modules.keys())
    names = [name for name in public if base or modules.get(name) not in extras]
    return names, get_name, lambda: sorted({*vars(sys.modules[package]), *installed_names()})
