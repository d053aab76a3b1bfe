"""Sentences that replace a context in a conversation: it is given elsewhere, or was dropped to save room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ctxassembly.context import Context
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Hit
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.metadata_labels import MetadataReader
from ctxassembly.wording.sanitize import sanitize_line

MAX_NAMED_SOURCES = 10
"""Most sources that one line names."""
MAX_NAME_CHARS = 100
"""Most characters of the name of one source, with its pages, in a line."""


def rehydrate_hits(context: Context) -> list[Hit]:
    """Return the chunks shown in `context`, best first and whole: the hits by rank, then their neighbors.

    Chunks that were left out have no text in a context, and so don't come back; its trace names them. No chunk brings
    neighbors again.

    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"The {name}.")) for name in ("falcon", "ember")])
    >>> [hit.chunk.text for hit in rehydrate_hits(context)]
    ['The falcon.', 'The ember.']
    """
    no_neighbors = {context.keys.no_neighbors[0]: True}
    found: dict[int, Candidate] = {}
    for passage in context.passages:
        for piece in passage.pieces:
            found.setdefault(piece.candidate.key, piece.candidate)
    ranked = sorted(found.values(), key=lambda one: (not one.is_hit, one.rank, one.distance, one.key))
    return [
        Hit(replace(one.chunk, metadata={**one.chunk.metadata, **no_neighbors}, vector=None), one.score)
        for one in ranked
    ]


def see_above_note(context: Context, hits: Iterable[Hit]) -> str:
    """Return a sentence saying that the earlier `context` shows the sources of `hits` under their labels.

    >>> from ctxassembly import Chunk, assemble
    >>> hits = [Hit(Chunk(name, name, f"The {name}.")) for name in ("falcon", "ember")]
    >>> see_above_note(assemble(hits), hits[1:])
    'The sources that were found are given above ([2]).'
    """
    representative_of = {one.chunk_id: one.because_of for one in context.trace.decisions if one.because_of}
    sent_as = {one.chunk_id: one.sent_as for one in context.trace.decisions if one.sent_as is not None}
    reader = MetadataReader(context.keys, context.language, for_header=True)
    labels_above: set[str] = set()
    other_sources: list[str] = []
    for chunk in (hit.chunk for hit in hits):
        own = {citation.label for citation in context.citations if context.cites(citation, chunk)}
        representative = representative_of.get(chunk.id)
        copied = [one for one in context.citations if representative in one.chunk_ids and not own]
        labels_above |= own or {one.label for one in copied}
        labels_above |= {sent_as[chunk.id]} if chunk.id in sent_as else set()
        if copied and chunk.document_id not in {one.document_id for one in copied}:
            other_sources.append(reader.source(chunk))
    return given_above_note(context, labels_above, other_sources)


def given_above_note(context: Context, labels: Iterable[str], other_sources: Iterable[str] = ()) -> str:
    """Return a line saying that what was found is given above, under `labels`, and which other sources have it, too."""
    language = language_of(context.language)
    names = [name for name in dict.fromkeys(other_sources) if name != language.unknown]
    shown = _format_labels(context, sorted(set(labels), key=int))
    above = language.given_above.format(f" ({shown})" if shown else "")
    if not names:
        return above
    listed = ", ".join(name[:MAX_NAME_CHARS] for name in names[:MAX_NAMED_SOURCES])
    listed += ", ..." if len(names) > MAX_NAMED_SOURCES else ""
    return f"{above} {language.same_text_in.format(sanitize_line(listed) if context.sanitized else listed)}"


def dropped_sources_note(context: Context) -> str:
    """Return a sentence to replace `context`, whose labels earlier answers may have cited.

    >>> from ctxassembly import Chunk, assemble
    >>> dropped_sources_note(assemble([Hit(Chunk("falcon", "falcon", "The falcon."))]))
    'Sources that were shown earlier and are left out from here on: [1]'
    """
    labels = [citation.label for citation in context.citations]
    names = dict.fromkeys(citation.source for citation in context.citations)
    sources = ", ".join(map(sanitize_line, names) if context.sanitized else names)
    return language_of(context.language).given_earlier.format(_format_labels(context, labels) or sources)


def _format_labels(context: Context, labels: Iterable[str]) -> str:
    """Return `labels` as an answer cites them; empty if the model sees none."""
    form = FORMATS.get(context.format)
    if form is None or not form.citation_examples:
        return ""
    return ", ".join(form.citation_examples[0].replace("1", label) for label in labels)
