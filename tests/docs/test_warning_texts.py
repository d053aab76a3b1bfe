"""Every warning of the three packages: a fact, its effect, and a call that exists; troubleshooting.md quotes the fact.

The texts are read from the source, so a new warning is checked without a word here.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import langchain.agents.middleware
import langchain_core.tools
import langchain_core.vectorstores
import langchain_text_splitters
import llama_index.core
import pytest

import ctxassembly
import ctxassembly.stores.postgres
import ctxassembly.stores.qdrant
import langchain_ctxassembly
import llamaindex_ctxassembly
from ctxassembly.assembly.expansion.diagnostics import ADVICE, Problem
from ctxassembly.user_warnings import MAX_FACT_CHARS

ROOT = Path(__file__).parents[2]
NAMESPACES = (
    ctxassembly,
    langchain_ctxassembly,
    llamaindex_ctxassembly,
    ctxassembly.stores.postgres,
    ctxassembly.stores.qdrant,
    langchain.agents.middleware,
    langchain_core.tools,
    langchain_text_splitters,
    llama_index.core,
)
VARIABLES: dict[str, Any] = {
    "chain": ctxassembly.AnswerChain,
    "index": ctxassembly.stores.postgres.PostgresIndex,
    "vectorstore": langchain_core.vectorstores.VectorStore,
}
COMMANDS = ("CREATE EXTENSION ", "GRANT SELECT ON ", "pip install ")
JARGON = re.compile(
    r"\b(stands?|told|tells?|mend\w*|anew|that of|beside|laid|handed|worth|otherwise than|hits?|neighbou?rs?|refs?|"
    r"candidates?|policy|recorder|degrade\w*|provenance)\b|\b_|__",
    re.IGNORECASE,
)


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    folders = ("shared/ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return tuple((path, ast.parse(path.read_text("utf-8"))) for path in paths)


def called(node: ast.AST | None) -> str:
    """The name of the function that is called, without the part before the last dot."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def texts(value: ast.expr, tree: ast.Module) -> list[str]:
    """The texts that an expression may have, with "{}" for each figure or name; none if they come from elsewhere."""
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in value.values)]
    if isinstance(value, ast.IfExp):
        return texts(value.body, tree) + texts(value.orelse, tree)
    if isinstance(value, ast.Dict):
        return [text for each in value.values for text in texts(each, tree)]
    if isinstance(value, ast.Call) and called(value) == "fromkeys":
        return texts(value.args[1], tree)
    if isinstance(value, ast.Name):
        return [text for node in ast.walk(tree) if value.id in names(node) for text in texts(node.value, tree)]
    return []


def names(node: ast.AST) -> set[str]:
    """The names to which an assignment gives its value."""
    if isinstance(node, ast.Assign):
        return {getattr(target, "id", "") for target in node.targets}
    return (
        {getattr(node.target, "id", "")} if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value else set()
    )


def collected() -> Iterator[tuple[str, str]]:
    """Each text that may be part of a warning, and which part it is."""
    for _, tree in trees():
        for node in ast.walk(tree):
            if called(node) in ("with_remedy", "describe_problem") and isinstance(node, ast.Call):
                kinds = ("fact", "effect", "call") if called(node) == "with_remedy" else ("problem", "fact", "call")
                for kind, value in zip(kinds, node.args, strict=False):
                    yield from ((kind, text) for text in texts(value, tree) if kind != "problem")
            elif names(node) & {"FILTER_CALL", "remedies"}:
                yield from (("call", text) for text in texts(node.value, tree))
            elif isinstance(node, ast.FunctionDef) and node.name == "remedies":
                returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
                yield from (("call", text) for value in returned for text in texts(value, tree))
    for effect, call in ADVICE.values():
        yield "effect", effect
        yield "call", call


TEXTS = sorted(set(collected()))
SENTENCES = [(kind, text) for kind, text in TEXTS if kind != "call"]
CALLS = [text for kind, text in TEXTS if kind == "call"]


def test_the_texts_are_found() -> None:
    assert len(SENTENCES) > 25
    assert len(CALLS) > 20
    assert set(ADVICE) == set(Problem.__args__)
    assert any("retrieved chunk" in text for _, text in SENTENCES)


@pytest.mark.parametrize(("kind", "text"), SENTENCES)
def test_a_fact_and_its_effect_are_each_one_plain_sentence(kind: str, text: str) -> None:
    assert len(text) < MAX_FACT_CHARS
    assert not text[0].islower()
    assert not text.endswith((".", ":", ","))
    assert ". " not in text
    assert "..." not in text
    assert not JARGON.search(text.replace("{}", "x"))


@pytest.mark.parametrize("text", CALLS)
def test_the_last_part_is_a_line_that_can_be_written(text: str) -> None:
    assert "..." not in text
    if text.startswith(COMMANDS):
        return
    for line in text.split(" or "):
        (statement,) = ast.parse(line.format("'key'") if "{!r}" in line else line).body
        assert isinstance(statement, (ast.Expr, ast.Assign))
        assert isinstance(statement.value, ast.Call)
        for call in ast.walk(statement):
            if isinstance(call, ast.Call):
                assert any(takes(function, call) for function in functions(call.func)), ast.unparse(call)


def functions(called: ast.expr) -> list[Any]:
    """The public functions or classes that `called` may be."""
    if isinstance(called, ast.Attribute):
        name = getattr(called.value, "id", "")
        owners = [VARIABLES[name]] if name in VARIABLES else functions(called.value)
        return [getattr(owner, called.attr) for owner in owners if hasattr(owner, called.attr)]
    return [getattr(module, called.id) for module in NAMESPACES if hasattr(module, getattr(called, "id", ""))]


def takes(function: Any, call: ast.Call) -> bool:
    """Return True if `function` has the keywords of `call`."""
    fields = getattr(function, "model_fields", None)
    parameters = {**dict.fromkeys(fields or ()), **inspect.signature(function).parameters}
    is_open = fields is None and any(each.kind is each.VAR_KEYWORD for each in parameters.values() if each)
    return is_open or all(keyword.arg in parameters for keyword in call.keywords)


def test_every_fact_is_in_the_page_on_troubleshooting() -> None:
    page = " ".join((ROOT / "docs/troubleshooting.md").read_text("utf-8").split())
    facts = [text for kind, text in SENTENCES if kind == "fact"]
    parts = [part.strip() for fact in facts for part in fact.split("{}") if " " in part.strip()]
    assert [part for part in parts if part not in page] == []


def test_each_warning_is_made_of_such_a_text() -> None:
    """A category is given the message of `with_remedy`, or what the trace has of one."""
    categories = {"UserWarning", "RuntimeWarning", "FilterNotSeenWarning", "NothingToJoinWarning"}
    others = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if called(node) in categories and isinstance(node, ast.Call):
                (given,) = node.args
                values = [given]
                if isinstance(given, ast.Name):
                    values = [each.value for each in ast.walk(tree) if given.id in names(each)]
                if not any(called(each) == "with_remedy" for each in values) and ast.unparse(given) != "trace.missing":
                    others.append(f"{path.name}:{node.lineno}")
    assert others == []
