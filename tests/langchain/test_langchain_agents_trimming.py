"""An agent with LangChain's own summaries or edits: through checkpoints, in a branch, for two tenants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent_samples import Scripted, asked, calls, pages, prompt_tokens, tool_messages
from ctxassembly import TokenBudget, resolve
from langchain_ctxassembly import ContextMiddleware, contexts_in

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

TENANTS = ("north", "south")
PAGES = {tenant: pages(f"{tenant}.pdf", 8, 9, tenant=tenant) for tenant in TENANTS}
BUDGET = TokenBudget(window=2_500, generation=100, system=0, query=0, conversation=0, buffer=0)
SUMMARY = "They asked for topics."


@dataclass
class User:
    tenant: str


@tool("search", response_format="content_and_artifact")
def search_own(query: str, runtime: ToolRuntime[User]) -> Any:
    """Searches."""
    topic = int(query.removeprefix("topic"))
    return "", PAGES[runtime.context.tenant][topic : topic + 2]  # the first one of the next topic, too


def summaries() -> Any:
    return SummarizationMiddleware(Scripted(*[AIMessage(SUMMARY)] * 99), trigger=("tokens", 600), keep=("messages", 3))


def edits() -> Any:
    return ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1_000, keep=1)])


def read_text(prompt: list[BaseMessage]) -> str:
    return "\n".join(str(message.content) for message in tool_messages(prompt))


@pytest.mark.parametrize("own", [summaries, edits])
def test_ours_works_with_what_langchain_removes(own: Any) -> None:
    """The agent is made again for each question, as in another process."""
    saver, removed = InMemorySaver(), 0
    for topic in (0, 1, 2, 3, 4, 5, 0, 1):
        for tenant, other in zip(TENANTS, reversed(TENANTS), strict=True):
            model = Scripted(calls(f"topic{topic}"), AIMessage("So [1]."))
            middleware = [own(), ContextMiddleware(budget=BUDGET, tools=["search"])]
            made: Any = {"middleware": middleware, "checkpointer": saver, "context_schema": User}
            thread: Any = {"configurable": {"thread_id": tenant}}
            agent: Any = create_agent(model, [search_own], **made)
            state = agent.invoke(asked(f"What is topic{topic}?"), thread, context=User(tenant))
            assert f"about topic{topic} and {tenant}{topic}" in read_text(model.prompts[-1])
            found = contexts_in(state["messages"], ["search"])
            assert {one.source for context in found for one in context.citations} <= {f"{tenant}.pdf"}
            assert resolve("So [1].", state["messages"], tools=["search"]).unknown in ((), ("1",))
            for prompt in model.prompts:
                assert prompt_tokens(prompt, [search_own]) <= BUDGET.window - BUDGET.generation
                assert other not in str([message.content for message in prompt])
                said = [line for line in read_text(prompt).split(". ") if line.startswith("Rule")]
                assert len(said) == len(set(said))
                removed += SUMMARY in str(prompt) or "[cleared]" in read_text(prompt)
    assert removed > len(TENANTS)
