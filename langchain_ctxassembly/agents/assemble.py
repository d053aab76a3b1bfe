"""Assemblies of an agent or a graph: by its assembler, under the filter of the call, in the room that is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import with_notes
from langchain_ctxassembly.agents.evidence import SearchEvidence
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.configurable import ConfigurableAlternatives, ConfigurableFields


class ContextRequest(NamedTuple):
    """A context that is wanted."""

    evidence: SearchEvidence
    query: str | None
    max_tokens: int
    first_label: int
    runtime: Any
    """LangGraph's `Runtime` of the call."""


@dataclass(frozen=True)
class RuntimeAssembler:
    """An assembler, and the filter that each call has in its runtime."""

    assembler: Any
    filter: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        kinds = (ContextAssembler, ConfigurableFields, ConfigurableAlternatives)
        if not isinstance(self.assembler, kinds):
            raise ConfigError("assembler", "a ContextAssembler, which may have configurable fields", self.assembler)
        if not (self.filter is None or callable(self.filter)):
            allowed = "a function from the runtime of a call to a filter; one for all calls is the assembler's own"
            raise ConfigError("filter", allowed, self.filter)
        if isinstance(self.assembler, ContextAssembler):
            self._check_assembler(self.assembler)

    def config(self, config: RunnableConfig) -> AssemblyConfig:
        """The settings of a call."""
        return self._resolve_assembler(config)[0].effective_config

    def assemble_context(self, request: ContextRequest, config: RunnableConfig) -> Context:
        """The context that is asked for."""
        assembler, config = self._assembler_for(request, config)
        return with_notes(assembler.assemble_context(_assembler_inputs(request), config), request.evidence.left_out)

    async def aassemble_context(self, request: ContextRequest, config: RunnableConfig) -> Context:
        """The same, awaited."""
        assembler, config = self._assembler_for(request, config)
        return with_notes(
            await assembler.aassemble_context(_assembler_inputs(request), config), request.evidence.left_out
        )

    def _assembler_for(
        self, request: ContextRequest, config: RunnableConfig
    ) -> tuple[ContextAssembler, RunnableConfig]:
        assembler, config = self._resolve_assembler(config)
        own = replace(assembler.config, max_tokens=request.max_tokens, first_label=request.first_label)
        filters = {} if self.filter is None else {"filter": self.filter(request.runtime)}
        return assembler.model_copy(update={"config": own, **filters}), config

    def _resolve_assembler(self, config: RunnableConfig) -> tuple[ContextAssembler, RunnableConfig]:
        if isinstance(self.assembler, ContextAssembler):
            return self.assembler, config
        assembler, config = self.assembler.prepare(config)
        self._check_assembler(assembler)
        return assembler, config

    def _check_assembler(self, assembler: ContextAssembler) -> None:
        if assembler.labels is not None:
            raise ConfigError(
                "assembler.labels", "None here, where labels follow from the conversation", assembler.labels
            )
        if self.filter is not None and assembler.filter is not None:
            raise ConfigError("filter", "None beside an assembler that has a filter", self.filter)


def _assembler_inputs(request: ContextRequest) -> dict[str, Any]:
    return {"documents": list(request.evidence.hits), "query": request.query, "supplement": request.evidence.supplement}
