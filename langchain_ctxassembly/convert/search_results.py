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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise

from ctxassembly.data.candidates import GAP, TextPiece
from ctxassembly.data.citations import Block, Citation, ContextData, Passage, Source, block_contents, has_source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_text
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.sanitize import sanitize_line, sanitize_text
from ctxassembly.wording.unicode import make_encodable, one_line

SUPPLEMENT = "supplement"
"""The source of a result that is a supplement."""
_PASSAGE_GAP = f"\n{GAP}\n"
"""The marker between two passages of one block, as it is rendered."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of one chunk in a result."""

    text: str
    """Never blank."""
    chunk_id: str | None
    """None for text that belongs to no chunk."""
    sources: tuple[Source, ...] = ()
    """The stretches of the context that it is made of."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A block of a context as a search result."""

    title: str
    """The source and the place in it."""
    source: str
    """The address, else the file, else the document id."""
    citation: Citation | None
    """None for a supplement."""
    excerpts: tuple[Excerpt, ...]
    """At least one."""


def search_results(context: ContextData) -> tuple[SearchResult, ...]:
    r"""Return a search result for each block of `context`, in order.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Eat nothing.")
    >>> hits = [Hit(Chunk(f"a#{n}", "a", text, n, metadata={"source": "a.pdf"})) for n, text in enumerate(said)]
    >>> for result in search_results(assemble(hits)):
    ...     print(result.title, [(excerpt.chunk_id, excerpt.text) for excerpt in result.excerpts])
    a.pdf [('a#0', 'Drink water.'), ('a#1', '\nEat nothing.')]
    """
    found = []
    for block, passages, sources in block_contents(context):
        if block.citation is None:
            supplement = _supplement_result(block, context.format)
            if supplement.excerpts[0].text.strip():  # sanitizing may leave nothing
                found.append(supplement)
        else:
            excerpts = _excerpts(context, block, block.citation, passages, sources)
            source = citation_url(block.citation, context.keys) or _source_name(block.citation, context.keys)
            title = block.citation.reference or source
            if context.sanitized:
                source, title = sanitize_line(source), sanitize_line(title)
            found.append(SearchResult(title, source, block.citation, excerpts))
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


def _supplement_result(block: Block, form: str) -> SearchResult:
    title, _, text = _unescape_markup(block.text, form).partition("\n")
    return SearchResult(title.strip("-#=*~ ") or SUPPLEMENT, SUPPLEMENT, None, (Excerpt(text, None),))


def _excerpts(
    context: ContextData, block: Block, citation: Citation, passages: Sequence[Passage], sources: Sequence[Source]
) -> tuple[Excerpt, ...]:
    chunk_excerpts = _chunk_excerpts(passages, sources)
    found = _merge_blank(_sanitize_excerpts(chunk_excerpts) if context.sanitized else chunk_excerpts)
    preamble = _preamble(block, citation, context.format)
    if not found:  # the passages were replaced by nothing
        return (Excerpt(_unescape_markup(block.text, context.format), None),)
    if context.text[citation.span[1] : block.span[1]].startswith(f" {GAP}"):
        found[-1] = replace(found[-1], text=f"{found[-1].text} {GAP}")
    return (Excerpt(preamble, None), *found) if preamble else tuple(found)


def _preamble(block: Block, citation: Citation, form: str) -> str:
    """Return the lines above the text except the header, if they are known (a custom format's are not)."""
    before = block.text[: citation.span[0] - block.span[0]]
    lines = before[: before.rfind("\n") + 1].splitlines(keepends=True)
    known = FORMATS.get(form)
    if lines and known:
        label = known.label.format(citation.label)
        if (label and label in lines[0]) or (known.lead and lines[0].startswith(known.lead)):
            del lines[0]
    return _unescape_markup("".join(lines), form)


def _unescape_markup(text: str, form: str) -> str:
    return unescape(text) if form in FORMATS and FORMATS[form].has_markup else text


def _chunk_excerpts(passages: Sequence[Passage], sources: Sequence[Source]) -> Iterator[Excerpt]:
    """Return an excerpt for each run of pieces of one chunk."""
    for number, passage in enumerate(passages):
        begin, end = passage.span
        passage_sources = [
            source for source in sources if begin <= source.span[0] < end
        ]  # a repeated hit is in two passages
        run: list[TextPiece] = []
        separator = _PASSAGE_GAP if number else ""
        for piece in passage.pieces:
            if run and run[-1].candidate.chunk.id != piece.candidate.chunk.id:
                yield _excerpt(separator, run, passage_sources)
                run, separator = [], ""
            run.append(piece)
        if run:
            yield _excerpt(separator, run, passage_sources)


def _excerpt(separator: str, run: Sequence[TextPiece], sources: Sequence[Source]) -> Excerpt:
    text = make_encodable("".join(piece.separator + piece.text for piece in run))
    own = tuple(source for source in sources if any(has_source(piece, source) for piece in run))
    return Excerpt(separator + text, run[0].candidate.chunk.id, own)


def _sanitize_excerpts(excerpts: Iterable[Excerpt]) -> Iterator[Excerpt]:
    """Return the excerpts sanitized, also across the boundary between two of them."""
    for one, following in pairwise([*excerpts, None]):
        if one is not None:
            is_continued = following is not None and not following.text.startswith("\n")
            yield replace(one, text=sanitize_text(one.text, continued=is_continued))


def _merge_blank(excerpts: Iterator[Excerpt]) -> list[Excerpt]:
    """Merge blank excerpts into the one before: no model accepts a blank excerpt."""
    found: list[Excerpt] = []
    blank = ""
    for excerpt in excerpts:
        if excerpt.text.strip():
            found.append(replace(excerpt, text=blank + excerpt.text))
            blank = ""
        elif found:
            found[-1] = replace(found[-1], text=found[-1].text + excerpt.text)
        else:
            blank += excerpt.text
    return found
