"""Documents, embeddings and handlers that the LangChain tests share."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langchain_core.vectorstores import InMemoryVectorStore

from ctxassembly import Chunk, MemoryStore, MetadataKeys
from ctxassembly.data.trace import SPAN_PREFIX
from langchain_ctxassembly.convert.documents import chunk_from

WORDS = ["harbour", "lantern", "meadow", "granite", "thistle", "copper", "willow", "falcon", "ember", "juniper"]


def sentence(document_id: str, index: int) -> str:
    return f"In {document_id} the {WORDS[index % len(WORDS)]} is described in paragraph {index}."


def document(document_id: str, index: int, **metadata: Any) -> Document:
    """Chunk `index` of a document, whose last sentence is the first one of the next chunk."""
    return Document(
        id=f"{document_id}#{index}",
        page_content=f"{sentence(document_id, index)} {sentence(document_id, index + 1)}",
        metadata={"document_id": document_id, "chunk_index": index, "source": f"{document_id}.pdf", **metadata},
    )


def documents(*document_ids: str, count: int = 9, **metadata: Any) -> list[Document]:
    return [document(each, index, **metadata) for each in document_ids for index in range(count)]


def chunks(found: Sequence[Document]) -> list[Chunk]:
    return [chunk_from(each, MetadataKeys()) for each in found]


def memory_store(found: Sequence[Document]) -> MemoryStore:
    return MemoryStore(chunks(found))


class WordEmbeddings(Embeddings):
    """Hashed bags of words: texts that share words are near each other."""

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 64] += 1.0
        length = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / length for value in vector]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def vector_store(found: Sequence[Document]) -> InMemoryVectorStore:
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(list(found))
    return store


class Recorder(BaseCallbackHandler):
    """Notes the custom events, and each run with its parent."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.runs: dict[Any, tuple[str, Any]] = {}

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data))

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.runs[kwargs["run_id"]] = (kwargs["name"], kwargs.get("parent_run_id"))

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.runs[kwargs["run_id"]] = (kwargs["name"], kwargs.get("parent_run_id"))

    def parents(self) -> dict[str, str | None]:
        """The name of each run's parent, by the run's name; of no stage, which `test_langchain_spans.py` looks at."""
        runs = (run for run in self.runs.values() if not run[0].startswith(SPAN_PREFIX))
        return {name: self.runs[parent][0] if parent else None for name, parent in runs}


class Tracer(BaseTracer):
    """Keeps the trees of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)
