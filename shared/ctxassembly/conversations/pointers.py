"""Sentences that stand in a conversation in place of a context: it is given elsewhere, or had to make room."""

from __future__ import annotations

from collections.abc import Iterable

from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.sanitizing import sanitized


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
