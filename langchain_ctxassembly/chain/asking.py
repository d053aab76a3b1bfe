"""The requests of one run of an answer chain, answered in spans: "understand", "retrieve", "assemble" and "answer".

A call of the model is a run by itself. A search isn't: a question may be searched for in several ways at once, and they
are one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)

from ctxassembly.answering.cache_key import Reach
from ctxassembly.answering.requests import Assemble, Readmit, Search, SearchAll
from ctxassembly.assembly.selection.supplement import supplement_for
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.chunks import Hit
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer_services import Answering
from langchain_ctxassembly.chain.evidence import Evidence
from langchain_ctxassembly.convert.documents import document_of
from langchain_ctxassembly.searches.visible import ambient


@dataclass(frozen=True)
class Source:
    """The evidence of one run."""

    evidence: Evidence
    labels: Labels
    """Those of the conversation, unless the assembler has some."""
    config: RunnableConfig

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""
        return self.evidence.search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.evidence.asearch(request)

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The chunks cited before that the call may read."""
        with ambient(self.config):
            return self.evidence.readmit(request)

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        with ambient(self.config):
            return await self.evidence.areadmit(request)

    def reach(self, condition: Any) -> Reach:
        """What a call with that filter may read."""
        with ambient(self.config):
            return self.evidence.reach(condition)

    def assemble(self, request: Assemble) -> Context:
        """The context, from a run of its own."""
        return self._assembling(request).invoke(self._given(request), self.config)

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        return await self._assembling(request).ainvoke(self._given(request), self.config)

    def _assembling(self, request: Assemble) -> RunnableLambda[Any, Context]:
        assembler, search = self.evidence.assembling(request.filter)
        if assembler.labels is None:
            given, assembler = assembler, assembler.model_copy(update={"labels": self.labels})
            assembler.knows_what_was_warned_of(given)
        assembled = partial(assembler.assembled, search=search)
        return RunnableLambda(assembled, partial(assembler.aassembled, search=search), name="assemble")

    def _given(self, request: Assemble) -> Mapping[str, Any]:
        own = supplement_for(request.query, self.evidence.supplement)
        supplement = request.supplement if own is None else own
        return {"documents": list(request.hits), "query": request.query, "supplement": supplement}


@dataclass(frozen=True)
class Asking:
    """`asking`, with one run for all searches of a question."""

    asking: Answering
    config: RunnableConfig

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if not isinstance(request, SearchAll):
            return self.asking.ask(request)
        run = get_callback_manager_for_config(self.config).on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient(patch_config(self.config, callbacks=run.get_child())):
                replies = self.asking.ask(request)
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        found, failure = _outcome(replies)
        run.on_retriever_error(failure) if failure else run.on_retriever_end(found)
        return replies

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        if not isinstance(request, SearchAll):
            return await self.asking.aask(request)
        manager = get_async_callback_manager_for_config(self.config)
        run = await manager.on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient(patch_config(self.config, callbacks=run.get_child())):
                replies = await self.asking.aask(request)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        found, failure = _outcome(replies)
        await (run.on_retriever_error(failure) if failure else run.on_retriever_end(found))
        return replies


def _query(request: SearchAll) -> str:
    return "\n".join(dict.fromkeys(search.question.meant for search in request.searches))


def _outcome(replies: Sequence[Retrieved | Exception]) -> tuple[list[Document], Exception | None]:
    """The documents of all searches, each once; an error if none of them answered."""
    found = [reply for reply in replies if not isinstance(reply, Exception)]
    if not found:
        return [], cast(Exception, replies[0])
    hits = {hit.chunk.identity: hit for reply in found for hit in reply.hits}
    return [document_of(hit) for hit in hits.values()], None
