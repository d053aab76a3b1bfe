"""Times of each stage and system, question by question in turn, and what goes over the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from tqdm import trange

from ctxassembly.stores.postgres import PostgresIndex
from scale.rows import Asked
from scale.systems import OURS, PEERS, RESCUING, System, Watched, ours
from scale.wire import Tap, Wire

WARMING_UP = 2
"""Questions."""
LEAST = 3
"""Questions to a peer, however slow it is."""
FILLED_IN = "filled in"
"""The time of both channels at once beyond that of each alone: back-fill, and what they share."""


@dataclass
class Measured:
    """What questions to a table of some size cost."""

    chunks: int
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    """Of each stage and system, for each question."""
    found: dict[str, list[bool]] = field(default_factory=dict)
    """Of each system, for each question: whether the chunk that it is made of is among the hits."""
    hits: dict[str, list[int]] = field(default_factory=dict)
    """The number of hits."""
    wires: dict[str, list[Wire]] = field(default_factory=dict)
    seconds: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Of loading, by way of loading and phase."""

    def at(self, stage: str, percentile: float) -> float | None:
        """Milliseconds of a stage; None if no question came to it."""
        taken = self.milliseconds.get(stage)
        return float(np.percentile(taken, percentile)) if taken else None

    def share_found(self, system: str) -> float:
        return float(np.mean(self.found[system]))

    def most(self, system: str) -> Wire:
        """The most statements and round trips of a question."""
        wires = self.wires[system]
        return Wire(max(one.statements for one in wires), max(one.round_trips for one in wires))

    def as_json(self) -> dict[str, Any]:
        """The same for a file, percentiles and means in the place of each question."""
        return {
            "chunks": self.chunks,
            "seconds": {name: dict(phases) for name, phases in self.seconds.items()},
            "milliseconds": {
                name: {"questions": len(taken), "p50": self.at(name, 50), "p95": self.at(name, 95)}
                for name, taken in self.milliseconds.items()
            },
            "gold found": {name: self.share_found(name) for name in self.found},
            "hits": {name: float(np.mean(hits)) for name, hits in self.hits.items()},
            "wire": {name: self.most(name)._asdict() for name in self.wires},
        }


class Ready(NamedTuple):
    """A table that was filled and indexed, and those who ask it."""

    measured: Measured
    searched: PostgresIndex
    peers: Mapping[str, System]
    questions: Sequence[Asked]


def measure(tables: Sequence[Ready], seconds_of_peers: float) -> None:
    """Put a question to each system over each table, then the next one, beginning with another system each time.

    So what else the machine does falls on all of them. The first two questions warm up, are put to ours alone, and
    aren't counted. A peer is asked until it has taken `seconds_of_peers` over a table, and `MIN_TOKENS` questions at
    least.
    """
    asked = len(tables[0].questions)
    for at in trange(asked, desc="asking", unit="question", disable=None):
        for table in tables:
            taken = _asked(table, at, seconds_of_peers)
            stages = (*_stages(taken), *_rescued(table.searched, table.questions[at]))
            for stage, milliseconds in stages if at >= WARMING_UP else ():
                table.measured.milliseconds.setdefault(stage, []).append(milliseconds)


def _asked(table: Ready, at: int, seconds_of_peers: float) -> dict[str, dict[str, float]]:
    """The milliseconds that each system takes for a question, as a whole and by its calls of the index."""
    question, before = table.questions[at], table.measured.milliseconds
    names = list(OURS)
    for name in table.peers if at >= WARMING_UP else ():
        taken_before = before.get(name, [])
        if len(taken_before) < LEAST or sum(taken_before) < seconds_of_peers * 1000:
            names.append(name)
    first = at % len(names)
    taken: dict[str, dict[str, float]] = {}
    for name in names[first:] + names[:first]:
        watched = Watched(table.searched, time.perf_counter)
        system = ours(watched, name) if name in OURS else table.peers[name]
        began = time.perf_counter()
        ids = system(question)
        taken[name] = {"all": (time.perf_counter() - began) * 1000, **dict(watched.calls)}
        if at >= WARMING_UP:
            _note(table.measured, name, ids, question)
    return taken


def _note(measured: Measured, name: str, ids: Sequence[str], question: Asked) -> None:
    if "filter" not in name:
        measured.found.setdefault(name, []).append(question.gold in ids)
    measured.hits.setdefault(name, []).append(len(ids))


def _stages(taken: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, float]]:
    """Times of one question, by stage."""
    vector, keyword, both, rescuing, *filtered = (taken[name] for name in OURS)
    yield "find_terms", both["find_terms"]
    yield "vector", vector["search"]
    yield "keyword", keyword["search"]
    yield "vector and keyword, filled in", both["search"]
    yield FILLED_IN, both["search"] - vector["search"] - keyword["search"]
    yield "all, keyword alone", keyword["all"]
    yield "all, without rescue", both["all"]
    yield "all, with rescue", rescuing["all"]
    for name, each in zip(list(OURS)[-len(filtered) :], filtered, strict=True):
        yield f"all, {name.partition(', ')[2]}", each["all"]
    for name in PEERS:
        if name in taken:
            yield name, taken[name]["all"]


def _rescued(index: PostgresIndex, question: Asked) -> Iterator[tuple[str, float]]:
    """Times of the question with a word besides that no chunk has."""
    watched = Watched(index, time.perf_counter)
    ours(watched, RESCUING)(question._replace(text=f"{question.text} {question.unknown}"))
    calls = dict(watched.calls)
    yield "find_terms, a word unknown", calls["find_terms"]
    if "rescue" in calls:
        yield "rescue", calls["rescue"]


def count(table: Ready, tap: Tap, questions: int) -> None:
    """Count what questions send over the wire, on connections that are open already. Peers get one."""
    first, *others = table.questions[:questions]
    systems = {**{name: ours(table.searched, name) for name in OURS}, **table.peers}
    for name, system in systems.items():
        system(first)
        counted = others if name in OURS else others[:1]
        table.measured.wires[name] = [tap(partial(system, one)) for one in counted]
