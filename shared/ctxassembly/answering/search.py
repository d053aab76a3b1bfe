"""The searches of a question, and their hits as one list, by reciprocal rank fusion.

Which words of a question go to which search, and with what weight:

| search | vectors | keywords | rescue | weight |
|---|---|---|---|---|
| the question, rewritten if it was | rewritten, with names | the same, names of both | of both | 1.3, in parts .5 |
| the original, if it was rewritten | original | original | original | .5 |
| each sub-question | its words | its words | its words | 1 |

The first row has the columns of `Question`. The weights are Onyx's for a rewritten question and the original. A
question that has parts counts less than they do.

Scores of different questions have no common scale, ranks have: a chunk gets weight / (k + rank), ranks from 0, from
each list that has it. With the usual k of 60 a chunk that is number 15 for everything precedes the best one for a part.
Of questions made of two, the best 5, 10 and 20 hits have this share of both pieces of evidence (`python -m answering`,
Python's language reference, 200 pairs, fused):

| | 5 | 10 | 20 |
|---|---|---|---|
| the whole question alone | .51 | .67 | .82 |
| with its parts, k 60, the whole at 1.3 | .51 | .74 | .83 |
| k 60, the whole at .5 | .57 | .79 | .92 |
| **k 5, the whole at .5** | .71 | .85 | .94 |
| k 1, the whole at .5 | .70 | .87 | .94 |
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from ctxassembly.answering.answer import AnswerRecorder
from ctxassembly.answering.requests import AnswerCall, Exchange, Search, SearchAll
from ctxassembly.assembly.supplement import Supplement, supplement_from_retrieval
from ctxassembly.config.answering import Mode
from ctxassembly.config.retrieval import Boost
from ctxassembly.data.chunks import Hit, Identity, separate_shared_ids
from ctxassembly.data.retrieval import QueryUnderstanding, Retrieved
from ctxassembly.errors import ConfigError, StoreError
from ctxassembly.retrieval.search import Question
from ctxassembly.safe_repr import describe_error

EFFECTIVE_QUERY_WEIGHT, ORIGINAL_WEIGHT, PART_WEIGHT = 1.3, 0.5, 1.0
CONVERSATION_BOOST = 1.25
"""The published factor for documents of the conversation."""


def plan_searches(
    question: str, understanding: QueryUnderstanding, history: Sequence[Exchange], mode: Mode, filter: Any
) -> list[Search]:
    """Return the searches for a question, its main search first."""
    ask = partial(Question, intent=understanding.intent, filter=filter)
    effective = ask(question, understanding.rewritten, boosts=_conversation_boosts(understanding, history))
    weight = ORIGINAL_WEIGHT if understanding.sub_questions else EFFECTIVE_QUERY_WEIGHT
    searches = [Search("question", effective, mode, weight)]
    if understanding.rewritten:
        searches.append(Search("original", ask(question), mode, ORIGINAL_WEIGHT))
    return [*searches, *(Search(part, ask(part), mode, PART_WEIGHT) for part in understanding.sub_questions)]


def _conversation_boosts(understanding: QueryUnderstanding, history: Sequence[Exchange]) -> tuple[Boost, ...]:
    """Return a boost for the documents cited last, if the question depends on the conversation."""
    if not (understanding.rewritten and history):
        return ()
    documents = sorted(history[-1].cited)
    return (Boost("conversation", CONVERSATION_BOOST, {"document_id": documents}),) if documents else ()


MIN_LIMIT = 20
"""Hits that several searches keep together, where neither the mode nor one of them has more: retrieval's own limit."""
EVIDENCE_NOTE = "evidence: "
"""The beginning of retrieval's note that nothing it found speaks for an answer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The outcome of all searches."""

    hits: tuple[Hit, ...] = ()
    retrieved: Mapping[str, Retrieved] = field(default_factory=dict)
    unanswered: tuple[str, ...] = ()
    """Sub-questions whose search failed."""

    @property
    def query(self) -> str | None:
        """The query for assembly: the query of the main search, with the names that it resolved to."""
        meant = self.retrieved.get("question")
        return meant.query if meant else None

    @property
    def supplement(self) -> Supplement | None:
        """The facts of all searches as one supplement."""
        found = list(self.retrieved.values())
        if not found:
            return None
        facts = tuple(dict.fromkeys(fact for one in found for fact in one.statements))
        chunks = tuple(chunk for one in found for chunk in one.chunks)
        return supplement_from_retrieval(replace(found[0], statements=facts, chunks=chunks))

    @property
    def missing_evidence_message(self) -> str:
        """The reason that there are no hits."""
        notes = (note for one in self.retrieved.values() for note in one.trace.notes)
        return next((note for note in notes if note.startswith(EVIDENCE_NOTE)), "retrieval: nothing usable was found")


NO_EVIDENCE = Evidence()


def evidence_flow(
    call: AnswerCall, understanding: QueryUnderstanding, mode: Mode, log: AnswerRecorder
) -> Generator[SearchAll, Sequence[Retrieved | Exception], Evidence]:
    """Return the evidence for a question.

    Raises:
        StoreError: no search answered.
    """
    searches = plan_searches(call.question, understanding, call.history, mode, call.filter)
    replies = yield SearchAll(tuple(searches))
    rankings: list[Ranking] = []
    retrieved: dict[str, Retrieved] = {}
    unanswered: list[str] = []
    for search, reply in zip(searches, replies, strict=True):
        is_part = search.name in understanding.sub_questions
        if isinstance(reply, Exception):
            log.notes.append(f"retrieve: {search.name} failed ({describe_error(reply)})")
            unanswered += [search.name] if is_part else []
            continue
        retrieved[search.name] = reply
        rankings.append(Ranking(search.name, reply.hits, search.weight, is_part))
    if not retrieved:
        first_error = next(reply for reply in replies if isinstance(reply, Exception))
        if isinstance(first_error, ConfigError):  # a fault of the settings, which the caller can fix
            raise first_error
        raise StoreError(f"no search answered: {describe_error(first_error)}") from first_error
    limit = max(MIN_LIMIT, mode.limit or 0, *(len(ranking.hits) for ranking in rankings))
    evidence = Evidence(reciprocal_rank_fusion(rankings, limit), retrieved, tuple(unanswered))
    log.record_step("retrieve", f"{len(searches):,} searched, {len(evidence.hits):,} hits")
    return evidence


RRF_K = 5
SUB_QUESTIONS_KEY = "sub_questions"
"""The metadata key that names the sub-questions that found a chunk."""


class Ranking(NamedTuple):
    """The hits of one search."""

    name: str
    hits: Sequence[Hit]
    weight: float
    is_part: bool = False
    """True for a sub-question: its hits name it."""


def reciprocal_rank_fusion(rankings: Sequence[Ranking], limit: int | None) -> tuple[Hit, ...]:
    """Fuse the rankings into the best `limit` hits, the best with score 1. A single ranking keeps its scores.

    Hits are merged by the identity of their chunks. Documents of which two rankings disagree stay separate.

    >>> from ctxassembly import Chunk
    >>> a, b = (Hit(Chunk(name, name, name)) for name in "ab")
    >>> [hit.chunk.id for hit in reciprocal_rank_fusion([Ranking("one", [a, b], 1.0), Ranking("two", [b], 1.0)], None)]
    ['b', 'a']
    """
    if len(rankings) == 1:
        return tuple(rankings[0].hits[:limit])
    hits: dict[Identity, Hit] = {}
    scores: dict[Identity, float] = {}
    sub_questions: dict[Identity, list[str]] = {}
    chunks = separate_shared_ids([[hit.chunk for hit in ranking.hits] for ranking in rankings])
    for ranking, own_chunks in zip(rankings, chunks, strict=True):
        for rank, (hit, chunk) in enumerate(zip(ranking.hits, own_chunks, strict=True)):
            key = chunk.identity
            hits.setdefault(key, hit if chunk is hit.chunk else replace(hit, chunk=chunk))
            scores[key] = scores.get(key, 0.0) + ranking.weight / (RRF_K + rank)
            if ranking.is_part:
                sub_questions.setdefault(key, []).append(ranking.name)
    order = sorted(scores, key=lambda key: -scores[key])[:limit]
    return tuple(_with_score(hits[key], scores[key] / scores[order[0]], sub_questions.get(key)) for key in order)


def _with_score(hit: Hit, score: float, sub_questions: list[str] | None) -> Hit:
    if not sub_questions:
        return replace(hit, score=score)
    return Hit(replace(hit.chunk, metadata={**hit.chunk.metadata, SUB_QUESTIONS_KEY: sub_questions}), score)
