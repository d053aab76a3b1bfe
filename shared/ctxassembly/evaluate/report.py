"""The outcome of an evaluation: as text, as a page, as a data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ctxassembly.errors import ConfigError
from ctxassembly.evaluate import statistics
from ctxassembly.evaluate.questions import LabeledQuestion
from ctxassembly.evaluate.statistics import Estimate
from ctxassembly.lazy import cached_property
from ctxassembly.safe_repr import join_first, pluralize
from ctxassembly.views.html import fold, notes_list, render_section, table, truncate, wrap_page

DEPTHS = (125, 250, 500, 1_000, 2_000, 4_000)
"""Tokens from the beginning of a context."""


class Measure(NamedTuple):
    """The name of a measure in tables, how its values are written, and their range."""

    title: str
    decimals: int = 3
    most: float = 1.0
    """Its highest value; the lowest is 0."""


MEASURES: Mapping[str, Measure] = {
    "recall": Measure("evidence recall"),
    "complete": Measure("all evidence in the context"),
    "tokens": Measure("tokens", 0, math.inf),
    "recall_per_1000_tokens": Measure("recall per 1,000 tokens", 3, math.inf),
    **{f"within_{depth}": Measure(f"all evidence in the first {depth:,} tokens") for depth in DEPTHS},
    "citations": Measure("citations right"),
    "abstention": Measure("abstention right"),
}
"""By name, in the order of the tables. The documentation describes each."""
MAX_NAME_CHARS = 24
"""Characters of a system's name in the printed table."""
MAX_SHOWN_ERRORS = 5
"""Errors of a system that are listed."""
DIFFERS = "*"
"""The mark of a difference whose interval leaves out 0."""


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """The measures of one system's result for one question.

    >>> EvaluationRow("q1", "ours", {"recall": 1.0}).measures["recall"]
    1.0
    """

    question_id: str
    system: str
    measures: Mapping[str, float] = field(default_factory=dict)
    """By name, as in `MEASURES`; without those that there is nothing to measure for."""
    characters: int = 0
    """Of the context, without white space. The context itself isn't kept: many rows would fill the memory."""
    answer: str | None = None
    error: str | None = None
    """The error of the system, which then has no measures; or the measure that is no number in its range."""

    def __post_init__(self) -> None:
        for name, value in self.measures.items():
            most = MEASURES[name].most if name in MEASURES else math.inf
            if not (0 <= value <= most and math.isfinite(value)):
                allowed = f"from 0 to {most:g}" if math.isfinite(most) else "from 0"
                object.__setattr__(self, "error", f"{name} must be a number {allowed}, got {value!r}")
                object.__setattr__(self, "measures", {})
                return


@dataclass(frozen=True)
class EvaluationReport:
    """The rows of an evaluation, with means, intervals and differences. `print` shows them as a table.

    >>> from ctxassembly.evaluate import evaluate
    >>> questions = [{"question": "Until when may I drink?", "quotation": "Drink water until two hours before."}]
    >>> report = evaluate(questions, {"empty": lambda question: ""}, progress=False)
    >>> print(report.estimate("empty", "recall").mean, report.values("empty", "tokens"))
    0.0 [0.]
    """

    rows: tuple[EvaluationRow, ...]
    systems: tuple[str, ...]
    baseline: str
    questions: tuple[LabeledQuestion, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = tuple(MEASURES)
    """The names of the measures in tables."""

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures that some row has, of `shown`, in its order.

        A depth at which every context has ended already says what the depth before says, and is left out.
        """
        longest = max((row.measures.get("tokens", 0) for row in self.rows), default=0)
        same = {f"within_{depth}" for before, depth in pairwise(DEPTHS) if longest <= before}
        known = {name for row in self.rows for name in row.measures} - same
        return tuple(name for name in self.shown if name in known)

    def only(self, *measures: str) -> EvaluationReport:
        """Return the report with a table of `measures` alone.

        Raises:
            ConfigError: there is no such measure.
        """
        for measure in measures:
            _check_measure(measure)
        return replace(self, shown=measures)

    def values(self, system: str, measure: str) -> statistics.Values:
        """Return a measure of each question, in their order; NaN where it has none, or another system failed.

        Raises:
            ConfigError: there is no such system or measure.
        """
        if system not in self.systems:
            raise ConfigError("system", f"one of {', '.join(map(repr, self.systems))}", system)
        _check_measure(measure)
        own = [row for row in self.rows if row.system == system]
        values = [np.nan if row.question_id in self.unpaired else row.measures.get(measure, np.nan) for row in own]
        return np.array(values, dtype=np.float64)

    def estimate(self, system: str, measure: str) -> Estimate:
        """Return the mean of a measure over the questions, with its 95 % interval; NaN if no question has it."""
        return statistics.estimate([self.values(system, measure)])

    def difference(self, system: str, measure: str) -> Estimate:
        """Return the mean difference from the baseline, question by question, with its 95 % interval."""
        return statistics.difference([self.values(system, measure)], [self.values(self.baseline, measure)])

    @cached_property
    def errors(self) -> tuple[EvaluationRow, ...]:
        """The rows with an error."""
        return tuple(row for row in self.rows if row.error is not None)

    @cached_property
    def unpaired(self) -> tuple[str, ...]:
        """The ids of the questions that count for no system, since one failed on them, though not on all questions."""
        running = {row.system for row in self.rows if row.error is None}
        return tuple(dict.fromkeys(row.question_id for row in self.errors if row.system in running))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one HTML page without scripts, and write it to `path` if that is given."""
        page = wrap_page(self._repr_html_())
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        heads = ("measure", *self.systems)
        tables = [
            table("Means with 95 % intervals", heads, [(title, *cells) for title, cells in self._means(is_long=True)])
        ]
        if others := self._others:
            rows = [(title, *cells) for title, cells in self._differences(is_long=True)]
            tables.append(table(self._difference_title, ("measure", *others), rows))
        by_question = fold("Recall of each question", self._questions())
        return render_section(self._title, notes_list(self._remarks), *tables, by_question)

    def _questions(self) -> str:
        """Return the table of the recall of each question, the worst of the baseline first."""
        shares = {system: self.values(system, "recall") for system in self.systems}
        order = np.argsort(np.nan_to_num(shares[self.baseline], nan=2.0), kind="stable")
        rows = (
            (truncate(self.questions[at].text, 120), *(_number(shares[system][at], 2) for system in self.systems))
            for at in order
        )
        return table("Evidence recall", ("question", *self.systems), rows, len(self.questions), "questions")

    def __str__(self) -> str:
        lines = [self._title, *(f"- {remark}" for remark in self._remarks), ""]
        lines += _aligned(self.systems, self._means(is_long=False))
        if self._others:
            lines += ["", f"{self._difference_title}:", *_aligned(self._others, self._differences(is_long=False))]
        return "\n".join(lines)

    @property
    def _title(self) -> str:
        asked = pluralize(len(self.questions), "question")
        return f"{pluralize(len(self.systems), 'system')} on {asked}, 95 % intervals"

    @property
    def _others(self) -> tuple[str, ...]:
        return tuple(system for system in self.systems if system != self.baseline)

    @property
    def _difference_title(self) -> str:
        return f"Difference from {self.baseline}, question by question ({DIFFERS}: the interval leaves out 0)"

    @property
    def _remarks(self) -> list[str]:
        """The notes, and the errors of each system."""
        remarks = list(self.notes)
        if self.unpaired:
            listed = join_first(self.unpaired, MAX_SHOWN_ERRORS)
            remarks.append(
                f"{pluralize(len(self.unpaired), 'question')} counted for no system, as one failed: {listed}"
            )
        for system in self.systems:
            own = [row for row in self.errors if row.system == system]
            if own:
                listed = "; ".join(f"{row.question_id}: {row.error}" for row in own[:MAX_SHOWN_ERRORS])
                listed += f"; and {len(own) - MAX_SHOWN_ERRORS:,} more" if own[MAX_SHOWN_ERRORS:] else ""
                remarks.append(f"{system}: {pluralize(len(own), 'error')}: {listed}")
        return remarks

    def _means(self, *, is_long: bool) -> Iterator[tuple[str, list[str]]]:
        for name in self.measures:
            found = [self.estimate(system, name) for system in self.systems]
            yield MEASURES[name].title, [_cell(one, name, "", is_long=is_long) for one in found]

    def _differences(self, *, is_long: bool) -> Iterator[tuple[str, list[str]]]:
        for name in self.measures:
            found = [self.difference(system, name) for system in self._others]
            cells = [_cell(one, name, "+", is_long=is_long) + (DIFFERS if one.differs else "") for one in found]
            yield MEASURES[name].title, cells


def _check_measure(measure: str) -> None:
    if measure not in MEASURES:
        raise ConfigError("measure", f"one of {', '.join(map(repr, MEASURES))}", measure)


def _cell(estimate: Estimate, measure: str, sign: str, *, is_long: bool) -> str:
    """Return a mean with its interval, or in short with half the width of it."""
    if np.isnan(estimate.mean):
        return "–"
    decimals = MEASURES[measure].decimals
    mean = _number(estimate.mean, decimals, sign)
    if is_long:
        return f"{mean} [{_number(estimate.low, decimals, sign)}, {_number(estimate.high, decimals, sign)}]"
    half = _number((estimate.high - estimate.low) / 2, decimals)
    return f"{mean} ±{half.removeprefix('0') if decimals else half}"


def _number(value: float, decimals: int, sign: str = "") -> str:
    if np.isnan(value):
        return "–"
    return f"{round(value, decimals) or 0.0:{sign},.{decimals}f}"  # no -0.000


def _aligned(systems: Sequence[str], rows: Iterator[tuple[str, list[str]]]) -> list[str]:
    """Return lines with a column for each of `systems`, aligned to the right."""
    table_rows = [("", [truncate(system, MAX_NAME_CHARS) for system in systems]), *rows]
    # The mark has a column of its own: what has none gets a blank there.
    cells = [(title, [cell if cell.endswith(DIFFERS) else f"{cell} " for cell in row]) for title, row in table_rows]
    first = max(len(title) for title, _ in cells)
    widths = [max(map(len, column)) for column in zip(*(row for _, row in cells), strict=True)]
    return [f"{title:<{first}}  {'  '.join(map(str.rjust, row, widths))}".rstrip() for title, row in cells]
