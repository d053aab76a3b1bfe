"""`python -m ctxassembly.evaluate questions.jsonl --store ...`: the table of `evaluate`, from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import CtxAssemblyError, InputError
from ctxassembly.evaluate.report import EvaluationReport
from ctxassembly.evaluate.run import evaluate
from ctxassembly.retrieval.search import Question
from ctxassembly.runtime.assemble import assemble
from ctxassembly.runtime.retrieve import retrieve
from ctxassembly.stores.memory import MemoryIndex
from ctxassembly.text.sentences import sentence_spans

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
        {"question_id": row.question_id, "system": row.system, **row.measures}
        | ({"error": row.error} if row.error else {})
        for row in report.rows
    )
    return "\n".join(map(json.dumps, rows))


TEXT_SUFFIXES = (".txt", ".md", ".rst")
CHUNK_CHARS = 1_000
"""The length that a chunk has at most, if it isn't a single longer sentence."""
_PAGE_BREAK = "\n\n"


def read_folder(folder: Path) -> dict[str, str]:
    """Return the texts of all text and PDF files in `folder` and below, by their paths in it.

    Raises:
        InputError: there is none, or a file can't be read.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (*TEXT_SUFFIXES, ".pdf"))
    texts = {path.relative_to(folder).as_posix(): _read(path) for path in files}
    if not any(text.strip() for text in texts.values()):
        raise InputError(f"{folder} has no text: expected files that end in {', '.join((*TEXT_SUFFIXES, '.pdf'))}")
    return texts


def _read(path: Path) -> str:
    if path.suffix.lower() != ".pdf":
        return path.read_text("utf-8", errors="replace")
    try:
        from pypdf import PdfReader
    except ModuleNotFoundError as error:
        raise InputError(f"{path.name}: reading PDF files needs pypdf: pip install pypdf") from error
    try:
        return _PAGE_BREAK.join(page.extract_text() for page in PdfReader(path).pages)
    except Exception as error:  # pypdf raises errors of many types
        raise InputError(f"{path.name} can't be read: {error}") from error


def split_texts(texts: Mapping[str, str]) -> list[Chunk]:
    """Return the chunks of all documents: as many whole sentences as have room in `CHUNK_CHARS`.

    >>> chunks = split_texts({"a.txt": "Drink water. " * 100})
    >>> [(chunk.id, chunk.index, chunk.start, len(chunk.text)) for chunk in chunks]
    [('a.txt#0', 0, 0, 987), ('a.txt#1', 1, 988, 311)]
    """
    return [chunk for name, text in texts.items() for chunk in _split(name, text)]


def _split(name: str, text: str) -> Iterator[Chunk]:
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and end - spans[-1][0] <= CHUNK_CHARS:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    with_text = ((start, end) for start, end in spans if text[start:end].strip())
    for at, (start, end) in enumerate(with_text):
        begin = end - len(text[start:end].lstrip())
        yield Chunk(f"{name}#{at}", name, text[begin:end].rstrip(), at, begin, metadata={"source": name})


if __name__ == "__main__":
    sys.exit(main())
