"""The same hits, query and store give the same text in LlamaIndex, in LangChain and without either."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.presets import BY_USE, PUBLISHED
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import TEXTS

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def metadata(document_id: str, index: int) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "chunk_index": index,
        "source": f"{document_id}.pdf",
        "page": index // 2 + 1,
        "page_summary": f"About {document_id}.",
        "relevance_score": 1 / (index + 1),
    }


CHUNKS = [
    Chunk(f"{document_id}#{index}", document_id, f"{document_id}: {text}", index, metadata=metadata(document_id, index))
    for document_id in ("A", "B")
    for index, text in enumerate(TEXTS)
]
HITS = [CHUNKS[place] for place in (11, 2, 4, 15)]


def second_line(prompt: str) -> str:
    """A language model of a kind: of each text it takes the second line, word for word."""
    return prompt.rpartition("Text:\n")[2].splitlines()[1]


@pytest.mark.parametrize(
    "config",
    [
        AssemblyConfig(window=0, max_tokens=70, compress="extractive"),
        AssemblyConfig(window=0, max_tokens=70, compress="llm"),
        AssemblyConfig(max_characters=200),
        *BY_USE.values(),
        *PUBLISHED.values(),
        AssemblyConfig(),
        AssemblyConfig(format="xml", cite="passage", window=2),
        AssemblyConfig(format="minimal", max_tokens=60),
        AssemblyConfig(language="nl", granularity="passage", max_tokens=120),
        AssemblyConfig(format="source", cite="chunk", order="edges"),
        AssemblyConfig(format="grouped", order="reverse", supplement_threshold=0.1),
        AssemblyConfig(enabled=False),
    ],
)
async def test_the_text_is_the_same_everywhere(config: AssemblyConfig) -> None:
    store = MemoryStore(CHUNKS)
    hits = [Hit(chunk, chunk.metadata["relevance_score"]) for chunk in HITS]
    expected = assemble(hits, config, query="tax", store=store, supplement="Facts.", llm=second_line).text
    documents = [Document(id=each.id, page_content=each.text, metadata=dict(each.metadata)) for each in HITS]
    nodes = [NodeWithScore(node=TextNode(id_=each.id, text=each.text, metadata=dict(each.metadata))) for each in HITS]
    langchain = ContextAssembler(config=config, store=store, llm=second_line)
    llamaindex = ContextAssemblyPostprocessor(config=config, store=store, supplement="Facts.", llm=second_line)

    chained = await langchain.ainvoke({"documents": documents, "query": "tax", "supplement": "Facts."})
    processed = await llamaindex.apostprocess_nodes(nodes, query_str="tax")

    assert expected
    assert "\n\n".join(each.page_content for each in chained) == expected
    assert "\n\n".join(each.node.get_content(MetadataMode.LLM) for each in processed) == expected
    assert [each.id for each in chained] == [each.node_id for each in processed]
    assert [each.metadata["scores"] for each in chained] == [each.metadata["scores"] for each in processed]
