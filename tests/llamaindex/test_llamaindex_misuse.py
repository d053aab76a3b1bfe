"""What an error tells who begins to write instead."""

from __future__ import annotations

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM

from ctxassembly import Chunk, MemoryIndex
from ctxassembly.errors import InputError
from llamaindex_ctxassembly import (
    ContextAssemblyPostprocessor,
    to_messages,
)
from llamaindex_samples import WordEmbedding, document, scored

NODES = document("A")
INDEX = VectorStoreIndex(NODES, embed_model=WordEmbedding())
CHUNKS = MemoryIndex([Chunk("a", "a", "Rest.")])


def test_filters_as_json_are_filters() -> None:
    filters = {"filters": [{"key": "tenant", "value": "north"}]}
    (found,) = ContextAssemblyPostprocessor(filter=filters).filter.filters  # type: ignore[union-attr]
    assert (found.key, found.value) == ("tenant", "north")  # type: ignore[union-attr]


def test_a_list_makes_no_messages() -> None:
    with pytest.raises(InputError, match=r"context must be a Context, got .*context\(nodes\) gives one"):
        to_messages(scored(*NODES[:2]), "Why?")  # type: ignore[arg-type]


def test_a_postprocessor_names_the_arguments_to_write() -> None:
    postprocessor = ContextAssemblyPostprocessor()
    with pytest.raises(InputError, match=r"write postprocess_nodes\(nodes, query_str=query\)"):
        postprocessor.postprocess_nodes("May I drink?", scored(*NODES[:1]))  # type: ignore[arg-type]
    response = INDEX.as_query_engine(llm=MockLLM()).query("May I drink?")
    for call in (postprocessor.postprocess_nodes, postprocessor.context):
        with pytest.raises(InputError, match=r"nodes must be a list of NodeWithScore, got Response: write response"):
            call(response)
