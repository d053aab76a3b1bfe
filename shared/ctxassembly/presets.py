"""Named configurations: settings for one use each, and the published rules. Vary them with `dataclasses.replace`.

`AssemblyConfig.for_use("factual_qa")` returns the settings for a use by their lowercase name. All but `CONCISE` keep
the evidence that the default keeps, or more, and differ in headers and order. The published rules (`PUBLISHED`) are
defined here as they were published, for comparisons and for users who migrate from them: when the budget is tight, they
keep less of the evidence.

>>> from dataclasses import replace
>>> replace(FIVE_STAGE, max_tokens=4_000).granularity
'document'
"""

from dataclasses import replace

from ctxassembly.config.assembly import PUBLISHED_RULES, USES, AssemblyConfig

FACTUAL_QA = AssemblyConfig.for_use("factual_qa")
"""Questions with a short answer: the best documents are at both ends, each under a label."""

SUMMARIZATION = AssemblyConfig.for_use("summarization")
"""Summaries: every document under its name, in reading order, as much as fits. No labels are shown."""

CITATION_HEAVY = AssemblyConfig.for_use("citation_heavy")
"""Answers that cite each claim: a label for each document, with its pages, the best one is [1].

With `cite="passage"` each passage has its own label. The additional headers use tokens: measured, they cost up to .004
of the evidence.
"""

CONVERSATIONAL = AssemblyConfig.for_use("conversational")
"""Chat: the text alone, the best passage first. No labels are shown; `context.sources()` names the documents."""

VOICE = AssemblyConfig.for_use("voice")
"""Answers that are spoken: the text alone, by document, and the prompt asks for no reference marks.

`context.sources()` names the documents; `context.resolve(answer, mode="remove")` removes marks that a model invents.
"""

TIGHT_BUDGET = AssemblyConfig.for_use("tight_budget")
"""Small windows, with `max_tokens` set to the available tokens: no token is used for headers.

`context.sources()` names the documents.
"""

CONCISE = AssemblyConfig.for_use("concise")
"""The fewest tokens: only what answers the question well.

Measured on four question sets with 20 hits and a limit of 8,000 tokens: .959 of the evidence that a filled budget
holds, with .31 of its tokens.
"""

BY_USE = {use: AssemblyConfig.for_use(use) for use in USES}
"""The settings for each use, by its name."""


def suppress_supplement(query: str | None, score: float | None) -> bool:  # noqa: ARG001 - a gate gets both
    """Return False for every query and score: the gate of the five-stage rule, which the caller's own gate replaces."""
    return False


FIVE_STAGE = AssemblyConfig(
    window=1,
    neighbor_decay=0.5,
    max_tokens=8_000,
    dedup_sentences=False,
    granularity="document",
    rank_by="rank",
    order="documents",
    format="numbered",
    supplement_threshold=suppress_supplement,
)
"""The published five-stage rule: expand by one, strip overlap, group, drop whole documents from the tail, summarize.

Its settings by their published names: `enabled` is `enabled`, `expand_window` (0 to 3) is `window`, and `max_tokens`
(500 to 16,000) is `max_tokens`, which may be anything from 1 here. A supplement is suppressed unless a gate opens for
it: set `supplement_threshold`, or force it. By default it is added unless a gate suppresses it.
"""

PUBLISHED_VOICE = replace(FIVE_STAGE, format="minimal")
"""The five-stage rule for an answer that is spoken: no labels are shown, and the prompt asks for no reference marks."""

SOURCE_BLOCKS = AssemblyConfig(
    enabled=False,
    window=0,
    dedup="none",
    dedup_sentences=False,
    granularity="chunk",
    rank_by="rank",
    overflow="stop",
    cite="chunk",
    order="relevance",
    format="source",
    max_characters=24_000,
    max_tokens=96_000,  # the characters decide: 24,000 have at most 96,000 bytes, and no more tokens
)
"""The published `[SOURCE n]` rule: a block for each chunk, by rank, up to the first that would exceed the limit.

Chunks are rendered verbatim: copies are kept, and overlap isn't stripped (`enabled=False`). Only lines that imitate a
label are escaped.
"""

BOOKEND = AssemblyConfig(
    window=0,
    granularity="chunk",
    rank_by="rank",
    overflow="skip",
    dedup="semantic",
    dedup_sentences=False,
    semantic_threshold=0.92,
    relevance_floor=0.0,
    max_chunk_tokens=2_000,
    compress="extractive",
    cite="passage",
    order="edges",
    format="numbered",
    max_tokens=32_000,
)
"""The published bookend rule: semantic duplicates are dropped, the best is first and the second-best last.

If not everything fits, hits with a negative score are dropped, and longer chunks are compressed to 2,000 tokens: by a
model with `compress="llm"`.
Semantic deduplication needs `embeddings`, or vectors in the hits. The published one goes by cosine alone; this one also
keeps chunks that differ in numbers, dates, names or negations.
"""

_PIPELINE = AssemblyConfig(
    window=0,
    dedup="exact",
    dedup_sentences=False,
    granularity="chunk",
    rank_by="rank",
    min_chunk_tokens=20,
    overflow="truncate",
    cite="passage",
    separator="rule",
)
"""The settings that the five rules of the published pipeline share."""

PUBLISHED_FACTUAL_QA = replace(_PIPELINE, format="xml", order="interleaved")
"""The published pipeline for short answers: the best passages at both ends, each with its score."""

PUBLISHED_SUMMARIZATION = replace(
    _PIPELINE, format="grouped", order="document_order", compress="extractive", cite="document"
)
"""The published pipeline for summaries: every document under its name, in reading order; chunks that don't fit are
included in part."""

PUBLISHED_CITATION_HEAVY = replace(_PIPELINE, format="numbered", order="relevance")
"""The published pipeline for answers that cite each claim: a label for each passage, the best one is [1]."""

PUBLISHED_CONVERSATIONAL = replace(_PIPELINE, format="minimal", order="relevance")
"""The published pipeline for chat: the text alone, the best passage first."""

PUBLISHED_TIGHT_BUDGET = replace(_PIPELINE, format="xml", order="interleaved", compress="extractive")
"""The published pipeline for small windows: a chunk that doesn't fit whole is reduced to its best sentences."""

PUBLISHED: dict[str, AssemblyConfig] = {rule: globals()[rule] for rule in PUBLISHED_RULES}
"""The published rules by their names in this module."""
