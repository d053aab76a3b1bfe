"""Different texts that share an id, an index or a hash, as LlamaIndex's own parts make them: none is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly import Chunk, MemoryStore
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# What a caller's filter means for neighbors is tested in test_llamaindex_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")


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
