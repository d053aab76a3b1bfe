"""What readers and splitters write into the metadata of one document's chunks costs no neighbors, and lets none in.

Where nobody knows how the caller filters, a neighbor has to agree with its hit on every key but those that vary
within a document. The first tables show which ordinary indexes lose nothing by it, the others that no tenant, group,
owner or version passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from pipelines import LANGCHAIN, LLAMAINDEX, VARYING

pytestmark = [
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning"),
]

EVERYTHING = AssemblyConfig(window=0, dedup="none", granularity="chunk", max_tokens=1_000_000)
"""Leaves no chunk out."""
CONFIG = AssemblyConfig(dedup="none", granularity="chunk")
Metadata = dict[str, Any]


def kept_by(chunks: Sequence[Chunk], place: int, config: AssemblyConfig = CONFIG) -> set[str]:
    """The neighbors that the chunk at `place` gets, where nobody knows how the caller filters."""
    context = assemble([Hit(chunks[place])], config, store=MemoryStore(chunks))
    assert context.trace.unscoped is not None
    read = {chunk_id for passage in context.passages for chunk_id in passage.chunk_ids}
    assert bool(context.trace.unscoped) == (len(read) < len(within_reach(chunks, place)) + 1)
    return read - {chunks[place].id}


def within_reach(chunks: Sequence[Chunk], place: int) -> set[str]:
    return {chunk.id for at, chunk in enumerate(chunks) if abs(at - place) == 1}


def one_document(chunks: Iterable[Chunk]) -> list[Chunk]:
    """`chunks` as a store keeps them that knows their document and their order."""
    return [
        replace(each, id=f"D#{place}", document_id="D", index=place, start=None, prev_id=None, next_id=None)
        for place, each in enumerate(chunks)
    ]


def of_two(first: Metadata, second: Metadata) -> list[Chunk]:
    """Two chunks of one document, next to each other."""
    return one_document(Chunk("", "", text, metadata=each) for text, each in (("First.", first), ("Next.", second)))


# What can be run here


def langchain(make: Callable[[Path], Any]) -> Callable[[Path], list[Chunk]]:
    return lambda files: read_by(ContextAssembler(config=EVERYTHING).as_context().invoke(make(files)))


def llamaindex(make: Callable[[Path], Any]) -> Callable[[Path], list[Chunk]]:
    return lambda files: read_by(
        ContextAssemblyPostprocessor(config=EVERYTHING).context([NodeWithScore(node=node) for node in make(files)])
    )


def read_by(context: Context) -> list[Chunk]:
    """The chunks as the adapter has read them, in the order in which they were handed in."""
    candidates = {piece.candidate.rank: piece.candidate for passage in context.passages for piece in passage.pieces}
    return [candidates[rank].chunk for rank in sorted(candidates)]


RUN = {name: langchain(make) for name, make in LANGCHAIN.items()} | {
    name: llamaindex(make) for name, make in LLAMAINDEX.items()
}


NAMED: dict[str, tuple[str, ...]] = {
    "LangChain LanguageParser": ("content_type",),
    "LangChain text splitters, JavaScript": ("from", "to"),
    "LangChain TimeWeightedVectorStoreRetriever, of the hits": ("created_at",),
    "Unstructured by title": ("category",),
    "Unstructured elements": ("category", "parent_id"),
    "Unstructured elements with links, emphasis and pictures": ("category",),
    "LlamaIndex HTMLNodeParser": ("tag",),
}
"""The keys that others grant access by, too: without these in `varying_keys` the neighbors of these tools stay out."""


def config_for(tool: str) -> AssemblyConfig:
    return replace(CONFIG, varying_keys=NAMED.get(tool, ()))


def test_what_keeps_ordinary_neighbors_out_is_named_in_the_trace() -> None:
    for tool, keys in NAMED.items():
        if tool in WRITTEN:
            chunks = of_two(*WRITTEN[tool])
            trace = assemble([Hit(chunks[0])], CONFIG, store=MemoryStore(chunks)).trace
            assert {path.rpartition(".")[2] for path in trace.unscoped or ()} == set(keys)


@pytest.mark.parametrize("pipeline", RUN)
def test_no_index_loses_neighbors_by_what_its_reader_and_splitter_write(files: Path, pipeline: str) -> None:
    varying = VARYING.get(pipeline, set())
    chunks = one_document(RUN[pipeline](files))

    assert len(chunks) >= 3
    assert {key for chunk in chunks for key, _ in chunk.metadata.items() ^ chunks[1].metadata.items()} <= varying
    assert any(chunk.metadata != chunks[1].metadata for chunk in chunks) == bool(varying)
    for place in range(len(chunks)):
        assert kept_by(chunks, place, config_for(pipeline)) == within_reach(chunks, place)


# What other tools write

PDF = {"source": "a.pdf", "producer": "LaTeX", "total_pages": 9, "author": "Smith", "title": "The valley"}
FILE = {"file_path": "/in/a.pdf", "file_name": "a.pdf", "file_type": "application/pdf", "file_size": 512}
PAGE = {"file_directory": "/in", "filename": "a.pdf", "filetype": "application/pdf", "languages": ["eng", "deu"]}
CORNERS = {"points": [[72.0, 72.0], [72.0, 96.5]], "system": "PixelSpace", "layout_width": 612, "layout_height": 792}
DOCLING = {
    "schema_name": "docling_core.transforms.chunker.DocMeta",
    "version": "1.0.0",
    "origin": {"filename": "a.pdf"},
}

WRITTEN: dict[str, tuple[Metadata, Metadata]] = {
    "LangChain PyPDFLoader": (PDF | {"page": 3, "page_label": "iv"}, PDF | {"page": 4, "page_label": "1"}),
    "LangChain PyMuPDFLoader, PyPDFium2Loader": (PDF | {"page": 0}, PDF | {"page": 1}),
    "LangChain JSONLoader": ({"source": "a.json", "seq_num": 1}, {"source": "a.json", "seq_num": 2}),
    "LangChain HTMLHeaderTextSplitter": (
        {"Header 1": "Foo", "Header 2": "Bar"},
        {"Header 1": "Foo", "Header 2": "Baz", "Header 3": "Qux"},
    ),
    "LangChain text splitters, JavaScript": (
        {"source": "a.txt", "loc": {"lines": {"from": 1, "to": 9}}},
        {"source": "a.txt", "loc": {"lines": {"from": 9, "to": 17}}},
    ),
    "LangChain AzureSearch": (
        {"source": "a.md", "@search.score": 0.8, "@search.reranker_score": 2.1},
        {"source": "a.md"},
    ),
    "LangChain Cohere rerank, over the hits alone": ({"source": "a.md", "relevance_score": 0.99}, {"source": "a.md"}),
    "LangChain TimeWeightedVectorStoreRetriever, of the hits": (
        {"source": "a.md", "buffer_idx": 0, "created_at": 1.0, "last_accessed_at": 9.5},
        {"source": "a.md", "buffer_idx": 1, "created_at": 2.0},
    ),
    "LangChain QdrantVectorStore": (
        {"source": "a.md", "_id": "6f1c", "_collection_name": "docs"},
        {"source": "a.md", "_id": "93ab", "_collection_name": "docs"},
    ),
    "LangChain Chroma, which drops None": ({"source": "a.md", "section": None, "lang": None}, {"source": "a.md"}),
    "Unstructured by title": (
        PAGE | {"page_number": 1, "category": "CompositeElement", "element_id": "f1", "orig_elements": "eJzNl"},
        PAGE | {"page_number": 2, "category": "Table", "element_id": "c0", "text_as_html": "<table></table>"},
    ),
    "Unstructured elements": (
        PAGE | {"category": "Title", "element_id": "f1", "category_depth": 0, "coordinates": CORNERS},
        PAGE
        | {"category": "NarrativeText", "element_id": "c0", "parent_id": "f1", "coordinates": CORNERS | {"points": []}},
    ),
    "Unstructured elements with links, emphasis and pictures": (
        PAGE
        | {
            "category": "NarrativeText",
            "element_id": "f1",
            "link_texts": ["here"],
            "link_urls": ["https://a.example"],
            "link_start_indexes": [7],
            "emphasized_text_contents": ["wool"],
            "emphasized_text_tags": ["b"],
            "is_continuation": True,
        },
        PAGE
        | {
            "category": "Image",
            "element_id": "c0",
            "image_path": "/in/figure-1.jpg",
            "image_mime_type": "image/jpeg",
            "detection_class_prob": 0.93,
            "header_footer_type": "primary",
        },
    ),
    "Docling, its pages as a list": (
        {"filename": "a.pdf", "page_numbers": [3, 4], "title": "Wool"},
        {"filename": "a.pdf", "page_numbers": [4], "title": None},
    ),
    "LangChain DoclingLoader": (
        {"source": "a.pdf", "dl_meta": DOCLING | {"headings": ["1 Wool"], "doc_items": [{"self_ref": "#/texts/1"}]}},
        {
            "source": "a.pdf",
            "dl_meta": DOCLING | {"doc_items": [{"self_ref": "#/tables/0"}], "captions": ["Table 1"]},
        },
    ),
    "LlamaIndex PDF readers": (FILE | {"page_label": "iv"}, FILE | {"page_label": "1"}),
    "LlamaIndex SentenceTransformerRerank, of the hits": (FILE | {"retrieval_score": 0.6}, FILE),
    "LlamaIndex EntityExtractor": (FILE | {"entities": ["Alida", "Berend"]}, FILE | {"entities": []}),
    "LlamaIndex HTMLNodeParser": ({"tag": "h1", "url": "https://a.example"}, {"tag": "p", "url": "https://a.example"}),
    "Haystack DocumentSplitter": (
        {"source_id": "5e", "page_number": 1, "split_id": 0, "split_idx_start": 0, "_split_overlap": []},
        {
            "source_id": "5e",
            "page_number": 2,
            "split_id": 1,
            "split_idx_start": 90,
            "_split_overlap": [{"doc_id": "77", "range": [0, 12]}],
        },
    ),
    "Haystack MarkdownHeaderSplitter": (
        {"source_id": "5e", "header": "Wool", "parent_headers": ["The valley"]},
        {"source_id": "5e", "header": "Dyers", "parent_headers": ["The valley", "Wool"]},
    ),
    "Haystack CSVDocumentSplitter": (
        {"source_id": "5e", "split_id": 0, "row_idx_start": 0, "col_idx_start": 0},
        {"source_id": "5e", "split_id": 1, "row_idx_start": 7, "col_idx_start": 0},
    ),
}


@pytest.mark.parametrize("tool", WRITTEN)
def test_no_index_loses_neighbors_by_what_other_tools_write(tool: str) -> None:
    first, second = WRITTEN[tool]
    for chunks in (of_two(first, second), of_two(second, first)):
        assert kept_by(chunks, 0, config_for(tool)) == {"D#1"}


@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        # LangChain's ParentDocumentRetriever keeps the parent's id under a key that others keep a document under.
        ("doc_id", {"doc_id": "one parent"}, {"doc_id": "the next one"}),
        # LangChain's ExperimentalMarkdownSyntaxTextSplitter, of a fenced block.
        ("Code", {"Header 1": "Wool", "Code": "python"}, {"Header 1": "Wool"}),
        # LlamaIndex's DocumentContextExtractor, under the key that it has if it is given none.
        ("context", {"context": "On wool."}, {"context": "On dyers."}),
        ("madde_no", {"madde_no": 4}, {"madde_no": 5}),
    ],
)
def test_neighbors_that_a_key_of_ones_own_keeps_out_come_in_once_it_is_named(
    key: str, first: Metadata, second: Metadata
) -> None:
    assert kept_by(of_two(first, second), 0) == set()
    assert kept_by(of_two(first, second), 0, replace(CONFIG, varying_keys=(key,))) == {"D#1"}


# What must keep two chunks apart

KEEPING_APART = """
    tenant tenant_id tenantId tenants org org_id organization organisation organizations company customer customer_id
    client client_id account account_id workspace workspace_id project project_id owner owner_id owners user user_id
    userId users oid oids team team_id department role roles group groups group_ids allowed_groups acl acls
    access access_level access_group accessRoles permission permissions permitted authorized_identities scope
    visibility is_public public private confidential classification sensitivity clearance level security_level
    namespace collection collection_id _collection_name dataset dataset_id kb_id knowledge_base_id source source_id
    file_id doc_id document_key folder folder_id session_id thread_id chat_id patient_id case_id matter_id region
    country language status state published draft deleted version revision is_latest valid_from valid_to valid_until
    category type tag content_type parent_id updated_at created_at content_hash file_hash
    effective_date effective_from expires expires_at tags labels label segment audience order from to
"""
VALUES: tuple[tuple[Any, Any], ...] = (
    ("ours", "theirs"),
    (1, 2),
    (True, False),
    (["ours"], ["theirs"]),
    (["ours", "shared"], ["shared"]),
    ({"name": "ours"}, {"name": "theirs"}),
    ("ours", None),
)


def pairs_of(metadata: Metadata, other: Metadata, key: str, one: Any, two: Any) -> Iterable[tuple[Metadata, Metadata]]:
    """The same two chunks, one under `one` and the other under `two`, at the top and below another key."""
    yield metadata | {key: one}, other | {key: two}
    yield metadata | {"m": {key: one}}, other | {"m": {key: two}}
    if one is not None:
        yield metadata | {key: one}, other


@pytest.mark.parametrize("key", KEEPING_APART.split())
def test_no_neighbor_comes_in_from_another_tenant_group_owner_or_version(key: str) -> None:
    ordinary = {"file_name": "a.md", "page": 3, "title": "Wool"}, {"file_name": "a.md", "page": 4, "title": "Dyers"}
    for values in VALUES:
        for one, two in permutations(values):
            for first, second in pairs_of(*ordinary, key, one, two):
                assert kept_by(of_two(first, second), 0) == set(), (first, second)


@pytest.mark.parametrize("key", ["tenant", "acl", "owner", "is_public"])
@pytest.mark.parametrize("tool", WRITTEN)
def test_whatever_else_a_tool_writes_a_foreign_or_missing_tenant_stays_out(tool: str, key: str) -> None:
    (first, second), config = WRITTEN[tool], config_for(tool)
    for one, two in permutations(VALUES[0] + VALUES[2], 2):
        assert kept_by(of_two(first | {key: one}, second | {key: two}), 0, config) == set()
    assert kept_by(of_two(first | {key: "ours"}, second), 0, config) == set()
    assert kept_by(of_two(first, second | {key: "theirs"}), 0, config) == set()
    assert kept_by(of_two(first | {key: "ours"}, second | {key: "ours"}), 0, config) == {"D#1"}


PLACES = ("index", "page", "position", "line", "start", "sequence", "chunk", "score", "tokens", "length")
"""Keys that vary as numbers."""


@pytest.mark.parametrize("key", PLACES)
def test_a_place_that_is_no_number_keeps_apart(key: str) -> None:
    apart = {"a place": {key: "tenant-a"}, "the next": {key: "tenant-b"}}
    assert kept_by(of_two(*apart.values()), 0) == set()


def test_a_neighbor_has_to_agree_with_the_hit_and_not_with_what_stands_between() -> None:
    chunks = one_document(
        Chunk("", "", f"Text {place}.", metadata=metadata)
        for place, metadata in enumerate(({"tenant": "a"}, {"tenant": "b"}, {"tenant": "b"}, {"tenant": "a"}))
    )
    assert kept_by(chunks, 1) == {"D#2"}
    wide = assemble([Hit(chunks[0])], replace(CONFIG, window=3), store=MemoryStore(chunks))
    assert [passage.chunk_ids for passage in wide.passages] == [("D#0",), ("D#3",)]
    assert wide.trace.unscoped == ("tenant",)
