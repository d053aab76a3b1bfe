"""The searches of a question, and their hits as one list."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxassembly.assembly.selection.supplement import Supplement, supplement_of
from ctxassembly.chain.call import Call
from ctxassembly.chain.log import Log
from ctxassembly.chain.merge import Ranking, merged
from ctxassembly.chain.requests import Readmit, Search, SearchAll
from ctxassembly.chain.searches import ORIGINAL, searches_for
from ctxassembly.config.answering import Mode
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import Understanding
from ctxassembly.errors import ConfigError, SearchError
from ctxassembly.retrieved import Retrieved
from ctxassembly.safe_repr import failure

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
