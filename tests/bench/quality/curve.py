"""Evidence recall over the tokens that contexts have: the picture of the readme, its table and its first figure.

A limit is no target: some strategies stop where nothing more is relevant. So they are compared by what they use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ctxassembly.evaluate.statistics import drawn_means, interval
from quality.measure import Plan
from quality.report import Measured, mean

NEEDS = "matplotlib"
JOINED, OURS = "concatenation", "default"
LABELS = {
    OURS: "ctxassembly by default",
    "concise": "ctxassembly, presets.CONCISE",
    "auto": "ctxassembly, fill=True",
    JOINED: "plain join of the hits",
    "bm25-rerank": "hits reranked by BM25",
    "llmslim": "llmslim",
    "trimwise-auto": "trimwise",
    "context-forge": "context-forge",
    "langchain-filter": "LangChain EmbeddingsFilter",
    "llamaindex-sentences": "LlamaIndex SentenceEmbeddingOptimizer",
}
"""What the curve shows, by strategy."""
OUR_LINES = {OURS: "-", "concise": ":", "auto": "--"}
OTHER_COLORS = ("#d1742b", "#2c9e6b", "#b8489e", "#8a7ff0", "#3a9fb0", "#c94f4f")
"""Colors that can be read on white and on black."""
LEAST_TOKENS, LEAST_RECALL = 230, 0.2
"""Where the picture begins. Below, whole chunks hardly fit."""
Curve = Sequence[tuple[float, float]]
"""The mean tokens and the mean recall of each limit."""


class Theme(NamedTuple):
    """The colors of a picture."""

    paper: str
    ink: str
    ours: str
    grid: str


THEMES = {
    "recall.png": Theme("#ffffff", "#1f2328", "#0969da", "#d8dee4"),
    "recall-dark.png": Theme("#0d1117", "#e6edf3", "#58a6ff", "#30363d"),
}
"""By file. GitHub shows the one that goes with the reader's theme."""


class Saving(NamedTuple):
    """What ours needs for the recall of the plain join of all hits."""

    recall: float
    tokens: float
    """Tokens of the plain join."""
    ours: float
    """Tokens of ours; infinite if it never reaches that recall."""

    @property
    def is_reached(self) -> bool:
        """Whether ours reaches that recall."""
        return math.isfinite(self.ours)

    @property
    def times(self) -> float:
        """How many times fewer tokens that is."""
        return self.tokens / self.ours


def saving(group: Sequence[Measured], plan: Plan) -> Saving:
    """Return the tokens at which ours reaches the recall of the plain join.

    If the shortest context finds as much already, they are its tokens, and the saving is at least what is returned.
    """
    tokens, recall = points(group, plan, JOINED)[-1]
    return Saving(recall, tokens, _crossing(points(group, plan, OURS), recall))


def times_interval(group: Sequence[Measured], plan: Plan) -> tuple[float, float]:
    """Return the 95 % interval of how many times fewer tokens that is, the questions drawn anew; 0 if not reached."""

    def drawn(strategy: str, budget: int) -> Curve:
        tokens, recall = (
            drawn_means([each.values(strategy, measure, budget) for each in group]) for measure in ("tokens", "recall")
        )
        return list(zip(np.maximum(tokens, 1).tolist(), recall.tolist(), strict=True))

    joined = drawn(JOINED, plan.budgets[-1])
    ours = zip(*(drawn(OURS, budget) for budget in plan.budgets), strict=True)
    times = (tokens / _crossing(curve, recall) for (tokens, recall), curve in zip(joined, ours, strict=True))
    return interval(np.fromiter(times, np.float64))


def _crossing(curve: Curve, recall: float) -> float:
    """Return the tokens at which a curve reaches `recall`, on straight lines over their logarithm; else infinity."""
    if curve[0][1] >= recall:
        return curve[0][0]
    for (fewer, low), (more, high) in pairwise(curve):
        if high >= recall:
            part = (recall - low) / (high - low)
            return math.exp((1 - part) * math.log(fewer) + part * math.log(more))
    return math.inf


def points(group: Sequence[Measured], plan: Plan, strategy: str) -> Curve:
    """Return the curve of a strategy; each set counts the same, and no context as less than a token."""
    found = ([mean(group, strategy, measure, budget) for measure in ("tokens", "recall")] for budget in plan.budgets)
    return [(max(tokens, 1), recall) for tokens, recall in found]


def savings(measured: Sequence[Measured], plan: Plan) -> str:
    """Return the first figure of the readme, and a table of it by set; empty unless both strategies were measured."""
    if not {JOINED, OURS} <= plan.strategies.keys():
        return ""
    lines = [
        sentence(measured, plan),
        "",
        "| set | questions | plain join | by default | tokens for the recall of the plain join | times fewer |",
        "|---|---|---|---|---|---|",
    ]
    for each in measured:
        found = saving([each], plan)
        shown = (
            f"{recall:.3f} at {tokens:,.0f}"
            for tokens, recall in (points([each], plan, name)[-1] for name in (JOINED, OURS))
        )
        same = (f"{found.ours:,.0f}", f"{found.times:.1f}") if found.is_reached else ("–", "–")
        lines.append(f"| {' | '.join((each.questions.name, str(len(each.asked)), *shown, *same))} |")
    return "\n".join(lines) + "\n"


def sentence(measured: Sequence[Measured], plan: Plan) -> str:
    """Return the first figure of the readme with its range over the sets."""
    found, (low, high) = saving(measured, plan), times_interval(measured, plan)
    by_set = {each.questions.name: saving([each], plan) for each in measured}
    times = [each.times for each in by_set.values() if each.is_reached] or [0.0]
    missed = [name for name, each in by_set.items() if not each.is_reached]
    return (
        f"The recall of a plain join of {plan.hits} hits at {found.times:.1f} times fewer tokens: {found.recall:.3f} "
        f"in {found.ours:,.0f} instead of {found.tokens:,.0f}, the mean of {len(measured)} sets "
        f"(95 % interval {low:.1f} to {high:.1f} times); "
        f"{min(times):.1f} to {max(times):.1f} times by set"
        + (f", not reached on {' and '.join(missed)}." if missed else ".")
    )


def draw(measured: Sequence[Measured], plan: Plan, folder: Path) -> list[Path]:
    """Write the picture of all sets in each theme, and return the files; none if nothing of it was measured."""
    curves = {name: points(measured, plan, name) for name in LABELS if name in plan.strategies}
    if not curves:
        return []
    found = saving(measured, plan) if {JOINED, OURS} <= curves.keys() else None
    said = sentence(measured, plan) if found else ""
    return [_picture(curves, found, said, folder / name, theme) for name, theme in THEMES.items()]


def _picture(curves: Mapping[str, Curve], found: Saving | None, said: str, file: Path, theme: Theme) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained", facecolor=theme.paper)
    FigureCanvasAgg(figure)  # no window, whatever the machine has
    axes = figure.add_subplot(facecolor=theme.paper)
    others = iter(OTHER_COLORS)
    for name, curve in curves.items():
        style: dict[str, Any] = {"color": theme.ink, "linewidth": 2, "zorder": 3}
        if name in OUR_LINES:
            style = {"color": theme.ours, "linestyle": OUR_LINES[name], "linewidth": 2.6, "zorder": 4}
        elif name != JOINED:
            style = {"color": next(others), "linewidth": 1.2}
        axes.plot(*zip(*curve, strict=True), marker="o", markersize=4, label=LABELS[name], **style)
    if found and found.is_reached:
        arrow = {"arrowstyle": "-|>", "color": theme.ours, "linewidth": 2, "shrinkA": 5, "shrinkB": 5}
        axes.annotate("", (found.ours, found.recall), (found.tokens, found.recall), arrowprops=arrow, zorder=5)
        text = f"{found.times:.1f} times fewer tokens\nfor the recall of the plain join"
        axes.text(0.97, 0.06, text, transform=axes.transAxes, ha="right", fontsize="x-large", color=theme.ours)
    ticks = [250, 500, 1_000, 2_000, 4_000, 8_000]
    axes.set(
        xscale="log",
        xlim=(LEAST_TOKENS, None),
        ylim=(LEAST_RECALL, None),
        xlabel="tokens of the context (mean)",
        ylabel="recall of the evidence",
    )
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(color=theme.grid)
    axes.tick_params(colors=theme.ink)
    for each in (axes.xaxis.label, axes.yaxis.label):
        each.set_color(theme.ink)
    for name, spine in axes.spines.items():
        spine.set(color=theme.grid, visible=name in ("left", "bottom"))
    figure.legend(loc="outside lower center", ncols=3, frameon=False, labelcolor=theme.ink)
    figure.savefig(file, dpi=120, metadata={"Description": said})
    return file
