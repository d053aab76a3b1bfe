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


def test_the_first_chunk_comes_of_each_document_that_the_text_mentions() -> None:
    store = MemoryStore(CHUNKS)
    assert found(store, "After the Mercury orbit it joined VENUS EXPRESS.") == {"m#0", "v#0"}
    assert found(store, "Mercury is not Venus; an orbit is no express.") == set()
    assert found(store, "这是水星探测器计划的一部分。") == {"水#0"}
    assert found(store, "Mercury Orbit", document_id="m") == set()  # not the document of the text itself
    assert store.fetch([ChunkRef("m", 1), ChunkRef("m", named_in="Venus Express")]) == [CHUNKS[0], CHUNKS[2]]


def test_documents_of_one_title_all_come() -> None:
    twice = [Chunk(f"{name}#0", name, "Hot.", 0, metadata={"title": "Mercury Orbit"}) for name in "ab"]
    assert found(MemoryStore(twice), "the Mercury orbit") == {"a#0", "b#0"}


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
