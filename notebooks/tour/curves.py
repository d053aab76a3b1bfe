"""Curves as numbers and as a picture: the numbers are what a test compares, the picture is what a reader sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt


def draw(curves: Mapping[str, Sequence[float]], places: Sequence[int], label: str) -> None:
    """Print and draw the value of each curve, 0 to 1, at each of `places`. The name of a reference ends in a `*`."""
    width = 2 + max(len(name) for name in (label, *curves))
    print(f"{label:{width}}" + "".join(f"{place:>7,}" for place in places))
    figure, axes = plt.subplots(figsize=(5, 3.2), dpi=80)
    for name, values in curves.items():
        print(f"{name:{width}}" + "".join(f"{value:7.2f}" for value in values))
        axes.plot(places, values, marker="o", linestyle=":" if name.endswith("*") else "-", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.set_ylim(0, 1)
    axes.set_xlabel(label)
    axes.set_ylabel("recall of the evidence")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    plt.show()
    plt.close(figure)
