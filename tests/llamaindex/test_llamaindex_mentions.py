"""A document that the best hit names by its title joins a LlamaIndex context, if the caller may read it."""

from __future__ import annotations

from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Hit, MemoryIndex, MetadataKeys, assemble
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
from llamaindex_ctxassembly.nodes import to_chunk

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
CONFIG = AssemblyConfig(max_tokens=200)


def corpus(tenant: str, born: str) -> list[Document]:
    texts = {
        "Lighthouse Choir": "The founder of the Lighthouse Choir is Marta Quist.",
        "Northern Choir": "The Northern choir of the city has a founder, born in the city.",
        "Southern Choir": "The Southern choir of the city has a founder, born in the city.",
        "Marta Quist": f"She came from {born}, and sang there as a child until she went to sea.",
    }
    return [
        Document(text=text, id_=f"{tenant}/{title}", metadata={"title": title, "tenant": tenant})
        for title, text in texts.items()
    ]


def nodes_of(tenant: str, born: str) -> list[BaseNode]:
    return list(
        number_chunks(SentenceSplitter(chunk_size=64, chunk_overlap=8).get_nodes_from_documents(corpus(tenant, born)))
    )


NORTH, SOUTH = nodes_of("north", "Aarhus"), nodes_of("south", "Seville")
INDEX = MemoryIndex(to_chunk(node, MetadataKeys()) for node in (*SOUTH, *NORTH))
HITS = [NodeWithScore(node=node, score=0.9) for node in NORTH if node.metadata["title"] != "Marta Quist"]


def text_of(nodes: list[NodeWithScore]) -> str:
    return "\n\n".join(node.get_content() for node in nodes)


def test_the_named_document_joins_under_the_filter() -> None:
    tenant = MetadataFilters(filters=[MetadataFilter(key="tenant", value="north")])
    postprocessor = ContextAssemblyPostprocessor(config=CONFIG, store=INDEX, filter=tenant)
    text = text_of(postprocessor.postprocess_nodes(HITS, query_str=QUESTION))
    assert "Aarhus" in text
    assert "Seville" not in text
    hits = [Hit(to_chunk(one.node, MetadataKeys()), one.score) for one in HITS]
    store = INDEX.with_filter({"tenant": "north"})
    assert text == assemble(hits, CONFIG, query=QUESTION, store=store).text


def test_nothing_joins_where_the_filter_is_unknown() -> None:
    postprocessor = ContextAssemblyPostprocessor(config=CONFIG, store=INDEX)
    text = text_of(postprocessor.postprocess_nodes(HITS, query_str=QUESTION))
    assert "Aarhus" not in text
    assert "Seville" not in text
