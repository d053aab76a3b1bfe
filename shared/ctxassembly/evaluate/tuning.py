"""`tune`: fit the few settings that matter on half of the questions, and test them on the other half.

Settings are fitted one after the other. A fit on few questions finds something that is better on them by chance; the
other half shows whether it is better on questions that it wasn't fitted on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ctxassembly.config.assembly import DEFAULT_MIN_RELEVANCE, AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import Channel, Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate.corpus import Corpus
from ctxassembly.evaluate.measures import Measuring
from ctxassembly.evaluate.pipeline import Pipeline, Settings
from ctxassembly.evaluate.questions import LabeledQuestion, read_questions
from ctxassembly.evaluate.statistics import SEED, Estimate, difference
from ctxassembly.evaluate.systems import read_result
from ctxassembly.protocols import EmbedQuery, Index, Reranker, SearchFunction, Store
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.safe_repr import pluralize

MIN_QUESTIONS = 4
EARLY_TOKENS = 500
"""The beginning of a context in which the order should put the evidence."""
MAX_LOSS = 0.05
"""The most recall or early evidence that may be lost, at the lower end of the interval, for fewer tokens."""
FEWER_TOKENS = 0.9
"""The share of the tokens from which fewer tokens are worth a change."""

Goal = Literal["recall", "early"]
Searches = dict[str, Context | Sequence[Hit]]
"""The hits of questions by their ids, all found under the same settings of retrieval."""


class Score(NamedTuple):
    """The measures of one context."""

    recall: float
    """The share of the evidence in it."""
    tokens: float
    early: float
    """1 if the first `EARLY_TOKENS` tokens have all evidence, else 0."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One measure on the questions that nothing was fitted on.

    >>> print(Gain("recall", 0.5, 0.75, Estimate(0.25, 0.1, 0.4)))
    recall       0.500      0.750     +0.250 [+0.100, +0.400]
    """

    measure: str
    before: float
    after: float
    difference: Estimate
    """The mean of the differences per question, with its 95 % interval by bootstrap."""

    def __str__(self) -> str:
        digits = 0 if self.measure == "tokens" else 3
        mean, low, high = (f"{value:+,.{digits}f}" for value in self.difference)
        values = f"{self.before:>10,.{digits}f} {self.after:>10,.{digits}f} {mean:>10}"
        return f"{self.measure:7} {values} [{low}, {high}]"


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The settings to use, and what they gain on questions that they weren't fitted on. It prints as a table.

    >>> TuneResult(RetrievalConfig(), AssemblyConfig(), (), {}, 12, 12).is_better
    False
    """

    retrieval: RetrievalConfig
    """The fitted settings if they are better, else yours."""
    assembly: AssemblyConfig
    gains: tuple[Gain, ...]
    """Recall, tokens and early evidence of the fitted settings against yours, on the other half."""
    fitted: Mapping[str, tuple[Any, Any]] = field(hash=False)
    """The settings that the first half changed, each with your value and the fitted one."""
    fitted_on: int
    """The number of questions."""
    tested_on: int
    is_better: bool = False
    """True if the other half confirms the fit beyond the 95 % interval: more of the evidence, or as much of it in fewer
    tokens or earlier."""
    seed: int = SEED

    def __str__(self) -> str:
        lines = [
            f"{pluralize(self.fitted_on, 'question')} to fit, {self.tested_on:,} to test (seed {self.seed})",
            *(f"{name}: {before!r} -> {after!r}" for name, (before, after) in self.fitted.items()),
        ]
        if self.gains:
            lines += [f"{'on test':7} {'yours':>10} {'fitted':>10} {'difference':>10}", *map(str, self.gains)]
        verdict = (
            "The fitted settings are better." if self.is_better else "No setting is better than yours on your data."
        )
        return "\n".join((*lines, verdict))


def tune(
    questions: Any,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    retrieval: RetrievalConfig | None = None,
    assembly: AssemblyConfig | None = None,
    retriever: Any = None,
    store: Store | None = None,
    taxonomy: Taxonomy | None = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    corpus: Any = None,
    seed: int = SEED,
) -> TuneResult:
    """Fit `keyword_weight`, `limit`, `min_relevance`, `max_tokens` and `order` to questions of your own.

    Experimental.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.evaluate import Evidence
    >>> names = [f"value{n}" for n in range(8)]
    >>> index = MemoryIndex([Chunk(name, name, f"{name} is measured.") for name in names])
    >>> asked = [LabeledQuestion(f"When is {name} measured?", (Evidence(name),)) for name in names]
    >>> print(tune(asked, index=index, retrieval=RetrievalConfig(strategy="keyword")))
    4 questions to fit, 4 to test (seed 20)
    min_relevance: 0.2 -> 0.4
    on test      yours     fitted difference
    recall       1.000      1.000     +0.000 [+0.000, +0.000]
    tokens          96         36        -60 [-60, -60]
    early        1.000      1.000     +0.000 [+0.000, +0.000]
    The fitted settings are better.

    A seeded half of the questions chooses the settings: the highest recall, and of settings within one standard error
    of it the one with the fewest tokens (Breiman et al., 1984) whose evidence comes as early; the order by the evidence
    at the beginning. The other half tests them. `max_tokens` is never raised: it is the limit that you set.

    Args:
        questions: whatever `read_questions` reads; those without evidence or an expected answer are left out.
        index: as for `diagnose`, and so are the others.
        embed: see there.
        retrieval: your settings, to compare with; None means the defaults.
        assembly: the same.
        retriever: see there. Then only the settings of assembly are fitted.
        store: see there.
        taxonomy: see there.
        channels: see there.
        rerankers: see there.
        corpus: as for `evaluate`.
        seed: the seed of the split.

    Raises:
        InputError: fewer than 4 questions have evidence; or as with `diagnose`.
        StoreError: a channel failed: what it didn't find would pass for the effect of a setting.
    """
    pipeline = Pipeline(index, embed, retriever, store, taxonomy, channels, rerankers)
    marked = [question for question in read_questions(questions) if question.is_marked]
    if len(marked) < MIN_QUESTIONS:
        raise InputError(f"tune needs at least {MIN_QUESTIONS} questions with evidence, got {len(marked)}")
    random.Random(seed).shuffle(marked)  # noqa: S311 - for a split that everybody can repeat
    middle = len(marked) // 2
    fit, test = marked[:middle], marked[middle:]
    given = retrieval or RetrievalConfig()
    yours = Settings(replace(given, on_search_error="raise"), assembly or AssemblyConfig())
    documents = Corpus.of(corpus)
    fitted = _fit(_Sample(pipeline, documents, fit), yours)
    changes = _changes(yours, fitted)
    if not changes:
        return TuneResult(given, yours.assembly, (), {}, len(fit), len(test), seed=seed)
    before, after = _Sample(pipeline, documents, test).compared(yours, fitted)
    gains = tuple(
        Gain(name, float(old.mean()), float(new.mean()), difference([new], [old]))
        for name, old, new in zip(Score._fields, before.T, after.T, strict=True)
    )
    is_better = _is_better({gain.measure: gain.difference for gain in gains})
    kept = fitted if is_better else yours
    searched = replace(kept.retrieval, on_search_error=given.on_search_error)
    return TuneResult(searched, kept.assembly, gains, changes, len(fit), len(test), is_better, seed)


def _changes(yours: Settings, fitted: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each with both values."""
    pairs = ((yours.retrieval, fitted.retrieval), (yours.assembly, fitted.assembly))
    return {
        name: (getattr(before, name), getattr(after, name))
        for before, after in pairs
        for name in ("keyword_weight", "limit", "min_relevance", "fill", "max_tokens", "order")
        if getattr(before, name, None) != getattr(after, name, None)
    }


def _is_better(gains: Mapping[str, Estimate]) -> bool:
    """Return True if recall is higher, or nothing is much lower and the context shorter or its evidence earlier."""
    if gains["recall"].low > 0:
        return True
    is_as_good = min(gains["recall"].low, gains["early"].low) >= -MAX_LOSS
    return is_as_good and (gains["tokens"].high < 0 or gains["early"].low > 0)


@dataclass(frozen=True)
class _Sample:
    """Questions, and what they are asked."""

    pipeline: Pipeline
    corpus: Corpus
    questions: Sequence[LabeledQuestion]

    def scores(self, settings: Settings, searches: Searches) -> Any:
        """Return an array with a `Score` for each question. What isn't in `searches` is searched and added."""
        return np.array([self._score(question, settings, searches) for question in self.questions])

    def compared(self, yours: Settings, fitted: Settings) -> tuple[Any, Any]:
        """Return the scores of both settings. No hits are kept beyond their question."""
        pairs = []
        for question in self.questions:
            searches: Searches = {}
            before = self._score(question, yours, searches)
            after = self._score(question, fitted, searches if fitted.retrieval == yours.retrieval else {})
            pairs.append((before, after))
        both = np.array(pairs)
        return both[:, 0], both[:, 1]

    def _score(self, question: LabeledQuestion, settings: Settings, searches: Searches) -> Score:
        if question.id not in searches:
            found = self.pipeline.search(question, settings)
            searches[question.id] = found.hits if isinstance(found, Retrieved) else found
        context = self.pipeline.assemble(question, searches[question.id], settings).context
        values = Measuring(self.corpus, context.encoding or "cl100k_base").measure(question, read_result(context))
        return Score(values["recall"] or 0.0, values["tokens"] or 0.0, values[f"within_{EARLY_TOKENS}"] or 0.0)


def _fit(sample: _Sample, yours: Settings) -> Settings:
    """Return the settings that are best on the questions of `sample`, fitted one after the other."""
    current, searches = yours, Searches()
    if sample.pipeline.index is not None:
        if current.retrieval.strategy == "hybrid":
            weights = [{"keyword_weight": weight} for weight in (0.1, 0.3, 0.5, 0.7, 0.9)]
            current, searches = _fit_setting(sample, current, searches, "retrieval", weights, "recall")
        limits = [{"limit": limit} for limit in (10, 20, 40)]
        current, searches = _fit_setting(sample, current, searches, "retrieval", limits, "recall")
    relevance: list[dict[str, Any]] = [{"fill": False, "min_relevance": value} for value in (0.1, 0.2, 0.4)]
    relevance.append({"fill": True, "min_relevance": DEFAULT_MIN_RELEVANCE})
    current, searches = _fit_setting(sample, current, searches, "assembly", relevance, "recall")
    budgets = [{"max_tokens": math.ceil(current.assembly.token_limit * share)} for share in (0.25, 0.5)]
    current, searches = _fit_setting(sample, current, searches, "assembly", budgets, "recall")
    orders = [{"order": order} for order in ("auto", "documents", "relevance", "edges")]
    return _fit_setting(sample, current, searches, "assembly", orders, "early")[0]


def _fit_setting(
    sample: _Sample,
    current: Settings,
    searches: Searches,
    part: Literal["retrieval", "assembly"],
    changes: Sequence[Mapping[str, Any]],
    goal: Goal,
) -> tuple[Settings, Searches]:
    """Return the best of `current`, which has found `searches`, and its `changes`, with what it has found."""
    options = [current]
    for change in changes:
        with suppress(ConfigError):  # the value contradicts the other settings
            option = replace(current, **{part: replace(getattr(current, part), **change)})
            options += [option] if option not in options else []
    found = [searches, *({} if part == "retrieval" else searches for _ in options[1:])]
    best = choose([sample.scores(option, own) for option, own in zip(options, found, strict=True)], goal)
    return options[best], found[best]


def choose(scores: Sequence[Any], goal: Goal) -> int:
    """Return the index of the best of `scores`, arrays with a `Score` for each question; the first one is today's.

    >>> cheap, dear = ([Score(1.0, tokens, 1.0)] * 3 for tokens in (100, 900))
    >>> choose([np.array(dear), np.array(cheap)], "recall"), choose([np.array(dear), np.array(cheap)], "early")
    (1, 0)
    """
    column = Score._fields.index(goal)
    best = max(range(len(scores)), key=lambda at: (round(float(scores[at][:, column].mean()), 9), -at))
    near = [at for at, score in enumerate(scores) if _is_near(scores[best][:, column] - score[:, column])]
    if goal == "early":
        return 0 if 0 in near else best
    tokens = [float(score[:, 1].mean()) for score in scores]
    as_early = [at for at in near if _is_near(scores[0][:, 2] - scores[at][:, 2])]
    fewest = min(as_early or near, key=lambda at: tokens[at])
    return 0 if 0 in near and tokens[fewest] > FEWER_TOKENS * tokens[0] else fewest


def _is_near(differences: Any) -> bool:
    """Return True if the mean of `differences` per question is within one standard error of 0."""
    if len(differences) < 2:
        return bool(differences.mean() <= 0)
    return bool(differences.mean() <= differences.std(ddof=1) / math.sqrt(len(differences)))
