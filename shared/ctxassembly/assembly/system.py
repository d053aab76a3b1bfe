"""A system of its own, from its arguments to its context.

What came in is checked and repaired as for the default pipeline, then the system flows, and at its end its blocks
become the context, with a decision on each chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ctxassembly.assembly.arguments import AssemblyCall, Services, check_call
from ctxassembly.assembly.call import Call, System, SystemFlow
from ctxassembly.assembly.cite import cite, finish
from ctxassembly.assembly.decisions import Outcomes, decide
from ctxassembly.assembly.expansion.admit import admit_hits
from ctxassembly.assembly.limits import hit_counts
from ctxassembly.assembly.supplement import as_supplement
from ctxassembly.assembly.text_blocks import Style, TextBlock, render_blocks
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import reserve_labels
from ctxassembly.data.candidates import (
    COMPRESSIONS,
    OUTSIDE_WINDOW,
    OVER_BUDGET,
    Candidate,
    Reason,
)
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Decision, Outcome, Shortened, Trace
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tracing import TraceRecorder
from ctxassembly.wording.formats import infer_format


def system_flow(call: AssemblyCall, services: Services, clock: Callable[[], float]) -> SystemFlow:
    """Return the context that the system in `call.config` makes. `clock` gives seconds and is used for the trace only.

    With a conversation, the labels of the context continue it. What the conversation has is sent again: a system says
    itself what it leaves out.

    Raises:
        InputError: an argument of the call is of another type, or the system returned something else than a context.
        ConfigError: neighbors that have to be filtered, and no filter.
    """
    query, log = check_call(call, services), TraceRecorder(clock, services.is_observed)
    admitted = yield from admit_hits(call.hits, log)
    labels = reserve_labels(call.conversation, 1, len(admitted.candidates))
    own = Call(
        hits=admitted.candidates,
        query=query,
        supplement=as_supplement(call.supplement),
        store=services.store,
        can_embed=services.can_embed,
        can_compress=services.can_compress,
        first_label=labels.first,
        admitted=admitted,
        log=log,
    )
    try:
        context = yield from _run(cast(System, call.config), own)
        labels.use(context.citations)
    finally:
        labels.release()
    earlier = call.conversation.citations if call.conversation else ()
    return replace(context, earlier_citations=earlier) if earlier else context


def _run(system: System, call: Call) -> SystemFlow:
    flow = system.flow(call)
    if not isinstance(flow, Generator):
        raise InputError(f"{type(system).__name__}.flow must be a generator function, got {safe_repr(flow)}")
    context = yield from flow
    if not isinstance(context, Context):
        raise InputError(f"{type(system).__name__}.flow must return a Context, got {safe_repr(context)}")
    return context


def to_context(
    call: Call,
    blocks: Sequence[TextBlock],
    style: Style | None = None,
    *,
    max_tokens: int,
    max_characters: int | None = None,
    around: tuple[str, str] = ("", ""),
) -> Generator[Request, Any, Context]:
    """Return the context of `blocks`, which it writes in the stage "render"; it is the last line of a flow.

    The limits are for the trace: a system chooses what fits. If the text exceeds one of them, which happens if a
    system counts the texts of chunks alone, a note says by how much. `around` are blocks without a label, before
    and after them.
    """
    style = style or Style()
    count = counter_for(style.encoding)
    included = [candidate for block in blocks for candidate in block.candidates]
    yield from call.log.begin("render", len(included))
    shortened = {one.key: _shortened(one, count) for one in included if one.kept_spans is not None}
    text, pool, rendered = render_blocks(blocks, style, first_label=call.first_label, around=around)
    numbers = {one.key: number for number, one in reversed([*enumerate(pool.candidates)])}
    parts = {numbers[key]: part for key, part in shortened.items()}
    cited = cite(text, pool, rendered, style.reader(for_header=False), parts, style.snippet_chars)
    tokens = count(cited.text)
    if tokens > max_tokens:
        more = f"{tokens - max_tokens:,} tokens more than {max_tokens:,}"
        call.note(f"budget: the text has {more}, which limits the texts of chunks alone")
    if max_characters is not None and len(cited.text) > max_characters:
        more = f"{len(cited.text) - max_characters:,} characters more than {max_characters:,}"
        call.note(f"budget: the text has {more}, which doesn't limit a supplement")
    counts = {"labels": len(blocks), "tokens": tokens, "characters": len(cited.text)}
    yield from call.log.end(len(included), lambda: counts)
    decisions = tuple(_decisions(call, blocks, shortened, style))
    documents = {one.chunk.document_id for one in (*call.hits, *included)}
    trace = Trace(
        decisions=decisions,
        chunks=len(decisions) - [decision.reason for decision in decisions].count(OUTSIDE_WINDOW),
        token_count=tokens,
        max_tokens=max_tokens,
        hit_counts=hit_counts(call.admitted.hits, style.encoding),
        max_characters=max_characters,
        documents_dropped=len(documents - {one.chunk.document_id for one in included}),
    )
    return replace(
        finish(cited, trace, call.admitted.hits, call.log),
        query=call.query,
        format=style.format if isinstance(style.format, str) else infer_format(cited.headers),
        language=style.language,
        keys=style.keys,
        encoding=style.encoding,
    )


def _shortened(candidate: Candidate, count: Callable[[str], int]) -> Shortened:
    tokens = [count(text.strip()) for text in (candidate.chunk.text, candidate.text)]
    return Shortened(candidate.chunk.id, candidate.shortened_by or "budget", *tokens)


def _decisions(
    call: Call, blocks: Sequence[TextBlock], shortened: Mapping[int, Shortened], style: Style
) -> Iterator[Decision]:
    """Yield the decision on each hit and each neighbor, then on hits without text."""
    count, reader = counter_for(style.encoding), style.reader(for_header=False)
    pieces = [piece for block in blocks for passage in block.passages for piece in passage]
    kept, stripped = {piece.candidate.key: piece.candidate for piece in pieces}, defaultdict[int, int](int)
    for piece in pieces:
        stripped[piece.candidate.key] += piece.overlap
    everything = (*call.hits, *call.neighbors)
    outcomes: dict[int, tuple[Candidate, Outcomes]] = {}
    copies: dict[int, tuple[Candidate, Reason]] = {}
    for candidate in everything:
        key, part = candidate.key, shortened.get(candidate.key)
        why, original = call.drops.get(key, (OVER_BUDGET, None))
        if key in kept:
            outcome: Outcome = "kept" if part is None else "compressed" if part.by in COMPRESSIONS else "cut"
            reason = part.by if part is not None else "neighbor" if candidate.distance else "hit"
            outcomes[key] = kept[key], Outcomes(outcome, reason, None, stripped[key], None, part)
        elif original is not None:
            copies[key] = _original(original, call), why
        else:
            outcomes[key] = candidate, Outcomes("dropped", why, tokens=count(candidate.chunk.text))
    yield from decide(everything, call.admitted.empty, outcomes, copies, call.query, reader)


def _original(candidate: Candidate, call: Call) -> Candidate:
    """Return the chunk that made `candidate` superfluous in the end; itself if none did."""
    while (drop := call.drops.get(candidate.key)) and drop[1] is not None:
        candidate = drop[1]
    return candidate
