"""The entries of settings.md: each option with its type, range, default and docstring, all taken from the code.

In the page a comment names a class and some of its options:

    <!-- settings: AssemblyConfig window candidate_window -->

The range is the one that the field declares, which is also the one that is checked.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from textwrap import dedent
from typing import Any

from ctxassembly import AssemblyConfig, MetadataKeys, RetrievalConfig, TokenBudget
from ctxassembly.answering import AnswerConfig, Intent, Mode
from ctxassembly.data.validation import field_rules
from ctxassembly.enrichment import EnrichmentConfig
from ctxassembly.retrieval import Boost

_DIRECTIVE = re.compile(r"^<!-- (settings|table): (\w+) ?(.*?) -->$", re.MULTILINE)
_CLASSES = {
    one.__name__: one
    for one in (
        AnswerConfig,
        AssemblyConfig,
        Boost,
        EnrichmentConfig,
        Intent,
        MetadataKeys,
        Mode,
        RetrievalConfig,
        TokenBudget,
    )
}
_SHOWN = 60
_LONG = {
    "affinity": "`0.8` for another category than the intent, of six",
    "keys": "[`MetadataKeys()`](#metadata-keys)",
    "modes": "the published [modes](#modes)",
}
"""The names of defaults that are longer than that."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its comments replaced by what they name. MkDocs calls it for each page."""
    return _DIRECTIVE.sub(_written, markdown)


def _written(found: re.Match[str]) -> str:
    kind, name, chosen = found.groups()
    settings = {setting.name: setting for setting in fields(_CLASSES[name])}
    names = chosen.split() or list(settings)
    if unknown := set(names) - set(settings):
        raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
    if kind == "table":
        rows = [f"| `{one}` | {_default(settings[one])} | {_text(name, one)} |" for one in names]
        return "\n".join(["| | default | |", "|---|---|---|", *rows])
    return "\n\n".join(entry(name, settings[one]) for one in names)


def entry(owner: str, setting: Field[Any]) -> str:
    """The heading, the line of type, range and default, and the docstring of one option."""
    heading = f"#### `{setting.name}` {{ #{owner}.{setting.name} }}"
    facts = f"{_range(owner, setting)} · default {_default(setting)}"
    return "\n\n".join((heading, facts, _text(owner, setting.name)))


def _text(owner: str, name: str) -> str:
    return " ".join(describe_fields(_CLASSES[owner]).get(name, "").split())


def describe_fields(record: type) -> dict[str, str]:
    """The docstring under each field of a class that has one. Python drops them, so they are read from the source."""
    (definition,) = ast.parse(dedent(inspect.getsource(record))).body
    return {
        ast.unparse(statement.target): inspect.cleandoc(ast.literal_eval(following.value))
        for statement, following in pairwise(definition.body)
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr)
    }


def _default(setting: Field[Any]) -> str:
    if setting.default is MISSING and setting.default_factory is MISSING:
        return "none: it must be given"
    value = setting.default if setting.default is not MISSING else setting.default_factory()  # type: ignore[misc]
    shown = f"{value:_}" if type(value) is int else repr(value).replace("'", '"')
    if len(shown) <= _SHOWN:
        return f"`{shown}`"
    return ", ".join(f"`{item}`" for item in value) if isinstance(value, tuple) else _LONG[setting.name]


def _range(owner: str, setting: Field[Any]) -> str:
    """Return the allowed values that the field declares; its type, if the class checks it in another way."""
    rule = field_rules(_CLASSES[owner]).get(setting.name)
    if rule is None:
        return f"`{setting.type}`"
    allowed = re.sub(r"'(\w+)'", r'`"\1"`', rule.allowed).removeprefix("one of ")
    return f"{allowed[0].upper()}{allowed[1:]}"
