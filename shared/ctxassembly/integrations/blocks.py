"""Blocks of a context, as adapters return them in documents and nodes, read as the chunks that they were made of.

A block is assembled again if one assembly follows another: a retry around one of our retrievers, an ensemble of them, a
compressor, a checkpoint. The block's metadata maps each part of its text to a chunk. The text itself is taken only from
the block, so a mask or a filter between the two assemblies still applies. Forged metadata can't add anything that the
text of its document doesn't have: that text is assembled, and made harmless, like any other.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple

from ctxassembly.context import Context
from ctxassembly.conversations.sources import ADAPTER_KEYS
from ctxassembly.data.candidates import GAP, Candidate
from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit
from ctxassembly.data.citations import Passage, block_contents
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_id
from ctxassembly.serialization import from_plain, to_plain

_SECRET = secrets.token_bytes(16)
"""Makes the seals of this process. In another one, a supplement is read as a document without a source."""


class IncomingDocument(NamedTuple):
    """A document or node as it came: the hit that it makes by itself, and its metadata."""

    hit: Hit
    metadata: Mapping[str, Any]


class ReadResult(NamedTuple):
    """All that came in, with the chunks of our own blocks in their place."""

    hits: list[Hit]
    supplement: str | None = None


class _Slice(NamedTuple):
    """A part of a chunk's text."""

    start: int
    """The offset in the chunk."""
    text: str


class _ChunkPart(NamedTuple):
    """What a block has of a chunk."""

    chunk: Chunk
    """The chunk as it was, but for its text."""
    slices: Sequence[_Slice]
    score: float | None
    is_hit: bool


def unpack_blocks(documents: Sequence[IncomingDocument], keys: MetadataKeys) -> ReadResult:
    """Return the hits in the given blocks, in order; neighbors in our own blocks follow all hits.

    A chunk of which several blocks have a part is one hit again.
    """
    found: list[Hit | _ChunkPart] = []
    supplements: list[str] = []
    for document in documents:
        chunk = document.hit.chunk
        if type(document.metadata) is not dict:  # of a class that may raise: none of ours
            found.append(document.hit)
        elif (
            document.metadata.get("supplement") is True
            and isinstance(chunk.text, str)
            and _is_sealed(document.metadata.get("seal"), chunk.text)
        ):
            supplements.append(chunk.text.partition("\n")[2].strip())
        else:
            found += _parse_block(document, keys) or [document.hit]
    parts: dict[tuple[Any, ...], list[_ChunkPart]] = {}
    for one in found:
        if isinstance(one, _ChunkPart):
            parts.setdefault(_identity(one), []).append(one)
    hits: list[Hit] = []
    neighbors: list[Hit] = []
    for one in found:
        if isinstance(one, Hit):
            hits.append(one)
        elif same := parts.pop(_identity(one), None):
            is_hit = any(part.is_hit for part in same)
            (hits if is_hit else neighbors).append(Hit(_merge_parts(same), same[0].score))
    return ReadResult([*hits, *neighbors], "\n\n".join(dict.fromkeys(filter(None, supplements))) or None)


def _identity(part: _ChunkPart) -> tuple[Any, ...]:
    return part.chunk.origin, part.chunk.document_id, part.chunk.id


def _merge_parts(parts: Sequence[_ChunkPart]) -> Chunk:
    """Return the chunk with the text that `parts` have of it, a gap marker where they lack some."""
    chunk, slices = parts[0].chunk, sorted(one for part in parts for one in part.slices)
    text, end = "", slices[0].start
    for start, own in slices:
        if start > end:
            text += f" {GAP} "
        text += own[max(end - start, 0) :]
        end = max(end, start + len(own))
    return replace(chunk, text=text, start=chunk.start + slices[0].start if type(chunk.start) is int else None)


def seal(*texts: str) -> str:
    """Return the seal of a block that a document must not be able to claim: a supplement, or an unnamed document."""
    sealed = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(sealed, digest_size=16, key=_SECRET).hexdigest()


def _is_sealed(value: object, *texts: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(value.encode(), seal(*texts).encode())


def block_pieces(context: Context) -> Iterator[dict[str, Any]]:
    """Return, for each block with a citation, its chunks and their spans in its text."""
    for block, passages, provenance in block_contents(context):
        if block.citation is None:
            continue
        block_start, chunk_numbers = block.span[0], dict[int, int]()
        chunks, slices = dict[int, dict[str, Any]](), list[list[Any]]()
        header = provenance[0].span[0] - block_start if provenance else 0
        best = {key: to_plain(value) for key, value in block.citation.metadata.items()}
        sources = deque(provenance)
        for candidate, start, end, overlap in (one for passage in passages for one in _merge_slices(passage)):
            if candidate.key not in chunks:
                chunks[candidate.key] = _describe_chunk(candidate, best)
            spans = []
            while sources and sources[0].chunk_id == candidate.chunk.id and start <= sources[0].chunk_span[0] < end:
                source = sources.popleft()
                spans.append([source.span[0] - block_start, source.span[1] - block_start, source.chunk_span[0]])
            slices.append([chunk_numbers.setdefault(candidate.key, len(chunk_numbers)), start, end, overlap, spans])
        document = {}
        if to_id(context.keys.read_document_id(block.citation.metadata)) != block.citation.document_id:
            document = {"document_id": block.citation.document_id, "seal": seal(block.citation.document_id, block.text)}
        yield {
            **document,
            "length": len(block.text),
            "header": block.text[:header],
            "chunks": list(chunks.values()),
            "slices": slices,
        }


def block_ids(context: Context) -> list[str]:
    """Return the id of each block: its best chunk's, followed by the label if an earlier block has that id.

    With the same id two blocks would be taken for one source.
    """
    ids: list[str] = []
    for citation in (block.citation for block in context.blocks):
        if citation is None:
            ids.append("supplement")
        else:
            is_taken = citation.best_chunk_id in ids
            ids.append(f"{citation.best_chunk_id}#{citation.label}" if is_taken else citation.best_chunk_id)
    return ids


def _merge_slices(passage: Passage) -> list[list[Any]]:
    """Return the slices of chunks in `passage`, in order, with the characters shared with the text before."""
    found: list[list[Any]] = []
    for piece in passage.pieces:
        last = found[-1] if found else None
        if last and last[0].key == piece.candidate.key and last[2] == piece.start and not piece.separator:
            last[2] = piece.end
            continue
        overlap = piece.overlap if piece.overlap == piece.start and not piece.separator else 0
        found.append([piece.candidate, piece.start, piece.end, overlap])
    return found


def _describe_chunk(candidate: Candidate, best: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chunk without its text, and of its metadata only what isn't in `best`: its label's, as builtins."""
    chunk = candidate.chunk
    own = chunk.metadata
    return {
        "id": chunk.id,
        "index": chunk.index,
        "start": chunk.start,
        "prev_id": chunk.prev_id,
        "next_id": chunk.next_id,
        "origin": to_plain(chunk.origin),
        "unread": sorted(chunk.hidden_from_model),
        "unnamed": sorted(chunk.hidden_from_header),
        "metadata": {
            key: value
            for key, value in ((key, to_plain(own[key])) for key in own)
            if key not in best or best[key] != value  # both are builtins: an odd class may refuse to be compared
        },
        "lacks": [key for key in best if key not in own],
        "score": candidate.score,
        "rank": candidate.rank,
        "distance": candidate.distance,
    }


def _parse_block(document: IncomingDocument, keys: MetadataKeys) -> Sequence[Hit | _ChunkPart] | None:
    """Return what a block has of its chunks, hits first; None if the block isn't ours.

    What another tool has cut or rewritten since is one chunk, without the header.
    """
    metadata, text = document.metadata, document.hit.chunk.text
    pieces_data, citation = metadata.get("pieces"), metadata.get("citation")
    header = pieces_data.get("header") if isinstance(pieces_data, Mapping) and isinstance(citation, Mapping) else None
    if not isinstance(pieces_data, Mapping) or not isinstance(header, str) or not isinstance(text, str):
        return None
    own = {key: value for key, value in metadata.items() if key not in ADAPTER_KEYS}
    own[keys.no_neighbors[0]] = True  # they have come already
    block_chunk = replace(document.hit.chunk, metadata=own)
    document_id = pieces_data.get("document_id")
    if isinstance(document_id, str) and _is_sealed(pieces_data.get("seal"), document_id, text):
        block_chunk = replace(block_chunk, document_id=document_id)
    try:
        slices = _chunk_slices(pieces_data["slices"], text, pieces_data["length"])
        ranked = sorted(enumerate(pieces_data["chunks"]), key=lambda item: (item[1]["distance"], item[1]["rank"]))
        found = [
            _ChunkPart(_restore_chunk(one, block_chunk), slices[at], one["score"], not one["distance"])
            for at, one in ranked
        ]
        hash(tuple(map(_identity, found)))  # forged ids may be of any type
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return [Hit(replace(block_chunk, text=text.removeprefix(header)), document.hit.score)]
    # A wrapper that gave the block a score of its own, as by fusion, has no scale in common with the chunks' scores.
    best = max((part.score for part in found if isinstance(part.score, float)), default=None)
    new = document.hit.score
    if new is None or new in (best, keys.read(own, "score")):
        return found
    return [part._replace(score=new if part.is_hit else None) for part in found]


def _chunk_slices(slices: Any, text: str, length: Any) -> dict[int, list[_Slice]]:
    """Return the slices of each chunk in a block of `text`.

    Raises:
        ValueError: the text has another length than it had, or the slices can't be in it.
    """
    if length != len(text) or not slices:
        raise ValueError(length)
    found: dict[int, list[_Slice]] = {}
    before = ""  # the text of the slices so far, for what the next one shares with it
    at = 0
    for n, (chunk, start, end, overlap, spans) in enumerate(slices):
        after = next((spans_[0][0] for *_, spans_ in slices[n + 1 :] if spans_), len(text))
        slice_text, at = _read_slice(text, at, after, start, end, spans)
        if chunk not in found and 0 < overlap == start <= len(before):
            found[chunk] = [_Slice(0, before[-overlap:] + slice_text)]
        else:
            found.setdefault(chunk, []).append(_Slice(start, slice_text))
        before += slice_text
    return found


def _read_slice(text: str, at: int, after: int, start: int, end: int, spans: Any) -> tuple[str, int]:
    """Return a slice of a chunk, from `start` to `end`, with characters that `text` escaped restored.

    `at` is the end of the slice before it, and `after` the beginning of the next. Also the end of this one.
    """
    if not 0 <= start <= end:
        raise ValueError(start)
    parts: list[str] = []
    read_end = start
    for span_start, span_end, offset in spans:
        if (
            not at <= span_start < span_end <= len(text)
            or not read_end <= offset
            or offset + span_end - span_start > end
        ):
            raise ValueError(span_start)
        missing = offset - read_end
        parts += [unescape(text[at:span_start])[-missing:] if missing else "", text[span_start:span_end]]
        at, read_end = span_end, offset + span_end - span_start
    if read_end < end:
        parts.append(unescape(text[at:after])[: end - read_end])
    return "".join(parts), at


def _restore_chunk(data: Mapping[str, Any], block_chunk: Chunk) -> Chunk:
    """Return the chunk without its text, in the document of the block."""
    lacks = set(data["lacks"])
    metadata = {**{key: value for key, value in block_chunk.metadata.items() if key not in lacks}, **data["metadata"]}
    return replace(
        block_chunk,
        id=data["id"],
        text="",
        index=data["index"],
        start=data["start"],
        prev_id=data["prev_id"],
        next_id=data["next_id"],
        metadata=metadata,
        vector=None,
        origin=from_plain(ChunkOrigin | None, data["origin"]),
        hidden_from_model=frozenset(map(str, data["unread"])),
        hidden_from_header=frozenset(map(str, data["unnamed"])),
    )
