"""Supplementary facts that no chunk has (from a graph, a taxonomy, a database), in a block of their own.

They have no source among the documents, so the block has no label and no citation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import GAP, Candidate
from ctxassembly.data.retrieval import FUSED_SCORE_KEY, SIMILARITY_KEY, Retrieved
from ctxassembly.data.sanitize import sanitize_score
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN
from ctxassembly.wording.label_guards import escape_labels
from ctxassembly.wording.languages import LANGUAGES

MAX_TOKENS = 1_000
"""A supplement takes at most these tokens, its separator included."""
EVIDENCE_DIVISOR = 2
"""A supplement takes at most half of the budget if anything was retrieved."""


@dataclass(frozen=True, slots=True)
class Supplement:
    """Supplementary text with options.

    >>> from ctxassembly import Supplement, assemble
    >>> print(assemble([], supplement=Supplement("The hall seats 90.", force=True)).text)
    --- SUPPLEMENTARY INFORMATION ---
    The hall seats 90.
    """

    text: str
    force: bool = False
    """Add it even if the gate is closed. Its cap and the budget still apply."""
    separator: str | None = None
    """The line above it; None is the line of the language, or of the published system. No text of a document may begin
    a line with it."""
    position: Literal["before", "after"] | None = None
    """Its place: before all documents or after them; None is the published system's, else after them."""
    intent: str | None = None
    """The intent of the question, for `FiveStage(supplement_intents=...)`."""

    def __post_init__(self) -> None:
        if not (self.separator is None or (isinstance(self.separator, str) and self.separator.strip())):
            raise ConfigError("separator", "None or a line of text", self.separator)
        if self.separator is not None and len(self.separator.splitlines()) > 1:
            raise ConfigError("separator", "None or a line of text", self.separator)
        if self.position not in (None, "before", "after"):
            raise ConfigError("position", "None, 'before' or 'after'", self.position)


SupplementInput: TypeAlias = str | Supplement | Callable[[str | None], str | Supplement | None] | None
"""The text itself, or a function from the query (None if there is none) to it."""


def resolve_supplement(query: str | None, supplement: SupplementInput) -> str | Supplement | None:
    """Return `supplement`, or its result for `query` if it is a function, which may do I/O."""
    return supplement(query) if callable(supplement) else supplement


def as_supplement(given: str | Supplement | None) -> Supplement | None:
    """Return `given` as a supplement without white space around its text; None if there is no text.

    Raises:
        InputError: `given` is neither text nor a Supplement.
    """
    supplement = Supplement(given) if isinstance(given, str) else given
    if supplement is None:
        return None
    if not isinstance(supplement, Supplement) or not isinstance(supplement.text, str):
        raise InputError(f"supplement must be a string or a Supplement, got {safe_repr(given)}")
    text = str.__str__(supplement.text).strip()
    return replace(supplement, text=text) if text else None


def supplement_from_retrieval(retrieved: Retrieved) -> Supplement | None:
    """Return the facts retrieved with the hits, one per line, without those in a hit's text; None if there are none."""
    texts = [found.chunk.text for found in retrieved.chunks]
    facts = [fact for fact in retrieved.statements if not any(fact in text for text in texts)]
    return Supplement("\n".join(facts), intent=retrieved.intent) if facts else None


class RenderedSupplement(NamedTuple):
    """The rendered block of a supplement, which may be empty, with notes."""

    text: str = ""
    notes: tuple[str, ...] = ()
    own_lines: tuple[str, ...] = ()
    """Its separator, if that is the caller's: no text of a document may begin a line with it."""
    is_first: bool = False
    """True if it comes before all other blocks."""


def render_supplement(
    supplement_input: str | Supplement | None,
    candidates: Sequence[Candidate],
    query: str | None,
    config: AssemblyConfig,
    max_tokens: int,
    count: Callable[[str], int],
) -> RenderedSupplement:
    """Render `supplement_input` next to `candidates`, best first: cut to its cap, or suppressed by the gate.

    `max_tokens` is the limit of the context.

    Raises:
        InputError: `supplement_input` is neither text nor a Supplement.
    """
    supplement = as_supplement(supplement_input)
    if supplement is None:
        return RenderedSupplement()
    hits = [candidate for candidate in candidates if candidate.is_hit]
    if not supplement.force and (reason := _gate_reason(hits, query, config)):
        return RenderedSupplement(notes=(f"supplement: suppressed, {reason}",))
    divisor = EVIDENCE_DIVISOR if hits else 1
    cap = min(MAX_TOKENS, max_tokens // divisor)
    max_chars = config.max_characters // divisor if config.max_characters else None
    return _truncate_to_cap(supplement, (cap, max_chars), config, count)


def _truncate_to_cap(
    supplement: Supplement, limits: tuple[int, int | None], config: AssemblyConfig, count: Callable[[str], int]
) -> RenderedSupplement:
    """Render the first sentences of `supplement` that fit the `limits` in tokens and in characters."""
    cap, max_chars = limits
    own_lines, text = () if supplement.separator is None else (supplement.separator,), supplement.text
    separator = supplement.separator or LANGUAGES[config.language].supplement
    name = config.format if isinstance(config.format, str) else "custom"

    def body(end: int) -> str:
        return escape_labels(text[:end], name, own_lines, sanitize=config.sanitize).strip()

    def rendered(end: int) -> str:
        return f"{separator}\n{body(end)}{f' {GAP}' if end < len(text) else ''}"

    def fits(end: int) -> bool:
        block = rendered(end)
        return (max_chars is None or len(block) <= max_chars) and count(block) <= cap

    end = len(text)
    if not fits(end):
        # Never inside a sentence: half a fact may say the opposite.
        ends = sentence_ends(text[: cap * MAX_CHARS_PER_TOKEN])
        at = bisect_left(ends, True, key=lambda place: not fits(place))
        end = ends[at - 1] if at else 0
    limit = f"{cap:,} tokens" + (f" and {max_chars:,} characters" if max_chars else "")
    if not end:
        return RenderedSupplement(notes=(f"supplement: left out, no sentence of it fits in {limit}",))
    if not body(end):
        return RenderedSupplement(notes=("supplement: left out, sanitizing leaves nothing of it",))
    cut_note = ", its text cut" if end < len(text) else ""
    note = f"supplement: included, {count(rendered(end)):,} of at most {limit}{cut_note}"
    return RenderedSupplement(rendered(end), (note,), own_lines, is_first=supplement.position == "before")


def best_similarity(hits: Sequence[Candidate]) -> float | None:
    """Return the best vector similarity that retrieval wrote into hits, else the best score; None without either.

    The best fused score is always 1, so it says nothing.
    """
    metadata = [hit.chunk.metadata for hit in hits]
    similarities = [value for own in metadata if (value := sanitize_score(own.get(SIMILARITY_KEY))[0]) is not None]
    is_fused = any(FUSED_SCORE_KEY in own for own in metadata)
    scores = [hit.score for hit in hits if hit.score is not None and not is_fused]
    return max(similarities or scores, default=None)


def _gate_reason(hits: Sequence[Candidate], query: str | None, config: AssemblyConfig) -> str:
    """Return the reason why the gate is closed; "" if it is open. Without scores no threshold is reached."""
    threshold, best_score = config.supplement_threshold, best_similarity(hits)
    if callable(threshold):
        return "" if threshold(query, best_score) else "as supplement_threshold decided"
    if threshold is None or best_score is None:
        return ""
    if best_score < threshold:
        return ""
    return f"the best score {best_score:g} reaches supplement_threshold {threshold:g}"
