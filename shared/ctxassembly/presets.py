"""Named configurations: settings for one use each, and the published systems. Vary them with `dataclasses.replace`.

`AssemblyConfig.for_use("factual_qa")` returns the settings for a use by their lowercase name. All but `CONCISE` keep
the evidence that the default keeps, or more, and differ in headers and order. The published systems (`PUBLISHED`) are
instances of the classes in `ctxassembly.published`, for comparisons and for users who migrate from them: when the
budget is tight, they keep less of the evidence.

>>> from dataclasses import replace
>>> replace(FIVE_STAGE, max_tokens=4_000).expand_window
1
"""

from collections.abc import Mapping

from ctxassembly.config.assembly import USES, AssemblyConfig
from ctxassembly.published.bookend import Bookend
from ctxassembly.published.five_stage import FiveStage
from ctxassembly.published.pipeline import Pipeline
from ctxassembly.published.source_blocks import SourceBlocks

FACTUAL_QA = AssemblyConfig.for_use("factual_qa")
"""Questions with a short answer: the best passages are at both ends, each under a label."""

SUMMARIZATION = AssemblyConfig.for_use("summarization")
"""Summaries: every document under its name, in reading order, as much as fits. No labels are shown."""

CITATION_HEAVY = AssemblyConfig.for_use("citation_heavy")
"""Answers that cite each claim: a label for each passage, with its page, the best one is [1]."""

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

Measured on five question sets with 20 hits and a limit of 8,000 tokens: .97 of the evidence that a filled budget
holds, with .34 of its tokens.
"""

BY_USE = {use: AssemblyConfig.for_use(use) for use in USES}
"""The settings for each use, by its name."""


FIVE_STAGE = FiveStage()
"""The published five-stage system: expand by one, strip overlap, group, drop whole documents from the tail."""

PUBLISHED_VOICE = FiveStage(format="minimal")
"""The five-stage system for an answer that is spoken: no labels, and the prompt asks for no reference marks."""

SOURCE_BLOCKS = SourceBlocks()
"""The published `[SOURCE n]` system: a block for each chunk, up to the first that would exceed the limit."""

BOOKEND = Bookend()
"""The published bookend system: copies by meaning are dropped, the best is first and the second-best last."""

PUBLISHED_FACTUAL_QA = Pipeline.for_use("factual_qa")
"""The published pipeline for short answers: the best chunks at both ends, each with its score."""

PUBLISHED_SUMMARIZATION = Pipeline.for_use("summarization")
"""The published pipeline for summaries: the chunks under the names of their sources, in reading order."""

PUBLISHED_CITATION_HEAVY = Pipeline.for_use("citation_heavy")
"""The published pipeline for answers that cite each claim: a label for each chunk, the best one is [1]."""

PUBLISHED_CONVERSATIONAL = Pipeline.for_use("conversational")
"""The published pipeline for chat: the text alone, the best chunk first."""

PUBLISHED_TIGHT_BUDGET = Pipeline.for_use("tight_budget")
"""The published pipeline for small windows: the chunk that doesn't fit whole is reduced to its best sentences."""

_SYSTEMS = (FiveStage, SourceBlocks, Bookend, Pipeline)
PUBLISHED: Mapping[str, FiveStage | SourceBlocks | Bookend | Pipeline] = {
    name: value for name, value in globals().items() if isinstance(value, _SYSTEMS)
}
"""The published systems by their names in this module."""
