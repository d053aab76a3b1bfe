"""Wrong arguments, each with one error that names the parameter."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM

from ctxassembly.errors import InputError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks, to_messages
from llamaindex_samples import WordEmbedding, document, scored

NODES = document("A")
INDEX = VectorStoreIndex(NODES, embed_model=WordEmbedding())


@pytest.mark.parametrize(
    "given", [NODES[0], scored(NODES[0])[0], NODES, INDEX.as_query_engine(llm=MockLLM()).query("May I drink?"), "text"]
)
def test_only_a_list_of_scored_nodes_is_assembled(given: Any) -> None:
    with pytest.raises(InputError, match=r"nodes must be a list of NodeWithScore, got "):
        ContextAssemblyPostprocessor().context(given)
    with pytest.raises(InputError, match=r"context must be a Context, got .*context\(nodes\) gives one"):
        to_messages(given, "Why?")
    with pytest.raises(InputError, match="nodes must be a list of nodes"):
        number_chunks(NODES[0])  # type: ignore[arg-type]


def test_filters_as_json_are_filters() -> None:
    filters = {"filters": [{"key": "tenant", "value": "north"}]}
    (found,) = ContextAssemblyPostprocessor(filter=filters).filter.filters  # type: ignore[union-attr]
    assert (found.key, found.value) == ("tenant", "north")  # type: ignore[union-attr]
