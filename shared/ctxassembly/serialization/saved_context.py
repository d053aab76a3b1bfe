"""A context as plain data, and back: for a checkpoint, a cache or a queue, which take none of our classes.

Many parts of a context refer to one chunk, and each chunk is written once. `passages` has the chunks, then the
candidates (each with the number of its chunk), then the passages (whose pieces have the numbers of their candidates).
Hits name their chunks by number too, and blocks their citations. The text of a block is its span of the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ctxassembly.data.candidates import Candidate, Piece
from ctxassembly.data.chunks import Chunk, Fragment, Span
from ctxassembly.data.citations import Block, Citation, Passage, Source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.trace import Trace
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from ctxassembly.serialization.plain import plain, revived
from ctxassembly.tokens.tiktoken_files import is_encoding
from ctxassembly.wording.languages import language_of

if TYPE_CHECKING:
    from ctxassembly.data.citations import Assembled

_VALUES: dict[str, Any] = {
    "token_count": int,
    "query": str | None,
    "format": str,
    "language": str,
    "encoding": str | None,
}


def saved(context: Assembled) -> dict[str, Any]:
    """`context` as plain data, by the names of its fields, without vectors and without a counting function."""
    chunks: dict[tuple[Any, ...], tuple[int, Chunk]] = {}
    candidates: dict[int, tuple[int, list[Any]]] = {}

    def number(chunk: Chunk) -> int:
        # Copies of a chunk share their metadata, so its identity is as good as its value, and faster.
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
            "pieces": [[numbered(piece.candidate), *(plain(value) for value in piece[1:])] for piece in passage.pieces],
            "span": list(passage.span),
        }
        for passage in context.passages
    ]
    hits = [[hit.rank, number(hit.chunk), plain(hit.score), hit.characters] for hit in context.hits]
    places = {id(citation): place for place, citation in enumerate(context.citations)}
    return {
        "text": context.text,
        **{name: plain(getattr(context, name)) for name in _VALUES if name != "encoding"},
        "citations": plain(context.citations),
        "trace": plain(context.trace),
        "blocks": [{"span": list(block.span), "citation": places.get(id(block.citation))} for block in context.blocks],
        "provenance": plain(context.provenance),
        "passages": {
            "chunks": [_plain_chunk(chunk) for _, chunk in chunks.values()],
            "candidates": [values for _, values in candidates.values()],
            "passages": passages,
        },
        "keys": plain(context.keys),
        "hits": hits,
        "sanitized": context.sanitized,
        "encoding": context.encoding if isinstance(context.encoding, str) else None,
    }


def restored(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the context that `saved` turned into `data`, by name.

    Raises:
        InputError: `data` doesn't come from `saved`.
    """
    try:
        return _restored(data)
    except Exception as error:  # broken data can raise anything: OverflowError, RecursionError, errors of a mapping
        raise InputError(f"a context can be made again of what Context.to_dict() gave, got {shown(data)}") from error


def _restored(data: Mapping[str, Any]) -> dict[str, Any]:
    parts = data["passages"]
    chunks = [_described(Chunk, chunk) for chunk in parts["chunks"]]
    candidates = [
        revived(Candidate, [key, _at(chunks, number), *values])
        for key, (number, *values) in enumerate(parts["candidates"])
    ]
    text, citations = revived(str, data["text"]), tuple(_described(Citation, one) for one in data["citations"])
    hits = ((rank, _at(chunks, number), *values) for rank, number, *values in data["hits"])
    made = {
        "text": text,
        **{name: revived(kind, data[name]) for name, kind in _VALUES.items()},
        "citations": citations,
        "trace": revived(Trace, data["trace"]),
        "blocks": tuple(_block(text, block, citations) for block in data["blocks"]),
        "provenance": revived(tuple[Source, ...], data["provenance"]),
        "passages": tuple(_passage(passage, candidates) for passage in parts["passages"]),
        "keys": revived(MetadataKeys, data["keys"]),
        "hits": revived(tuple[Fragment, ...], [*hits]),
        "sanitized": revived(bool, data.get("sanitized", False)),
    }
    # What is read later by a name has to be one.
    language_of(made["language"])
    if made["encoding"] is not None and not is_encoding(made["encoding"]):
        raise ValueError("an encoding of tiktoken's expected")
    for citation in citations:
        int(citation.label)
    return made


def _described(kind: Any, data: Mapping[str, Any]) -> Any:
    """The chunk or citation of `data`. Its metadata have an end, as those that `plain` wrote do."""
    return revived(kind, {**data, "metadata": plain(dict(data["metadata"]))})


def _block(text: str, block: Mapping[str, Any], citations: Sequence[Citation]) -> Block:
    span, place = revived(Span, block["span"]), block["citation"]
    return Block(text[slice(*span)], span, None if place is None else _at(citations, place))


def _passage(passage: Mapping[str, Any], candidates: Sequence[Candidate]) -> Passage:
    pieces = tuple(revived(Piece, [_at(candidates, number), *values]) for number, *values in passage["pieces"])
    if not pieces:
        raise ValueError("a passage has a piece at least")
    return Passage(revived(str, passage["document_id"]), pieces, revived(Span, passage["span"]))


def _at(items: Sequence[Any], place: Any) -> Any:
    """The item at `place`, which counts from 0.

    Raises:
        IndexError: there is none.
    """
    if type(place) is not int or place < 0:
        raise IndexError(place)
    return items[place]


def _plain_chunk(chunk: Chunk) -> dict[str, Any]:
    return {field.name: plain(getattr(chunk, field.name)) for field in fields(chunk) if field.name != "vector"}
