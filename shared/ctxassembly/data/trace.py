"""What became of each chunk and why, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ctxassembly.data.candidates import Shortening
from ctxassembly.data.reasons import BELOW_FLOOR, FOR_BUDGET, IRRELEVANT, STOPPED, TOO_SHORT, Reason

_LEFT_OUT = (FOR_BUDGET, TOO_SHORT, BELOW_FLOOR, IRRELEVANT, STOPPED)
"""The reasons for which a chunk that was to be read isn't."""
Outcome = Literal["kept", "cut", "compressed", "contained", "duplicate", "dropped"]
STANDS: frozenset[Outcome] = frozenset({"kept", "cut", "compressed"})
"""The outcomes of a chunk that has text of its own in the context."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A chunk of which only a part stands, and the tokens of its text before and after.

    Counted, but by `sentence` estimated from the length: there nearly all chunks are shortened.
    """

    chunk_id: str
    by: Shortening
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one chunk, and why."""

    chunk_id: str
    document_id: str
    rank: int
    distance: int
    score: float | None
    outcome: Outcome
    reason: Literal["hit", "neighbour"] | Shortening | Reason
    """What it is if all of it stands, why only a part does, or why nothing of its own does."""
    because_of: str | None = None
    """The kept chunk that made this one unnecessary, or that has the sentences taken out of it."""
    replaced: tuple[str, ...] = ()
    """The chunks that collapsed onto this one."""
    stripped_chars: int = 0
    """Characters left out here because the chunk before has them."""
    tokens: int | None = None
    """What it would have added to the context, for a chunk dropped for the budget: estimated from its length where it
    needed no counting."""
    shortened: Shortened | None = None
    """How much shorter it is, for one that was cut or compressed."""
    search_method: str | None = None
    """How the retriever found it, if the hit's metadata say so (`MetadataKeys.search_method`)."""
    matches: Sequence[str] | None = None
    """The words of the query that the chunk has, in any form, in the order of the query: looked up when they are first
    read. None without a query, and of what doesn't stand, but for the hits whose text a context keeps."""

    @property
    def stands(self) -> bool:
        """Whether text of its own is in the context, all of it or a part."""
        return self.outcome in STANDS


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's count of chunks in and out, and its time."""

    name: str
    chunks_in: int
    chunks_out: int
    elapsed_ms: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """Every decision that led to the context."""

    decisions: tuple[Decision, ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    """Fallbacks taken: bad values in chunks, a store that failed, a header that was shortened."""
    hits: int = 0
    chunks: int = 0
    """Hits and neighbours together, without what was fetched from beyond the window and not needed."""
    round_trips: int = 0
    """Calls to the store."""
    missing: str | None = None
    """What the hits, or the store, lack for neighbours and for joining, and the line that mends it. It is a note, too;
    None where they lack nothing."""
    unscoped: tuple[str, ...] | None = None
    """Where neighbours came and nobody knew how the caller filters: the keys by which some of them differed
    from their hits and were left out, maybe none. None where the filter was known or isn't needed."""
    token_count: int = 0
    max_tokens: int = 0
    character_count: int = 0
    max_characters: int | None = None
    documents_dropped: int = 0
    """Documents of which nothing stands although something of them was worth its room."""

    @property
    def stripped_chars(self) -> int:
        """Overlapping characters that stand in the context once instead of twice."""
        return sum(decision.stripped_chars for decision in self.decisions)

    @property
    def shortened(self) -> tuple[Shortened, ...]:
        """The chunks in the context that were cut or compressed."""
        return tuple(decision.shortened for decision in self.decisions if decision.shortened is not None)

    @property
    def compressed_share(self) -> float:
        """Share of the chunks with text in the context that were cut or compressed, 0 to 1."""
        standing = sum(decision.stands for decision in self.decisions)
        return len(self.shortened) / standing if standing else 0.0

    @property
    def left_out(self) -> tuple[Decision, ...]:
        """The chunks that the budget left out, or that were not worth their room."""
        return tuple(each for each in self.decisions if each.outcome == "dropped" and each.reason in _LEFT_OUT)

    @property
    def left_out_tokens(self) -> int:
        """What the chunks left out would have added."""
        return sum(decision.tokens or 0 for decision in self.left_out)

    @property
    def left_out_rate(self) -> float:
        """Share of the chunks left out, 0 to 1."""
        return len(self.left_out) / self.chunks if self.chunks else 0.0

    @property
    def summary(self) -> str:
        """One line for a log: what came in, what was done, what it cost."""
        parts = [
            f"{self.hits:,} -> {self.chunks:,} chunks",
            f"{self.stripped_chars:,} overlapping characters stripped",
            _counted(self.documents_dropped, "document") + " dropped for budget",
            *([_counted(len(self.left_out), "chunk") + " left out"] if self.left_out else []),
            *([_shortened(self.shortened)] if self.shortened else []),
            f"{self.token_count:,} of {self.max_tokens:,} tokens",
            *([f"{self.character_count:,} of {self.max_characters:,} characters"] if self.max_characters else []),
            _counted(self.round_trips, "query", "queries"),
        ]
        return ", ".join(parts)

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.notes))


def _shortened(chunks: Sequence[Shortened]) -> str:
    before, after = sum(each.tokens_before for each in chunks), sum(each.tokens_after for each in chunks)
    return f"{_counted(len(chunks), 'chunk')} shortened from {before:,} to {after:,} tokens"


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
