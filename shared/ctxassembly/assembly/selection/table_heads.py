"""The headers of tables of which a chunk has the later rows: a splitter cuts a long table into several chunks.

Where the best sentences are chosen, a row is picked with its header if there is room for both (`companions.py`). Chunks
are chosen whole, so the header is added to them afterwards, from a chunk that was retrieved or fetched. If there is no
room for it, the last lines of the chunk with the rows are cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import subtract_spans
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.prefilter import must_keep_whole
from ctxassembly.assembly.selection.result import Selection
from ctxassembly.assembly.selection.shorten import bisect_fitting, merge_spans, truncate
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, HeaderDetail
from ctxassembly.data.chunks import Span

MAX_HEADS = 100
"""Most headers that are added: each is found among all candidates, and tried next to all that is selected."""
CUTS = (0, 1, 2, 4)
"""What is tried to make room: lines of the rows with this many times the characters of the header are cut."""


class _Head(NamedTuple):
    """A header that rows lack."""

    rows: Candidate
    """The candidate that begins inside the table, as it is selected."""
    owner: Candidate
    """The candidate that has the header, as it was offered."""
    span: Span
    """The header in the owner's text."""


def add_table_heads(selection: Selection, relevance: Relevance) -> Selection:
    """Return `selection` with the headers that its rows lack, as far as candidates have them and they fit."""
    config = relevance.config
    if not config.enabled or selection.header_detail is not HeaderDetail.FULL:
        return selection
    whole = {(own.chunk.document_id, own.position) for own in selection.selected if own.kept_spans is None}
    documents = {
        own.chunk.document_id
        for own in selection.selected
        # Rows that continue a whole chunk have what it has.
        if (own.kept_spans is not None or (own.chunk.document_id, own.position - 1) not in whole)
        and _may_begin_in_table(own)
    }
    if not documents:
        return selection
    if not relevance.decides:  # nothing was read yet, and the other documents needn't be
        own = [candidate for candidate in relevance.candidates if candidate.chunk.document_id in documents]
        relevance = replace(relevance, candidates=own)
    forms = {candidate.key: candidate for candidate in selection.selected}
    found = (head for head in _missing_heads(forms, relevance.sentences) if not must_keep_whole(head.owner, config))
    heads = [*islice(found, MAX_HEADS)]
    if not heads:
        return selection
    for cut in CUTS:
        if changed := _with_heads(selection, heads, cut, config):
            return changed
    counts = range(1, len(heads))
    count = bisect_fitting(counts, lambda count: _with_heads(selection, heads[:count], 1, config) is not None)
    return (_with_heads(selection, heads[:count], 1, config) if count else None) or selection


def _may_begin_in_table(candidate: Candidate) -> bool:
    """Return False if no kept slice of `candidate` begins with a row of a table, or inside one."""
    text = candidate.chunk.text
    lines = (text[start:end].lstrip().partition("\n")[0].rstrip() for start, end in candidate.spans)
    return any(line.endswith("|") and line.count("|") > 1 for line in lines)  # a line of a grammar begins with a bar


def _missing_heads(forms: Mapping[int, Candidate], sentences: ScoredSentences) -> Iterator[_Head]:
    """Yield the header of each table of which the selected `forms` have rows without it, for the first of them."""
    included: set[int] = set()
    first_rows: dict[int, Candidate] = {}
    for share in sentences.candidate_spans:
        form = forms.get(share.candidate.key)
        for start, end in form.spans if form else ():
            first = bisect_right(sentences.boundaries, share.start + start) - 1
            if form and sentences.lines.is_row(first):
                first_rows.setdefault(first, form)
            included.update(_whole_sentences(sentences, share.start + start, share.start + end))
    for index, rows in first_rows.items():
        head = [at for at in sentences.lines.needed(index) or () if at < index]
        if not included.issuperset(head):
            included.update(head)
            begin, end = sentences.boundaries[head[0]], sentences.boundaries[head[-1] + 1]
            owners = [
                share
                for share in sentences.candidate_spans
                if share.start <= begin and head[-1] in _whole_sentences(sentences, begin, share.end)
            ]
            if owners:
                owner = min(owners, key=lambda share: (share.candidate.key not in forms, share.candidate.rank))
                yield _Head(rows, owner.candidate, (begin - owner.start, min(end, owner.end) - owner.start))


def _whole_sentences(sentences: ScoredSentences, start: int, end: int) -> range:
    """Return the indexes of the sentences of which all but white space is between two offsets."""
    boundaries = sentences.boundaries
    first, stop = bisect_left(boundaries, start), bisect_left(boundaries, end)
    if (
        first < stop
        and boundaries[stop - 1] + len(sentences.text[boundaries[stop - 1] : boundaries[stop]].rstrip()) > end
    ):
        stop -= 1
    return range(first, stop)


def _with_heads(selection: Selection, heads: Sequence[_Head], cut: int, config: AssemblyConfig) -> Selection | None:
    """Return `selection` with `heads`; None if that doesn't fit. `cut` is one of `CUTS`."""
    owners = _owners_with(heads, selection)
    changed = {owner.key: owner for owner in owners}
    for rows, _, (start, end) in heads if cut and config.cite == "document" else ():
        # Rows that were chosen one by one stay; so do all where a header may be below a label that is read later.
        if rows.shortened_by != "sentence" and not must_keep_whole(rows, config) and rows.key not in changed:
            changed[rows.key] = _without_last_lines(rows, cut * (end - start))
    return _with_forms(selection, [*changed.values()])


def _without_last_lines(rows: Candidate, chars: int) -> Candidate:
    """Return `rows` without the last lines that have at least so many characters; the first line stays."""
    text = rows.text.rstrip()
    ends = [match.end() for match in re.finditer("\n", text)]
    end = next((end for end in reversed(ends) if len(text) - end >= chars), ends[0] if ends else 0)
    return truncate(rows, end, "budget") if end else rows


def _owners_with(heads: Sequence[_Head], selection: Selection) -> list[Candidate]:
    """Return the candidates that have `heads`, as they are selected, with these headers, too."""
    selected, owners = {candidate.key: candidate for candidate in selection.selected}, dict[int, Candidate]()
    for _, owner, span in heads:
        key = owner.key
        form = owners.get(key) or selected.get(key) or owner._replace(kept_spans=(), shortened_by="sentence")
        spans = sorted([*form.spans, *subtract_spans(span, form.spans)])
        owners[key] = form._replace(kept_spans=merge_spans(spans))
    return [*owners.values()]


def _with_forms(selection: Selection, forms: Sequence[Candidate]) -> Selection | None:
    """Return `selection` with `forms` of candidates in place of any others; None if that doesn't fit."""
    keys = {form.key for form in forms}
    changed = replace(
        selection,
        exclusions={key: exclusion for key, exclusion in selection.exclusions.items() if key not in keys},
        repeated_by={key: candidate for key, candidate in selection.repeated_by.items() if key not in keys},
        shortened={**selection.shortened, **{form.key: form for form in forms}},
    )
    selected, layout = changed.selected, selection.layout.cleared()
    return replace(changed, layout=layout.with_candidates(selected)) if layout.fits(selected) else None
