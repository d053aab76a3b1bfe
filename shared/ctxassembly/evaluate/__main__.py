"""`python -m ctxassembly.evaluate questions.jsonl --store ...`: the table of `evaluate`, from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.errors import CtxAssemblyError, InputError
from ctxassembly.evaluate.folder import read_folder, split_texts
from ctxassembly.evaluate.report import EvaluationReport
from ctxassembly.evaluate.run import evaluate
from ctxassembly.retrieval.search import Question
from ctxassembly.runtime.assemble import assemble
from ctxassembly.runtime.retrieve import retrieve
from ctxassembly.stores.memory import MemoryIndex

PLAIN, OURS = "hits in order", "ctxassembly"
"""The systems compared: the hits one after the other, within the same budget, and the assembled context."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, print the table, and return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        report = _evaluate(given)
    except (CtxAssemblyError, OSError) as error:
        parser.error(str(error))
    if given.html:
        report.to_html(given.html)
    sys.stdout.write(f"{_as_json(report) if given.json else report}\n")
    return 1 if report.errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ctxassembly.evaluate",
        description="Compare the hits of a search, one after the other, with the context assembled of them.",
    )
    parser.add_argument("questions", help="a JSONL or CSV file of questions and the evidence that answers them")
    parser.add_argument(
        "--store", required=True, help="a folder of text and PDF files, or the URL of a database with a PostgresIndex"
    )
    parser.add_argument("--table", default="chunks", help="the table of the PostgresIndex (default: %(default)s)")
    parser.add_argument("--language", default="simple", help="its text search configuration (default: %(default)s)")
    parser.add_argument("--model", help="a sentence-transformers model for hybrid search; without it, keywords alone")
    parser.add_argument("--budget", type=int, default=8_000, help="tokens of a context (default: %(default)s)")
    parser.add_argument("--baseline", choices=(PLAIN, OURS), default=PLAIN, help="(default: %(default)s)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each question and system")
    return parser


def _evaluate(given: argparse.Namespace) -> EvaluationReport:
    model = _load_model(given.model) if given.model else None
    if "://" in given.store:
        index, corpus = _open_index(given.store, given.table, given.language), None
    else:
        corpus = read_folder(Path(given.store))
        chunks = split_texts(corpus)
        index = MemoryIndex(chunks, model.embed_documents([chunk.text for chunk in chunks]) if model else None)
    systems = {
        PLAIN: _system(index, model, AssemblyConfig(enabled=False, max_tokens=given.budget)),
        OURS: _system(index, model, AssemblyConfig(max_tokens=given.budget)),
    }
    return evaluate(given.questions, systems, corpus=corpus, baseline=given.baseline, budget=given.budget)


def _load_model(name: str) -> Any:
    from ctxassembly.stores.sentence_transformers import SentenceTransformerEmbeddings

    return SentenceTransformerEmbeddings(name)


def _open_index(url: str, table: str, language: str) -> Any:
    """Return the index over a table that there is. No table is created."""
    from ctxassembly.stores.postgres.index import PostgresIndex
    from ctxassembly.stores.postgres.maintenance import open_maintenance
    from ctxassembly.stores.postgres.migrate import make_server
    from ctxassembly.stores.postgres.table import describe_table

    with open_maintenance(make_server(url, 200, pickles_password=False), 10.0) as work:
        info = describe_table(work.connection, "public", table)
    dimensions = info.dimensions.get("embedding")
    if not info.exists or dimensions is None:
        raise InputError(f"table {table!r} isn't one that PostgresIndex.create made")
    return PostgresIndex.create(url, table, dimensions=dimensions, language=language)


def _system(index: Any, model: Any, config: AssemblyConfig) -> Callable[..., Context]:
    retrieval = RetrievalConfig(strategy="hybrid" if model else "keyword")

    def answer(question: str, filter: Any = None) -> Context:
        hits = retrieve(Question(question, filter=filter), retrieval, index=index, embed=model).hits
        return assemble(hits, config, query=question, store=index.with_filter(filter))

    return answer


def _as_json(report: EvaluationReport) -> str:
    """Return the rows as JSONL, without the contexts."""
    rows = (
        {
            "question_id": row.question_id,
            "system": row.system,
            **row.measures,
            **({"error": row.error} if row.error else {}),
        }
        for row in report.rows
    )
    return "\n".join(json.dumps(row) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
