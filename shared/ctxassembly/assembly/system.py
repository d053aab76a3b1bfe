"""The run of a system of its own: what came in is checked and repaired as for the default pipeline, then it flows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import cast

from ctxassembly.assembly.arguments import (
    AssemblyCall,
    Services,
    check_config,
    check_filtered,
    check_query,
    settings_of,
)
from ctxassembly.assembly.call import Call, System, SystemFlow
from ctxassembly.assembly.expansion.admit import admit_hits
from ctxassembly.assembly.supplement import as_supplement
from ctxassembly.config.hints import not_a_hit_error
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation, given_conversation
from ctxassembly.data.candidates import EMPTY
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import TraceRecorder, count_by_reason


def system_flow(call: AssemblyCall, services: Services, clock: Callable[[], float]) -> SystemFlow:
    """Return the context that the system in `call.config` makes. `clock` gives seconds and is used for the trace only.

    With a conversation, the labels of the context continue it. What the conversation has is sent again: a system says
    itself what it leaves out.

    Raises:
        InputError: an argument of the call is of another type, or the system returned something else than a context.
        ConfigError: neighbors that have to be filtered, and no filter.
    """
    if isinstance(call.hits, str):
        raise not_a_hit_error(call.hits)
    check_config(call.config)
    system, query = cast(System, call.config), check_query(call.query)
    if services.store is not None:
        check_filtered(settings_of(system), services.store.holds_filter)
    given_conversation(call.conversation)
    log = TraceRecorder(clock, services.is_observed)
    yield from log.begin("admit", len(call.hits) if isinstance(call.hits, Sequence) else 0)
    admitted = admit_hits(call.hits)
    log.notes += admitted.notes
    yield from log.end(len(admitted.candidates), lambda: count_by_reason([EMPTY] * len(admitted.empty)))
    own = Call(
        hits=admitted.candidates,
        query=query,
        supplement=as_supplement(call.supplement),
        store=services.store,
        can_embed=services.can_embed,
        can_compress=services.can_compress,
        admitted=admitted,
        log=log,
    )
    if call.conversation is None:
        return (yield from _run(system, own))
    context = yield from _run_in_conversation(system, own, call.conversation)
    return replace(context, earlier_citations=call.conversation.citations)


def _run(system: System, call: Call) -> SystemFlow:
    flow = system.flow(call)
    if not isinstance(flow, Generator):
        raise InputError(f"{type(system).__name__}.flow must be a generator function, got {safe_repr(flow)}")
    context = yield from flow
    if not isinstance(context, Context):
        raise InputError(f"{type(system).__name__}.flow must return a Context, got {safe_repr(context)}")
    return context


def _run_in_conversation(system: System, call: Call, conversation: Conversation) -> SystemFlow:
    """Run `system` with the next labels of `conversation`; reserved are as many as there could be."""
    labels = conversation.labels
    if labels is None:
        return (yield from _run(system, replace(call, first_label=conversation.next_label)))
    end = (used := labels.reserve(len(call.hits), conversation.next_label)) + len(call.hits)
    try:
        context = yield from _run(system, replace(call, first_label=used))
        used += len(context.citations)
    finally:
        labels.release(used, end)
    return context
