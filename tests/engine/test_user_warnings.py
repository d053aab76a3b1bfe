"""Every warning of the three packages: the text before the remedy is short, whatever values it names."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ctxassembly
from ctxassembly import Chunk, MetadataKeys
from ctxassembly.answering.cache import Reach
from ctxassembly.assembly.expansion.access import unseen_filter_warning
from ctxassembly.assembly.expansion.diagnostics import diagnose
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.tokens.models import window_warning
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY, WarnOnce, warn, with_remedy

PACKAGES = ("ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly")
LONG = "Ünlü\n%s{}'\"" * 1_000
KEYS = MetadataKeys()
CALLS = {"warn", "warn_about_neighbors"}


def issued(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return seen


def check(message: str, remedy: str = "") -> None:
    fact, mark, what = message.partition(REMEDY)
    assert len(fact) <= MAX_FACT_CHARS
    assert fact.endswith(".")
    assert mark
    assert remedy in what
    assert what


# The mechanism


@pytest.mark.parametrize("length", [1, 158, 159, 160, 161, 10_000])
@pytest.mark.parametrize("char", ["a", "ü", "\U0001f9f6", "\n", "."])
def test_any_fact_is_shortened_and_no_remedy_is(char: str, length: int) -> None:
    remedy = LONG
    message = with_remedy(char * length, remedy)
    check(message, remedy)
    (seen,) = issued(lambda: warn(message))
    assert str(seen.message) == message


@pytest.mark.parametrize("length", [1, 79, 80, 160, 10_000])
def test_so_are_two_facts_in_one_warning(length: int) -> None:
    of_filter, of_hits = with_remedy("f" * length, "filter=..."), with_remedy("h" * length, "number_chunks(...)")
    (seen,) = issued(lambda: WarnOnce().warn_about_neighbors(of_filter, of_hits))
    check(str(seen.message), "filter=...; number_chunks(...)")
    assert issubclass(seen.category, FilterNotSeenWarning)
    assert issubclass(seen.category, NothingToJoinWarning)


def test_one_warning_for_both_is_seen_under_a_public_name() -> None:
    (seen,) = issued(lambda: WarnOnce().warn_about_neighbors(*(with_remedy(fact, "Do so.") for fact in "fh")))
    name = seen.category.__name__
    assert getattr(ctxassembly, name) is FilterNotSeenWarning
    assert f": {name}: f. h. Fix" in warnings.formatwarning(seen.message, seen.category, seen.filename, seen.lineno)


@pytest.mark.parametrize("category", [FilterNotSeenWarning, NothingToJoinWarning])
def test_either_of_its_categories_silences_it(category: type[Warning]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=category)
        WarnOnce().warn_about_neighbors(*(with_remedy(fact, "Do so.") for fact in "fh"))
    assert seen == []


# The worst values


def chunk(at: int, **given: Any) -> Chunk:
    fields: dict[str, Any] = {"id": f"{LONG}{at}", "document_id": LONG, "text": "Wool.", **given}
    return Chunk(**fields)


def of_pages() -> str | None:
    hits = [
        chunk(at, document_id=f"{LONG}{at}", index=0, metadata={"page": f"{at}{LONG}", "source": f"{LONG}.pdf"})
        for at in range(2)
    ]
    return diagnose(hits, KEYS, {hit.document_id: [hit.id] for hit in hits})


MAKERS: dict[str, Callable[[], str | None]] = {
    "no index": lambda: diagnose([chunk(0), chunk(1)], KEYS, None),
    "keys of one's own": lambda: diagnose(
        [chunk(0, document_id=f"{LONG}0"), chunk(1), chunk(2)],
        MetadataKeys(index=LONG, document_id=LONG, source=LONG),
        {},
    ),
    "nothing found": lambda: diagnose([chunk(3, index=3)], KEYS, {}),
    "nothing linked": lambda: diagnose([chunk(0, next_id=LONG)], KEYS, {}),
    "not even the hit": lambda: diagnose([chunk(0, index=0), chunk(0, index=10**30, id="b")], KEYS, {}),
    "failed": lambda: diagnose([chunk(0, index=0)], KEYS, None, failure=("failed", LONG)),
    "failed, and no index": lambda: diagnose([chunk(0), chunk(1)], KEYS, None, failure=("failed", LONG)),
    "can't be asked": lambda: diagnose([chunk(0, index=0)], KEYS, None, failure=("method", LONG)),
    "pages": of_pages,
    "filter": lambda: unseen_filter_warning(SimpleNamespace(unscoped=(LONG, LONG)), "filter=..."),  # type: ignore[arg-type]
    "reason of the filter": lambda: unseen_filter_warning(SimpleNamespace(unscoped=()), "filter=...", LONG),  # type: ignore[arg-type]
    "window": lambda: window_warning(SimpleNamespace(model_name=LONG, profile={"max_input_tokens": 10}), 10**30),
    "cache": lambda: str(issued(lambda: Reach(hidden_reason=LONG).warn(WarnOnce(), "cache=None"))[0].message),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_warning_that_names_the_longest_values(name: str) -> None:
    message = MAKERS[name]()
    assert message is not None
    check(message)


# The calls


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.py")):
                yield path, ast.parse(path.read_text(encoding="utf-8"))


TREES = [*modules()]


def called(node: ast.AST | None) -> str:
    """The name of the function that is called, without what stands before the last dot."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def makers() -> set[str]:
    """The names of functions that return a message with a remedy, or None: their own or that of another one."""
    functions = [each for _, tree in TREES for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    returned = [
        (each.name, [node.value for node in ast.walk(each) if isinstance(node, ast.Return)]) for each in functions
    ]
    found = {"with_remedy"}
    for _ in range(3):  # each finds those that return what the last ones made
        found |= {
            name
            for name, values in returned
            if any(called(value) in found for value in values)
            and all(called(value) in found or is_none(value) for value in values)
        }
    return found


def is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def named(name: str, tree: ast.Module) -> list[ast.expr]:
    """All values that a module gives to `name`."""
    found = []
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.NamedExpr) else []
        )
        if isinstance(node, (ast.Assign, ast.NamedExpr)) and name in {getattr(each, "id", "") for each in targets}:
            found.append(node.value)
    return found


def is_message(given: ast.expr, tree: ast.Module, known: set[str]) -> bool:
    """True if `given` is made by one of the `known` functions: here, where it got its name, or a field of a trace."""
    if isinstance(given, ast.Name):
        values = named(given.id, tree)
        return bool(values) and all(is_message(value, tree, known) for value in values)
    if isinstance(given, ast.IfExp):
        return all(is_none(each) or is_message(each, tree, known) for each in (given.body, given.orelse))
    return called(given) in known or (isinstance(given, ast.Attribute) and given.attr == "missing")


def test_all_warnings_are_issued_by_one_module() -> None:
    found = {
        path
        for path, tree in TREES
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(name.name == "warnings" for name in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "warnings")
    }
    assert found == {Path(warn.__code__.co_filename)}


def test_each_is_given_a_message_with_a_remedy() -> None:
    known = makers()
    seen, others = 0, []
    for path, tree in TREES:
        if path == Path(warn.__code__.co_filename):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) in CALLS:
                seen += 1
                given = node.args[:2] if called(node) == "warn_about_neighbors" else node.args[:1]
                # `Reach.warn` makes its message itself: it is given where to warn, and the remedy.
                is_of_reach = len(node.args) > 1 and getattr(node.args[1], "id", "").lower() == "filter_remedy"
                if not is_of_reach and not all(is_message(each, tree, known) for each in given):
                    others.append(f"{path.name}:{node.lineno}")
    assert others == []
    assert seen >= 10
