"""The layer in which a piece of evidence was lost, from the traces of its retrieval and its assembly.

If several chunks have the evidence, the one that got furthest counts. In a quotation white space, capitals and the form
of quotation marks don't count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from ctxassembly.context import Context
from ctxassembly.data.candidates import ALREADY_SENT, EXACT_DUPLICATE, NOT_RELEVANT, REPEATED
from ctxassembly.data.chunks import Chunk
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
    "ranked out",
    "refused",
    "deduplicated",
    "not relevant enough",
    "over budget",
]
"""The layers in which evidence is lost, in the order in which it passes them.

- "not in the corpus": no chunk has it, and no document's chunks have it together
- "split apart": chunks of a document have it together, and no single one does
- "filtered": the caller's filter excludes its chunk
- "not found": no channel has its chunk among the best 1,000; or a retriever of another make didn't return it
- "not fused": its similarity is below `min_similarity`
- "ranked out": its chunk was found, and a reranker or its score put it below `candidates` or `limit`; or it made room
  for another chunk
- "refused": no chunk reached `min_evidence`
- "deduplicated": its chunk or sentences were dropped as a duplicate of others
- "not relevant enough": there was room for it, and its relevance is below the minimum
- "over budget": there was no room for it
"""
LAYERS: tuple[Layer, ...] = get_args(Layer)
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
    if evidence.start is None or evidence.end is None:
        return True
    if type(chunk.start) is not int:
        return False
    return chunk.start - MAX_STRIPPED_CHARS <= evidence.start and evidence.end <= chunk.start + len(chunk.text)


def holders_of(evidence: Evidence, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks that have all of the evidence, in their order."""
    return [chunk for chunk in chunks if has_whole(evidence, chunk)]


_RETRIEVAL_LAYERS: dict[str | None, Layer] = {
    "index": "not in the corpus",
    "filter": "filtered",
    "search": "not found",
    "fuse": "not fused",
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
    return locate([evidence], read_result(context).pieces, corpus).recall


def loss_in_retrieval(explanation: Explanation) -> Loss:
    """Return the loss of a chunk that isn't a hit."""
    is_ranked = bool(explanation.channel_ranks)
    layer = "ranked out" if is_ranked else _RETRIEVAL_LAYERS.get(explanation.lost_at, "ranked out")
    return Loss(layer, explanation.chunk_id, explanation.reason)


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
    reason = f"{named} was {found.outcome}: {found.reason}{because}"
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
