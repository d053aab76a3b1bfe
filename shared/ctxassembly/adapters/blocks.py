"""Blocks of a context, as adapters return them in documents and nodes, read as the chunks that they were made of.

A block is assembled again if one assembly follows another: a retry around one of our retrievers, an ensemble of them, a
compressor. It is known by the `AssembledBlock` in its metadata. If a step between has changed the text or the metadata,
as a mask does, the document is read as it is now: one chunk, without the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from ctxassembly.context import Context
from ctxassembly.data.candidates import GAP
from ctxassembly.data.chunks import Chunk, Hit, ReadHit
from ctxassembly.data.citations import AssembledBlock, Citation, block_contents, block_in
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.sanitize import sanitize_score
from ctxassembly.serialization import to_plain

_ADDED_KEYS = frozenset({"citation", "chunk_ids", "scores", "trace", "cited_media"})
"""Keys that adapters add to the metadata of the best chunk of a label."""
_CITATION_FIELDS = [field.name for field in fields(Citation) if field.name != "metadata"]
"""Parts of a block's citation: the adapters put its metadata next to it."""


class ReadResult(NamedTuple):
    """All that came in, with the chunks of our own blocks in their place."""

    hits: list[Hit]
    supplement: str | None = None


@dataclass
class _BlockChunk:
    """What blocks have of a chunk."""

    chunk: Chunk
    score: float | None
    query: str | None = None
    blocks: list[str] = field(default_factory=list)
    """The blocks of which it is the first chunk."""
    is_hit: bool = False
    slices: list[tuple[int, str]] = field(default_factory=list)
    """Parts of its text, each with its offset."""


def unpack_blocks(documents: Iterable[tuple[Hit, Any]], keys: MetadataKeys) -> ReadResult:
    """Return the hits in `documents`, in order; neighbors in our own blocks follow all hits.

    Each document is given as the hit that it makes by itself, and its metadata. A chunk of which several blocks have a
    part is one hit again.
    """
    found: dict[Any, Hit | _BlockChunk] = {}
    supplements: list[str] = []
    for hit, metadata in documents:
        ours, text = block_in(metadata), hit.chunk.text
        if ours is None or type(text) is not str:
            found[len(found)] = hit
        elif (citation := ours.block.citation) is None:
            supplements.append(_without_header(text, ours))
        elif text == ours.block.text and _has_same_metadata(metadata, citation, keys):
            _add_chunks(found, ours, sanitize_score(hit.score)[0], keys)
        else:
            own = {key: value for key, value in metadata.items() if key not in _ADDED_KEYS}
            chunk = replace(hit.chunk, document_id=citation.document_id, text=_without_header(text, ours), metadata=own)
            found[len(found)] = Hit(_without_neighbors(chunk, keys), hit.score)
    ordered = sorted(found.values(), key=lambda one: isinstance(one, _BlockChunk) and not one.is_hit)
    hits = [one if isinstance(one, Hit) else _hit_of(one, keys) for one in ordered]
    return ReadResult(hits, "\n\n".join(dict.fromkeys(filter(None, supplements))) or None)


def _has_same_metadata(metadata: Mapping[str, Any], citation: Citation, keys: MetadataKeys) -> bool:
    """Return True if nothing was changed in or removed from what the block got from its best chunk, but a score."""
    given = citation.metadata
    return all(
        key in metadata and to_plain(metadata[key]) == to_plain(given[key])  # as builtins: an odd class may raise
        for key in given
        if key not in _ADDED_KEYS and key not in keys.score
    )


def _add_chunks(found: dict[Any, Any], ours: AssembledBlock, score: float | None, keys: MetadataKeys) -> None:
    """Add the chunks of a block to `found`, by document and id, hits first. `score` is the document's.

    A wrapper that gave the block a score of its own, as by fusion, has no scale in common with the chunks' scores.
    """
    pieces = [piece for passage in ours.passages for piece in passage.pieces]
    best = max((piece.candidate.score for piece in pieces if piece.candidate.score is not None), default=None)
    metadata = ours.block.citation.metadata if ours.block.citation else {}
    is_rescored = score not in (None, best, sanitize_score(keys.read(metadata, "score"))[0])
    ranked = sorted(pieces, key=lambda piece: (piece.candidate.distance, piece.candidate.rank))
    for place, piece in enumerate(ranked):
        candidate, chunk = piece.candidate, piece.candidate.chunk
        own_score = (score if candidate.is_hit else None) if is_rescored else candidate.score
        one = found.setdefault((chunk.origin, chunk.identity), _BlockChunk(chunk, own_score, ours.query))
        one.is_hit = one.is_hit or candidate.is_hit
        one.blocks += [ours.block.text] if not place else []
        is_head = piece.overlap == piece.start and not piece.separator  # what is before it, the piece before shows
        start = 0 if is_head else piece.start
        one.slices.append((start, chunk.text[start : piece.end]))


def _hit_of(read: _BlockChunk, keys: MetadataKeys) -> Hit:
    """Return the chunk with the text that blocks have of it, a gap marker where they lack some."""
    slices = sorted(read.slices)
    start = end = slices[0][0]
    text = ""
    for slice_start, own in slices:
        if slice_start > end:
            text += f" {GAP} "
        text += own[max(end - slice_start, 0) :]
        end = max(end, slice_start + len(own))
    at = None if read.chunk.start is None else read.chunk.start + start
    chunk = _without_neighbors(replace(read.chunk, text=text, start=at, vector=None), keys)
    return ReadHit(chunk, read.score, read.query, "\n\n".join(read.blocks))


def _without_header(text: str, ours: AssembledBlock) -> str:
    return text.removeprefix(ours.header.rstrip()).strip()


def _without_neighbors(chunk: Chunk, keys: MetadataKeys) -> Chunk:
    """Return `chunk` as one that brings no neighbors: they have come already."""
    return replace(chunk, metadata={**chunk.metadata, keys.no_neighbors[0]: True})


def assembled_blocks(context: Context) -> Iterator[AssembledBlock]:
    """Return what goes into the metadata of the document or node for each block of `context`."""
    for block, passages, provenance in block_contents(context):
        if block.citation is None:
            header = "".join(block.text.partition("\n")[:2])
            shown = {"text": block.text.removeprefix(header)}
        else:
            header = block.text[: provenance[0].span[0] - block.span[0]] if provenance else ""
            shown = {name: to_plain(getattr(block.citation, name)) for name in _CITATION_FIELDS}
        yield AssembledBlock(shown, block, passages, header, context.query, has_labels=context.has_labels)


def block_ids(context: Context) -> list[str]:
    """Return the id of each block: its best chunk's, followed by the label if an earlier block has that id.

    With the same id two blocks would be taken for one source.
    """
    ids: list[str] = []
    for citation in (block.citation for block in context.blocks):
        name = citation.best_chunk_id if citation else "supplement"
        ids.append(f"{name}#{citation.label}" if citation and name in ids else name)
    return ids
