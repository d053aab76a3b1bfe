"""The published pipeline: dedupe, select what fits a model's window, order, format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.text_blocks import Style, TextBlock
from ctxassembly.config.assembly import Order
from ctxassembly.data.candidates import NEAR_DUPLICATE, TOO_SHORT, Candidate
from ctxassembly.data.validation import Range, one_of
from ctxassembly.errors import ConfigError
from ctxassembly.published.common import (
    ENCODING,
    Published,
    arrange_hits,
    best_sentences,
    by_score,
    drop_copies,
    drop_similar,
    longest_fitting,
    number,
    truncate,
    writer,
)
from ctxassembly.text.words import words
from ctxassembly.tokens.counter import load_encoding
from ctxassembly.tokens.models import window_of
from ctxassembly.wording.prompts import system_prompt

BUFFER_TOKENS, CUT_TOKENS, MIN_CUT_FACTOR, PREFIX_CHARS = 64, 4, 3, 64
ORDERS: Mapping[str, Order] = {
    "relevance": "relevance",
    "lost_in_middle": "interleaved",
    "chronological": "document_order",
}
USES: Mapping[str, Mapping[str, Any]] = {
    "factual_qa": {},
    "summarization": {"format": "grouped", "ordering": "chronological", "compress": True},
    "citation_heavy": {"format": "numbered", "ordering": "relevance"},
    "conversational": {"format": "minimal", "ordering": "relevance"},
    "tight_budget": {"compress": True},
}


@dataclass(frozen=True)
class Pipeline(Published):
    """Dedupe, select in the order given what fits a model's window, order, format.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = "Visits begin at two in the afternoon and end at eight, but on Sundays they begin at ten in the morning."
    >>> chunk = Chunk("a#0", "a", said, metadata={"source": "a.pdf", "page": 3})
    >>> print(assemble([Hit(chunk, 0.95)], Pipeline(), query="When do visits begin?"))
    <chunk index="1" source="a.pdf" page="3" score="0.950">
    Visits begin at two in the afternoon and end at eight, but on Sundays they begin at ten in the morning.
    </chunk>
    """

    ordering: Literal["lost_in_middle", "relevance", "chronological"] = "lost_in_middle"
    """The order of the chunks: "lost_in_middle" (1 3 5 6 4 2), "relevance" (best first) or "chronological" (by source,
    page and index). The score is the metadata's `rerank_score`, else the hit's."""
    format: Literal["xml", "numbered", "grouped", "minimal"] = "xml"
    """The format of the chunks. "grouped" has them by the name of their source."""
    dedupe: bool = True
    """Whether to drop chunks with the `content_hash` of an earlier one, or without a hash with its first 64
    characters."""
    fuzzy: Annotated[float, Range(above=0, maximum=1)] | None = None
    """The share of common words from which a chunk is a copy of an earlier one, above 0 and at most 1: words in both,
    divided by words in either. None compares no words."""
    compress: bool = False
    """Whether the chunk that doesn't fit is reduced to the sentences with most words of the query. It is cut if none of
    them fits."""
    max_output: Annotated[int, Range(1)] = 1_024
    """The tokens kept for the answer, at least 1."""
    model: str = "mistral"
    """The name of the model, whose window is shared out."""
    system: str | None = None
    """The system prompt, which is counted. None counts the one of `Context.to_messages`."""
    min_chunk_tokens: Annotated[int, Range(0)] = 20
    """The fewest tokens of a chunk, at least 0: shorter ones are left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        window = window_of(self.model)
        if self.max_output + BUFFER_TOKENS >= window:
            allowed = f"below {window - BUFFER_TOKENS}, in the window of {self.model}"
            raise ConfigError("max_output", allowed, self.max_output)

    @classmethod
    def for_use(cls, use: str, **settings: Any) -> Pipeline:
        """Return the settings for a use: "factual_qa", "summarization", "citation_heavy", "conversational" or
        "tight_budget". `settings` are added to them.

        Raises:
            ConfigError: `use` is none of these.
        """  # noqa: D205 - the uses take more than a line
        if use not in USES:
            raise ConfigError("use", one_of(USES), use, ": write 'summarization'" if use == "summarisation" else "")
        return cls(**{**USES[use], **settings})

    def flow(self, call: Call) -> SystemFlow:
        """Yield requests, and return the context."""
        limit = self.budget(call.query)
        if limit <= 0:
            call.note(f"budget: system prompt, query and answer leave no room, {-limit:,} tokens too many")
        is_grouped = self.format == "grouped"
        has_rule, header_end = self.format in ("numbered", "grouped"), "\n\n" if is_grouped else "\n"
        style = Style(self.format, keys=self.keys, has_rule=has_rule, header_end=header_end)
        write = writer(call, style, fits=lambda text: not self.exact or self.count(text) <= limit)

        def blocks_of(hits: Sequence[Candidate]) -> list[TextBlock]:
            ordered = self._order(hits, style)
            if is_grouped:
                return _group(ordered, style)
            return [TextBlock.of(style.heading(hit, score=self._score(hit)), hit) for hit in ordered]

        def select(hits: Sequence[Candidate]) -> Sequence[Candidate]:
            chosen = self._select(call, hits, limit)
            if not self.exact:
                return chosen
            return longest_fitting(chosen, lambda kept: self.count(write(blocks_of(kept))) <= limit)

        unique = yield from call.stage("dedupe", call.hits, lambda found: self._unique(call, found))
        chosen = yield from call.stage("select", unique, select)
        blocks = yield from call.stage("order", chosen, blocks_of)
        return (yield from write.context(blocks, max_tokens=max(limit, 0)))

    def budget(self, query: str | None) -> int:
        """Return the tokens for chunks: window - system - query - `max_output` - 64."""
        system = system_prompt(form=self.format) if self.system is None else self.system
        used = self.count(system) + self.count(query or "") + self.max_output + BUFFER_TOKENS
        return window_of(self.model) - used

    def _unique(self, call: Call, hits: Sequence[Candidate]) -> Sequence[Candidate]:
        """Return `hits` without copies: by hash or beginning, then by words."""
        if self.dedupe:
            hits = drop_copies(call, hits, self._fingerprint)
        if self.fuzzy is None:
            return hits
        threshold, known = self.fuzzy, {hit.key: frozenset(words(hit.text)) for hit in hits}

        def is_similar(one: Candidate, other: Candidate) -> bool:
            mine, theirs = known[one.key], known[other.key]
            return len(mine & theirs) >= threshold * len(mine | theirs) > 0

        return drop_similar(call, hits, is_similar, NEAR_DUPLICATE)

    def _fingerprint(self, hit: Candidate) -> tuple[str, Any]:
        content_hash = self.keys.read(hit.chunk.metadata, "content_hash")
        return ("hash", str(content_hash)) if content_hash else ("text", hit.text[:PREFIX_CHARS])

    def _select(self, call: Call, hits: Sequence[Candidate], limit: int) -> list[Candidate]:
        """Return the hits that fit, in the order given; the first that doesn't is shortened, and the last."""
        chosen: list[Candidate] = []
        for hit in hits:
            tokens = self.count(hit.text)
            if tokens < self.min_chunk_tokens:
                call.drop(hit, TOO_SHORT)
            elif tokens <= limit:
                chosen.append(hit)
                limit -= tokens
            else:
                if limit > max(MIN_CUT_FACTOR * self.min_chunk_tokens, CUT_TOKENS):
                    shortened = self._shorten(hit, call.query, limit - CUT_TOKENS)
                    chosen += [shortened] if shortened else []
                break
        return chosen

    def _shorten(self, hit: Candidate, query: str | None, max_tokens: int) -> Candidate | None:
        if self.compress and (best := best_sentences(hit, query, lambda text: self.count(text) <= max_tokens)):
            return best
        encoding = load_encoding(ENCODING)
        tokens = encoding.encode(hit.text, disallowed_special=())[:max_tokens]
        return truncate(hit, len(encoding.decode(tokens, errors="ignore")), "budget") if tokens else None

    def _score(self, hit: Candidate) -> float | None:
        reranked = number(hit, "rerank_score")
        return hit.score if reranked is None else reranked

    def _order(self, hits: Sequence[Candidate], style: Style) -> Sequence[Candidate]:
        if self.ordering == "lost_in_middle" and len(hits) < 3:
            return hits
        return arrange_hits(by_score(hits, self._score), ORDERS[self.ordering], style)

    @property
    def token_limit(self) -> int:
        """The most tokens of the chunks, for a query of none."""
        return max(self.budget(None), 0)


def _group(hits: Sequence[Candidate], style: Style) -> list[TextBlock]:
    """Return a block for each source, by name; chunks of unknown source come first."""
    reader, groups = style.reader(), dict[str, list[Candidate]]()
    for hit in hits:
        groups.setdefault(reader.known_source(hit.chunk), []).append(hit)
    return [TextBlock.of(style.heading(*groups[name]), *groups[name]) for name in sorted(groups)]
