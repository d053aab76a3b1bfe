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
from langchain_ctxassembly.agents.evidence import Found
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.configurable import ConfigurableAlternatives, ConfigurableFields


class Ask(NamedTuple):
    """A context that is wanted."""

    found: Found
    query: str | None
    max_tokens: int
    first_label: int
    runtime: Any
    """LangGraph's `Runtime` of the call."""


@dataclass(frozen=True)
class Assembling:
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
            self._check(self.assembler)

    def config(self, config: RunnableConfig) -> AssemblyConfig:
        """The settings of a call."""
        return self._prepared(config)[0].effective

    def assembled(self, ask: Ask, config: RunnableConfig) -> Context:
        """The context that is asked for."""
        assembler, config = self._fitted(ask, config)
        return with_notes(assembler.assembled(_given(ask), config), ask.found.left_out)

    async def aassembled(self, ask: Ask, config: RunnableConfig) -> Context:
        """The same, awaited."""
        assembler, config = self._fitted(ask, config)
        return with_notes(await assembler.aassembled(_given(ask), config), ask.found.left_out)

    def _fitted(self, ask: Ask, config: RunnableConfig) -> tuple[ContextAssembler, RunnableConfig]:
        assembler, config = self._prepared(config)
        own = replace(assembler.config, max_tokens=ask.max_tokens, first_label=ask.first_label)
        held = {} if self.filter is None else {"filter": self.filter(ask.runtime)}
        return assembler.model_copy(update={"config": own, **held}), config

    def _prepared(self, config: RunnableConfig) -> tuple[ContextAssembler, RunnableConfig]:
        if isinstance(self.assembler, ContextAssembler):
            return self.assembler, config
        made, config = self.assembler.prepare(config)
        self._check(made)
        return made, config

    def _check(self, assembler: ContextAssembler) -> None:
        if assembler.labels is not None:
            raise ConfigError(
                "assembler.labels", "None here, where labels follow from the conversation", assembler.labels
            )
        if self.filter is not None and assembler.filter is not None:
            raise ConfigError("filter", "None beside an assembler that has a filter", self.filter)


def _given(ask: Ask) -> dict[str, Any]:
    return {"documents": list(ask.found.hits), "query": ask.query, "supplement": ask.found.supplement}
