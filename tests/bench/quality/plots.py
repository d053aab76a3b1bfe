"""Recall over budget, and over the tokens used: two pictures a set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quality.measure import Plan
from quality.report import Measured, mean
from quality.retrieval import GIVEN
from quality.stats import estimate

NEEDS = "matplotlib"
X_LABELS = ("budget (tokens of the rendered text)", "tokens used (mean of the rendered text)")
LINES = {"baseline": ":", "ours": "-", "peer": "--", "re-implemented": "--", "oracle": "-."}


def plots(measured: Sequence[Measured], plan: Plan, folder: Path) -> list[Path]:
    """The files written: one for each set, and one for all if there are several."""
    groups = {each.questions.name: [each] for each in measured}
    if len(measured) > 1:
        groups["all-sets"] = list(measured)
    way = "" if plan.way == GIVEN else f"-{plan.way}"
    return [
        _plot(name, group, plan, folder / f"recall{over}-{name}{way}.png", by_tokens=bool(over))
        for name, group in groups.items()
        for over in ("", "-over-tokens")
    ]


def _plot(name: str, group: Sequence[Measured], plan: Plan, file: Path, *, by_tokens: bool) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    FigureCanvasAgg(figure)  # no window, whatever the machine has
    axes = figure.add_subplot()
    for number, (strategy, entry) in enumerate(plan.strategies.items()):
        found = [estimate([each.values(strategy, "recall", budget) for each in group]) for budget in plan.budgets]
        used = [max(mean(group, strategy, "tokens", budget), 1) if by_tokens else budget for budget in plan.budgets]
        color = "black" if entry.kind == "oracle" else f"C{number % 10}"
        marker = "osv^D"[number // 10 % 5]
        axes.plot(
            used,
            [each.mean for each in found],
            LINES[entry.kind],
            color=color,
            marker=marker,
            markersize=4,
            linewidth=2 if entry.kind == "ours" else 1.2,
            label=strategy,
        )
        if entry.kind == "ours":
            low, high = [each.low for each in found], [each.high for each in found]
            axes.fill_between(used, low, high, color=color, alpha=0.07, linewidth=0)
    axes.set(xscale="log", ylim=(0, 1), xlabel=X_LABELS[by_tokens], ylabel="evidence recall")
    axes.set_title(name)
    axes.set_xticks(plan.budgets, [f"{budget:,}" for budget in plan.budgets])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(file, dpi=120)
    return file
