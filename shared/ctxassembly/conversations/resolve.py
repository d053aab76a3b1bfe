"""The citations of an answer over everything that was read for it: contexts, documents, nodes, messages.

No framework is imported: documents and nodes are known by the citation that an adapter put into their metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.answers.answer import Mode, Resolved
from ctxassembly.answers.answer import resolve as resolved_of
from ctxassembly.context import Context
from ctxassembly.data.assembled import Citation
from ctxassembly.errors import InputError
from ctxassembly.saving.plain import revived
from ctxassembly.shown import shown
from ctxassembly.text.words import wording
from ctxassembly.wording.formats import FORMATS

ADDED = frozenset({"citation", "chunk_ids", "scores", "trace"})
"""Keys that adapters add to the metadata of the best chunk of a label."""
KEPT = "ctxassembly"
"""The key in a message's `additional_kwargs` under which an answer chain keeps the citations of its answer."""
_HOLDERS = ("source_nodes", "artifact")
"""Attributes with the sources of a LlamaIndex response and of a LangChain tool message."""


def resolve(answer: str, sources: Any, mode: Mode = "renumber") -> Resolved:
    """The citations that `answer` uses, and its text with the markers renumbered, kept or removed (for speech).

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
    known = list(_known(sources))
    citations: dict[str, Citation] = {}
    for citation in (citation for source in known for citation in source.citations):
        other = citations.setdefault(citation.label, citation)
        if _identity(other) != _identity(citation):
            raise InputError(
                f"label {citation.label} is that of two sources, {shown(other.source)} and {shown(citation.source)}: "
                "assemble what is read together with one labels=Labels()"
            )
    return resolved_of(
        answer,
        tuple(citations.values()),
        labelled=any(source.labelled for source in known),
        mode=mode,
        texts=lambda: (wording(text) for source in known for text in source.texts),
    )


def last_label(sources: Any) -> int:
    """The highest label in `sources`, given as to `resolve`; 0 if there is none."""
    known = list(_known(sources))
    labels = [int(citation.label) for source in known for citation in source.citations]
    return max((*labels, *(source.last for source in known)), default=0)


class _Known(NamedTuple):
    """One source, as far as an answer is resolved by it."""

    citations: Sequence[Citation]
    labelled: bool
    """True if the model saw labels in it."""
    texts: Sequence[str]
    last: int = 0
    """The last label given, which may be of a citation that isn't here."""


def _known(sources: Any) -> Iterator[_Known]:
    if isinstance(sources, Mapping) and "passages" in sources:
        sources = Context.from_dict(sources)
    if isinstance(sources, Context):
        yield _Known(sources.citations, sources.labelled, [passage.text for passage in sources.passages])
        return
    kept = _part(_part(sources, "additional_kwargs") or {}, KEPT)
    if kept is not None:
        yield _of_answer(kept)
        return
    several = next((held for name in _HOLDERS if (held := getattr(sources, name, None)) is not None), sources)
    if isinstance(several, Sequence) and not isinstance(several, (str, bytes)):
        for one in several:
            yield from _known(one)
        return
    source = _part(sources, "node") or sources
    metadata = _part(source, "metadata")
    if isinstance(metadata, Mapping):
        citation = metadata.get("citation")
        if isinstance(citation, Mapping) and "label" in citation:
            yield _of_document(source, citation, metadata)
    elif _part(sources, "content") is None:  # messages without sources are skipped
        raise InputError(f"sources must be contexts, or documents or nodes with their metadata, got {shown(sources)}")


def _part(source: Any, name: str) -> Any:
    """The attribute `name` of a document; its item if the document is a dict, as in a checkpoint."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def _of_answer(kept: Any) -> _Known:
    """The citations of an answer chain's message."""
    try:
        citations: tuple[Citation, ...] = revived(tuple[Citation, ...], kept["citations"])
        return _Known(citations, labelled=True, texts=[], last=int(kept["last_label"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a message's {KEPT!r} must be as the answer chain gave it, got {shown(kept, 80)}") from error


def _of_document(source: Any, citation: Mapping[str, Any], metadata: Mapping[str, Any]) -> _Known:
    own = {key: value for key, value in metadata.items() if key not in ADDED}
    try:
        cited: Citation = revived(Citation, {**citation, "metadata": own})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"a citation must be as an adapter gave it, got {shown(dict(citation))}") from error
    text = _part(source, "page_content") or _part(source, "text") or ""
    begins = [form.label.format(cited.label) for form in FORMATS.values() if form.labelled]
    return _Known([cited], text.startswith(tuple(begins)), [text])


def _identity(citation: Citation) -> tuple[Any, ...]:
    return citation.document_id, citation.chunk_ids, citation.span
