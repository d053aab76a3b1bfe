"""What is measured: hits on real text, cut by tokens as splitters cut it, and the store that holds their neighbors.

Scenario S is 20 hits of 350 tokens (70 of them overlap) from 6 documents; with a window of 1 that is about 49 chunks,
of which about half fit a budget of 8,000 tokens. More hits come from proportionally more documents.
The text is the Python documentation that ships with the interpreter, unless another kind of `texts` is named: its
paragraphs, shuffled and dealt to the documents one after the other, so that up to some 25 of them share nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxassembly import Chunk, ChunkRef, Hit
from ctxassembly.tokens.counter import load_encoding
from texts import MANUAL, Kind

ENCODING = "cl100k_base"
BUDGET = 8_000
CHUNKS_A_DOCUMENT = 16
"""So that 20 hits from 6 documents bring about 29 neighbors."""
QUERY_TOKENS = 12
SEED = 20
QUERY = "How does a with statement call __exit__ when an exception is raised?"
OTHER_QUERY = "Which operators of a class are looked up on its metaclass?"


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
    query: str
    other_query: str


def scenario(hits: int = 20, seed: int = SEED, kind: Kind = MANUAL) -> Scenario:
    """`hits` hits, best first, with scores, pages and no offsets: the overlap must be searched for."""
    draw = random.Random(seed)
    documents = max(1, hits * 6 // 20)
    paragraphs = kind.paragraphs(draw)
    chunks: dict[tuple[str, int], Chunk] = {}
    starts: dict[str, int] = {}
    for number in range(documents):
        for index, (chunk, start) in enumerate(_document(f"doc-{number:04}", kind, paragraphs)):
            chunks[chunk.document_id, index] = chunk
            starts[chunk.id] = start
    found = draw.sample(list(chunks.values()), hits)
    ranked = tuple(Hit(chunk, 0.95 - 0.6 * rank / hits) for rank, chunk in enumerate(found))
    asked = (QUERY, OTHER_QUERY) if kind is MANUAL else (_middle(found[0].text), _middle(found[-1].text))
    return Scenario(ranked, PlaceStore(chunks), starts, *asked)


def _document(document_id: str, kind: Kind, paragraphs: Iterator[str]) -> Iterator[tuple[Chunk, int]]:
    """The chunks of a document, each with where it begins."""
    encoding = load_encoding(ENCODING)
    step = kind.chunk_tokens - kind.overlap_tokens
    tokens: list[int] = []
    while len(tokens) < CHUNKS_A_DOCUMENT * step + kind.overlap_tokens:
        tokens += encoding.encode_ordinary(next(paragraphs))
    text, starts = encoding.decode_with_offsets(tokens)
    starts.append(len(text))
    for index in range(CHUNKS_A_DOCUMENT):
        start, end = starts[index * step], starts[index * step + kind.chunk_tokens]
        metadata = {"source": f"{document_id}.rst", "page": 1 + index // 2}
        yield Chunk(f"{document_id}-{index}", document_id, text[start:end], index, metadata=metadata), start


def _middle(text: str) -> str:
    """A question about a chunk: the words in its middle."""
    encoding = load_encoding(ENCODING)
    tokens = encoding.encode_ordinary(text)
    words = encoding.decode(tokens[len(tokens) // 2 :][:QUERY_TOKENS])
    return " ".join(words.replace("\ufffd", "").split())
