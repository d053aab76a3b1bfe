"""The end of an assembly: what was selected -> the context, cited, with its trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ctxassembly.assembly.cite import cite, finish
from ctxassembly.assembly.decisions import Outcomes, decide
from ctxassembly.assembly.expansion.admit import AdmittedHits
from ctxassembly.assembly.fates import (
    Known,
    find_fates,
    find_unread,
    left_out_note,
    outcomes_by_key,
    shortened_chunks,
)
from ctxassembly.assembly.render.labels import Layout
from ctxassembly.assembly.render.page import Load, Page
from ctxassembly.assembly.render.write import write
from ctxassembly.assembly.select.fit import Selection
from ctxassembly.assembly.select.relevant import stopped_note
from ctxassembly.assembly.units import Barred
from ctxassembly.context import Context
from ctxassembly.data.candidates import BELOW_CUTOFF, EMPTY, OUTSIDE_WINDOW, Candidate, Reason, Shortening
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Shortened, Trace
from ctxassembly.lazy import LateTuple
from ctxassembly.tracing import TraceRecorder, count_by_reason
from ctxassembly.wording.formats import infer_format


class Found(NamedTuple):
    """What was retrieved for one context."""

    admitted: AdmittedHits
    neighbors: Sequence[Candidate]
    candidates: Sequence[Candidate]
    """Hits and neighbors without copies."""
    copies: Mapping[int, tuple[Candidate, Reason]]
    """The original of each copy, by the key of the copy, and why it is one."""

    def copied_chunks(self) -> dict[int, list[Chunk]]:
        """Return the copies of each original by its key."""
        found = defaultdict[int, list[Chunk]](list)
        for one in (*self.admitted.candidates, *self.neighbors) if self.copies else ():
            if one.key in self.copies:
                found[self.copies[one.key][0].key].append(one.chunk)
        return found


def make_context(
    page: Page, found: Found, selection: Selection | None, barred: Barred, log: TraceRecorder
) -> Generator[Request, object, Context]:
    """Return the context of `selection`; None if there was nothing to select from."""
    config, pool, text, query = page.config, page.pool, page.text, page.query
    rendered = write(page, Layout([], [])) if selection is None else selection.fitted.rendered
    load = page.weigh(rendered.text) if selection is None else selection.fitted.load
    reader = page.reader
    shortened: dict[int, Shortened] = {}
    everything, copies = (*found.admitted.candidates, *found.neighbors), found.copies
    unread: Mapping[int, Outcomes] = {}
    decided = partial(decide, everything, found.admitted.empty, copies=copies, query=query, reader=reader)
    without_text = {one.key: (one, Outcomes("dropped", EMPTY)) for one in pool.unread}
    decisions = LateTuple(lambda: decided(outcomes=without_text))
    if selection is not None:
        fates = find_fates(text, selection, barred)
        chars_per_token = max(len(rendered.text), 1) / max(load.tokens, 1)
        shortened = shortened_chunks(page, fates, _shortened_by(page), barred.by, chars_per_token)
        known = Known(page, selection, barred, fates, shortened, chars_per_token)
        unread = find_unread(known)
        log.notes += filter(None, [left_out_note(known, unread)])
        if page.is_by_query and not config.fill:
            log.notes += filter(None, [stopped_note(selection, load.tokens, chars_per_token)])
        by_key = partial(outcomes_by_key, known, unread)
        decisions = LateTuple(lambda: decided(outcomes=by_key() | without_text))
    labels = rendered.layout.labels
    included = [pool.candidates[number] for number in sorted({at for label in labels for at in label.chunks})]
    if selection is not None:
        yield from log.end(len(included), lambda: _figures(page, load, unread, len(shortened)))
    yield from log.begin("render", len(included))
    cited = cite(text, pool, rendered, reader, shortened)
    figures = {"labels": len(labels), "tokens": load.tokens, "characters": len(cited.text)}
    yield from log.end(len(included), lambda: figures)
    outside = {pool.candidates[at].key for at, one in unread.items() if one.reason == OUTSIDE_WINDOW}
    chunks = [copies[one.key][0].key if one.key in copies else one.key for one in everything]
    dropped = {
        pool.candidates[at].chunk.document_id
        for at, one in unread.items()
        if one.outcome == "dropped" and one.reason not in (BELOW_CUTOFF, OUTSIDE_WINDOW)
    }
    trace = Trace(
        decisions=decisions,
        chunks=len(found.admitted.empty) + len([key for key in chunks if key not in outside]),
        token_count=load.tokens,
        max_tokens=page.max_tokens,
        hit_counts=page.hit_counts,
        max_characters=config.max_characters,
        documents_dropped=len(dropped - {one.chunk.document_id for one in included}),
    )
    return replace(
        finish(cited, trace, found.admitted.hits, log),
        query=query,
        format=_answer_format(page, cited.headers),
        language=config.language,
        keys=config.keys,
        encoding=str(config.encoding) if isinstance(config.encoding, str) else config.encoding,
        sanitized=config.sanitize,
    )


def _figures(page: Page, load: Load, unread: Mapping[int, Outcomes], shortened_count: int) -> dict[str, Any]:
    """Return the figures of the selection for whoever observes its stage."""
    return {
        **count_by_reason(one.reason for one in unread.values() if one.outcome == "dropped"),
        **({"shortened": shortened_count} if shortened_count else {}),
        "hit_tokens": sum(page.hit_counts),
        "tokens": load.tokens,
        "max_tokens": page.max_tokens,
    }


def _shortened_by(page: Page) -> Shortening:
    """Return why chunks are read in part, if nothing else is the reason."""
    if page.config.compress != "none":
        return "extractive"
    return "sentence" if page.config.effective_granularity(page.query) == "sentence" else "budget"


def _answer_format(page: Page, headers: Mapping[str, str]) -> str:
    """Return the format whose labels an answer should use: the format of the headers that were written."""
    if isinstance(page.config.format, str):
        return page.config.format if not headers or page.headers.are_shown(headers) else "minimal"
    return infer_format(headers)
