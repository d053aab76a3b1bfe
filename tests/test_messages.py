"""The messages of errors and warnings, all in one file: `tests/messages.txt`. Renew it with RENEW_MESSAGES=1.

A test elsewhere checks that a wrong value is refused, by the class of the error and the parameter; its wording is here.
"""

# mypy: disable-error-code="arg-type, call-arg, dict-item, list-item, return-value, type-var"

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import (
    AnswerChain,
    AssemblyConfig,
    Chunk,
    Context,
    Hit,
    MemoryIndex,
    MemoryStore,
    MetadataKeys,
    RetrievalConfig,
    TokenBudget,
    assemble,
    retrieve,
)
from ctxassembly.answering import AnswerConfig, Intent
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, ContextRetriever
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, DocstoreNeighbors

SNAPSHOT = Path(__file__).parent / "messages.txt"
CHUNK = Chunk("a", "A", "Text.", 0)
HITS = [Hit(CHUNK)]
KEYWORD = RetrievalConfig(strategy="keyword")
INDEX = MemoryIndex([CHUNK])
DOCUMENT = Document("Text.", id="a")
NODE = TextNode(text="Text.", id_="a")
VECTORSTORE = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
LLAMA_INDEX = VectorStoreIndex([NODE], embed_model=MockEmbedding(embed_dim=4))


class Failing:
    """A store, an index, a model and embeddings that fail."""

    def fetch(self, *_: Any) -> Any:
        raise ConnectionError("no route to host")

    find_terms = search = ask = embed_documents = __call__ = fetch


class Cache(dict[str, str]):
    set = dict.__setitem__


def config(**settings: Any) -> Callable[[], Any]:
    return lambda: AssemblyConfig(**settings)


def context_of(hits: Any = HITS, settings: Any = None, **services: Any) -> Callable[[], Any]:
    return lambda: assemble(hits, settings, **services)


CASES: dict[str, Callable[[], Any]] = {
    # Hits, config and store
    "a query for hits": context_of("May I drink?"),
    "LangChain's documents for hits": context_of([DOCUMENT]),
    "LlamaIndex's nodes for hits": context_of([NodeWithScore(node=NODE)]),
    "retrieved for hits": context_of(retrieve("text", KEYWORD, index=INDEX)),
    "chunks for hits": context_of([CHUNK]),
    "a hit of something else": context_of([Hit("text")]),
    "a dict for a config": context_of(settings={"window": 2}),
    "a use for a config": context_of(settings="voice"),
    "a number for a config": context_of(settings=2_000),
    "a number for a query": context_of(query=5),
    "a number for a supplement": context_of(supplement=5),
    "a vector store for a store": context_of(store=VECTORSTORE),
    "an index for a store": context_of(store=LLAMA_INDEX),
    "a docstore for a store": context_of(store=LLAMA_INDEX.docstore),
    "LlamaIndex's vector store for a store": context_of(store=LLAMA_INDEX.vector_store),
    "chunks for a store": context_of(store=[CHUNK]),
    "a number for embeddings": context_of(embeddings=5),
    "a number for a model": context_of(llm=5),
    "a model that compress needs": context_of(settings=AssemblyConfig(compress="llm")),
    "embeddings that dedup needs": context_of(settings=AssemblyConfig(dedup="semantic")),
    "a context that is none": lambda: Context.from_dict({"text": "?"}),
    # Settings
    "a wide window": config(window=4),
    "a number as text": config(max_tokens="2000"),
    "a number of another library": config(max_tokens=np.int64(2000)),
    "a number beyond 64 bits": config(max_tokens=2**63),
    "an unknown order": config(order="best"),
    "a published order": config(order="lost_in_middle"),
    "a published parameter": config(expand_window=1),
    "a published use": lambda: AssemblyConfig.for_use("summarisation"),
    "a published system as use": lambda: AssemblyConfig.for_use("five_stage"),
    "a setting without effect": config(granularity="sentence", compress="llm"),
    "a minimum without effect": config(fill=True, min_relevance=0.5),
    "a page base": lambda: MetadataKeys(page_base=2),
    "no keys": lambda: MetadataKeys(source=()),
    "an unknown encoding": config(encoding="cl100k"),
    "a model as encoding": config(encoding="gpt-4o"),
    "an encoding that isn't the budget's": config(
        encoding="cl100k_base", max_tokens=TokenBudget(window=50_000, encoding="o200k_base")
    ),
    "a count that is none": context_of(settings=AssemblyConfig(encoding=lambda text: -1)),
    "tokens for their count": context_of(settings=AssemblyConfig(encoding=lambda text: [1, 2])),
    "a budget without room": lambda: TokenBudget(window=18_000),
    "a zone of a budget": lambda: TokenBudget(system=-1),
    "a limit of retrieval": lambda: RetrievalConfig(limit=0),
    "an intent without a label": lambda: Intent(" ", "Parking."),
    "an intent that isn't there": lambda: AnswerConfig(default_intent="practical"),
    "a pattern that is none": lambda: AnswerConfig(forbidden=("(",)),
    # Retrieval and answers
    "a vector store for an index": lambda: retrieve("text", KEYWORD, index=VECTORSTORE),
    "a LlamaIndex for an index": lambda: retrieve("text", KEYWORD, index=LLAMA_INDEX),
    "chunks for an index": lambda: retrieve("text", KEYWORD, index=[CHUNK]),
    "a strategy without embeddings": lambda: retrieve("text", index=INDEX),
    "a strategy without an index": lambda: retrieve("text", KEYWORD),
    "a filter of another form": lambda: INDEX.with_filter({"tenant": {"$is": 1}}),
    "a failing channel": lambda: retrieve("text", KEYWORD, channels={"keyword": Failing()}),
    "a failing store": context_of(settings=AssemblyConfig(on_store_error="raise"), store=Failing()),
    "a failing model": lambda: AnswerChain.from_index(INDEX, Failing(), KEYWORD).answer("text"),
    "a cache without its scope": lambda: AnswerChain.from_index(INDEX, Failing(), KEYWORD, cache=Cache()),
    # LangChain
    "a setting of the config": lambda: ContextAssembler(window=2),
    "a parameter that isn't there": lambda: ContextAssembler(vectorstore=VECTORSTORE),
    "a use as an assembler's config": lambda: ContextAssembler(config="voice"),
    "a dict as an assembler's config": lambda: ContextAssembler(config={"window": 2}),
    "a retriever as an assembler's store": lambda: ContextAssembler(store=VECTORSTORE.as_retriever()),
    "a class as an assembler's store": lambda: ContextAssembler(store=MemoryStore),
    "neighbors misspelled": lambda: ContextAssembler(neighbors="unfilterd"),
    "no retriever": ContextAssemblyRetriever,
    "a vector store as retriever": lambda: ContextAssemblyRetriever(retriever=VECTORSTORE),
    "a retriever as vector store": lambda: ContextAssemblyRetriever.from_vectorstore(VECTORSTORE.as_retriever()),
    "no embeddings": lambda: ContextRetriever(INDEX),
    "text for documents": lambda: ContextAssembler().invoke("May I drink?"),
    "pairs for documents": lambda: ContextAssembler().invoke([(DOCUMENT, 0.5)]),
    "a dict for a query": lambda: ContextAssemblyRetriever.from_vectorstore(VECTORSTORE).invoke({"q": "?"}),
    # LlamaIndex
    "a setting of a postprocessor's config": lambda: ContextAssemblyPostprocessor(window=2),
    "an index as docstore": lambda: ContextAssemblyPostprocessor(docstore=LLAMA_INDEX),
    "an index as neighbors": lambda: DocstoreNeighbors(LLAMA_INDEX),
    "a dict as filter": lambda: ContextAssemblyPostprocessor(filter={"tenant": "north"}),
    "a response for nodes": lambda: ContextAssemblyPostprocessor().context(SimpleNamespace(source_nodes=[])),
    "one node for nodes": lambda: ContextAssemblyPostprocessor().context(NODE),
    "bare nodes": lambda: ContextAssemblyPostprocessor().postprocess_nodes([NODE]),
}


def provoke(case: Callable[[], Any]) -> str:
    """What a call raises, or else warns of."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        try:
            case()
        except Exception as error:  # noqa: BLE001 - which it is is in the snapshot
            return f"{type(error).__name__}: {error}"
    return "\n".join(f"{one.category.__name__}: {one.message}" for one in issued)


def test_messages_are_those_of_the_snapshot() -> None:
    texts = "\n".join(f"# {name}\n{provoke(case)}\n" for name, case in CASES.items())
    if os.environ.get("RENEW_MESSAGES"):
        SNAPSHOT.write_text(texts, "utf-8")
    assert texts == SNAPSHOT.read_text("utf-8")
