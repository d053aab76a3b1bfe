"""Contexts and answers as plain data: in the metadata and events of a framework's objects, and in its messages.

Also what adapters do on the way: check that a context is one, add their notes to its trace, warn of what it says is
missing, read the turns of a conversation, and give what a framework's retriever returned to an answer chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ctxassembly.adapters.blocks import assembled_blocks
from ctxassembly.answering.answer import Answer
from ctxassembly.answering.requests import Exchange, Search
from ctxassembly.context import Context
from ctxassembly.conversations.sent import warn_unread
from ctxassembly.conversations.sources import MESSAGE_KEY, is_context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import RetrievalTrace, Retrieved
from ctxassembly.data.trace import Trace
from ctxassembly.errors import FilterNotSeenWarning, InputError, NothingToJoinWarning
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain, to_plain, trace_to_plain
from ctxassembly.user_warnings import with_remedy

MAX_NAMED, MAX_KEY_CHARS = 3, 40
"""Most keys that a warning names, and characters of each."""


@dataclass(frozen=True, slots=True)
class RetrieverResult(Retrieved):
    """Hits that nobody explains: the retriever's, in its order, with the scores that it gave, if any."""

    given_hits: tuple[Hit, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for assembly."""
        return self.given_hits


def retriever_result(
    request: Search, hits: Iterable[Hit], retriever: object, notes: Sequence[str] = (), statements: tuple[str, ...] = ()
) -> RetrieverResult:
    """Return `hits` as the outcome of a search; `notes` are for the trace, `statements` for a supplement."""
    question, searched_by = request.question, f"searched by {type(retriever).__name__}"
    trace = RetrievalTrace("other", notes=(searched_by, *notes), round_trips=1)
    return RetrieverResult(
        question.effective_query, (), trace, statements, intent=question.intent, given_hits=tuple(hits)
    )


def with_notes(context: Context, notes: Sequence[str]) -> Context:
    """Return `context` with `notes` appended to its trace's.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("a", "a", "Drink water."))])
    >>> with_notes(context, ["1 node has an image and no text"]).trace.notes
    ('1 node has an image and no text',)
    """
    if not notes:
        return context
    return replace(context, trace=replace(context.trace, notes=(*context.trace.notes, *notes)))


def context_event(context: Context) -> dict[str, Any]:
    """Return the citations and the trace of a context, as events carry them."""
    citations = [to_plain(citation) for citation in context.citations]
    return {"citations": citations, "trace": trace_to_plain(context.trace)}


def block_metadata(context: Context) -> list[dict[str, Any]]:
    """Return the metadata to add to each block of a context, in order.

    A block has `citation`, `chunk_ids` and `scores` of its hits by chunk id. Only the first block has the `trace`,
    which covers the whole context and is longer than its text. The citation doesn't include its own metadata, since
    adapters put that metadata next to it. The block of a supplement has no citation but `supplement`, with its `text`.
    Both are an `AssembledBlock`, by which another assembly knows the block.
    """
    decisions = context.trace.decisions[::-1]  # if several share an id, the best-ranked one is written last
    scores = {(hit.document_id, hit.chunk_id): hit.score for hit in decisions if hit.distance == 0}
    added: list[dict[str, Any]] = []
    for ours in assembled_blocks(context):
        citation = ours.block.citation
        if citation is None:
            added.append({"supplement": ours, "chunk_ids": [], "scores": {}})
            continue
        found = ((chunk_id, scores.get((citation.document_id, chunk_id))) for chunk_id in citation.chunk_ids)
        known = {chunk_id: score for chunk_id, score in found if score is not None}
        added.append({"citation": ours, "chunk_ids": list(ours["chunk_ids"]), "scores": known})
    if added:
        added[0]["trace"] = trace_to_plain(context.trace)
    return added


_SEPARATE_KEYS = ("question", "answer", "citations", "quotes", "context")
"""Parts of an output in addition to its trace."""


def answer_metadata(answer: Answer) -> dict[str, Any]:
    """Return `citations`, `quotes`, `trace` and the next `conversation` of an answer.

    The trace has the understanding, the steps with their times and tokens, the quality, the searches, and in
    `assembly` the decision on each chunk.
    """
    answer_data = replace(answer, context=None).to_dict()  # of the context the trace is enough, and the rest is long
    trace = {name: value for name, value in answer_data.items() if name not in _SEPARATE_KEYS}
    assembly = trace_to_plain(answer.context.trace) if answer.context else None
    return {
        "citations": answer_data["citations"],
        "quotes": answer_data["quotes"],
        "trace": {**trace, "assembly": assembly},
        "conversation": answer.conversation.to_dict(),
    }


def check_context(context: Any, hint: str) -> Context:
    """Return `context` if it is a Context or its dict; `hint` is the call that gives one.

    Raises:
        InputError: it is something else, such as the documents of a context.
    """
    if not is_context(context):
        raise InputError(f"context must be a Context, got {safe_repr(context)}: {hint} gives one")
    return Context.from_dict(context)


class HistoryMessage(NamedTuple):
    """One message of a conversation."""

    is_user: bool
    text: str
    payload: Any = None
    """The value of `answer_payload` that its own data hold under `MESSAGE_KEY`, if any."""


def to_exchanges(messages: Iterable[HistoryMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions, each with its answer and the documents that it cited.

    Several messages of one side in a row are one. Text before the first question, a question still without an
    answer, and messages without text are left out. What an answer carries that isn't of `answer_payload` is skipped
    with a warning.

    >>> messages = [HistoryMessage(True, "May I eat?"), HistoryMessage(False, "No [1].")]
    >>> [(one.question, one.answer) for one in to_exchanges(messages)]
    [('May I eat?', 'No [1].')]
    """
    said = (message for message in messages if message.text.strip())
    turns = [(is_user, [*run]) for is_user, run in groupby(said, lambda message: message.is_user)]
    return tuple(_exchange(asked, answers) for (is_user, asked), (_, answers) in pairwise(turns) if is_user)


def answer_payload(answer: Answer) -> dict[str, Any]:
    """Return the data of `answer` for a message, under `MESSAGE_KEY`: builtins, which survive JSON.

    They are the ids of the documents that it cites, which the next question may prefer; the citations of its context,
    by which `resolve` finds them in the messages and documents keep their labels; and the last label given.
    """
    citations = answer.context.citations if answer.context and answer.resolved else ()
    return {
        "cited": list(answer.exchange.cited),
        "citations": [to_plain(citation) for citation in citations],
        "last_label": answer.conversation.next_label - 1,
    }


def _exchange(asked: Sequence[HistoryMessage], answers: Sequence[HistoryMessage]) -> Exchange:
    payload = next((one.payload for one in reversed(answers) if one.payload is not None), None)
    question, answer = "\n".join(one.text for one in asked), "\n\n".join(one.text for one in answers)
    return Exchange(question, answer, _cited_documents(payload))


def _cited_documents(payload: Any) -> tuple[str, ...]:
    if payload is None:
        return ()
    try:
        documents: tuple[str, ...] = from_plain(tuple[str, ...], payload["cited"])
    except Exception:  # noqa: BLE001 - broken data can raise anything, and no message may end a thread
        warn_unread(f"its {MESSAGE_KEY!r} must be as the answer chain gave it, got {safe_repr(payload, 80)}")
        return ()
    return documents


def neighbor_warnings(trace: Trace, filter_line: str) -> tuple[Warning | None, ...]:
    """Return the warnings of a run: neighbors were left out for want of a filter; hits or their store lack something.

    `filter_line` is the line that gives the adapter a filter.
    """
    joining = None if trace.missing is None else NothingToJoinWarning(trace.missing)
    if not trace.unscoped:
        return None, joining
    names = [safe_repr(key, MAX_KEY_CHARS) for key in trace.unscoped[:MAX_NAMED]]
    keys = ", ".join(names) if names[1:] else f"{names[0]},"
    calls = filter_line, f"AssemblyConfig(varying_keys=({keys}))", "AssemblyConfig(neighbors='unfiltered')"
    call = " or ".join(calls)
    message = with_remedy(
        f"Adjacent chunks with another {' or '.join(names)} than the retrieved chunk are left out",
        "No filter says whether the caller may read them",
        call,
    )
    return FilterNotSeenWarning(message), joining
