"""The layer in which a piece of evidence was lost, from the traces of its retrieval and its assembly.

If several chunks have the evidence, the one that got furthest counts. A chunk has all of a piece of evidence, an end of
it, or nothing. In a quotation white space, capitals and the form of quotation marks don't count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from ctxassembly.assembly.adjacency.overlap import longest_border
from ctxassembly.context import Context
from ctxassembly.data.candidates import ALREADY_SENT, EXACT_DUPLICATE, NOT_RELEVANT, REPEATED
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.retrieval import Explanation
from ctxassembly.data.trace import Decision
from ctxassembly.evaluate.corpus import Corpus, comparable, locate
from ctxassembly.evaluate.questions import Evidence
from ctxassembly.evaluate.systems import read_result

Layer = Literal[
    "not in the corpus",
    "split apart",
    "filtered",
    "not found",
    "not fused",
    "reranked away",
    "ranked out",
    "refused",
    "deduplicated",
    "not relevant enough",
    "over budget",
]
"""The layers in which evidence is lost, in the order in which it passes them.

- "not in the corpus": no chunk has it, whole or in parts
- "split apart": several chunks have it together, no single one does, although it isn't longer than they are
- "filtered": the caller's filter excludes its chunk
- "not found": no channel has its chunk among the best 1,000; or a retriever of another make didn't return it
- "not fused": its similarity is below `min_similarity`
- "reranked away": the reranker moved its chunk below the limit
- "ranked out": its chunk was found and has a place below `candidates` or `limit`, or made room for another chunk
- "refused": no chunk reached `min_evidence`
- "deduplicated": its chunk or sentences were dropped as a duplicate of others
- "not relevant enough": there was room for it, and its relevance is below the minimum
- "over budget": there was no room for it
"""
LAYERS: tuple[Layer, ...] = get_args(Layer)
_SHORTENING_REASONS = {
    "budget": "cut to the budget",
    "max_chunk_tokens": "cut to max_chunk_tokens",
    "sentence": "other sentences of its chunk were selected",
    "extractive": "compressed",
    "llm": "compressed by a model",
    "repeated": "a better-ranked passage has it",
    "already sent": "the conversation has it",
}
MAX_STRIPPED_CHARS = 4
"""White space that splitters leave out between two chunks: a blank, an empty line."""


def has_whole(evidence: Evidence, chunk: Chunk) -> bool:
    """Return True if `chunk` has all of the evidence.

    >>> chunk = Chunk("a#0", "a", "Drink water until two hours before.", start=0)
    >>> [has_whole(one, chunk) for one in (Evidence(quotation="two  hours"), Evidence("a", start=6, end=40))]
    [True, False]
    """
    if evidence.document_id not in (None, chunk.document_id):
        return False
    if evidence.chunk_id is not None:
        return chunk.id == evidence.chunk_id
    if evidence.quotation is not None:
        return comparable(evidence.quotation) in comparable(chunk.text)
    return evidence.start is None or bool(parts_of(evidence, [chunk]))


def held_span(evidence: Evidence, wanted: str, chunk: Chunk) -> Span | None:
    """Return the characters of a span, or of a `comparable` quotation, that `chunk` has."""
    if evidence.document_id not in (None, chunk.document_id):
        return None
    if evidence.start is not None and evidence.end is not None:
        if type(chunk.start) is not int:
            return None
        first, last = max(evidence.start, chunk.start), min(evidence.end, chunk.start + len(chunk.text))
        return (first, last) if first < last else None
    text = comparable(chunk.text)
    if not wanted or not text:
        return None
    if wanted in text:
        return 0, len(wanted)
    if (at := wanted.find(text)) >= 0:
        return at, at + len(text)
    # The beginning of each that ends the other.
    pairs = ((text, wanted), (wanted, text))
    begin, end = (longest_border([*second[: len(first)], None, *first[-len(second) :]]) for first, second in pairs)
    if not (begin or end):
        return None
    return (0, begin) if begin >= end else (len(wanted) - end, len(wanted))


def holders_of(evidence: Evidence, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks that have all of the evidence, in their order."""
    return [chunk for chunk in chunks if has_whole(evidence, chunk)]


def parts_of(evidence: Evidence, chunks: Iterable[Chunk]) -> list[tuple[Chunk, Span]]:
    """Return the chunks of one document that have all of a span or a quotation together, each with the part it has.

    >>> parts = [Chunk("a#0", "a", "Drink water until"), Chunk("a#1", "a", "two hours before.")]
    >>> [(chunk.id, span) for chunk, span in parts_of(Evidence(quotation="water until two hours"), parts)]
    [('a#0', (0, 10)), ('a#1', (10, 18))]
    """
    wanted = comparable(evidence.quotation or "")
    parts = [(chunk, span) for chunk in chunks if (span := held_span(evidence, wanted, chunk))]
    most, reached = 0 if wanted else MAX_STRIPPED_CHARS, evidence.start or 0
    for first, last in sorted(span for _, span in parts):
        if first > reached + most:
            return []
        reached = max(reached, last)
    return parts if reached >= (len(wanted) if evidence.end is None else evidence.end) else []


_RETRIEVAL_LAYERS: dict[str | None, Layer] = {
    "index": "not in the corpus",
    "filter": "filtered",
    "search": "not found",
    "fuse": "not fused",
    "rerank": "reranked away",
    "evidence": "refused",
}
"""The layers of the steps of retrieval. At all other steps a chunk is ranked out."""


class Loss(NamedTuple):
    """The layer that lost a piece of evidence, the chunk that has it, and the reason in words."""

    layer: Layer
    chunk_id: str | None
    reason: str


def share_read(evidence: Evidence, context: Context, corpus: Corpus) -> float:
    """Return the share of the evidence that the context has, 0 to 1, as `evaluate` measures it.

    A quotation may also run on from one chunk into the next where they are joined.
    """
    if evidence.quotation is not None:
        wanted = comparable(evidence.quotation)
        own = (one for one in context.passages if evidence.document_id in (None, one.document_id))
        if any(wanted in comparable(passage.text) for passage in own):
            return 1.0
    located = locate([evidence], read_result(context).pieces, corpus)
    return located.meter.recall(located.evidence, located.runs, 0 if evidence.quotation is not None else None)


def loss_in_retrieval(explanation: Explanation) -> Loss:
    """Return the loss of a chunk that isn't a hit."""
    layer = _RETRIEVAL_LAYERS.get(explanation.lost_at, "ranked out")
    if explanation.channel_ranks:
        layer = "ranked out"
    if explanation.lost_at == "limit" and _was_reranked_away(explanation):
        layer = "reranked away"
    return Loss(layer, explanation.chunk_id, explanation.reason)


def _was_reranked_away(explanation: Explanation) -> bool:
    """Return True if the chunk was within the limit before the reranker, and below it afterwards."""
    steps, ranks, kept = list(explanation.ranks), explanation.ranks, explanation.sizes["limit"]
    if "rerank" not in steps:
        return False
    before, after = ranks[steps[steps.index("rerank") - 1]], ranks["rerank"]
    return before is not None and before < kept and after is not None and after >= kept


def loss_in_assembly(chunk: Chunk, context: Context) -> Loss:
    """Return the loss of a hit whose evidence isn't in the context."""
    decisions: dict[str, Decision] = {}
    for decision in context.trace.decisions:  # the one that includes the chunk, else the best-ranked
        if decision.chunk_id not in decisions or decision.is_in_context:
            decisions[decision.chunk_id] = decision
    found = decisions.get(chunk.id)
    if found is not None and found.reason == EXACT_DUPLICATE and found.because_of:  # the copy has the evidence, too
        found = decisions.get(found.because_of, found)
    if found is None:
        return Loss("over budget", chunk.id, "it is in no decision of the trace")
    named = chunk.id if found.chunk_id == chunk.id else f"its copy {found.chunk_id}"
    because = f", because of {found.because_of}" if found.because_of else ""
    words = _SHORTENING_REASONS.get(found.reason) if found.outcome in ("cut", "compressed") else None
    reason = f"{named} was {found.outcome}: {words or found.reason}{because}"
    if found.outcome in ("duplicate", "contained") or found.reason in (REPEATED, ALREADY_SENT):
        return Loss("deduplicated", chunk.id, reason)
    if found.outcome == "dropped":
        # A chunk that was dropped for the budget although it had room lost to its own relevance.
        return Loss("not relevant enough" if found.reason in NOT_RELEVANT else "over budget", chunk.id, reason)
    trace, part = context.trace, found.shortened
    missing = part.tokens_before - part.tokens_after if part else 0
    has_room = found.reason == "sentence" and trace.token_count + missing <= trace.max_tokens
    return Loss("not relevant enough" if has_room else "over budget", chunk.id, reason)


def furthest(losses: Iterable[Loss]) -> Loss | None:
    """Return the loss in the last layer, the first of several; None if there is none."""
    return max(losses, key=lambda loss: LAYERS.index(loss.layer), default=None)


def loss_of_split(
    evidence: Evidence, chunks: Sequence[Chunk], loss_of_part: Callable[[Chunk, Evidence], Loss | None]
) -> Loss | None:
    """Return the loss of evidence that several chunks of one document have together, None if they haven't.

    Evidence that is longer than each of them was lost where the first of its parts was. `loss_of_part` is a function
    from a chunk and its part of the evidence to the loss, None if the context has it.
    """
    wanted = comparable(evidence.quotation or "")
    for _, of_document in groupby(sorted(chunks, key=_document_of), key=_document_of):
        parts = sorted(parts_of(evidence, of_document), key=lambda part: part[1][0] - part[1][1])  # the longest first
        if len(parts) < 2:
            continue
        losses = {chunk.id: loss_of_part(chunk, _part(evidence, wanted, span)) for chunk, span in parts}
        size = len(wanted) if wanted else (evidence.end or 0) - (evidence.start or 0)
        lost = [loss for loss in losses.values() if loss]
        if lost and size > max(len(comparable(chunk.text) if wanted else chunk.text) for chunk, _ in parts):
            first = min(lost, key=lambda loss: LAYERS.index(loss.layer))
            return first._replace(reason=f"a part of it: {first.reason}")
        fates = [f"{id_} ({loss.layer if loss else 'read'})" for id_, loss in losses.items()]
        return Loss("split apart", next(iter(losses)), f"no single chunk has it; parts are in {', '.join(fates)}")
    return None


def _document_of(chunk: Chunk) -> str:
    return chunk.document_id


def _part(evidence: Evidence, wanted: str, span: Span) -> Evidence:
    """Return the part of a span, or of a `comparable` quotation, as evidence."""
    if wanted:
        return Evidence(quotation=wanted[slice(*span)])
    return Evidence(evidence.document_id, *span)
