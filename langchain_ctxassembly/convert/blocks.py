"""Documents of an assembler of ours -> hits again: the text below each label, as one chunk."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape
from itertools import accumulate
from operator import itemgetter

from langchain_core.documents import Document

from ctxassembly.assembly.rendering.render import SEPARATORS
from ctxassembly.conversations.sources import ADDED
from ctxassembly.data.chunks import Hit, Span
from ctxassembly.data.keys import MetadataKeys
from langchain_ctxassembly.convert.documents import hit_from


def are_blocks(documents: Sequence[Document]) -> bool:
    """True if an assembler of ours made all of `documents`."""
    return all("citation" in one.metadata or one.metadata.get("supplement") is True for one in documents)


def hits_of_blocks(documents: Sequence[Document], keys: MetadataKeys) -> list[Hit]:
    """A hit for each block with a citation: the text below its header, by the citation's span in the whole text."""
    hits = []
    for document, span in zip(documents, _spans(documents), strict=True):
        citation = document.metadata.get("citation")
        if citation is not None:
            text = document.page_content[slice(*span)]
            text = unescape(text) if document.page_content.startswith("<") else text  # of the format with tags
            own = {key: value for key, value in document.metadata.items() if key not in ADDED}
            own[keys.no_neighbours[0]] = True  # they have come already
            hit = hit_from(Document(id=document.id, page_content=text, metadata=own), keys)
            hits.append(Hit(hit.chunk, citation.get("score")))
    return hits


def supplement_of_blocks(documents: Sequence[Document]) -> str | None:
    """The text of the supplement among `documents`, if there is one."""
    return below_separator(next((one.page_content for one in documents if "citation" not in one.metadata), ""))


def below_separator(supplement: str) -> str | None:
    """A supplement without the separator above it; None if that leaves no text."""
    return supplement.partition("\n")[2].strip() or None


def _spans(documents: Sequence[Document]) -> Sequence[Span]:
    """The span of the sources in each document: as far as is known, the separator that makes all of them begin a line.

    Text may begin after a mark for a gap, too, and then the first separator is taken that leaves all in their block.
    Documents that were changed or reordered since are read whole.
    """
    lengths = [len(document.page_content) for document in documents]
    fitting = []
    for separator in SEPARATORS.values():
        starts = accumulate((length + len(separator) for length in lengths[:-1]), initial=0)
        spans = [_within(document, start) for document, start in zip(documents, starts, strict=True)]
        if all(0 <= first <= last <= length for (first, last), length in zip(spans, lengths, strict=True)):
            begun = (one.page_content[:first][-1:] for one, (first, _) in zip(documents, spans, strict=True))
            begin = sum(before in ("", "\n") for before in begun)
            fitting.append((begin, spans))
    best = max(fitting, key=itemgetter(0), default=None)
    return [(0, length) for length in lengths] if best is None else best[1]


def _within(document: Document, start: int) -> Span:
    """The span of the citation in its document, which begins at `start`; all of one without a citation."""
    first, last = (document.metadata.get("citation") or {}).get("span") or (start, start + len(document.page_content))
    return first - start, last - start
