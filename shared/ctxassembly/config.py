"""What may be set. Checked once, at construction: a wrong value is an error that names parameter, range and value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from ctxassembly.errors import ConfigError
from ctxassembly.formats import FORMATS, Heading
from ctxassembly.keys import MetadataKeys

Granularity = Literal["document", "passage", "chunk"]
Format = Literal["numbered", "source", "xml", "grouped", "minimal"]
Order = Literal["documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]
Language = Literal["en", "nl"]
Cite = Literal["document", "passage", "chunk"]

MAX_WINDOW = 3
"""The widest window of the published five-stage rule."""


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
    dedup: Literal["exact", "none"] = "exact"
    """Exact: same id, same content hash, or same text apart from outer white space."""
    min_overlap_chars: int = 20
    """Text shared by adjacent chunks is stripped if it is longer than this, or if offsets prove it."""
    max_overlap_chars: int | None = None
    """The longest overlap looked for where offsets are unknown; None looks for any. Set it to the splitter's."""
    order: Order = "documents"
    """In which order the labels are read, as `ctxassembly.order` describes each. With cite="document" whole documents
    are ordered; with "passage" or "chunk" every label on its own, but for `documents`, which keeps those of one
    document together in its own order."""
    format: Format | Callable[[Heading], str | tuple[str, str]] = "numbered"
    """What is written around each block. A function of your own gets a `Heading` and returns a header, or a header
    and a footer, which stand on lines of their own; it never sees the text. It is asked once per heading. Under a
    tiny budget it isn't asked at all. Text from documents is kept from passing for the labels of `numbered` and
    `source`; another form is yours to guard."""
    language: Language = "en"
    """Of the labels that are written around the text."""
    cite: Cite = "document"
    """What has a label of its own."""
    supplement_position: Literal["before", "after"] = "after"
    """Where supplementary text stands: before or after all documents."""
    supplement_max_tokens: int = 1_000
    """The most tokens that supplementary text may have, its separator included; at least 1. It is cut at a sentence.
    What it has is taken from `max_tokens`, the documents have the rest: at least half, and all if the best hit would
    not fit otherwise."""
    supplement_threshold: float | Callable[[str | None, float | None], bool] | None = None
    """Supplementary text is left out if the best hit's score reaches this; None never leaves it out. Or a function that
    gets the query and the best hit's score, None where nothing was retrieved or scored, and returns whether to add it.
    """
    summary_key: str = "page_summary"
    """Metadata key of the page summary, which may be a dotted path."""
    on_store_error: Literal["degrade", "raise"] = "degrade"
    """Degrade assembles the hits without neighbours, and the trace says so."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise ConfigError("enabled", "True or False", self.enabled)
        _check_int("window", self.window, 0, MAX_WINDOW)
        _check_decay(self.neighbour_decay)
        if not isinstance(self.max_tokens, TokenBudget):
            _check_int("max_tokens", self.max_tokens, 1)
        if not (callable(self.encoding) or (isinstance(self.encoding, str) and self.encoding)):
            raise ConfigError("encoding", "the name of a tiktoken encoding or a function str -> int", self.encoding)
        _check_int("min_overlap_chars", self.min_overlap_chars, 0)
        if self.max_overlap_chars is not None:
            _check_int("max_overlap_chars", self.max_overlap_chars, self.min_overlap_chars + 1)
        _check_choice("supplement_position", self.supplement_position, ("before", "after"))
        _check_int("supplement_max_tokens", self.supplement_max_tokens, 1)
        if self.supplement_threshold is not None and not callable(self.supplement_threshold):
            _check_threshold(self.supplement_threshold)
        if not isinstance(self.summary_key, str) or not self.summary_key:
            raise ConfigError("summary_key", "a metadata key", self.summary_key)
        if not isinstance(self.keys, MetadataKeys):
            raise ConfigError("keys", "a MetadataKeys", self.keys)
        _check_choice("granularity", self.granularity, get_args(Granularity))
        _check_choice("dedup", self.dedup, ("exact", "none"))
        if not callable(self.format) and not (isinstance(self.format, str) and self.format in FORMATS):
            raise ConfigError("format", f"{_one_of(tuple(FORMATS))}, or a function from Heading to str", self.format)
        _check_choice("order", self.order, get_args(Order))
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_decay(value: Any) -> None:
    if not _is_number(value) or not 0 <= value <= 1:
        raise ConfigError("neighbour_decay", "a number from 0 to 1", value)


def _check_threshold(value: Any) -> None:
    if not _is_number(value):
        raise ConfigError("supplement_threshold", "a number, a function of query and score, or None", value)


def _check_choice(parameter: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(parameter, _one_of(choices), value)


def _one_of(choices: tuple[str, ...]) -> str:
    return "one of " + ", ".join(repr(choice) for choice in choices)
