"""What is measured: hits on real text, cut by tokens as splitters cut it, and the store that holds their neighbors.

Scenario S is 20 hits of 350 tokens (70 of them overlap) from 6 documents; with a window of 1 that is about 49 chunks,
of which about half fit a budget of 8,000 tokens. More hits come from proportionally more documents.
The text is the Python documentation that ships with the interpreter: its paragraphs, shuffled and dealt to the
documents one after the other, so that up to some 25 of them share nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pydoc_data.topics import topics

from ctxassembly import Chunk, ChunkRef, Hit
from ctxassembly.tokens.tiktoken_files import load_encoding

ENCODING = "cl100k_base"
BUDGET = 8_000
CHUNK_TOKENS = 350
OVERLAP_TOKENS = 70
CHUNKS_A_DOCUMENT = 16
"""So that 20 hits from 6 documents bring about 29 neighbors."""
SEED = 20


@dataclass(frozen=True)
class PlaceStore:
    """A store whose look-up costs next to nothing, so that the assembly is what is measured."""

    chunks: dict[tuple[str, int], Chunk]

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        return [self.chunks[place] for ref in refs if (place := (ref.document_id, ref.index or 0)) in self.chunks]


@dataclass(frozen=True)
class Scenario:
    hits: tuple[Hit, ...]
    store: PlaceStore
    starts: Mapping[str, int]
    """Where each chunk begins in its document, by its id: the chunks themselves don't know."""


def scenario(hits: int = 20, seed: int = SEED) -> Scenario:
    """`hits` hits, best first, with scores, pages and no offsets: the overlap must be searched for."""
    draw = random.Random(seed)
    documents = max(1, hits * 6 // 20)
    dealt = _dealt(draw)
    chunks: dict[tuple[str, int], Chunk] = {}
    starts: dict[str, int] = {}
    for number in range(documents):
        start = 0
        for index, (chunk, step) in enumerate(_document(f"doc-{number:04}", dealt)):
            chunks[chunk.document_id, index] = chunk
            starts[chunk.id] = start
            start += step
    found = draw.sample(list(chunks.values()), hits)
    ranked = tuple(Hit(chunk, 0.95 - 0.6 * rank / hits) for rank, chunk in enumerate(found))
    return Scenario(ranked, PlaceStore(chunks), starts)


def _dealt(draw: random.Random) -> Iterator[list[int]]:
    """The paragraphs in no order, and anew when all are dealt."""
    while True:
        yield from draw.sample(_paragraphs(), len(_paragraphs()))


def _document(document_id: str, dealt: Iterator[list[int]]) -> list[tuple[Chunk, int]]:
    """The chunks of a document, each with its characters before the next one begins."""
    decode = load_encoding(ENCODING).decode
    step = CHUNK_TOKENS - OVERLAP_TOKENS
    tokens: list[int] = []
    while len(tokens) < CHUNKS_A_DOCUMENT * step + OVERLAP_TOKENS:
        tokens += next(dealt)
    return [
        (
            Chunk(
                id=f"{document_id}-{index}",
                document_id=document_id,
                text=decode(tokens[index * step : index * step + CHUNK_TOKENS]),
                index=index,
                metadata={"source": f"{document_id}.rst", "page": 1 + index // 2},
            ),
            len(decode(tokens[index * step : (index + 1) * step])),
        )
        for index in range(CHUNKS_A_DOCUMENT)
    ]


@cache
def _paragraphs() -> list[list[int]]:
    """Those of the documentation, each once, as its tokens. Footnotes look like labels and would be escaped."""
    encode = load_encoding(ENCODING).encode_ordinary
    paragraphs = dict.fromkeys(paragraph for name in sorted(topics) for paragraph in topics[name].split("\n\n"))
    return [encode(f"{paragraph}\n\n") for paragraph in paragraphs if not paragraph.startswith("[")]
