"""A context as it was sent in a conversation, and the citations of several with the same labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxassembly.data.citations import Citation, Source
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

MIN_FOUND_CHARS = 40
"""The shortest text that is looked for by itself: a shorter one may be in a message by chance."""


@dataclass(frozen=True, slots=True)
class SentContext:
    """One context of a conversation as it was sent."""

    text: str
    citations: tuple[Citation, ...]
    provenance: tuple[Source, ...]
    """The text that the model still sees, ascending."""

    def seen_in(self, texts: Sequence[str]) -> SentContext:
        """Return this context with the provenance of which `texts` have the text."""
        if any(self.text in text for text in texts):
            return self
        found = [
            source
            for source in self.provenance
            if source.span[1] - source.span[0] >= MIN_FOUND_CHARS
            and any(self.text[slice(*source.span)] in text for text in texts)
        ]
        return replace(self, text=self.text if found else "", provenance=tuple(found))

    def labeled_sources(self) -> Iterator[tuple[str, Source]]:
        """Yield what the model still sees, each with its label."""
        citations = iter(self.citations)
        citation = next(citations, None)
        for source in self.provenance:
            while citation is not None and citation.span[1] <= source.span[0]:
                citation = next(citations, None)
            if citation is not None and citation.span[0] <= source.span[0]:
                yield citation.label, source


def merge_citations(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return one citation per label, with the chunks and pages of all that have it.

    Raises:
        InputError: two sources have the same label.
    """
    merged: dict[str, Citation] = {}
    for citation in citations:
        first = merged.setdefault(citation.label, citation)
        if first is citation or first == citation:
            continue
        if (first.document_id, first.source) != (citation.document_id, citation.source):
            raise InputError(
                f"label {citation.label} refers to two sources, {safe_repr(first.source)} and "
                f"{safe_repr(citation.source)}: pass conversation=Conversation(labels=Labels()), the same, to both"
            )
        merged[citation.label] = replace(
            first,
            chunk_ids=tuple(dict.fromkeys((*first.chunk_ids, *citation.chunk_ids))),
            pages=tuple(dict.fromkeys((*first.pages, *citation.pages))),
            shortened=tuple(dict.fromkeys((*first.shortened, *citation.shortened))),
        )
    return tuple(merged.values())
