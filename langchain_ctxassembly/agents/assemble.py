"""Assemblies of an agent or a graph: with the filter of the call, in the remaining budget."""

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
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.configurable import ConfigurableAlternatives, ConfigurableFields


class ContextRequest(NamedTuple):
    """A request for a context."""

    evidence: SearchEvidence
    query: str | None
    max_tokens: int
    first_label: int
    runtime: Any
    """LangGraph's `Runtime` of the call."""

    @property
    def inputs(self) -> dict[str, Any]:
        """The input of the assembler."""
        return assembler_inputs(self.evidence.hits, self.query, self.evidence.supplement)


@dataclass(frozen=True)
class RuntimeAssembler:
    """An assembler, and a function from the runtime of a call to its filter."""

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
        """Return the settings of a call."""
        return self._resolve_assembler(config)[0].effective_config

    def assemble_context(self, request: ContextRequest, config: RunnableConfig) -> Context:
        """Return the requested context."""
        assembler, config = self._assembler_for(request, config)
        return with_notes(assembler.assemble_context(request.inputs, config), request.evidence.left_out)

    async def aassemble_context(self, request: ContextRequest, config: RunnableConfig) -> Context:
        """Async version of `assemble_context`."""
        assembler, config = self._assembler_for(request, config)
        return with_notes(await assembler.aassemble_context(request.inputs, config), request.evidence.left_out)

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
