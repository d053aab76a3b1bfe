"""Agents and models that the tests of agents share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tiktoken
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import create_retriever_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import PrivateAttr

from ctxassembly import Context
from langchain_ctxassembly import ContextMiddleware
from langchain_samples import WORDS, WordEmbeddings

Answer = AIMessage | Callable[[list[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """Says what it is told to, and keeps the prompts that it got."""

    window: int | None = 20_000

    _answers: Iterator[Answer] = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, *answers: Answer, window: int | None = 20_000) -> None:
        profile: Any = None if window is None else {"max_input_tokens": window}
        super().__init__(profile=profile)
        self._answers = iter(answers)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._prompts.append(list(messages))
        answer = next(self._answers)
        message = answer if isinstance(answer, AIMessage) else answer(messages)
        return ChatResult(generations=[ChatGeneration(message=message)])


def calls(*queries: str, name: str = "search") -> AIMessage:
    """The calls of one turn, made at the same time."""
    asked = [
        {"name": name, "args": {"query": each}, "id": f"call-{uuid.uuid4().hex[:8]}", "type": "tool_call"}
        for each in queries
    ]
    return AIMessage("", tool_calls=asked)


def assert_labels_count_on(contexts: Sequence[Context]) -> None:
    """A document keeps its label in all contexts; new labels are the next ones."""
    sources: dict[str, str] = {}
    for citation in (citation for context in contexts for citation in context.citations):
        assert sources.setdefault(citation.label, citation.source) == citation.source
    assert [*sources] == [str(number) for number in range(1, len(sources) + 1)]


def pages(source: str, count: int = 6, sentences: int = 0, **metadata: Any) -> list[Document]:
    """Chunks as most have them: a random id, `source` and `page`, and no index. No two of them say the same."""
    name = source.partition(".")[0]
    return [
        Document(
            id=str(uuid.uuid4()),
            page_content=f"Page {page} of {source} tells about topic{page} and {name}{page}. "
            + " ".join(f"Rule {name}{page}x{each} asks for {WORDS[each % 10]} {each}." for each in range(sentences)),
            metadata={"source": source, "page": page, **metadata},
        )
        for page in range(count)
    ]


def index(*documents: Document) -> InMemoryVectorStore:
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(list(documents))
    return store


def search(retriever: Any, name: str = "search") -> Any:
    return create_retriever_tool(retriever, name, "Searches.", response_format="content_and_artifact")


def agent(model: BaseChatModel, *tools: Any, middleware: ContextMiddleware | None = None, **settings: Any) -> Any:
    return create_agent(model, list(tools), middleware=[middleware or ContextMiddleware(tools=["search"])], **settings)


def tool_messages(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    return [each for each in messages if isinstance(each, ToolMessage)]


async def run(runnable: Any, given: Any, config: Any = None, *, awaited: bool) -> Any:
    return await runnable.ainvoke(given, config) if awaited else runnable.invoke(given, config)


def asked(question: str) -> dict[str, Any]:
    return {"messages": [("user", question)]}


def prompt_tokens(prompt: Sequence[BaseMessage], tools: Sequence[Any] = ()) -> int:
    """Tokens of all that the model got, counted anew: texts, calls, names, tools, and 4 for each message."""
    texts = [json.dumps(convert_to_openai_tool(one)) for one in tools]
    for message in prompt:
        texts += [str(message.content), message.name or "", getattr(message, "tool_call_id", "")]
        called = message.tool_calls if isinstance(message, AIMessage) else []
        texts += [json.dumps([call["name"], call["args"], call["id"]]) for call in called]
    encoding = tiktoken.get_encoding("cl100k_base")
    return 4 * len(prompt) + sum(len(encoding.encode(text, disallowed_special=())) for text in texts)


TENANTS = ("ours", "theirs")


def tenant_chunks(tenant: str) -> list[Document]:
    """A document of a tenant: even chunks are open, odd ones secret."""
    return [
        Document(
            id=f"{tenant}-A#{at}",
            page_content=f"{tenant} {at} is {'secret' if at % 2 else 'open'} and tells of {WORDS[at]}.",
            metadata={
                "document_id": f"{tenant}-A",
                "chunk_index": at,
                "source": "A.pdf",
                "tenant": tenant,
                "no": at % 2,
            },
        )
        for at in range(9)
    ]


def may_read(tenant: str) -> Callable[[Document], bool]:
    return lambda document: document.metadata["tenant"] == tenant and not document.metadata["no"]
