"""Retrieval and assembly by the caller's objects, under settings that may differ from run to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.retrieval import Channel, Explanation, Retrieved
from ctxassembly.errors import InputError
from ctxassembly.evaluate.losses import holders_of, parts_of
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion
from ctxassembly.evaluate.systems import as_system, hits_of
from ctxassembly.protocols import Reranker, SearchFunction
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.assemble import assemble, restricted_store
from ctxassembly.runtime.retrieve import explain, retrieve

_BY_WORDS = RetrievalConfig(strategy="keyword", limit=20, rescue="off")
"""The search for chunks with the words of a quotation."""
Found = Retrieved | Context | Sequence[Hit]
"""What a search finds. A retriever of the caller's may return a context."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run, with a name for what differs from the caller's."""

    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    assembly: AssemblyConfig = field(default_factory=AssemblyConfig)
    reranks: bool = True
    """False leaves out the rerankers."""
    name: str = ""


@dataclass(frozen=True)
class Run:
    """One question under one configuration."""

    hits: Sequence[Hit]
    context: Context
    retrieved: Retrieved | None
    is_given: bool = False
    """True if the caller's retriever returned the context: no setting changes it."""


@dataclass(frozen=True)
class Pipeline:
    """The caller's objects, checked.

    Raises:
        InputError: there is neither an index nor a retriever, or both.
    """

    index: Any
    embed: Any
    retriever: Any
    store: Any
    taxonomy: Taxonomy | None
    channels: Mapping[Channel, SearchFunction] | None
    rerankers: Sequence[Reranker]

    def __post_init__(self) -> None:
        if (self.index is None) == (self.retriever is None):
            raise InputError("give an index, or a retriever in its place")

    def assemble(self, question: LabeledQuestion, found: Found, settings: Settings) -> Run:
        """Return the hits and the context of what was found for `question`."""
        if isinstance(found, Context):
            return Run([Hit(one.chunk, one.score) for one in found.hits], found, found.retrieved, is_given=True)
        hits = found.hits if isinstance(found, Retrieved) else found
        context = assemble(hits, settings.assembly, query=question.text, store=self.visible_store(question))
        return Run(hits, context, found if isinstance(found, Retrieved) else None)

    def search(self, question: LabeledQuestion, settings: Settings) -> Found:
        """Return what the index or the retriever finds."""
        if self.retriever is None:
            rerankers = self.rerankers if settings.reranks else ()
            asked = Question(question.text, filter=question.filter)
            return retrieve(asked, settings.retrieval, rerankers=rerankers, **self.services())
        found = as_system("retriever", self.retriever).call(question)
        return found if isinstance(found, (Context, Retrieved)) else hits_of(found)

    def explain(self, question: LabeledQuestion, expect: str, settings: Settings) -> Explanation:
        """Return what became of the chunk with the id or the text `expect`."""
        asked = Question(question.text, filter=question.filter)
        return explain(asked, expect, settings.retrieval, rerankers=self.rerankers, **self.services())

    def services(self) -> dict[str, Any]:
        """Return the arguments of `retrieve` that aren't settings."""
        return {"index": self.index, "embed": self.embed, "taxonomy": self.taxonomy, "channels": self.channels}

    @property
    def _chunk_store(self) -> Any:
        store = self.index if self.store is None else self.store
        return store if hasattr(store, "fetch") else None

    def visible_store(self, question: LabeledQuestion) -> Any:
        """Return the store restricted to the filter of `question`; None if there is no store."""
        return restricted_store(self._chunk_store, question.filter)

    def find_chunks(self, question: LabeledQuestion, evidence: Evidence) -> list[Chunk]:
        """Return the chunks that the filter allows of the documents that may have the evidence."""
        found: list[Chunk] = []
        document_ids = [evidence.document_id] if evidence.document_id is not None else []
        if evidence.quotation is not None and self.index is not None:
            asked = Question(evidence.quotation, filter=question.filter)
            found = [one.chunk for one in retrieve(asked, _BY_WORDS, index=self.index).chunks]
            document_ids += [chunk.lookup_id for chunk in found] if evidence.document_id is None else []
        store = self.visible_store(question)
        if store is not None and document_ids:
            found += store.fetch([ChunkRef(document_id) for document_id in dict.fromkeys(document_ids)])
        elif store is not None and evidence.chunk_id is not None:
            found += store.fetch([ChunkRef("", chunk_id=evidence.chunk_id)])
        return list({chunk.identity: chunk for chunk in found}.values())

    def hidden_holder(self, question: LabeledQuestion, evidence: Evidence, visible: Sequence[Chunk]) -> str | None:
        """Return the id of a chunk with evidence that isn't among the `visible` ones; None if there is none."""
        if question.filter is None or evidence.document_id is None or self._chunk_store is None:
            return None
        chunks = self._chunk_store.fetch([ChunkRef(evidence.document_id)])
        ids = [chunk.id for chunk in holders_of(evidence, chunks) or (one for one, _ in parts_of(evidence, chunks))]
        known = {chunk.id for chunk in visible}
        return next((id_ for id_ in ids if id_ not in known), None)
