"""`number_chunks` after LlamaIndex's parsers."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.schema import MetadataMode, NodeRelationship

from ctxassembly.errors import InputError
from llamaindex_ctxassembly import number_chunks
from llamaindex_ctxassembly.nodes import related_id

TEXT = " ".join(f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(30))
PAGES = [
    Document(text=f"{TEXT} Page {page}.", metadata={"file_name": "a.pdf", "page_label": f"{page}"}) for page in range(3)
]
SPLITTER = SentenceSplitter(chunk_size=90, chunk_overlap=20)


def test_nodes_are_numbered_across_pages_and_linked() -> None:
    given = SPLITTER.get_nodes_from_documents(PAGES)
    before = [each.model_copy(deep=True) for each in given]

    nodes = number_chunks(given)

    assert given == before
    assert [node.node_id for node in nodes] == [f"a.pdf#{at}" for at in range(len(given))]
    assert [node.metadata["chunk_index"] for node in nodes] == [*range(len(given))]
    assert {node.ref_doc_id for node in nodes} == {node.metadata["document_id"] for node in nodes} == {"a.pdf"}
    for kind, step in ((NodeRelationship.PREVIOUS, -1), (NodeRelationship.NEXT, 1)):
        linked = [related_id(node, kind) for node in nodes]
        expected = [f"a.pdf#{at + step}" for at in range(len(given))]
        assert linked == [each if 0 <= at + step < len(given) else None for at, each in enumerate(expected)]
    assert number_chunks(nodes) == nodes


def test_what_is_embedded_and_prompted_stays_the_same() -> None:
    given = SPLITTER.get_nodes_from_documents(PAGES)
    for before, after in zip(given, number_chunks(given), strict=True):
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert after.get_content(mode) == before.get_content(mode)


def test_leaves_are_numbered_and_a_tree_is_refused() -> None:
    tree = HierarchicalNodeParser.from_defaults(chunk_sizes=[300, 100], chunk_overlap=10).get_nodes_from_documents(
        PAGES[:1]
    )
    with pytest.raises(InputError, match=r"number get_leaf_nodes\(nodes\) alone"):
        number_chunks(tree)
    leaves = get_leaf_nodes(tree)
    numbered = number_chunks(leaves)
    assert [related_id(node, NodeRelationship.PARENT) for node in numbered] == [
        related_id(node, NodeRelationship.PARENT) for node in leaves
    ]
