"""The data that goes through the house, in the order in which the stages make it.

Everything is frozen: a stage gets values and returns new ones. Offsets count characters (code points) and are
half-open, `(start, end)`. Scores are whatever the retriever gave, higher is better; the rank decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

Span = tuple[int, int]
FOR_BUDGET = "budget"
TOO_SHORT = "too short"
BELOW_FLOOR = "below the relevance floor"
IRRELEVANT = "irrelevant"
STOPPED = "worth too little"
BEYOND = "beyond the window"
EXACT = "duplicate"
"""Of an exact copy. It fits where its original fits, so there is no use in trying it for itself."""
NEAR = "near duplicate"
SEMANTIC = "semantic duplicate"
CONTAINED = "contained"
"""The reason of a chunk all of whose text stands in a larger one."""
REPEATED: Literal["repeated"] = "repeated"
"""The reason of a chunk whose sentences stand in a better-ranked passage: of all of it, or of what isn't there."""
_LEFT_OUT = (FOR_BUDGET, TOO_SHORT, BELOW_FLOOR, IRRELEVANT, STOPPED)
"""The reasons for which a chunk that was to be read isn't."""
GAP = "[...]"
"""Stands where text of the same document is missing, and at the end of text that was shortened."""
Outcome = Literal["kept", "cut", "compressed", "contained", "duplicate", "dropped"]
STANDS: frozenset[Outcome] = frozenset({"kept", "cut", "compressed"})
"""The outcomes of a chunk that has text of its own in the context."""
Shortening = Literal["budget", "max_chunk_tokens", "sentence", "extractive", "llm", "repeated"]
"""Why only a part of a chunk stands: cut to what fits or to that limit, chosen by sentences, compressed, or because a
better-ranked passage has the rest."""


PartName = tuple[tuple[str, "str | int | float"], ...]
"""A page or a section of a document, by the metadata that name it, sorted; empty for the document itself."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a reader or a splitter says of where a chunk without an index comes from, beside its offset and its links.

    The adapters read it. Whoever makes chunks by hand, with offsets that count in the document, needs none.
    """

    part: PartName = ()
    """The page or section that `start` counts in."""
    near: int | None = None
    """About where the text begins, where `start` is unknown: another tool put a longer text in place of the slice."""
    parent_id: str | None = None
    """The larger chunk that this one was cut from, in whose text `start` counts."""
    child_ids: tuple[str, ...] = ()
    """The smaller chunks that this one was cut into, in order."""
    lookup_id: str | None = None
    """What its store calls its document, where chunks are grouped by another name; None if that is the same."""
    shares_index: bool = False
    """Whether other texts of its document have its index, too, so that nobody knows what adjoins it. The engine sets
    it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored slice of a document."""

    id: str
    document_id: str
    text: str
    index: int | None = None
    """Place among the chunks of its document, from 0; None if the store keeps no order."""
    start: int | None = None
    """Character offset of `text` in the document, if known. It is verified against the text before it is used."""
    prev_id: str | None = None
    next_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    vector: Sequence[float] | None = field(default=None, repr=False, compare=False)
    """The embedding of `text`, if it is at hand: semantic deduplication then needs not compute it."""
    origin: Origin | None = None
    unread: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Metadata keys that the model is not to read, in a summary or under `header_keys`: as LlamaIndex's nodes say."""
    unnamed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Those of them that no header names either, as a source, a page or a section: the next key does that holds one. A
    citation, which the model doesn't read, has them all the same."""

    def is_unread(self, key: str) -> bool:
        """Whether the model is not to read what stands under `key`, which may be a dotted path."""
        return key in self.unread or ("." in key and key.partition(".")[0] in self.unread)

    @property
    def lookup_id(self) -> str:
        """What its store calls its document."""
        return (self.origin and self.origin.lookup_id) or self.document_id


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. Its rank is its place in the list handed in, best first."""

    chunk: Chunk
    score: float | None = None


class Fragment(NamedTuple):
    """A hit as the views of a context show it."""

    rank: int
    chunk: Chunk
    """Without its vector; of a long text only the two ends, of one that is only named none."""
    score: float | None
    characters: int
    """Of the whole text."""


class Beside(NamedTuple):
    """A request for the chunks next to an offset: the last ones that begin before it, and the first ones after it."""

    start: int
    each_side: int
    """How many."""
    part: PartName = ()
    """The page or section that the offset counts in."""
    page: str | None = None
    """The name in `part` that has the page's number. Then pages follow each other, and what else names the part may
    differ. None asks for chunks of this part alone."""
    document_id: str | None = None
    """What the pages are grouped by, where the store has each of them as a document of its own."""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """A request for a chunk: by place in its document, by id, or (neither given) all chunks of the document.

    With `beside` it asks for chunks by their offsets. Only a store whose `finds_offsets` is True is asked so.
    """

    document_id: str
    index: int | None = None
    chunk_id: str | None = None
    beside: Beside | None = None


class Candidate(NamedTuple):
    """A chunk that may stand in the context: a hit, or a neighbour of one."""

    chunk: Chunk
    rank: int
    """Rank of the hit, from 0; a neighbour has the rank of its best hit."""
    score: float | None = None
    distance: int = 0
    """Steps to the nearest hit: 0 for a hit itself."""
    position: int = 0
    """Place in the document: the index, or what the links between chunks say. Consecutive means adjacent."""
    kept: tuple[Span, ...] | None = None
    """The slices of the chunk's text that may stand, ascending and apart; None for all of it."""
    shortened_by: Shortening | None = None
    """Why it is not all of it."""
    read_from: int | None = None
    """Of a chunk too long to be read, which has only a part of its text here: where that begins in all of it."""

    @property
    def text(self) -> str:
        """What may stand of the chunk's text."""
        text = self.chunk.text
        return text if self.kept is None else "".join(text[start:end] for start, end in self.kept)

    @property
    def slices(self) -> tuple[Span, ...]:
        """The slices of the chunk's text that may stand; one of all of it if it isn't shortened."""
        return ((0, len(self.chunk.text)),) if self.kept is None else self.kept

    @property
    def is_too_much(self) -> bool:
        """Whether it is known that all of it doesn't fit, without counting."""
        return self.read_from is not None and self.kept is None

    @property
    def is_hit(self) -> bool:
        """Whether it was retrieved, rather than fetched as a neighbour."""
        return self.distance == 0


class Match(NamedTuple):
    """A text that makes another one superfluous."""

    place: int
    """In the list of all texts."""
    is_part: bool = False
    """Whether the other one is only a part of it, rather than another version."""


class LeftOut(NamedTuple):
    """Why a candidate was left out, and what it would have added to the context."""

    reason: str
    tokens: int


class Header(IntEnum):
    """How much is written around the text of a block; a tiny budget takes the later ones."""

    FULL = 0
    NO_SUMMARY = 1
    LABEL = 2
    NONE = 3


class Joint(NamedTuple):
    """How a chunk continues the one before: how many of its first characters are already there, and what joins them."""

    shared: int
    glue: str


class Piece(NamedTuple):
    """The verbatim slice `candidate.chunk.text[start:end]` as it stands in a passage, after `glue`."""

    candidate: Candidate
    start: int
    end: int
    glue: str
    """What stands between it and the piece before: white space, nothing where the two touch, or `GAP` where text that
    was compressed away is missing."""
    shared: int = 0
    """Characters of the chunk that are left out here because the pieces before have them."""

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[self.start : self.end]


class Part(NamedTuple):
    """A stretch of rendered text: the slice `[start:end]` of a candidate's chunk, or ours if there is no candidate."""

    text: str
    candidate: Candidate | None = None
    start: int = 0
    end: int = 0


class Label(NamedTuple):
    """What one label stands for."""

    passages: Sequence[tuple[Piece, ...]]
    best: Candidate
    """The best-ranked of its chunks, a hit before a neighbour."""
    summary: str
    """The page summary that belongs before it, or nothing."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A contiguous run of chunks of one document after joining."""

    document_id: str
    pieces: tuple[Piece, ...]
    span: Span = (0, 0)
    """Where it stands in the context's text, from its first source character to its last."""

    @property
    def text(self) -> str:
        """The joined text, as the document has it: nothing neutralised or escaped."""
        return "".join(piece.glue + piece.text for piece in self.pieces)

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The chunks that it is made of, in order."""
        return tuple(dict.fromkeys(piece.candidate.chunk.id for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a verbatim run of the context comes from."""

    span: Span
    """In the context's text."""
    chunk_id: str
    document_id: str
    start: int | None
    """In the document, half-open with `end`; None if the chunk's offset is unknown, or counts in a page or section."""
    end: int | None
    chunk_span: Span
    """In the chunk's own text."""


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
class Citation:
    """A label's way back to source characters, and what a reader is told of the source.

    Source, section, sheet, row, start line, page, score and metadata are those of the best chunk cited. Each string is
    one line; a row, a line or a page that is no whole number stands as its text, and what isn't known is None.
    """

    label: str
    document_id: str
    chunk_ids: tuple[str, ...]
    span: Span
    """In the context's text, from the first source character to the last; gap markers inside count."""
    snippet: str
    """The beginning of the best chunk cited: at most 200 characters, cut at a word."""
    best_chunk_id: str
    score: float | None
    source: str
    """The file, else the title, else the URL, else "unknown" in the configured language."""
    section: str | None = None
    sheet: str | None = None
    row: int | str | None = None
    """The row of a table, by the number that its metadata give it."""
    start_line: int | str | None = None
    """The line of the file in which the chunk begins."""
    page: int | str | None = None
    pages: tuple[int | str, ...] = ()
    """Of all chunks cited, each once: whole numbers in ascending order before others. What the header shows."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A copy."""
    shortened: tuple[Shortened, ...] = ()
    """The chunks in it that were cut or compressed."""
    reference: str = ""
    """Ready to be shown: "report.pdf § Executive Summary", "figures.xlsx § Sheet1 Row 42" or "report.pdf, page 3"."""


@dataclass(frozen=True, slots=True)
class Block:
    """One label's share of the context: header, summary and passages. Blocks joined by a blank line are the text."""

    text: str
    span: Span
    citation: Citation | None
    """None for the block of supplementary text, which is no label's."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one chunk, and why."""

    chunk_id: str
    document_id: str
    rank: int
    distance: int
    score: float | None
    outcome: Outcome
    reason: str
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
