"""Blocks of a context, as adapters hand them on in documents and nodes, read as the chunks that they were made of.

A block comes in again where one assembly is behind another: a retry around a retriever of ours, an ensemble of them, a
compressor, a checkpoint. Its metadata say which stretch of its text is from which chunk. The text itself is taken from
the block alone, so a mask or a filter between the two assemblies holds, and metadata that only look like ours bring in
nothing that the text of their document doesn't have: it is assembled, and made harmless, as that of any other.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple

from ctxassembly.context import Context
from ctxassembly.conversations.sources import ADDED
from ctxassembly.data.candidates import GAP, Candidate
from ctxassembly.data.chunks import Chunk, Hit, Origin
from ctxassembly.data.citations import Passage
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import as_name
from ctxassembly.serialization.plain import plain

_SECRET = secrets.token_bytes(16)
"""Makes the seals of this process. In another one, a supplement is read as a document without a source."""


class Given(NamedTuple):
    """A document or node as it came: the hit that it makes by itself, and its metadata."""

    hit: Hit
    metadata: Mapping[str, Any]


class Read(NamedTuple):
    """All that came in, with the chunks of our own blocks in their place."""

    hits: list[Hit]
    supplement: str | None = None


def read(given: Sequence[Given], keys: MetadataKeys) -> Read:
    """The hits of what came in, in its order; the neighbours in our own blocks come after all hits, and bring none."""
    hits: list[Hit] = []
    neighbours: list[Hit] = []
    supplements: list[str] = []
    for one in given:
        chunk = one.hit.chunk
        if type(one.metadata) is not dict:  # of a class that may raise: none of ours
            hits.append(one.hit)
        elif _is_supplement(one.metadata, chunk.text):
            supplements.append(chunk.text.partition("\n")[2].strip())
        elif (found := _of_block(one, keys)) is None:
            hits.append(one.hit)
        else:
            hits += [hit for hit, is_hit in found if is_hit]
            neighbours += [hit for hit, is_hit in found if not is_hit]
    return Read([*hits, *neighbours], "\n\n".join(dict.fromkeys(filter(None, supplements))) or None)


def seal(*texts: str) -> str:
    """The seal of what no document can say of itself: to be a supplement, or of a document that it doesn't name."""
    told = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=16, key=_SECRET).hexdigest()


def _is_sealed(given: object, *texts: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), seal(*texts).encode())


def pieces_in(context: Context) -> Iterator[dict[str, Any]]:
    """For each block with a citation, the chunks in it, and the stretches of its text that are theirs."""
    passages, sources = iter([*context.passages, None]), iter([*context.provenance, None])
    passage, source = next(passages), next(sources)
    for block in context.blocks:
        if block.citation is None:
            continue
        begin, places = block.span[0], dict[int, int]()
        chunks, slices = dict[int, dict[str, Any]](), list[list[Any]]()
        header = None
        while passage is not None and passage.span[0] < block.span[1]:
            for candidate, start, end, shared in _slices(passage):
                if candidate.key not in chunks:
                    chunks[candidate.key] = _told(candidate, block.citation.metadata)
                spans = []
                skipped = candidate.read_from or 0
                while (
                    source is not None
                    and source.chunk_id == candidate.chunk.id
                    and start <= source.chunk_span[0] - skipped < end
                    and source.span[0] < block.span[1]
                ):
                    at = source.span[0] - begin
                    header = at if header is None else header
                    spans.append([at, source.span[1] - begin, source.chunk_span[0] - skipped])
                    source = next(sources)
                slices.append([places.setdefault(candidate.key, len(places)), start, end, shared, spans])
            passage = next(passages)
        named = {}
        if as_name(context.keys.document_of(block.citation.metadata)) != block.citation.document_id:
            named = {"document_id": block.citation.document_id, "seal": seal(block.citation.document_id, block.text)}
        yield {
            **named,
            "length": len(block.text),
            "header": block.text[: header or 0],
            "chunks": list(chunks.values()),
            "slices": slices,
        }


def _slices(passage: Passage) -> list[list[Any]]:
    """The slices of chunks in `passage`, in order, with the characters that each shares with the text before it."""
    found: list[list[Any]] = []
    for piece in passage.pieces:
        last = found[-1] if found else None
        if last and last[0].key == piece.candidate.key and last[2] == piece.start and not piece.glue:
            last[2] = piece.end
            continue
        shared = piece.shared if piece.shared == piece.start and not piece.glue else 0
        found.append([piece.candidate, piece.start, piece.end, shared])
    return found


def _told(candidate: Candidate, best: Mapping[str, Any]) -> dict[str, Any]:
    """A chunk without its text; of its metadata those that the best chunk of its label hasn't."""
    chunk = candidate.chunk
    own = chunk.metadata
    return {
        "id": chunk.id,
        "index": chunk.index,
        "start": chunk.start,
        "prev_id": chunk.prev_id,
        "next_id": chunk.next_id,
        "origin": plain(chunk.origin),
        "unread": sorted(chunk.unread),
        "unnamed": sorted(chunk.unnamed),
        "metadata": {
            key: value
            for key, value in ((key, plain(own[key])) for key in own)
            if key not in best or plain(best[key]) != value  # as builtins: an odd class may refuse to be compared
        },
        "lacks": [key for key in best if key not in own],
        "score": candidate.score,
        "rank": candidate.rank,
        "distance": candidate.distance,
    }


def _is_supplement(metadata: Mapping[str, Any], text: object) -> bool:
    return metadata.get("supplement") is True and isinstance(text, str) and _is_sealed(metadata.get("seal"), text)


def _of_block(given: Given, keys: MetadataKeys) -> list[tuple[Hit, bool]] | None:
    """The chunks of a block, hits first, each with True for a hit; None if it is no block of ours.

    What another tool has cut or rewritten since is one chunk, without the header.
    """
    metadata, text = given.metadata, given.hit.chunk.text
    told, citation = metadata.get("pieces"), metadata.get("citation")
    header = told.get("header") if isinstance(told, Mapping) and isinstance(citation, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(header, str) or not isinstance(text, str):
        return None
    own = {key: value for key, value in metadata.items() if key not in ADDED}
    own[keys.no_neighbours[0]] = True  # they have come already
    whole = replace(given.hit.chunk, metadata=own)
    document_id = told.get("document_id")
    if isinstance(document_id, str) and _is_sealed(told.get("seal"), document_id, text):
        whole = replace(whole, document_id=document_id)
    try:
        texts = _texts(told["slices"], text, told["length"])
        found = [
            (_revived(one, *texts[at], whole), one)
            for at, one in sorted(enumerate(told["chunks"]), key=lambda item: (item[1]["distance"], item[1]["rank"]))
        ]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return [(Hit(replace(whole, text=text.removeprefix(header)), given.hit.score), True)]
    # A wrapper that gave the block a score of its own, as by fusion, has no scale in common with the chunks' scores.
    best = max((one["score"] for _, one in found if isinstance(one["score"], float)), default=None)
    new = given.hit.score
    if new is None or new in (best, keys.read(own, "score")):
        return [(Hit(chunk, one["score"]), not one["distance"]) for chunk, one in found]
    return [(Hit(chunk, None if one["distance"] else new), not one["distance"]) for chunk, one in found]


def _texts(slices: Any, text: str, length: Any) -> dict[int, tuple[str, int]]:
    """The text of each chunk in a block of that `text`, and the offset in the chunk at which it begins.

    Raises:
        ValueError: the text has another length than it had, or the slices can't be in it.
    """
    if length != len(text) or not slices:
        raise ValueError(length)
    made: dict[int, tuple[str, int]] = {}
    ends: dict[int, int] = {}
    before = ""  # the text of the slices so far, for what the next one shares with it
    at = 0
    for n, (chunk, start, end, shared, spans) in enumerate(slices):
        after = next((spans_[0][0] for *_, spans_ in slices[n + 1 :] if spans_), len(text))
        own, at = _slice(text, at, after, start, end, spans)
        if chunk not in made and 0 < shared == start <= len(before):
            made[chunk] = before[-shared:] + own, 0
        elif chunk not in made:
            made[chunk] = own, start
        else:
            said, first = made[chunk]
            made[chunk] = (said + own if ends[chunk] == start else f"{said} {GAP} {own}"), first
        ends[chunk] = end
        before += own
    return made


def _slice(text: str, at: int, after: int, start: int, end: int, spans: Any) -> tuple[str, int]:
    """One slice of a chunk, from `start` to `end`, with the characters that were escaped or replaced in `text`.

    `at` is the end of the slice before it, and `after` the beginning of the next. Also the end of this one.
    """
    if not 0 <= start <= end:
        raise ValueError(start)
    parts: list[str] = []
    done = start
    for first, last, offset in spans:
        if not at <= first < last <= len(text) or not done <= offset or offset + last - first > end:
            raise ValueError(first)
        missing = offset - done
        parts += [unescape(text[at:first])[-missing:] if missing else "", text[first:last]]
        at, done = last, offset + last - first
    if done < end:
        parts.append(unescape(text[at:after])[: end - done])
    return "".join(parts), at


def _revived(told: Mapping[str, Any], text: str, skipped: int, whole: Chunk) -> Chunk:
    """The chunk with its text in the block, in the document of the block."""
    lacks, start = set(told["lacks"]), told["start"]
    metadata = {**{key: value for key, value in whole.metadata.items() if key not in lacks}, **told["metadata"]}
    return replace(
        whole,
        id=told["id"],
        text=text,
        index=told["index"],
        start=start + skipped if type(start) is int else None,
        prev_id=told["prev_id"],
        next_id=told["next_id"],
        metadata=metadata,
        vector=None,
        origin=_origin(told["origin"]),
        unread=frozenset(map(str, told["unread"])),
        unnamed=frozenset(map(str, told["unnamed"])),
    )


def _origin(told: Any) -> Origin | None:
    """The origin that `plain` wrote.

    Raises:
        ValueError: it wrote something else.
    """
    if told is None:
        return None
    part = tuple((name, value) for name, value in told["part"])
    near, names = told["near"], [told["parent_id"], told["lookup_id"], *told["child_ids"]]
    if not all(isinstance(name, str) and isinstance(value, (str, int)) for name, value in part):
        raise ValueError(part)
    if not (near is None or type(near) is int) or not all(one is None or isinstance(one, str) for one in names):
        raise ValueError(told)
    children, doubtful = tuple(told["child_ids"]), bool(told["shares_index"])
    return Origin(part, near, told["parent_id"], children, told["lookup_id"], doubtful)
