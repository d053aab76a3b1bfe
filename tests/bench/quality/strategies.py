"""All strategies by name, and what each needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, NamedTuple

from quality import baselines, oracle
from quality.data import QuestionSet
from quality.filling import Strategy
from quality.ours import CONFIGS, ours

Kind = Literal["baseline", "ours", "peer", "re-implemented", "oracle"]


class Entry(NamedTuple):
    kind: Kind
    make: Callable[[QuestionSet], Strategy]
    needs: str | None = None
    """A module that has to be installed."""

    @property
    def available(self) -> bool:
        return self.needs is None or find_spec(self.needs) is not None


STRATEGIES: dict[str, Entry] = {
    "concatenation": Entry("baseline", baselines.concatenation),
    "bm25-rerank": Entry("baseline", baselines.bm25_rerank, "bm25s"),
    **{name: Entry("ours", ours(config)) for name, config in CONFIGS.items()},
    "oracle-chunks": Entry("oracle", oracle.oracle_chunks),
    "oracle-sentences": Entry("oracle", oracle.oracle_sentences),
}
