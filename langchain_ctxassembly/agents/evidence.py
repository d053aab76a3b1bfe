"""Evidence as tools and nodes of a graph hand it on, read as hits: documents, contexts, or lists of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document

from ctxassembly.answering.rank_fusion import Ranking, merged
from ctxassembly.context import Context
from ctxassembly.conversations.messages import hits_of
from ctxassembly.conversations.sources import contexts_of, is_context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from langchain_ctxassembly.convert.documents import read_documents


class Found(NamedTuple):
    """The evidence of one search, best first."""

    hits: Sequence[Hit]
    supplement: str | None = None
    """Text that no chunk holds, without its separator."""
    left_out: Sequence[str] = ()
    """The chunks that an earlier assembly left out, a line each."""


FORMS = "what was found must be documents, hits or a context, or a list of these for each search"


def found_in(given: Any, keys: MetadataKeys) -> Found | None:
    """The evidence in the artifact of a tool, or in a key of a graph's state; None if `given` is something else.

    `given` is a list of documents or hits, a `Context`, or the dict of one; documents may be dicts, as in a checkpoint.
    An empty list is no evidence. Documents of an assembler of ours give back the chunks that they were made of.
    """
    if is_context(given):
        return _of_context(Context.from_dict(given))
    if not isinstance(given, (list, tuple)) or not given:
        return None
    if all(isinstance(one, Hit) for one in given):
        return Found(given)
    documents = [document for one in given if (document := _document(one)) is not None]
    if len(documents) < len(given):
        return None
    return Found(*read_documents(documents, keys))


def all_found_in(given: Any, keys: MetadataKeys) -> list[Found]:
    """The evidence in a graph's state: of one search, or of several as a list of what each found. None is none.

    Raises:
        InputError: `given` is something else.
    """
    one = found_in(given, keys)
    if one is not None:
        return [one]
    if given is not None and not isinstance(given, (list, tuple)):
        raise InputError(f"{FORMS}, got {shown(given)}")
    several = [(search, found_in(search, keys)) for search in given or ()]
    for search, found in several:
        if found is None and not (isinstance(search, (list, tuple)) and not search):
            raise InputError(f"{FORMS}, got {shown(search)}")
    return [found for _, found in several if found is not None]


def together(found: Sequence[Found]) -> Found:
    """The evidence of several searches as one, fused by rank: scores of different searches have no common scale."""
    if not found:
        return Found(())
    hits = merged([Ranking("", search.hits, 1.0) for search in found], None)
    supplements = dict.fromkeys(search.supplement for search in found if search.supplement)
    return Found(hits, "\n\n".join(supplements) or None, [line for search in found for line in search.left_out])


def contexts_in(messages: Iterable[Any]) -> list[Context]:
    """The contexts that the tool messages among `messages` carry, in order: each with its text, citations and trace.

    >>> from langchain_core.messages import ToolMessage
    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> message = ToolMessage(context.text, artifact=context.to_dict(), tool_call_id="1")
    >>> [found.trace.summary for found in contexts_in([message])] == [context.trace.summary]
    True
    """
    return list(contexts_of(list(messages)))


def _document(given: Any) -> Document | None:
    if isinstance(given, Mapping) and isinstance(given.get("page_content"), str):
        return Document(id=given.get("id"), page_content=given["page_content"], metadata=given.get("metadata") or {})
    return given if isinstance(given, Document) else None


def _of_context(context: Context) -> Found:
    left_out = [
        f"{decision.chunk_id} was left out by the tool's own assembly: {decision.reason}"
        for decision in context.trace.decisions
        if not decision.stands
    ]
    return Found(hits_of(context), context.supplement.partition("\n")[2].strip() or None, left_out)
