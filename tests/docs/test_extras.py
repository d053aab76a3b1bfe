"""What the extras bring: without it the error names the extra, and with it alone the README's examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
        ("from langchain_ctxassembly import ContextMiddleware", "langchain", "agents"),
        ("from langchain_ctxassembly import ContextMiddleware", "langgraph", "agents"),
        ("from langchain_ctxassembly import context_node", "langgraph", "agents"),
        ("from langchain_ctxassembly import context_tool", "langchain_core", "langchain"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "langchain_core", "langchain,postgres"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "langchain_postgres", "langchain,postgres"),
        ("from langchain_ctxassembly import PGVectorNeighbors", "sqlalchemy", "langchain,postgres"),
        ("from llamaindex_ctxassembly import ContextAssemblyPostprocessor", "llama_index", "llamaindex"),
        ("from llamaindex_ctxassembly import ContextAssembledEvent", "llama_index_instrumentation", "llamaindex"),
        ("from llamaindex_ctxassembly import PGVectorNeighbors", "llama_index", "llamaindex,postgres"),
        ("from llamaindex_ctxassembly import PGVectorNeighbors", "sqlalchemy", "llamaindex,postgres"),
        ("import ctxassembly.stores.postgres", "sqlalchemy", "postgres"),
        ("from ctxassembly import PostgresIndex", "sqlalchemy", "postgres"),
        ("from ctxassembly import PostgresIndex\nPostgresIndex.create('postgresql://h/d')", "psycopg", "postgres"),
        ("import ctxassembly.stores.qdrant", "qdrant_client", "qdrant"),
        ("from ctxassembly import QdrantIndex", "qdrant_client", "qdrant"),
        ("from ctxassembly import TokenBudget\nTokenBudget.for_model('gpt-4o')", "genai_prices", "models"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(code: str, missing: str, extra: str):
    assert run(code, {missing}).endswith(f"pip install 'ctxassembly[{extra}]'")


def test_a_tool_and_the_contexts_of_messages_need_no_more_than_langchain_core():
    assert run("from langchain_ctxassembly import context_tool, contexts_in", {"langchain", "langgraph"}) == ""


def readme(*fits: str) -> str:
    text = (ROOT / "README.md").read_text("utf-8")
    steps = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return "\n".join(each for each in steps if any(word in each for word in fits))


OTHERS = {"langgraph", "langchain_postgres", "psycopg", "qdrant_client", "rich", "sentence_transformers"}
"""Packages that no example of the README needs."""
FRAMEWORKS = {"langchain": {"langchain", "langchain_core"}, "llamaindex": {"llama_index"}}


@pytest.mark.parametrize("extra", ["", *FRAMEWORKS])
def test_the_examples_run_with_the_extra_that_is_named(extra: str):
    missing = OTHERS.union(*(names for name, names in FRAMEWORKS.items() if name != extra))
    code = readme("from ctxassembly import", *([f"{extra}_ctxassembly"] if extra else []))
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
