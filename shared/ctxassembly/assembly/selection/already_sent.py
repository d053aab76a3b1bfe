"""Text of the candidates that the conversation has, left out before anything is chosen: the room is for new text.

Text is compared, not only ids: a chunk of another version, or of another tenant, was not sent. Nor was the same text
under another document, which has yet to be named. Only candidates of this call are looked at, which passed its filter,
so nothing else of the conversation is described.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.assembly.rendering.earlier import LabelKey, SentChunk, candidate_place, label_key
from ctxassembly.assembly.rendering.excerpt import subtract_spans
from ctxassembly.assembly.rendering.groups import GetJoin, document_texts
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.candidates import ALREADY_SENT, Candidate
from ctxassembly.data.chunks import Chunk, Span


class Unsent(NamedTuple):
    """The candidates without the text that the conversation has."""

    candidates: tuple[Candidate, ...]
    """The ones with new text, reduced to it."""
    labels: Mapping[int, str]
    """By key, the label of the text that is left out of a candidate; candidates without any new text included."""


def leave_out_sent(
    candidates: Sequence[Candidate], conversation: Conversation, get_join: GetJoin
) -> tuple[Unsent, dict[tuple[str, int], SentChunk]]:
    """Return `candidates` without the text that `conversation` has, and the chunks that it has text of, by place.

    Text that a chunk shares with an adjacent one is sent if either has sent it.
    """
    find, sent = _sent_text(conversation), dict[int, tuple[list[Span], str]]()
    for candidate in candidates:
        spans, label = find(candidate)
        if spans:
            sent[candidate.key] = (spans, label)
    documents = {candidate.chunk.document_id for candidate in candidates if candidate.key in sent}
    forms: dict[int, Candidate | None] = {}
    labels = {key: label for key, (_, label) in sent.items()}
    for line in document_texts((one for one in candidates if one.chunk.document_id in documents), get_join):
        found = [
            ((begin + start, begin + end), sent[candidate.key][1])
            for begin, candidate in line.members
            if candidate.key in sent
            for start, end in sent[candidate.key][0]
        ]
        taken = merge_spans(sorted(span for span, _ in found))
        for begin, candidate in line.members if taken else ():
            own = [(begin + start, begin + end) for start, end in candidate.spans]
            rest = [part for span in own for part in subtract_spans(span, taken)]
            if rest == own:
                continue
            text = candidate.chunk.text
            parts = (_without_leading_blank(text, start - begin, end - begin) for start, end in rest)
            kept = tuple((start, end) for start, end in parts if any(map(str.isalnum, text[start:end])))
            forms[candidate.key] = candidate._replace(kept_spans=kept, shortened_by=ALREADY_SENT) if kept else None
            first = next(label for (start, end), label in found if start < own[-1][1] and own[0][0] < end)
            labels.setdefault(candidate.key, first)
    remaining = (forms.get(candidate.key, candidate) for candidate in candidates)
    unsent = Unsent(tuple(one for one in remaining if one is not None), {key: labels[key] for key in forms})
    chunks = {candidate_place(one): SentChunk(labels[one.key], one.chunk) for one in candidates if one.key in sent}
    return unsent, chunks


def known_labels(
    conversation: Conversation, chunks: Iterable[Chunk], source_of: Callable[[Chunk], str], config: AssemblyConfig
) -> dict[LabelKey, tuple[int, ...]]:
    """Return the labels that the conversation has given to what `chunks` are of, if the source has that name in all."""
    sources: dict[str, set[str]] = defaultdict(set)
    for chunk in chunks:
        sources[chunk.document_id].add(source_of(chunk))
    found: dict[LabelKey, dict[int, None]] = defaultdict(dict)
    for citation in conversation.citations:
        if sources.get(citation.document_id) != {citation.source}:
            continue
        ids = citation.chunk_ids if config.cite == "chunk" else citation.chunk_ids[:1]
        for key in {label_key(config, Chunk(chunk_id, citation.document_id, "")) for chunk_id in ids} - {None}:
            found[key or ()][int(citation.label)] = None
    return {key: tuple(labels) for key, labels in found.items()}


def _sent_text(conversation: Conversation) -> Callable[[Candidate], tuple[list[Span], str]]:
    """Return a function from a candidate to the spans of its text that `conversation` has, and their first label."""
    by_chunk: dict[tuple[str, str], list[tuple[Span, str, str]]] = defaultdict(list)
    by_text: dict[tuple[str, str], str] = {}
    for context in conversation.sent:
        for label, source in context.labeled_sources():
            text = context.text[slice(*source.span)]
            by_chunk[source.document_id, source.chunk_id].append((source.chunk_span, text, label))
            by_text.setdefault((source.document_id, text.strip()), label)

    def find(candidate: Candidate) -> tuple[list[Span], str]:
        document_id, text = candidate.chunk.document_id, candidate.chunk.text
        spans: list[Span] = []
        first_label = ""
        for (start, end), sent, label in by_chunk.get((document_id, candidate.chunk.id), ()):
            if text.startswith(sent, start):
                spans.append((start, end))
                first_label = first_label or label
        if not spans and (label := by_text.get((document_id, text.strip()), "")):
            return [(0, len(text))], label
        return spans, first_label

    return find


def _without_leading_blank(text: str, start: int, end: int) -> Span:
    """Return the span without the blank at its beginning, which followed the text that was sent.

    The indentation of a line stays.
    """
    blank = text[start : end - len(text[start:end].lstrip())] if start else ""
    return start + (blank.rfind("\n") + 1 or len(blank)), end
