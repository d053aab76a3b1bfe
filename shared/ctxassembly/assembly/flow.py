"""The assembly itself: hits in, the context out, as a generator that asks for I/O instead of doing it.

    gather  hits + neighbors  -> Pool      chunks in reading order, each with rank and distance
    join    Pool              -> Text      one string; overlap stripped; from here on everything is an offset
    score   Text, query       -> Scores    a value for each sentence; without a query for each chunk
    fit     Scores, limits    -> mask      as many of the best as fit
    render  mask              -> Rendered  labels, headers, text
    cite    Rendered          -> Cited     the way back from each character
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from ctxassembly.assembly.arguments import AssemblyCall, Services, check_call
from ctxassembly.assembly.cite import Cited, cite
from ctxassembly.assembly.dedup.dedup import Duplicates
from ctxassembly.assembly.expansion.admit import AdmittedHits, admit_hits
from ctxassembly.assembly.expansion.expand import expand_hits
from ctxassembly.assembly.expansion.fetch import fetch_policy
from ctxassembly.assembly.fates import Chosen, Known, decide, find_fates, shortened_chunks
from ctxassembly.assembly.join import Text, join
from ctxassembly.assembly.pool import Pool, make_pool
from ctxassembly.assembly.render.headers import Headers, make_headers
from ctxassembly.assembly.render.layout import Label, Layout, lay_out
from ctxassembly.assembly.render.write import Rendered, write
from ctxassembly.assembly.score.score import Scores, score_by_query, score_by_rank
from ctxassembly.assembly.select.close import closing
from ctxassembly.assembly.select.cut import HEADER_SHARE, longest_beginning
from ctxassembly.assembly.select.fit import Costs, Fitted, Load, fit
from ctxassembly.assembly.select.parts import PARTS, parts_of
from ctxassembly.assembly.select.relevant import best_first, each_text_once, relevant_count
from ctxassembly.assembly.units import Units, chunk_units, sentence_units
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.candidates import OUTSIDE_WINDOW, HeaderDetail
from ctxassembly.data.chunks import Span
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Trace
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.recorder import TraceRecorder
from ctxassembly.tracing.retained_hits import retain_hits
from ctxassembly.wording.formats import infer_format
from ctxassembly.wording.metadata_labels import MetadataReader

AssemblyFlow = Generator[Request, Sequence[Any], Context]


def assemble_flow(call: AssemblyCall, services: Services, clock: Callable[[], float]) -> AssemblyFlow:
    """Return the context for the hits of `call`. `clock` gives seconds and is used for the trace only."""
    config, query = check_call(call, services)
    log, lineage = TraceRecorder(clock, services.is_observed), Lineage()
    yield from log.begin("admit", len(call.hits) if isinstance(call.hits, Sequence) else 0)
    admitted = admit_hits(call.hits)
    log.notes += admitted.notes
    yield from log.end(len(admitted.candidates))
    duplicates = Duplicates(config, lineage, log.notes.append, can_embed=services.can_embed)
    policy = fetch_policy(config, query, services.store)
    neighbors, candidates = yield from expand_hits(admitted, config, policy, duplicates, log)

    count = counter_for(config.encoding)._count
    pool = make_pool(candidates, by_document=config.enabled)
    text = join(pool, config)
    is_by_query = config.effective_granularity(query) == "sentence"
    if not pool.candidates:
        units, scores = None, None
    elif is_by_query and query:
        units = sentence_units(text, pool)
        scores = score_by_query(text, pool, units, query, config.keys)
    else:
        units = chunk_units(text, pool)
        scores = score_by_rank(pool, units)
    if units is None or scores is None:
        raise NotImplementedError
    max_tokens, max_characters = config.token_limit, config.max_characters

    def weigh(rendered: Rendered) -> Load:
        written = rendered.text
        tokens = count(written)
        share = max(tokens / max_tokens, len(written) / max_characters if max_characters else 0.0)
        return Load(tokens, share)

    headers = make_headers(pool, config)
    close = closing(units)
    order = best_first(scores)
    share_per_cost = _sample(text, units, order, count) / max_tokens
    order, copies = each_text_once(text, units, order, 1 / share_per_cost)
    tokens = units.costs * (share_per_cost * max_tokens)
    if is_by_query and not config.fill:
        order = order[: relevant_count(scores, order, tokens[order], config.min_relevance, max_tokens)]
    parts = np.zeros(len(units.starts), np.intp)
    if is_by_query and config.order == "auto":
        parts = parts_of(units, scores, order, close, tokens, max_tokens)
    header_costs = np.repeat([4 + len(headers.lines(1, Label(0, number, first, (first,), (), 0.0), HeaderDetail.FULL, is_first=True)[0]) / 4 for number, first in enumerate(pool.documents)], PARTS) * (1 / (share_per_cost * max_tokens))
    costs = Costs(units, PARTS * units.documents + parts, header_costs)

    def rendering(mask: Any) -> Rendered:
        layout = lay_out(text, pool, units, scores, parts, mask, config, by_value=is_by_query)
        return write(text, layout, headers, HeaderDetail.FULL, config.first_label)

    found = fit(costs, order, close, rendering, weigh, share_per_cost)
    if found is None:
        found = _cut(text, pool, units, scores, parts, order, headers, config, weigh, by_value=is_by_query)
    chosen = Chosen(found.mask, order, copies, "sentence" if is_by_query else "budget")
    fates = find_fates(text, units, found.rendered, chosen)
    read = sum(fate.characters for fate in fates)
    chars_per_token = max(read, 1) / max(found.load.tokens, 1)
    shortened = shortened_chunks(pool, fates, chosen.by, chars_per_token)
    reader = MetadataReader(config.keys, config.language)
    cited = cite(text, pool, found.rendered, config.first_label, reader, shortened)
    known = Known(text, pool, units, scores, chosen, fates, shortened, chars_per_token)
    decisions = decide(
        known, (*admitted.candidates, *neighbors), admitted.empty, lineage.duplicates(), config.window, query if is_by_query else None, reader
    )
    included = [pool.candidates[number] for label in found.rendered.layout.labels for number in label.chunks]
    documents = {one.chunk.document_id for one in pool.candidates}
    trace = Trace(
        decisions=decisions,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(admitted.hits),
        chunks=len(decisions) - [decision.reason for decision in decisions].count(OUTSIDE_WINDOW),
        round_trips=log.round_trips,
        missing=log.missing,
        unscoped=log.unscoped,
        token_count=found.load.tokens,
        max_tokens=max_tokens,
        character_count=len(cited.text),
        max_characters=max_characters,
        documents_dropped=len(documents - {one.chunk.document_id for one in included}),
    )
    return Context(
        text=cited.text,
        token_count=found.load.tokens,
        passages=cited.passages,
        citations=tuple(block.citation for block in cited.blocks if block.citation is not None),
        blocks=cited.blocks,
        provenance=cited.provenance,
        trace=trace,
        query=query,
        format=config.format if isinstance(config.format, str) else "custom",
        language=config.language,
        keys=config.keys,
        hits=retain_hits(admitted.hits, included),
        encoding=str(config.encoding) if isinstance(config.encoding, str) else config.encoding,
        sanitized=config.sanitize,
    )


SAMPLES, SAMPLE = 5, 120
"""The best units, and the characters of each, by which tokens per cost are estimated before anything is rendered."""


def _sample(text: Text, units: Units, order: Any, count: Callable[[str], int]) -> float:
    """Return the tokens by cost in the beginnings of the best units."""
    best = order[:SAMPLES]
    starts, ends = units.starts[best], units.ends[best]
    beginnings = [text.text[start : min(end, start + SAMPLE)].rstrip() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    shares = np.minimum(SAMPLE / np.maximum(ends - starts, 1), 1.0)
    return max(count("\n".join(beginnings)), 1) / max(float(units.costs[best] @ shares), 1.0)


def _cut(
    text: Text, pool: Pool, units: Units, scores: Scores, parts: Any, order: Any, headers: Headers, config: AssemblyConfig,
    weigh: Callable[[Rendered], Load], *, by_value: bool,
) -> Fitted:
    """Return the best unit with less of a header, or as much of it as fits."""
    mask = np.zeros(len(units.starts), bool)
    mask[order[:1]] = True
    layout = lay_out(text, pool, units, scores, parts, mask, config, by_value=by_value)
    for detail in (HeaderDetail.NO_SUMMARY, HeaderDetail.LABEL, HeaderDetail.NONE):
        rendered = write(text, layout, headers, detail, config.first_label)
        load = weigh(rendered)
        if load.share <= 1:
            return Fitted(mask, rendered, load)
    [label] = layout.labels

    def beginning(run: Span, detail: HeaderDetail) -> Rendered:
        short = layout._replace(labels=[label._replace(runs=(run,))])
        return write(text, short, headers, detail, config.first_label)

    for detail in HeaderDetail:
        start = label.runs[0][0]
        if detail is not HeaderDetail.NONE and weigh(beginning((start, start + 1), detail)).share > HEADER_SHARE:
            continue
        run = longest_beginning(text.text, label.runs[0], lambda run, detail=detail: weigh(beginning(run, detail)).share <= 1)
        if run is not None:
            rendered = beginning(run, detail)
            return Fitted(mask, rendered, weigh(rendered))
    empty = Rendered([], [], [], Layout([], layout.owns))
    return Fitted(np.zeros(len(mask), bool), empty, Load(count_empty(weigh, empty), 0.0))


def count_empty(weigh: Callable[[Rendered], Load], empty: Rendered) -> int:
    """Return the tokens of an empty context: a tokenizer may count special ones."""
    return weigh(empty).tokens
