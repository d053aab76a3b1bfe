"""What the extras bring: without it the error names the extra, and with it alone the README's examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HIDE = """
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in MISSING else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Hiding(each) for each in sys.meta_path]
"""


def run(code: str, missing: set[str]) -> str:
    """What a Python prints in which `missing` are not installed."""
    whole = f"MISSING = {sorted(missing)!r}\n{HIDE}\n{code}"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "missing", "extra"),
    [
        ("from langchain_ctxassembly import ContextAssembler", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import ContextAssemblyRetriever", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import VectorStoreNeighbors", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import to_messages", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import ContextMiddleware", "langchain", "agents"),
        ("from langchain_ctxassembly import ContextMiddleware", "langgraph", "agents"),
        ("from langchain_ctxassembly import ContextChannel", "langgraph", "agents"),
        ("from langchain_ctxassembly import context_node", "langgraph", "agents"),
        ("from langchain_ctxassembly import context_tool", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import contexts_in", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "langchain_core", "langchain,postgres"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "langchain_postgres", "langchain,postgres"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "sqlalchemy", "langchain,postgres"),
        ("from langchain_ctxassembly import number_stored_chunks", "langchain_core", "langchain"),
        ("from llamaindex_ctxassembly import ContextAssemblyPostprocessor", "llama_index", "llamaindex"),
        ("from llamaindex_ctxassembly import DocstoreNeighbors", "llama_index", "llamaindex"),
        ("from llamaindex_ctxassembly import VectorStoreNeighbors", "llama_index", "llamaindex"),
        ("from llamaindex_ctxassembly import ContextAssembledEvent", "llama_index_instrumentation", "llamaindex"),
        ("from llamaindex_ctxassembly import to_messages", "llama_index", "llamaindex"),
        ("from llamaindex_ctxassembly import PGVectorNeighbors", "llama_index", "llamaindex,postgres"),
        ("from llamaindex_ctxassembly import PGVectorNeighbors", "sqlalchemy", "llamaindex,postgres"),
        ("from llamaindex_ctxassembly import number_stored_chunks", "llama_index", "llamaindex"),
        ("import ctxassembly.stores.postgres", "sqlalchemy", "postgres"),
        ("from ctxassembly import PostgresIndex", "sqlalchemy", "postgres"),
        ("from ctxassembly import PostgresIndex\nPostgresIndex.create('postgresql://h/d')", "psycopg", "postgres"),
        ("import ctxassembly.stores.postgres.connection", "sqlalchemy", "postgres"),
        ("import ctxassembly.stores.qdrant", "qdrant_client", "qdrant"),
        ("from ctxassembly import QdrantIndex", "qdrant_client", "qdrant"),
        ("from ctxassembly import TokenBudget\nTokenBudget.for_model('gpt-4o')", "genai_prices", "models"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(code: str, missing: str, extra: str):
    assert run(code, {missing}).endswith(f"pip install 'ctxassembly[{extra}]'")


def test_a_tool_and_the_contexts_of_messages_need_no_more_than_langchain_core():
    assert run("from langchain_ctxassembly import context_tool, contexts_in", {"langchain", "langgraph"}) == ""


def brought(extra: str) -> set[str]:
    """The distributions that `ctxassembly[extra]` installs."""
    found: set[tuple[str, str]] = set()
    waiting = [("ctxassembly", extra), ("ctxassembly", "")]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        try:
            requires = requirements(name)
        except PackageNotFoundError:
            continue
        for each in map(Requirement, requires):
            if each.marker is None or each.marker.evaluate({"extra": wanted}):
                waiting += [(canonicalize_name(each.name), one) for one in ("", *each.extras)]
    return {name for name, _ in found}


def requirements(name: str) -> list[str]:
    if name != "ctxassembly":
        return distribution(name).requires or []
    # What is installed may be older than what is written.
    written = (ROOT / "pyproject.toml").read_text("utf-8")
    section = written.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[(.*)\]$", section, re.MULTILINE)
    own = [
        Requirement(each) for each in re.findall(r'"([^"]+)"', written.partition("\ndependencies = ")[2].split("]")[0])
    ]
    listed = [str(each) for each in own]
    for extra, those in extras:
        for each in re.findall(r'"([^"]+)"', those):
            requirement = Requirement(each)
            condition = f'extra == "{extra}"'
            marker = f"({requirement.marker}) and {condition}" if requirement.marker else condition
            requirement.marker = None
            listed.append(f"{requirement}; {marker}")
    return listed


def readme(*fits: str) -> str:
    text = (ROOT / "README.md").read_text("utf-8")
    steps = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return "\n".join(each for each in steps if any(word in each for word in fits))


@pytest.mark.parametrize(
    ("extra", "fits"),
    [
        ("", ("from ctxassembly import",)),
        ("langchain", ("from ctxassembly import", "langchain_ctxassembly")),
        ("llamaindex", ("from ctxassembly import", "llamaindex_ctxassembly")),
    ],
)
def test_the_examples_run_with_the_extra_that_is_named(extra: str, fits: tuple[str, ...]):
    installed = brought(extra)
    missing = {
        module
        for module, names in packages_distributions().items()
        if not installed & {canonicalize_name(each) for each in names}
    } - {"ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly"}
    assert "pytest" in missing
    code = readme(*fits)
    if extra == "llamaindex":  # the settings of the examples before it
        code = code.replace("assembly = Context", "config = AssemblyConfig(neighbors='unfiltered')\nassembly = Context")
    assert "Error" not in (said := run(code, missing)), said
    assert "[1] Source: gastroscopy.pdf" in said


@pytest.mark.parametrize(
    ("package", "missing"),
    [
        ("ctxassembly", {"sqlalchemy"}),
        ("langchain_ctxassembly", {"langchain", "langgraph"}),
        ("langchain_ctxassembly", {"langchain_postgres", "psycopg", "sqlalchemy"}),
        ("llamaindex_ctxassembly", {"asyncpg", "psycopg", "pgvector"}),
    ],
)
def test_help_works_with_any_extra(package: str, missing: set[str]):
    """LlamaIndex's class for Postgres is a package of its own, below a name that others share."""
    assert run(f"import pydoc, {package}\nprint(len(pydoc.render_doc({package})) > 1_000)", missing) == "True\n"


def test_all_public_names_need_no_more_than_the_base_install():
    assert run("from ctxassembly import *", {"typing_extensions"}) == ""


def test_a_star_brings_no_name_that_needs_a_further_extra():
    code = "from langchain_ctxassembly import *\nprint('context_tool' in dir(), 'ContextMiddleware' in dir())"
    assert run(code, {"langgraph"}) == "True False\n"
