"""The assembly itself: the stages in order, as a generator that asks for I/O instead of doing it.

It yields a request and is sent the reply, or thrown the error of whoever was asked: `FetchChunks` for neighbours,
`EmbedTexts` for vectors. So sync and async callers share every line of it, and what a failure means is decided here
once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from ctxassembly.admit import admit
from ctxassembly.budget import Filled, fill, shorten
from ctxassembly.cite import cite
from ctxassembly.config import AssemblyConfig, Granularity
from ctxassembly.context import Context
from ctxassembly.duplicates import Duplicates, check_vectors
from ctxassembly.explain import decide
from ctxassembly.gather import gather
from ctxassembly.keys import look_up
from ctxassembly.layout import Layout
from ctxassembly.lineage import Lineage
from ctxassembly.log import Log
from ctxassembly.render import SEPARATOR
from ctxassembly.requests import Request
from ctxassembly.supplement import Supplement, Supplemented, supplemented
from ctxassembly.tokens import Counter, counter_for
from ctxassembly.types import Candidate, Header, Hit, Label, Part, Trace

Flow = Generator[Request, Sequence[Any], Context]


def assemble_flow(
    hits: Sequence[Hit],
    config: AssemblyConfig | None,
    *,
    query: str | None,
    can_fetch: bool,
    can_embed: bool = False,
    supplement: str | Supplement | None = None,
    clock: Callable[[], float],
) -> Flow:
    """The context for `hits`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        ConfigError: semantic deduplication with neither embeddings nor a vector in a hit.
    """
    config = config or AssemblyConfig()
    counter = counter_for(config.encoding)
    log = Log(clock)

    admitted = admit(hits)
    log.notes += admitted.notes
    log.stage("admit", len(hits), len(admitted.candidates))

    if config.enabled and config.dedup == "semantic" and not can_embed:
        check_vectors((*admitted.candidates, *admitted.empty))
    lineage = Lineage()
    duplicates = Duplicates(config, lineage, log.notes.append)
    near, usable = yield from gather(admitted, config, lineage, duplicates, can_fetch, can_embed, log)
    seen = (*admitted.candidates, *near)

    limit = config.token_limit
    found = tuple(candidate for candidate in usable if candidate.is_hit)
    beside = supplemented(supplement, found, query, config, counter)
    layout, filled, beside = _filled(usable, beside, config, counter)
    log.notes += beside.notes
    taken = tuple(candidate for candidate in usable if id(candidate) not in filled.left_out)
    # What the budget left out must not keep its duplicates out as well, unless filling has ended.
    goes_on = config.at_edge == "skip" and _granularity(config) != "document"
    while goes_on and (more := duplicates.second_chances(seen, taken, filled.left_out)):
        again = fill(layout, more, _granularity(config), limit, min_chunk_tokens=config.min_chunk_tokens)
        filled = Filled(filled.left_out | again.left_out, filled.cut)
        usable += more
        taken = tuple(candidate for candidate in usable if id(candidate) not in filled.left_out)
    if filled.cut:
        taken = tuple(lineage.change(each, filled.cut.get(id(each), each)) for each in taken)
    level = Header.FULL
    if usable and not taken:
        for hit in filter(lambda candidate: candidate.is_hit, usable):
            if shortened := shorten(layout, hit, limit):
                short, level = shortened
                layout.take((short,))
                taken = (lineage.change(hit, short),)
                log.notes.append(_shortening(short, level))
                break
    log.stage("budget", len(usable), len(taken))

    labels = layout.labels()
    cited = cite(_placed(labels, layout.blocks(level), beside, config), SEPARATOR, layout.particulars)
    log.stage("render", len(taken), sum(len(passage.pieces) for passage in cited.passages))

    decisions = decide(seen, admitted.empty, lineage.copies(), lineage.now, taken, filled.left_out, labels)
    documents = {candidate.chunk.document_id for candidate in usable}
    trace = Trace(
        decisions=decisions,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(hits),
        chunks=len(decisions),
        round_trips=log.round_trips,
        token_count=layout.weigh((), level),
        max_tokens=limit,
        documents_dropped=len(documents - {candidate.chunk.document_id for candidate in taken}),
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
        # Without room for a header the text is what the minimal format gives: no label to ask for.
        format="minimal" if level is Header.NONE else config.format if isinstance(config.format, str) else "custom",
        language=config.language,
        keys=config.keys,
    )


def _filled(
    usable: Sequence[Candidate], beside: Supplemented, config: AssemblyConfig, counter: Counter
) -> tuple[Layout, Filled, Supplemented]:
    """The layout with what fits of `usable`, what was left out, and the supplement that still stands beside it.

    A supplement gives way rather than that the best hit is left out, is cut or loses its header.
    """
    summaries = _summaries(usable, config.summary_key)

    def filled(parts: Sequence[Part]) -> tuple[Layout, Filled]:
        layout = Layout(config, counter, summaries, parts)
        edge, least = config.at_edge, config.min_chunk_tokens
        grain = _granularity(config)
        return layout, fill(layout, usable, grain, config.token_limit, at_edge=edge, min_chunk_tokens=least)

    layout, first = filled(beside.parts)
    if not beside.parts or not usable or _stands_whole(usable[0], first):
        return layout, first, beside
    alone, second = filled(())
    if layout.labels() and not _stands_whole(usable[0], second):
        return layout, first, beside
    return alone, second, Supplemented(notes=("supplement: left out, the best hit does not fit beside it",))


def _granularity(config: AssemblyConfig) -> Granularity:
    return config.granularity if config.enabled else "chunk"


def _stands_whole(candidate: Candidate, filled: Filled) -> bool:
    return id(candidate) not in filled.left_out and id(candidate) not in filled.cut


def _placed(
    labels: Sequence[Label], blocks: Sequence[Sequence[Part]], beside: Supplemented, config: AssemblyConfig
) -> list[tuple[Label | None, Sequence[Part]]]:
    """All blocks as they are read; that of the supplement has no label."""
    rows: list[tuple[Label | None, Sequence[Part]]] = [*zip(labels, blocks, strict=True)]
    if beside.parts:
        rows.insert(0 if config.supplement_position == "before" else len(rows), (None, beside.parts))
    return rows


_WITHOUT = {
    Header.FULL: "all of its header",
    Header.NO_SUMMARY: "no page summary",
    Header.LABEL: "no summary, source and page",
    Header.NONE: "no header",
}


def _shortening(candidate: Candidate, level: Header) -> str:
    cut = ", its text cut" if candidate.cut else ""
    return f"budget: no item fits whole; {candidate.chunk.id!r} stands alone, with {_WITHOUT[level]}{cut}"


def _summaries(candidates: Iterable[Candidate], key: str) -> Mapping[str, str]:
    """The first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates:
        summary = look_up(candidate.chunk.metadata, key)
        if isinstance(summary, str) and summary.strip():
            document_id, at = candidate.chunk.document_id, candidate.position
            if document_id not in found or at < found[document_id][0]:
                found[document_id] = (at, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}
