"""A context as it was sent in a conversation, and the citations of several with the same labels."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.config.assembly import MAX_FIRST_LABEL
from ctxassembly.data.citations import Citation, Source, check_labels
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain
from ctxassembly.user_warnings import with_remedy


@dataclass(frozen=True, slots=True)
class SentContext:
    """One context of a conversation as it was sent."""

    text: str
    citations: tuple[Citation, ...]
    provenance: tuple[Source, ...]
    """The origin of its text, ascending; nothing, like the text, once the model no longer sees it."""

    @classmethod
    def from_dict(cls, data: Any) -> SentContext:
        """Return the context whose text, citations and provenance `data` have; its values may raise any error."""
        citations: tuple[Citation, ...] = from_plain(tuple[Citation, ...], data["citations"])
        check_labels(citation.label for citation in citations)
        merge_citations(citations)  # refuses one label of two sources
        provenance: tuple[Source, ...] = from_plain(tuple[Source, ...], data["provenance"])
        return cls(from_plain(str, data["text"]), citations, provenance)

    def without_text(self) -> SentContext:
        """Return the labels of this context."""
        return replace(self, text="", provenance=())

    def labeled_sources(self) -> Iterator[tuple[str, Source]]:
        """Yield what the model still sees, each with its label."""
        citations = iter(self.citations)
        citation = next(citations, None)
        for source in self.provenance:
            while citation is not None and citation.span[1] <= source.span[0]:
                citation = next(citations, None)
            if citation is not None and citation.span[0] <= source.span[0]:
                yield citation.label, source


MAX_LABEL_IN_MESSAGES = MAX_FIRST_LABEL - 1_000
"""The highest label in a message after which others can follow, also of tools that run at the same time."""


def check_room_for_labels(labels: Iterable[str | int]) -> None:
    """Check that others can follow `labels`, which come from messages.

    Raises:
        ValueError: one is too high.
    """
    if any(int(label) > MAX_LABEL_IN_MESSAGES for label in labels):
        raise ValueError("no room for further labels")


def check_tools(tools: Any) -> Collection[str]:
    """Return the names of tools whose results are read.

    Raises:
        ConfigError: they are something else, such as one text.
    """
    if (
        isinstance(tools, (str, bytes))
        or not isinstance(tools, Collection)
        or not all(isinstance(one, str) for one in tools)
    ):
        raise ConfigError("tools", "a list of names of tools", tools)
    return tools


def warn_unread(reason: object) -> None:
    """Warn of a message that is skipped, since nothing in a message may end a conversation."""
    fact = f"A message can't be read ({' '.join(str(reason).split())})"
    call = "resolve(answer, messages, tools=['search'])"
    warnings.warn(with_remedy(fact, "It is skipped, and nothing in it is cited", call), stacklevel=3)


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
