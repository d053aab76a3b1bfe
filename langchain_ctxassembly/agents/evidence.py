"""Evidence that tools and nodes of a graph pass on, read as hits: documents, contexts, or lists of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document

from ctxassembly.answering.search import Ranking, reciprocal_rank_fusion
from ctxassembly.context import Context
from ctxassembly.conversations.messages import rehydrate_hits
from ctxassembly.conversations.sources import is_context, iter_contexts
from ctxassembly.data.chunks import Hit
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.convert.documents import read_documents


class SearchEvidence(NamedTuple):
    """The evidence of one search, best first."""

    hits: Sequence[Hit]
    supplement: str | None = None
    """Text that no chunk holds, without its separator."""
    left_out: Sequence[str] = ()
    """The chunks that an earlier assembly left out, a line each."""


EVIDENCE_FORMS = "what was found must be documents, hits or a context, or a list of these for each search"


def evidence_from(value: Any, keys: MetadataKeys) -> SearchEvidence | None:
    """Return the evidence in the artifact of a tool, or in a key of a graph's state; None if `value` is something else.

    `value` is a list of documents or hits, a `Context`, or the dict of one; documents may be dicts, as in a checkpoint.
    An empty list is no evidence. Documents of an assembler of ours give back the chunks that they were made of.
    """
    if is_context(value):
        return _evidence_of_context(Context.from_dict(value))
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if all(isinstance(one, Hit) for one in value):
        return SearchEvidence(value)
    documents = [document for one in value if (document := _to_document(one)) is not None]
    if len(documents) < len(value):
        return None
    return SearchEvidence(*read_documents(documents, keys))


def all_evidence_from(value: Any, keys: MetadataKeys) -> list[SearchEvidence]:
    """Return the evidence in a graph's state: of one search, or of several as a list of what each found. None is none.

    Raises:
        InputError: `value` is something else.
    """
    one = evidence_from(value, keys)
    if one is not None:
        return [one]
    if value is not None and not isinstance(value, (list, tuple)):
        raise InputError(f"{EVIDENCE_FORMS}, got {safe_repr(value)}")
    several = [(search, evidence_from(search, keys)) for search in value or ()]
    for search, found in several:
        if found is None and not (isinstance(search, (list, tuple)) and not search):
            raise InputError(f"{EVIDENCE_FORMS}, got {safe_repr(search)}")
    return [found for _, found in several if found is not None]


def merge_evidence(searches: Sequence[SearchEvidence]) -> SearchEvidence:
    """Return the evidence of several searches as one, fused by rank, since their scores have no common scale."""
    if not searches:
        return SearchEvidence(())
    hits = reciprocal_rank_fusion([Ranking("", search.hits, 1.0) for search in searches], None)
    supplements = dict.fromkeys(search.supplement for search in searches if search.supplement)
    return SearchEvidence(
        hits, "\n\n".join(supplements) or None, [line for search in searches for line in search.left_out]
    )


def contexts_in(messages: Iterable[Any]) -> list[Context]:
    """Return the contexts that the tool messages in `messages` carry, in order, with text, citations and trace.

    >>> from langchain_core.messages import ToolMessage
    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> message = ToolMessage(context.text, artifact=context.to_dict(), tool_call_id="1")
    >>> [found.trace.summary for found in contexts_in([message])] == [context.trace.summary]
    True
    """
    return list(iter_contexts(list(messages)))


def _to_document(value: Any) -> Document | None:
    if isinstance(value, Mapping) and isinstance(value.get("page_content"), str):
        return Document(id=value.get("id"), page_content=value["page_content"], metadata=value.get("metadata") or {})
    return value if isinstance(value, Document) else None


def _evidence_of_context(context: Context) -> SearchEvidence:
    left_out = [
        f"{decision.chunk_id} was left out by the tool's own assembly: {decision.reason}"
        for decision in context.trace.decisions
        if not decision.is_in_context
    ]
    return SearchEvidence(rehydrate_hits(context), context.supplement.partition("\n")[2].strip() or None, left_out)
