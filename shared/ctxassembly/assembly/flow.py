"""The assembly itself: the stages in order, as a generator that asks for I/O instead of doing it.

It yields a request and is sent the reply, or thrown the error of whoever was asked: `FetchChunks` for neighbours,
`EmbedTexts` for vectors, `CompressTexts` for what a language model extracts. So sync and async callers share every
line of it, and what a failure means is decided here once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ctxassembly.assembly.choosing.choose import choose
from ctxassembly.assembly.choosing.chosen import Chosen
from ctxassembly.assembly.choosing.selection import Selector
from ctxassembly.assembly.choosing.supplement import Supplement, Supplemented, supplemented
from ctxassembly.assembly.duplicates.collapse import Duplicates, check_vectors
from ctxassembly.assembly.gathering.admit import admit
from ctxassembly.assembly.gathering.gather import gather
from ctxassembly.assembly.gathering.long_chunks import LongChunks
from ctxassembly.assembly.gathering.missing import Lack, under_filter
from ctxassembly.assembly.gathering.scope import Scope
from ctxassembly.assembly.rendering.cite import Cited, cite
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.rendering.render import SEPARATORS
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Hit
from ctxassembly.data.pieces import Header, Label, Part
from ctxassembly.data.reasons import BEYOND, STOPPED
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Shortened, Trace
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.settings.misuse import wrong_config
from ctxassembly.shown import shown
from ctxassembly.tokens.counter import Counter, counter_for
from ctxassembly.tracing.decisions import Settled, decide
from ctxassembly.tracing.held import held
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.log import Log
from ctxassembly.wording.formats import seen_as
from ctxassembly.wording.particulars import Particulars

_PASSED_THROUGH: dict[str, Any] = {
    "relevance_floor": None,
    "min_chunk_tokens": 0,
    "max_chunk_tokens": None,
    "compress": "none",
}
"""Where hits are only passed through, the budget alone decides."""

Flow = Generator[Request, Sequence[Any], Context]


def assemble_flow(
    hits: Sequence[Hit],
    config: AssemblyConfig | None,
    *,
    query: str | None,
    can_fetch: bool,
    holds_filter: bool | None = None,
    remedies: Mapping[Lack, str] | None = None,
    finds_offsets: bool = False,
    can_embed: bool = False,
    can_compress: bool = False,
    supplement: str | Supplement | None = None,
    labels: Labels | None = None,
    clock: Callable[[], float],
) -> Flow:
    """The context for `hits`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        InputError: `hits`, `config`, `query`, `supplement` or `labels` is of another type.
        ConfigError: semantic deduplication with neither embeddings nor a vector in a hit; compression by a language
            model without one; neighbours that have to be filtered, and no filter.
    """
    config = AssemblyConfig() if config is None else config
    if not isinstance(config, AssemblyConfig):
        raise InputError(f"config must be an AssemblyConfig or None, got {shown(config)}{wrong_config(config)}")
    if query is not None and not isinstance(query, str):
        raise InputError(f"query must be a string or None, got {shown(query)}")
    query = query if query is None else str.__str__(query)
    if not config.enabled:
        config = replace(config, **_PASSED_THROUGH)
    if config.compress == "llm" and not can_compress:
        raise ConfigError("compress", "'none' or 'extractive' where no `llm` is given", config.compress)
    if config.neighbours == "filtered" and can_fetch and not holds_filter:
        allowed = "'auto' or 'unfiltered' where the store isn't known to hold the filter of the search"
        raise ConfigError("neighbours", allowed, config.neighbours)
    if not (labels is None or isinstance(labels, Labels)):
        raise InputError(f"labels must be a Labels or None, got {shown(labels)}")
    if labels is not None and config.first_label != 1:
        raise ConfigError("first_label", "left out where labels are given, as Labels(first) has it", config.first_label)
    counter = counter_for(config.encoding)
    log = Log(clock)

    admitted = admit(hits)
    log.notes += admitted.notes
    log.stage("admit", len(admitted.hits), len(admitted.candidates))

    if config.enabled and config.dedup == "semantic" and not can_embed:
        check_vectors((*admitted.candidates, *admitted.empty))
    lineage = Lineage()
    duplicates = Duplicates(config, lineage, log.notes.append)
    reach = config.reach(query) if can_fetch else 0
    heard = under_filter(remedies) if holds_filter else remedies
    scope = Scope(config) if config.neighbours == "auto" and holds_filter is None else None
    # Where sentences are not chosen by the query, what is cut keeps its beginning.
    long_chunks = LongChunks(counter, config.token_limit, query if config.grain(query) == "sentence" else None)
    near, usable = yield from gather(
        admitted,
        config,
        reach,
        scope,
        lineage,
        duplicates,
        can_embed,
        long_chunks,
        log,
        remedies=heard,
        finds_offsets=finds_offsets,
    )
    seen = (*admitted.candidates, *near)

    found = tuple(candidate for candidate in usable if candidate.is_hit)
    beside = supplemented(supplement, found, query, config, counter)
    second_chances = partial(duplicates.second_chances, seen)
    config, chosen = yield from _with_labels(
        labels,
        config,
        seen,
        lambda config: choose(usable, Selector(config, counter, query), beside, second_chances, lineage, log),
    )
    layout, level, beside = chosen.layout, chosen.level, chosen.beside

    per_token = sum(len(each.text) for each in chosen.taken) / max(layout.token_count, 1)
    shortened = {
        each.key: _measured(each, counter, per_token, config.token_limit)
        for each in chosen.taken
        if each.kept is not None
    }
    standing = layout.labels()
    rows = _placed(standing, layout.blocks(level), beside, config)
    # A header leaves out what the model is not to read; whoever reads a citation may.
    hides = any(each.chunk.unnamed for each in chosen.taken)
    read = Particulars(config.keys, config.language) if hides else layout.particulars
    cited = cite(rows, SEPARATORS[config.separator], read, shortened, config.first_label)
    log.stage("render", len(chosen.taken), sum(len(passage.chunk_ids) for passage in cited.passages))

    settled = Settled(chosen.taken, standing, chosen.left_out, shortened, chosen.elsewhere)
    decisions = decide(seen, admitted.empty, lineage, settled, read, query)
    stopped = {key for key, why in chosen.left_out.items() if why.reason == STOPPED}
    documents = {candidate.chunk.document_id for candidate in chosen.usable if candidate.key not in stopped}
    trace = Trace(
        decisions=decisions,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(admitted.hits),
        chunks=sum(decision.reason != BEYOND for decision in decisions),
        round_trips=log.round_trips,
        missing=log.missing,
        unscoped=log.unscoped,
        token_count=layout.token_count if level is Header.FULL else layout.weigh((), level),
        max_tokens=config.token_limit,
        character_count=len(cited.text),
        max_characters=config.max_characters,
        documents_dropped=len(documents - {candidate.chunk.document_id for candidate in chosen.taken}),
    )
    return Context(
        text=cited.text,
        token_count=trace.token_count,
        passages=cited.passages,
        citations=tuple(block.citation for block in cited.blocks if block.citation is not None),
        blocks=cited.blocks,
        provenance=cited.provenance,
        trace=trace,
        query=query,
        format=_format_of(config, level, layout, cited),
        language=config.language,
        keys=config.keys,
        hits=held(admitted.hits, decisions, chosen.taken),
        encoding=str(config.encoding) if isinstance(config.encoding, str) else config.encoding,
    )


def _with_labels(
    labels: Labels | None,
    config: AssemblyConfig,
    seen: Sequence[Candidate],
    choosing: Callable[[AssemblyConfig], Generator[Request, Sequence[Any], Chosen]],
) -> Generator[Request, Sequence[Any], tuple[AssemblyConfig, Chosen]]:
    """What is chosen, and the config by which it was, which has the next one of `labels` as the first.

    How many of them it takes is known in the end, but what they are decides how long a header is.
    """
    if labels is None:
        return config, (yield from choosing(config))
    one_each = config.enabled and config.cite == "document"
    most = len({candidate.chunk.document_id for candidate in seen} if one_each else seen)
    first = labels.take(most)
    used = 0
    try:
        config = replace(config, first_label=first)
        chosen = yield from choosing(config)
        used = len(chosen.layout.labels())
    finally:
        labels.give_back(first + used, first + most)
    return config, chosen


def _format_of(config: AssemblyConfig, level: Header, layout: Layout, cited: Cited) -> str:
    """What the text looks like to who answers by it."""
    if level is Header.NONE:  # then it is what the minimal format gives: no label to ask for
        return "minimal"
    if isinstance(config.format, str):
        return config.format
    numbers = (block.citation.label for block in cited.blocks if block.citation is not None)
    headers = (block[0].text if block[0].candidate is None else "" for block in layout.blocks(level))
    return seen_as(dict(zip(numbers, headers, strict=True)))


def _placed(
    labels: Sequence[Label], blocks: Sequence[Sequence[Part]], beside: Supplemented, config: AssemblyConfig
) -> list[tuple[Label | None, Sequence[Part]]]:
    """All blocks as they are read; that of the supplement has no label."""
    rows: list[tuple[Label | None, Sequence[Part]]] = [*zip(labels, blocks, strict=True)]
    if beside.parts:
        rows.insert(0 if config.supplement_position == "before" else len(rows), (None, beside.parts))
    return rows


def _measured(candidate: Candidate, counter: Counter, chars_per_token: float, most: int) -> Shortened:
    chunk = candidate.chunk
    by = candidate.shortened_by or "budget"
    texts = chunk.text.strip(), candidate.text.strip()
    if by == "sentence":  # so are nearly all: counting them would take as long as counting the context
        before, after = (max(round(len(text) / chars_per_token), 1) for text in texts)
    else:
        before, after = (counter.about(text, most) for text in texts)
    return Shortened(chunk.id, by, before, after)
