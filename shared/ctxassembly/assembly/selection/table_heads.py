"""The headers of tables of which a chunk has the later rows: a splitter cuts a long table into several chunks.

Where the best sentences are chosen, a row is picked with its header if there is room for both (`knapsack.py`). Chunks
are chosen whole, so the header is added to them afterwards, from a chunk that was retrieved or fetched. If there is no
room for it, the last lines of the chunk with the rows are cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby, islice
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import DocumentText, subtract_spans
from ctxassembly.assembly.rendering.groups import document_texts
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.selection.result import Selection
from ctxassembly.assembly.selection.shorten import bisect_fitting, merge_spans, truncate
from ctxassembly.data.candidates import Candidate, HeaderDetail
from ctxassembly.data.chunks import Span
from ctxassembly.text.tables import begins_inside_table, header_spans

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
    if not relevance.config.enabled or selection.header_detail is not HeaderDetail.FULL:
        return selection
    rows = [
        own
        for own in selection.selected
        if "|" in own.chunk.text and any(begins_inside_table(own.chunk.text[start:end]) for start, end in own.spans)
    ]
    if not rows:
        return selection
    # Rows that continue a whole chunk have what it has.
    whole = {(own.chunk.document_id, own.position) for own in selection.selected if own.kept_spans is None}
    documents = {
        own.chunk.document_id
        for own in rows
        if own.kept_spans is not None or (own.chunk.document_id, own.position - 1) not in whole
    }
    forms = {candidate.key: candidate for candidate in selection.selected}
    candidates = (candidate for candidate in relevance.candidates if candidate.chunk.document_id in documents)
    by_document = groupby(document_texts(candidates, relevance.joins), lambda text: text.last_chunk.document_id)
    found = (head for _, texts in by_document for head in _missing_heads(forms, [*texts]))
    heads = [*islice((head for head in found if head.owner.key not in relevance.required_keys), MAX_HEADS)]
    if not heads:
        return selection
    for cut in CUTS:
        if changed := _with_heads(selection, heads, cut, relevance):
            return changed
    counts = range(1, len(heads))
    count = bisect_fitting(counts, lambda count: _with_heads(selection, heads[:count], 1, relevance) is not None)
    return (_with_heads(selection, heads[:count], 1, relevance) if count else None) or selection


def _missing_heads(forms: Mapping[int, Candidate], texts: Sequence[DocumentText]) -> Iterator[_Head]:
    """Yield the header of each table of a document of which `forms` have rows without it, for the first of them.

    `forms` are the selected candidates by key, `texts` the texts of all candidates of the document.
    """
    line_starts, headers = header_spans(text.text for text in texts)
    text_starts = accumulate((len(text.text) for text in texts), initial=0)
    members = [
        (text_start + begin, candidate)
        for text_start, text in zip(text_starts, texts, strict=False)
        for begin, candidate in text.members
    ]
    kept: list[Span] = []
    first_rows: dict[Span, Candidate] = {}
    for begin, candidate in members:
        form = forms.get(candidate.key)
        for start, end in form.spans if form else ():
            header = headers[bisect_right(line_starts, begin + start) - 1]
            if form and header and header[0] < begin + start:
                first_rows.setdefault(header, form)
            kept.append((begin + start, begin + end))
    included: list[Span] = []
    for span in sorted(kept):
        included += subtract_spans(span, included[-1:])
    whole_text = "".join(text.text for text in texts)
    for (start, end), rows in first_rows.items():
        if any(whole_text[begin:stop].strip() for begin, stop in subtract_spans((start, end), included)):
            owners = [
                (candidate, begin)
                for begin, candidate in members
                if begin <= start and end <= begin + len(candidate.chunk.text)
            ]
            if owners:
                owner, begin = min(owners, key=lambda found: (found[0].key not in forms, found[0].rank))
                yield _Head(rows, owner, (start - begin, end - begin))


def _with_heads(selection: Selection, heads: Sequence[_Head], cut: int, relevance: Relevance) -> Selection | None:
    """Return `selection` with `heads`; None if that doesn't fit. `cut` is one of `CUTS`."""
    owners = _owners_with(heads, selection)
    changed = {owner.key: owner for owner in owners}
    for rows, _, (start, end) in heads if cut and relevance.config.cite == "document" else ():
        # Rows that were chosen one by one stay; so do all where a header may be below a label that is read later.
        if rows.shortened_by != "sentence" and rows.key not in relevance.required_keys | changed.keys():
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
