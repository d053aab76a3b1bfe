"""Chunks written into an index: once, in batches, resumed after a kill; and the state that they leave it in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import Chunk, ChunkRef, ConfigError, InputError, MemoryIndex
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.stores.ingest import IngestReport
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import chunks, embed, embed_query, execute, vectors


@pytest.fixture
def index(database_url: str) -> PostgresIndex:
    return PostgresIndex.create(database_url, dimensions=16)


def ids(index: PostgresIndex, *documents: str) -> list[str]:
    return sorted(chunk.id for chunk in index.fetch([ChunkRef(each) for each in documents]))


class Counted:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return embed(texts)


@pytest.mark.pooled
def test_a_changed_chunk_is_written_anew_and_one_that_left_its_document_goes(index: PostgresIndex):
    index.add([*chunks(), *chunks(document_id="other")], embed=embed, progress=False)
    changed = [replace(chunks()[0], text="Juniper."), *chunks()[2:]]
    embeddings = Counted()
    assert index.add(changed, embed=embeddings, replace=True, progress=False) == IngestReport(1, 3, 1)
    assert embeddings.texts == ["Juniper."]
    assert ids(index, "lab") == ["lab#0", "lab#2", "lab#3", "lab#4"]
    assert len(ids(index, "other")) == 5
    assert index.find_terms(FindTerms("juniper", 9, 0)).terms[0].chunk_count == 1
    assert str(IngestReport(1, 3, 1)) == "1 added, 3 unchanged, 1 deleted"


@pytest.mark.parametrize(
    "part", [slice(0, 2), slice(2, 5), slice(0, 1), slice(3, 4)], ids=["first", "second", "start", "one"]
)
def test_a_part_of_a_document_is_refused_before_anything_is_written(index: PostgresIndex, part: slice):
    index.add([*chunks(), *chunks(document_id="other")], embed=embed, progress=False)
    changed = [replace(chunk, text="Juniper.") for chunk in chunks()[part]]
    embeddings = Counted()
    with pytest.raises(InputError, match=r"'lab' has stored chunks .*\d, such as 'lab#\d'.*replace=True"):
        index.add([*chunks(document_id="new"), *changed], embed=embeddings, progress=False)
    assert embeddings.texts == []
    assert ids(index, "lab", "other") == sorted(
        chunk.id for name in ("lab", "other") for chunk in chunks(document_id=name)
    )
    assert ids(index, "new") == []
    assert index.add(changed, embed=embed, replace=True, progress=False).deleted == 5 - len(changed)
    assert ids(index, "lab") == [chunk.id for chunk in changed]


def test_a_part_of_a_document_in_an_iterator_is_refused_at_the_end_and_nothing_is_deleted(index: PostgresIndex):
    index.add(chunks(), embed=embed, progress=False)
    again = [replace(chunk, id=f"v2-{chunk.id}") for chunk in chunks()]
    with pytest.raises(InputError, match=r"'lab' has stored chunks that weren't given \(5, such as 'lab#0'"):
        index.add(iter(again), embed=embed, progress=False)
    assert len(ids(index, "lab")) == 10
    assert index.add(iter(again), embed=embed, replace=True, progress=False) == IngestReport(0, 5, 5)
    assert ids(index, "lab") == [chunk.id for chunk in again]


def test_chunks_without_vectors_are_found_by_words_and_embedded_later(index: PostgresIndex):
    assert index.add(chunks(), progress=False).added == 5
    words = index.find_terms(FindTerms("wheelchair", 9, 0))
    assert [one.chunk.id for one in index.search(SearchChunks(9, embed_query("x"), words, None))] == ["lab#3"]
    assert index.add(chunks(), embed=embed, progress=False) == IngestReport(5, 0, 0)
    assert len(index.search(SearchChunks(9, embed_query("x"), None, None))) == 5


class Model:
    """Embeddings of a model with a name, as LangChain's are; each name has vectors of its own."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(at == len(self.model)) for at in range(16)] for _ in texts]


def nearest(index: PostgresIndex, vector: list[float]) -> float:
    (found,) = index.search(SearchChunks(1, vector, None, None))
    assert found.similarity is not None
    return found.similarity


def test_an_id_of_another_document_is_refused_and_its_chunk_is_kept(index: PostgresIndex):
    """Two collections that both count from `handbook.pdf#0`."""
    theirs = Chunk("handbook.pdf#0", "a/handbook.pdf", "Leave is 25 days.", 0)
    ours = Chunk("handbook.pdf#0", "b/handbook.pdf", "Leave is 30 days.", 0)
    index.add([theirs], embed=embed, progress=False)
    embeddings = Counted()
    with pytest.raises(ConfigError, match=r"handbook.pdf#0.*document .a/handbook.pdf.*number_chunks"):
        index.add([*chunks(), ours], embed=embeddings, progress=False)
    assert index.fetch([ChunkRef("a/handbook.pdf")]) == [theirs]
    assert ids(index, "lab", "b/handbook.pdf") == []
    assert embeddings.texts == []
    with pytest.raises(ConfigError, match="chunks must be"):
        MemoryIndex([theirs, ours])


def test_other_vectors_of_the_same_texts_replace_the_stored_ones(index: PostgresIndex):
    first, second = ([[float(at == one) for at in range(16)]] * 5 for one in (3, 9))
    assert index.add(chunks(), first, progress=False) == IngestReport(5, 0, 0)
    assert index.add(chunks(), first, progress=False) == IngestReport(0, 5, 0)
    assert index.add(chunks(), second, progress=False) == IngestReport(5, 0, 0)
    assert nearest(index, second[0]) == pytest.approx(1)
    in_chunks = [replace(chunk, vector=first[0]) for chunk in chunks()]
    assert index.add(in_chunks, progress=False) == IngestReport(5, 0, 0)
    assert nearest(index, first[0]) == pytest.approx(1)


def test_another_model_embeds_what_is_stored_again(index: PostgresIndex):
    old, new = Model("small"), Model("larger")
    assert index.add(chunks(), embed=old, progress=False) == IngestReport(5, 0, 0)
    assert index.add(chunks(), embed=old.embed_documents, progress=False) == IngestReport(0, 5, 0)
    assert index.add(chunks(), embed=new, progress=False) == IngestReport(5, 0, 0)
    assert nearest(index, [float(at == len("larger")) for at in range(16)]) == pytest.approx(1)
    assert index.add(chunks(), embed=embed, progress=False) == IngestReport(
        0, 5, 0
    )  # a function has no name to compare
    assert index.add(chunks(), progress=False) == IngestReport(0, 5, 0)


def test_all_of_a_chunk_comes_back(index: PostgresIndex):
    chunk = Chunk(
        "a#1", "a", 'O\'Brien \\ \t\n\r 😀 "x" \\N', 1, 40, "a#0", "a#2", {"page": 3, "deep": {"é": [1, None]}}
    )
    index.add([chunk], progress=False)
    assert index.fetch([ChunkRef("a")]) == [chunk]
    bare = Chunk("b", "b", "")
    index.add([bare], progress=False)
    assert index.fetch([ChunkRef("b")]) == [bare]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([Chunk("a", "a", "x\0y")], InputError, "text of a chunk"),
        ([Chunk("a", "a", "\ud800")], InputError, "text of a chunk"),
        ([Chunk("a", "a", "x", metadata={"k": "\0"})], InputError, "metadata of chunk 'a'"),
        ([Chunk("a", "a", "x", metadata={"k": float("nan")})], InputError, "metadata of chunk 'a'"),
        (["text"], InputError, "chunks must be of Chunk"),
        ([Chunk("a", "a", "x"), Chunk("a", "a", "y")], ConfigError, "chunks must be of different ids"),
        ([Chunk("a", "a", "x"), Chunk("a", "b", "y")], ConfigError, "chunks must be of different ids"),
    ],
)
def test_what_cannot_be_stored_is_an_error(index: PostgresIndex, given: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        index.add(given, progress=False)


def test_metadata_may_spell_a_nul(index: PostgresIndex):
    spelled = {"escape": r"a\u0000b", "path": r"C:\\u0000"}
    index.add([Chunk("a", "a", "x", 0, metadata=spelled)], embed=embed, progress=False)
    (found,) = index.fetch([ChunkRef("a", 0)])
    assert {key: found.metadata[key] for key in spelled} == spelled
    (hit,) = index.search(SearchChunks(9, embed_query("x"), None, {"escape": spelled["escape"]}))
    assert hit.chunk.id == "a"


async def embed_later(texts: list[str]) -> list[list[float]]:
    return embed(texts)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda texts: [[1.0] * 15 for _ in texts], "embed must be of 16 dimensions"),
        (lambda texts: [[float("inf")] * 16 for _ in texts], "finite numbers"),
        (lambda texts: [[1.0] * 16], "one vector for each text"),
        (lambda texts: [[1.0] * 16 for _ in [*texts, "more"]], "one vector for each text"),
        ("no function", "embed must be a function"),
        (embed_later, "embed is called in a thread and can't be awaited"),
    ],
)
def test_vectors_that_do_not_fit_are_an_error(index: PostgresIndex, made: Any, message: str):
    with pytest.raises((ConfigError, InputError), match=message):
        index.add(chunks(), embed=made, progress=False)
    assert ids(index, "lab") == []


def test_a_framework_writes_to_its_own_table(index: PostgresIndex):
    with pytest.raises(ConfigError, match="call the vector store's own"):
        replace(index, table=replace(index.table, is_own=False)).add(chunks())


def test_the_state_of_an_index_is_measured_on_its_own_table(index: PostgresIndex, database_url: str):
    stored = [*chunks([f"text {at}" for at in range(300)]), Chunk("empty", "empty", "")]
    index.add(stored, vectors(301, 16), progress=False)
    state = index.check(sample=10, limit=5)
    assert (state.chunks, state.without_words, state.without_vector, state.missing_indexes) == (301, 1, 0, ())
    assert state.recall is not None
    assert state.recall > 0.9
    assert state.remedies == {}
    assert "recall of HNSW" in str(state)
    assert "missing indexes        none" in str(state)

    execute(
        database_url, "UPDATE chunks SET embedding = NULL WHERE chunk_index < 100", "DROP INDEX chunks_ctxassembly_hnsw"
    )
    execute(database_url, "SELECT pg_stat_force_next_flush()")
    state = index.check(sample=10)
    assert (state.without_vector, state.recall, state.missing_indexes) == (100, None, ("HNSW on the vectors",))
    assert set(state.remedies) >= {"without vector", "missing indexes"}
    assert "add(chunks, embed=...)" in str(state)
