"""Recall of evidence at some depths, each way of retrieving on its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quality.data import Question, QuestionSet, Span
from recall.exact import Vectors
from recall.systems import System

DEPTHS = (5, 10, 20)
Embed = Callable[[Sequence[str]], Vectors]


class Row(NamedTuple):
    """What a system finds in a set."""

    system: str
    recall: tuple[float, ...]
    """At each of `DEPTHS`: the share of the evidence's characters in the chunks, as a mean over the questions."""
    milliseconds: float
    """For a question, the mean."""


def embedded(questions: QuestionSet, embed: Embed, folder: Path) -> tuple[Vectors, Vectors]:
    """The vectors of the chunks and of the questions, kept in `folder` by the set's digest."""
    path = folder / f"{questions.name}-{questions.digest}.npz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        chunks = embed([chunk.text for chunk in questions.chunks.values()])
        asked = embed([question.text for question in questions.questions])
        np.savez(path, chunks=chunks, asked=asked)
    with np.load(path) as kept:
        return kept["chunks"], kept["asked"]


def measured(questions: QuestionSet, asked: Vectors, systems: Mapping[str, System]) -> list[Row]:
    """A row for each system."""
    rows = []
    for name, system in systems.items():
        found: list[list[float]] = []
        began = time.perf_counter()
        answers = [system(each.text, vector) for each, vector in zip(questions.questions, asked, strict=True)]
        elapsed = (time.perf_counter() - began) * 1000 / max(len(answers), 1)
        for question, ids in zip(questions.questions, answers, strict=True):
            found.append([_recall(questions, question, ids[:depth]) for depth in DEPTHS])
        rows.append(Row(name, tuple(float(mean) for mean in np.mean(found, axis=0)), elapsed))
    return rows


def _recall(questions: QuestionSet, question: Question, ids: Sequence[str]) -> float:
    chunks = [questions.chunks[id_] for id_ in ids]
    runs = [Span(one.document_id, one.start or 0, (one.start or 0) + len(one.text)) for one in chunks]
    return questions.corpus.meter.recall(question.evidence, runs)


def table(name: str, rows: Sequence[Row]) -> str:
    """The rows as a table of Markdown."""
    head = f"| {name} | {' | '.join(map(str, DEPTHS))} | ms |"
    lines = [
        f"| {row.system} | {' | '.join(f'{each:.3f}' for each in row.recall)} | {row.milliseconds:.1f} |"
        for row in rows
    ]
    return "\n".join((head, f"|---|{'---|' * len(DEPTHS)}---|", *lines))
