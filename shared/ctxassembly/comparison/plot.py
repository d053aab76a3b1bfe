"""A comparison as a figure of matplotlib, which is imported on the first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxassembly.comparison.row import ComparisonRow, document_sources, row_titles
from ctxassembly.errors import MissingExtraError
from ctxassembly.views.html import make_visible
from ctxassembly.views.limits import ID_CHARS, MAX_LABELS
from ctxassembly.views.style import COLOR_COUNT, LIGHT, document_letter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 0.6
"""Height of a bar, in rows."""


def plot_rows(rows: Sequence[ComparisonRow]) -> Figure:
    """A figure with a panel of bars for each number, and one with the letters of the documents in reading order.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plot()", "inspect") from error

    panels: dict[str, list[float]] = {
        "tokens": [row.tokens for row in rows],
        "passages": [row.passages for row in rows],
        "mean run, characters": [row.mean_passage_chars for row in rows],
    }
    if any(row.evidence is not None for row in rows):
        panels["evidence read"] = [row.evidence or 0.0 for row in rows]
    # A notebook starts to show figures with the first one of pyplot. Closed here, the cell shows it once, not twice.
    figure: Figure = plt.figure(figsize=(2.6 * len(panels) + 5.5, 1.2 + 0.45 * len(rows)), layout="constrained")
    plt.close(figure)
    axes = figure.subplots(1, len(panels) + 1, sharey=True, squeeze=False)[0]
    for axis, (title, values) in zip(axes, panels.items(), strict=False):
        bars = axis.barh(range(len(rows)), values, color=LIGHT["link"], height=_HEIGHT)
        axis.bar_label(bars, fmt="{:,.2f}" if title == "evidence read" else "{:,.0f}", padding=3, fontsize=9)
        axis.set_title(title, loc="left", fontsize=10)
        axis.margins(x=0.3)
        axis.set_xticks([])
        axis.tick_params(left=False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    _draw_order(axes[-1], rows)
    # A dollar would begin a formula.
    names = [make_visible(title).replace("$", r"\$") for title in row_titles(rows, ID_CHARS)]
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].invert_yaxis()
    return figure


def _draw_order(axis: Axes, rows: Sequence[ComparisonRow]) -> None:
    """Draw the labels of each row from left to right, with the letter and color of their document."""
    document_numbers = {document_id: place for place, document_id in enumerate(document_sources(rows))}
    for y, row in enumerate(rows):
        for x, (document_id, _) in enumerate(row.order[:MAX_LABELS]):
            color = f"d{document_numbers[document_id] % COLOR_COUNT}"
            axis.barh(y, 0.9, left=x, color=LIGHT[f"{color}-tint"], edgecolor=LIGHT[color], height=_HEIGHT)
            letter_text = document_letter(document_numbers[document_id])
            axis.text(x + 0.45, y, letter_text, color=LIGHT[color], ha="center", va="center", fontsize=9)
        if len(row.order) > MAX_LABELS:
            axis.text(MAX_LABELS, y, f" +{len(row.order) - MAX_LABELS:,}", va="center", fontsize=9)
    axis.set_title("documents in reading order", loc="left", fontsize=10)
    axis.set_xlim(0, MAX_LABELS + 2)
    axis.set_xticks([])
    axis.tick_params(left=False)
    axis.spines[["top", "right", "bottom", "left"]].set_visible(False)
