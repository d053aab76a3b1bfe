"""The sources that an answer was read from: contexts, documents, nodes, messages, and lists of them.

No framework is imported: documents and nodes are known by the citation that an adapter put into their metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.context import Context
from ctxassembly.data.citations import Citation
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from ctxassembly.serialization.plain import revived
from ctxassembly.wording.formats import FORMATS


def is_context(given: Any) -> bool:
    """True for a context, and for the dict of one."""
    return isinstance(given, Context) or (isinstance(given, Mapping) and "passages" in given and "trace" in given)


def contexts_of(given: Any) -> Iterator[Context]:
    """The contexts in `given`, in order: a context, its dict, a message that brings one along, or a list of these."""
    artifact = getattr(given, "artifact", None)
    if artifact is not None:
        yield from contexts_of(artifact)
    elif is_context(given):
        yield Context.from_dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        for one in given:
            yield from contexts_of(one)


def field_of(source: Any, name: str) -> Any:
    """The attribute `name` of an object, or the item of a dict, as which a checkpoint has it; None without one."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


ADDED = frozenset({"citation", "chunk_ids", "scores", "trace", "cited_media", "pieces"})
"""Keys that adapters add to the metadata of the best chunk of a label."""
KEPT = "ctxassembly"
"""The key in a message's `additional_kwargs` under which an answer chain keeps the citations of its answer."""


class Known(NamedTuple):
    """One source, as far as an answer is resolved by it."""

    citations: Sequence[Citation]
    labelled: bool
    """True if the model saw labels in it."""
    texts: Sequence[str]
    last: int = 0
    """The last label given, which may be of a citation that isn't here."""


def last_label(sources: Any) -> int:
    """The highest label in `sources`, given as to `resolve`; 0 if there is none."""
    return max(_labels(sources), default=0)


def _labels(sources: Any) -> Iterator[int]:
    """All labels in `sources`. A context's dict is only looked into: a long conversation has many."""
    held = _held(sources)
    if is_context(held) and isinstance(held, Mapping):
        try:
            yield from [int(citation["label"]) for citation in held["citations"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a context must be as Context.to_dict() gave it, got {shown(dict(held), 80)}") from error
    elif (
        isinstance(held, Sequence)
        and not isinstance(held, (str, bytes))
        and field_of(sources, "additional_kwargs") is None
    ):
        for one in held:
            yield from _labels(one)
    else:
        for source in known_in(sources):
            yield from [source.last, *(int(citation.label) for citation in source.citations)]


def known_in(sources: Any) -> Iterator[Known]:
    """The sources in `sources`, given as to `resolve`, in order.

    Raises:
        InputError: there is something else in it.
    """
    held = _held(sources)
    if is_context(held):
        held = Context.from_dict(held)
        yield Known(held.citations, held.labelled, [passage.text for passage in held.passages])
        return
    kept = field_of(field_of(sources, "additional_kwargs") or {}, KEPT)
    if kept is not None:
        yield _of_answer(kept)
        return
    if isinstance(held, Sequence) and not isinstance(held, (str, bytes)):
        for one in held:
            yield from known_in(one)
        return
    source = field_of(held, "node") or held
    metadata = field_of(source, "metadata")
    if isinstance(metadata, Mapping):
        citation = metadata.get("citation")
        if isinstance(citation, Mapping) and "label" in citation:
            yield _of_document(source, citation, metadata)
    elif field_of(source, "content") is None:  # messages without sources are skipped
        raise InputError(f"sources must be contexts, or documents or nodes with their metadata, got {shown(sources)}")


def _held(sources: Any) -> Any:
    """The artifact of a LangChain tool message, the nodes of a LlamaIndex response, or `sources` itself.

    The artifacts of other tools, of whatever type, hold no sources.
    """
    artifact = getattr(sources, "artifact", None)
    if artifact is None:
        nodes = getattr(sources, "source_nodes", None)
        return sources if nodes is None else nodes
    if isinstance(artifact, (list, tuple)):
        return artifact if all(isinstance(field_of(one, "metadata"), Mapping) for one in artifact) else ()
    return artifact if is_context(artifact) else ()


def _of_answer(kept: Any) -> Known:
    """The citations of an answer chain's message."""
    try:
        citations: tuple[Citation, ...] = revived(tuple[Citation, ...], kept["citations"])
        return Known(citations, labelled=True, texts=[], last=int(kept["last_label"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a message's {KEPT!r} must be as the answer chain gave it, got {shown(kept, 80)}") from error


def _of_document(source: Any, citation: Mapping[str, Any], metadata: Mapping[str, Any]) -> Known:
    own = {key: value for key, value in metadata.items() if key not in ADDED}
    try:
        cited: Citation = revived(Citation, {**citation, "metadata": own})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"a citation must be as an adapter gave it, got {shown(dict(citation))}") from error
    text = field_of(source, "page_content") or field_of(source, "text") or ""
    begins = [form.label.format(cited.label) for form in FORMATS.values() if form.labelled]
    return Known([cited], text.startswith(tuple(begins)), [text])
