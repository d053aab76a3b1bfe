"""LlamaIndex engines as an application has them; each line that has to be shown ends with the name of its case.

A question of a task of its own is shown at the line that made the object, which ends with "made".
"""

from __future__ import annotations

import asyncio
import chunk
from typing import Any

from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.schema import TextNode
from llama_index.core.tools import QueryEngineTool
from report import report
from workflows import Workflow, step
from workflows.events import StartEvent, StopEvent

from llamaindex_ctxassembly import ContextAssemblyPostprocessor

QUESTION = "What did the weavers pay?"
Settings.llm, Settings.embed_model = MockLLM(), MockEmbedding(embed_dim=4)


class Twice(BaseQuestionGenerator):
    def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
        return [SubQuestion(sub_question=text, tool_name=tools[0].name) for text in (QUESTION, "Who?")]

    async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
        return self.generate(tools, query)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...


def index() -> VectorStoreIndex:
    return VectorStoreIndex([TextNode(text=f"Bale {at} of wool.", metadata={"file_name": "a.pdf"}) for at in range(4)])


def engine(**settings: Any) -> BaseQueryEngine:
    made = index()
    postprocessor = ContextAssemblyPostprocessor.from_index(made)  # made
    return made.as_query_engine(node_postprocessors=[postprocessor], **settings)


def chat(mode: Any) -> Any:
    made = index()
    postprocessors = [ContextAssemblyPostprocessor.from_index(made)]
    return made.as_chat_engine(chat_mode=mode, node_postprocessors=postprocessors)


def query() -> None:
    asked = engine()
    asked.query(QUESTION)  # query
    asked.query(QUESTION)


def aquery() -> None:
    async def main() -> None:
        asked = engine()
        await asked.aquery(QUESTION)  # aquery
        await asked.aquery(QUESTION)

    asyncio.run(main())


def streamed() -> None:
    str(engine(streaming=True).query(QUESTION))  # streamed


def chatted() -> None:
    chat("context").chat(QUESTION)  # chatted


def chatted_after_condensing() -> None:
    chat("condense_plus_context").chat(QUESTION)  # chatted_after_condensing


def achatted() -> None:
    async def main() -> None:
        await chat("context").achat(QUESTION)  # achatted

    asyncio.run(main())


def chat_stream() -> None:
    "".join(chat("condense_question").stream_chat(QUESTION).response_gen)  # chat_stream


def tool() -> None:
    QueryEngineTool.from_defaults(engine(), name="search", description="Search.").call(QUESTION)  # tool


def subquestions() -> None:
    search = QueryEngineTool.from_defaults(engine(), name="search", description="Search.")
    asked = SubQuestionQueryEngine.from_defaults([search], question_gen=Twice(), verbose=False)
    asked.query(QUESTION)


class Flow(Workflow):
    @step
    async def search(self, event: StartEvent) -> StopEvent:
        return StopEvent(result=str(await engine().aquery(QUESTION)))  # workflow


def workflow() -> None:
    async def main() -> None:
        await Flow().run()

    asyncio.run(main())


def own_module() -> None:
    chunk.ask(engine().query, QUESTION)


def own_module_async() -> None:
    asyncio.run(chunk.aask(engine().aquery, QUESTION))


report(
    [
        query,
        aquery,
        streamed,
        chatted,
        chatted_after_condensing,
        achatted,
        chat_stream,
        tool,
        subquestions,
        workflow,
        own_module,
        own_module_async,
    ]
)
