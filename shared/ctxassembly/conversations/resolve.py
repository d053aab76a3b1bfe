"""The citations of an answer over everything that was read for it: contexts, documents, nodes, messages."""

from __future__ import annotations

from typing import Any

from ctxassembly.citations.reader import AnswerReader, Mode, Resolved
from ctxassembly.citations.reader import resolve as resolved_of
from ctxassembly.conversations.sources import known_in
from ctxassembly.data.citations import Citation
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.words import normalize_wording


def resolve(answer: str, sources: Any, mode: Mode = "renumber") -> Resolved:
    """Return the citations that `answer` uses, and its text with markers renumbered, kept or removed (for speech).

    `sources` is a `Context`, the dict that its `to_dict` gave, a document or node that an adapter returned, a
    LlamaIndex response, a LangChain message, the message of an answer chain, or a list of any of these:
    `[first, second]`, `documents`, `response`, `state["messages"]`. Each may come from a checkpoint. Sources without a
    citation (a question, a sub-answer, a supplement) are skipped.

    >>> from ctxassembly import Chunk, Hit, Labels, assemble
    >>> labels = Labels()
    >>> contexts = [assemble([Hit(Chunk(name, name, "Drink water."))], labels=labels) for name in ("before", "after")]
    >>> [citation.document_id for citation in resolve("Drink water [2].", contexts).citations]
    ['after']

    Raises:
        InputError: two sources have the same label, or `sources` has something else in it.
    """
    return resolved_of(answer, **_reader_arguments(sources), mode=mode)


def answer_reader(sources: Any, mode: Mode = "keep") -> AnswerReader:
    """Return a reader for a streamed answer over `sources`, which are passed as to `resolve`.

    Raises:
        InputError: as `resolve` does.
    """
    return AnswerReader(**_reader_arguments(sources), mode=mode)


def _reader_arguments(sources: Any) -> dict[str, Any]:
    """Return the arguments by which an answer over `sources` is read."""
    known = list(known_in(sources))
    citations: dict[str, Citation] = {}
    for citation in (citation for source in known for citation in source.citations):
        other = citations.setdefault(citation.label, citation)
        if _identity(other) != _identity(citation):
            raise InputError(
                f"label {citation.label} refers to two sources, {safe_repr(other.source)} and "
                f"{safe_repr(citation.source)}: pass the same labels=Labels() to both assemblies"
            )
    return {
        "citations": tuple(citations.values()),
        "has_labels": any(source.has_labels for source in known),
        "texts": lambda: (normalize_wording(text) for source in known for text in source.texts),
    }


def _identity(citation: Citation) -> tuple[Any, ...]:
    return citation.document_id, citation.chunk_ids, citation.span, citation.snippet
