"""Headings and pages as splitters and parsers write them reach the header and the citation, in both adapters."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from ctxassembly import AssemblyConfig, Chunk, Citation, Context, Hit, assemble
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, number_chunks
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# The indexes are ordinary ones, whose chunks don't know their places.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")

MARKDOWN = "# Valley\n\nHow it was settled.\n\n## Looms\n\nThe looms came.\n\n### Wool/Flax\n\nWool was dyed."
HTML = (
    "<html><body><h1>Valley</h1><p>How it was settled.</p><h2>Looms</h2><p>The looms came.</p>"
    "<h3>Wool/Flax</h3><p>Wool was dyed.</p></body></html>"
)
SECTIONS = {"Valley", "Valley > Looms", "Valley > Looms > Wool/Flax"}


def headers(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("[")}


def context_of(documents: list[Document], **options: Any) -> Context:
    """The context of all `documents`, retrieved from an ordinary index: ids are UUIDs."""
    index = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    index.add_documents([each.model_copy(update={"id": str(uuid4())}) for each in documents])
    config = AssemblyConfig(neighbors="unfiltered", dedup="none", min_relevance=0, **options)
    retriever = ContextAssemblyRetriever.from_vectorstore(index, hits=len(documents), config=config)
    made = retriever.context("What came to the valley?")
    assert isinstance(made, Context)
    return made


def cited(chunks: list[dict[str, Any]], **options: Any) -> Context:
    hits = [Hit(Chunk(str(at), "D", f"Text {at}.", at, metadata=each)) for at, each in enumerate(chunks)]
    return assemble(hits, AssemblyConfig(**options))


# Headings


def by_markdown() -> list[Document]:
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    levels = [("#" * depth, f"Header {depth}") for depth in (1, 2, 3)]
    return MarkdownHeaderTextSplitter(levels).split_text(MARKDOWN)


def by_markdown_syntax() -> list[Document]:
    from langchain_text_splitters.markdown import ExperimentalMarkdownSyntaxTextSplitter

    return ExperimentalMarkdownSyntaxTextSplitter().split_text(MARKDOWN)


def by_html() -> list[Document]:
    from langchain_text_splitters import HTMLHeaderTextSplitter

    levels = [(f"h{depth}", f"Header {depth}") for depth in (1, 2, 3)]
    found = HTMLHeaderTextSplitter(levels).split_text(HTML)
    return [each for each in found if each.page_content not in each.metadata.values()]


@pytest.mark.parametrize("split", [by_markdown, by_markdown_syntax, by_html])
def test_the_headings_of_langchains_splitters_are_the_section(split: Any) -> None:
    documents = split()
    for each in documents:
        each.metadata["source"] = "valley.md"
    context = context_of(documents, format="source", cite="chunk")
    assert {citation.section for citation in context.citations} == SECTIONS
    assert {line.partition("] ")[2] for line in headers(context.text)} == {f"valley.md § {each}" for each in SECTIONS}
    assert {citation.reference for citation in context.citations} == {f"valley.md § {each}" for each in SECTIONS}


def test_the_header_path_of_llamaindex_is_the_section() -> None:
    from llama_index.core import Document as File

    index = VectorStoreIndex(
        MarkdownNodeParser().get_nodes_from_documents([File(text=MARKDOWN, metadata={"file_name": "valley.md"})]),
        embed_model=MockEmbedding(embed_dim=8),
    )
    config = AssemblyConfig(format="source", cite="chunk", neighbors="unfiltered")
    assembly = ContextAssemblyPostprocessor(config=config, docstore=index.docstore)
    context = assembly.context(index.as_retriever(similarity_top_k=9).retrieve("What came?"))
    assert {citation.section for citation in context.citations} == {None, "Valley", "Valley/Looms"}
    assert {line.partition("] ")[2] for line in headers(context.text)} == {
        "valley.md",
        "valley.md § Valley",
        "valley.md § Valley/Looms",
    }


@pytest.mark.parametrize(
    ("rule", "metadata", "section"),
    [
        ("a level that is missing is skipped", {"Header 1": "Valley", "Header 3": "Wool"}, "Valley > Wool"),
        ("a section that is named goes first", {"Header 1": "Valley", "section": "Looms"}, "Looms"),
        ("a list of headings, as Docling writes it", {"headings": ["Valley", "Looms"]}, "Valley > Looms"),
        ("blank levels don't count", {"Header 1": " ", "Header 2": "Looms", "Header 3": None}, "Looms"),
        ("no level", {"Header 7": "Valley"}, None),
    ],
)
def test_the_section(rule: str, metadata: dict[str, Any], section: str | None) -> None:
    (citation,) = cited([metadata]).citations
    assert citation.section == section


def test_a_passage_of_several_sections_names_that_of_its_best_chunk() -> None:
    documents = number_chunks(
        [each.model_copy(update={"metadata": {**each.metadata, "source": "valley.md"}}) for each in by_markdown()]
    )
    made = ContextAssembler(config=AssemblyConfig(format="source")).invoke([documents[1], documents[0], documents[2]])
    assert [each.metadata["citation"]["section"] for each in made] == ["Valley > Looms"]
    assert headers(made[0].page_content) == {"[SOURCE 1] valley.md § Valley > Looms"}


# Pages


@pytest.mark.parametrize(
    ("rule", "page", "header", "pages"),
    [
        ("a range", [3, 4], ", pages 3-4", (3, 4)),
        ("in their order, each once", [5, 3, 4, 3], ", pages 3-5", (3, 4, 5)),
        ("one", [3], ", page 3", (3,)),
        ("none", [], "", ()),
        ("as text", ["3", "4"], ", pages 3-4", (3, 4)),
        ("printed labels", ["iv", 3], ", pages iv, 3", ("iv", 3)),
        ("lists in a list", [[3], [4, [6]]], ", pages 3-4, 6", (3, 4, 6)),
        ("a tuple", (3, 4), ", pages 3-4", (3, 4)),
        ("a set", {4, 3}, ", pages 3-4", (3, 4)),
        ("a range of Python", range(3, 6), ", pages 3-5", (3, 4, 5)),
        ("whole floats", [3.0, 4.0], ", pages 3-4", (3, 4)),
        ("gaps of a column", [None, 3, float("nan"), " "], ", page 3", (3,)),
        ("numpy's integers", [np.int64(3), np.int32(4)], ", pages 3-4", (3, 4)),
        ("an array", np.array([3, 4]), ", pages 3-4", (3, 4)),
        ("a float of numpy", np.float32(3), ", page 3", (3,)),
        ("an array of nothing", np.array([]), "", ()),
        ("a text that names several", "3-4", ", page 3-4", ("3-4",)),
        ("thousands", list(range(1, 5_001)), ", pages 1-5000", tuple(range(1, 5_001))),
    ],
)
@pytest.mark.parametrize("key", ["page", "page_number", "page_numbers", "page_label"])
def test_pages_in_a_list(key: str, rule: str, page: Any, header: str, pages: tuple[Any, ...]) -> None:
    context = cited([{"source": "a.pdf", key: page}])
    (citation,) = context.citations
    assert headers(context.text) == {f"[1] Source: a.pdf{header}"}
    assert citation.pages == context.sources()[0].pages == pages
    assert citation.page == (pages[0] if pages else None)
    assert citation.reference == f"a.pdf{header}"


def test_a_passage_of_several_chunks_names_the_pages_of_all() -> None:
    context = cited(
        [{"source": "a.pdf", "page": [1, 2]}, {"source": "a.pdf", "page": 3}, {"source": "a.pdf", "page": [3, 5]}]
    )
    (citation,) = context.citations
    assert headers(context.text) == {"[1] Source: a.pdf, pages 1-3, 5"}
    assert (citation.page, citation.pages) == (1, (1, 2, 3, 5))


# Docling


def item(*pages: int, ref: int = 0) -> dict[str, Any]:
    provenance = [{"page_no": page, "bbox": {"l": 72.0, "t": 700.0}, "charspan": [0, 9]} for page in pages]
    return {"self_ref": f"#/texts/{ref}", "label": "text", "prov": provenance}


def docling(*items: dict[str, Any], headings: list[str]) -> dict[str, Any]:
    """The metadata of a chunk as Docling exports it."""
    return {
        "schema_name": "docling_core.transforms.chunker.DocMeta",
        "version": "1.0.0",
        "doc_items": list(items),
        "headings": headings,
        "origin": {"mimetype": "application/pdf", "binary_hash": 7, "filename": "valley.pdf"},
    }


LOOMS = docling(item(3, 4), item(4, ref=1), headings=["Valley", "Looms"])
WOOL = docling(item(6, ref=2), headings=["Valley", "Wool"])
TAKEN = [("Valley > Looms", (3, 4)), ("Valley > Wool", (6,))]


def taken(citations: tuple[Citation, ...]) -> list[Any]:
    return sorted((citation.section, citation.pages) for citation in citations)


@pytest.mark.parametrize(
    ("beside", "source"),
    [({"source": "in/valley.pdf"}, "in/valley.pdf"), ({}, "valley.pdf")],
    ids=["DoclingLoader", "without a source"],
)
def test_docling_through_langchain(beside: dict[str, Any], source: str) -> None:
    documents = [
        Document("The looms came.", metadata={**beside, "dl_meta": LOOMS}),
        Document("Wool was dyed.", metadata={**beside, "dl_meta": WOOL}),
    ]
    context = context_of(documents, cite="chunk")
    assert headers(context.text) == {f"[{n}] Source: {source}{page}" for n, page in numbered(context)}
    assert taken(context.citations) == TAKEN
    assert {citation.source for citation in context.citations} == {source}


def numbered(context: Context) -> list[tuple[str, str]]:
    pages = {(3, 4): ", pages 3-4", (6,): ", page 6"}
    return [(citation.label, pages[citation.pages]) for citation in context.citations]


def test_docling_through_llamaindex() -> None:
    nodes = []
    for text, metadata in (("The looms came.", LOOMS), ("Wool was dyed.", WOOL)):
        node = TextNode(text=text, metadata=metadata)
        # DoclingNodeParser hides its raw metadata from the model. The page and the file of a label aren't raw.
        node.excluded_llm_metadata_keys = ["schema_name", "version", "doc_items", "origin"]
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="one")
        nodes.append(node)
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8))
    assembly = ContextAssemblyPostprocessor(config=AssemblyConfig(cite="chunk", neighbors="unfiltered"))
    context = assembly.context(index.as_retriever(similarity_top_k=9).retrieve("What came?"))
    assert headers(context.text) == {f"[{n}] Source: valley.pdf{page}" for n, page in numbered(context)}
    assert taken(context.citations) == TAKEN
