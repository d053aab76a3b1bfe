"""The tables, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctxassembly.evaluate.report import DEPTHS
from ctxassembly.evaluate.statistics import DRAWS, Estimate, Values, difference, estimate
from quality.data import Question, QuestionSet
from quality.filling import ENCODING
from quality.measure import Plan, Results
from quality.words_shared import lowest_third

MEASURES = {
    "recall": "Evidence recall",
    "complete": "Full hit (all evidence in the context)",
    "precision": "Precision (evidence in parts of the context)",
    "tokens": "Tokens",
    "violation": "Violations (contexts over the budget)",
}
_RECALLS = ("recall", "complete")
OVER = "†"
AUTO, ORACLE = "auto", "oracle-sentences"


class Measured(NamedTuple):
    """One set's results."""

    questions: QuestionSet
    asked: tuple[Question, ...]
    results: Results

    def values(self, strategy: str, measure: str, budget: int) -> Values:
        """A measure of each question; NaN where it has none."""
        return self.results[strategy, budget][measure]


def report(measured: Sequence[Measured], plan: Plan, against: str, notes: Sequence[str] = ()) -> str:
    """All tables of all sets."""
    asked = ", ".join(f"{each.questions.name} ({len(each.asked)})" for each in measured)
    lines = [
        "# How much of the evidence reaches the reader",
        "",
        f"Question sets, with their questions: {asked}. At most {plan.hits} hits a question: {plan.way}.",
        f"Budgets in {ENCODING} tokens of the rendered text. Over several sets each set counts the same.",
        f"± is half the width of the 95 % interval ({DRAWS:,} bootstrap draws).",
        f"{OVER}: more than 1 % of the contexts are over the budget.",
        "",
        *(f"- {note}" for note in notes),
        "",
    ]
    groups = [("All sets", list(measured))] if len(measured) > 1 else []
    groups += [(each.questions.name, [each]) for each in measured]
    for name, group in groups:
        lines += [f"## {name}", "", *_tables(group, plan, against)]
    return "\n".join(lines).rstrip() + "\n"


def losses(runs: Sequence[tuple[Plan, Sequence[Measured]]]) -> str:
    """A table for each set, and one for all: where the evidence is lost, by way of retrieving and number of hits.

    Empty unless ours and the oracle were both measured.
    """
    plan, measured = runs[0]
    if not {AUTO, ORACLE} <= plan.strategies.keys():
        return ""
    lines = [
        "# Where the evidence is lost",
        "",
        f"`{AUTO}` finds / the pool lacks it, which is what `{ORACLE}` doesn't find either / it was there, not chosen.",
    ]
    groups = [("All sets", slice(None))] if len(measured) > 1 else []
    groups += [(each.questions.name, slice(at, at + 1)) for at, each in enumerate(measured)]
    for name, which in groups:
        lines += ["", f"| {name} | {' | '.join(f'{budget:,}' for budget in plan.budgets)} |"]
        lines.append(f"|---|{'---|' * len(plan.budgets)}")
        for run, found in runs:
            cells = (_lost(found[which], budget) for budget in plan.budgets)
            lines.append(f"| {run.hits} hits, {run.way} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _lost(group: Sequence[Measured], budget: int) -> str:
    ours, most = (
        float(np.mean([np.mean(each.values(strategy, "recall", budget)) for each in group]))
        for strategy in (AUTO, ORACLE)
    )
    return f"{ours:.3f} / {1 - most:.3f} / {most - ours:.3f}"


def _tables(group: Sequence[Measured], plan: Plan, against: str) -> Iterator[str]:
    for measure, title in MEASURES.items():
        yield from (f"### {title}", "", *_table(group, plan, measure, None), "")
        if measure == "recall":
            yield from ("### Evidence recall over the tokens used", "", *over_tokens(group, plan), "")
            lowest = [np.array(lowest_third(each.asked, each.questions)) for each in group]
            yield from ("### Evidence recall: the third of the questions with the fewest words of their evidence", "")
            yield from (*_table(group, plan, measure, lowest), "")
            several = [np.array([len(question.evidence) > 1 for question in each.asked]) for each in group]
            yield from ("### Evidence recall: the questions whose evidence stands in several places", "")
            yield from (*_table(group, plan, measure, several), "")
            yield from (f"### Evidence recall: difference from {against}, question by question", "")
            yield from ("`*`: 0 is outside the 95 % interval.", "", *_differences(group, plan, against), "")
            yield from (*_depths(group, plan), "")


def _depths(group: Sequence[Measured], plan: Plan) -> Iterator[str]:
    """Yield the table of the share of questions whose whole evidence is in the first tokens of a long context."""
    budget = max(plan.budgets, key=lambda budget: (budget <= DEPTHS[-1], budget))
    yield f"### Sufficiency by depth (whole evidence within the first tokens of a context of {budget:,})"
    yield from ("", f"| strategy | kind | {' | '.join(f'{depth:,}' for depth in DEPTHS)} | mean |")
    yield f"|---|---|{'---|' * (len(DEPTHS) + 1)}"
    for strategy, entry in plan.strategies.items():
        shares = [mean(group, strategy, f"within_{depth}", budget) for depth in DEPTHS]
        cells = (f"{share:.3f}" for share in (*shares, np.mean(shares)))
        yield f"| {strategy} | {entry.kind} | {' | '.join(cells)} |"


def _table(
    group: Sequence[Measured], plan: Plan, measure: str, only: Sequence[NDArray[np.bool_]] | None
) -> Iterator[str]:
    yield from _head(plan)
    for strategy, entry in plan.strategies.items():
        cells = []
        for budget in plan.budgets:
            values = [each.values(strategy, measure, budget) for each in group]
            if only is not None:
                values = [each[mask] for each, mask in zip(values, only, strict=True)]
            cells.append(_shown(estimate(values), measure) + _over(group, strategy, budget) * (measure in _RECALLS))
        yield f"| {strategy} | {entry.kind} | {' | '.join(cells)} |"


def over_tokens(group: Sequence[Measured], plan: Plan) -> Iterator[str]:
    """Yield the table of what a limit gives and what it costs: the recall, and the mean tokens of the contexts."""
    yield from _head(plan)
    for strategy, entry in plan.strategies.items():
        found = (
            [mean(group, strategy, measure, budget) for measure in ("recall", "tokens")] for budget in plan.budgets
        )
        cells = (f"{recall:.3f} at {tokens:,.0f}" for recall, tokens in found)
        yield f"| {strategy} | {entry.kind} | {' | '.join(cells)} |"


def mean(group: Sequence[Measured], strategy: str, measure: str, budget: int) -> float:
    """The mean of a measure; each set counts the same."""
    return float(np.mean([np.nanmean(each.values(strategy, measure, budget)) for each in group]))


def _differences(group: Sequence[Measured], plan: Plan, against: str) -> Iterator[str]:
    yield from _head(plan)
    for strategy, entry in plan.strategies.items():
        if strategy == against:
            continue
        cells = []
        for budget in plan.budgets:
            ours = [each.values(strategy, "recall", budget) for each in group]
            theirs = [each.values(against, "recall", budget) for each in group]
            cells.append(_signed(difference(ours, theirs)))
        yield f"| {strategy} | {entry.kind} | {' | '.join(cells)} |"


def _head(plan: Plan) -> Iterator[str]:
    yield f"| strategy | kind | {' | '.join(f'{budget:,}' for budget in plan.budgets)} |"
    yield f"|---|---|{'---|' * len(plan.budgets)}"


def _signed(found: Estimate) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]{'*' if found.differs else ''}"


def _over(group: Sequence[Measured], strategy: str, budget: int) -> str:
    """The mark of a strategy that had more room than the others."""
    rates = [each.values(strategy, "violation", budget).mean() for each in group]
    return f" {OVER}" if np.mean(rates) > 0.01 else ""


def _shown(found: Estimate, measure: str) -> str:
    if np.isnan(found.mean):
        return "–"
    digits = 0 if measure == "tokens" else 3
    return f"{found.mean:,.{digits}f} ±{(found.high - found.low) / 2:,.{digits}f}"
