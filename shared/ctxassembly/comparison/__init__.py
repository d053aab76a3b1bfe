"""Several configurations side by side, over the same hits.

Experimental: the layout of tables and pages, and the fields of the results, may still change. Each public name is
imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.comparison.comparison import Comparison, Slider, compare, compare_budgets
    from ctxassembly.comparison.rows import ComparisonRow

    __all__ = ["Comparison", "ComparisonRow", "Slider", "compare", "compare_budgets"]
else:
    _HOMES = {
        "ctxassembly.comparison.comparison": "Comparison Slider compare compare_budgets",
        "ctxassembly.comparison.rows": "ComparisonRow",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
