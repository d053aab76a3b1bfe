"""`number_chunks` after LlamaIndex's parsers."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, TextNode

from ctxassembly.errors import InputError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
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


def test_a_source_of_its_own_names_the_document() -> None:
    nodes = SPLITTER.get_nodes_from_documents([Document(text=TEXT, id_="handbook")])
    assert [node.node_id for node in number_chunks(nodes)][:2] == ["handbook#0", "handbook#1"]


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


@pytest.mark.parametrize("wrong", ["text", [None], [Document(text="x"), "y"]])
def test_anything_else_is_an_error(wrong: Any) -> None:
    with pytest.raises(InputError, match="nodes must be a list of nodes"):
        number_chunks(wrong)


def test_nodes_may_come_one_by_one() -> None:
    assert number_chunks(iter(PAGES)) == number_chunks(PAGES)


def test_a_short_overlap_is_recorded_where_no_offset_shows_it_and_stays_out_of_prompts() -> None:
    texts = ("The weavers came. They paid", "They paid in wool.", "Nobody knows why.")
    plain = [TextNode(text=text, metadata={"file_name": "a.txt"}) for text in texts]
    nodes = number_chunks(plain)
    assert [node.metadata.get("overlap_chars") for node in nodes] == [None, 9, None]
    assert number_chunks(nodes) == nodes
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert nodes[1].get_content(mode) == plain[1].get_content(mode)
    (found,) = ContextAssemblyPostprocessor().postprocess_nodes([NodeWithScore(node=node) for node in nodes])
    assert found.node.get_content().endswith("The weavers came. They paid in wool.\nNobody knows why.")
    parsed = SPLITTER.get_nodes_from_documents(PAGES)
    assert not any("overlap_chars" in node.metadata for node in number_chunks(parsed))
