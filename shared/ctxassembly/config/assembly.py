"""The settings of an assembly, checked once, at construction.

A wrong value is an error that names the parameter, the range and the value. So is a setting that has no effect beside
the others: whoever sets it expects one. The stages read settings and check nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from ctxassembly.config.field_docs import config_class
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import Encoding, Range, as_keys, check_fields, check_int, one_of
from ctxassembly.errors import ConfigError
from ctxassembly.text.words import words
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.wording.formats import FormatName, Heading
from ctxassembly.wording.label_guards import is_safe_label
from ctxassembly.wording.languages import Code

USES: Mapping[str, Mapping[str, Any]] = {
    "factual_qa": {"order": "interleaved"},
    "summarization": {"format": "grouped", "order": "document_order"},
    "citation_heavy": {"order": "relevance"},
    "conversational": {"format": "minimal", "order": "relevance", "cite": "passage"},
    "voice": {"format": "minimal"},
    "tight_budget": {"format": "minimal"},
}
PUBLISHED_RULES = (
    "FIVE_STAGE",
    "PUBLISHED_VOICE",
    "SOURCE_BLOCKS",
    "BOOKEND",
    "PUBLISHED_FACTUAL_QA",
    "PUBLISHED_SUMMARIZATION",
    "PUBLISHED_CITATION_HEAVY",
    "PUBLISHED_CONVERSATIONAL",
    "PUBLISHED_TIGHT_BUDGET",
)
"""The names of the published rules in `ctxassembly.presets`."""


Granularity = Literal["document", "passage", "chunk", "sentence", "auto"]
RankBy = Literal["query", "rank"]
Overflow = Literal["skip", "stop", "truncate"]
Order = Literal["documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]
Separator = Literal["blank", "rule"]
Cite = Literal["document", "passage", "chunk"]
Dedup = Literal["exact", "near", "semantic", "none"]
PreferVersion = Literal["score", "newest"]
Compress = Literal["none", "extractive", "llm"]
SupplementPosition = Literal["before", "after"]
OnStoreError = Literal["degrade", "raise"]
Neighbors = Literal["auto", "filtered", "unfiltered"]


class _Default(str):
    """A default that another setting may replace. Its type tells it from the same value given by a caller."""

    __slots__ = ()


DEFAULT_ENCODING = _Default("cl100k_base")
MAX_CANDIDATE_WINDOW = 16
DEFAULT_CANDIDATE_WINDOW = 3
"""Neighbors fetched on each side by default. Measured: 8 finds one percent more of the evidence in twice the time."""
MAX_FIRST_LABEL = 900_000
"""Answers are read for numbers of up to six digits. This leaves room for the labels after the first."""


@config_class
@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyConfig:
    """The settings of an assembly. Every default is measured; all values are checked at construction.

    Raises:
        ConfigError: a value is out of its range, or has no effect beside the others.

    >>> AssemblyConfig(max_tokens=4_000, order="edges").order
    'edges'
    >>> AssemblyConfig(window=4)
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: window must be an integer from 0 to 3, got 4
    """

    # Fetching
    enabled: bool = True
    """The switch for everything. False passes the hits through, each as a block of its own, in their order, within the
    budget. Nothing is fetched, joined or compressed. A hit that doesn't fit is left out; only the first one is cut."""
    window: Annotated[int, Range(0, 3)] = 1  # 3 is the widest window of the published five-stage rule
    """Neighbors read on each side of a hit, 0 to 3 chunks. Without a query they stand where hits leave room. Measured
    so at 8,000 tokens with 20 hits: .932 of the evidence, where the hits one after the other have .908."""
    candidate_window: Annotated[int, Range(0, MAX_CANDIDATE_WINDOW)] | None = None
    """Neighbors fetched on each side of a hit for the query to choose from, 0 to 16 chunks, in the same round trip.
    None fetches 3, or none if `window` is 0. If not everything fits, they compete with all others. If the whole window
    fits, only those stand that answer the query better than a hit does. Measured: 8 finds one percent more of the
    evidence than 3, in twice the time."""
    neighbor_decay: Annotated[float, Range(0, 1)] = 0.5
    """The factor for a neighbor's score: it is that of its best hit times this, once per step; 0 to 1. The score is
    reported and decides nothing."""
    neighbors: Neighbors = "auto"
    """The neighbors that a caller may read: they are fetched past the search and its filter. "auto" applies the filter
    if it is known (see `Store`). If it isn't, a neighbor has to agree with its hit on all metadata but the keys that
    vary within a document, and the trace names the keys by which others were left out. "filtered" refuses to run if no
    filter is known. "unfiltered" says that every caller may read everything in the store."""
    varying_keys: tuple[str, ...] = ()
    """Your own metadata keys in which chunks of one document differ, such as a line number. Neighbors may differ from
    their hit there. Whole keys, dotted paths or their last parts. Never name a key that you filter by."""
    on_store_error: OnStoreError = "degrade"
    """The step when a store, embeddings or a scorer fail: "degrade" goes on without what they would have given, and
    says so in the trace; "raise" raises StoreError."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    """The metadata keys that name a document, its source, page, section and so on."""
    page_base: Annotated[int, Range(0, 1)] | None = None
    """The number of a document's first page, 0 or 1; None takes that of `keys`."""

    # Fitting the budget
    max_tokens: Annotated[int, Range(1)] | TokenBudget = 8_000
    """The most tokens of the rendered text, at least 1, headers and separators included; or a `TokenBudget`."""
    max_characters: Annotated[int, Range(1)] | None = None
    """The most characters (code points) of the same text, at least 1; None sets no such limit."""
    encoding: Encoding = DEFAULT_ENCODING
    """The name of a tiktoken encoding, or a function from a text to its number of tokens. The function must not
    truncate, as tokenizers of Hugging Face may be set to. By default it is the encoding of the model whose TokenBudget
    is given as `max_tokens`; another one is then an error. `ctxassembly[fast]` counts cl100k_base, o200k_base and
    o200k_harmony several times as fast, to the same numbers."""
    granularity: Granularity = "auto"
    """The unit that the budget keeps or drops if not everything fits. "sentence" packs the sentences that answer the
    query best into contiguous passages; `overflow` and `compress` then have no effect. "chunk" and "passage" (a hit and
    the chunks that adjoin it) fill by value, or without a query by rank, hits first. "document" is the published rule:
    documents are dropped from the tail. With each of them the best item is cut at a sentence rather than left out; and
    if all hits fit whole, neighbors never take the place of a hit's best sentence. "auto" takes the larger units the
    more fits: passages if four fifths of everything fetched do, chunks if a third does, else sentences; also sentences
    if one chunk takes more than a fifth of the room. Without a query, or with `overflow`, `compress` or
    `max_chunk_tokens` set, "auto" is "chunk", but cuts a hit at a sentence before a lesser one takes its place.
    Measured at 500 tokens with 20 hits: .891 of the evidence with "auto", .802 with "passage", .797 with "chunk"; at
    8,000 .958, .939 and .958."""
    rank_by: RankBy = "query"
    """The worth of a text: "query" goes by rank and by the words of the query, "rank" by rank alone, as published rules
    do. Measured at 1,000 tokens with 20 hits: .926 of the evidence by the query, .754 by rank."""
    stop_words: Collection[str] | None = None
    """Words of a query that say little of what is asked for, and weigh half. None takes those of its language, the one
    of which it has most: "what", "the", "explain", "waarom". Words of your own, in any case, take their place, and ()
    has all words weigh alike. A word that only begins like one keeps its weight, and in a query that has no other words
    all do."""
    min_relevance: Annotated[float, Range(0, 1)] | None = None
    """The worth below which text is left out although it would fit, 0 to 1: the budget is then a cap instead of a
    target. None fills the budget. The best sentence is worth 1, a sentence of the same rank without any word of the
    query 0; a chunk is worth as much as its best sentence, a passage as its best chunk. Measured on three sets at 8,000
    tokens, 0.5 takes 660 to 1,780 tokens and finds .964 of the evidence in place of .984, .917 of .932, and .477 of
    .673 where whole sections are the evidence; 0.3 loses about half as much for twice the tokens."""
    overflow: Overflow = "skip"
    """The step at the first item that doesn't fit: "skip" it and go on, "stop", or "truncate" it at a sentence and
    stop. Documents are never skipped. A cut leaves at least three times `min_chunk_tokens`."""
    min_chunk_tokens: Annotated[int, Range(0)] = 0
    """The tokens below which a chunk makes room first, if not everything fits; at least 0."""
    relevance_floor: float | None = None
    """The score below which a hit makes room, with its neighbors, if not everything fits. The scale is the
    retriever's. Hits without a score stay, and all stay if none reaches the floor."""
    max_chunk_tokens: Annotated[int, Range(1)] | None = None
    """The most tokens of one chunk, at least 1, if not everything fits: longer ones are cut. None sets no limit; 2,000
    is the published value."""
    compress: Compress = "none"
    """The treatment of a chunk that doesn't fit whole. "extractive" keeps the sentences that answer the query best, as
    many as fit; "llm" has a language model choose them first. All text kept is verbatim: an answer that adds or changes
    anything is refused."""
    llm_timeout_seconds: Annotated[float, Range(above=0)] = 30.0
    """The time for all answers of the language model together, above 0. Late answers are left out."""

    # Repetition
    dedup: Dedup = "exact"
    """The chunks that collapse onto a better-ranked one. Each rule includes those before it. "exact": the same text but
    for outer white space, whatever ids and hashes say. "near": nearly the same words, or a chunk inside a longer one.
    "semantic": nearly the same meaning, by embeddings that come with the chunks or from `embeddings`. Near and semantic
    never collapse adjacent chunks of a document: their overlap is stripped."""
    dedup_sentences: bool = True
    """The sentences that two passages share are said once: True takes sentences out of a passage if a better-ranked
    passage has them, too: sentences in a row, from 100 characters on. `[...]` marks the gap, the trace names the chunk
    that has them, and text that had no room takes theirs. Tables, lists, code, headings, whole documents and chunks
    marked `keep_whole` stay as they are. No effect with `dedup="none"`."""
    near_threshold: Annotated[float, Range(above=0, maximum=1)] = 0.9
    """The share of common words among all words of both chunks (Jaccard) from which they are near duplicates, above 0
    and at most 1; also the share of a chunk's five-word sequences that a longer chunk has. Of 100 different words, 0.95
    lets 2 differ, 0.90 5 and 0.85 8. So 0.95 finds one text from two parsers, 0.90 versions with an edited sentence,
    and 0.85 leaflets of one template, whose few different words may be the answer. Word order doesn't count."""
    semantic_threshold: Annotated[float, Range(above=0, maximum=1)] = 0.92
    """The cosine from which two chunks mean the same, above 0 and at most 1. It depends on the model. With the
    universal sentence encoder 0.95 leaves all but the same words, 0.90 takes a translation (0.91) and 0.85 a close
    paraphrase (0.88) for the same. But "may eat" and "may not eat" have 0.93, "two euros" and "three euros" 0.93, 5 mg
    and 50 mg 0.88: if such differences matter, stay with "near"."""
    prefer_version: PreferVersion = "score"
    """The version that stays of two: "score", the better-ranked one, or "newest", the newer one by `keys.updated_at`,
    in the better one's place. If one has no date, the better-ranked one stays."""
    min_overlap_chars: Annotated[int, Range(0)] = 20
    """The length in characters above which overlap of adjacent chunks is stripped, at least 0. Overlap that offsets
    prove is stripped at any length. Without it the same sentences would end one chunk and begin the next."""
    max_overlap_chars: Annotated[int, Range(1)] | None = None
    """The longest overlap to look for if offsets are unknown, above `min_overlap_chars`. None sets no limit; the
    splitter's overlap is a good value."""

    # Reading
    order: Order = "documents"
    """The order of labels: "documents" (by their best hit), "relevance", "edges" (best first, second-best last),
    "interleaved", "document_order" (as the documents read), "reverse" or "stable" (as retrieved). With cite="document"
    whole documents are ordered, and "relevance" is the same as "documents"; else every label is ordered on its own,
    except that "documents" keeps those of one document together."""
    format: FormatName | Annotated[Callable[[Heading], str | tuple[str, str]], "a function from Heading to str"] = (
        "numbered"
    )
    """The header around each block, by name or by a function. The function gets a `Heading` and returns a header, or a
    header and a footer, on lines of their own; it never sees the text, and a tiny budget doesn't ask it. If all its
    headers show the labels of a format, such as `[1]`, prompts ask for them and answers are read for them. Text of
    documents can't pass for the labels of "numbered" and "source"; other forms are yours to guard."""
    separator: Separator = "blank"
    """The text between blocks: a "blank" line, or a "rule", `---` between two blank lines. Documents and nodes that an
    adapter returns are joined by their reader."""
    language: Code = "en"
    """The language of headers and prompts: "en", "nl", "de", "fr" or "es". With each of them, text of documents can't
    pass for headers of ours in any language, and answers are read for the labels of all."""
    cite: Cite = "document"
    """The unit that has a label of its own: "document", "passage" or "chunk"."""
    first_label: Annotated[int, Range(1, MAX_FIRST_LABEL)] = 1
    """The number of the first label, 1 to 900,000. Contexts of one conversation need different labels: `Labels` counts
    them on."""
    label_step: Annotated[int, Range(1, 1_000)] = 1
    """The distance from one label to the next, 1 to 1,000. Contexts that are assembled side by side, n of them, share
    no label if they begin with n labels in a row and all have n as their step: 1 3 5 and 2 4 6."""
    header_keys: tuple[str, ...] = ()
    """Metadata keys, or dotted paths, whose values the model reads below the header, one a line, such as `author: J.
    Jansen`. They are those of the label's best chunk. A tiny budget leaves them out."""
    summary_key: str | tuple[str, ...] = ("page_summary", "chunk_metadata.page_summary")
    """Metadata keys, or dotted paths, of a page summary. The first value found stands above the text."""
    sanitize: bool = False
    """The treatment of text that hides something, or that your model or the page with its answers may act on. True
    deletes invisible characters: tag characters, bidirectional controls, zero-width and soft hyphens, runs of variation
    selectors, and joiners that are not between letters of a script that needs them, or emoji. A backslash breaks tokens
    of chat templates (`<\\|im_start|>`, `[\\INST]`), Markdown links and images (`![x]\\(http:...)`), their definitions,
    and HTML elements that load or link to something. Text, headers, summaries and supplements are treated alike. The
    tokens are those of OpenAI, Llama, Mistral, Qwen, DeepSeek, Gemma and their like. Bare addresses stay. So are search
    results and the prompts of `compress="llm"`. Snippets and metadata of citations are as the document has them, and
    rerankers, scorers and enrichment read texts as they are stored."""

    # Supplementary text, which no chunk holds
    supplement_position: SupplementPosition = "after"
    """The place of the supplement: "before" or "after" all documents."""
    supplement_separator: Annotated[str, "one line of text without {}"] | None = None
    """The line above it, in place of the language's own. No document can forge it."""
    supplement_max_tokens: Annotated[int, Range(1)] = 1_000
    """Its most tokens, the separator included, at least 1. It is cut at a sentence. Documents get the rest of
    `max_tokens`: at least half, and all of it if the best hit would not fit otherwise."""
    supplement_threshold: (
        float | Annotated[Callable[[str | None, float | None], bool], "a function of query and score"] | None
    ) = None
    """The score that makes it superfluous: it is left out if the best hit's score reaches this number; None never
    leaves it out. Or a function of the query and that score (None if nothing was retrieved or scored) that returns True
    to add it."""
    supplement_gate: Annotated[Callable[[Any], bool], "a function of a SupplementGateInput"] | None = None
    """In place of the threshold, a function of a `SupplementGateInput`: the query, the best score, the best vector
    similarity of all hits, the caller's intent."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.max_overlap_chars is not None:
            check_int("max_overlap_chars", self.max_overlap_chars, self.min_overlap_chars + 1)
        self._check_encoding()
        self._check_supplement()
        self._check_effects()
        self._check_stop_words()
        # A single key may be given in place of a tuple. The stages read tuples alone.
        for name, allowed in (
            ("summary_key", "a metadata key or a non-empty tuple of keys"),
            ("varying_keys", "a tuple of metadata keys"),
            ("header_keys", "a tuple of metadata keys"),
        ):
            object.__setattr__(self, name, as_keys(name, getattr(self, name), allowed))
        if not self.summary_key:
            raise ConfigError("summary_key", "a metadata key or a non-empty tuple of keys", self.summary_key)
        if self.page_base is not None:
            object.__setattr__(self, "keys", replace(self.keys, page_base=self.page_base))

    def _check_stop_words(self) -> None:
        given = (self.stop_words,) if isinstance(self.stop_words, str) else self.stop_words
        if given is not None:
            word_lists = (
                [words(entry) if isinstance(entry, str) else [] for entry in given] if _is_collection(given) else [[]]
            )
            if not all(word_lists):
                raise ConfigError("stop_words", "a collection of words, or None", self.stop_words)
            # In order, so that equal settings are shown alike; as a query's words are, so that these are found there.
            object.__setattr__(self, "stop_words", tuple(sorted({word for entry in word_lists for word in entry})))

    def _check_supplement(self) -> None:
        line = self.supplement_separator
        if line is not None:
            if len(line.strip().splitlines()) != 1 or not is_safe_label(line):
                raise ConfigError("supplement_separator", "one line of text without {}, or None", line)
            object.__setattr__(self, "supplement_separator", str.__str__(line).strip())
        if self.supplement_gate is not None and self.supplement_threshold is not None:
            raise ConfigError("supplement_threshold", "None where supplement_gate decides", self.supplement_threshold)

    def _check_effects(self) -> None:
        """Refuse settings without effect in the granularity that was chosen."""
        for granularity, parameter, idle, hint in _WITHOUT_EFFECT:
            applies = self.rank_by == "rank" if granularity == "rank" else self.granularity == granularity
            # By rank alone there are no sentences to choose: whole chunks are packed, for which these settings work.
            if granularity == "sentence" and self.rank_by == "rank":
                continue
            if applies and getattr(self, parameter) != idle:
                setting = "rank_by" if granularity == "rank" else "granularity"
                allowed = f"{idle!r} where {setting} is {granularity!r}, which has no use for it; {hint}"
                raise ConfigError(parameter, allowed, getattr(self, parameter))

    def _check_encoding(self) -> None:
        """Replace the default encoding by that of a model's budget. One that the caller chose would count otherwise."""
        if isinstance(self.max_tokens, TokenBudget):
            model_encoding = self.max_tokens.encoding
            if model_encoding and self.encoding != model_encoding:
                if not isinstance(self.encoding, _Default):
                    allowed = f"left out beside a TokenBudget, whose own is {model_encoding!r}"
                    raise ConfigError("encoding", allowed, self.encoding)
                object.__setattr__(self, "encoding", model_encoding)

    @classmethod
    def for_use(cls, use: str) -> AssemblyConfig:
        """The settings for one use. They keep the same evidence as the default, and write it in another way.

        - "factual_qa", questions with a short answer: labeled documents, the best ones at both ends
        - "summarization": documents under their names, in reading order, without labels
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
            hint = f": write presets.{rule} for the published rule" if rule in PUBLISHED_RULES else ""
            raise ConfigError("use", one_of(USES), use, hint)
        return cls(**USES[use])

    def effective_granularity(self, query: str | None) -> Granularity:
        """The granularity for `query`, given the other settings. For "auto" it is the finest one that may be needed."""
        if not self.enabled:
            return "chunk"
        is_query_aware = self.is_query_aware(query)
        if self.granularity == "sentence":
            return "sentence" if is_query_aware else "chunk"
        if self.granularity != "auto":
            return self.granularity
        # These three say what becomes of chunks, so chunks it is.
        has_chunk_settings = self.overflow == "skip" and self.compress == "none" and self.max_chunk_tokens is None
        return "sentence" if is_query_aware and has_chunk_settings else "chunk"

    def is_query_aware(self, query: str | None) -> bool:
        """True if the words of `query` value the text; rank alone does otherwise."""
        return self.enabled and self.rank_by == "query" and bool(query and query.strip())

    @property
    def may_shorten_hits(self) -> bool:
        """True if a hit that doesn't fit whole is shortened before a lesser one takes its place."""
        return self.enabled and self.overflow == "skip" and self.granularity in ("auto", "sentence")

    def fetch_window(self, query: str | None) -> int:
        """The number of chunks to fetch on each side of a hit."""
        # More than the window is fetched only where neighbors compete one by one.
        if not self.is_query_aware(query) or self.effective_granularity(query) in ("document", "passage"):
            return self.window
        pool = (
            (DEFAULT_CANDIDATE_WINDOW if self.window else 0) if self.candidate_window is None else self.candidate_window
        )
        return max(self.window, pool)

    @property
    def token_limit(self) -> int:
        """`max_tokens` as a number."""
        return self.max_tokens.context if isinstance(self.max_tokens, TokenBudget) else self.max_tokens


_WITHOUT_EFFECT = (
    ("sentence", "overflow", "skip", "say granularity='chunk'"),
    ("sentence", "compress", "none", "say granularity='chunk'"),
    ("document", "min_relevance", None, "say granularity='auto'"),
    ("document", "stop_words", None, "say granularity='auto'"),
    ("document", "candidate_window", None, "say window=3, or granularity='auto'"),
    ("passage", "candidate_window", None, "say window=3, or granularity='auto'"),
    ("rank", "min_relevance", None, "say rank_by='query'"),
    ("rank", "stop_words", None, "say rank_by='query'"),
    ("rank", "candidate_window", None, "say window=3, or rank_by='query'"),
)
"""A granularity (or "rank"), a setting without effect there, its default, and the settings to use instead."""


def _is_collection(value: Any) -> bool:
    return isinstance(value, (tuple, list, set, frozenset))
