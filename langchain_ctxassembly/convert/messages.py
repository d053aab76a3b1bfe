"""A context -> the messages and the content of tools that LangChain's models take; an answer -> with its citations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    message_chunk_to_message,
)
from langchain_core.messages.content import Annotation, create_citation
from langchain_core.messages.content import Citation as MessageCitation

from ctxassembly.adapters.metadata import check_context
from ctxassembly.context import Context
from ctxassembly.conversations.sent import check_tools
from ctxassembly.conversations.sources import MESSAGE_KEY, is_context, iter_contexts, known_in, resolve
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Citation, Source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import to_plain
from ctxassembly.wording.languages import LANGUAGES
from langchain_ctxassembly.convert.documents import CONTEXT_CALL
from langchain_ctxassembly.convert.search_results import SearchResult, citation_url, search_results


def to_messages(
    context: Context,
    question: str,
    style: str = "grounded",
    extra_instructions: str | None = None,
    *,
    extra_rules: Sequence[str] = (),
    template: str | None = None,
    cache_prefix: bool = False,
) -> list[BaseMessage]:
    """Return a system and a human message, worded as by `Context.to_messages`.

    With `cache_prefix` the system message has a `cache_control` mark, for providers that cache what is marked, such as
    Anthropic: all before the mark stays the same from question to question.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.type for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'human']

    Raises:
        InputError: `context` is no Context.
    """
    context = check_context(context, CONTEXT_CALL)
    system, user = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    rules: Any = system["content"]
    if cache_prefix:
        rules = [{"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}]
    return [SystemMessage(rules), HumanMessage(user["content"])]


def to_search_results(context: Context) -> list[dict[str, Any]]:
    r"""Return a `search_result` content block for each label, for the content of a HumanMessage or a ToolMessage.

    Each has a text block for each chunk in it, so that a native citation leads back to the chunk;
    `resolve_citations` does that. `title` is the source and the place in it, `source` the URL, else the file, else the
    document id. There are no labels to read, and no header but the title.

    A line break or the marker of a gap between two chunks begins the text of the second. Text that belongs to no chunk
    (`header_keys`, a page summary) is a text block of its own, before the chunks. A supplement is a block of its own,
    with the source "supplement". An empty context gives an empty list.

    Only some models accept these blocks: ChatAnthropic, and Claude on Bedrock or Vertex. Citations are enabled for all
    blocks, since Anthropic requires them for all search results of a request, or for none.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Eat nothing.")
    >>> hits = [Hit(Chunk(f"a#{n}", "a", text, n, metadata={"source": "a.pdf"})) for n, text in enumerate(said)]
    >>> [block] = to_search_results(assemble(hits))
    >>> block["title"], [part["text"] for part in block["content"]], block["citations"]
    ('a.pdf', ['Drink water.', '\nEat nothing.'], {'enabled': True})

    Raises:
        InputError: `context` is no Context.
    """
    return [
        {
            "type": "search_result",
            "source": result.source,
            "title": result.title,
            "content": [{"type": "text", "text": excerpt.text} for excerpt in result.excerpts],
            "citations": {"enabled": True},
        }
        for result in search_results(check_context(context, CONTEXT_CALL))
    ]


Content = Literal["text", "search_results"]
"""`context.text` with its labels, or the blocks of `to_search_results`."""


def to_tool_output(
    context: Context, *, content: Content = "text"
) -> tuple[str | list[str | dict[Any, Any]], dict[str, Any]]:
    """Return the content and the artifact for a tool with `response_format="content_and_artifact"`.

    The content is `context.text`, which the model reads; with content="search_results", the blocks of
    `to_search_results`. For an empty context it is a sentence that says so, in the context's language. The artifact is
    `context.to_dict()`: plain data, which strict checkpoints accept, and which `Context.from_dict` restores.

    >>> from langchain_core.tools import tool
    >>> from ctxassembly import Chunk, Context, Hit, assemble
    >>> @tool(response_format="content_and_artifact")
    ... def search(query: str):
    ...     "Searches the leaflets."
    ...     return to_tool_output(assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))], query=query))
    >>> call = {"name": "search", "args": {"query": "May I drink?"}, "id": "1", "type": "tool_call"}
    >>> message = search.invoke(call)
    >>> print(message.content)
    [1] Source: unknown
    Drink water.
    >>> Context.from_dict(message.artifact).query
    'May I drink?'

    Raises:
        ConfigError: `content` is neither.
        InputError: `context` is no Context.
    """
    check_content(content)
    context = check_context(context, CONTEXT_CALL)
    output: Any = to_search_results(context) if content == "search_results" else context.text
    return output or LANGUAGES[context.language].nothing, context.to_dict()


def check_content(content: object) -> None:
    """Check the form of a tool's content.

    Raises:
        ConfigError: it is none of `Content`.
    """
    if content not in get_args(Content):
        raise ConfigError("content", "one of " + ", ".join(map(repr, get_args(Content))), content)


def _make_annotation(
    citation: Citation,
    keys: MetadataKeys,
    span: Span,
    sources: Iterable[Source],
    cited_text: str | None = None,
    **extras: Any,
) -> MessageCitation:
    """Return the annotation of the text at `span`, which cites `sources` of `citation`.

    `cited_text` is the citation's snippet where nothing more exact is known. Everything is plain data.
    """
    title = keys.read(citation.metadata, "title")
    return create_citation(
        url=citation_url(citation, keys) or None,
        title=to_plain(title) if isinstance(title, str) and title.strip() else citation.source,
        start_index=span[0],
        end_index=span[1],
        cited_text=citation.snippet if cited_text is None else cited_text,
        label=citation.label,
        document_id=citation.document_id,
        reference=citation.reference,
        pages=list(citation.pages),
        sources=[to_plain(source) for source in sources],
        **extras,
    )


_LOCATION_KEYS = ("search_result_index", "start_block_index", "end_block_index")


def _is_native(annotation: Mapping[str, Any]) -> bool:
    """Return True for the citation of a search result."""
    extras = annotation.get("extras")
    return isinstance(extras, Mapping) and all(type(extras.get(name)) is int for name in _LOCATION_KEYS)


def _link_to_chunks(annotation: Mapping[str, Any], text: str, sent: Sequence[SearchResult | None]) -> Annotation | None:
    """Return the annotation with the chunks that it means, for a block with `text`; None if it means none of `sent`.

    A citation that names another source than the result at its place, or that cites other words, means none: what was
    sent differs from `sent`.
    """
    extras = annotation["extras"]
    number, first, end = (extras[name] for name in _LOCATION_KEYS)
    result = sent[number] if 0 <= number < len(sent) else None
    if result is None or extras.get("source", result.source) != result.source:
        return None
    excerpts = result.excerpts[first : max(end, first + 1)] if first >= 0 else ()
    excerpt_text = "".join(excerpt.text for excerpt in excerpts)
    cited_text = annotation.get("cited_text", excerpt_text)
    if not excerpts or "".join(cited_text.split()) not in "".join(excerpt_text.split()):
        return None
    location = {name: extras[name] for name in (*_LOCATION_KEYS, "source") if name in extras}
    if result.citation is None:
        location |= {"title": result.title, "cited_text": cited_text, "supplement": True}
        return create_citation(start_index=0, end_index=len(text), **location)
    sources = [source for excerpt in excerpts for source in excerpt.sources]
    chunk_ids = list(dict.fromkeys(excerpt.chunk_id for excerpt in excerpts if excerpt.chunk_id is not None))
    return _make_annotation(
        result.citation, result.keys, (0, len(text)), sources, cited_text, chunk_ids=chunk_ids, **location
    )


def _sent_results(sources: Any, tools: Collection[str]) -> Iterator[SearchResult | None]:
    """Return the search results in `sources`, in the order of the request; None for each that is none of ours.

    A context gives the results that are made of it. Messages are read for those that were sent, with the context that
    the message of a tool brings along.
    """
    if is_context(sources):
        yield from search_results(Context.from_dict(sources))
    elif isinstance(sources, BaseMessage):
        count = _count_results(sources.content)
        own = [one for context in iter_contexts(sources, tools) for one in search_results(context)] if count else []
        yield from own if len(own) == count else [None] * count
    elif isinstance(sources, Sequence) and not isinstance(sources, (str, bytes)):
        for one in sources:
            yield from _sent_results(one, tools)


def _count_results(content: Any) -> int:
    """Return the search results in the content of a message, also inside the results of tools."""
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    inside = sum(_count_results(block.get("content")) for block in blocks if block.get("type") == "tool_result")
    return inside + len([block for block in blocks if block.get("type") == "search_result"])


def resolve_citations(message: BaseMessage, context: Any, tools: Collection[str] = ()) -> AIMessage:
    """Return `message` as an AIMessage whose text blocks carry a `Citation` annotation for each citation in them.

    `context` is what the model read: a `Context`, its dict, documents that an assembler returned, the messages of an
    agent's state, or a list of these. `tools` are the names of the tools whose messages carry contexts, as in
    `resolve`.

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

    - Labels, as `Context.resolve` reads them: `start_index` and `end_index` are the offsets of the marker in the text
      of its block. A marker of two labels has two annotations. The text stays as it is.
    - Native citations of `search_result` blocks, as ChatAnthropic returns them. They apply to the whole text block. An
      answer with any of these is not read for labels. If several contexts, or messages, were sent, pass all of them in
      the order sent: the model counts all search results of a request.

    `cited_text` is the snippet of the best chunk, or what the model cited natively. `extras` have the `label`,
    `document_id`, `chunk_ids`, `reference`, `pages`, and as `sources` the stretches of the context that are meant, with
    their place in the document where it is known (none for documents, which don't have it). A supplement has
    `supplement=True` instead.

    `response_metadata["ctxassembly"]["unknown"]` has labels and places of native citations that match no source. These
    labels stay in the text, and these annotations as they were, like all other annotations.

    Show or store the result, but keep the original message in the history that a model reads: some providers would take
    the annotations for their own. For the same reason the result doesn't name its provider.

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
    tools = check_tools(tools)
    if not isinstance(message, AIMessage):
        raise InputError(f"message must be an AIMessage, got {safe_repr(message)}")
    if isinstance(message, AIMessageChunk):
        message = cast(AIMessage, message_chunk_to_message(message))
    blocks: list[Any] = [dict(block) for block in message.content_blocks]
    texts = [block for block in blocks if block["type"] == "text"]
    list(known_in(context, tools))  # refuses what holds no sources
    is_native = any(_is_native(one) for block in texts for one in block.get("annotations", ()))
    annotate = _native_reader(context, tools) if is_native else _label_reader(context, tools)
    unknown: list[Any] = []
    for block in texts:
        found, unresolved = annotate(block["text"], block.get("annotations", ()))
        unknown += unresolved
        if found:
            block["annotations"] = found
    # With the name of a provider, ChatAnthropic would send our annotations as citations of its own, and be refused.
    response_metadata = {name: value for name, value in message.response_metadata.items() if name != "model_provider"}
    response_metadata |= {"output_version": "v1", MESSAGE_KEY: {"unknown": unknown}}
    return message.model_copy(update={"content": blocks, "response_metadata": response_metadata})


Reader = Callable[[str, Sequence[Annotation]], tuple[list[Annotation], list[Any]]]
"""A function from the text of a block and its annotations to new annotations, and what in them matches no source."""


def _native_reader(context: Any, tools: Collection[str]) -> Reader:
    """Return the reader that leads native citations back."""
    sent = list(_sent_results(context, tools))

    def read(text: str, existing: Sequence[Any]) -> tuple[list[Annotation], list[Any]]:
        linked = [_link_to_chunks(one, text, sent) if _is_native(one) else one for one in existing]
        unknown = [dict(one["extras"]) for one, known in zip(existing, linked, strict=True) if known is None]
        return [known or one for one, known in zip(existing, linked, strict=True)], unknown

    return read


def _label_reader(context: Any, tools: Collection[str]) -> Reader:
    """Return the reader that adds an annotation for each label."""
    contexts = {citation.label: one for one in iter_contexts(context, tools) for citation in one.citations}

    def read(text: str, existing: Sequence[Annotation]) -> tuple[list[Annotation], list[Any]]:
        resolved, found = resolve(text, context, "keep", tools), [*existing]
        citations = {citation.label: citation for citation in resolved.citations}
        for citation, span in ((citations[label], mark.span) for mark in resolved.marks for label in mark.labels):
            read_in, (begin, end) = contexts.get(citation.label), citation.span
            sources = [one for one in read_in.provenance if begin <= one.span[0] < end] if read_in else []
            keys = read_in.keys if read_in else MetadataKeys()
            found.append(_make_annotation(citation, keys, span, sources, chunk_ids=list(citation.chunk_ids)))
        return found, list(resolved.unknown)

    return read
