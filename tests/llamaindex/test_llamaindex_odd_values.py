"""One odd value in a node never loses the request."""

from __future__ import annotations

import threading

from llama_index.core.schema import (
    ImageNode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import document, scored


def told(nodes: list[NodeWithScore]) -> list[str]:
    notes: list[str] = nodes[0].node.metadata["trace"]["notes"]
    return notes


def three() -> list[TextNode]:
    return [document(name, [f"All that {name} says."])[0] for name in "ABC"]


def test_images_with_odd_metadata_stay() -> None:
    image = ImageNode(image_url="https://example.org/a.png", metadata={"lock": threading.Lock()})
    made = ContextAssemblyPostprocessor().postprocess_nodes(scored(*three(), image))
    assert made[-1].node.metadata == {"lock": "<unlocked _thread.lock object>"}


def test_a_link_that_no_database_can_be_asked_for_costs_the_others_nothing() -> None:
    nodes = document("A")
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    odd = document("B\x00", ["Another text."])[0]
    odd.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="B\ud800")
    config = AssemblyConfig(neighbors="unfiltered")
    made = ContextAssemblyPostprocessor(config=config, docstore=docstore).postprocess_nodes(scored(nodes[3], odd))
    assert made[0].node.metadata["chunk_ids"] == ["A-2", "A-3", "A-4"]
    assert any(note.startswith("store: not asked for ") for note in told(made))
