"""A `ContextAssembler` with configurable fields or alternatives, whose `as_context()` follows the config of the call.

With LangChain's own classes, `as_context()` would use the default assembler, and a filter set in the config of a call
would not apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda, RunnableSerializable
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
from langchain_core.runnables.utils import AnyConfigurableField

from ctxassembly.context import Context

RUN_NAME = "ContextAssembler.as_context"


class Assembler(Protocol):
    """The part of `ContextAssembler` used here; that module imports this one."""

    def assemble_context(self, inputs: Any, config: RunnableConfig) -> Context:
        """Return the context of `inputs`, in the run of `config`."""

    async def aassemble_context(self, inputs: Any, config: RunnableConfig) -> Context:
        """Async version of `assemble_context`."""


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
        return with_config(_context_runnable(self), config)

    def configurable_fields(self, **kwargs: AnyConfigurableField) -> ConfigurableFields:
        """The same as for any runnable; `as_context()` follows the result, too."""
        return cast(ConfigurableFields, super().configurable_fields(**kwargs))

    def configurable_alternatives(self, which: ConfigurableField, **kwargs: Any) -> ConfigurableAlternatives:
        """The same as for any runnable; `as_context()` follows the result, too."""
        return as_configurable_alternatives(super().configurable_alternatives(which, **kwargs))

    def _prepare(self, config: RunnableConfig | None = None) -> tuple[Runnable[Any, Any], RunnableConfig]:
        runnable, config = super()._prepare(config)
        cast(Any, runnable).share_warnings_with(self.default)
        return runnable, config


class ConfigurableAlternatives(_Alternatives):
    """One of several assemblers, which the config of the call chooses."""

    def as_context(self, *, config: RunnableConfig | None = None) -> Runnable[Any, Context]:
        """The same as `ContextAssembler.as_context`."""
        return with_config(_context_runnable(self), config)


def as_configurable_fields(runnable: RunnableSerializable[Any, Any]) -> ConfigurableFields:
    """Return the runnable with configurable fields that LangChain `runnable`, as one of ours."""
    return ConfigurableFields(**runnable.__dict__)


def as_configurable_alternatives(runnable: RunnableSerializable[Any, Any]) -> ConfigurableAlternatives:
    """Return the runnable with configurable alternatives that LangChain `runnable`, as one of ours."""
    return ConfigurableAlternatives(**runnable.__dict__)


def with_config(runnable: Runnable[Any, Context], config: RunnableConfig | None) -> Runnable[Any, Context]:
    """Return `runnable` with the `config` of a binding, which would be lost otherwise, and with it a filter."""
    return runnable if config is None else runnable.with_config(config)


def _context_runnable(configurable: ConfigurableFields | ConfigurableAlternatives) -> Runnable[Any, Context]:
    def run(given: Any, config: RunnableConfig) -> Context:
        assembler, config = configurable.prepare(config)
        return cast(Assembler, assembler).assemble_context(given, config)

    async def arun(given: Any, config: RunnableConfig) -> Context:
        assembler, config = configurable.prepare(config)
        return await cast(Assembler, assembler).aassemble_context(given, config)

    return RunnableLambda(run, arun, name=RUN_NAME)
