"""The relevance of the candidates to the query, for all stages of a selection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.assembly.rendering.earlier import NOTHING_EARLIER, Earlier
from ctxassembly.assembly.rendering.groups import document_texts
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.scoring.tables import raise_tables
from ctxassembly.assembly.scoring.titles import raise_linked
from ctxassembly.assembly.scoring.weights import FUSED_WEIGHTS, WEIGHTS, Weights
from ctxassembly.cached_property import cached_property
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import has_flag
from ctxassembly.tokens.counter import TokenCounter


@dataclass(frozen=True)
class Relevance:
    """The relevance of all candidates to the query. Their sentences are scored once, when they are first needed."""

    candidates: Sequence[Candidate]
    query: str | None
    config: AssemblyConfig
    counter: TokenCounter
    joins: Joins
    """The joints between the chunks."""
    scorer_scores: Mapping[str, float] = field(default_factory=dict)
    """The scores of a scorer by sentence text."""
    scored: Sequence[Candidate] | None = None
    """The candidates with the text that the conversation has, which counts in all scores; None if it has none."""
    earlier: Earlier = NOTHING_EARLIER
    """What the conversation has of their documents."""

    @cached_property
    def decides(self) -> bool:
        """True if the words of the query decide when not everything fits, and not the rank alone."""
        return self.config.is_query_aware(self.query)

    @cached_property
    def granularity(self) -> Granularity:
        """The finest granularity that may be needed."""
        return self.config.effective_granularity(self.query)

    @cached_property
    def required_keys(self) -> frozenset[int]:
        """The keys of the candidates that must be kept whole, as their metadata says."""
        keys, candidates = self.config.keys, self.candidates if self.config.enabled else ()
        return frozenset([own.key for own in candidates if has_flag(own.chunk, "keep_whole", keys)])

    @cached_property
    def sentences(self) -> ScoredSentences:
        """The sentences of all candidates."""
        scored = self._scored_sentences
        return scored if self.scored is None else scored.restricted_to(self.candidates)

    @cached_property
    def _scored_sentences(self) -> ScoredSentences:
        """The same sentences, and those that the conversation has."""
        from ctxassembly.assembly.scoring.features import score_sentences  # imports numpy, which only queries need

        candidates = self.candidates if self.scored is None else self.scored
        lines = document_texts(candidates, self.joins)
        weights, query = choose_weights(candidates), self.query or ""
        scored = score_sentences(lines, query, weights, self.scorer_scores)
        return raise_tables(raise_linked(scored, query, self.config.keys))

    @cached_property
    def relevant_sentences(self) -> ScoredSentences:
        """The `sentences` with the cutoff of `min_relevance`; without it if the budget excludes more than it would."""
        config, sentences, offered = self.config, self._scored_sentences, self.sentences
        if not config.has_competing_candidates(self.query):
            sentences, offered = sentences.within(config.window), offered.within(config.window)
        if config.fill or not self.candidates:
            return offered
        max_chars = min(config.token_limit * self.chars_per_token, config.max_characters or math.inf)
        return sentences.above_minimum(config.min_relevance, self.chars_per_token, max_chars, offered)

    @cached_property
    def chars_per_token(self) -> float:
        """The characters per token in the text of the best candidate: a guess for the others."""
        text = (self.scored or self.candidates)[0].text
        return len(text) / max(self.counter.estimate(text, self.config.token_limit), 1)


def choose_weights(candidates: Iterable[Candidate]) -> Weights:
    """Return the weights of sentences for how the hits among `candidates` were found.

    They are `FUSED_WEIGHTS` if the metadata of some says that a keyword search found them.
    """
    is_fused = any(candidate.is_hit and "keyword_rank" in candidate.chunk.metadata for candidate in candidates)
    return FUSED_WEIGHTS if is_fused else WEIGHTS
