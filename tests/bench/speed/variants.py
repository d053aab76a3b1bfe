"""The ways to use ours that are measured."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ctxassembly import AssemblyConfig, Context, assemble, presets
from ctxassembly.protocols import Store
from scenario import BUDGET, ENCODING, Scenario

QUERY = "How does a with statement call __exit__ when an exception is raised?"
REFERENCE = "reference"


class Variant(NamedTuple):
    config: AssemblyConfig
    query: str | None = None

    def run(self, case: Scenario, budget: int = BUDGET, store: Store | None = None) -> Context:
        """The context for all hits of `case`, with neighbours from its own store if no other one is given."""
        # A new config is checked, which is no part of an assembly.
        config = self.config if self.config.max_tokens == budget else replace(self.config, max_tokens=budget)
        return assemble(case.hits, config, query=self.query, store=store or case.store)


DEFAULT = AssemblyConfig(max_tokens=BUDGET, encoding=ENCODING)
OURS = {"default": Variant(DEFAULT), "five-stage": Variant(presets.FIVE_STAGE), "query": Variant(DEFAULT, QUERY)}
"""With a query the default packs sentences, of a pool that is wider than the window."""
MEASURED = {
    **OURS,
    "near": Variant(replace(DEFAULT, dedup="near")),
    "extractive": Variant(replace(DEFAULT, granularity="chunk", choose_by="rank", compress="extractive"), QUERY),
}
"""Those whose memory is measured: stages that are off by default, too."""
