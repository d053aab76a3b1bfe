"""One odd value in a node never loses the request."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from fuzz.odd import ODD, UnprintableError, circular_dict, numbers
from llama_index.core.schema import (
    ImageNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore

from ctxassembly import AssemblyConfig, MemoryStore
from ctxassembly.errors import InputError
from ctxassembly.serialization import to_plain
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import document, scored


def texts(nodes: list[NodeWithScore]) -> str:
    return "\n\n".join(each.node.get_content(MetadataMode.LLM) for each in nodes)


def told(nodes: list[NodeWithScore]) -> list[str]:
    notes: list[str] = nodes[0].node.metadata["trace"]["notes"]
    return notes


def three() -> list[TextNode]:
    return [document(name, [f"All that {name} says."])[0] for name in "ABC"]


@pytest.mark.parametrize("key", ["anything", "file_name", "page_label", "chunk_index", "start_char_idx"])
async def test_an_odd_value_in_the_metadata_costs_no_other_node(key: str) -> None:
    postprocessor = ContextAssemblyPostprocessor()
    for name in ODD.keys() - {"no class"}:
        nodes = three()
        nodes[1].metadata[key] = ODD[name]()
        made = postprocessor.postprocess_nodes(scored(*nodes))
        assert [each.node.node_id for each in made] == ["A-0", "B-0", "C-0"], name
        assert texts(await postprocessor.apostprocess_nodes(scored(*nodes))) == texts(made)
        json.dumps(to_plain(made[1].node.metadata), allow_nan=False)


@pytest.mark.parametrize("field", ["id_", "metadata", "embedding", "start_char_idx", "score"])
def test_an_odd_value_that_was_never_validated_costs_no_other_node(field: str) -> None:
    for name in ODD.keys() - {"no class"}:
        hits = scored(*three())
        (hits[1] if field == "score" else hits[1].node).__dict__[field] = ODD[name]()
        made = texts(ContextAssemblyPostprocessor().postprocess_nodes(hits))
        assert all(f"All that {each} says." in made for each in "AC"), name


def test_what_does_not_copy_stands_as_text_and_is_told() -> None:
    lock, rows = threading.Lock(), numbers()
    (node,) = document("A", ["Text."], metadata={"lock": lock, "rows": rows, "tree": circular_dict()})
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="A", metadata={"lock": lock, "by": "Ada"})
    (made,) = ContextAssemblyPostprocessor().postprocess_nodes(scored(node))
    assert made.node.metadata["lock"] == "<unlocked _thread.lock object>"
    assert made.node.metadata["tree"] == {"a": 1, "self": {"again": "..."}}
    assert made.node.source_node is not None
    assert made.node.source_node.metadata == {"lock": "<unlocked _thread.lock object>", "by": "Ada"}
    assert told([made]) == [
        "hit 'A-0': metadata 'lock', 'rows': can't be copied, replaced by its text",
        "hit 'A-0': metadata 'tree': refers to itself, cut there",
    ]
    assert (node.metadata["lock"], list(rows)) == (lock, [0, 1, 2])


def test_images_with_odd_metadata_stay() -> None:
    image = ImageNode(image_url="https://example.org/a.png", metadata={"lock": threading.Lock()})
    made = ContextAssemblyPostprocessor().postprocess_nodes(scored(*three(), image))
    assert made[-1].node.metadata == {"lock": "<unlocked _thread.lock object>"}


def test_nothing_that_can_be_changed_is_shared_with_the_nodes() -> None:
    (node,) = document("A", ["Text."], metadata={"tags": ["a", {"b": [1]}]})
    (made,) = ContextAssemblyPostprocessor().postprocess_nodes(scored(node))
    made.node.metadata["tags"][1]["b"].append(2)
    assert node.metadata["tags"] == ["a", {"b": [1]}]


@pytest.mark.filterwarnings("ignore:The store failed")
async def test_an_error_that_cannot_be_told_costs_the_neighbors_alone() -> None:
    class Broken(MemoryStore):
        def fetch(self, refs: Any) -> Any:
            raise UnprintableError

        async def afetch(self, refs: Any) -> Any:
            raise UnprintableError

    config = AssemblyConfig(neighbors="unfiltered")
    postprocessor = ContextAssemblyPostprocessor(config=config, store=Broken([]))
    hits = scored(document("A")[3])
    for made in (postprocessor.postprocess_nodes(hits), await postprocessor.apostprocess_nodes(hits)):
        assert [each.node.node_id for each in made] == ["A-3"]
        assert told(made)[0] == "store: no neighbors (UnprintableError: no message), the hits are kept without them"


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


@pytest.mark.parametrize("query", [5, ["x"], ODD["raising"]()], ids=["number", "list", "raising"])
def test_a_query_that_is_no_text_is_an_error_that_shows_it(query: Any) -> None:
    with pytest.raises(InputError, match="query must be a string"):
        ContextAssemblyPostprocessor().postprocess_nodes(scored(*three()), QueryBundle(query))
