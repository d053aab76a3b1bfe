"""The answer of a model -> the same answer, with LangChain's citations of what it read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.content import Annotation, ContentBlock, create_citation
from langchain_core.messages.content import Citation as MessageCitation

from ctxassembly.context import Context
from ctxassembly.conversations.resolve import resolve
from ctxassembly.conversations.sources import KEPT, contexts_of, is_context, last_label
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Citation, Source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.integrations.search_results import Excerpt, Result, address, results
from ctxassembly.safe_repr import shown
from ctxassembly.serialization.plain import plain


def annotated(
    citation: Citation,
    keys: MetadataKeys,
    place: Span,
    sources: Iterable[Source],
    cited_text: str | None = None,
    **extras: Any,
) -> MessageCitation:
    """The annotation that says: the text at `place` cites `citation`, of which it means `sources`.

    `cited_text` is the citation's snippet where nothing more exact is known. Everything is plain data.
    """
    title = keys.read(citation.metadata, "title")
    return create_citation(
        url=address(citation, keys) or None,
        title=plain(title) if isinstance(title, str) and title.strip() else citation.source,
        start_index=place[0],
        end_index=place[1],
        cited_text=citation.snippet if cited_text is None else cited_text,
        label=citation.label,
        document_id=citation.document_id,
        reference=citation.reference,
        pages=list(citation.pages),
        sources=[plain(source) for source in sources],
        **extras,
    )


_PLACE = ("search_result_index", "start_block_index", "end_block_index")


class Sent(NamedTuple):
    """A search result that the model read."""

    context: Context
    result: Result


def native_annotations(block: Mapping[str, Any]) -> list[Any]:
    """The annotations of a text block. Without a provider's name they stand there in Anthropic's own form."""
    return [*block.get("annotations", ()), *(_standard(one) for one in block.get("citations") or ())]


def is_native(annotation: Mapping[str, Any]) -> bool:
    """True for the citation of a search result."""
    extras = annotation.get("extras")
    return isinstance(extras, Mapping) and all(type(extras.get(name)) is int for name in _PLACE)


def led_back(annotation: Mapping[str, Any], text: str, sent: Sequence[Sent | None]) -> Annotation | None:
    """The annotation with the chunks that it means, for a block with `text`; None if it means none of `sent`.

    A citation that names another source than the result at its place, or that cites other words, means none: what was
    sent is not what was handed in here.
    """
    extras = annotation["extras"]
    number, first, end = (extras[name] for name in _PLACE)
    found = sent[number] if 0 <= number < len(sent) else None
    if found is None or extras.get("source", found.result.source) != found.result.source:
        return None
    excerpts = found.result.excerpts[first : max(end, first + 1)] if first >= 0 else ()
    said = annotation.get("cited_text")
    words = "".join(excerpt.text for excerpt in excerpts)
    if not excerpts or (said is not None and "".join(said.split()) not in "".join(words.split())):
        return None
    place = {name: extras[name] for name in (*_PLACE, "source") if name in extras}
    return _meant(found, excerpts, text, words if said is None else said, place)


def _meant(found: Sent, excerpts: Sequence[Excerpt], text: str, said: str, place: Mapping[str, Any]) -> Annotation:
    citation, span = found.result.citation, (0, len(text))
    if citation is None:
        return create_citation(
            title=found.result.title, start_index=span[0], end_index=span[1], cited_text=said, supplement=True, **place
        )
    sources = [source for excerpt in excerpts for source in excerpt.sources]
    chunk_ids = list(dict.fromkeys(excerpt.chunk_id for excerpt in excerpts if excerpt.chunk_id is not None))
    return annotated(citation, found.context.keys, span, sources, said, chunk_ids=chunk_ids, **place)


def sent_in(sources: Any) -> Iterator[Sent | None]:
    """The search results in `sources`, in the order of the request; None for each that is none of ours.

    A context stands for the results that it makes. Messages are read for those that were sent, with the context that
    the message of a tool brings along.
    """
    if is_context(sources):
        context = Context.from_dict(sources)
        yield from (Sent(context, result) for result in results(context))
    elif isinstance(sources, BaseMessage):
        count = _count(sources.content)
        own = [one for context in contexts_of(sources) for one in sent_in(context)] if count else []
        yield from own if len(own) == count else [None] * count
    elif isinstance(sources, Sequence) and not isinstance(sources, (str, bytes)):
        for one in sources:
            yield from sent_in(one)


def _count(content: Any) -> int:
    """The search results in the content of a message, also inside the results of tools."""
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    inside = sum(_count(block.get("content")) for block in blocks if block.get("type") == "tool_result")
    return inside + len([block for block in blocks if block.get("type") == "search_result"])


def _standard(citation: Any) -> Any:
    """Anthropic's own form of a citation as LangChain's."""
    if not isinstance(citation, Mapping) or citation.get("type") != "search_result_location":
        return {"type": "non_standard_annotation", "value": citation}
    extras = {key: value for key, value in citation.items() if key not in ("type", "cited_text", "title")}
    return create_citation(title=citation.get("title"), cited_text=citation.get("cited_text"), **extras)


Annotations = list[list[Annotation]]
"""Those of each text block."""


def resolve_citations(message: BaseMessage, context: Any) -> AIMessage:
    """`message` as an AIMessage whose text blocks carry a `Citation` annotation for each citation in them.

    `context` is what the model read: a `Context`, its dict, documents that an assembler returned, the messages of an
    agent's state, or a list of these.

    >>> from langchain_core.messages import AIMessage
    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water.", metadata={"source": "gastro.pdf"}))])
    >>> resolved = resolve_citations(AIMessage("Water is fine [1], tea is not [2]."), context)
    >>> [block] = resolved.content_blocks
    >>> for cited in block["annotations"]:
    ...     at = slice(cited["start_index"], cited["end_index"])
    ...     print(block["text"][at], cited["title"], cited["cited_text"], cited["extras"]["chunk_ids"])
    [1] gastro.pdf Drink water. ['gastro#0']
    >>> resolved.response_metadata["ctxassembly"]
    {'unknown': ['2']}

    - Labels, as `Context.resolve` reads them: `start_index` and `end_index` are those of the marker in the text of its
      block. A marker of two labels has two annotations. The text stays as it is.
    - Native citations of `search_result` blocks, as ChatAnthropic gives them. They hold for the whole text block. An
      answer with any of these is not read for labels. For several contexts, or messages, give those that were sent, in
      their order: the model counts all search results of a request.

    `cited_text` is the snippet of the best chunk, or what the model cited natively. `extras` have the `label`,
    `document_id`, `chunk_ids`, `reference`, `pages`, and as `sources` the stretches of the context that are meant, with
    their place in the document where it is known (none for documents, which don't tell). A supplement has
    `supplement=True` instead.

    `response_metadata["ctxassembly"]["unknown"]` has what leads nowhere: labels, which stay in the text, and places of
    native citations, whose annotations stay as they were. Other annotations stay, too.

    Show or store the result. In the history that a model reads, keep the message itself: some providers would take the
    annotations for their own. For the same reason the result doesn't name its provider.

    In a chain, as a step after the model:

    >>> from operator import itemgetter
    >>> from langchain_core.language_models import FakeListChatModel
    >>> from langchain_core.runnables import RunnableLambda, RunnablePassthrough
    >>> from langchain_ctxassembly import to_messages
    >>> ask = RunnableLambda(lambda given: to_messages(given["context"], given["question"]))
    >>> answer = ask | FakeListChatModel(responses=["Water is fine [1]."])
    >>> cite = RunnableLambda(lambda given: resolve_citations(given["answer"], given["context"]))
    >>> chain = RunnablePassthrough.assign(answer=answer) | cite
    >>> chain.invoke({"context": context, "question": "May I drink?"}).text
    'Water is fine [1].'

    Raises:
        InputError: `message` is no AIMessage, `context` has something else in it, or two sources have the same label.
    """
    if not isinstance(message, AIMessage):
        raise InputError(f"message must be an AIMessage, got {shown(message)}")
    if isinstance(message, AIMessageChunk):
        message = cast(AIMessage, message_chunk_to_message(message))
    blocks = cast(list[dict[str, Any]], message.content_blocks)
    texts = [block for block in blocks if block["type"] == "text"]
    standing = [native_annotations(block) for block in texts]
    if any(is_native(one) for own in standing for one in own):
        found, unknown = _natively(texts, standing, context)
    else:
        found, unknown = _by_labels(texts, standing, context)
    made = iter(found)
    content = [_with(block, next(made)) if block["type"] == "text" else block for block in blocks]
    # With the name of a provider, ChatAnthropic would send our annotations as citations of its own, and be refused.
    told = {name: value for name, value in message.response_metadata.items() if name != "model_provider"}
    return AIMessage(
        content_blocks=cast(list[ContentBlock], content),
        response_metadata={**told, "output_version": "v1", KEPT: {"unknown": unknown}},
        **{name: getattr(message, name) for name in _KEPT_FIELDS},
    )


_KEPT_FIELDS = ("id", "name", "additional_kwargs", "tool_calls", "invalid_tool_calls", "usage_metadata")


def _natively(texts: Sequence[Any], standing: Annotations, context: Any) -> tuple[Annotations, list[Any]]:
    """The annotations of each text, native ones led back, and the places of those that lead nowhere."""
    last_label(context)  # refuses what holds no sources
    sent = list(sent_in(context))
    found: Annotations = []
    unknown: list[Any] = []
    for block, own in zip(texts, standing, strict=True):
        found.append([])
        for one in own:
            made = led_back(one, block["text"], sent) if is_native(one) else one
            if made is None:
                unknown.append(dict(cast(Any, one)["extras"]))
            found[-1].append(made or one)
    return found, unknown


def _by_labels(texts: Sequence[Any], standing: Annotations, context: Any) -> tuple[Annotations, list[Any]]:
    """The annotations of each text, with those of the labels in it, and the labels that lead nowhere."""
    ends = list(accumulate(len(block["text"]) for block in texts))
    resolved = resolve("".join(block["text"] for block in texts), context, mode="keep")
    citations = {citation.label: citation for citation in resolved.citations}
    contexts = {citation.label: one for one in contexts_of(context) for citation in one.citations}
    found = [list(own) for own in standing]
    for mark in resolved.marks:
        place = bisect_left(ends, mark.span[1])
        before = ends[place - 1] if place else 0
        span = max(mark.span[0] - before, 0), mark.span[1] - before
        for label in mark.labels:
            citation, read = citations[label], contexts.get(label)
            begin, end = citation.span
            meant = [one for one in read.provenance if begin <= one.span[0] < end] if read else []
            keys = read.keys if read else MetadataKeys()
            found[place].append(annotated(citation, keys, span, meant, chunk_ids=list(citation.chunk_ids)))
    return found, list(resolved.unknown)


def _with(block: Mapping[str, Any], annotations: Sequence[Annotation]) -> dict[str, Any]:
    """The text block with `annotations` in place of its own."""
    kept = {name: value for name, value in block.items() if name not in ("annotations", "citations")}
    return {**kept, "annotations": list(annotations)} if annotations else kept
