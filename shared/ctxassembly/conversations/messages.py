"""Sentences that stand in a conversation in place of a context: it is given elsewhere, or had to make room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ctxassembly.context import Context
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Hit
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.sanitize import sanitized


def hits_of(context: Context) -> list[Hit]:
    """The chunks that stand in `context`, best first and whole: the hits by rank, then their neighbours.

    Chunks that were left out have no text in a context, and so don't come back; its trace names them. No chunk brings
    neighbours again.

    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"The {name}.")) for name in ("falcon", "ember")])
    >>> [hit.chunk.text for hit in hits_of(context)]
    ['The falcon.', 'The ember.']
    """
    alone = {context.keys.no_neighbours[0]: True}
    found: dict[int, Candidate] = {}
    for passage in context.passages:
        for piece in passage.pieces:
            found.setdefault(piece.candidate.key, piece.candidate)
    ranked = sorted(found.values(), key=lambda one: (not one.is_hit, one.rank, one.distance, one.key))
    return [Hit(replace(one.chunk, metadata={**one.chunk.metadata, **alone}, vector=None), one.score) for one in ranked]


def given_above(context: Context, hits: Iterable[Hit]) -> str:
    """A sentence that says where the sources of `hits` are read: in `context`, which stands above, under their labels.

    >>> from ctxassembly import Chunk, assemble
    >>> hits = [Hit(Chunk(name, name, f"The {name}.")) for name in ("falcon", "ember")]
    >>> given_above(assemble(hits), hits[1:])
    'The sources that were found are given above ([2]).'
    """
    kept = {decision.chunk_id: decision.because_of for decision in context.trace.decisions if decision.because_of}
    above: set[str] = set()
    for chunk in (hit.chunk for hit in hits):
        own = {citation.label for citation in context.citations if context.cites(citation, chunk)}
        instead = kept.get(chunk.id)
        above |= own or {citation.label for citation in context.citations if instead in citation.chunk_ids}
    labels = [citation.label for citation in context.citations if citation.label in above]
    shown = _cited(context, labels)
    return language_of(context.language).given_above.format(f" ({shown})" if shown else "")


def given_earlier(context: Context) -> str:
    """A sentence that stands in place of `context`, whose labels earlier answers may have cited.

    >>> from ctxassembly import Chunk, assemble
    >>> given_earlier(assemble([Hit(Chunk("falcon", "falcon", "The falcon."))]))
    'Sources that were shown earlier and are left out from here on: [1]'
    """
    labels = [citation.label for citation in context.citations]
    names = dict.fromkeys(citation.source for citation in context.citations)
    sources = ", ".join(map(sanitized, names) if context.sanitized else names)
    return language_of(context.language).given_earlier.format(_cited(context, labels) or sources)


def _cited(context: Context, labels: Iterable[str]) -> str:
    """`labels` as an answer cites them; empty if the model sees none."""
    form = FORMATS.get(context.format)
    if form is None or not form.cited:
        return ""
    return ", ".join(form.cited[0].replace("1", label) for label in labels)
