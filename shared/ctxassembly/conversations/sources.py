"""The citations of an answer, and what it was read from: contexts, documents, nodes, messages, and lists of them.

No framework is imported: our documents and nodes are known by the `AssembledBlock` in their metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.citations.reader import AnswerReader, Mode, Resolved
from ctxassembly.context import Context
from ctxassembly.conversations.sent import SentContext, merge_citations
from ctxassembly.data.blocks import block_in
from ctxassembly.data.citations import Citation, Source
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain
from ctxassembly.text.words import normalize_wording


def is_context(value: Any) -> bool:
    """Return True for a context, and for the dict of one."""
    return isinstance(value, Context) or (isinstance(value, Mapping) and "passages" in value and "trace" in value)


def iter_contexts(sources: Any) -> Iterator[Context]:
    """Yield the contexts in `sources`, in order: a context, its dict, a message with one, or a list of these."""
    return (Context.from_dict(source) for source in _iter_sources(sources) if is_context(source))


def get_field(source: Any, name: str) -> Any:
    """Return the attribute `name` of an object, or the item of a dict, as in a checkpoint; None without one."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


MESSAGE_KEY = "ctxassembly"
"""The key in a message's `additional_kwargs` under which an answer chain keeps the citations of its answer."""


class KnownSource(NamedTuple):
    """One source, as far as an answer is resolved by it."""

    citations: Sequence[Citation]
    has_labels: bool
    """True if the model saw labels in it."""
    texts: Sequence[str]
    last_label: int = 0
    """The last label given, which may be of a citation that isn't here."""


def sent_in(sources: Any) -> Iterator[tuple[SentContext, int]]:
    """Yield each context in `sources`, given as to `resolve`, with the last label given in it.

    Of what isn't a context, only the labels are known. A context's dict is only looked into.
    """
    for source in _iter_sources(sources):
        if is_context(source):
            sent = _sent_context(source)
            yield sent, max([int(citation.label) for citation in sent.citations], default=0)
        elif not isinstance(source, str):
            for known in known_in(source):
                labels = [known.last_label, *(int(citation.label) for citation in known.citations)]
                yield SentContext("", tuple(known.citations), ()), max(labels)


def _sent_context(context: Any) -> SentContext:
    if isinstance(context, Context):
        return SentContext(context.text, context.citations, context.provenance)
    try:
        citations: tuple[Citation, ...] = from_plain(tuple[Citation, ...], context["citations"])
        provenance: tuple[Source, ...] = from_plain(tuple[Source, ...], context["provenance"])
        return SentContext(from_plain(str, context["text"]), citations, provenance)
    except Exception as error:  # broken data can raise anything
        given = safe_repr(dict(context), 80)
        raise InputError(f"a context must be as Context.to_dict() gave it, got {given}") from error


def known_in(sources: Any) -> Iterator[KnownSource]:
    """Return the sources in `sources`, given as to `resolve`, in order.

    Raises:
        InputError: there is something else in it.
    """
    for source in _iter_sources(sources):
        item = get_field(source, "node") or source
        metadata = get_field(item, "metadata")
        if is_context(source):
            context = Context.from_dict(source)
            yield KnownSource(context.citations, context.has_labels, [passage.text for passage in context.passages])
        elif (message_data := _message_data(source)) is not None:
            yield _source_of_message(message_data)
        elif isinstance(metadata, Mapping):
            ours = block_in(metadata)
            if ours is not None and ours.block.citation is not None:
                yield KnownSource([ours.block.citation], ours.has_labels, [ours.block.text])
        elif get_field(source, "content") is None:  # messages without sources are skipped
            allowed = "contexts, or documents or nodes with their metadata"
            raise InputError(f"sources must be {allowed}, got {safe_repr(source)}")


def _iter_sources(sources: Any) -> Iterator[Any]:
    """Yield the single contexts, messages and documents in `sources`, and whatever else is there, in order."""
    unwrapped = _unwrap(sources)
    if not is_context(unwrapped) and _message_data(sources) is not None:
        yield sources
    elif isinstance(unwrapped, Sequence) and not isinstance(unwrapped, (str, bytes)):
        for one in unwrapped:
            yield from _iter_sources(one)
    else:
        yield unwrapped


def _message_data(source: Any) -> Any:
    return get_field(get_field(source, "additional_kwargs") or {}, MESSAGE_KEY)


def _unwrap(sources: Any) -> Any:
    """Return the artifact of a LangChain tool message, the nodes of a LlamaIndex response, or `sources` itself.

    The artifacts of other tools, of whatever type, hold no sources.
    """
    artifact = getattr(sources, "artifact", None)
    if artifact is None:
        nodes = getattr(sources, "source_nodes", None)
        return sources if nodes is None else nodes
    if isinstance(artifact, (list, tuple)):
        return artifact if all(isinstance(get_field(one, "metadata"), Mapping) for one in artifact) else ()
    return artifact if is_context(artifact) else ()


def _source_of_message(message_data: Any) -> KnownSource:
    """Return the citations of an answer chain's message."""
    try:
        citations: tuple[Citation, ...] = from_plain(tuple[Citation, ...], message_data["citations"])
        return KnownSource(citations, has_labels=True, texts=[], last_label=int(message_data["last_label"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        given = safe_repr(message_data, 80)
        raise InputError(f"a message's {MESSAGE_KEY!r} must be as the answer chain gave it, got {given}") from error


def resolve(answer: str, sources: Any, mode: Mode = "renumber") -> Resolved:
    """Return the citations that `answer` uses, and its text with markers renumbered, kept or removed (for speech).

    `sources` is a `Context`, the dict that its `to_dict` gave, a document or node that an adapter returned, a
    LlamaIndex response, a LangChain message, the message of an answer chain, or a list of any of these:
    `[first, second]`, `documents`, `response`, `state["messages"]`. A context's dict and messages may come from a
    checkpoint. Documents and nodes that no adapter returned, or that were JSON since, hold no citation: they are
    skipped, as a question, a sub-answer and a supplement are.

    >>> from ctxassembly import Chunk, Conversation, Hit, Labels, assemble
    >>> conversation = Conversation(labels=Labels())
    >>> hits = [Hit(Chunk(name, name, "Drink water.")) for name in ("before", "after")]
    >>> contexts = [assemble([hit], conversation=conversation) for hit in hits]
    >>> [citation.document_id for citation in resolve("Drink water [2].", contexts).citations]
    ['after']

    Raises:
        InputError: two sources have the same label, or `sources` has something else in it.
    """
    return answer_reader(sources, mode).read(answer)


def answer_reader(sources: Any, mode: Mode = "keep") -> AnswerReader:
    """Return a reader for a streamed answer over `sources`, which are passed as to `resolve`.

    Raises:
        InputError: as `resolve` does.
    """
    known = list(known_in(sources))
    return AnswerReader(
        merge_citations([citation for source in known for citation in source.citations]),
        has_labels=any(source.has_labels for source in known),
        mode=mode,
        texts=lambda: (normalize_wording(text) for source in known for text in source.texts),
    )
