"""Facts that no chunk holds (from a graph, a taxonomy, a database), rendered behind a separator of their own.

They have no source among the documents, so they are no label's: they make a block of their own without a citation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ctxassembly.assembly.rendering.render import Renderer
from ctxassembly.assembly.selection.shorten import last_fitting
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, Part
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.sanitize import mended_score
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN, Counter

EVIDENCE_SHARE = 2
"""A supplement takes one part in so many of the budget at most, where anything was retrieved."""


@dataclass(frozen=True, slots=True)
class Supplement:
    """Supplementary text, with what a bare string can't say.

    >>> from ctxassembly import Supplement, assemble
    >>> print(assemble([], supplement=Supplement("The hall seats 90.", force=True)).text)
    --- SUPPLEMENTARY INFORMATION ---
    The hall seats 90.
    """

    text: str
    force: bool = False
    """Add it whatever the gate says. Its cap and the budget hold all the same."""
    intent: str | None = None
    """The intent that the caller sees in the query, for a gate of its own."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts by which `AssemblyConfig.supplement_gate` decides.

    >>> from ctxassembly import AssemblyConfig
    >>> config = AssemblyConfig(supplement_gate=lambda situation: situation.intent == "compare")
    """

    query: str | None
    score: float | None
    """The score of the best hit that has one. None where nothing was retrieved or scored."""
    similarity: float | None
    """The highest vector similarity that the hits' metadata tell (`MetadataKeys.similarity`), whatever their order."""
    intent: str | None
    """The supplement's `intent`."""


Given: TypeAlias = str | Supplement | Callable[[str | None], str | Supplement | None] | None
"""The text itself, or a function from the query (None if there is none) to it."""


@dataclass(frozen=True, slots=True)
class Supplemented:
    """The block that a supplement makes, which may be nothing, and why."""

    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


def supplement_for(query: str | None, given: Given) -> str | Supplement | None:
    """`given`, or the answer of that function for `query`. Adapters ask: a function may do I/O, the engine doesn't."""
    return given(query) if callable(given) else given


def supplement_of(retrieved: Retrieved) -> Supplement | None:
    """The facts that came with the hits, a line each, without those that a hit says itself; None if there are none."""
    said = [found.chunk.text for found in retrieved.found]
    facts = [fact for fact in retrieved.facts if not any(fact in text for text in said)]
    return Supplement("\n".join(facts), intent=retrieved.intent) if facts else None


def supplemented(
    given: str | Supplement | None,
    hits: Sequence[Candidate],
    query: str | None,
    config: AssemblyConfig,
    counter: Counter,
) -> Supplemented:
    """Make the block of `given` beside `hits`, best first: within its cap, cut at a sentence, or shut out.

    Raises:
        InputError: `given` is neither text nor a Supplement.
    """
    supplement = Supplement(given) if isinstance(given, str) else given
    if supplement is None:
        return Supplemented()
    if not isinstance(supplement, Supplement) or not isinstance(supplement.text, str):
        raise InputError(f"supplement must be a string or a Supplement, got {shown(given)}")
    text = str.__str__(supplement.text).strip()
    if not text:
        return Supplemented()
    if not supplement.force and (reason := _shut_out(hits, query, supplement.intent, config)):
        return Supplemented(notes=(f"supplement: suppressed, {reason}",))
    return _within_cap(text, EVIDENCE_SHARE if hits else 1, config, counter)


def _within_cap(text: str, share: int, config: AssemblyConfig, counter: Counter) -> Supplemented:
    """The block of the first sentences of `text` that fit in the cap, and in one part in `share` of the budget."""
    renderer = Renderer(config)
    cap = min(config.supplement_max_tokens, config.token_limit // share)
    most_chars = config.max_characters // share if config.max_characters else None

    def parts(end: int) -> list[Part]:
        return renderer.supplement(text[:end], cut=end < len(text))

    def written(end: int) -> str:
        return "".join(part.text for part in parts(end))

    def fits(end: int) -> bool:
        block = written(end)
        return (most_chars is None or len(block) <= most_chars) and counter.count(block) <= cap

    end = len(text)
    if not fits(end):
        # Never inside a sentence: half a fact may say the opposite.
        end = last_fitting(sentence_ends(text[: cap * MOST_CHARS_PER_TOKEN]), fits)
    limits = f"{cap:,} tokens" + (f" and {most_chars:,} characters" if most_chars else "")
    if not end:
        return Supplemented(notes=(f"supplement: left out, no sentence of it fits in {limits}",))
    cut = ", its text cut" if end < len(text) else ""
    note = f"supplement: stands, {counter.count(written(end)):,} of at most {limits}{cut}"
    return Supplemented(tuple(parts(end)), (note,))


def _shut_out(hits: Sequence[Candidate], query: str | None, intent: str | None, config: AssemblyConfig) -> str:
    """The reason why the gate is shut, "" if it is open. No threshold is reached where nothing is scored."""
    threshold = config.supplement_threshold
    best = next((hit.score for hit in hits if hit.score is not None), None)
    if callable(threshold):
        return "" if threshold(query, best) else "as supplement_threshold decided"
    if config.supplement_gate is not None:
        opened = config.supplement_gate(Situation(query, best, _similarity(hits, config), intent))
        return "" if opened else "as supplement_gate decided"
    if threshold is None or best is None:
        return "" if config.supplement_default == "add" else "no gate opens it"
    if best < threshold:
        return ""
    return f"the best hit's score {best:g} reaches supplement_threshold {threshold:g}"


def _similarity(hits: Sequence[Candidate], config: AssemblyConfig) -> float | None:
    """The highest that any of `hits` has; None if none tells a number."""
    values = (config.keys.read(hit.chunk.metadata, "similarity") for hit in hits)
    return max((found for value in values if (found := mended_score(value)[0]) is not None), default=None)
