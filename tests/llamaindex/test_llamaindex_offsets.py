"""Offsets as LlamaIndex's own parsers and retrievers leave them: in a parent, of a text that was replaced, by the page.

What reads as continuous has to be so, in order, once, and what a source says of its place has to be true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from llama_index.core import Document, MockEmbedding
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from ctxassembly import AssemblyConfig, Context, MetadataKeys
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

GAP = "[...]"
WORDS = 4_000
CONFIG = AssemblyConfig(cite="document", neighbors="unfiltered", max_tokens=100_000)


def words(first: int, last: int, prefix: str = "") -> str:
    """Sentences and paragraphs of words that tell their place."""
    return " ".join(
        f"{prefix}w{at}" + (".\n\n" if at % 60 == 59 else "." if at % 12 == 11 else "") for at in range(first, last)
    ).replace("\n\n ", "\n\n")


TEXT = words(0, WORDS)


def places(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"w(\d+)", text)]


def breaks(text: str) -> list[tuple[int, int]]:
    """Where the text goes on without a marker, and shouldn't: the words before and after."""
    return [
        (before, after) for run in text.split(GAP) for before, after in pairwise(places(run)) if after != before + 1
    ]


def is_true(context: Context, text: str = TEXT) -> bool:
    """Whether each source that says where it stands in the document does so rightly."""
    return all(
        text[source.start : source.end] == context.text[slice(*source.span)]
        for source in context.provenance
        if source.start is not None
    )


def hierarchy(sizes: Sequence[int] = (1024, 256, 128)) -> tuple[SimpleDocumentStore, list[BaseNode]]:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=list(sizes), chunk_overlap=20)
    nodes = parser.get_nodes_from_documents([Document(text=TEXT, id_="D")])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return docstore, nodes


def scored(nodes: Sequence[BaseNode]) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=1 - place / 100) for place, node in enumerate(nodes)]


LIMIT = "known in its page or larger chunk alone"


@pytest.mark.parametrize("sizes", [(1024, 256, 128), (512, 128)])
@pytest.mark.parametrize("held", ["all", "leaves", "nothing"])
def test_leaves_of_a_hierarchy_are_cited_with_what_their_parent_tells(sizes: tuple[int, ...], held: str) -> None:
    docstore, nodes = hierarchy(sizes)
    leaves = get_leaf_nodes(nodes)
    if held == "leaves":
        docstore = SimpleDocumentStore()
        docstore.add_documents(leaves)
    postprocessor = ContextAssemblyPostprocessor(config=CONFIG, docstore=None if held == "nothing" else docstore)
    draw = Random(1)
    for _ in range(10):
        hits = draw.sample(leaves, 6)
        context = postprocessor.context(scored(hits))
        assert {one.node_id for one in hits} <= {one for passage in context.passages for one in passage.chunk_ids}
        assert len(places(context.text)) == len(set(places(context.text)))
        assert breaks(context.text) == []
        assert is_true(context)
        assert any(LIMIT in note and "number_chunks(nodes)" in note for note in context.trace.notes) == (
            held != "nothing"
        )


def test_a_graphs_facts_before_a_text_part_it_from_nothing() -> None:
    """PropertyGraphIndex writes triplets before a text; another retriever finds the text alone."""
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=40).get_nodes_from_documents([Document(text=TEXT, id_="D")])
    docstore, graph = SimpleDocumentStore(), SimplePropertyGraphStore()
    docstore.add_documents(nodes)
    graph.upsert_llama_nodes(nodes)
    names = [EntityNode(name=name, properties={"triplet_source_id": nodes[4].node_id}) for name in ("Weaver", "Loom")]
    triplet = [(names[0], Relation(label="uses", source_id=names[0].id, target_id=names[1].id), names[1])]
    retriever = VectorContextRetriever(graph, embed_model=MockEmbedding(2), vector_store=SimpleVectorStore())
    (found,) = retriever.add_source_text(retriever._get_nodes_with_score(triplet))
    assert found.node.get_content().startswith("Here are some facts")
    hits = [found, *scored([nodes[4], nodes[5]])]
    context = ContextAssemblyPostprocessor(config=CONFIG, docstore=docstore).context(hits)
    assert context.text.count("Weaver -> uses -> Loom") == 1
    assert (breaks(context.text), places(context.text)) == ([], sorted({*places(context.text)}))
    assert is_true(context)
    assert context.trace.missing is None
    assert {each.node_id for each in nodes[3:7]} <= set(context.passages[0].chunk_ids)


# A PDF as its reader gives it: a Document for each page, each with an id of its own.

PER_PAGE = 300
PAGES = 12
BY_FILE = AssemblyConfig(keys=MetadataKeys(document_id="file_path"), neighbors="unfiltered", max_tokens=100_000)


def pdf(path: str = "/in/a.pdf", pages: int = PAGES) -> list[Document]:
    """As SimpleDirectoryReader gives it: `page_label`, and no other number of the page."""
    return [
        Document(
            text=words(page * PER_PAGE, (page + 1) * PER_PAGE) + "\n",
            metadata={"page_label": str(page + 1), "file_name": path.rsplit("/", 1)[-1], "file_path": path},
        )
        for page in range(pages)
    ]


def pages_split(size: int, documents: Sequence[Document]) -> tuple[SimpleDocumentStore, list[BaseNode]]:
    nodes = SentenceSplitter(chunk_size=size, chunk_overlap=20).get_nodes_from_documents(list(documents))
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return docstore, nodes


def of_page(nodes: Sequence[BaseNode], page: int) -> list[BaseNode]:
    return [node for node in nodes if node.metadata["page_label"] == str(page)]


@pytest.mark.parametrize("size", [2048, 256])
def test_pages_of_one_file_are_joined(size: int) -> None:
    docstore, nodes = pages_split(size, pdf())
    hits = [of_page(nodes, 4)[0], of_page(nodes, 3)[-1]]
    context = ContextAssemblyPostprocessor(config=BY_FILE, docstore=docstore).context(scored(hits))
    assert GAP not in context.text
    assert breaks(context.text) == []
    (citation,) = context.citations
    assert {3, 4} <= set(citation.pages)
    assert context.text.startswith(f"[1] Source: a.pdf, pages {citation.pages[0]}-{citation.pages[-1]}\n")
