"""`python -m ctxassembly.evaluate questions.jsonl --store documents/`: the table of `evaluate`, on the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
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
from ctxassembly.safe_repr import join_first, pluralize
from ctxassembly.stores.memory import MemoryIndex
from ctxassembly.text.sentences import sentence_spans

TEXT_SUFFIXES = (".txt", ".md", ".rst")
CHUNK_CHARS = 1_000
"""The length that a chunk has at most, if it isn't a single longer sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ctxassembly.evaluate",
        description="Compare the hits of a search, one after the other, with the context assembled of them.",
    )
    parser.add_argument("questions", help="a JSONL file of questions and the evidence that answers them")
    parser.add_argument("--store", required=True, type=Path, help="a folder of text files")
    parser.add_argument("--model", help="a sentence-transformers model for hybrid search; without it, keywords alone")
    parser.add_argument("--budget", type=int, default=8_000, help="tokens of a context (default: %(default)s)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report as a page, too")
    given = parser.parse_args(arguments)
    page = given.html
    if page and (page.is_dir() or not os.access(page if page.exists() else page.parent, os.W_OK)):
        parser.error(f"--html must be a file that can be written, in a folder that exists, got {page}")
    try:
        report = _evaluate(given)
    except (CtxAssemblyError, OSError) as error:
        parser.error(str(error))
    if page:
        report.to_html(page)
    sys.stdout.write(f"{report}\n")
    return 1 if report.errors else 0


def _evaluate(given: argparse.Namespace) -> EvaluationReport:
    corpus = read_folder(given.store)
    chunks = [chunk for name, text in corpus.items() for chunk in split_text(name, text)]
    model = None
    if given.model:
        from ctxassembly.stores.sentence_transformers import SentenceTransformerEmbeddings

        model = SentenceTransformerEmbeddings(given.model)
    index = MemoryIndex(chunks, model.embed_documents([chunk.text for chunk in chunks]) if model else None)
    systems = {
        "hits in order": _system(index, model, AssemblyConfig(enabled=False, max_tokens=given.budget)),
        "ctxassembly": _system(index, model, AssemblyConfig(max_tokens=given.budget)),
    }
    report = evaluate(given.questions, systems, corpus=corpus)
    files = sorted(path for path in given.store.rglob("*") if path.is_file())
    skipped = [name for path in files if (name := path.relative_to(given.store).as_posix()) not in corpus]
    note = f"{pluralize(len(skipped), 'file')} skipped, not {', '.join(TEXT_SUFFIXES)}: {join_first(skipped, 5)}"
    return replace(report, notes=(*report.notes, note)) if skipped else report


def _system(index: MemoryIndex, model: Any, config: AssemblyConfig) -> Callable[..., Context]:
    retrieval = RetrievalConfig(strategy="hybrid" if model else "keyword")

    def answer(question: str, filter: Any = None) -> Context:
        hits = retrieve(Question(question, filter=filter), retrieval, index=index, embed=model).hits
        return assemble(hits, config, query=question, store=index.with_filter(filter))

    return answer


def read_folder(folder: Path) -> dict[str, str]:
    """Return the texts of all text files in `folder` and below, by their paths in it.

    Raises:
        InputError: there is none.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in TEXT_SUFFIXES)
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8", errors="replace") for path in files}
    if not any(text.strip() for text in texts.values()):
        raise InputError(f"{folder} has no text: expected files that end in {', '.join(TEXT_SUFFIXES)}")
    return texts


def split_text(name: str, text: str) -> Iterator[Chunk]:
    """Yield the chunks of a document: as many whole sentences as have room in `CHUNK_CHARS`.

    >>> chunks = split_text("a.txt", "Drink water. " * 100)
    >>> [(chunk.id, chunk.index, chunk.start, len(chunk.text)) for chunk in chunks]
    [('a.txt#0', 0, 0, 987), ('a.txt#1', 1, 988, 311)]
    """
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
