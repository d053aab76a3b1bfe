"""The tables, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ctxassembly.evaluate.statistics import Values, difference
from endtoend.measure import BUDGETS, FUSED, OURS, Found
from endtoend.ours import POOL
from endtoend.peers import PEERS


def report(found: Mapping[str, Found]) -> str:
    """Each set's table; then, over all sets, each counting the same, where the evidence is lost and what is ahead."""
    tables = [recalls(name, [one]) for name, one in found.items()]
    if len(found) > 1:
        tables.append(recalls("mean of the sets", list(found.values())))
    losses = [row for name, one in found.items() for row in _losses(name, one)]
    tables += [_table("ours less the best peer", ahead(found)), _table("of the evidence", losses)]
    return "\n\n".join(tables)


def recalls(title: str, found: Sequence[Found]) -> str:
    """The recall of all systems by budget: the mean over the sets' means."""
    rows = [
        (name, [_mean([one.recall[name][budget] for one in found]) for budget in BUDGETS])
        for name in _by_kind(found[0].recall)
    ]
    best = [max(numbers[at] for name, numbers in rows if name in PEERS) for at in range(len(BUDGETS))]
    return _table(
        title,
        [
            (
                name,
                [
                    _bold(f"{number:.3f}", name in PEERS and number == top)
                    for number, top in zip(numbers, best, strict=True)
                ],
            )
            for name, numbers in rows
        ],
    )


def ahead(found: Mapping[str, Found]) -> list[tuple[str, list[str]]]:
    """For each set, and over all, how much more ours finds than the peer that finds most there at that budget."""
    groups = {name: [one] for name, one in found.items()}
    if len(found) > 1:
        groups["all"] = list(found.values())
    return [(name, [_ahead(group, budget) for budget in BUDGETS]) for name, group in groups.items()]


def _ahead(found: Sequence[Found], budget: int) -> str:
    best = max(PEERS, key=lambda name: _mean([one.recall[name][budget] for one in found]))
    ours, others = ([one.recall[name][budget] for one in found] for name in (FUSED, best))
    less = difference(ours, others)
    return f"{less.mean:+.3f} [{less.low:+.3f}, {less.high:+.3f}]{'*' if less.differs else ''}"


def _losses(name: str, found: Found) -> list[tuple[str, list[str]]]:
    """Shares of the evidence that add up to 1."""
    stands = [float(np.mean(found.recall[FUSED][budget])) for budget in BUDGETS]
    could = [float(np.mean(found.recall[POOL][budget])) for budget in BUDGETS]
    pooled = float(np.mean(found.pooled))
    return [
        (f"{name}: stands in the context", [f"{share:.3f}" for share in stands]),
        (
            f"{name}: there was room, not chosen",
            [f"{most - share:.3f}" for share, most in zip(stands, could, strict=True)],
        ),
        (f"{name}: no room", [f"{pooled - most:.3f}" for most in could]),
        (f"{name}: neither a hit nor beside one", [f"{1 - pooled:.3f}"] * len(BUDGETS)),
    ]


def _by_kind(names: Mapping[str, object]) -> list[str]:
    return [*OURS, *PEERS, *(name for name in names if name not in OURS and name not in PEERS)]


def _mean(values: Sequence[Values]) -> float:
    return float(np.mean([np.mean(each) for each in values]))


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def _table(title: str, rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = (f"| {title} | {' | '.join(f'{budget:,}' for budget in BUDGETS)} |", f"|---|{'---|' * len(BUDGETS)}")
    return "\n".join((*head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)))
