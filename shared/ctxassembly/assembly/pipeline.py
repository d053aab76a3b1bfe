"""The assembly itself: hits in, the context out, as a generator that asks for I/O instead of doing it.

gather  hits + neighbors  -> Pool      chunks in reading order, each with rank and distance
join    Pool              -> Text      one string; overlap stripped; from here on everything is an offset
score   Text, query       -> Units     a value for each sentence; without a query for each chunk
select  Units, limits     -> mask      as many of the best as fit
render  mask              -> Rendered  labels, headers, text
cite    Rendered          -> Cited     the way back from each character
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from ctxassembly.assembly.arguments import AssemblyCall, Services, check_call, unused_settings
from ctxassembly.assembly.compress import ask_model
from ctxassembly.assembly.conversation import in_conversation, most_labels
from ctxassembly.assembly.dedup.dedup import Duplicates, check_vectors
from ctxassembly.assembly.expansion.admit import admit_hits
from ctxassembly.assembly.expansion.expand import expand_hits
from ctxassembly.assembly.expansion.fetch import fetch_policy
from ctxassembly.assembly.join import Text, join, with_contained
from ctxassembly.assembly.limits import hit_counts
from ctxassembly.assembly.outcome import Found, make_context
from ctxassembly.assembly.pool import Pool, make_pool
from ctxassembly.assembly.render.headers import format_name, make_headers
from ctxassembly.assembly.render.labels import label_numbers
from ctxassembly.assembly.render.leads import make_leads
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.score.score import score_by_query, score_by_rank
from ctxassembly.assembly.score.scorer import request_scores
from ctxassembly.assembly.select.fit import Selection
from ctxassembly.assembly.select.select import may_not_fit, select
from ctxassembly.assembly.select.whole import coarser
from ctxassembly.assembly.sent import Sent, bar_sent, find_sent
from ctxassembly.assembly.supplement import RenderedSupplement, render_supplement
from ctxassembly.assembly.units import Barred, Units, chunk_units, sentence_units
from ctxassembly.assembly.unread import without_unread
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import ReservedLabels, reserve_labels
from ctxassembly.data.candidates import ALREADY_SENT
from ctxassembly.data.chunks import Hit, ReadHit
from ctxassembly.data.requests import Request
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tracing import TraceRecorder
from ctxassembly.wording.label_guards import Guards

Settings = tuple[AssemblyConfig, "str | None", AssemblyCall]
"""The settings in force, the query, and the call as it was given."""
AssemblyFlow = Generator[Request, Sequence[Any], Context]


def assemble_flow(call: AssemblyCall, services: Services, clock: Callable[[], float]) -> AssemblyFlow:
    """Return the context for the hits of `call`. `clock` gives seconds and is used for the trace only.

    Raises:
        InputError: an argument of the call is of another type.
        ConfigError: semantic deduplication with neither embeddings nor a vector in a hit; compression by a language
            model without one; neighbors that have to be filtered, and no filter.
    """
    query = check_call(call, services)
    config = call.config if isinstance(call.config, AssemblyConfig) else AssemblyConfig()
    if not config.enabled:  # hits are only passed through, and the budget alone decides
        config = replace(config, compress="none")
    if config.compress == "llm" and not services.can_compress:
        raise ConfigError.missing("llm", "compress='llm'", "a language model", "compress='extractive'")
    log = TraceRecorder(clock, services.is_observed)
    found = yield from _gather(call, config, query, services, log)
    pool = make_pool(found.candidates, by_document=config.enabled)._replace(copies=found.copied_chunks())
    labels = reserve_labels(call.conversation, config.first_label, most_labels(config, pool))
    try:
        page = _page(pool, found, (config, query, call), labels, log)
        page, selection, barred = yield from _select(page, services, log)
        context = yield from make_context(page, found, selection, barred, log)
        labels.use(context.citations)
    finally:
        labels.release()
    return in_conversation(context, page, found, barred, call.conversation)


def _select(
    page: Page, services: Services, log: TraceRecorder
) -> Generator[Request, Any, tuple[Page, Selection | None, Barred]]:
    """Return what is read of the text of `page`, and why some of it may not be; None if there is no text.

    The page has no supplement if the best hit fits only without.
    """
    if not page.pool.candidates:
        return page, None, Barred()
    text, pool, config, query = page.text, page.pool, page.config, page.query
    units = _scored(text, pool, config, query)
    if services.can_score and page.is_by_query and query and may_not_fit(page):
        units = yield from request_scores(page, units, log)
    units, barred = coarser(page, units, log.notes), Barred()
    if page.sent.spans:
        yield from log.begin("conversation", len(pool.candidates))
        units, barred = bar_sent(text, units, page.sent)
        yield from log.end(len(pool.candidates), lambda: {ALREADY_SENT: len(barred.reasons)})
    yield from log.begin("budget", len(pool.candidates))
    if config.compress == "llm" and may_not_fit(page):
        units, barred = yield from ask_model(page, units, barred, log.notes)
    selection = select(page, units)
    if page.supplement.text and _lacks_best(page, selection):
        alone = replace(page, supplement=RenderedSupplement())
        without = select(alone, units)
        if not _lacks_best(page, without) or not selection.fitted.mask.any():
            log.notes[:] = [note for note in log.notes if not note.startswith("supplement: included")]
            log.notes.append("supplement: left out, the best hit does not fit next to it")
            page, selection = alone, without
    log.notes += [selection.note] if selection.note else []
    return page, selection, barred


def _lacks_best(page: Page, selection: Selection) -> bool:
    """Return True if the best hit is cut because nothing fits whole, or compressed."""
    if selection.note or page.config.compress == "none":
        return bool(selection.note)
    best, units = page.best, selection.units
    return not selection.fitted.mask[units.firsts[best] : units.lasts[best]].all()


def _gather(
    call: AssemblyCall, config: AssemblyConfig, query: str | None, services: Services, log: TraceRecorder
) -> Generator[Request, Sequence[Any], Found]:
    """Return the hits and their neighbors, copies apart."""
    if isinstance(config.max_tokens, TokenBudget) and (cut_note := config.max_tokens.cut_note):
        log.notes.append(cut_note)
    if unused := unused_settings(config, has_store=services.store is not None):
        log.notes.append(f"enabled=False: hits are written as they came, without {' and '.join(unused)}")
    admitted = yield from admit_hits(call.hits, log)
    if config.enabled and config.dedup == "semantic" and not services.can_embed:
        check_vectors((*admitted.candidates, *admitted.empty))
    duplicates = Duplicates(config, log, can_embed=services.can_embed)
    policy = fetch_policy(config, query, services.store)
    neighbors, candidates = yield from expand_hits(admitted, config, query, policy, duplicates, log)
    return Found(admitted, neighbors, candidates, duplicates.originals())


def _page(pool: Pool, found: Found, settings: Settings, labels: ReservedLabels, log: TraceRecorder) -> Page:
    """Return the writer of the context."""
    config, query, call = settings
    text = join(pool, config)
    if config.enabled:
        text, pool, notes = without_unread(text, pool)
        log.notes += notes
    pool = with_contained(text, pool)
    count, conversation = counter_for(config.encoding), call.conversation
    hits = found.admitted.hits
    counts = hit_counts(hits, config.encoding)
    limit = config.limit_for(counts, query)
    supplement = render_supplement(call.supplement, pool.candidates, query, config, limit, count)
    log.notes += supplement.notes
    sent = Sent()
    if conversation is not None and config.enabled and config.repeat == "never":
        sent = find_sent(text, pool, conversation)
    headers = make_headers(pool, config, sent)
    return Page(
        text,
        pool,
        config,
        headers,
        make_leads(text, pool, headers),
        Guards(format_name(config), supplement.own_lines, config.sanitize),
        label_numbers(pool, config, conversation, labels.first),
        [(one.distance > 0, one.rank, one.distance) for one in pool.candidates],
        count,
        limit,
        counts,
        query,
        config.is_query_aware(query),
        sent,
        _chosen(pool, hits, query),
        supplement,
    )


def _chosen(pool: Pool, hits: Sequence[Hit], query: str | None) -> list[int]:
    """Return the numbers of the chunks of `pool` that come out of a context for the same `query`."""
    again = {key for key, hit in enumerate(hits) if isinstance(hit, ReadHit) and hit.query == query}
    return [number for number, candidate in enumerate(pool.candidates) if candidate.key in again]


def _scored(text: Text, pool: Pool, config: AssemblyConfig, query: str | None) -> Units:
    """Return the sentences of `text` with their values for `query`; without one the chunks, by rank."""
    # Of a chunk that is shortened, the sentences that answer best are kept, whatever chunks are ranked by.
    if config.is_query_aware(query) or (config.compress != "none" and query and query.strip()):
        return score_by_query(text, pool, sentence_units(text), query or "", config.keys)
    return score_by_rank(pool, sentence_units(text) if config.compress != "none" else chunk_units(text), config.window)
