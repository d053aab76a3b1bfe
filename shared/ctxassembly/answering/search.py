"""The searches of a question, and their hits as one list."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxassembly.answering.call import Call, Log
from ctxassembly.answering.rank_fusion import Ranking, merged
from ctxassembly.answering.requests import Exchange, Readmit, Search, SearchAll
from ctxassembly.assembly.expansion.access import Scope
from ctxassembly.assembly.selection.supplement import Supplement, supplement_of
from ctxassembly.config.answering import Mode
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import Boost
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.retrieval import Understanding
from ctxassembly.errors import ConfigError, SearchError
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieved import Retrieved
from ctxassembly.safe_repr import failure


def passing(cited: Sequence[Hit], tests: Sequence[Callable[[Any], bool]]) -> tuple[Hit, ...]:
    """Those of `cited` that pass all of `tests`."""
    return tuple(hit for hit in cited if all(test(hit.chunk) for test in tests))


def agreeing(cited: Sequence[Hit], found: Sequence[Hit], config: AssemblyConfig | None = None) -> tuple[Hit, ...]:
    """Those of `cited` that a search whose filter can't be seen may give, by what it has just `found`.

    As a neighbour has to, each agrees with a hit of its document on all metadata but those that vary within one.
    """
    scope = Scope(config or AssemblyConfig())
    scope.add_hits(hit.chunk for hit in found)
    return tuple(hit for hit in cited if scope.admits(hit.chunk))


def refs_of(cited: Sequence[Hit]) -> list[ChunkRef]:
    """The references by which a store finds the chunks of `cited`."""
    return [ChunkRef(hit.chunk.lookup_id, chunk_id=hit.chunk.id) for hit in cited]


def as_stored(cited: Sequence[Hit], stored: Sequence[Chunk]) -> tuple[Hit, ...]:
    """`cited` with the chunks as they are `stored` now; those that aren't are left out."""
    chunks = {(chunk.lookup_id, chunk.id): chunk for chunk in stored}
    keyed = [((hit.chunk.lookup_id, hit.chunk.id), hit.score) for hit in cited]
    return tuple(Hit(chunks[key], score) for key, score in keyed if key in chunks)


# Which words of a question go to which search, and with what weight.
#
# | search | vectors | keywords | rescue | weight |
# |---|---|---|---|---|
# | the question, rewritten if it was | rewritten, with names | the same, names of both | of both | 1.3, in parts .5 |
# | the original, if it was rewritten | original | original | original | .5 |
# | each keyword query | - | its words | its words | 1 |
# | each sub-question | its words | its words | its words | 1 |
#
# The first row's columns are those of `Question`. The weights are Onyx's for a rewritten question, keyword queries and
# the original. A question that has parts counts less than they do: `merge` has the figures.


MEANT, ORIGINAL, OTHERS = 1.3, 0.5, 1.0
CONTINUITY = 1.25
"""The published factor for documents of the conversation."""


def searches_for(
    question: str, understood: Understanding, history: Sequence[Exchange], mode: Mode, filter: Any
) -> list[Search]:
    """The searches for a question, the one that is meant first."""

    def search(name: str, asked: Question, weight: float, *, by_words: bool = False) -> Search:
        return Search(name, asked, mode, weight, understood.filter, by_words)

    boosts = _continuity(understood, history)
    meant = Question(question, understood.rewritten, understood.intent, boosts, filter)
    searches = [search("question", meant, ORIGINAL if understood.sub_questions else MEANT)]
    if understood.rewritten:
        searches.append(search("original", Question(question, intent=understood.intent, filter=filter), ORIGINAL))
    for words in understood.keywords:
        asked = Question(words, intent=understood.intent, filter=filter)
        searches.append(search(f"keywords: {words}", asked, OTHERS, by_words=True))
    parts = [(part, Question(part, intent=understood.intent, filter=filter)) for part in understood.sub_questions]
    return [*searches, *(search(part, asked, OTHERS) for part, asked in parts)]


def _continuity(understood: Understanding, history: Sequence[Exchange]) -> tuple[Boost, ...]:
    """A boost for the documents cited last, if the question leans on the conversation."""
    if not (understood.rewritten and history):
        return ()
    documents = sorted({hit.chunk.document_id for hit in history[-1].cited})
    where: Mapping[str, Any] = {"document_id": documents}
    return (Boost("conversation", CONTINUITY, where),) if documents else ()


LEAST_KEPT = 20
"""Hits that several searches keep together, where neither the mode nor one of them has more: retrieval's own limit."""
THIN = "evidence: "
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
        """The query for assembly: that of the question's own search, with the names that it resolved to."""
        meant = self.retrieved.get("question")
        return meant.query if meant else None

    @property
    def supplement(self) -> Supplement | None:
        """The facts of all searches as one supplement."""
        found = list(self.retrieved.values())
        if not found:
            return None
        facts = tuple(dict.fromkeys(fact for one in found for fact in one.facts))
        chunks = tuple(chunk for one in found for chunk in one.found)
        return supplement_of(replace(found[0], facts=facts, found=chunks))

    @property
    def lack(self) -> str:
        """The reason that there are no hits."""
        notes = (note for one in self.retrieved.values() for note in one.trace.notes)
        return next((note for note in notes if note.startswith(THIN)), "retrieval: nothing usable was found")


def evidence_flow(call: Call, understood: Understanding, mode: Mode, log: Log) -> Generator[Any, Any, Evidence]:
    """The evidence for a question; a model's own filter is given up if nothing passes it.

    Raises:
        SearchError: no search answered.
    """
    searches = searches_for(call.question, understood, call.history, mode, call.filter)
    evidence = yield from _evidence(searches, call, understood, log)
    if understood.filter and not evidence.hits:
        log.notes.append(f"filter: nothing passes the model's own, {dict(understood.filter)!r}; searched without it")
        evidence = yield from _evidence([replace(one, narrowed={}) for one in searches], call, understood, log)
    log.step("retrieve", f"{len(searches):,} searched, {len(evidence.hits):,} hits")
    return evidence


def _evidence(
    searches: Sequence[Search], call: Call, understood: Understanding, log: Log
) -> Generator[Any, Any, Evidence]:
    replies: list[Retrieved | Exception] = yield SearchAll(tuple(searches))
    rankings: list[Ranking] = []
    retrieved: dict[str, Retrieved] = {}
    unanswered: list[str] = []
    for search, reply in zip(searches, replies, strict=True):
        is_part = search.name in understood.sub_questions
        if isinstance(reply, Exception):
            log.notes.append(f"retrieve: {search.name} failed ({failure(reply)})")
            unanswered += [search.name] if is_part else []
            continue
        retrieved[search.name] = reply
        rankings.append(Ranking(search.name, reply.hits, search.weight, is_part))
    if not retrieved:
        first = next(reply for reply in replies if isinstance(reply, Exception))
        if isinstance(first, ConfigError):  # a fault of the settings, which the caller can mend
            raise first
        raise SearchError.of(first, f"no search answered: {failure(first)}") from first
    found = tuple(hit for ranking in rankings for hit in ranking.hits)
    if carried := (yield from _carried(call, understood, found, log)):
        rankings.append(Ranking("cited last", carried, ORIGINAL))
    most = searches[0].mode.kept or max(LEAST_KEPT, *(len(ranking.hits) for ranking in rankings))
    return Evidence(merged(rankings, most), retrieved, tuple(unanswered))


def _carried(
    call: Call, understood: Understanding, found: tuple[Hit, ...], log: Log
) -> Generator[Readmit, tuple[Hit, ...], tuple[Hit, ...]]:
    """The chunks cited last, for a question that leans on the conversation, as far as this call may read them."""
    if not (found and understood.rewritten and call.history and (cited := call.history[-1].cited)):
        return ()
    try:
        return (yield Readmit(cited, found, call.filter))
    except ConfigError:
        log.notes.append("cited last: left out, since this form of filter can't be applied to them")
    except Exception as error:  # noqa: BLE001 - whatever a store raises, the question has hits of its own
        log.notes.append(f"cited last: left out ({failure(error)})")
    return ()
