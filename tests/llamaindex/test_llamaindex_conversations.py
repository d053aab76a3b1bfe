"""Several query engines behind one answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import QueryEngineTool

from ctxassembly import AssemblyConfig, Conversation, Labels, resolve
from ctxassembly.errors import InputError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import Questions, WordEmbedding, document

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def engine(labels: Any) -> SubQuestionQueryEngine:
    tools = []
    for name in ("A", "B", "C"):
        index = VectorStoreIndex(document(name, metadata={"file_name": f"{name}.txt"}), embed_model=WordEmbedding())
        assembly = ContextAssemblyPostprocessor(
            config=AssemblyConfig(cite="chunk", window=0),
            docstore=index.docstore,
            conversation=Conversation(labels=labels),
        )
        made = index.as_query_engine(llm=MockLLM(), similarity_top_k=2, node_postprocessors=[assembly])
        tools.append(QueryEngineTool.from_defaults(made, name=name, description=name))
    return SubQuestionQueryEngine.from_defaults(
        tools, llm=MockLLM(), question_gen=Questions(), use_async=False, verbose=False
    )


def labels_of(nodes: list[NodeWithScore]) -> list[str]:
    return [each.metadata["citation"]["label"] for each in nodes if "citation" in each.metadata]


@pytest.mark.parametrize("awaited", [False, True])
async def test_the_sources_of_several_engines_have_labels_of_their_own(awaited: bool) -> None:
    made = engine(Labels())
    response = await made.aquery("What of all?") if awaited else made.query("What of all?")
    found = labels_of(response.source_nodes)
    assert len(found) == len(set(found)) == 6
    if not awaited:
        assert found == ["1", "2", "3", "4", "5", "6"]
    assert all(f"[{label}] Source:" in str(response) for label in found)
    assert resolve(f"Of A [{found[0]}].", [each.to_dict() for each in response.source_nodes]).citations == ()
    for sources in (response, response.source_nodes):
        resolved = resolve(f"Of A [{found[0]}], of C [{found[5]}], of none [99].", sources)
        assert [each.source for each in resolved.citations] == ["A.txt", "C.txt"]
        assert (resolved.text, resolved.unknown) == ("Of A [1], of C [2], of none [99].", ("99",))
        json.dumps([dict(each.metadata) for each in resolved.citations])


def test_without_them_sources_that_share_a_label_are_refused() -> None:
    response = engine(None).query("What of all?")
    assert labels_of(response.source_nodes) == ["1", "2", "1", "2", "1", "2"]
    with pytest.raises(InputError, match=r"label 1 refers to two sources, 'A.txt' and 'B.txt'"):
        resolve("Of A [1].", response)
