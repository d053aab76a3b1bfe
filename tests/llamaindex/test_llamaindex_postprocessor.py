import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from pydantic import ValidationError

import llamaindex_ctxassembly
from ctxassembly import AssemblyConfig, Hit, MemoryStore, MetadataKeys, assemble
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssembledEvent, ContextAssemblyPostprocessor
from llamaindex_samples import HOSTILE, TextVectorStore, bare, document, scored

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def read_by_llm(nodes: Sequence[NodeWithScore]) -> str:
    """What `compact` makes of the nodes."""
    return "\n\n".join(each.node.get_content(MetadataMode.LLM).strip() for each in nodes)


def stored(*nodes: TextNode) -> SimpleDocumentStore:
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return docstore


# What the LLM reads


@pytest.mark.parametrize("given", ["Facts.", lambda query: f"Facts on {query}.", lambda query: None])
async def test_a_supplement_is_a_node_of_its_own_after_the_labels(given: Any) -> None:
    hits = scored(*document()[:2])
    postprocessor = ContextAssemblyPostprocessor(supplement=given)
    nodes = postprocessor.postprocess_nodes(hits, query_str="dye")
    facts = given("dye") if callable(given) else given
    context = assemble([Hit(chunk) for chunk in bare([each.node for each in hits])], supplement=facts)
    assert read_by_llm(nodes) == context.text
    assert read_by_llm(await postprocessor.apostprocess_nodes(hits, query_str="dye")) == context.text
    assert nodes[0].node.metadata["citation"]["label"] == "1"
    assert len(nodes) == (1 if facts is None else 2)
    if facts is not None:
        own = nodes[-1]
        assert own.node.node_id == "supplement"
        assert own.score is None
        assert own.node.metadata["supplement"].keys() == {"text"}
        assert "citation" not in own.node.metadata


@pytest.mark.parametrize("wrong", [7, ["Facts."]])
def test_a_supplement_of_another_kind_is_an_error(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="supplement"):
        ContextAssemblyPostprocessor(supplement=wrong)


# The labeled nodes


def test_a_label_has_the_best_hits_id_and_metadata_its_document_and_the_best_score() -> None:
    nodes = document("A")
    nodes[2].metadata = {"page": 3, "nested": {"deep": [1]}}
    nodes[2].start_char_idx, nodes[2].end_char_idx = 10, 20
    # A reranker's order stands: the best hit is the first, even with a lower score.
    hits = [NodeWithScore(node=nodes[2], score=0.4), NodeWithScore(node=nodes[5], score=0.7)]

    (labeled,) = ContextAssemblyPostprocessor(docstore=stored(*nodes), neighbors="unfiltered").postprocess_nodes(hits)

    node = labeled.node
    assert labeled.score == 0.7
    assert node.node_id == "A-2"
    assert node.metadata["page"] == 3
    assert node.metadata["chunk_ids"] == ["A-1", "A-2", "A-3", "A-4", "A-5", "A-6"]
    assert node.metadata["scores"] == {"A-2": 0.4, "A-5": 0.7}
    assert (node.start_char_idx, node.end_char_idx) == (None, None)
    assert list(node.relationships) == [NodeRelationship.SOURCE]
    assert node.ref_doc_id == "A"


def test_citation_scores_and_trace_are_builtins_that_survive_json() -> None:
    nodes = document(metadata={"nested": {"deep": ["value"]}})
    (labeled,) = ContextAssemblyPostprocessor(docstore=stored(*nodes)).postprocess_nodes(scored(nodes[3]))

    added = {key: labeled.metadata[key] for key in ("citation", "chunk_ids", "scores", "trace")}
    assert json.loads(json.dumps(added)) == added
    assert added["citation"]["chunk_ids"] == ["A-2", "A-3", "A-4"]
    assert added["trace"]["summary"].startswith("1 -> 3 chunks")
    assert TextNode.from_json(labeled.node.to_json()).metadata == labeled.metadata


def test_inputs_and_stored_nodes_are_unchanged_even_if_the_answer_is_changed() -> None:
    nodes = document(metadata=copy.deepcopy(HOSTILE))
    docstore, hits = stored(*nodes), scored(nodes[3], nodes[1])
    before = copy.deepcopy([each.model_dump() for each in hits])
    stored_before = copy.deepcopy([docstore.get_node(node.node_id).model_dump() for node in nodes])

    (labeled,) = ContextAssemblyPostprocessor(docstore=docstore).postprocess_nodes(hits)
    labeled.metadata["nested"]["deep"].append("changed")
    labeled.node.relationships[NodeRelationship.SOURCE].metadata["changed"] = True  # type: ignore[union-attr]

    assert [each.model_dump() for each in hits] == before
    assert [docstore.get_node(node.node_id).model_dump() for node in nodes] == stored_before


# Media


# Construction


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(ConfigError, match="windw"):
        ContextAssemblyPostprocessor(windw=2)


@pytest.mark.parametrize("other", [{"vector_store": TextVectorStore()}, {"store": MemoryStore(())}])
def test_two_stores_are_an_error_that_names_both(other: dict[str, Any]) -> None:
    (name,) = other
    with pytest.raises(ConfigError, match=f"one of the three at most.*docstore.*{name}"):
        ContextAssemblyPostprocessor(docstore=SimpleDocumentStore(), **other)


def test_a_vector_store_without_text_is_an_error_that_points_to_the_docstore() -> None:
    with pytest.raises(ConfigError, match=r"stores text.*docstore.*SimpleVectorStore"):
        ContextAssemblyPostprocessor(vector_store=SimpleVectorStore())


def test_a_store_that_cannot_fetch_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"fetch\(refs\)"):
        ContextAssemblyPostprocessor(store=object())


def test_a_setting_cannot_be_changed_behind_the_checks() -> None:
    postprocessor = ContextAssemblyPostprocessor()

    with pytest.raises(ValidationError, match="frozen"):
        postprocessor.docstore = SimpleDocumentStore()


# Serialization


def test_json_keeps_config_and_filter_and_leaves_out_the_store() -> None:
    nodes = document()
    filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value="x")])
    config = AssemblyConfig(window=2, keys=MetadataKeys(document_id="file_path"))
    original = ContextAssemblyPostprocessor(config=config, filter=filters, docstore=stored(*nodes))

    docstore = stored(*nodes)
    restored = ContextAssemblyPostprocessor.from_json(original.to_json(), docstore=docstore)

    assert "docstore" not in original.to_dict()
    assert (restored.config, restored.filter, restored.docstore) == (config, filters, docstore)


def test_a_pickled_copy_has_its_store_and_assembles_the_same() -> None:
    nodes = document()
    original = ContextAssemblyPostprocessor(config=AssemblyConfig(window=2), docstore=stored(*nodes))

    restored = pickle.loads(pickle.dumps(original))

    assert restored.postprocess_nodes(scored(nodes[3]))[0].text == original.postprocess_nodes(scored(nodes[3]))[0].text
    assert len(restored.postprocess_nodes(scored(nodes[3]))[0].metadata["chunk_ids"]) == 5


# Instrumentation


async def test_each_run_sends_its_trace_and_has_a_span(instruments: Any) -> None:
    events, spans = instruments
    nodes = document()
    postprocessor = ContextAssemblyPostprocessor(docstore=stored(*nodes))

    postprocessor.postprocess_nodes(scored(nodes[3]), query_str="strike")
    await postprocessor.apostprocess_nodes(scored(nodes[3]), query_str="strike")

    sent = [event for event in events if isinstance(event, ContextAssembledEvent)]
    assert len(sent) == 2
    for event in sent:
        assert event.query == "strike"
        assert event.citations[0]["chunk_ids"] == ["A-2", "A-3", "A-4"]
        assert json.loads(json.dumps(event.trace))["summary"].endswith("1 query")
        assert f"1 hit joined: {event.trace['hit_tokens']} tokens; assembled: " in event.trace["summary"]
    names = {span.id_.split("-")[0] for span in spans.completed_spans}
    assert {
        "ContextAssemblyPostprocessor._postprocess_nodes",
        "ContextAssemblyPostprocessor._apostprocess_nodes",
    } <= names


# Async


# A store that fails


def test_importing_the_package_imports_no_framework() -> None:
    code = "import sys, llamaindex_ctxassembly as it; print('llama_index.core' in sys.modules, *dir(it))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded, *names = done.stdout.split()
    assert loaded == "False"
    assert {"ContextAssemblyPostprocessor", "PGVectorNeighbors"} <= set(names)


def test_every_public_name_loads() -> None:
    for name in llamaindex_ctxassembly.__all__:
        public = getattr(llamaindex_ctxassembly, name)
        assert isinstance(public, PromptTemplate) if name.isupper() else public.__name__ == name
