"""A context as plain data, and back: for a checkpoint, a cache or a queue, which take none of our classes.

Many parts of a context refer to one chunk, and each chunk is written once. `passages` has the chunks, then the
candidates (each with the number of its chunk), then the passages (whose pieces have the numbers of their candidates).
Hits name their chunks by number too, and blocks their citations. The text of a block is its span of the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ctxassembly.data.candidates import Candidate, TextPiece
from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.citations import Block, Citation, Passage, Source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.trace import Trace
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization.plain import from_plain, to_plain
from ctxassembly.tokens.tiktoken_files import is_encoding
from ctxassembly.wording.languages import language_of

if TYPE_CHECKING:
    from ctxassembly.data.citations import ContextData

_SIMPLE_FIELDS: dict[str, Any] = {
    "token_count": int,
    "query": str | None,
    "format": str,
    "language": str,
    "encoding": str | None,
}


def dump_context(context: ContextData) -> dict[str, Any]:
    """Return `context` as plain data, by the names of its fields, without vectors and counting function."""
    chunks: dict[tuple[Any, ...], tuple[int, Chunk]] = {}
    candidates: dict[int, tuple[int, list[Any]]] = {}

    def chunk_number(chunk: Chunk) -> int:
        # Copies of a chunk share their metadata, so its identity is as good as its value, and faster.
        key = (chunk.id, chunk.document_id, chunk.text, chunk.index, chunk.start, chunk.origin, id(chunk.metadata))
        return chunks.setdefault(key, (len(chunks), chunk))[0]

    def candidate_number(candidate: Candidate) -> int:
        if candidate.key not in candidates:
            values = [chunk_number(candidate.chunk), *(to_plain(value) for value in candidate[2:])]
            candidates[candidate.key] = (len(candidates), values)
        return candidates[candidate.key][0]

    passages = [
        {
            "document_id": to_plain(passage.document_id),
            "pieces": [
                [candidate_number(piece.candidate), *(to_plain(value) for value in piece[1:])]
                for piece in passage.pieces
            ],
            "span": list(passage.span),
        }
        for passage in context.passages
    ]
    hits = [[hit.rank, chunk_number(hit.chunk), to_plain(hit.score), hit.characters] for hit in context.hits]
    citation_numbers = {id(citation): place for place, citation in enumerate(context.citations)}
    return {
        "text": context.text,
        **{name: to_plain(getattr(context, name)) for name in _SIMPLE_FIELDS if name != "encoding"},
        "citations": to_plain(context.citations),
        "trace": to_plain(context.trace),
        "blocks": [
            {"span": list(block.span), "citation": citation_numbers.get(id(block.citation))} for block in context.blocks
        ],
        "provenance": to_plain(context.provenance),
        "passages": {
            "chunks": [_dump_chunk(chunk) for _, chunk in chunks.values()],
            "candidates": [values for _, values in candidates.values()],
            "passages": passages,
        },
        "keys": to_plain(context.keys),
        "hits": hits,
        "sanitized": context.sanitized,
        "encoding": context.encoding if isinstance(context.encoding, str) else None,
    }


def load_context(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the context that `dump_context` turned into `data`, by name.

    Raises:
        InputError: `data` doesn't come from `dump_context`.
    """
    try:
        return _load(data)
    except Exception:  # noqa: BLE001 - broken data can raise anything: OverflowError, RecursionError, errors of a mapping
        raise InputError(f"a context must be as Context.to_dict() gave it, got {safe_repr(data)}") from None


def _load(data: Mapping[str, Any]) -> dict[str, Any]:
    parts = data["passages"]
    chunks = [_load_with_metadata(Chunk, chunk) for chunk in parts["chunks"]]
    candidates = [
        from_plain(Candidate, [key, _item_at(chunks, number), *values])
        for key, (number, *values) in enumerate(parts["candidates"])
    ]
    text = from_plain(str, data["text"])
    citations = tuple(_load_with_metadata(Citation, one) for one in data["citations"])
    hits = ((rank, _item_at(chunks, number), *values) for rank, number, *values in data["hits"])
    result = {
        "text": text,
        **{name: from_plain(kind, data[name]) for name, kind in _SIMPLE_FIELDS.items()},
        "citations": citations,
        "trace": from_plain(Trace, data["trace"]),
        "blocks": tuple(_load_block(text, block, citations) for block in data["blocks"]),
        "provenance": from_plain(tuple[Source, ...], data["provenance"]),
        "passages": tuple(_load_passage(passage, candidates) for passage in parts["passages"]),
        "keys": from_plain(MetadataKeys, data["keys"]),
        "hits": from_plain(tuple[RetrievedFragment, ...], [*hits]),
        "sanitized": from_plain(bool, data.get("sanitized", False)),
    }
    # What is read later by a name has to be one.
    language_of(result["language"])
    if result["encoding"] is not None and not is_encoding(result["encoding"]):
        raise ValueError("an encoding of tiktoken's expected")
    sent_labels = [one.sent_as for one in result["trace"].decisions if one.sent_as is not None]
    for label in (*(citation.label for citation in citations), *sent_labels):
        int(label)
    return result


def _load_with_metadata(kind: Any, data: Mapping[str, Any]) -> Any:
    """Return the chunk or citation of `data`. Its metadata has an end, as `to_plain` wrote it."""
    return from_plain(kind, {**data, "metadata": to_plain(dict(data["metadata"]))})


def _load_block(text: str, block: Mapping[str, Any], citations: Sequence[Citation]) -> Block:
    span, number = from_plain(Span, block["span"]), block["citation"]
    return Block(text[slice(*span)], span, None if number is None else _item_at(citations, number))


def _load_passage(passage: Mapping[str, Any], candidates: Sequence[Candidate]) -> Passage:
    pieces = tuple(
        from_plain(TextPiece, [_item_at(candidates, number), *values]) for number, *values in passage["pieces"]
    )
    if not pieces:
        raise ValueError("a passage has a piece at least")
    return Passage(from_plain(str, passage["document_id"]), pieces, from_plain(Span, passage["span"]))


def _item_at(items: Sequence[Any], index: Any) -> Any:
    """Return the item at `place`, which counts from 0.

    Raises:
        IndexError: there is none.
    """
    if type(index) is not int or index < 0:
        raise IndexError(index)
    return items[index]


def _dump_chunk(chunk: Chunk) -> dict[str, Any]:
    return {field.name: to_plain(getattr(chunk, field.name)) for field in fields(chunk) if field.name != "vector"}
