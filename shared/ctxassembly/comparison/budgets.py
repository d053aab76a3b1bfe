"""`compare_budgets`: the same hits under several token budgets, as a slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxassembly.assembly.selection.supplement import Supplement
from ctxassembly.comparison.compare import compare
from ctxassembly.comparison.slider import Slider
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import Embeddings, LanguageModel, Scorer, Store
from ctxassembly.views.evidence import Evidence

DEFAULT_BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
"""From a voice's few sentences to the default of `AssemblyConfig`."""


def compare_budgets(
    hits: Sequence[Hit],
    budgets: Sequence[int] = DEFAULT_BUDGETS,
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    evidence: Sequence[Evidence] = (),
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
    llm: LanguageModel | None = None,
    scorer: Scorer | None = None,
) -> Slider:
    """The contexts of `hits` under each of `budgets`, the smallest first, as a slider for a notebook.

    `budgets` are numbers of tokens: each takes the place of the `max_tokens` of `config`. The other arguments are those
    of `compare`.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> slider = compare_budgets(hits, [50, 12], evidence=["Eat nothing."])
    >>> [(stop.name, stop.tokens, stop.evidence) for stop in slider.stops]
    [('12', 10, 0.0), ('50', 20, 1.0)]

    Raises:
        ConfigError: there is no budget, or one that isn't a whole number from 1.
        InputError: a piece of evidence is neither a text nor a span.
    """
    if (
        not isinstance(budgets, Sequence)
        or isinstance(budgets, str)
        or not budgets
        or not all(map(_is_budget, budgets))
    ):
        raise ConfigError("budgets", "one number of tokens or more, in a list, each a whole number from 1", budgets)
    ascending = sorted(set(budgets))
    comparison = compare(
        hits,
        [replace(config or AssemblyConfig(), max_tokens=budget) for budget in ascending],
        query=query,
        store=store,
        names=[f"{budget:,}" for budget in ascending],
        evidence=evidence,
        supplement=supplement,
        embeddings=embeddings,
        llm=llm,
        scorer=scorer,
    )
    return comparison.slider("token budget")


def _is_budget(budget: object) -> bool:
    return isinstance(budget, int) and not isinstance(budget, bool) and budget >= 1
