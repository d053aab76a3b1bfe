"""What an answer cites of all that was read for it: several contexts, or the documents or nodes that a chain returned.

Nothing of a framework is imported: a document is told by the citation that an adapter has put into its metadata.
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
"""What adapters add to the metadata of a label's best chunk."""
_HOLDERS = ("source_nodes", "artifact")
"""Where a LlamaIndex response and a LangChain tool message have what was read."""


def resolve(answer: str, sources: Any, mode: Mode = "renumber") -> Resolved:
    """What `answer` cites of `sources`; its text with the markers renumbered, kept or removed (for speech).

    `sources` is a `Context` or what its `to_dict` gave, a document or node that an adapter returned, a LlamaIndex
    response, a LangChain message, or a list of any of these: `[first, second]`, `documents`, `response`,
    `state["messages"]`, in a checkpoint as well. What has no citation (a question, a sub-answer, a supplement) is
    passed over.

    Raises:
        InputError: two sources have one label, or something else is among `sources`.
    """
    known = list(_known(sources))
    citations: dict[str, Citation] = {}
    for citation in (citation for each in known for citation in each.citations):
        other = citations.setdefault(citation.label, citation)
        if _identity(other) != _identity(citation):
            raise InputError(
                f"label {citation.label} is that of two sources, {shown(other.source)} and {shown(citation.source)}: "
                "assemble what is read together with one labels=Labels()"
            )
    return resolved_of(
        answer,
        tuple(citations.values()),
        labelled=any(each.labelled for each in known),
        mode=mode,
        texts=lambda: (wording(text) for each in known for text in each.texts),
    )


def last_label(sources: Any) -> int:
    """The highest label in `sources`, as `resolve` takes them; 0 if there is none."""
    return max((int(citation.label) for each in _known(sources) for citation in each.citations), default=0)


class _Known(NamedTuple):
    """What one source adds."""

    citations: Sequence[Citation]
    labelled: bool
    """Whether its reader sees labels."""
    texts: Sequence[str]


def _known(sources: Any) -> Iterator[_Known]:
    if isinstance(sources, Mapping) and "passages" in sources:
        sources = Context.from_dict(sources)
    if isinstance(sources, Context):
        yield _Known(sources.citations, sources.labelled, [each.text for each in sources.passages])
        return
    several = next((held for name in _HOLDERS if (held := getattr(sources, name, None)) is not None), sources)
    if isinstance(several, Sequence) and not isinstance(several, (str, bytes)):
        for each in several:
            yield from _known(each)
        return
    source = _part(sources, "node") or sources
    metadata = _part(source, "metadata")
    if isinstance(metadata, Mapping):
        citation = metadata.get("citation")
        if isinstance(citation, Mapping) and "label" in citation:
            yield _of_document(source, citation, metadata)
    elif _part(sources, "content") is None:  # a message that brings nothing with it
        raise InputError(f"sources must be contexts, or documents or nodes with their metadata, got {shown(sources)}")


def _part(source: Any, name: str) -> Any:
    """What a document has under `name`: in a checkpoint it is a dict."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def _of_document(source: Any, citation: Mapping[str, Any], metadata: Mapping[str, Any]) -> _Known:
    own = {key: value for key, value in metadata.items() if key not in ADDED}
    try:
        cited: Citation = revived(Citation, {**citation, "metadata": own})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"a citation must be as an adapter gave it, got {shown(dict(citation))}") from error
    text = _part(source, "page_content") or _part(source, "text") or ""
    begins = [each.label.format(cited.label) for each in FORMATS.values() if each.labelled]
    return _Known([cited], text.startswith(tuple(begins)), [text])


def _identity(citation: Citation) -> tuple[Any, ...]:
    return citation.document_id, citation.chunk_ids, citation.span
