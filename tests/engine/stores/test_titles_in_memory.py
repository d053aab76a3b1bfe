"""The stores in memory find the documents whose titles a text mentions."""

from __future__ import annotations

import time

from ctxassembly import Chunk, ChunkRef, MemoryIndex, MemoryStore, MetadataKeys
from ctxassembly.data.metadata_keys import with_keys

CHUNKS = [
    Chunk("m#1", "m", "Later.", 1, metadata={"title": "Mercury Orbit"}),
    Chunk("m#0", "m", "Hot.", 0, metadata={"title": "Mercury Orbit"}),
    Chunk("v#0", "v", "# Venus Express (probe)\n\nCold.", 0),
    Chunk("n#0", "n", "None.", 0),
    Chunk("水#0", "水", "热。", 0, metadata={"title": "水星探测器计划"}),
]


def found(store: MemoryStore, text: str, document_id: str = "x") -> set[str]:
    return {chunk.id for chunk in store.fetch([ChunkRef(document_id, named_in=text)])}


def test_a_filter_holds_for_titles() -> None:
    index = MemoryIndex(
        Chunk(f"{who}#0", who, "Hot.", 0, metadata={"title": "Mercury Orbit", "tenant": who})
        for who in ("north", "south")
    )
    assert found(index.with_filter({"tenant": "north"}), "Mercury Orbit") == {"north#0"}
    assert found(index, "Mercury Orbit") == {"north#0", "south#0"}


def test_titles_are_read_under_the_configured_keys() -> None:
    named = [Chunk("m#0", "m", "Hot.", 0, metadata={"name": "Mercury Orbit", "title": "Venus Express"})]
    for make_store in (MemoryStore, MemoryIndex):
        store = make_store(named, keys=MetadataKeys(title="name"))
        assert found(store, "the Mercury orbit") == {"m#0"}
        assert found(store, "the Venus express") == set()
        by_default = make_store(named)
        assert found(by_default, "the Venus express") == {"m#0"}
        keyed = with_keys(by_default, MetadataKeys(title="name"))
        assert type(keyed) is make_store
        assert found(keyed, "the Mercury orbit") == {"m#0"}
        assert with_keys(store, MetadataKeys(title="other")) is store  # its own keys stay


def test_a_long_text_of_first_words_takes_linear_time() -> None:
    store = MemoryStore(Chunk(f"{n}#0", f"{n}", "Hot.", 0, metadata={"title": f"word{n} orbit"}) for n in range(2_000))

    def seconds(words: int) -> float:
        text = " ".join(f"word{n % 5_000} other" for n in range(words))
        found(store, text)
        start = time.process_time()
        found(store, text)
        return time.process_time() - start

    assert seconds(80_000) < 12 * seconds(20_000) + 0.5
