"""Means with bootstrap intervals: the questions are drawn with replacement (Efron 1979), by a fixed seed.

Over several sets each set counts the same, and its questions are drawn from it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 20
DRAWS = 2_000
LEVEL = 0.95
MAX_CACHED_DRAWS = 16
"""Numbers of questions whose draws are cached: for 100 questions they take 1.6 MB."""

Values = NDArray[np.float64]
"""One for each question; NaN where there is nothing to measure."""


class Estimate(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """True if 0 is outside the interval."""
        return self.low > 0 or self.high < 0


def estimate(sets: Sequence[Values], draws: int = DRAWS) -> Estimate:
    """Return the mean over the sets' means; sets without a value are left out."""
    known = [values for values in sets if not np.isnan(values).all()]
    if not known:
        return Estimate(float("nan"), float("nan"), float("nan"))
    low, high = interval(drawn_means(known, draws))
    return Estimate(float(np.mean([np.nanmean(values) for values in known])), low, high)


def drawn_means(sets: Sequence[Values], draws: int = DRAWS) -> Values:
    """Return the mean over the sets' means in each draw; of the same sets every measure has the same draws."""
    means = [_drawn_means(values, _drawn(place, len(values), draws)) for place, values in enumerate(sets)]
    return np.asarray(np.mean(means, axis=0), dtype=np.float64)


def interval(drawn: Values) -> tuple[float, float]:
    """Return the bounds of the interval of drawn means."""
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def difference(sets: Sequence[Values], others: Sequence[Values], draws: int = DRAWS) -> Estimate:
    """Return the mean of the difference per question: questions that are hard for both cancel out."""
    return estimate([one - other for one, other in zip(sets, others, strict=True)], draws)


def _drawn_means(values: Values, times: Values) -> Values:
    """Return the mean of each draw; NaN for one that has drawn no value."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Values = times @ np.where(there, values, 0.0) / (times @ there)
    return means


@lru_cache(MAX_CACHED_DRAWS)
def _drawn(place: int, number: int, draws: int) -> Values:
    """Return how often each question was drawn, a row for each draw: one matrix product gives all means."""
    draw = np.random.default_rng([SEED, place, number])
    return draw.multinomial(number, np.full(number, 1 / number), size=draws).astype(np.float64)
