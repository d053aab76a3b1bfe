"""What both retrievers share: a search, the assembly of what it found, one document per label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config
from pydantic import ConfigDict, Field, InstanceOf
from typing_extensions import override

from ctxassembly.assembly.selection.supplement import SupplementInput
from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from ctxassembly.retrieved import Retrieved
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.search import ambient_config


class Call(NamedTuple):
    """One call of a retriever."""

    query: Any
    k: int | None = None
    filter: Any = None
    conversation: Any = None


Found = tuple[ContextAssembler, Mapping[str, Any]]
"""The assembler of a call, whose neighbors pass its filters, and its input."""


class AssemblingRetriever(BaseRetriever):
    """A retriever that returns the assembled context of what it found."""

    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    supplement: SupplementInput = None
    """Text that is in no document: text, a `Supplement`, or a function from the query to one of them or None."""

    # The base class ignores unknown parameters, and so every misspelled one.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @abstractmethod
    def _search(self, call: Call, config: RunnableConfig) -> Found:
        """Return what the search of a call found."""

    @abstractmethod
    async def _asearch(self, call: Call, config: RunnableConfig) -> Found:
        """Async version of `_search`."""

    def _max_labels(self, k: int | None) -> int | None:  # noqa: ARG002
        """Return the number of labels to return, for the `k` of a call; None means all."""
        return None

    @override
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the assembled documents for a query. `k`, `filter` and `conversation` may be given for this call."""
        with ambient_config(ensure_config(config)):
            return super().invoke(input, config, **kwargs)

    @override
    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Async version of `invoke`."""
        with ambient_config(ensure_config(config)):
            return await super().ainvoke(input, config, **kwargs)

    def context(
        self,
        query: Any,
        *,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
        config: RunnableConfig | None = None,
    ) -> Context:
        """Return the context that `invoke` would turn into documents, in the run of `config`, with its retrieval.

        Raises:
            ConfigError: only some of the labels are asked for: a context has all that its budget allows.
        """
        config = self._context_config(k, config)
        with ambient_config(config):
            assembler, inputs = self._search(Call(query, k, filter, conversation), config)
        return _with_retrieval(assembler.as_context().invoke(inputs, config), inputs)

    async def acontext(
        self,
        query: Any,
        *,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
        config: RunnableConfig | None = None,
    ) -> Context:
        """Async version of `context`."""
        config = self._context_config(k, config)
        with ambient_config(config):
            assembler, inputs = await self._asearch(Call(query, k, filter, conversation), config)
        return _with_retrieval(await assembler.as_context().ainvoke(inputs, config), inputs)

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        call, config = Call(query, **arguments), patch_config(None, callbacks=run_manager.get_child())
        with ambient_config(config):
            assembler, inputs = self._search(call, config)
        return _first_labels(assembler.invoke(inputs, config), self._max_labels(call.k))

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        call, config = Call(query, **arguments), patch_config(None, callbacks=run_manager.get_child())
        with ambient_config(config):
            assembler, inputs = await self._asearch(call, config)
        return _first_labels(await assembler.ainvoke(inputs, config), self._max_labels(call.k))

    def _context_config(self, k: int | None, config: RunnableConfig | None) -> RunnableConfig:
        if self._max_labels(k) is not None:
            raise ConfigError("k", "None where the whole context is asked for, whose budget says how much it has", k)
        return ensure_config(config)


def _with_retrieval(context: Context, inputs: Mapping[str, Any]) -> Context:
    found = inputs["documents"]
    return replace(context, retrieved=found) if isinstance(found, Retrieved) else context


def _first_labels(documents: list[Document], max_labels: int | None) -> list[Document]:
    """Return the documents of the first labels, and the supplement wherever it is."""
    if max_labels is None:
        return documents
    number = count(1)
    return [one for one in documents if "citation" not in one.metadata or next(number) <= max_labels]
