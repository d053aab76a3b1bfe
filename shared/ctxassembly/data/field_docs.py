"""Configuration classes whose `help` explains each field, and whose constructor names the setting that was meant.

A docstring under a field is what editors show where the field is written, and what the page of all settings is made of.
Python itself drops it. So `help(AssemblyConfig)`, and a notebook's `AssemblyConfig?`, read it from the source on
demand; importing costs nothing. Without a source file, as in some bundles, they show the class docstring alone.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from itertools import pairwise
from textwrap import dedent, indent
from typing import Any, TypeVar

from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import safe_repr

T = TypeVar("T")
_OWNERS: dict[str, str] = {}
"""The class that has a setting, by the setting's name: the first one that was defined."""


class _FieldDocs:
    """The docstring of a class, followed by its fields: each with its type, default and docstring."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: object, owner: type) -> str:
        parts = [f"{line}\n{indent(text, '    ')}" for line, text in describe_fields(owner)]
        return "\n\n".join([inspect.cleandoc(self.text), *parts])


def config_class(cls: type[T]) -> type[T]:
    """Return the dataclass `cls` with its fields in `help`, and a ConfigError for a setting that it doesn't have.

    >>> from ctxassembly import AssemblyConfig
    >>> print(AssemblyConfig.__doc__.partition("max_characters: ")[2].partition("encoding")[0].strip())
    Annotated[int, Range(1)] | None = None
        The most characters (code points) of the same text, at least 1; None sets no such limit.
    """
    cls.__doc__ = _FieldDocs(cls.__doc__ or "")  # type: ignore[assignment]
    for name in vars(cls)["__dataclass_fields__"]:
        _OWNERS.setdefault(name, cls.__name__)
    return guess_names(cls)


def guess_names(cls: type[T]) -> type[T]:
    """Return the dataclass `cls` with a ConfigError for a parameter that it doesn't have, which suggests a similar one.

    >>> from ctxassembly import MetadataKeys
    >>> MetadataKeys(doc_id="file")
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: MetadataKeys() has no parameter 'doc_id'. Did you mean document_id='file'?
    """
    known: dict[str, Any] = vars(cls)["__dataclass_fields__"]
    init = cls.__init__

    @wraps(init)
    def check_names(self: Any, *args: Any, **settings: Any) -> None:
        for name, value in settings.items():
            if name not in known:
                elsewhere = {setting: f"{owner}({setting}={{}})" for setting, owner in _OWNERS.items()}
                raise unknown_parameter(cls.__name__, name, value, known, elsewhere)
        init(self, *args, **settings)

    cls.__init__ = check_names  # type: ignore[method-assign]
    return cls


def unknown_parameter(
    owner: str, name: str, value: Any, known: Iterable[str], elsewhere: Mapping[str, str]
) -> ConfigError:
    """Return the error for a parameter `name` that `owner` doesn't have, with the line to write.

    `known` has the parameters that `owner` has. `elsewhere` has the lines for settings of other classes, by name, with
    {} in place of the value.
    """
    known = set(known)
    near = [name] if name in elsewhere else get_close_matches(name, sorted(known | elsewhere.keys()), 1)
    if near:
        line = f"{near[0]}={{}}" if near[0] in known else elsewhere[near[0]]
        hint = f". Did you mean {line.format(safe_repr(value, 40))}?"
    else:
        hint = f". It takes {', '.join(sorted(known))}."
    return ConfigError.unknown(owner, name, hint)


@cache
def describe_fields(cls: type) -> tuple[tuple[str, str], ...]:
    """Return the fields of a class in order, each as the line that declares it and its docstring.

    Empty without the source of the class.
    """
    try:
        source = dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return ()
    return tuple(_parse_fields(ast.parse(source).body[0]))


def _parse_fields(node: ast.AST) -> Iterator[tuple[str, str]]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    for statement, following in pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            text = ast.literal_eval(following.value)
            yield ast.unparse(statement), inspect.cleandoc(text)
