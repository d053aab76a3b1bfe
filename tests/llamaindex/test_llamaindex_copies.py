"""Different texts that share an id, an index or a hash, as LlamaIndex's own parts make them: none is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly import Chunk, MemoryStore
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# What a caller's filter means for neighbors is tested in test_llamaindex_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")


def lines(name: str, count: int = 12) -> str:
    """Sentences of which no two are alike."""
    return " ".join(f"Rule {name}{n} says that the {name} of year {n} is kept by guard {n}." for n in range(count))


def read(nodes: Sequence[NodeWithScore], **more: object) -> list[NodeWithScore]:
    return ContextAssemblyPostprocessor(**more).postprocess_nodes(list(nodes), query_str="Who keeps it?")  # type: ignore[arg-type]


def counted(name: str, texts: Sequence[str], *, linked: bool = False) -> list[TextNode]:
    """Nodes of one document with ids from "0" on."""
    nodes = [TextNode(id_=str(at), text=text, metadata={"file_name": f"{name}.txt"}) for at, text in enumerate(texts)]
    for node in nodes:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=name)
    if linked:
        for before, after in pairwise(nodes):
            before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
            after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    return nodes


def test_pieces_that_a_splitter_gave_the_index_of_their_node_all_stand() -> None:
    documents = [
        Document(text=lines(name), metadata={"document_id": "A", "chunk_index": at})
        for at, name in ((0, "oak"), (5, "elm"))
    ]
    nodes = SentenceSplitter(chunk_size=110, chunk_overlap=0).get_nodes_from_documents(documents)
    assert len(nodes) >= 6
    text = "\n\n".join(each.text for each in read([NodeWithScore(node=node) for node in nodes]))
    for node in nodes:
        assert node.get_content() in text
    assert "[...]" not in text  # their offsets join the pieces of each


@pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")  # an ordinary index, without numbers
def test_two_indexes_that_count_their_ids_from_0_lose_nothing() -> None:
    texts = {"lease": ["The notice period is three months.", "Rent is paid in advance."]}
    texts["gym"] = ["Membership ends after one month.", "Towels are free."]
    found: list[NodeWithScore] = []
    for name, each in texts.items():
        index = VectorStoreIndex(counted(name, each), embed_model=MockEmbedding(embed_dim=4))
        found += index.as_retriever(similarity_top_k=2).retrieve("How long is the notice?")
    assert len(found) == 4
    blocks = read(found)
    for each in texts.values():
        for text in each:
            assert any(text in block.text for block in blocks)
    assert [sorted(block.node.metadata["chunk_ids"]) for block in blocks] == [["0", "1"], ["0", "1"]]
    assert len({block.node_id for block in blocks}) == 2


def test_links_are_followed_in_the_document_that_they_belong_to() -> None:
    """Both documents call their nodes "0" to "4"; no docstore holds both, a store that goes by document does."""
    texts = {name: [f"{name} paragraph {at} stands alone." for at in range(5)] for name in ("lease", "gym")}
    nodes = {name: counted(name, each, linked=True) for name, each in texts.items()}
    chunks = [
        Chunk(
            node.node_id,
            name,
            node.text,
            prev_id=node.prev_node.node_id if node.prev_node else None,
            next_id=node.next_node.node_id if node.next_node else None,
            metadata=node.metadata,
        )
        for name, each in nodes.items()
        for node in each
    ]
    blocks = read(
        [NodeWithScore(node=nodes["lease"][1]), NodeWithScore(node=nodes["gym"][2])], store=MemoryStore(chunks)
    )
    first, second = (block.text for block in blocks)
    assert [at for at in range(5) if texts["lease"][at] in first] == [0, 1, 2]
    assert [at for at in range(5) if texts["gym"][at] in second] == [1, 2, 3]


def test_a_hash_of_the_whole_file_makes_no_node_a_copy() -> None:
    nodes = SentenceSplitter(chunk_size=80, chunk_overlap=0).get_nodes_from_documents(
        [Document(text=lines("oak"), metadata={"content_hash": "d41d8cd98f"})]
    )
    assert len(nodes) > 2
    text = "\n\n".join(each.text for each in read([NodeWithScore(node=node) for node in nodes]))
    for node in nodes:
        assert node.get_content() in text
