"""What is made on first use: public names of a package, properties, and tuples that most callers never read."""

from __future__ import annotations

import ast
import functools
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

__all__ = ["LateTuple", "cached_property", "lazy_names"]

T = TypeVar("T")


def lazy_names(
    package: str, extra: str | None = None, extras: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of `package`, whose public names its `__init__.pyi` imports.

    Importing the package then costs next to nothing.

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


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - named as the one that it replaces
        """`functools.cached_property` of Python 3.12: computed on first use and kept in its object, without a lock.

        In Python 3.10 and 3.11 there is one lock for all objects of a class. A slow tokenizer of one caller would hold
        up the assemblies of all other threads, and a process that is forked meanwhile would wait for ever. Without it,
        at worst two threads compute the same value.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


class LateTuple(Sequence[T]):
    """The items that `make` returns, asked for once. It equals the tuple of them, and is pickled as one.

    >>> numbers = LateTuple(lambda: [1, 2])
    >>> numbers == (1, 2), len(numbers), numbers[-1]
    (True, 2, 2)
    """

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make: Callable[[], Iterable[T]] | None = make
        self._items: tuple[T, ...] = ()

    def _tuple(self) -> tuple[T, ...]:
        if (make := self._make) is not None:
            self._items = tuple(make())
            self._make = None
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._tuple()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._tuple())

    def __len__(self) -> int:
        return len(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == (other._tuple() if isinstance(other, LateTuple) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)
