"""A run for each stage, below the run that assembles or retrieves: one span a stage in LangSmith and OpenTelemetry.

The runs are named `ctxassembly.` and the stage as the trace names it: `ctxassembly.expand`, `ctxassembly.budget`,
`ctxassembly.search`. They begin and end when the stages do. Inputs and outputs are counts, names, ids and the query,
never text of a document. What a stage calls (a retriever, a reranker, a model that compresses) is below its run. A
stage that fails has the error; one that went on without something says so under "notes" of its outputs.
"""

from __future__ import annotations

from contextvars import Token
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
    var_child_runnable_config,
)

from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent, StageFailed
from ctxassembly.protocols import AsyncOnStage, OnStage


class Spans:
    """The stages of one assembly or retrieval as child runs of the run of `config`."""

    def __init__(self, config: RunnableConfig) -> None:
        self._parent_config = config
        self._open_stages: list[tuple[Any, RunnableConfig, Token[RunnableConfig | None]]] = []
        """The stages under way, the innermost last: a retrieval of an answer is one, and has steps. Each has its run,
        the config for what it calls, and what that replaced."""

    @property
    def config(self) -> RunnableConfig:
        """The config for what the stage under way calls."""
        return self._open_stages[-1][1] if self._open_stages else self._parent_config

    @property
    def on_stage(self) -> OnStage | None:
        """The function that `assemble` and `retrieve` call at each stage; None if there are no listeners.

        It is also None without a run above: each stage would be a trace of its own.
        """
        if not self._has_listeners:
            return None
        manager = get_callback_manager_for_config(self._parent_config)

        def on_stage(event: StageEvent) -> None:
            if isinstance(event, StageBegan):
                self._enter(self._start(event, manager))
            else:
                self._leave(event)

        return on_stage

    @property
    def aon_stage(self) -> AsyncOnStage | None:
        """Async version of `on_stage`."""
        if not self._has_listeners:
            return None
        manager = get_async_callback_manager_for_config(self._parent_config)

        async def on_stage(event: StageEvent) -> None:
            if isinstance(event, StageBegan):
                self._enter(await self._start(event, manager))
            else:
                await self._leave(event)

        return on_stage

    @property
    def _has_listeners(self) -> bool:
        """True if there is a run above, and one of its inherited handlers receives chain events.

        It is read from the manager that a run passes down: creating one takes as long as a small stage.
        """
        above = self._parent_config.get("callbacks")
        if not isinstance(above, BaseCallbackManager) or above.parent_run_id is None:
            return False
        return any(not handler.ignore_chain for handler in above.handlers)

    def _start(self, event: StageBegan, manager: Any) -> Any:
        """Start the run of a stage as a child of the innermost open stage; awaitable if `manager` is async."""
        above = self._open_stages[-1][0].get_child() if self._open_stages else manager
        return above.on_chain_start(None, dict(event.inputs), name=event.span_name)

    def _enter(self, run: Any) -> None:
        """Make `run` the parent of every later call, by the config and by the ambient context."""
        config = patch_config(self._parent_config, callbacks=run.get_child())
        self._open_stages.append((run, config, var_child_runnable_config.set(config)))

    def _leave(self, event: StageEnded | StageFailed) -> Any:
        """End the run under way; awaitable if its manager is async."""
        run, _, replaced = self._open_stages.pop()
        var_child_runnable_config.reset(replaced)
        if isinstance(event, StageEnded):
            return run.on_chain_end(dict(event.outputs))
        return run.on_chain_error(event.error)


def has_listeners(config: RunnableConfig) -> bool:
    """Return True if a handler, given in `config` or set up by the environment, takes the custom events of its runs."""
    return any(not handler.ignore_custom_event for handler in get_callback_manager_for_config(config).handlers)
