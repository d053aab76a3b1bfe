"""The settings of an assembly, checked once, at construction.

A wrong value raises an error with the parameter, the range and the value. A setting that has no effect in combination
with the others raises an error, too, since a caller who sets it expects an effect. The stages don't check settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import Choice, Encoding, Range, as_keys, check_fields, check_int, one_of
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import check_encoding
from ctxassembly.wording.formats import FORMATS, FormatName, Heading
from ctxassembly.wording.languages import LANGUAGES, Code

T = TypeVar("T")
LEAST_TOKENS, MOST_TOKENS = 1_000, 8_000
"""The lowest and the highest limit that `max_tokens=None` sets."""
DEFAULT_MIN_RELEVANCE = 0.4
CONCISE_MIN_RELEVANCE = 0.55
USES: Mapping[str, Mapping[str, Any]] = {
    "factual_qa": {"order": "interleaved"},
    "summarization": {"format": "grouped", "order": "document_order", "fill": True, "cite": "document"},
    "citation_heavy": {"order": "relevance"},
    "conversational": {"format": "minimal", "order": "relevance"},
    "voice": {"format": "minimal", "cite": "document"},
    "tight_budget": {"format": "minimal"},
    "concise": {"min_relevance": CONCISE_MIN_RELEVANCE},
}


Granularity = Literal["passage", "chunk", "sentence", "auto"]
RankBy = Literal["query", "rank"]
Order = Literal["auto", "documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]
Cite = Literal["document", "passage", "chunk"]
Dedup = Literal["exact", "near", "semantic", "none"]
PreferVersion = Literal["score", "newest"]
Repeat = Literal["never", "always"]
Compress = Literal["none", "extractive", "llm"]
OnStoreError = Literal["degrade", "raise"]
Neighbors = Literal["auto", "filtered", "unfiltered"]


PUBLISHED_NAMES: Mapping[str, str] = {
    "order='lost_in_middle'": "order='interleaved'",
    "order='chronological'": "order='document_order'",
    "order='bookend'": "order='edges'",
    "use='summarisation'": "for_use('summarization')",
    "use='five_stage'": "presets.FIVE_STAGE for the published system",
    "use='source_blocks'": "presets.SOURCE_BLOCKS for the published system",
    "use='bookend'": "presets.BOOKEND for the published system",
    "ordering": "order=...",
    "expand_window": "window=...",
    "max_context_chars": "max_characters=...",
    "relevance_floor": "config=Bookend(relevance_floor=...)",
    "max_chunk_tokens": "config=Bookend(max_chunk_tokens=...)",
    "citation_format": "config=Bookend(citation_format=...)",
    "min_chunk_tokens": "config=Pipeline(min_chunk_tokens=...)",
    "fuzzy": "config=Pipeline(fuzzy=...)",
    "supplement_similarity": "config=FiveStage(supplement_similarity=...)",
    "granularity='document'": "config=FiveStage()",
}
"""Parameters, and values of parameters, by the names that published systems give them, with what to write here."""


class _Default(str):
    """A default that another setting may replace. The type distinguishes it from the same value set by a caller."""

    __slots__ = ()


DEFAULT_ENCODING = _Default("cl100k_base")
MAX_CANDIDATE_WINDOW = 16
DEFAULT_CANDIDATE_WINDOW = 3
"""Neighbors fetched on each side by default. Measured: 8 finds .018 more of the evidence in twice the time."""
MAX_FIRST_LABEL = 900_000
"""The highest first label. Answers are parsed for numbers of up to six digits, so later labels need room above it."""


def published_hint(parameter: str, value: object) -> str:
    """Return the hint for a value under its published name; empty if it is none."""
    line = PUBLISHED_NAMES.get(f"{parameter}={value!r}") if isinstance(value, str) else None
    return f": write {line}" if line else ""


def names_published_parameters(cls: type[T]) -> type[T]:
    """Return `cls`, whose constructor names its own parameter in the error for a published one."""
    init: Any = cls.__init__

    @wraps(init)
    def construct(self: Any, *args: Any, **settings: Any) -> None:
        for name in settings.keys() & PUBLISHED_NAMES.keys():
            message = f"{cls.__name__}() has no parameter {name!r}: write {PUBLISHED_NAMES[name]}"
            raise ConfigError.worded(name, message)
        init(self, *args, **settings)

    cls.__init__ = construct  # type: ignore[method-assign]
    return cls


@names_published_parameters
@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyConfig:
    """The settings of an assembly. Every default is measured; all values are checked at construction.

    Raises:
        ConfigError: a value is out of its range, or has no effect in combination with the others.

    >>> AssemblyConfig(max_tokens=4_000, order="edges").order
    'edges'
    >>> AssemblyConfig(window=4)
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: window must be an integer from 0 to 3, got 4
    """

    # Fetching
    enabled: bool = True
    """Whether to assemble at all. False turns assembly off: hits are rendered one per block, in the order given, within
    the budget. Nothing is fetched, joined, deduplicated or compressed, and `order` doesn't apply: if the settings
    ask for it, a note in the trace says so. A hit that doesn't fit is left out; only the first one is cut. At 2,000
    tokens that finds .665 of the evidence, the default .818."""
    window: Annotated[int, Range(0, 3)] = 1  # 3 is the widest window of the published five-stage rule
    """The number of neighbors on each side of a hit, 0 to 3 chunks. Without a query, neighbors are included only where
    hits leave room. Measured without a query at 8,000 tokens with 20 hits: .932 of the evidence, versus .908 for the
    hits one after the other. With a query at 2,000 tokens, on three sets:
    .818, versus .754 with 0."""
    candidate_window: Annotated[int, Range(0, MAX_CANDIDATE_WINDOW)] | None = None
    """The number of neighbors fetched on each side of a hit for the query to choose from, 0 to 16 chunks, in the same
    round trip. None fetches 3, or none if `window` is 0. Their sentences compete with all other text, and what isn't
    chosen of them counts as no loss. Measured: 8 finds .018 more of the evidence than 3, in twice the time."""
    neighbor_decay: Annotated[float, Range(0, 1)] = 0.5
    """The factor by which a neighbor's score decreases with each step from its hit, 0 to 1. A neighbor's score is its
    best hit's score times this factor, once per step. The score is reported and decides nothing."""
    neighbors: Neighbors = "auto"
    """The access control for neighbors, which are fetched without the search and its filter. "auto" applies the filter
    that is given (`filter=` of an adapter, `with_filter` of an index). Without one, a neighbor must equal its hit under
    all metadata keys but places such as `page`, what tools write for each chunk such as `section`, and `varying_keys`;
    the trace names the keys that kept neighbors out. "filtered" raises an error if no filter is given. "unfiltered"
    declares that every caller may read everything in the store."""
    varying_keys: tuple[str, ...] = ()
    """Your own metadata keys that differ between chunks of one document, such as a line number. Neighbors may differ
    from their hit in these keys. Give whole keys, dotted paths or their last parts. Never list a key that you filter
    by."""
    on_store_error: OnStoreError = "degrade"
    """The action when a store, embeddings or a scorer fails: "degrade" continues without its results and records the
    failure in the trace; "raise" raises StoreError."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    """The metadata keys that name a document, its source, page, section and so on."""
    page_base: Annotated[int, Range(0, 1)] | None = None
    """The number of a document's first page, 0 or 1. None uses the `page_base` of `keys`."""

    # Fitting the budget
    max_tokens: Annotated[int, Range(1)] | TokenBudget | None = None
    """The maximum number of tokens in the rendered text, at least 1, headers and separators included; or a
    `TokenBudget`. None sets the limit by the hits: with a query as many tokens as their texts joined have, at least
    1,000 and at most 8,000; without one, where nothing can be chosen, 8,000."""
    max_characters: Annotated[int, Range(1)] | None = None
    """The most characters (code points) of the same text, at least 1; None sets no such limit."""
    encoding: Encoding = DEFAULT_ENCODING
    """The name of a tiktoken encoding, or a function from a text to its number of tokens. The function must not
    truncate, which Hugging Face tokenizers can be configured to do. If it counts special tokens, an empty context has
    them, too; with a `max_tokens` below these nothing fits, and the trace says so. If `max_tokens` is a TokenBudget for
    a model, the default is that model's encoding, and a different encoding is an error. `ctxassembly[fast]` counts
    cl100k_base, o200k_base and o200k_harmony several times as fast, with the same results."""
    granularity: Granularity = "auto"
    """The unit that is kept or left out if not everything fits. "sentence" reads the sentences that answer the query
    best, and "chunk" and "passage" (a hit and its adjacent chunks) whole ones, by their sentences; a passage that
    doesn't fit is chosen from by chunks. "auto" is "sentence"; where `compress` is set, "chunk". Without a query, or
    with `rank_by="rank"`, "auto" and "sentence" read chunks by rank, hits first, and of the best one that doesn't fit
    its beginning, up to the end of a sentence. If not even the best unit fits, its beginning is read. A gap of one unit
    is closed, and with a sentence comes what it needs to be understood: with a row the head of its table, with an item
    the introduction of its list, with a heading the text below it. `compress` has no effect with "sentence". Measured
    with filled budgets and 20 hits: at 500 tokens .886 of the evidence with "auto", .763 with "chunk"; at 8,000 tokens
    both find .97."""
    rank_by: RankBy = "query"
    """The basis of relevance: "query" combines rank with the words of the query; "rank" uses rank alone, as published
    rules do. Measured at 1,000 tokens with 20 hits: .930 of the evidence with "query", .730 with "rank"."""
    min_relevance: Annotated[float, Range(0, 1)] = DEFAULT_MIN_RELEVANCE
    """The minimum relevance, 0 to 1, of text that makes a context as long as its limit. Text is added best first
    until its relevance is below the minimum, so the budget is a limit and not a target: see `fill`. Where blocks of a
    context are assembled again for the same query, all of their text counts as relevant. The best sentence has
    relevance 1, and a sentence of the same rank without any word of the query 0; a chunk has the relevance of its
    best sentence, a passage the relevance of its best chunk. Cheap text may be less relevant: the first sentence may be
    twice as far from 1 as the minimum, and this falls evenly to the minimum where the context is as long as its limit.
    Measured on five question sets with 20 hits and no limit set, 0.4 finds .876 of the evidence in 2,318 tokens, where
    the hits joined have .859 in 3,904 and a filled budget of 8,000 .895 in 5,777."""
    fill: bool = False
    """Whether to fill the budget. True adds text of any relevance as long as it fits, for summaries and for questions
    that need every detail. Without a query the budget is always filled."""
    compress: Compress = "none"
    """The method to shorten a chunk that doesn't fit whole. "extractive" keeps the sentences that answer the query
    best, as many as fit; "llm" has a language model choose them first. All kept text is verbatim: a model's answer that
    adds or changes anything is rejected. By chunks at 2,000 tokens "extractive" finds .804 of the evidence, "none"
    .802."""

    # Repetition
    dedup: Dedup = "exact"
    """The rule for deduplicating chunks: a duplicate is dropped and its better-ranked copy kept. Each rule includes
    those before it. "exact": the same text except for leading and trailing white space, regardless of ids and hashes.
    "near": nearly the same words, or a chunk inside a longer one, if the kept one says all that the dropped one says,
    word for word; case, punctuation and a "Please note" don't count, but in code everything does. "semantic": nearly
    the same meaning, by embeddings that are part of the chunks or computed by `embeddings`; never if one has a number,
    a date, a name or a negation that the other doesn't have. Neither drops adjacent chunks of a document: their overlap
    is stripped."""
    dedup_sentences: bool = True
    """Whether to remove repeated sentences. True keeps a sentence of 20 characters or more once, where it is most
    relevant. `[...]` marks the gap, and the trace names the chunk that contains the sentence. Chunks marked
    `keep_whole` are left unchanged. Without a query, and with `dedup="none"`, it has no effect. On public sets, which
    have few copies, it finds .818 of the evidence at 2,000 tokens, as False does."""
    repeat: Repeat = "never"
    """Whether text that a conversation has is sent again. "never" leaves out what the model still sees of the earlier
    contexts in `conversation`, before anything is chosen, so that its tokens go to new text. "always" sends every
    context whole. Without a conversation it has no effect."""
    near_threshold: Annotated[float, Range(above=0, maximum=1)] = 0.9
    """The minimum similarity of near duplicates, above 0 and at most 1: the number of words that both chunks contain,
    divided by the number of words in either (Jaccard); also the minimum share of a chunk's five-word sequences that a
    longer chunk contains. So it limits how much more the kept one may say: of 100 different words 5 at 0.95. A chunk
    that has another word anywhere, or the same ones in another order, is kept at any threshold, unless the two are
    versions with dates and `prefer_version` is "newest"."""
    semantic_threshold: Annotated[float, Range(above=0, maximum=1)] = 0.92
    """The minimum cosine similarity of semantic duplicates, above 0 and at most 1. It depends on the model. With the
    universal sentence encoder, 0.95 matches only the same words, 0.90 also a translation (0.91), and 0.85 also a close
    paraphrase (0.88). But "may eat" and "may not eat" have 0.93, "two euros" and "three euros" 0.93, 5 mg and 50 mg
    0.88. So at any threshold chunks are no duplicates if one has a number, a month, a weekday, a name or a negation
    that the other doesn't have."""
    prefer_version: PreferVersion = "score"
    """The version to keep of two: "score" keeps the better-ranked one; "newest" keeps the newer one by
    `keys.updated_at`, at the better-ranked one's position. If one has no date, the better-ranked one is kept. The newer
    of two near duplicates may state other facts."""
    min_overlap_chars: Annotated[int, Range(0)] = 20
    """The length in characters above which the overlap of two adjacent chunks is stripped, at least 0, if most of the
    document's pairs share as much; else 80 are needed. Overlap that offsets prove, that `number_chunks` recorded, or
    that three pairs show is stripped at any length. Without stripping, the same sentences would end one chunk and begin
    the next."""
    max_overlap_chars: Annotated[int, Range(1)] | None = None
    """The maximum overlap to search for if offsets are unknown, above `min_overlap_chars`. None sets no limit; the
    splitter's overlap is a good value."""

    # Reading
    order: Order = "auto"
    """The order of labels: "auto" (what answers the query best), "documents" (by their best hit), "relevance", "edges"
    (best first, second-best last), "interleaved", "document_order" (in reading order), "reverse" or "stable" (as
    retrieved). With cite="document" whole documents are ordered, except by "auto", and "relevance" is the same as
    "documents". Otherwise each label is ordered on its own, except that "documents" keeps all labels of one document
    together. "auto" uses the words of the query: labels are ordered by their best sentence, and with a limit of at
    least 2,000 tokens, a context of more than about 1,000 has four parts: the best sentences (125 tokens), the best
    chunk, the next best chunks (1,000 tokens with the best one) and the rest, in which documents stay together. Without
    a query and with rank_by="rank" it is the same as "documents".
    Measured at 4,000 tokens: the first 500 have the whole evidence for .60 of the questions, versus .13 with
    "documents"."""
    format: (
        Annotated[FormatName, Choice(FORMATS)]
        | Annotated[Callable[[Heading], str | tuple[str, str]], "a function from Heading to str"]
    ) = "numbered"
    """The header around each block, as a name or a function. The function gets a `Heading` and returns a header, or a
    header and a footer, on lines of their own; it never receives the text, and is not called for a tiny budget. If all
    its headers show the labels of a format, such as `[1]`, prompts ask for these labels and answers are parsed for
    them. Text of documents can't imitate the labels of "numbered" and "source"; you must guard other forms yourself.
    Measured on three sets at 2,000 tokens: headers and blank lines take .005 of the text with "minimal", .037 with
    "grouped", .046 with "source", .048 with "numbered" and .090 with "xml"."""
    language: Annotated[Code, Choice(LANGUAGES)] = "en"
    """The language of headers and prompts: "en", "nl", "de", "fr" or "es". With each of them, text of documents can't
    imitate generated headers in any language, and answers are parsed for the labels of all languages."""
    cite: Cite = "passage"
    """The unit that gets its own label: "passage" (a run of chunks without a gap, so that a label is a place that a
    reader can check), "document" or "chunk". With "chunk", a sentence that ends in the next chunk is read under the
    label of the one that it begins in, whose citation then names both. Measured on three sets at 2,000 tokens: headers
    take .063, .049 and .090 of the text; the evidence is .818, .819 and .812."""
    first_label: Annotated[int, Range(1, MAX_FIRST_LABEL)] = 1
    """The number of the first label, 1 to 900,000. Contexts of one conversation need different labels: a `Conversation`
    continues the numbering, from this number on; `Conversation.shared` numbers contexts assembled in parallel."""
    header_keys: tuple[str, ...] = ()
    """Metadata keys, or dotted paths, whose values are shown to the model below the header, one per line, such as
    `author: J. Jansen`. The values come from the label's best chunk. A tiny budget leaves them out. Two
    short lines cost .01 of the evidence at 2,000 tokens."""
    summary_key: str | tuple[str, ...] = ("page_summary", "chunk_metadata.page_summary")
    """Metadata keys, or dotted paths, of a page summary. The first value found is shown above the text."""
    sanitize: bool = False
    """Whether to sanitize text that hides something, or that your model or the page with its answers may act on. True
    deletes invisible characters: tag characters, bidirectional controls, zero-width and soft hyphens, runs of variation
    selectors, and joiners that are not between letters of a script that needs them, or emoji. It inserts a backslash to
    break tokens of chat templates (`<\\|im_start|>`, `[\\INST]`), Markdown links and images (`![x]\\(http:...)`), their
    definitions, and HTML elements that load or link to something. Text, headers, summaries and supplements are treated
    alike. The recognized tokens are those used by OpenAI, Llama, Mistral, Qwen, DeepSeek, Gemma and similar models.
    Bare addresses are not changed, nor are search results and the prompts of `compress="llm"`. Snippets and metadata of
    citations match the document, and rerankers, scorers and enrichment read texts as they are stored."""

    # Supplementary text, which is in no chunk. It comes after all documents, or before them if it asks for that. It
    # takes at most 1,000 tokens, its separator included, and is cut at a sentence. Documents get at least half of
    # `max_tokens`, and all of it if the best hit would not fit otherwise.
    supplement_threshold: (
        float | Annotated[Callable[[str | None, float | None], bool], "a function of query and score"] | None
    ) = None
    """The best score of a hit from which the supplement is left out; for hits of `retrieve`, the best similarity. None
    never leaves it out. Or a function of the query and the best score (None if nothing was retrieved or scored) that
    returns True to add the supplement."""

    def __post_init__(self) -> None:
        check_fields(self, hint=published_hint)
        if self.max_overlap_chars is not None:
            check_int("max_overlap_chars", self.max_overlap_chars, self.min_overlap_chars + 1)
        self._check_encoding()
        self._check_effects()
        # A single key may be given instead of a tuple. The stages read tuples only.
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

    def _check_effects(self) -> None:
        """Raise ConfigError for a setting that has no effect with the chosen granularity."""
        for granularity, parameter, idle, hint in _WITHOUT_EFFECT:
            applies = self.rank_by == "rank" if granularity == "rank" else self.granularity == granularity
            # With rank alone no sentences are chosen: whole chunks are packed, and these settings apply to them.
            if granularity == "sentence" and self.rank_by == "rank":
                continue
            if applies and getattr(self, parameter) != idle:
                setting = "rank_by" if granularity == "rank" else "granularity"
                useless = f"{parameter}={getattr(self, parameter)!r} has no effect with {setting}={granularity!r}"
                raise ConfigError.worded(parameter, f"{useless}: remove it, or write {hint}")
        if self.fill and self.min_relevance != DEFAULT_MIN_RELEVANCE:
            useless = f"min_relevance={self.min_relevance!r} has no effect with fill=True"
            reason = "which adds text of any relevance: remove one of them"
            raise ConfigError.worded("min_relevance", f"{useless}, {reason}")

    def _check_encoding(self) -> None:
        """Use the encoding of a model's budget by default. A different one set by the caller raises ConfigError."""
        if isinstance(self.encoding, str):
            check_encoding(str.__str__(self.encoding))
        if isinstance(self.max_tokens, TokenBudget):
            model_encoding = self.max_tokens.encoding
            if model_encoding and self.encoding != model_encoding:
                if not isinstance(self.encoding, _Default):
                    given = (
                        f"encoding={self.encoding!r} contradicts the TokenBudget, which counts by {model_encoding!r}"
                    )
                    raise ConfigError.worded("encoding", f"{given}: remove encoding=")
                object.__setattr__(self, "encoding", model_encoding)

    @classmethod
    def for_use(cls, use: str) -> AssemblyConfig:
        """Return the settings for one use. All but the last keep the same evidence as the default, or more.

        - "factual_qa", questions with a short answer: labeled passages, the best ones at both ends
        - "summarization": documents under their names, in reading order, without labels
        - "citation_heavy", answers that cite each claim: a label for each passage, the best first
        - "conversational", chat: the text alone, the best passage first
        - "voice", answers that are spoken: the text alone, by document
        - "tight_budget", small windows: the text alone, so that no token goes to headers
        - "concise", the fewest tokens: only what answers the question well

        `ctxassembly.presets` defines them as constants, and the published rules, such as `presets.FIVE_STAGE`.

        Raises:
            ConfigError: `use` is none of these.
        """
        if use not in USES:
            raise ConfigError("use", one_of(USES), use, published_hint("use", use))
        return cls(**USES[use])

    def effective_granularity(self, query: str | None) -> Granularity:
        """Return the granularity for `query` under these settings; for "auto" the finest one that may be needed."""
        if not self.enabled:
            return "chunk"
        is_query_aware = self.is_query_aware(query)
        if self.granularity == "sentence":
            return "sentence" if is_query_aware else "chunk"
        if self.granularity != "auto":
            return self.granularity
        # Compression applies to chunks only.
        return "sentence" if is_query_aware and self.compress == "none" else "chunk"

    def is_query_aware(self, query: str | None) -> bool:
        """Return True if relevance uses the words of `query`, and not rank alone."""
        return self.enabled and self.rank_by == "query" and bool(query and query.strip())

    @property
    def may_shorten_hits(self) -> bool:
        """True if a hit that doesn't fit whole is shortened before a lower-ranked one takes its place."""
        return self.enabled and self.granularity in ("auto", "sentence")

    def has_competing_candidates(self, query: str | None) -> bool:
        """Return True if chunks compete individually by `query`, so that more than the window is fetched."""
        return self.is_query_aware(query) and self.effective_granularity(query) != "passage"

    def fetch_window(self, query: str | None) -> int:
        """Return the number of chunks to fetch on each side of a hit."""
        if not self.has_competing_candidates(query):
            return self.window
        pool = (
            (DEFAULT_CANDIDATE_WINDOW if self.window else 0) if self.candidate_window is None else self.candidate_window
        )
        return max(self.window, pool)

    @property
    def token_limit(self) -> int:
        """`max_tokens` as a number; the highest limit that a context may have if it depends on the hits."""
        if self.max_tokens is None:
            return MOST_TOKENS
        return self.max_tokens.context if isinstance(self.max_tokens, TokenBudget) else self.max_tokens

    def limit_for(self, hit_counts: Sequence[int], query: str | None) -> int:
        """Return the limit in tokens for hits whose texts joined have `hit_counts`, which are read only if needed."""
        if self.max_tokens is not None or not self.is_query_aware(query):
            return self.token_limit
        return min(max(sum(hit_counts), LEAST_TOKENS), MOST_TOKENS)


_WITHOUT_EFFECT = (
    ("sentence", "compress", "none", "granularity='chunk'"),
    ("passage", "candidate_window", None, "window=3, or granularity='auto'"),
    ("rank", "min_relevance", DEFAULT_MIN_RELEVANCE, "rank_by='query'"),
    ("rank", "candidate_window", None, "window=3, or rank_by='query'"),
)
"""Each entry: a granularity (or "rank"), a setting that has no effect there, its default, and the settings to use
instead."""
