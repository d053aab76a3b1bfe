"""The documents: the language reference that every CPython carries, split as one splits for retrieval."""

from __future__ import annotations

import pydoc_data.topics
from collections.abc import Iterable, Iterator

from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly.tokens.counter import load_encoding

ENCODING = "cl100k_base"
CHUNK_TOKENS = 350
OVERLAP_TOKENS = 70


def load_chunks() -> list[Document]:
    """All chunks, document by document, each with an id that follows from its place: `with#0`, `with#1`, ..."""
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_TOKENS,
        chunk_overlap=OVERLAP_TOKENS,
        length_function=count_tokens,
        strip_whitespace=False,  # else chunks lose the indentation of their first line
    )
    return [
        Document(
            id=f"{topic}#{index}",
            page_content=piece,
            metadata={
                "document_id": topic,
                "chunk_index": index,
                "start_index": start,
                "title": text.lstrip().partition("\n")[0],
                "source": f"{topic}.txt",
            },
        )
        for topic, text in sorted(pydoc_data.topics.topics.items())
        for index, (start, piece) in enumerate(located(text, splitter.split_text(text)))
    ]


def located(text: str, pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each piece with its character offset in `text`.

    The splitter's own `add_start_index` is no use here: it subtracts an overlap in tokens from an offset in characters.

    Raises:
        ValueError: a piece is not in `text` behind the start of the piece before it.
    """
    start = -1
    for piece in pieces:
        start = text.index(piece, start + 1)
        yield start, piece


def count_tokens(text: str) -> int:
    """Return the tokens of `text` in `ENCODING`."""
    return len(load_encoding(ENCODING).encode(text, disallowed_special=()))
