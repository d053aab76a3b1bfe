"""order="auto" through both adapters: one document or node for each label, with an id of its own."""

from __future__ import annotations

from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from builders import numbered
from ctxassembly import AssemblyConfig, resolve
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

QUERY = "When is ferritin measured?"
ANSWER = "Ferritin is measured in the morning, before breakfast."
CONFIG = AssemblyConfig(order="auto", max_tokens=4_000, fill=True)


def texts() -> list[str]:
    made = [
        " ".join(
            f"On page {page} line {line} speaks of other things, namely of {numbered('w', 8)}." for line in range(9)
        )
        for page in range(9)
    ]
    made[6] = f"{made[6]} {ANSWER} {made[6].replace('page 6', 'page 66')}"
    return made


def test_both_adapters_give_one_document_or_node_for_each_label():
    metadata = [{"document_id": "D", "chunk_index": at, "source": "d.pdf"} for at in range(9)]
    documents = [
        Document(text, metadata=own, id=f"D#{own['chunk_index']}") for text, own in zip(texts(), metadata, strict=True)
    ]
    nodes = [
        NodeWithScore(node=TextNode(text=text, metadata=own, id_=f"D#{own['chunk_index']}"))
        for text, own in zip(texts(), metadata, strict=True)
    ]
    read = ContextAssembler(config=CONFIG).invoke({"documents": documents, "query": QUERY})
    source_nodes = ContextAssemblyPostprocessor(config=CONFIG).postprocess_nodes(nodes, query_str=QUERY)
    assert [document.page_content for document in read] == [node.text for node in source_nodes]
    assert [document.id for document in read] == [node.node_id for node in source_nodes]
    assert len({document.id for document in read}) == len(read) == 4
    assert ANSWER in read[0].page_content
    assert {document.metadata["citation"]["document_id"] for document in read} == {"D"}
    resolved = resolve("In the morning [1], as said elsewhere [3].", read)
    assert [citation.label for citation in resolved.citations] == ["1", "3"]
    # What was assembled is assembled again without a loss.
    again = ContextAssembler(config=CONFIG).invoke({"documents": read, "query": QUERY})
    for page in range(9):
        for line in range(9):
            said = f"On page {page} line {line} speaks"
            assert sum(document.page_content.count(said) for document in again) == 1
