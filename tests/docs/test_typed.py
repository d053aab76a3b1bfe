"""Public calls as type checkers see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIGURABLE = """
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, Runnable
from typing_extensions import assert_type

from ctxassembly import Context
from langchain_ctxassembly import ContextAssembler

fields = ContextAssembler().configurable_fields(filter=ConfigurableField(id="filter"))
assert_type(fields.as_context(), Runnable[Any, Context])
assert_type(fields.invoke([]), list[Document])
more = fields.configurable_fields(conversation=ConfigurableField(id="conversation"))
assert_type(more.as_context(), Runnable[Any, Context])
which = ConfigurableField(id="which")
other = ContextAssembler().configurable_alternatives(which, minimal=ContextAssembler())
assert_type(other.as_context(), Runnable[Any, Context])
both = fields.configurable_alternatives(which, minimal=ContextAssembler())
assert_type(both.as_context(), Runnable[Any, Context])
"""


def test_a_configurable_assembler_gives_a_context(tmp_path: Path):
    """Both to mypy and at run time. Pyright reads the same lines without an error."""
    written = tmp_path / "typed.py"
    written.write_text(CONFIGURABLE, "utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", str(written)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (checked.stdout, checked.returncode) == ("Success: no issues found in 1 source file\n", 0)
    exec(CONFIGURABLE, {})
