"""Different texts that share an id, an index or a hash, as LangChain's own chains make them: none is a copy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import ContextAssembler, VectorStoreNeighbors
from langchain_samples import WORDS

# What a caller's filter means for neighbors is tested in test_langchain_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")


def lines(name: str, count: int = 12) -> str:
    """Sentences of which no two are alike."""
    return " ".join(f"Rule {name}{n} says that the {WORDS[n % len(WORDS)]} is kept by guard {n}." for n in range(count))


def stored(texts: dict[str, str], **metadata: object) -> InMemoryVectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(text, id=each, metadata=metadata) for each, text in texts.items()])
    return store


def assembled(documents: Sequence[Document], **more: object) -> Context:
    return ContextAssembler(**more).as_context().invoke(list(documents))  # type: ignore[arg-type]


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("ids", [False, True])
def test_pieces_that_a_splitter_gave_the_index_of_their_chunk_all_stand(offsets: bool, ids: bool) -> None:
    """Upstream's pipeline: two chunks are cut into six pieces, each with the metadata of the whole chunk."""
    chunks = [
        Document(
            lines(name), id=name if ids else None, metadata={"document_id": "A", "chunk_index": at, "source": "a.txt"}
        )
        for at, name in ((0, "p"), (5, "q"))
    ]
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=230, chunk_overlap=0, separators=[". "], keep_separator="end", add_start_index=offsets
    )
    pipeline = DocumentCompressorPipeline(transformers=[splitter, ContextAssembler()])
    (block,) = pipeline.compress_documents(chunks, "Who keeps the harbour?")
    pieces = splitter.split_documents(chunks)
    assert len(pieces) >= 6
    for piece in pieces:
        assert piece.page_content in block.page_content
    decisions = block.metadata["trace"]["decisions"]
    assert [each["outcome"] for each in decisions] == ["kept"] * len(pieces)
    assert sum("index 0 occurs twice" in note for note in block.metadata["trace"]["notes"]) == len(pieces) / 2 - 1
    assert block.metadata["chunk_ids"] == ["A#0", "A#5"]
    assert block.page_content.count("[...]") == (1 if offsets else len(pieces) - 1)


def test_pieces_are_read_by_their_offsets_and_say_nothing_of_offsets_in_the_document() -> None:
    chunk = Document(lines("p"), metadata={"document_id": "A", "chunk_index": 3, "start_index": 9_000})
    splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=80, add_start_index=True)
    pieces = splitter.split_documents([chunk])
    context = assembled(pieces[::-1])
    assert chunk.page_content in context.text
    assert {each.start for each in context.provenance} == {None}


@pytest.mark.parametrize("overlap", [0, 80])
def test_what_stands_beside_pieces_of_a_chunk_is_joined_by_its_text_alone(overlap: int) -> None:
    whole = lines("p", 36)
    cut = RecursiveCharacterTextSplitter(chunk_size=700, chunk_overlap=100)
    chunks = [
        Document(text, id=f"A{at}", metadata={"document_id": "A", "chunk_index": at})
        for at, text in enumerate(cut.split_text(whole))
    ]
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(chunks)
    pieces = RecursiveCharacterTextSplitter(chunk_size=260, chunk_overlap=overlap).split_documents([chunks[1]])
    by_id = VectorStoreNeighbors(store, id_of=lambda _, at: f"A{at}")
    assembler = ContextAssembler(config=AssemblyConfig(granularity="chunk"), store=by_id)
    context = assembler.as_context().invoke([pieces[1], pieces[0]])
    for each in (chunks[0], pieces[0], pieces[1]):
        assert each.page_content in context.text.replace("\n[...]\n", " ") or each.page_content in context.text
    # The second piece is not the end of its chunk, so the next chunk doesn't go on there.
    joined = [[piece.candidate.chunk.id for piece in passage.pieces] for passage in context.passages]
    assert not any("A2" in ids and len(ids) > 1 for ids in joined)


@pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")  # an ordinary index, without numbers
@pytest.mark.parametrize("kind", ["ensemble", "merger"])
@pytest.mark.parametrize("described", [True, False])
def test_two_stores_that_count_their_ids_from_0_lose_nothing(kind: str, described: bool) -> None:
    texts = {
        "lease": {"0": "The notice period is three months.", "1": "Rent is paid in advance."},
        "gym": {"0": "Membership ends after one month.", "1": "Towels are free."},
    }
    stores: list[BaseRetriever] = [
        stored(each, **({"document_id": name, "source": f"{name}.txt"} if described else {})).as_retriever()
        for name, each in texts.items()
    ]
    both: BaseRetriever = (
        EnsembleRetriever(retrievers=stores) if kind == "ensemble" else MergerRetriever(retrievers=stores)
    )
    found = both.invoke("How long is the notice?")
    assert len(found) == 4
    context = assembled(found)
    for each in texts.values():
        for text in each.values():
            assert text in context.text
    assert sorted(each for citation in context.citations for each in citation.chunk_ids) == ["0", "0", "1", "1"]
    assert len(context.citations) == (2 if described else 4)
    notes = [note for note in context.trace.notes if "its id is another text's" in note]
    assert len(notes) == 2


def test_the_same_text_from_two_stores_stands_once_whatever_its_id() -> None:
    stores = [stored({each: "The notice period is three months."}, document_id=each) for each in ("0", "1")]
    found = MergerRetriever(retrievers=[store.as_retriever() for store in stores]).invoke("notice")
    context = assembled(found)
    assert context.text.count("three months") == 1
    assert [each.outcome for each in context.trace.decisions] == ["kept", "duplicate"]


@pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")  # an ordinary index, without numbers
def test_a_hash_of_the_whole_file_makes_no_chunk_a_copy() -> None:
    texts = {str(n): f"Clause {n} of the lease is about the {WORDS[n]}." for n in range(3)}
    found = stored(texts, source="lease.txt", content_hash="d41d8cd98f").similarity_search("clause", k=3)
    context = assembled(found)
    for text in texts.values():
        assert text in context.text
    assert "dedup: 2 chunks have the content hash of another text, compared by the texts alone" in context.trace.notes


def test_scores_are_those_of_the_text_that_is_cited() -> None:
    found = [
        Document("Three months.", id="0", metadata={"document_id": "lease", "score": 0.9}),
        Document("One month.", id="0", metadata={"document_id": "gym", "score": 0.4}),
    ]
    blocks = ContextAssembler().compress_documents(found, "How long?")
    assert [each.metadata["scores"] for each in blocks] == [{"0": 0.9}, {"0": 0.4}]
