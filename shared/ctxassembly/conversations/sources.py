"""The citations of an answer, and what it was read from: contexts, documents, nodes, messages, and lists of them.

No framework is imported: our documents and nodes are known by the `AssembledBlock` in their metadata. In messages only
results of our own tools and of the tools that the caller names are read; all else in them is data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ctxassembly.citations.reader import AnswerReader, Mode, Resolved
from ctxassembly.context import Context, ContextDict
from ctxassembly.conversations.sent import (
    SentContext,
    check_room_for_labels,
    check_tools,
    merge_citations,
    warn_unread,
)
from ctxassembly.data.citations import MAX_LABEL, Citation, block_in, check_labels
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain
from ctxassembly.text.words import normalize_wording
from ctxassembly.user_warnings import WarnOnce, with_remedy

T = TypeVar("T")
Known = TypeVar("Known")


def is_context(value: Any) -> bool:
    """Return True for a context, and for what has the keys of its dict."""
    return isinstance(value, Context) or (isinstance(value, Mapping) and "passages" in value and "trace" in value)


def is_own_context(value: Any) -> bool:
    """Return True for a context of ours, and for its dict as `to_dict` gave it, before a checkpoint."""
    return isinstance(value, (Context, ContextDict))


def is_own_result(message: Any, tools: Collection[str]) -> bool:
    """Return True for the message of a tool that brings a context of ours, or whose name is one of `tools`."""
    if _role(message) != "tool":
        return False
    name = get_field(message, "name")
    return is_own_context(get_field(message, "artifact")) or (isinstance(name, str) and name in tools)


def iter_contexts(sources: Any, tools: Collection[str] = ()) -> Iterator[Context]:
    """Yield the contexts in `sources`, in order: a context, its dict, a message of `tools` with one, or a list."""
    return (one for one in _iter_sources(sources, tools, Context.from_dict) if isinstance(one, Context))


def get_field(source: Any, name: str) -> Any:
    """Return the attribute `name` of an object, or the item of a dict, as in a checkpoint; None without one."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


MESSAGE_KEY = "ctxassembly"
"""The key in a message's `additional_kwargs` under which an answer chain keeps the citations of its answer."""
_ASSISTANT_ROLES = frozenset({"ai", "AIMessageChunk", "assistant", "chatbot", "model"})
_PROMPT_ROLES = frozenset({"system", "developer", "human", "user"})
"""Roles of the messages that an application writes."""


class KnownSource(NamedTuple):
    """One source, as far as an answer is resolved by it."""

    citations: Sequence[Citation]
    has_labels: bool
    """True if the model saw labels in it."""
    texts: Sequence[str]
    last_label: int = 0
    """The last label given, which may be of a citation that isn't here."""
    is_of_answer: bool = False
    """True for the message of an answer, which repeats citations of contexts."""


def sent_in(sources: Any, tools: Collection[str]) -> Iterator[tuple[SentContext, int]]:
    """Yield each context in `sources`, given as to `resolve`, with the last label given in it.

    Of what isn't a context, only the labels are known. A context's dict is only looked into.
    """
    for source in _iter_sources(sources, tools, _sent_context):
        if isinstance(source, SentContext):
            yield source, max([int(citation.label) for citation in source.citations], default=0)
        elif not isinstance(source, str) and (known := _known_source(source)) is not None:
            labels = [known.last_label, *(int(citation.label) for citation in known.citations)]
            yield SentContext("", tuple(known.citations), ()), max(labels)


def shown_in(messages: Any, tools: Collection[str]) -> Callable[[SentContext], bool]:
    """Return a function that says whether a reader of `messages`, given as to `resolve`, sees all of a context.

    The text of a context counts in the message of its own tool, and in a prompt: a message of the system or the user,
    or a text. Whatever else quotes it may say that it is wrong.
    """
    contexts, prompts = set[str](), list[str]()
    for message in _flatten(messages):
        role, artifact = _role(message), get_field(message, "artifact")
        if is_context(message):
            contexts.add(str(get_field(message, "text")))
        elif role in _PROMPT_ROLES or isinstance(message, str):
            prompts.append("\n".join(_texts(_without_results(message))))
        elif role == "tool" and artifact is None:  # LlamaIndex keeps the text alone, which then is all of its message
            contexts.add("\n".join(_texts(message)).strip())
        elif is_context(artifact) and is_own_result(message, tools):
            contexts.update(_whole_in(artifact, [*_texts(message)]))
    return lambda sent: sent.text in contexts or any(sent.text in text for text in prompts)


def _whole_in(context: Any, texts: Sequence[str]) -> Iterator[str]:
    """Yield the text of `context` if `texts`, of its message, have all of it: as it is, or as search results."""
    text = get_field(context, "text")
    if not isinstance(text, str) or not text:
        return
    if any(text in one for one in texts):
        yield text
        return
    sent = _load_or_warn(_sent_context, context)
    if sent is not None and sent.provenance:
        parts = (sent.text[slice(*source.span)].strip() for source in sent.provenance)
        if all(any(part in one for one in texts) for part in parts):
            yield text


def _without_results(message: Any) -> Any:
    """Return the content of a prompt without the results of tools, which some providers put into a user's message."""
    content = message if isinstance(message, str) else get_field(message, "content") or get_field(message, "text") or ""
    if not isinstance(content, (list, tuple)):
        return content
    return [one for one in content if get_field(one, "type") != "tool_result"]


def _texts(message: Any) -> Iterator[str]:
    """Yield the text of a message, or of each block of its content."""
    if isinstance(message, str):
        yield message
    elif isinstance(message, (list, tuple)):
        for one in message:
            yield from _texts(one)
    else:
        for name in ("content", "text"):
            value = get_field(message, name)
            if isinstance(value, (str, list, tuple)):
                yield from _texts(value)
                return


def _sent_context(context: Any) -> SentContext:
    if isinstance(context, Context):
        return SentContext(context.text, context.citations, context.provenance)
    try:
        sent = SentContext.from_dict(context)
        check_room_for_labels(citation.label for citation in sent.citations)
    except Exception as error:  # broken data can raise anything
        given = safe_repr(dict(context), 80)
        raise InputError(f"a context must be as Context.to_dict() gave it, got {given}") from error
    return sent


def known_in(sources: Any, tools: Collection[str] = ()) -> Iterator[KnownSource]:
    """Return the sources in `sources`, given as to `resolve`, in order.

    Raises:
        InputError: there is something else in it.
    """
    for source in _iter_sources(sources, tools, Context.from_dict):
        if isinstance(source, Context):
            yield KnownSource(source.citations, source.has_labels, [passage.text for passage in source.passages])
        elif (known := _known_source(source)) is not None:
            yield known


def _known_source(source: Any) -> KnownSource | None:
    """Return what is known of a document or a node; None if it has no citation.

    Raises:
        InputError: it is something else.
    """
    if isinstance(source, KnownSource):
        return source
    item = get_field(source, "node") or source
    metadata = get_field(item, "metadata")
    if not isinstance(metadata, Mapping):
        allowed = "contexts, or documents or nodes with their metadata"
        raise InputError(f"sources must be {allowed}, got {safe_repr(source)}")
    ours = block_in(metadata)
    if ours is None or ours.block.citation is None:
        return None
    citation, text = ours.block.citation, get_field(item, "page_content") or get_field(item, "text")
    if text != ours.block.text:  # a mask or a cut of a later step: what it took out isn't quoted
        return KnownSource([replace(citation, snippet="")], ours.has_labels, [text] if isinstance(text, str) else [])
    return KnownSource([citation], ours.has_labels, [ours.block.text])


def _iter_sources(sources: Any, tools: Collection[str], load: Callable[[Any], T]) -> Iterator[Any]:
    """Yield the contexts in `sources` as `load` gives them, `KnownSource`s of messages, and whatever else is there."""
    for source in _flatten(sources):
        if is_context(source):
            yield load(source)
        elif get_field(source, "content") is not None:
            yield from _iter_message(source, tools, load)
        else:
            yield source


def _flatten(sources: Any) -> Iterator[Any]:
    """Yield the single contexts, messages and documents in `sources`, and whatever else is there, in order."""
    nodes = getattr(sources, "source_nodes", None)  # of a LlamaIndex response
    many = sources if nodes is None else nodes
    if isinstance(many, Sequence) and not isinstance(many, (str, bytes)):
        for one in many:
            yield from _flatten(one)
    else:
        yield many


def _role(message: Any) -> Any:
    """Return the role of a message: LangChain's `type`, or the `role` of LlamaIndex and of plain dicts."""
    names = ("role", "type") if isinstance(message, Mapping) else ("type", "role")
    role = next(filter(None, (get_field(message, name) for name in names)), None)
    return getattr(role, "value", role) if isinstance(role, str) else None


def _iter_message(message: Any, tools: Collection[str], load: Callable[[Any], T]) -> Iterator[T | KnownSource]:
    """Yield what a message brings along of ours; what can't be read is skipped with a warning."""
    role, artifact = _role(message), get_field(message, "artifact")
    extra = get_field(message, "additional_kwargs")
    if role in _ASSISTANT_ROLES and isinstance(extra, Mapping) and extra.get(MESSAGE_KEY) is not None:
        answer = _load_or_warn(_source_of_message, extra[MESSAGE_KEY])
        yield from () if answer is None else (answer,)
    elif role != "tool" or artifact is None:
        return
    elif isinstance(artifact, (list, tuple)):  # documents and nodes, which are known by their type alone
        metadata = ((one, get_field(get_field(one, "node") or one, "metadata")) for one in artifact)
        documents = [(one, data) for one, data in metadata if isinstance(data, Mapping)]
        found = [known for one, _ in documents if (known := _known_source(one)) is not None]
        cited = [data.get("citation") for _, data in documents]
        if not found and any(type(one) is dict and "best_chunk_id" in one for one in cited):
            _warn_of_documents(get_field(message, "name"))
        yield from found
    elif is_context(artifact) and not is_own_result(message, tools):
        _warn_unnamed(get_field(message, "name"))
    elif is_context(artifact):
        context = _load_or_warn(load, artifact)
        yield from () if context is None else (context,)


def _load_or_warn(load: Callable[[Any], Known], value: Any) -> Known | None:
    """Return `load(value)`; None, and a warning, if a message holds something else than we wrote."""
    try:
        return load(value)
    except InputError as error:
        warn_unread(error)
        return None


def _warn_unnamed(name: Any) -> None:
    given = safe_repr(name, 60)
    fact, effect = f"The result of the tool {given} looks like a context", "It is skipped, since the tool isn't named"
    message = with_remedy(fact, effect, f"resolve(answer, messages, tools=[{given}])")
    _WARNINGS.warn(UserWarning(message), key=message)


def _warn_of_documents(name: Any) -> None:
    fact = f"The documents of the tool {safe_repr(name, 60)} come from a checkpoint, which keeps no citations"
    message = with_remedy(fact, "They are skipped", "context_tool(retriever)")
    _WARNINGS.warn(UserWarning(message), key=message)


_WARNINGS = WarnOnce()


def _source_of_message(message_data: Any) -> KnownSource:
    """Return the citations of an answer chain's message.

    Raises:
        InputError: an answer chain gave something else.
    """
    try:
        citations: tuple[Citation, ...] = from_plain(tuple[Citation, ...], message_data["citations"])
        last_label = range(MAX_LABEL + 1).index(from_plain(int, message_data["last_label"]))
        check_labels(citation.label for citation in citations)
        check_room_for_labels([last_label, *(citation.label for citation in citations)])
        merge_citations(citations)  # refuses one label of two sources
        return KnownSource(citations, has_labels=True, texts=[], last_label=last_label, is_of_answer=True)
    except Exception as error:  # broken data can raise anything
        given = safe_repr(message_data, 80)
        raise InputError(f"a message's {MESSAGE_KEY!r} must be as the answer chain gave it, got {given}") from error


def _without_contradictions(known: Sequence[KnownSource]) -> list[KnownSource]:
    """Return `known` without messages of answers that give a label of a context to another source."""
    named = {one.label: one.document_id for source in known if not source.is_of_answer for one in source.citations}
    found = []
    for source in known:
        if source.is_of_answer:
            if any(named.get(one.label, one.document_id) != one.document_id for one in source.citations):
                warn_unread("other sources have its labels")
                continue
            named |= {one.label: one.document_id for one in source.citations}
        found.append(source)
    return found


def resolve(answer: str, sources: Any, mode: Mode = "renumber", tools: Collection[str] = ()) -> Resolved:
    """Return the citations that `answer` uses, and its text with markers renumbered, kept or removed (for speech).

    `sources` is a `Context`, the dict that its `to_dict` gave, a document or node that an adapter returned, a
    LlamaIndex response, a LangChain message, the message of an answer chain, or a list of any of these:
    `[first, second]`, `documents`, `response`, `state["messages"]`. A context's dict and messages may come from a
    checkpoint. Documents and nodes that no adapter returned, or that were JSON since, hold no citation: they are
    skipped, as a question, a sub-answer and a supplement are.

    A checkpoint doesn't keep the type of what a tool returned: `tools` are the names of the tools whose results are
    contexts, `tools=["search_documents"]`. The results of all others are data, whatever keys they have.

    >>> from ctxassembly import Chunk, Conversation, Hit, Labels, assemble
    >>> conversation = Conversation(labels=Labels())
    >>> hits = [Hit(Chunk(name, name, "Drink water.")) for name in ("before", "after")]
    >>> contexts = [assemble([hit], conversation=conversation) for hit in hits]
    >>> [citation.document_id for citation in resolve("Drink water [2].", contexts).citations]
    ['after']

    Raises:
        ConfigError: `tools` is no list of names.
        InputError: two sources have the same label, or `sources` has something else in it.
    """
    return answer_reader(sources, mode, check_tools(tools)).read(answer)


def answer_reader(sources: Any, mode: Mode = "keep", tools: Collection[str] = ()) -> AnswerReader:
    """Return a reader for a streamed answer over `sources`, which are passed as to `resolve`.

    Raises:
        InputError: as `resolve` does.
    """
    known = _without_contradictions(list(known_in(sources, tools)))
    return AnswerReader(
        merge_citations([citation for source in known for citation in source.citations]),
        has_labels=any(source.has_labels for source in known),
        mode=mode,
        texts=lambda: (normalize_wording(text) for source in known for text in source.texts),
    )
