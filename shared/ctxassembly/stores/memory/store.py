"""A store of neighbours in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256

from ctxassembly.data.chunks import Chunk, ChunkRef, PartName


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
        self._read: list[str] = []
        """The digest of the chunks, once it was asked for. Copies share it, as they share the chunks."""
        self._hold(chunks)

    def _hold(self, chunks: Iterable[Chunk]) -> None:
        """Hold `chunks`, in the place of those of before."""
        self._chunks.clear()
        self._read.clear()
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
        if not self._read:
            each = {repr((chunk, dict(chunk.metadata))): None for held in self._chunks.values() for chunk in held}
            self._read.append(sha256("\n".join(sorted(each)).encode("utf-8", "surrogatepass")).hexdigest())
        return self._read[0]

    @property
    def round_trips(self) -> int:
        """Number of calls."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, each once."""
        self.requests.append(tuple(refs))
        found = (chunk for ref in refs for chunk in (self._beside(ref) if ref.beside else self._chunks.get(ref, ())))
        return list({id(chunk): chunk for chunk in found}.values())

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The same as `fetch`, awaited."""
        return self.fetch(refs)

    def _beside(self, ref: ChunkRef) -> list[Chunk]:
        """The chunks around an offset, as `Beside` describes them."""
        if ref.beside is None:
            return []
        start, each_side, part, page, document_id = ref.beside
        here = (_page(part, page) or 0, start)
        placed: list[tuple[tuple[int, int], Chunk]] = []
        for chunk in self._chunks.get(ChunkRef(document_id or ref.document_id), ()):
            own = _part_of(chunk)
            number = _page(own, page)
            # Nobody has checked the chunks: `start` may be anything.
            if type(chunk.start) is int and number is not None and (page is not None or own == part):
                placed.append(((number, chunk.start), chunk))
        placed.sort(key=lambda entry: entry[0])
        before = [chunk for at, chunk in placed if at < here]
        at_it = [chunk for at, chunk in placed if at == here]
        after = [chunk for at, chunk in placed if at > here]
        return [*before[-each_side:], *at_it, *after[:each_side]]


def _page(part: PartName, name: str | None) -> int | None:
    """The page number under `name`, kept as an int or a string; 0 without a name, None if it is no number."""
    if name is None:
        return 0
    number = str(dict(part).get(name))
    return int(number) if number.isdecimal() else None


def _part_of(chunk: Chunk) -> PartName:
    return chunk.origin.part if chunk.origin else ()
