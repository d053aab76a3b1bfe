"""A PDF as its loader gives it, a page a document, split with `start_index` and without `chunk_index`.

The offsets begin anew on each page, or in each Markdown section. What reads as continuous has to be so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, MemoryStore, MetadataKeys
from langchain_ctxassembly import ContextAssembler, PGVectorNeighbors, VectorStoreNeighbors
from langchain_ctxassembly.convert.documents import chunk_from
from postgres_stores import KINDS, PostgresStores
from vector_stores import chroma, matching, qdrant

KEYS = MetadataKeys(document_id="source")
CONFIG = AssemblyConfig(keys=KEYS, neighbors="unfiltered", cite="document")
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


def with_metadata(kind: str, pieces: list[Document]) -> Any:
    if kind == "chroma":
        return chroma(pieces, [each.id or "" for each in pieces])
    for each in pieces:  # it gives back none of the ids
        each.id = chunk_from(Document(each.page_content), KEYS).id
    return qdrant(pieces)


@pytest.fixture(params=["memory", *KINDS, "chroma", "qdrant"])
def store_of(request: pytest.FixtureRequest, database_url: str) -> Iterator[Callable[..., Any]]:
    """A function from documents to a store of neighbors over them."""
    columns = {"source": "text", "page": "integer", "start_index": "integer"}
    with PostgresStores(database_url) as stores:

        def make(pieces: list[Document], keys: MetadataKeys = KEYS) -> Any:
            if request.param == "memory":
                return MemoryStore([chunk_from(each, keys) for each in pieces])
            if request.param in ("chroma", "qdrant"):
                return VectorStoreNeighbors(with_metadata(request.param, pieces), keys=keys)
            return PGVectorNeighbors(stores.make(request.param, pieces, columns=columns), keys=keys)

        yield make


def test_offsets_of_different_pages_are_not_compared() -> None:
    """Pieces of one length touch by their offsets on whatever pages they are."""
    first, second = words(9, 0, 150), words(29, 150)
    page_9 = Document(id="a", page_content=first, metadata={"source": "r.pdf", "page": 9, "start_index": 0})
    page_29 = Document(id="b", page_content=second, metadata={"source": "r.pdf", "page": 29, "start_index": len(first)})
    (block,) = ContextAssembler(config=CONFIG).invoke([page_29, page_9])
    assert breaks(block.page_content) == []
    assert block.page_content.count(GAP) == 1


def test_what_reads_as_continuous_is_continuous(store_of: Any) -> None:
    pieces = split(pdf())
    assembler = ContextAssembler(config=CONFIG, store=store_of(pieces))
    draw = Random(1)
    for _ in range(12):
        hits = draw.sample(pieces, 8)
        (block,) = assembler.invoke(hits)
        assert breaks(block.page_content) == []
        assert in_order(block.page_content)


def test_neighbors_come_from_beside_the_hit(store_of: Any) -> None:
    pieces = split(pdf(pages=100))
    store = store_of(pieces)
    page = on(pieces, 41)
    hit = page[len(page) // 2]
    (block,) = ContextAssembler(config=CONFIG, store=store).invoke([hit])
    at = pieces.index(hit)
    assert set(block.metadata["chunk_ids"]) == {each.id for each in pieces[at - 1 : at + 2]}


def test_text_goes_on_across_pages(store_of: Any) -> None:
    pieces = split(pdf())
    hit = on(pieces, 4)[-1]
    (block,) = ContextAssembler(config=CONFIG, store=store_of(pieces)).invoke([hit])
    assert f"p4w{WORDS - 1}" in block.page_content
    assert "p5w0" in block.page_content
    assert GAP not in block.page_content
    assert breaks(block.page_content) == []
    assert block.metadata["citation"]["pages"] == [5, 6]


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
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_what_stands_beside_an_offset_obeys_the_filter(kind: str) -> None:
    pieces = split(pdf(pages=3))
    for at, each in enumerate(pieces):
        each.metadata["tenant"] = "theirs" if at % 3 == 1 else "ours"
    stored = with_metadata(kind, pieces)
    own: Any = {"tenant": "ours"} if kind == "chroma" else matching(tenant="ours")
    for condition in (own, lambda each: each.metadata["tenant"] == "ours"):
        store = VectorStoreNeighbors(stored, filter=condition, keys=KEYS)
        for hit in pieces:
            for block in ContextAssembler(config=AssemblyConfig(keys=KEYS, cite="document"), store=store).invoke([hit]):
                ids = {*block.metadata["chunk_ids"]} - {hit.id}
                assert ids <= {each.id for each in pieces if each.metadata["tenant"] == "ours"}
                assert bool(ids) == (hit.metadata["tenant"] == "ours")  # a hit that it excludes brings none


def test_grouping_and_look_up_may_have_names_of_their_own(store_of: Any) -> None:
    """Cited by the file, stored under an id of each page that another system gave."""
    keys = MetadataKeys(document_id="source", lookup_id="doc")
    pieces = split(pdf())
    for each in pieces:
        each.metadata["doc"] = f"page-{each.metadata['page']}-of-report"
    page = on(pieces, 7)
    config = AssemblyConfig(keys=keys, neighbors="unfiltered", cite="document")
    (block,) = ContextAssembler(config=config, store=store_of(pieces, keys)).invoke([page[1], on(pieces, 2)[0]])
    assert {each.id for each in page[:3]} < set(block.metadata["chunk_ids"])
    assert block.metadata["citation"]["document_id"] == "report.pdf"
    assert breaks(block.page_content) == []
