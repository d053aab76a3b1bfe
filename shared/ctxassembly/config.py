"""What may be set. Checked once, at construction: a wrong value is an error that names parameter, range and value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from ctxassembly.errors import ConfigError
from ctxassembly.keys import MetadataKeys

Granularity = Literal["document", "passage", "chunk"]
Format = Literal["numbered", "xml", "minimal"]
Language = Literal["en", "nl"]
Cite = Literal["document", "passage", "chunk"]
Dedup = Literal["exact", "near", "semantic", "none"]
Prefer = Literal["score", "newest"]

MAX_WINDOW = 3
"""The widest window of the published five-stage rule."""
_LEAST_POSITIVE = math.ulp(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Zones of a model's context window, all in tokens; `context` is what they leave for retrieved text.

    The default zones are the published ones for a window of 128,000.
    """

    window: int = 128_000
    """The most tokens that the model takes, answer included."""
    system: int = 4_000
    query: int = 1_000
    conversation: int = 8_000
    generation: int = 4_000
    buffer: int = 1_000
    """Room for what nobody counted: role markers, tool definitions."""
    context_cap: int | None = 32_000
    """The most that the context may take even if more is left; None means no cap."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None and each.name == "context_cap":
                continue
            least = 1 if each.name in ("window", "context_cap") else 0
            _check_int(f"TokenBudget.{each.name}", value, least)
        if self.context < 1:
            zones = ("system", "query", "conversation", "generation", "buffer")
            spent = " + ".join(f"{zone} {getattr(self, zone):,}" for zone in zones)
            raise ConfigError("TokenBudget.window", f"more than the zones take together ({spent})", self.window)

    @property
    def context(self) -> int:
        """Tokens for the context: what the other zones leave of the window, at most `context_cap`."""
        left = self.window - self.system - self.query - self.conversation - self.generation - self.buffer
        return left if self.context_cap is None else min(self.context_cap, left)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyConfig:
    """How a context is assembled."""

    enabled: bool = True
    """False passes the hits through in their order, each its own block, within the budget."""
    window: int = 1
    """Neighbours fetched on each side of a hit, 0 to 3 chunks."""
    neighbour_decay: float = 0.5
    """A neighbour's score is its best hit's times this, once per step; 0 to 1."""
    max_tokens: int | TokenBudget = 8_000
    """The most tokens that the rendered text may have, headers and separators included; at least 1."""
    encoding: str | Callable[[str], int] = "cl100k_base"
    """A tiktoken encoding's name, or any function from a text to its number of tokens."""
    granularity: Granularity = "chunk"
    """What the budget keeps or drops whole. `document` is the published rule: documents go from the tail."""
    dedup: Dedup = "exact"
    """Which chunks collapse onto a better-ranked one, each rule after the ones before it.

    Exact: same id, same content hash, or same text apart from outer white space. Near: nearly the same words, or a
    chunk that stands inside a longer one. Semantic: nearly the same meaning by embeddings, which come with the chunks
    or from `embeddings`. Adjacent chunks of a document never collapse by the last two: their overlap is stripped.
    """
    near_threshold: float = 0.9
    """Shared words by all words of both chunks (Jaccard), above 0 and at most 1; also the share of a chunk's runs of
    five words that must stand in a longer one.

    Of two chunks of equal length, with d of 100 different words replaced in one of them, 0.95 lets collapse d = 2,
    0.90 d = 5 and 0.85 d = 8. 0.95 finds the same text from two parsers, 0.90 versions with an edited sentence, 0.85
    leaflets that share a template: there the words replaced may be the answer. Word order is not looked at.
    """
    semantic_threshold: float = 0.92
    """Cosine of the chunks' embeddings from which they mean the same, above 0 and at most 1. It depends on the model.

    With the universal sentence encoder, on single sentences: 0.95 leaves all but the same words, 0.90 lets collapse a
    translation (0.91), 0.85 a close paraphrase (0.88). But "may eat" and "may not eat" have 0.93, "two euros" and
    "three euros" 0.93, 5 mg and 50 mg 0.88: where such differences count, stay with `near`.
    """
    prefer: Prefer = "score"
    """Which of two copies or versions stays: the better-ranked one, or the newer one by `keys.updated_at` in the better
    one's place. Where either has no date the better-ranked one stays."""
    min_overlap_chars: int = 20
    """Text shared by adjacent chunks is stripped if it is longer than this, or if offsets prove it."""
    max_overlap_chars: int | None = None
    """The longest overlap looked for where offsets are unknown; None looks for any. Set it to the splitter's."""
    format: Format = "numbered"
    language: Language = "en"
    """Of the labels that are written around the text."""
    cite: Cite = "document"
    """What has a label of its own."""
    summary_key: str = "page_summary"
    """Metadata key of the page summary, which may be a dotted path."""
    on_store_error: Literal["degrade", "raise"] = "degrade"
    """Degrade assembles without what failed, the neighbours or the embeddings, and the trace says so."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise ConfigError("enabled", "True or False", self.enabled)
        _check_int("window", self.window, 0, MAX_WINDOW)
        _check_number("neighbour_decay", self.neighbour_decay, "a number from 0 to 1", 0)
        for threshold in ("near_threshold", "semantic_threshold"):
            _check_number(threshold, getattr(self, threshold), "a number above 0 and at most 1", _LEAST_POSITIVE)
        if not isinstance(self.max_tokens, TokenBudget):
            _check_int("max_tokens", self.max_tokens, 1)
        if not (callable(self.encoding) or (isinstance(self.encoding, str) and self.encoding)):
            raise ConfigError("encoding", "the name of a tiktoken encoding or a function str -> int", self.encoding)
        _check_int("min_overlap_chars", self.min_overlap_chars, 0)
        if self.max_overlap_chars is not None:
            _check_int("max_overlap_chars", self.max_overlap_chars, self.min_overlap_chars + 1)
        if not isinstance(self.summary_key, str) or not self.summary_key:
            raise ConfigError("summary_key", "a metadata key", self.summary_key)
        if not isinstance(self.keys, MetadataKeys):
            raise ConfigError("keys", "a MetadataKeys", self.keys)
        _check_choice("granularity", self.granularity, get_args(Granularity))
        _check_choice("dedup", self.dedup, get_args(Dedup))
        _check_choice("prefer", self.prefer, get_args(Prefer))
        _check_choice("format", self.format, get_args(Format))
        _check_choice("language", self.language, get_args(Language))
        _check_choice("cite", self.cite, get_args(Cite))
        _check_choice("on_store_error", self.on_store_error, ("degrade", "raise"))

    @property
    def token_limit(self) -> int:
        """`max_tokens` as a number."""
        return self.max_tokens.context if isinstance(self.max_tokens, TokenBudget) else self.max_tokens


def _check_int(parameter: str, value: Any, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f"an integer of at least {least:,}" if most is None else f"an integer from {least:,} to {most:,}"
        raise ConfigError(parameter, allowed, value)


def _check_number(parameter: str, value: Any, allowed: str, least: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not least <= value <= 1:
        raise ConfigError(parameter, allowed, value)


def _check_choice(parameter: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(parameter, "one of " + ", ".join(repr(choice) for choice in choices), value)
