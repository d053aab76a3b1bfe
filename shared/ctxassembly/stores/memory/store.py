"""A store of neighbors in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256

from ctxassembly.data.chunks import Chunk, ChunkRef, SectionKey


class MemoryStore:
    """A store of chunks in memory. `requests` has the references of each call.

    >>> store = MemoryStore([Chunk("a#0", "a", "First.", 0), Chunk("a#1", "a", "Second.", 1)])
    >>> [chunk.text for chunk in store.fetch([ChunkRef("a", 1), ChunkRef("a", 2)])], store.round_trips
    (['Second.'], 1)
    """

    finds_offsets = True

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.requests: list[tuple[ChunkRef, ...]] = []
        self._chunks: dict[ChunkRef, list[Chunk]] = defaultdict(list)
        self._digest: list[str] = []
        """The digest of the chunks, once it was asked for. Copies share it, as they share the chunks."""
        self._replace_chunks(chunks)

    def _replace_chunks(self, chunks: Iterable[Chunk]) -> None:
        """Replace the stored chunks with `chunks`."""
        self._chunks.clear()
        self._digest.clear()
        for chunk in chunks:
            for ref in {
                ChunkRef(chunk.lookup_id),
                ChunkRef(chunk.document_id),
                ChunkRef(chunk.lookup_id, chunk.index),
                ChunkRef(chunk.lookup_id, chunk_id=chunk.id),
            }:
                self._chunks[ref].append(chunk)

    @property
    def place(self) -> str:
        """A digest of all chunks: two stores that hold the same ones are the same place."""
        if not self._digest:
            each = {repr((chunk, dict(chunk.metadata))): None for held in self._chunks.values() for chunk in held}
            self._digest.append(sha256("\n".join(sorted(each)).encode("utf-8", "surrogatepass")).hexdigest())
        return self._digest[0]

    @property
    def round_trips(self) -> int:
        """Number of calls."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs`, each once."""
        self.requests.append(tuple(refs))
        found = (
            chunk
            for ref in refs
            for chunk in (self._fetch_around(ref) if ref.around_offset else self._chunks.get(ref, ()))
        )
        return list({id(chunk): chunk for chunk in found}.values())

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Async version of `fetch`."""
        return self.fetch(refs)

    def _fetch_around(self, ref: ChunkRef) -> list[Chunk]:
        """Return the chunks around an offset, as `OffsetRange` describes them."""
        if ref.around_offset is None:
            return []
        start, per_side, section, page_key, document_id = ref.around_offset
        target = (_page_number(section, page_key) or 0, start)
        positioned: list[tuple[tuple[int, int], Chunk]] = []
        for chunk in self._chunks.get(ChunkRef(document_id or ref.document_id), ()):
            own = _section_of(chunk)
            number = _page_number(own, page_key)
            # Nobody has checked the chunks: `start` may be anything.
            if type(chunk.start) is int and number is not None and (page_key is not None or own == section):
                positioned.append(((number, chunk.start), chunk))
        positioned.sort(key=lambda entry: entry[0])
        before = [chunk for at, chunk in positioned if at < target]
        at_offset = [chunk for at, chunk in positioned if at == target]
        after = [chunk for at, chunk in positioned if at > target]
        return [*before[-per_side:], *at_offset, *after[:per_side]]


def _page_number(section: SectionKey, page_key: str | None) -> int | None:
    """Return the number under `page_key`, an int or a numeric string; 0 without a key, None if not a number."""
    if page_key is None:
        return 0
    number = str(dict(section).get(page_key))
    return int(number) if number.isdecimal() else None


def _section_of(chunk: Chunk) -> SectionKey:
    return chunk.origin.section if chunk.origin else ()
