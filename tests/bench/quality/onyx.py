"""Onyx's merging of sections, re-implemented from its description.

Each hit is a section with one chunk on each side; sections that touch are one. In the order of their best hits they are
taken until the token limit, and the one that crosses it is cut. Then each document becomes one text: chunks in order, a
line break between adjacent ones and an ellipsis between others. Nothing is counted afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ctxassembly import Chunk
from ctxassembly.tokens.tiktoken_files import load_encoding
from quality.data import QuestionSet, Span
from quality.filling import ENCODING, SEPARATOR, Answer, Case, Fill, Strategy, count

ADJACENT, APART = "\n", "\n\n...\n\n"
Part = tuple[Chunk, str]
"""A chunk and as much of its text as there is room for."""


def merged(questions: QuestionSet) -> Strategy:
    def strategy(case: Case) -> Fill:
        sections = _sections(questions, [hit.chunk for hit in case.hits])

        def fill(budget: int) -> Answer:
            by_document: dict[str, list[Part]] = {}
            for chunk, text in _taken(sections, budget):
                by_document.setdefault(chunk.document_id, []).append((chunk, text))
            texts = [_document_text(parts) for parts in by_document.values()]
            runs = tuple(
                Span(document_id, chunk.start or 0, (chunk.start or 0) + len(text))
                for document_id, parts in by_document.items()
                for chunk, text in sorted(parts, key=_index)
            )
            return Answer(SEPARATOR.join(texts), runs)

        return fill

    return strategy


def _sections(questions: QuestionSet, hits: Sequence[Chunk]) -> list[list[Chunk]]:
    """Contiguous chunks, best section first."""
    ranks: dict[tuple[str, int], int] = {}
    for rank, hit in enumerate(hits):
        for chunk in questions.around(hit, 1):
            ranks.setdefault((chunk.document_id, chunk.index or 0), rank)
    # In a contiguous stretch the index less its position is the same.
    places = enumerate(sorted(ranks))
    stretches = groupby(places, key=lambda each: (each[1][0], each[1][1] - each[0]))
    found = [[place for _, place in stretch] for _, stretch in stretches]
    found.sort(key=lambda section: min(ranks[place] for place in section))
    return [[questions.places[place] for place in section] for section in found]


def _taken(sections: Sequence[Sequence[Chunk]], budget: int) -> list[Part]:
    """What of the sections the limit leaves; only the last one may be cut."""
    encoding = load_encoding(ENCODING)
    taken: list[Part] = []
    for section in sections:
        for chunk in section:
            tokens = count(chunk.text)
            if tokens > budget:
                cut = encoding.decode(encoding.encode_ordinary(chunk.text)[:budget]).rstrip("\ufffd")
                return [*taken, (chunk, cut)] if cut else taken
            taken.append((chunk, chunk.text))
            budget -= tokens
    return taken


def _document_text(parts: Sequence[Part]) -> str:
    text, before = "", None
    for chunk, part in sorted(parts, key=_index):
        glue = "" if before is None else ADJACENT if _index((chunk, part)) == before + 1 else APART
        text, before = text + glue + part, _index((chunk, part))
    return text


def _index(part: Part) -> int:
    return part[0].index or 0
