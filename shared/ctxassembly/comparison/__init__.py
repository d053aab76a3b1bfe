"""Several configurations side by side, over the same hits.

Experimental: the layout of tables and pages, and the fields of the results, may still change.
"""

from ctxassembly.comparison.comparison import Comparison, Slider, compare, compare_budgets
from ctxassembly.comparison.side_by_side import ComparisonRow

__all__ = ["Comparison", "ComparisonRow", "Slider", "compare", "compare_budgets"]
