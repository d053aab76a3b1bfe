"""A context as search results: a result for each block, an excerpt for each chunk in it.

Models that cite search results natively name a result and a range of its excerpts. So an excerpt is of one chunk alone,
and such a citation leads back to that chunk without a search.

- An excerpt has the words of its chunk as the document has them: nothing is neutralized or escaped, since a result has
  no labels or tags that a document could forge. With `sanitize=True` it is sanitized, as the text of the context is.
- Text between two chunks (a line break, or the marker of a gap) begins the excerpt after it, and the marker of a cut
  ends the last one. So the excerpts of a result, joined by nothing, read as the passages of the block do.
- Lines above the text (`header_keys`, a page summary) are an excerpt of no chunk, the first one. The header
  itself becomes the title.
- A supplement is a result of its own, of one excerpt that is of no chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import unescape
from itertools import groupby
from typing import NamedTuple

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import Block, Citation, ContextData, Passage, Source, block_contents, has_source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_text
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.sanitize import sanitize_line, sanitize_text
from ctxassembly.wording.unicode import make_encodable, one_line

SUPPLEMENT = "supplement"
"""The source of a result that is a supplement."""


class Excerpt(NamedTuple):
    """The text of one chunk in a result."""

    text: str
    """Never blank."""
    chunk_id: str | None = None
    """None for text that belongs to no chunk."""
    sources: tuple[Source, ...] = ()
    """The stretches of the context that it is made of."""


class SearchResult(NamedTuple):
    """A block of a context as a search result."""

    title: str
    """The source and the place in it."""
    source: str
    """The address, else the file, else the document id."""
    citation: Citation | None
    """None for a supplement."""
    excerpts: tuple[Excerpt, ...]
    """At least one."""
    keys: MetadataKeys
    """The keys of the context."""


def search_results(context: ContextData) -> tuple[SearchResult, ...]:
    r"""Return a search result for each block of `context`, in order.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Eat nothing.")
    >>> hits = [Hit(Chunk(f"a#{n}", "a", text, n, metadata={"source": "a.pdf"})) for n, text in enumerate(said)]
    >>> for result in search_results(assemble(hits)):
    ...     print(result.title, [(excerpt.chunk_id, excerpt.text) for excerpt in result.excerpts])
    a.pdf [('a#0', 'Drink water.'), ('a#1', '\nEat nothing.')]
    """
    keys, found = context.keys, []
    for block, passages, sources in block_contents(context):
        citation = block.citation
        if citation is None:
            title, _, text = _without_markup(block.text, context.format).partition("\n")
            if text.strip():  # sanitizing may leave nothing
                title = title.strip("-#=*~ ") or SUPPLEMENT
                found.append(SearchResult(title, SUPPLEMENT, None, (Excerpt(text),), keys))
            continue
        excerpts = tuple(_chunk_excerpts(context, passages, sources))
        if not excerpts:  # the passages were replaced by nothing
            excerpts = (Excerpt(_without_markup(block.text, context.format)),)
        elif preamble := _preamble(block, citation, context.format):
            excerpts = (Excerpt(preamble), *excerpts)
        if context.text[citation.span[1] : block.span[1]].startswith(f" {GAP}"):
            excerpts = (*excerpts[:-1], excerpts[-1]._replace(text=f"{excerpts[-1].text} {GAP}"))
        source = citation_url(citation, keys) or _source_name(citation, keys)
        title = citation.reference or source
        if context.sanitized:
            source, title = sanitize_line(source), sanitize_line(title)
        found.append(SearchResult(title, source, citation, excerpts, keys))
    return tuple(found)


def citation_url(citation: Citation, keys: MetadataKeys) -> str:
    """Return the URL of the cited document from its metadata; empty without one. Web loaders use the source."""
    url = keys.read(citation.metadata, "url")
    if url is not None and (line := one_line(to_text(url) or "")):
        return line
    return citation.source if citation.source.startswith(("http://", "https://")) else ""


def _source_name(citation: Citation, keys: MetadataKeys) -> str:
    """Return the file or title of the document; its id if the citation's source is unknown."""
    is_known = any(keys.read(citation.metadata, name) is not None for name in ("source", "title"))
    return citation.source if is_known else citation.document_id


def _preamble(block: Block, citation: Citation, form: str) -> str:
    """Return the lines above the text except the header, if they are known (a custom format's are not)."""
    before = block.text[: citation.span[0] - block.span[0]]
    lines = before[: before.rfind("\n") + 1].splitlines(keepends=True)
    known = FORMATS.get(form)
    if lines and known:
        label = known.label.format(citation.label)
        if (label and label in lines[0]) or (known.lead and lines[0].startswith(known.lead)):
            del lines[0]
    return _without_markup("".join(lines), form)


def _without_markup(text: str, form: str) -> str:
    return unescape(text) if form in FORMATS and FORMATS[form].has_markup else text


def _chunk_excerpts(context: ContextData, passages: Sequence[Passage], sources: Sequence[Source]) -> Iterator[Excerpt]:
    """Yield an excerpt for each run of pieces of one chunk. A blank run begins the next one: no model accepts it."""
    before = ""
    runs = [
        (f"\n{GAP}\n" if number and not place else "", passage, list(pieces))
        for number, passage in enumerate(passages)
        for place, (_, pieces) in enumerate(groupby(passage.pieces, key=lambda piece: piece.candidate.chunk.id))
    ]
    for at, (gap, passage, run) in enumerate(runs):
        text = before + gap + make_encodable("".join(piece.separator + piece.text for piece in run))
        if context.sanitized:  # also across the boundary to the next
            text = sanitize_text(text, continued=at < len(runs) - 1)
        begin, end = passage.span
        before = "" if text.strip() else text
        if not before:
            own = (source for source in sources if begin <= source.span[0] < end)  # a repeated hit is in two passages
            own_sources = tuple(source for source in own if any(has_source(piece, source) for piece in run))
            yield Excerpt(text, run[0].candidate.chunk.id, own_sources)
