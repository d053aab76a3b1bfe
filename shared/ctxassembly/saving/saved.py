"""A context as plain data, and back: for a graph's checkpoint, a cache or a queue, which take no classes of ours.

A context says many things of one chunk, whose text stands here once: `passages` holds all chunks, the candidates that
they were, and of each passage where its pieces are in those. Blocks are told by their place in the text, and both they
and the hits by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ctxassembly.data.assembled import Block, Citation, Passage, Source
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Fragment
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.data.pieces import Piece
from ctxassembly.data.trace import Trace
from ctxassembly.errors import InputError
from ctxassembly.saving.plain import plain, revived
from ctxassembly.shown import shown

if TYPE_CHECKING:
    from ctxassembly.data.assembled import Assembled

_VALUES = ("token_count", "query", "format", "language")


def saved(context: Assembled) -> dict[str, Any]:
    """`context` as plain data, by the names of its fields. Vectors stay behind, and so does a function that counts."""
    chunks: dict[tuple[Any, ...], tuple[int, Chunk]] = {}
    candidates: dict[int, tuple[int, list[Any]]] = {}

    def number(chunk: Chunk) -> int:
        # Copies of a chunk share what they don't change.
        key = (chunk.id, chunk.document_id, chunk.text, chunk.index, chunk.start, chunk.origin, id(chunk.metadata))
        return chunks.setdefault(key, (len(chunks), chunk))[0]

    def numbered(candidate: Candidate) -> int:
        if candidate.key not in candidates:
            values = [number(candidate.chunk), *(plain(value) for value in candidate[2:])]
            candidates[candidate.key] = (len(candidates), values)
        return candidates[candidate.key][0]

    passages = [
        {
            "document_id": plain(passage.document_id),
            "pieces": [[numbered(each.candidate), *(plain(value) for value in each[1:])] for each in passage.pieces],
            "span": list(passage.span),
        }
        for passage in context.passages
    ]
    hits = [[each.rank, number(each.chunk), plain(each.score), each.characters] for each in context.hits]
    places = {id(citation): place for place, citation in enumerate(context.citations)}
    return {
        "text": context.text,
        **{name: plain(getattr(context, name)) for name in _VALUES},
        "citations": plain(context.citations),
        "trace": plain(context.trace),
        "blocks": [{"span": list(each.span), "citation": places.get(id(each.citation))} for each in context.blocks],
        "provenance": plain(context.provenance),
        "passages": {
            "chunks": [_plain_chunk(chunk) for _, chunk in chunks.values()],
            "candidates": [values for _, values in candidates.values()],
            "passages": passages,
        },
        "keys": plain(context.keys),
        "hits": hits,
        "encoding": context.encoding if isinstance(context.encoding, str) else None,
    }


def restored(data: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a context's fields, of which `saved` gave `data`.

    Raises:
        InputError: it gave something else.
    """
    try:
        return _restored(data)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a context can be made again of what Context.to_dict() gave, got {shown(data)}") from error


def _restored(data: Mapping[str, Any]) -> dict[str, Any]:
    chunks = [revived(Chunk, each) for each in data["passages"]["chunks"]]
    candidates = [
        _candidate(key, chunks[number], *values) for key, (number, *values) in enumerate(data["passages"]["candidates"])
    ]
    text, citations = data["text"], revived(tuple[Citation, ...], data["citations"])
    return {
        "text": text,
        **{name: data[name] for name in (*_VALUES, "encoding")},
        "citations": citations,
        "trace": revived(Trace, data["trace"]),
        "blocks": tuple(
            Block(
                text[slice(*each["span"])],
                (each["span"][0], each["span"][1]),
                None if each["citation"] is None else citations[each["citation"]],
            )
            for each in data["blocks"]
        ),
        "provenance": revived(tuple[Source, ...], data["provenance"]),
        "passages": tuple(
            Passage(
                each["document_id"],
                tuple(Piece(candidates[number], *values) for number, *values in each["pieces"]),
                (each["span"][0], each["span"][1]),
            )
            for each in data["passages"]["passages"]
        ),
        "keys": revived(MetadataKeys, data["keys"]),
        "hits": tuple(Fragment(each[0], chunks[each[1]], *each[2:]) for each in data["hits"]),
    }


def _candidate(key: int, chunk: Chunk, *values: Any) -> Candidate:
    made = Candidate(key, chunk, *values)
    return made._replace(
        score=None if made.score is None else float(made.score),
        kept=None if made.kept is None else tuple((start, end) for start, end in made.kept),
    )


def _plain_chunk(chunk: Chunk) -> dict[str, Any]:
    return {each.name: plain(getattr(chunk, each.name)) for each in fields(chunk) if each.name != "vector"}
