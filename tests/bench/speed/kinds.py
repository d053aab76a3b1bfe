"""Time by kind of text, compared with the physical limit, the straightforward reference and the peers.

The limit E is one encode of the text that was written, by the same tokenizer: no one who counts it can be faster.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from ctxassembly import Context, Hit
from ctxassembly.tokens.counter import load_encoding
from quality.data import read
from scenario import ENCODING, PlaceStore, Scenario, scenario
from speed.contestants import COLD, STATES, Contestant, Run, contestants
from speed.timing import shown, table, timed
from speed.variants import forget
from texts import Kind

HITS, BUDGETS = (20, 200), (None, 2_000, 8_000)
"""None: nothing is set, so that ours writes as many tokens as the hits have, and at most 8,000."""
CASES = 5
"""Scenarios of each kind, in turn: how much a document shares with another differs between them."""
FLOOR_MS = 2.0
"""Where E is small, what is faster than this is fast enough."""
CHUNK_CHARS = 1_200
"""Of every kind, where speeds by character are compared: by tokens a Chinese chunk has a fifth of an English one's."""

Cases = Callable[[int], list[Scenario]]
"""The scenarios of a kind of text, by the number of hits."""


class Spent(NamedTuple):
    """Medians."""

    ms: float
    encode_ms: float
    """E, of this one's own text."""
    characters: float = 0.0
    """Of all chunks that were read."""

    @property
    def encodes(self) -> float:
        return self.ms / self.encode_ms


Budgets = Sequence[int | None]
Found = Mapping[tuple[str, int | None], Mapping[str, Spent]]
"""By kind and budget what each contestant spent."""


def made(kind: Kind) -> Cases:
    return lambda hits: [scenario(hits, seed, kind) for seed in range(CASES)]


def from_set(folder: Path) -> Cases:
    """Some questions of a set, evenly spaced. More hits than a question has are those of the questions after it."""
    questions = read(folder)
    chunks = {
        at: replace(chunk, start=None, metadata={"source": chunk.document_id, "page": 1 + at[1] // 2})
        for at, chunk in questions.places.items()
    }
    starts = {chunk.id: chunk.start or 0 for chunk in questions.chunks.values()}
    asked = questions.questions

    def case(first: int, hits: int) -> Scenario:
        turned = (*asked[first:], *asked[:first])
        places = dict.fromkeys((hit.chunk.document_id, hit.chunk.index or 0) for each in turned for hit in each.hits)
        ranked = tuple(Hit(chunks[at], 0.95 - 0.6 * rank / hits) for rank, at in enumerate(islice(places, hits)))
        return Scenario(ranked, PlaceStore(chunks), starts, turned[0].text, turned[1].text)

    return lambda hits: [case(len(asked) * at // CASES, hits) for at in range(CASES)]


def measured(cases: Sequence[Scenario], budgets: Budgets, repeats: int) -> dict[int | None, dict[str, Spent]]:
    """By budget what each contestant spent."""
    competing = contestants()
    prepared = [(case, {name: each.prepare(case) for name, each in competing.items()}) for case in cases]
    gc.collect()
    gc.freeze()  # else the collector would look through all that the others have prepared, in anyone's time
    found = {budget: _in_turn(competing, prepared, budget, repeats) for budget in budgets}
    gc.unfreeze()
    return found


def _in_turn(
    competing: Mapping[str, Contestant],
    prepared: Sequence[tuple[Scenario, Mapping[str, Run]]],
    budget: int | None,
    repeats: int,
) -> dict[str, Spent]:
    encode = load_encoding(ENCODING).encode
    times: dict[str, list[Spent]] = {name: [] for name in competing}
    for turn in range(repeats):
        case, runs = prepared[turn % len(prepared)]
        for name, contestant in competing.items():
            run = contestant.prepare(case) if contestant.is_ours else runs[name]
            if contestant.is_cold:
                forget()
            ms, written = timed(partial(run, budget))
            encode_ms, _ = timed(partial(encode, written.text, disallowed_special=()))
            times[name].append(Spent(ms, encode_ms, _read(written, case)))
    return {name: Spent(*map(median, zip(*each, strict=True))) for name, each in times.items()}


def _read(written: object, case: Scenario) -> int:
    """Those of all chunks that ours looked at."""
    if not isinstance(written, Context):
        return 0
    looked_at = {decision.chunk_id for decision in written.trace.decisions}
    return sum(len(chunk.text) for chunk in case.store.chunks.values() if chunk.id in looked_at)


def kinds_tables(
    kinds: Mapping[str, Cases],
    sizes: Sequence[int],
    budgets: Budgets,
    repeats: int,
    done: Callable[[], object],
) -> Iterator[str]:
    """Two tables for each number of hits; `done` is called after each kind."""
    for hits in sizes:
        found: dict[tuple[str, int | None], Mapping[str, Spent]] = {}
        for kind, cases in kinds.items():
            turns = max(CASES, repeats * HITS[0] // max(hits, HITS[0]))
            found |= {(kind, budget): spent for budget, spent in measured(cases(hits), budgets, turns).items()}
            done()
        yield "\n" if hits != sizes[0] else ""
        yield f"{hits:,} hits, milliseconds of processor time; ours in encodes of what it wrote (E), too:\n\n"
        yield from _times(found)
        yield f"\nThe slowest kind in E, {hits:,} hits. Up to {FLOOR_MS:g} ms is fast enough (–), however small E:\n\n"
        yield from _slowest(found, budgets)


def _times(found: Found) -> Iterator[str]:
    names = [*next(iter(found.values()))]
    rows = []
    for (kind, budget), spent in found.items():
        ours = [f"{shown(spent[name].ms)} ({spent[name].encodes:.1f} E)" for name in STATES]
        others = [shown(spent[name].ms) for name in names if name not in STATES]
        rows.append([f"{kind}, {_named(budget)}", shown(spent[COLD].encode_ms), *ours, *others])
    yield from table(["text, tokens", "E, cold", *names], rows)


def _named(budget: int | None) -> str:
    return "nothing set" if budget is None else f"{budget:,}"


def _slowest(found: Found, budgets: Budgets) -> Iterator[str]:
    rows = []
    for budget in budgets:
        spent = {kind: each for (kind, at), each in found.items() if at == budget}
        slow = (
            [(each[name].encodes, kind) for kind, each in spent.items() if each[name].ms > FLOOR_MS] for name in STATES
        )
        rows.append([_named(budget), *("{:.1f} ({})".format(*max(each)) if each else "–" for each in slow)])
    yield from table(["tokens", *STATES], rows)


def characters_table(kinds: Mapping[str, Kind], repeats: int, done: Callable[[], object]) -> Iterator[str]:
    """A row for each kind: characters read in a millisecond, in chunks of equally many characters."""
    rows, first = [], None
    for name, kind in kinds.items():
        spent = measured(made(_of_characters(kind))(HITS[0]), [BUDGETS[1]], repeats)[BUDGETS[1]]
        speeds = [spent[state].characters / spent[state].ms for state in STATES]
        first = first or speeds
        rows.append(
            [name, *(f"{each:,.0f} ({each / of_first:.2f}x)" for each, of_first in zip(speeds, first, strict=True))]
        )
        done()
    yield from table(["text", *STATES], rows)


def _of_characters(kind: Kind) -> Kind:
    """The kind in chunks of about `CHUNK_CHARS`."""
    text = "".join(islice(kind.paragraphs(Random(0)), 200))
    tokens = round(CHUNK_CHARS * len(load_encoding(ENCODING).encode_ordinary(text)) / len(text))
    return kind._replace(chunk_tokens=tokens, overlap_tokens=tokens // 5)
