"""What may be set. Checked once, at construction: a wrong value is an error that names parameter, range and value."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ctxassembly.data.checks import check_int
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.settings.uses import PUBLISHED_RULES, USES
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.wording.formats import FORMATS, Heading
from ctxassembly.wording.forms import sayable

Granularity = Literal["document", "passage", "chunk", "sentence", "auto"]
ChooseBy = Literal["query", "rank"]
AtEdge = Literal["skip", "stop", "truncate"]
Format = Literal["numbered", "source", "xml", "grouped", "minimal"]
Order = Literal["documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]
Language = Literal["en", "nl"]
Separator = Literal["blank", "rule"]
Cite = Literal["document", "passage", "chunk"]
Dedup = Literal["exact", "near", "semantic", "none"]
Prefer = Literal["score", "newest"]
Compress = Literal["none", "extractive", "llm"]
SupplementPosition = Literal["before", "after"]
SupplementDefault = Literal["add", "suppress"]
OnStoreError = Literal["degrade", "raise"]
Neighbours = Literal["auto", "filtered", "unfiltered"]


class _Unsaid(str):
    """A setting that nobody has given, and that another one may therefore bring along."""

    __slots__ = ()


DEFAULT_ENCODING = _Unsaid("cl100k_base")
MAX_WINDOW = 3
"""The widest window of the published five-stage rule."""
MAX_POOL_WINDOW = 16
POOL_WINDOW = 3
"""Measured: 8 finds one percent more of the evidence in twice the time."""
MAX_FIRST_LABEL = 900_000
"""An answer is read for numbers of up to six digits."""
_LEAST_POSITIVE = math.ulp(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyConfig:
    """How a context is assembled."""

    enabled: bool = True
    """False passes the hits through in their order, each its own block, within the budget: nothing is compressed, and
    what doesn't fit is left out, but that the first is cut."""
    window: int = 1
    """Neighbours read on each side of a hit, 0 to 3 chunks."""
    pool_window: int | None = None
    """Neighbours fetched on each side of a hit for the query to choose from, in the same round trip, 0 to 16 chunks.

    Where not everything fits, those beyond `window` are weighed like all others. Where all of the window fits, it
    stands, and of those beyond it only what answers the query better than a hit that is read anyway. None fetches 3, or
    none where `window` is 0; as many as `window` leave no choice.
    """
    neighbour_decay: float = 0.5
    """A neighbour's score is its best hit's times this, once per step; 0 to 1."""
    max_tokens: int | TokenBudget = 8_000
    """The most tokens that the rendered text may have, headers and separators included; at least 1."""
    max_characters: int | None = None
    """The most characters (code points) that the rendered text may have besides; None for no such limit."""
    encoding: str | Callable[[str], int] = DEFAULT_ENCODING
    """A tiktoken encoding's name, or any function from a text to its number of tokens. One that truncates, as Hugging
    Face tokenizers may be set to, counts long texts too low. With `ctxassembly[fast]` installed, cl100k_base,
    o200k_base and o200k_harmony are counted several times as fast, to the same numbers.

    Left at its default, it is that of the model whose TokenBudget is given as `max_tokens`, if that is known; another
    one is an error then.
    """
    granularity: Granularity = "auto"
    """What the budget keeps or drops whole, where not everything fits.

    `sentence` packs the sentences that answer the query best, of hits and of all that is around them, into contiguous
    passages; then `at_edge` and `compress` have nothing to do. `chunk` and `passage` fill by value, without a query by
    rank, hits before neighbours; a passage is a hit and what adjoins it. If not even the best passage fits, its chunks
    are tried. `document` is the published rule: documents go from the tail. Whatever it is, the best one of all is cut
    at a sentence rather than left out; and where all hits fit whole, a neighbour that answers the query better never
    takes more than the best sentence of each leaves.

    `auto` is `chunk` if there is no query or if something else is said of what doesn't fit (`at_edge`, `compress`,
    `max_chunk_tokens`), but that a hit that doesn't fit whole is cut at a sentence, too, before a lesser one stands in
    its place. Else it keeps the less together the less fits: passages where four fifths of all that was
    fetched do, chunks where a third does, then sentences; these at once where a chunk takes more than a fifth of the
    room or `stop_below` asks for little. The greater of them find as much there, in longer runs.
    """
    choose_by: ChooseBy = "query"
    """What the value of a passage, chunk or sentence is: how it was ranked and how well its words answer the query, or
    its rank alone, as in the published rules."""
    stop_below: float | None = None
    """Makes the budget a cap instead of a target: where the query chooses, sentences, chunks or passages worth less are
    left out although they would fit, even if everything would. 0 to 1; None fills the budget.

    The best sentence has 1, one of the same rank without any word of the query 0. A chunk is worth what its best
    sentence is, a passage what its best chunk is. The best one always stands, and what leaves nothing to tell apart
    leaves out nothing.

    Measured on three sets at 8,000 tokens: 0.5 takes 660 to 1,780 tokens, with 4 to 22 times the precision, and finds
    .964 of the evidence in place of .984, .917 / .932, and .477 / .673 where whole sections are the evidence; of
    evidence in several places .950 / .988. 0.3 loses about half of that in twice the tokens; 0.7 finds .80 of what
    stands in several places.
    """
    at_edge: AtEdge = "skip"
    """What follows an item that doesn't fit: skip it and go on filling, stop, or cut it at a sentence and stop.

    Documents are never skipped, nor is the best of all: it is cut. Of any other chunk at least three times
    `min_chunk_tokens` must be left after the cut.
    """
    min_chunk_tokens: int = 0
    """Where not everything fits, chunks with fewer tokens make room first."""
    relevance_floor: float | None = None
    """Where not everything fits, hits with a lower score make room, their neighbours with them. The scale is the
    retriever's; hits without a score stay, and all do if none reaches it."""
    max_chunk_tokens: int | None = None
    """Where not everything fits, longer chunks are cut to so many tokens; 2,000 is the published value."""
    compress: Compress = "none"
    """What becomes of a chunk that doesn't fit whole. `extractive` keeps as many of its sentences as fit, those that
    answer the query best; `llm` has a language model choose sentences first. Either way what is kept is verbatim: an
    answer that adds or changes anything is refused. Chunks that fit are never compressed."""
    llm_timeout_seconds: float = 30.0
    """How long all answers of the language model together are waited for, above 0. What is late is done without."""
    dedup: Dedup = "exact"
    """Which chunks collapse onto a better-ranked one, each rule after the ones before it.

    Exact: the same text apart from outer white space, whatever ids and hashes say. Near: nearly the same words, or a
    chunk that stands inside a longer one. Semantic: nearly the same meaning by embeddings, which come with the chunks
    or from `embeddings`. Adjacent chunks of a document never collapse by the last two: their overlap is stripped.
    """
    dedup_sentences: bool = True
    """Whether sentences in a row that stand in a better-ranked passage, too, are taken out of the others, from 100
    characters on, whatever chunks they came in. Not where `dedup` is "none".

    `[...]` stands there, the trace names the chunk that has them, and what had no room takes theirs. Tables, lists,
    code, headings and chunks marked `keep_whole` lose nothing, nor do whole documents, as `granularity="document"` has
    them.
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
    "three euros" 0.93 (0.985 with MiniLM), 5 mg and 50 mg 0.88: where such differences count, stay with `near`.
    """
    prefer: Prefer = "score"
    """Which of two copies or versions stays: the better-ranked one, or the newer one by `keys.updated_at` in the better
    one's place. Where either has no date the better-ranked one stays."""
    min_overlap_chars: int = 20
    """Text shared by adjacent chunks is stripped if it is longer than this, or if offsets prove it."""
    max_overlap_chars: int | None = None
    """The longest overlap looked for where offsets are unknown; None looks for any. Set it to the splitter's."""
    order: Order = "documents"
    """In which order the labels are read, as `rendering.order` describes each. With cite="document" whole documents are
    ordered; with "passage" or "chunk" every label on its own, but for `documents`, which keeps those of one
    document together in its own order."""
    format: Format | Callable[[Heading], str | tuple[str, str]] = "numbered"
    """What is written around each block. A function of your own gets a `Heading` and returns a header, or a header
    and a footer, which stand on lines of their own; it never sees the text. It is asked once per heading. Under a
    tiny budget it isn't asked at all. If all its headers show the labels of a format, as `[1]`, a prompt asks for them
    and answers are read for them. Text from documents is kept from passing for the labels of `numbered` and
    `source`; another form is yours to guard."""
    separator: Separator = "blank"
    """What parts the blocks: a blank line, or a `rule`, `---` on a line of its own between two blank ones, which no
    text can forge either. Documents and nodes that an adapter returns are joined by whoever reads them."""
    language: Language = "en"
    """Of the labels that are written around the text."""
    cite: Cite = "document"
    """What has a label of its own."""
    first_label: int = 1
    """The number of the first label, 1 to 900,000. Contexts that a model reads in one conversation need different
    labels: `Labels` counts them on."""
    supplement_position: SupplementPosition = "after"
    """Where supplementary text stands: before or after all documents."""
    supplement_separator: str | None = None
    """The line above supplementary text, in place of the language's own, `--- SUPPLEMENTARY INFORMATION ---`. No text
    of a document can forge it, in any case or with other signs around it. Before the documents `---` still ends it."""
    supplement_max_tokens: int = 1_000
    """The most tokens that supplementary text may have, its separator included; at least 1. It is cut at a sentence.
    What it has is taken from `max_tokens`, the documents have the rest: at least half, and all if the best hit would
    not fit otherwise."""
    supplement_threshold: float | Callable[[str | None, float | None], bool] | None = None
    """Supplementary text is left out if the best hit's score reaches this; None never leaves it out. Or a function that
    gets the query and the best hit's score, None where nothing was retrieved or scored, and returns whether to add it.
    """
    header_keys: tuple[str, ...] = ()
    """Metadata keys, or dotted paths, that the model reads below the header, each on a line of its own, as `author: J.
    Jansen`; those of the best chunk of the label. LlamaIndex itself writes all metadata there, LangChain none. Under a
    tiny budget they go with the summary."""
    supplement_gate: Callable[[Any], bool] | None = None
    """A function that decides instead of `supplement_threshold`, of more: it gets a `Situation`
    (query, the best hit's score, the best vector similarity of all hits, the caller's intent) and returns whether to
    add it."""
    supplement_default: SupplementDefault = "add"
    """What becomes of supplementary text about which no gate says anything: there is none, or nothing was retrieved or
    scored. `suppress` leaves it out unless a gate opens, or the caller forces it."""
    summary_key: str | tuple[str, ...] = ("page_summary", "chunk_metadata.page_summary")
    """Metadata keys of the page summary, which may be dotted paths; the first that has one. One may be given alone."""
    on_store_error: OnStoreError = "degrade"
    """Degrade assembles without what failed, the neighbours or the embeddings, and the trace says so."""
    neighbours: Neighbours = "auto"
    """Which neighbours a caller may read. They are fetched past the search that found the hits, so past its filter.

    `auto` holds them to the filter where it is known (see `Store`). Where it isn't, a neighbour has to agree with its
    hit on every metadata key but those known to vary within a document (`gathering.scope`), and the trace names the
    keys by which others were left out. `filtered` refuses to run where no filter is known, `unfiltered` says that none
    is needed: whoever asks may read everything in the store.
    """
    varying_keys: tuple[str, ...] = ()
    """Metadata keys of yours by which chunks of one document differ, as a line number of your own does: a neighbour
    needs not agree with its hit there. Whole keys, dotted paths or their last parts; never one that you filter by."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    page_base: int | None = None
    """What the first page of a document has as its number, 0 or 1, in place of what `keys` say."""

    def __post_init__(self) -> None:
        for parameter in ("enabled", "dedup_sentences"):
            if not isinstance(getattr(self, parameter), bool):
                raise ConfigError(parameter, "True or False", getattr(self, parameter))
        self._check_budget()
        self._check_numbers()
        self._check_optional_numbers()
        for parameter, choices in _CHOICES:
            _check_choice(parameter, getattr(self, parameter), get_args(choices))
        _check_format(self.format)
        self._check_effects()
        summary = (self.summary_key,) if isinstance(self.summary_key, str) else self.summary_key
        if not isinstance(summary, tuple) or not summary or not all(isinstance(each, str) and each for each in summary):
            raise ConfigError("summary_key", "a metadata key or a non-empty tuple of keys", self.summary_key)
        object.__setattr__(self, "summary_key", summary)
        varying = (self.varying_keys,) if isinstance(self.varying_keys, str) else self.varying_keys
        if not isinstance(varying, (tuple, list)) or not all(isinstance(each, str) and each for each in varying):
            raise ConfigError("varying_keys", "a tuple of metadata keys", self.varying_keys)
        object.__setattr__(self, "varying_keys", tuple(varying))
        lines = (self.header_keys,) if isinstance(self.header_keys, str) else self.header_keys
        if not isinstance(lines, (tuple, list)) or not all(isinstance(each, str) and each.strip() for each in lines):
            raise ConfigError("header_keys", "a tuple of metadata keys", self.header_keys)
        object.__setattr__(self, "header_keys", tuple(lines))
        if not isinstance(self.keys, MetadataKeys):
            raise ConfigError("keys", "a MetadataKeys", self.keys)
        if self.page_base is not None:
            check_int("page_base", self.page_base, 0, 1)
            object.__setattr__(self, "keys", replace(self.keys, page_base=self.page_base))

    def _check_numbers(self) -> None:
        check_int("window", self.window, 0, MAX_WINDOW)
        check_int("first_label", self.first_label, 1, MAX_FIRST_LABEL)
        if self.pool_window is not None:
            check_int("pool_window", self.pool_window, 0, MAX_POOL_WINDOW)
        for parameter, minimum in _INTEGERS:
            check_int(parameter, getattr(self, parameter), minimum)
        for parameter, minimum in (("max_overlap_chars", self.min_overlap_chars + 1), *_OPTIONAL_INTEGERS):
            if getattr(self, parameter) is not None:
                check_int(parameter, getattr(self, parameter), minimum)
        for parameter, allowed, least in _SHARES:
            value = getattr(self, parameter)
            if not _is_number(value) or not least <= value <= 1:
                raise ConfigError(parameter, allowed, value)
        if not _is_number(self.llm_timeout_seconds) or self.llm_timeout_seconds <= 0:
            raise ConfigError("llm_timeout_seconds", "a number above 0", self.llm_timeout_seconds)
        self._check_gate()
        self._check_separator()

    def _check_separator(self) -> None:
        line = self.supplement_separator
        if line is not None:
            if not isinstance(line, str) or len(line.strip().splitlines()) != 1 or not sayable(line):
                raise ConfigError("supplement_separator", "one line of text without {}, or None", line)
            object.__setattr__(self, "supplement_separator", str.__str__(line).strip())

    def _check_gate(self) -> None:
        if self.supplement_threshold is not None and not callable(self.supplement_threshold):
            _check_threshold(self.supplement_threshold)
        if self.supplement_gate is not None:
            if not callable(self.supplement_gate):
                raise ConfigError("supplement_gate", "a function of a Situation, or None", self.supplement_gate)
            if self.supplement_threshold is not None:
                allowed = "None where supplement_gate decides"
                raise ConfigError("supplement_threshold", allowed, self.supplement_threshold)

    def _check_effects(self) -> None:
        """What is set has to have an effect in the granularity that was chosen."""
        for granularity, parameter, idle, instead in _WITHOUT_EFFECT:
            chosen = self.choose_by == "rank" if granularity == "rank" else self.granularity == granularity
            # Sentences are chosen by a query; by rank alone they are whole chunks.
            if granularity == "sentence" and self.choose_by == "rank":
                continue
            if chosen and getattr(self, parameter) != idle:
                setting = "choose_by" if granularity == "rank" else "granularity"
                allowed = f"{idle!r} where {setting} is {granularity!r}, which has no use for it; {instead}"
                raise ConfigError(parameter, allowed, getattr(self, parameter))

    def _check_optional_numbers(self) -> None:
        for parameter, allowed, least, most in _OPTIONAL_NUMBERS:
            value = getattr(self, parameter)
            if value is not None and not (_is_number(value) and least <= value <= most):
                raise ConfigError(parameter, allowed, value)

    def _check_budget(self) -> None:
        """The token limit and whose tokens they are: a model's budget brings its encoding."""
        if not isinstance(self.max_tokens, TokenBudget):
            check_int("max_tokens", self.max_tokens, 1)
        elif (own := self.max_tokens.encoding) and self.encoding != own:
            if not isinstance(self.encoding, _Unsaid):
                raise ConfigError("encoding", f"left out beside a TokenBudget, whose own is {own!r}", self.encoding)
            object.__setattr__(self, "encoding", own)
        if not (callable(self.encoding) or (isinstance(self.encoding, str) and self.encoding)):
            raise ConfigError("encoding", "the name of a tiktoken encoding or a function str -> int", self.encoding)

    @classmethod
    def for_use(cls, use: str) -> AssemblyConfig:
        """The settings for one use, which keep the evidence that the default keeps and write it in another way.

        - "factual_qa", questions with a short answer: labelled documents, the best ones at both ends
        - "summarisation": documents under their names, in reading order, without labels
        - "citation_heavy", answers that cite each claim: a label for each document, the best first
        - "conversational", chat: the text alone, the best passage first
        - "voice", answers that are spoken: the text alone, by document
        - "tight_budget", small windows: the text alone, so that no token goes to headers

        `ctxassembly.presets` has them as constants, and the published rules, such as `presets.FIVE_STAGE`.

        Raises:
            ConfigError: `use` is none of these.
        """
        if use not in USES:
            rule = use.upper() if isinstance(use, str) else ""
            instead = f": write presets.{rule} for the published rule" if rule in PUBLISHED_RULES else ""
            raise ConfigError("use", _one_of(tuple(USES)), use, instead)
        return cls(**USES[use])

    def grain(self, query: str | None) -> Granularity:
        """The granularity that `query` and the other settings leave."""
        if not self.enabled:
            return "chunk"
        chosen = self.chooses(query)
        if self.granularity == "sentence":
            return "sentence" if chosen else "chunk"
        if self.granularity != "auto":
            return self.granularity
        plain = self.at_edge == "skip" and self.compress == "none" and self.max_chunk_tokens is None
        return "sentence" if chosen and plain else "chunk"

    def chooses(self, query: str | None) -> bool:
        """Whether the words of `query` decide what stands."""
        return self.enabled and self.choose_by == "query" and bool(query and query.strip())

    @property
    def cuts_hits(self) -> bool:
        """Whether a hit that doesn't fit whole is shortened rather than that a lesser one stands in its place."""
        return self.enabled and self.at_edge == "skip" and self.granularity in ("auto", "sentence")

    def reach(self, query: str | None) -> int:
        """The chunks that are fetched on each side of a hit."""
        if not self.chooses(query) or self.grain(query) in ("document", "passage"):
            return self.window
        pool = (POOL_WINDOW if self.window else 0) if self.pool_window is None else self.pool_window
        return max(self.window, pool)

    @property
    def token_limit(self) -> int:
        """`max_tokens` as a number."""
        return self.max_tokens.context if isinstance(self.max_tokens, TokenBudget) else self.max_tokens


_ABOVE_0 = "a number above 0 and at most 1"
_SHARES = (
    ("neighbour_decay", "a number from 0 to 1", 0),
    ("near_threshold", _ABOVE_0, _LEAST_POSITIVE),
    ("semantic_threshold", _ABOVE_0, _LEAST_POSITIVE),
)
_INTEGERS = (("min_chunk_tokens", 0), ("min_overlap_chars", 0), ("supplement_max_tokens", 1))
_OPTIONAL_NUMBERS = (
    ("stop_below", "a number from 0 to 1, or None", 0, 1),
    ("relevance_floor", "a number or None", -math.inf, math.inf),
)
_OPTIONAL_INTEGERS = (("max_characters", 1), ("max_chunk_tokens", 1))
_WITHOUT_EFFECT = (
    ("sentence", "at_edge", "skip", "say granularity='chunk'"),
    ("sentence", "compress", "none", "say granularity='chunk'"),
    ("document", "stop_below", None, "say granularity='auto'"),
    ("document", "pool_window", None, "say window=3, or granularity='auto'"),
    ("passage", "pool_window", None, "say window=3, or granularity='auto'"),
    ("rank", "stop_below", None, "say choose_by='query'"),
    ("rank", "pool_window", None, "say window=3, or choose_by='query'"),
)
"""Granularities, and choosing by rank: what has no effect there, its default, and what would have one."""
_CHOICES = (
    ("granularity", Granularity),
    ("choose_by", ChooseBy),
    ("at_edge", AtEdge),
    ("dedup", Dedup),
    ("prefer", Prefer),
    ("compress", Compress),
    ("order", Order),
    ("language", Language),
    ("separator", Separator),
    ("cite", Cite),
    ("supplement_position", SupplementPosition),
    ("supplement_default", SupplementDefault),
    ("on_store_error", OnStoreError),
    ("neighbours", Neighbours),
)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= sys.float_info.max  # false of NaN, too, and of an integer that no float holds


def _check_format(value: Any) -> None:
    if not callable(value) and not (isinstance(value, str) and value in FORMATS):
        raise ConfigError("format", f"{_one_of(tuple(FORMATS))}, or a function from Heading to str", value)


def _check_threshold(value: Any) -> None:
    if not _is_number(value):
        raise ConfigError("supplement_threshold", "a number, a function of query and score, or None", value)


def _check_choice(parameter: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(parameter, _one_of(choices), value)


def _one_of(choices: tuple[str, ...]) -> str:
    return "one of " + ", ".join(repr(choice) for choice in choices)
