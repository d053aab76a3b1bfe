"""A PDF as its loader gives it, a page a document, split with `start_index` and without `chunk_index`.

The offsets begin anew on each page, or in each Markdown section. What reads as continuous has to be so.
"""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import chromadb
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter
from qdrant_client import models
from sqlalchemy import create_engine, event

from ctxassembly import AssemblyConfig, Chunk, MemoryStore, MetadataKeys
from ctxassembly.errors import ConfigError, NothingToJoinWarning
from langchain_ctxassembly import ContextAssembler, PGVectorNeighbors, VectorStoreNeighbors, number_chunks
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_samples import WordEmbeddings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from langchain_chroma import Chroma
    from langchain_qdrant import QdrantVectorStore

KEYS = MetadataKeys(document_id="source")
CONFIG = AssemblyConfig(keys=KEYS, neighbors="unfiltered")
GAP = "[...]"
NUMBERS = re.compile(r"p(\d+)w(\d+)")
PAGES, WORDS = 30, 300


def words(page: int, first: int = 0, last: int = WORDS) -> str:
    """Words that tell their place, so that what stands is told from what should."""
    return " ".join(f"p{page}w{at}" + ("." if at % 12 == 11 else "") for at in range(first, last))


def pdf(source: str = "report.pdf", pages: int = PAGES) -> list[Document]:
    """As PyPDFLoader gives them: `page` counts from 0, `page_label` is what is printed."""
    return [
        Document(
            page_content=words(page),
            metadata={
                "producer": "LaTeX",
                "source": source,
                "total_pages": pages,
                "page": page,
                "page_label": str(page + 1),
            },
        )
        for page in range(pages)
    ]


def split(documents: list[Document], size: int = 600, overlap: int = 100) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)
    pieces = splitter.split_documents(documents)
    # Ids as an index gives them: uuids, that say nothing of the place.
    numbers = Random(1)
    return [each.model_copy(update={"id": f"{numbers.getrandbits(64):016x}"}) for each in pieces]


def on(pieces: list[Document], page: int) -> list[Document]:
    return [each for each in pieces if each.metadata["page"] == page]


def breaks(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the text goes on without a marker, and shouldn't: the words before and after."""
    found = []
    for passage in text.split(GAP):
        places = [(int(page), int(word)) for page, word in NUMBERS.findall(passage)]
        for before, after in pairwise(places):
            follows = after == (before[0], before[1] + 1) or (before[1] == WORDS - 1 and after == (before[0] + 1, 0))
            if not follows:
                found.append((before, after))
    return found


def in_order(text: str) -> bool:
    places = [(int(page), int(word)) for page, word in NUMBERS.findall(text)]
    return places == sorted(places)


class Asked:
    """The rows that a database gave, statement by statement."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def note(self, _connection: Any, cursor: Any, *_: Any) -> None:
        self.rows.append(cursor.rowcount)


def with_metadata(kind: str, pieces: list[Document]) -> Any:
    if kind == "chroma":
        made: Any = Chroma(f"c{uuid.uuid4().hex}", WordEmbeddings(), client=chromadb.EphemeralClient())
        made.add_documents(pieces, ids=[each.id for each in pieces])
        return made
    for each in pieces:  # it gives back none of the ids
        each.id = chunk_from(Document(each.page_content), KEYS).id
    ids = {"ids": [str(uuid.uuid4()) for _ in pieces]}
    return QdrantVectorStore.from_documents(pieces, WordEmbeddings(), location=":memory:", **ids)


@pytest.fixture(params=["memory", "columns", "json", "old", "chroma", "qdrant"])
def store_of(request: pytest.FixtureRequest, database_url: str) -> Iterator[Callable[..., Any]]:
    """A function from documents to a store of neighbors over them; `asked` on it counts rows of Postgres."""
    ended: list[Callable[[], Any]] = []

    def make(pieces: list[Document], keys: MetadataKeys = KEYS) -> Any:
        if request.param == "memory":
            return MemoryStore([chunk_from(each, keys) for each in pieces])
        if request.param in ("chroma", "qdrant"):
            return VectorStoreNeighbors(with_metadata(request.param, pieces), keys=keys)
        asked = Asked()
        make.asked = asked  # type: ignore[attr-defined]
        if request.param == "old":
            connection = create_engine(database_url)
            event.listen(connection, "after_cursor_execute", asked.note)
            ended.append(connection.dispose)
            store: Any = PGVector(WordEmbeddings(), connection=connection, use_jsonb=True)
        else:
            engine = PGEngine.from_connection_string(database_url)
            event.listen(engine._pool.sync_engine, "after_cursor_execute", asked.note)
            ended.append(lambda: engine._run_as_sync(engine._pool.dispose()))
            named = [Column("source", "text"), Column("page", "integer"), Column("start_index", "integer")]
            columns = named if request.param == "columns" else []
            engine.init_vectorstore_table("chunks", 64, id_column=Column("id", "text"), metadata_columns=list(columns))
            store = PGVectorStore.create_sync(
                engine, WordEmbeddings(), "chunks", id_column="id", metadata_columns=[each.name for each in columns]
            )
        store.add_documents(pieces, ids=[each.id for each in pieces])
        asked.rows.clear()
        return PGVectorNeighbors(store, keys=keys)

    yield make
    for end in ended:
        end()


def test_chunks_far_apart_are_not_joined_because_there_is_a_store() -> None:
    """Without chunk_index a store by ids finds nothing; it used to make neighbors of whatever was retrieved."""
    text = " ".join(words(page) for page in range(PAGES))
    pieces = split([Document(page_content=text, metadata={"source": "a.txt"})])
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(pieces, ids=[each.id for each in pieces])
    assembler = ContextAssembler(config=CONFIG, store=VectorStoreNeighbors(store, keys=KEYS))
    first, second = pieces[3], pieces[-3]
    assert second.metadata["start_index"] - first.metadata["start_index"] > 50_000
    with pytest.warns(NothingToJoinWarning, match="no chunk_index"):
        (block,) = assembler.invoke([second, first])
    assert breaks(block.page_content) == []
    assert in_order(block.page_content)
    assert block.page_content.count(GAP) == 1


def test_offsets_of_different_pages_are_not_compared() -> None:
    """Pieces of one length touch by their offsets on whatever pages they are."""
    first, second = words(9, 0, 150), words(29, 150)
    page_9 = Document(id="a", page_content=first, metadata={"source": "r.pdf", "page": 9, "start_index": 0})
    page_29 = Document(id="b", page_content=second, metadata={"source": "r.pdf", "page": 29, "start_index": len(first)})
    (block,) = ContextAssembler(config=CONFIG).invoke([page_29, page_9])
    assert breaks(block.page_content) == []
    assert block.page_content.count(GAP) == 1


STAFF = (
    "Anna works in the garden and is responsible for all the roses and for the greenhouse with its tomatoes.",
    "Bert drives the delivery van and knows every street and every customer by name, so that nobody waits.",
    "Carla repairs bicycles in the workshop behind the station and she orders all of the spare parts herself.",
    "Dirk answers the telephone from eight until five and writes down each complaint in the blue book.",
)


@pytest.mark.parametrize("overlap", [0, 15])
@pytest.mark.parametrize("has_rows", [False, True])
@pytest.mark.parametrize("is_numbered", [False, True])
def test_records_of_one_file_never_go_on_in_each_other(overlap: int, has_rows: bool, is_numbered: bool) -> None:
    """A loader of JSON gives a document for each record, and the splitter counts from 0 in each."""
    loaded = [
        Document(text, metadata={"source": "staff.json", **({"seq_num": at} if has_rows else {})})
        for at, text in enumerate(STAFF, start=1)
    ]
    splitter = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=overlap, add_start_index=True)
    pieces = splitter.split_documents(loaded)
    pieces = number_chunks(pieces) if is_numbered else pieces
    assembler = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"))
    (block,) = assembler.invoke(pieces)
    for passage in block.page_content.split("\n", 1)[1].split(f"\n{GAP}\n"):
        # Only a record may go on without a break.
        assert all(any(line in text for text in STAFF) for line in passage.split("\n"))
    is_noted = any("contradict" in note for note in block.metadata["trace"]["notes"])
    assert is_noted is not has_rows
    assert all(piece.page_content in block.page_content for piece in pieces) or overlap


def test_pages_stand_in_their_order_whatever_was_retrieved_first() -> None:
    pieces = split(pdf())
    end_of_1, start_of_2 = on(pieces, 0)[-1], on(pieces, 1)[0]
    (block,) = ContextAssembler(config=CONFIG).invoke([start_of_2, end_of_1])
    assert in_order(block.page_content)


def test_what_reads_as_continuous_is_continuous(store_of: Any) -> None:
    pieces = split(pdf())
    assembler = ContextAssembler(config=CONFIG, store=store_of(pieces))
    draw = Random(1)
    for _ in range(12):
        hits = draw.sample(pieces, 8)
        (block,) = assembler.invoke(hits)
        assert breaks(block.page_content) == []
        assert in_order(block.page_content)


def test_neighbors_come_from_beside_the_hit_and_nothing_else_is_read(store_of: Any) -> None:
    pieces = split(pdf(pages=100))
    store = store_of(pieces)
    page = on(pieces, 41)
    hit = page[len(page) // 2]
    (block,) = ContextAssembler(config=CONFIG, store=store).invoke([hit])
    at = pieces.index(hit)
    assert set(block.metadata["chunk_ids"]) == {each.id for each in pieces[at - 1 : at + 2]}
    asked = getattr(store_of, "asked", None)
    assert asked is None or sum(asked.rows) <= 6


def test_text_goes_on_across_pages(store_of: Any) -> None:
    pieces = split(pdf())
    hit = on(pieces, 4)[-1]
    (block,) = ContextAssembler(config=CONFIG, store=store_of(pieces)).invoke([hit])
    assert f"p4w{WORDS - 1}" in block.page_content
    assert "p5w0" in block.page_content
    assert GAP not in block.page_content
    assert breaks(block.page_content) == []
    assert block.metadata["citation"]["pages"] == [5, 6]


def test_the_source_serves_as_document_without_a_word_in_the_keys(store_of: Any) -> None:
    pieces = split(pdf(pages=100))
    keys = MetadataKeys()
    page = on(pieces, 41)
    at = pieces.index(page[len(page) // 2])
    config = AssemblyConfig(neighbors="unfiltered")
    (block,) = ContextAssembler(config=config, store=store_of(pieces, keys)).invoke([pieces[at], page[-1]])
    last = pieces.index(page[-1])
    wanted = {each.id for place in (at, last) for each in pieces[place - 1 : place + 2]}
    assert set(block.metadata["chunk_ids"]) == wanted
    assert breaks(block.page_content) == []
    asked = getattr(store_of, "asked", None)
    assert asked is None or sum(asked.rows) <= 9


async def test_the_same_awaited(store_of: Any) -> None:
    pieces = split(pdf())
    assembler = ContextAssembler(config=CONFIG, store=store_of(pieces))
    hits = [on(pieces, 4)[-1], on(pieces, 9)[1]]
    (awaited,) = await assembler.ainvoke(hits)
    assert "p5w0" in awaited.page_content
    assert breaks(awaited.page_content) == []


def test_pages_that_are_not_next_to_each_other_are_apart(store_of: Any) -> None:
    """Page 5 is blank, or wasn't indexed: what comes before it and after it are no neighbors."""
    pieces = [each for each in split(pdf()) if each.metadata["page"] != 5]
    (block,) = ContextAssembler(config=CONFIG, store=store_of(pieces)).invoke([on(pieces, 4)[-1], on(pieces, 6)[0]])
    assert block.page_content.count(GAP) == 1
    assert breaks(block.page_content) == []


def test_the_next_page_of_one_document_is_not_that_of_another(store_of: Any) -> None:
    pieces = split([*pdf("a.pdf"), *pdf("b.pdf")])
    ours = [each for each in pieces if each.metadata["source"] == "a.pdf"]
    (block,) = ContextAssembler(config=CONFIG, store=store_of(pieces)).invoke([on(ours, 4)[-1]])
    assert set(block.metadata["chunk_ids"]) <= {each.id for each in ours}


MARKDOWN = "\n\n".join(f"## Section {page}\n\n{words(page)}" for page in range(12))


def sections() -> list[Document]:
    headers = MarkdownHeaderTextSplitter([("##", "Header 2")]).split_text(MARKDOWN)
    for each in headers:
        each.metadata["source"] = "a.md"
    return split(headers)


def test_offsets_that_begin_anew_in_each_section(store_of: Any) -> None:
    pieces = sections()
    assembler = ContextAssembler(config=CONFIG, store=store_of(pieces))
    draw = Random(1)
    for _ in range(6):
        (block,) = assembler.invoke(draw.sample(pieces, 6))
        assert breaks(block.page_content) == []


def test_a_section_brings_its_own_neighbors(store_of: Any) -> None:
    pieces = sections()
    own = [each for each in pieces if each.metadata["Header 2"] == "Section 7"]
    (block,) = ContextAssembler(config=CONFIG, store=store_of(pieces)).invoke([own[1]])
    assert set(block.metadata["chunk_ids"]) == {each.id for each in own[:3]}
    assert GAP not in block.page_content


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
@pytest.mark.parametrize("size", [600, 6_000])  # 6,000 characters are more than are looked through first
def test_two_neighbors_in_a_long_text_are_found(kind: str, size: int) -> None:
    text = " ".join(words(page) for page in range(PAGES))
    pieces = split([Document(page_content=text, metadata={"source": "a.txt"})], size)
    stored = with_metadata(kind, pieces)
    config = replace(CONFIG, max_tokens=100_000)
    assembler = ContextAssembler(config=config, store=VectorStoreNeighbors(stored, keys=KEYS))
    for at in (0, 9, len(pieces) - 1):
        (block,) = assembler.invoke([pieces[at]])
        assert set(block.metadata["chunk_ids"]) == {each.id for each in pieces[max(at - 1, 0) : at + 2]}
        assert breaks(block.page_content) == []
        assert GAP not in block.page_content
    (block,) = assembler.invoke([pieces[1], pieces[-2], pieces[5]])
    assert block.page_content.count(GAP) == 2
    assert len(block.metadata["chunk_ids"]) == 9


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_what_stands_beside_an_offset_obeys_the_filter(kind: str) -> None:
    pieces = split(pdf(pages=3))
    for at, each in enumerate(pieces):
        each.metadata["tenant"] = "theirs" if at % 3 == 1 else "ours"
    stored = with_metadata(kind, pieces)
    match = models.FieldCondition(key="metadata.tenant", match=models.MatchValue(value="ours"))
    own = {"tenant": "ours"} if kind == "chroma" else models.Filter(must=[match])
    for condition in (own, lambda each: each.metadata["tenant"] == "ours"):
        store = VectorStoreNeighbors(stored, filter=condition, keys=KEYS)
        for hit in pieces:
            for block in ContextAssembler(config=AssemblyConfig(keys=KEYS), store=store).invoke([hit]):
                ids = {*block.metadata["chunk_ids"]} - {hit.id}
                assert ids <= {each.id for each in pieces if each.metadata["tenant"] == "ours"}
                assert bool(ids) == (hit.metadata["tenant"] == "ours")  # a hit that it excludes brings none


def test_a_store_that_finds_no_offsets_is_not_asked_for_them() -> None:
    class Plain:
        def __init__(self) -> None:
            self.asked: list[Any] = []

        def fetch(self, refs: Any) -> list[Chunk]:
            self.asked += refs
            return []

    plain = Plain()
    with pytest.warns(NothingToJoinWarning, match="no chunk_index"):
        ContextAssembler(config=CONFIG, store=plain).invoke([on(split(pdf()), 4)[1]])
    assert [(each.around_offset, each.index, each.chunk_id) for each in plain.asked] == [(None, None, None)]


def unlabeled(pieces: list[Document]) -> list[Document]:
    """As PyMuPDFLoader gives them: `page` counts from 0, and there is no label."""
    return [
        each.model_copy(update={"metadata": {key: each.metadata[key] for key in ("source", "page", "start_index")}})
        for each in pieces
    ]


def test_pages_that_count_from_0_are_cited_from_1() -> None:
    first, second = on(unlabeled(split(pdf())), 0)[-1], on(unlabeled(split(pdf())), 1)[0]
    (block,) = ContextAssembler(config=AssemblyConfig(keys=KEYS, page_base=0)).invoke([second, first])
    assert block.page_content.startswith("[1] Source: report.pdf, pages 1-2\n")
    assert block.metadata["citation"]["pages"] == [1, 2]
    assert block.metadata["citation"]["page"] == 2
    by_keys = AssemblyConfig(keys=MetadataKeys(document_id="source", page_base=0))
    assert ContextAssembler(config=by_keys).invoke([second, first])[0].page_content == block.page_content


def test_a_printed_label_stays_as_it_is_whatever_the_numbers_begin_with() -> None:
    (block,) = ContextAssembler(config=AssemblyConfig(keys=KEYS, page_base=0)).invoke([on(split(pdf()), 4)[0]])
    assert block.page_content.startswith("[1] Source: report.pdf, page 5\n")


def test_no_header_says_page_0() -> None:
    first = on(unlabeled(split(pdf())), 0)[0]
    for format_ in ("numbered", "source", "xml", "grouped"):
        (block,) = ContextAssembler(config=AssemblyConfig(keys=KEYS, format=format_)).invoke([first])
        header = block.page_content.split("p0w0", 1)[0]
        assert "report.pdf" in header
        assert "0" not in header
        assert block.metadata["citation"]["page"] is None


@pytest.mark.parametrize("wrong", [2, -1, True, "0"])
def test_a_page_base_that_is_neither_0_nor_1_is_an_error(wrong: Any) -> None:
    for make in (lambda: AssemblyConfig(page_base=wrong), lambda: MetadataKeys(page_base=wrong)):
        with pytest.raises(ConfigError, match="page_base"):
            make()


def test_grouping_and_look_up_may_have_names_of_their_own(store_of: Any) -> None:
    """Cited by the file, stored under an id of each page that another system gave."""
    keys = MetadataKeys(document_id="source", lookup_id="doc")
    pieces = split(pdf())
    for each in pieces:
        each.metadata["doc"] = f"page-{each.metadata['page']}-of-report"
    page = on(pieces, 7)
    config = AssemblyConfig(keys=keys, neighbors="unfiltered")
    (block,) = ContextAssembler(config=config, store=store_of(pieces, keys)).invoke([page[1], on(pieces, 2)[0]])
    assert {each.id for each in page[:3]} < set(block.metadata["chunk_ids"])
    assert block.metadata["citation"]["document_id"] == "report.pdf"
    assert breaks(block.page_content) == []
