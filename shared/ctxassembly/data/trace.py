"""The trace: a decision on each chunk with its reason, and the counts and times of each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ctxassembly.data.candidates import COMPRESSIONS, LEFT_OUT, Reason, Shortening
from ctxassembly.safe_repr import pluralize

Outcome = Literal["kept", "cut", "compressed", "contained", "duplicate", "dropped"]
IN_CONTEXT: frozenset[Outcome] = frozenset({"kept", "cut", "compressed"})
"""The outcomes of a chunk that has text of its own in the context."""


class Shortened(NamedTuple):
    """A chunk of which only a part is in the context, and the tokens of its text before and after.

    Tokens are counted, except for "sentence": there nearly all chunks are shortened, and the length gives an estimate.
    """

    chunk_id: str
    by: Shortening
    tokens_before: int
    tokens_after: int


class Decision(NamedTuple):
    """The outcome for one chunk, and the reason.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Drink water.")
    >>> context = assemble([Hit(Chunk(f"leaflet {n}", f"leaflet {n}", text)) for n, text in enumerate(said)])
    >>> for decision in context.trace.decisions:
    ...     print(decision.chunk_id, decision.outcome, decision.because_of)
    leaflet 0 kept None
    leaflet 1 duplicate leaflet 0
    """

    chunk_id: str
    document_id: str
    rank: int
    distance: int
    score: float | None
    outcome: Outcome
    reason: Literal["hit", "neighbor"] | Shortening | Reason
    """For a whole chunk "hit" or "neighbor"; else the reason why only a part of it is in the context, or nothing."""
    because_of: str | None = None
    """The kept chunk that made this one superfluous, or that has the sentences taken out of it."""
    replaced: tuple[str, ...] = ()
    """The chunks that collapsed onto this one."""
    stripped_chars: int = 0
    """Characters left out here because another chunk has them."""
    tokens: int | None = None
    """Tokens that a dropped chunk would have added to the context. Estimated from its length if no exact count was
    needed."""
    shortened: Shortened | None = None
    """Tokens before and after, for a chunk that was cut or compressed."""
    search_method: str | None = None
    """The way the retriever found it, if the hit's metadata has it (`MetadataKeys.search_method`)."""
    matches: tuple[str, ...] | None = None
    """The words of the query that the chunk has, in any form, in the order of the query. None without a query, and for
    a chunk whose text the context doesn't keep."""
    value: float | None = None
    """The relevance score of its best sentence, on the scale of `AssemblyConfig.min_relevance`: 1 for the best of all,
    0 for one of the same rank without any word of the query, less for one of a lower rank. Sentences are selected by
    it; for whole chunks the mean of their sentences counts half. None without a query, and for copies."""
    sent_as: str | None = None
    """The label under which the conversation has its text already: all of it, or a part that is left out here."""

    @property
    def is_in_context(self) -> bool:
        """True if text of its own is in the context, all of it or a part."""
        return self.outcome in IN_CONTEXT


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the assembly: the chunks that went in and came out, and its time.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Drink water.", "Then rest.")
    >>> context = assemble([Hit(Chunk(f"leaflet {n}", f"leaflet {n}", text)) for n, text in enumerate(said)])
    >>> [(stage.name, stage.chunks_in, stage.chunks_out) for stage in context.trace.stages][:2]
    [('admit', 3, 3), ('dedup', 3, 2)]
    """

    name: str
    chunks_in: int
    chunks_out: int
    elapsed_ms: float = field(default=0.0, compare=False)
    counts: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What it counts besides chunks. "score" has the `sentences` that a scorer was to score and those that it was
    `asked` for: the others were remembered."""

    def plus(self, other: Stage) -> Stage:
        """Return this stage and `other`, of the same name, as one."""
        counts = {key: self.counts.get(key, 0) + other.counts.get(key, 0) for key in {**self.counts, **other.counts}}
        chunks_in, chunks_out = self.chunks_in + other.chunks_in, self.chunks_out + other.chunks_out
        return Stage(self.name, chunks_in, chunks_out, self.elapsed_ms + other.elapsed_ms, counts)


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of an assembly: its decisions, stages, fallbacks and totals.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("leaflet#0", "leaflet", "Drink water.", 0))])
    >>> print(context.trace.summary.partition("budget, ")[2])
    1 hit joined: 3 tokens; assembled: 10 of 8,000 tokens, 0 queries
    """

    decisions: Sequence[Decision] = ()
    """One for each chunk. They are made when they are first read."""
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    """Fallbacks taken: bad values in chunks, a store that failed, a header that was shortened."""
    hits: int = 0
    chunks: int = 0
    """Hits and neighbors, without the neighbors beyond the window that were fetched and not chosen."""
    round_trips: int = 0
    """Calls to the store."""
    missing: str | None = None
    """What hits or store lack for neighbors and joining, one problem per line, with the code that fixes it; also among
    the `notes`. None if nothing is missing."""
    unscoped: tuple[str, ...] | None = None
    """Set if neighbors were fetched and no filter was given: the keys in which neighbors that were left out differ from
    their hits, maybe none. None if there was a filter, or none was needed."""
    token_count: int = 0
    max_tokens: int = 0
    hit_counts: Sequence[int] = ()
    """`hit_tokens` of each assembly: one number, but for a total. Counted when it is first read."""
    character_count: int = 0
    max_characters: int | None = None
    documents_dropped: int = 0
    """Documents without any text in the context, except those dropped by `min_relevance`."""

    @property
    def hit_tokens(self) -> int:
        """Tokens of the texts of all hits, joined by blank lines: what a prompt without assembly would have."""
        return sum(self.hit_counts)

    @property
    def stripped_chars(self) -> int:
        """Overlapping characters that the context has once instead of twice."""
        return sum(decision.stripped_chars for decision in self.decisions)

    @property
    def shortened(self) -> tuple[Shortened, ...]:
        """The chunks in the context that were cut or compressed."""
        return tuple(decision.shortened for decision in self.decisions if decision.shortened is not None)

    @property
    def compressed(self) -> tuple[Shortened, ...]:
        """The chunks in the context that were compressed, as `compress` asks for."""
        return tuple(part for part in self.shortened if part.by in COMPRESSIONS)

    @property
    def truncated(self) -> tuple[Shortened, ...]:
        """The chunks in the context that were cut: to a limit, to their best sentences, or for what others have."""
        return tuple(part for part in self.shortened if part.by not in COMPRESSIONS)

    @property
    def compressed_share(self) -> float:
        """The share of the context's tokens that is compressed text, 0 to 1; 0 for an empty context."""
        return min(1.0, sum(part.tokens_after for part in self.compressed) / max(self.token_count, 1))

    @property
    def excluded_share(self) -> float:
        """The share of `chunks` that is `excluded`, 0 to 1; 0 without chunks."""
        return min(1.0, len(self.excluded) / max(self.chunks, 1))

    @property
    def excluded(self) -> tuple[Decision, ...]:
        """The chunks that were dropped for the budget or for their low relevance."""
        return tuple(one for one in self.decisions if one.outcome == "dropped" and one.reason in LEFT_OUT)

    @property
    def excluded_tokens(self) -> int:
        """Tokens that the chunks left out would have added."""
        return sum(decision.tokens or 0 for decision in self.excluded)

    @classmethod
    def total(cls, traces: Iterable[Trace]) -> Trace:
        """Return the totals over several assemblies, such as the calls of a day: one trace with all their decisions.

        Numbers and the times of stages are added up, and its shares are those over all calls.

        >>> from ctxassembly import Chunk, Hit, assemble
        >>> texts = ("Drink water.", "Then rest.")
        >>> contexts = [assemble([Hit(Chunk(text, text, text))]) for text in texts]
        >>> total = Trace.total(context.trace for context in contexts)
        >>> total.chunks, total.token_count, total.excluded_share
        (2, 20, 0.0)
        """
        given = tuple(traces)
        stages: dict[str, Stage] = {}
        for stage in (stage for trace in given for stage in trace.stages):
            known = stages.get(stage.name)
            stages[stage.name] = stage if known is None else known.plus(stage)
        numbers = (
            "hits",
            "chunks",
            "round_trips",
            "token_count",
            "max_tokens",
            "character_count",
            "documents_dropped",
        )
        return cls(
            decisions=tuple(decision for trace in given for decision in trace.decisions),
            stages=tuple(stages.values()),
            notes=tuple(dict.fromkeys(note for trace in given for note in trace.notes)),
            hit_counts=tuple(count for trace in given for count in trace.hit_counts),
            **{name: sum(getattr(trace, name) for trace in given) for name in numbers},
        )

    @property
    def summary(self) -> str:
        """One line for a log: chunks in, the work done on them, tokens of the hits and of the context."""
        joined = f"{pluralize(self.hits, 'hit')} joined: {self.hit_tokens:,} tokens; " if self.hit_tokens else ""
        parts = [
            f"{self.hits:,} -> {self.chunks:,} chunks",
            f"{self.stripped_chars:,} overlapping characters stripped",
            pluralize(self.documents_dropped, "document") + " dropped for budget",
            *([pluralize(len(self.excluded), "chunk") + " left out"] if self.excluded else []),
            *([_shortened_summary(self.truncated, "shortened")] if self.truncated else []),
            *([_shortened_summary(self.compressed, "compressed")] if self.compressed else []),
            f"{joined}assembled: {self.token_count:,} of {self.max_tokens:,} tokens",
            *([f"{self.character_count:,} of {self.max_characters:,} characters"] if self.max_characters else []),
            pluralize(self.round_trips, "query", "queries"),
        ]
        return ", ".join(parts)

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.notes))


def _shortened_summary(chunks: Sequence[Shortened], how: str) -> str:
    before, after = sum(chunk.tokens_before for chunk in chunks), sum(chunk.tokens_after for chunk in chunks)
    return f"{pluralize(len(chunks), 'chunk')} {how} from {before:,} to {after:,} tokens"


# The events of a stage, for observers of an assembly or a retrieval. They have numbers, words and ids, but no text of a
# document.


SPAN_PREFIX = "ctxassembly."
"""The beginning of the names of all spans."""


@dataclass(frozen=True, slots=True)
class StageBegan:
    """The beginning of a stage of an assembly, or of a step of a retrieval.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Drink water.", "Then rest.")
    >>> hits = [Hit(Chunk(f"leaflet {n}", f"leaflet {n}", text)) for n, text in enumerate(said)]
    >>> def on_stage(event):
    ...     if isinstance(event, StageBegan):
    ...         print(event.span_name, event.inputs)
    >>> _ = assemble(hits, on_stage=on_stage)
    ctxassembly.admit {'chunks': 3}
    ctxassembly.dedup {'chunks': 3}
    ctxassembly.expand {'chunks': 2}
    ctxassembly.budget {'chunks': 2}
    ctxassembly.render {'chunks': 2}
    """

    name: str
    """Its name in the trace."""
    inputs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The number of `chunks` before it, or the query that it begins with."""

    @property
    def span_name(self) -> str:
        """The name of its span in a tracer."""
        return SPAN_PREFIX + self.name.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class StageEnded:
    """The end of a stage, with its outcome.

    >>> from ctxassembly import Chunk, Hit, MemoryStore, assemble
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink.", "Rest.", "Go home."])]
    >>> def on_stage(event):
    ...     if isinstance(event, StageEnded) and event.name in ("expand", "render"):
    ...         print(event.name, dict(event.outputs))
    >>> _ = assemble([Hit(chunks[1])], store=MemoryStore(chunks), on_stage=on_stage)
    expand {'chunks': 3, 'queries': 1}
    render {'chunks': 3, 'labels': 1, 'tokens': 14, 'characters': 41}
    """

    name: str
    outputs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The number of `chunks` after it, and of what else it counts: `queries` to a store or an index, `dropped` by
    reason, `tokens`; the `ids` after a step of retrieval, best first; the fallbacks that it took, as `notes`."""


@dataclass(frozen=True, slots=True)
class StageFailed:
    """The error that ended a stage, and with it the assembly or the retrieval.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, StoreError, assemble
    >>> class Down:
    ...     def fetch(self, refs):
    ...         raise ConnectionError("no route")
    >>> def on_stage(event):
    ...     if isinstance(event, StageFailed):
    ...         print(event.name, type(event.error).__name__)
    >>> strict = AssemblyConfig(on_store_error="raise")
    >>> try:
    ...     assemble([Hit(Chunk("a", "d", "Rest.", 1))], strict, store=Down(), on_stage=on_stage)
    ... except StoreError:
    ...     pass
    expand StoreError
    """

    name: str
    error: BaseException


StageEvent = StageBegan | StageEnded | StageFailed
