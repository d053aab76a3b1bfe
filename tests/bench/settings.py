"""What settings of an assembly bring, one at a time: `python tests/bench/settings.py sets/chroma --every 4`.

Each question has the hits that come with the set. Printed are the recall of the evidence, its mean over the sets, and
the tokens of a context.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from ctxassembly.evaluate import evaluate
from quality.data import QuestionSet, read

CHUNKS = {"granularity": "chunk"}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "enabled=False": {"enabled": False},
    "candidate_window=1": {"candidate_window": 1},
    "dedup_sentences=False": {"dedup_sentences": False},
    "header_keys of two lines": {"header_keys": ("title", "set")},
    'granularity="chunk"': CHUNKS,
    'chunk, rank_by="rank"': {**CHUNKS, "rank_by": "rank"},
    'chunk, compress="extractive"': {**CHUNKS, "compress": "extractive"},
}


def measure(questions: QuestionSet, settings: Mapping[str, Any], tokens: int, every: int) -> tuple[float, float]:
    """Return the mean recall and the mean tokens of the contexts of one in `every` question."""
    asked = questions.questions[::every]
    hits = {question.id: question.hits for question in asked}
    # A second line for `header_keys`.
    chunks = {
        key: replace(chunk, metadata={**chunk.metadata, "set": questions.name})
        for key, chunk in questions.chunks.items()
    }
    store = MemoryStore(chunks.values())
    config = AssemblyConfig(max_tokens=tokens, neighbors="unfiltered", **settings)

    def ask(text: str, filter: str) -> Context:  # noqa: A002 - as `evaluate` passes it
        own = [replace(hit, chunk=chunks[hit.chunk.id]) for hit in hits[filter]]
        return assemble(own, config, query=text, store=store)

    labeled = [question.labeled for question in asked]
    report = evaluate(labeled, {"ours": ask}, corpus=questions.corpus, workers=1, progress=False)
    if report.errors:
        raise RuntimeError(str(report.errors[0]))
    recall = [value for value in report.values("ours", "recall") if not math.isnan(value)]
    return fmean(recall), fmean(report.values("ours", "tokens"))


def _named(chunk: Chunk, name: str) -> Chunk:
    """Return the chunk with the name of its set as metadata: a second line for `header_keys`."""
    return replace(chunk, metadata={**chunk.metadata, "set": name})


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="question sets, as `make bench` reads them")
    parser.add_argument("--tokens", type=int, default=2_000)
    parser.add_argument("--every", type=int, default=1, help="one in so many questions")
    options = parser.parse_args(arguments)
    write = sys.stdout.write
    sets = [read(folder) for folder in options.folders]
    write(f"| setting | {' | '.join(one.name for one in sets)} | recall | tokens |\n")
    write(f"|---|{'---|' * len(sets)}---|---|\n")
    for name, settings in VARIANTS.items():
        found = [*map(partial(measure, settings=settings, tokens=options.tokens, every=options.every), sets)]
        recalls = [recall for recall, _ in found]
        cells = [f"{recall:.3f}" for recall in (*recalls, fmean(recalls))]
        write(f"| {name} | {' | '.join(cells)} | {fmean(tokens for _, tokens in found):,.0f} |\n")


if __name__ == "__main__":
    main()
