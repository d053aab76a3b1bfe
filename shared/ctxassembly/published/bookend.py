"""The published bookend system: drop copies by meaning, pack the best, put the best first and the second-best last."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.text_blocks import Style, TextBlock
from ctxassembly.data.candidates import BELOW_FLOOR, IRRELEVANT, SEMANTIC_DUPLICATE, Candidate
from ctxassembly.data.requests import Request
from ctxassembly.data.validation import Range, check_fields
from ctxassembly.errors import ConfigError
from ctxassembly.published.common import (
    Published,
    arrange_hits,
    best_sentences,
    by_score,
    drop_copies,
    drop_similar,
    extract_relevant,
    longest_fitting,
    longest_prefix,
    truncate,
    writer,
)

Zone = Annotated[int, Range(0)]


@dataclass(frozen=True)
class ContextBudget:
    """The zones of a prompt, in tokens, each at least 0.

    >>> ContextBudget().total, ContextBudget(retrieved_docs_tokens=8_000).total
    (50000, 26000)
    """

    system_prompt_tokens: Zone = 4_000
    """The system prompt."""
    retrieved_docs_tokens: Zone = 32_000
    """The retrieved chunks, which the assembly fills."""
    conversation_tokens: Zone = 8_000
    """The conversation so far."""
    query_tokens: Zone = 1_000
    """The question."""
    generation_tokens: Zone = 4_000
    """The answer."""
    buffer_tokens: Zone = 1_000
    """What nobody counted."""

    def __post_init__(self) -> None:
        check_fields(self, "budget.")

    @property
    def total(self) -> int:
        """The tokens of all zones."""
        return sum(getattr(self, zone.name) for zone in fields(self))


@dataclass(frozen=True)
class Bookend(Published):
    """Drop copies by meaning, compress long chunks, pack by score, put the best first and the second-best last.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Visits begin at two.", "Visits end at eight.", "Dogs stay outside.", "Flowers are welcome.")
    >>> hits = [Hit(Chunk(f"a#{n}", "a", text), 0.9 - n / 10) for n, text in enumerate(said)]
    >>> print(assemble(hits, Bookend(citation_format=False)))
    Visits begin at two.
    <BLANKLINE>
    Dogs stay outside.
    <BLANKLINE>
    Flowers are welcome.
    <BLANKLINE>
    Visits end at eight.
    """

    budget: ContextBudget | int = field(default_factory=ContextBudget)
    """The zones of the prompt; a number is `retrieved_docs_tokens`."""
    semantic_threshold: Annotated[float, Range(above=0, maximum=1)] = 0.92
    """The cosine from which a chunk is a copy of a better one, above 0 and at most 1. Vectors come with the hits or
    from `embeddings`; chunks without one are compared by their texts alone."""
    relevance_floor: float = 0.0
    """The least score of a hit. Hits without a score are kept."""
    max_chunk_tokens: Annotated[int, Range(1)] = 2_000
    """The most tokens of one chunk, at least 1: longer ones are compressed."""
    compress: Literal["extractive", "llm", "none"] = "extractive"
    """The method for chunks that are too long: the sentences with most words of the query, the sentences that a
    language model chooses, or none."""
    citation_format: bool = True
    """Whether each chunk has a label and its source. False writes the texts alone."""

    def __post_init__(self) -> None:
        if isinstance(self.budget, int) and not isinstance(self.budget, bool):
            object.__setattr__(self, "budget", ContextBudget(retrieved_docs_tokens=self.budget))
        if not isinstance(self.budget, ContextBudget):
            raise ConfigError("budget", "a ContextBudget or a number of tokens", self.budget)
        super().__post_init__()

    def flow(self, call: Call) -> SystemFlow:
        """Yield requests, and return the context."""
        if self.compress == "llm" and not call.can_compress:
            raise ConfigError.missing("llm", "compress='llm'", "a language model", "compress='extractive'")
        form = "numbered" if self.citation_format else "minimal"
        style = Style(form, keys=self.keys, has_rule=self.citation_format)
        write = writer(call, style, fits=lambda text: not self.exact or self.count(text) <= self.token_limit)

        def order(hits: Sequence[Candidate]) -> list[TextBlock]:
            ordered = arrange_hits(hits, "edges", style)
            return [TextBlock.of(replace(style.heading(hit), pages=()), hit) for hit in ordered]

        def select(hits: Sequence[Candidate]) -> Sequence[Candidate]:
            chosen = self._pack(hits)
            if not self.exact:
                return chosen
            return longest_fitting(chosen, lambda kept: self.count(write(order(kept))) <= self.token_limit)

        hits: Sequence[Candidate] = by_score(call.hits)
        hits = yield from call.stage("dedup", hits, lambda found: drop_copies(call, found, _stripped))
        hits = yield from self._drop_semantic(call, hits)
        hits = yield from call.stage("floor", hits, lambda found: self._above_floor(call, found))
        hits = yield from self._compress(call, hits)
        hits = yield from call.stage("budget", hits, select)
        blocks = yield from call.stage("order", hits, order)
        return (yield from write.context(blocks, max_tokens=self.token_limit))

    def _drop_semantic(self, call: Call, hits: Sequence[Candidate]) -> Generator[Request, Any, Sequence[Candidate]]:
        """Return `hits` without those whose cosine with a better one reaches the threshold."""
        yield from call.log.begin("semantic dedup", len(hits))
        vectors = (yield from call.embed(hits)) if len(hits) > 1 else {}

        def is_similar(one: Candidate, other: Candidate) -> bool:
            mine, theirs = vectors.get(one.key, ()), vectors.get(other.key, ())
            cosine = sum(a * b for a, b in zip(mine, theirs, strict=False))
            return len(mine) == len(theirs) > 0 and round(cosine, 12) >= self.semantic_threshold

        kept = drop_similar(call, hits, is_similar, SEMANTIC_DUPLICATE)
        yield from call.log.end(len(kept))
        return kept

    def _above_floor(self, call: Call, hits: Sequence[Candidate]) -> list[Candidate]:
        above: list[Candidate] = []
        for hit in hits:
            if hit.score is None or hit.score >= self.relevance_floor:
                above.append(hit)
            else:
                call.drop(hit, BELOW_FLOOR)
        return above

    def _compress(self, call: Call, hits: Sequence[Candidate]) -> Generator[Request, Any, list[Candidate]]:
        """Return `hits`, those that are too long with only their best sentences."""
        yield from call.log.begin("compress", len(hits))
        long = [hit for hit in hits if self.compress != "none" and not self._is_short(hit.text)]
        forms: dict[int, Candidate] = {}
        if long and self.compress == "llm":
            found = yield from extract_relevant(long, self.token_limit, call.query, call.log.notes)
            forms = {key: form for key, form in found.items() if form is not None}
            irrelevant = found.keys() - forms.keys()
            for hit in (hit for hit in long if hit.key in irrelevant):
                call.drop(hit, IRRELEVANT)
            hits = [hit for hit in hits if hit.key not in irrelevant]
        for hit in long:
            form = forms.get(hit.key, hit)
            if not self._is_short(form.text):
                forms[hit.key] = best_sentences(form, call.query, self._is_short) or self._cut(form)
        yield from call.log.end(len(hits))
        return [forms.get(hit.key, hit) for hit in hits]

    def _is_short(self, text: str) -> bool:
        return self.count(text) <= self.max_chunk_tokens

    def _cut(self, hit: Candidate) -> Candidate:
        """Return the beginning of a text that has no sentence short enough."""
        end = longest_prefix(hit.text, lambda end: self._is_short(hit.text[:end]))
        return truncate(hit, max(end, 1), "max_chunk_tokens")  # one character may have more tokens

    def _pack(self, hits: Sequence[Candidate]) -> list[Candidate]:
        """Return the hits that fit, best first: one that doesn't is left out, and smaller ones are still tried."""
        chosen, left = list[Candidate](), self.token_limit
        for hit in hits:
            if (tokens := self.count(hit.text)) <= left:
                chosen.append(hit)
                left -= tokens
        return chosen

    @property
    def token_limit(self) -> int:
        """The tokens for retrieved chunks."""
        assert isinstance(self.budget, ContextBudget)  # noqa: S101 - set at construction
        return self.budget.retrieved_docs_tokens


def _stripped(hit: Candidate) -> str:
    return hit.text.strip()
