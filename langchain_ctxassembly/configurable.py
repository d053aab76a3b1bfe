"""A `ContextAssembler` with configurable fields or alternatives, whose `as_context()` follows the config of the call.

With LangChain's own classes, `as_context()` would use the default assembler, and a filter set in the config of a call
would not apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
from typing_extensions import override

from ctxassembly.context import Context

RUN_NAME = "ContextAssembler.as_context"

# With type arguments, pydantic takes only runnables of exactly that parametrized class as the default.
if TYPE_CHECKING:
    _Fields: TypeAlias = RunnableConfigurableFields[Any, list[Document]]
    _Alternatives: TypeAlias = RunnableConfigurableAlternatives[Any, list[Document]]
else:
    _Fields, _Alternatives = RunnableConfigurableFields, RunnableConfigurableAlternatives


class ConfigurableFields(_Fields):
    """An assembler whose fields the config of the call sets."""

    def as_context(self, *, config: RunnableConfig | None = None) -> Runnable[Any, Context]:
        """The same as `ContextAssembler.as_context`."""
        return _context_runnable(self, config)

    @override
    def configurable_alternatives(self, which: ConfigurableField, **kwargs: Any) -> ConfigurableAlternatives:
        return ConfigurableAlternatives(**super().configurable_alternatives(which, **kwargs).__dict__)

    def _prepare(self, config: RunnableConfig | None = None) -> tuple[Runnable[Any, Any], RunnableConfig]:
        runnable, config = super()._prepare(config)
        cast(Any, runnable).share_warnings_with(self.default)
        return runnable, config


class ConfigurableAlternatives(_Alternatives):
    """One of several assemblers, which the config of the call chooses."""

    def as_context(self, *, config: RunnableConfig | None = None) -> Runnable[Any, Context]:
        """The same as `ContextAssembler.as_context`."""
        return _context_runnable(self, config)


def with_config(runnable: Runnable[Any, Context], config: RunnableConfig | None) -> Runnable[Any, Context]:
    """Return `runnable` with the `config` of a binding, which would be lost otherwise, and with it a filter."""
    return runnable if config is None else runnable.with_config(config)


def _context_runnable(
    configurable: ConfigurableFields | ConfigurableAlternatives, config: RunnableConfig | None
) -> Runnable[Any, Context]:
    def run(inputs: Any, config: RunnableConfig) -> Context:
        assembler, config = configurable.prepare(config)
        return cast(Context, cast(Any, assembler).assemble_context(inputs, config))

    async def arun(inputs: Any, config: RunnableConfig) -> Context:
        assembler, config = configurable.prepare(config)
        return cast(Context, await cast(Any, assembler).aassemble_context(inputs, config))

    return with_config(RunnableLambda(run, arun, name=RUN_NAME), config)
