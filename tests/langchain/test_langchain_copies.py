"""Different texts that share an id, an index or a hash, as LangChain's own chains make them: none is a copy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
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
