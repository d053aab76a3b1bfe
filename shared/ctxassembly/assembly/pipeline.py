"""The assembly itself: its stages in order, as a generator that asks for I/O instead of doing it.

It yields a request and is sent the reply, or thrown the error of whoever was asked: `FetchChunks` for neighbours,
`EmbedTexts` for vectors, `ScoreTexts` for the scores of sentences, `CompressTexts` for what a language model extracts.
So sync and async callers share every line of it, and the meaning of a failure is decided here once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ctxassembly.assembly.arguments import Call, Services, checked
from ctxassembly.assembly.dedup.dedup import Duplicates, check_vectors
from ctxassembly.assembly.expansion.admit import Admitted, admit
from ctxassembly.assembly.expansion.expand import gather
from ctxassembly.assembly.expansion.fetch import surroundings
from ctxassembly.assembly.expansion.long_chunks import LongChunks
from ctxassembly.assembly.rendering.cite import Cited, cite
from ctxassembly.assembly.rendering.render import SEPARATORS
from ctxassembly.assembly.selection.result import Chosen
from ctxassembly.assembly.selection.scorer import scores_for
from ctxassembly.assembly.selection.select import choose
from ctxassembly.assembly.selection.selector import Selector
from ctxassembly.assembly.selection.supplement import Supplemented, supplemented
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.candidates import BEYOND, EMPTY, STOPPED, Candidate, Header, Label, Part
from ctxassembly.data.chunks import Fragment
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Decision, Shortened, Trace
from ctxassembly.tokens.counter import Counter, counter_for
from ctxassembly.tracing.decisions import Settled, decide, held
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.recorder import Log, by_reason
from ctxassembly.wording.formats import seen_as
from ctxassembly.wording.metadata_labels import Particulars

Flow = Generator[Request, Sequence[Any], Context]


def assemble_flow(call: Call, services: Services, clock: Callable[[], float]) -> Flow:
    """The context for the hits of `call`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        InputError: an argument of the call is of another type.
        ConfigError: semantic deduplication with neither embeddings nor a vector in a hit; compression by a language
            model without one; neighbours that have to be filtered, and no filter.
    """
    config, query = checked(call, services)
    counter = counter_for(config.encoding)
    lineage, log = Lineage(), Log(clock, services.is_watched)

    yield from log.begin("admit", len(call.hits) if isinstance(call.hits, Sequence) else 0)
    admitted = admit(call.hits)
    log.notes += admitted.notes
    yield from log.end(len(admitted.candidates), lambda: by_reason([EMPTY] * len(admitted.empty)))

    if config.enabled and config.dedup == "semantic" and not services.can_embed:
        check_vectors((*admitted.candidates, *admitted.empty))
    duplicates = Duplicates(config, lineage, log.notes.append, can_embed=services.can_embed)
    around = surroundings(config, query, services.store)
    # The middle of a long chunk is worth reading only where the query chooses sentences: other cuts keep beginnings.
    long_chunks = LongChunks(counter, config.token_limit, query if config.grain(query) == "sentence" else None)
    near, usable = yield from gather(admitted, config, around, duplicates, long_chunks, log)
    seen = (*admitted.candidates, *near)

    hits = tuple(candidate for candidate in usable if candidate.is_hit)
    beside = supplemented(call.supplement, hits, query, config, counter)
    selector = Selector(config, counter, query)
    scores = (yield from scores_for(usable, selector, beside, log)) if services.can_score else {}
    second_chances = partial(duplicates.second_chances, seen)
    config, chosen = yield from _with_labels(
        call.labels,
        config,
        seen,
        lambda config: choose(usable, Selector(config, counter, query, scores), beside, second_chances, lineage, log),
    )

    yield from log.begin("render", len(chosen.taken))
    written = _write(chosen, config, counter)
    standing = sum(len(passage.chunk_ids) for passage in written.cited.passages)
    yield from log.end(standing, partial(_told, written))

    settled = Settled(chosen.taken, written.labels, chosen.left_out, written.shortened, chosen.elsewhere, chosen.worth)
    decisions = decide(seen, admitted.empty, lineage, settled, written.read, query)
    trace = _trace(admitted, written, decisions, config, log)
    return _context(written, trace, query, config, held(admitted.hits, decisions, chosen.taken))


def _with_labels(
    labels: Labels | None,
    config: AssemblyConfig,
    seen: Sequence[Candidate],
    choosing: Callable[[AssemblyConfig], Generator[Request, Sequence[Any], Chosen]],
) -> Generator[Request, Sequence[Any], tuple[AssemblyConfig, Chosen]]:
    """The choice, and the config it was made by, whose first label is the next one of `labels`.

    A header is longer or shorter by its number, so the numbers are needed before the choice and their count is known
    only after it: as many as could be used are reserved, and the rest is given back.
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


@dataclass(frozen=True, slots=True)
class _Written:
    """The choice as it is written."""

    chosen: Chosen
    labels: Sequence[Label]
    shortened: Mapping[int, Shortened]
    """The candidates that stand in part, by key."""
    read: Particulars
    """Reads metadata for citations and decisions."""
    cited: Cited


def _write(chosen: Chosen, config: AssemblyConfig, counter: Counter) -> _Written:
    """Render and cite `chosen`."""
    layout = chosen.layout
    chars_per_token = sum(len(candidate.text) for candidate in chosen.taken) / max(layout.token_count, 1)
    shortened = {
        candidate.key: _measured(candidate, counter, chars_per_token, config.token_limit)
        for candidate in chosen.taken
        if candidate.kept is not None
    }
    labels = layout.labels()
    rows = _rows(labels, layout.blocks(chosen.level), chosen.beside, config)
    # A header leaves out what the model is not to read; whoever reads a citation may.
    hides = any(candidate.chunk.unnamed for candidate in chosen.taken)
    read = Particulars(config.keys, config.language) if hides else layout.particulars
    cited = cite(rows, SEPARATORS[config.separator], read, shortened, config)
    return _Written(chosen, labels, shortened, read, cited)


def _told(written: _Written) -> Mapping[str, Any]:
    """The outcome of rendering, as its stage tells it."""
    return {"labels": len(written.labels), "tokens": written.chosen.token_count, "characters": len(written.cited.text)}


def _rows(
    labels: Sequence[Label], blocks: Sequence[Sequence[Part]], beside: Supplemented, config: AssemblyConfig
) -> list[tuple[Label | None, Sequence[Part]]]:
    """All blocks in reading order, each with its label; the block of the supplement has none."""
    rows: list[tuple[Label | None, Sequence[Part]]] = [*zip(labels, blocks, strict=True)]
    if beside.parts:
        rows.insert(0 if config.supplement_position == "before" else len(rows), (None, beside.parts))
    return rows


def _measured(candidate: Candidate, counter: Counter, chars_per_token: float, most: int) -> Shortened:
    """The record of a candidate that stands in part, with its tokens before and after."""
    chunk = candidate.chunk
    by = candidate.shortened_by or "budget"
    texts = chunk.text.strip(), candidate.text.strip()
    if by == "sentence":  # so are nearly all: counting them would take as long as counting the context
        before, after = (max(round(len(text) / chars_per_token), 1) for text in texts)
    else:
        before, after = (counter.about(text, most) for text in texts)
    return Shortened(chunk.id, by, before, after)


def _trace(
    admitted: Admitted, written: _Written, decisions: tuple[Decision, ...], config: AssemblyConfig, log: Log
) -> Trace:
    """The trace, with the figures of its summary."""
    chosen = written.chosen
    stopped = {key for key, why in chosen.left_out.items() if why.reason == STOPPED}
    documents = {candidate.chunk.document_id for candidate in chosen.usable if candidate.key not in stopped}
    return Trace(
        decisions=decisions,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(admitted.hits),
        chunks=sum(decision.reason != BEYOND for decision in decisions),
        round_trips=log.round_trips,
        missing=log.missing,
        unscoped=log.unscoped,
        token_count=chosen.token_count,
        max_tokens=config.token_limit,
        character_count=len(written.cited.text),
        max_characters=config.max_characters,
        documents_dropped=len(documents - {candidate.chunk.document_id for candidate in chosen.taken}),
    )


def _context(
    written: _Written, trace: Trace, query: str | None, config: AssemblyConfig, hits: tuple[Fragment, ...]
) -> Context:
    cited = written.cited
    return Context(
        text=cited.text,
        token_count=trace.token_count,
        passages=cited.passages,
        citations=tuple(block.citation for block in cited.blocks if block.citation is not None),
        blocks=cited.blocks,
        provenance=cited.provenance,
        trace=trace,
        query=query,
        format=_format_of(written, config),
        language=config.language,
        keys=config.keys,
        hits=hits,
        encoding=str(config.encoding) if isinstance(config.encoding, str) else config.encoding,
        sanitized=config.sanitize,
    )


def _format_of(written: _Written, config: AssemblyConfig) -> str:
    """The format whose labels an answer is to use; that of a caller's function is read off its headers."""
    level = written.chosen.level
    if level is Header.NONE:  # then it is what the minimal format gives: no label to ask for
        return "minimal"
    if isinstance(config.format, str):
        return config.format
    numbers = (block.citation.label for block in written.cited.blocks if block.citation is not None)
    blocks = written.chosen.layout.blocks(level)
    headers = (block[0].text if block[0].candidate is None else "" for block in blocks)
    return seen_as(dict(zip(numbers, headers, strict=True)))
