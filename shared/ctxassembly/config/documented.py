"""Settings whose `help` explains each of them.

A docstring under a field is what editors show where the field is written, and what the page of all settings is made of.
Python itself forgets it. So `help(AssemblyConfig)`, and a notebook's `AssemblyConfig?`, read it from the source when
they ask; importing costs nothing. Without a source file, as in some bundles, they show the class docstring alone.

A setting that there isn't is an error that guesses which one was meant.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any


class DocumentedConfig(type):
    """The type of classes whose `__doc__` goes on with their fields: each with its type, default and docstring.

    >>> from ctxassembly import AssemblyConfig
    >>> print(AssemblyConfig.__doc__.partition("max_characters: ")[2].partition("encoding")[0].strip())
    int | None = None
        The most characters (code points) of the same text, at least 1; None sets no such limit.
    """

    def _read(cls) -> str | None:
        own: str | None = vars(cls).get("__doc__")
        # A dataclass asks for the docstring while it is made, before it has its slots: that is no reader.
        if own is None or "__slots__" not in vars(cls):
            return own
        parts = [f"{line}\n{indent(text, '    ')}" for line, text in describe_fields(cls)]
        return "\n\n".join([inspect.cleandoc(own), *parts])

    def _write(cls, text: str) -> None:
        # Under -OO there are no docstrings, and a dataclass writes its signature in their place.
        vars(type)["__doc__"].__set__(cls, text)

    __doc__ = property(_read, _write)

    if not TYPE_CHECKING:  # an editor shows the parameters of the class itself

        def __call__(cls, *args: Any, **settings: Any) -> Any:
            """The settings.

            Raises:
                ConfigError: there is no setting of that name.
            """
            if not settings.keys() <= cls.__dataclass_fields__.keys():
                from ctxassembly.config.hints import check_parameters

                check_parameters(cls.__name__, settings, cls.__dataclass_fields__, "{}")
            return super().__call__(*args, **settings)

    @property
    def __signature__(cls) -> inspect.Signature:
        own = inspect.signature(vars(cls)["__init__"])
        return own.replace(parameters=[*own.parameters.values()][1:])


@cache
def describe_fields(cls: type) -> tuple[tuple[str, str], ...]:
    """The fields of a class in order, each as the line that declares it and its docstring; none without its source."""
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
