"""Native citations of search results, as Anthropic's models give them, led back to the chunks that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.messages.content import Annotation, create_citation

from ctxassembly.context import Context
from ctxassembly.conversations.sources import contexts_of, is_context
from ctxassembly.integrations.search_results import Excerpt, Result, results
from langchain_ctxassembly.convert.annotations import annotated

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
