"""What an agent with a small window sends and finds in twenty turns: `python tests/bench/agent_prompts.py FOLDER...`.

The questions are those of four conversations in a row (`conversations.py`), so the topic changes after each five. The
scripted model searches once for each, and `ContextMiddleware` assembles what the search found. A prompt breaks the
prefix if it doesn't begin with all of the one before; a provider has nothing in its cache from the first other message
on. Recall of a turn is over all contexts that its prompt has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise, takewhile
from operator import eq
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import PrivateAttr

from conversations import conversations, recall
from ctxassembly import AssemblyConfig, Context, MemoryStore, TokenBudget
from ctxassembly.tokens.counter import counter_for
from langchain_ctxassembly import ContextAssembler, ContextMiddleware
from quality.data import Question, QuestionSet, read

TOPICS = 4
WINDOWS = (2_500, 4_000, 8_000)
ANSWER = "The documents say so in the section on it [1]."


class Row(NamedTuple):
    """Means over the talks of one set."""

    sent: float
    """Tokens of all prompts of a talk."""
    uncached: float
    """Of these, the ones behind the first message that differs from the prompt before."""
    breaks: float
    """Prompts that don't begin with all of the one before."""
    recall: float


class Searching(BaseChatModel):
    """Searches for each question, answers, and keeps its prompts."""

    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "searching"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._prompts.append(list(messages))
        last, answer = messages[-1], AIMessage(ANSWER)
        if isinstance(last, HumanMessage):
            call = {"name": "search", "args": {"query": last.text}, "id": f"call-{len(messages)}", "type": "tool_call"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def prompts_of(questions: Sequence[Question], store: MemoryStore, window: int) -> list[list[BaseMessage]]:
    """Return the prompts of an agent that is asked `questions`."""
    hits = {question.text: question.hits for question in questions}

    @tool(response_format="content_and_artifact")
    def search(query: str) -> Any:
        """Search the documents."""
        found = [
            Document(
                hit.chunk.text,
                id=hit.chunk.id,
                metadata={
                    **hit.chunk.metadata,
                    "document_id": hit.chunk.document_id,
                    "chunk_index": hit.chunk.index,
                    "start_index": hit.chunk.start,
                    "score": hit.score,
                },
            )
            for hit in hits[query]
        ]
        return "", found

    model = Searching()
    assembler = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"), store=store)
    budget = TokenBudget(window=window, system=0, query=0, conversation=0, generation=100, buffer=0)
    agent: Any = create_agent(
        model, [search], middleware=[ContextMiddleware(assembler, budget=budget, tools=["search"])]
    )
    state: Any = {"messages": []}
    for question in questions:
        state = agent.invoke({**state, "messages": [*state["messages"], HumanMessage(question.text)]})
    return model._prompts


def contexts_of(prompt: Sequence[BaseMessage]) -> list[Context]:
    """Return the contexts whose text is in the messages of a prompt."""
    found = [
        (message.text, Context.from_dict(message.artifact))
        for message in prompt
        if isinstance(message, ToolMessage) and message.artifact
    ]
    return [context for text, context in found if text == context.text]


def measure(questions: QuestionSet, window: int, every: int = 1) -> Row:
    """Return the means over the talks of a set."""
    store, groups, count = MemoryStore(questions.chunks.values()), conversations(questions), counter_for("cl100k_base")
    rows = []
    for at in range(0, len(groups) - TOPICS + 1, TOPICS * every):
        asked = [question for group in groups[at : at + TOPICS] for question in group]
        prompts = prompts_of(asked, store, window)
        texts = [[f"{message.text}{getattr(message, 'tool_calls', '')}" for message in one] for one in prompts]
        kept = [sum(takewhile(bool, map(eq, *pair))) for pair in pairwise(texts)]
        sent = sum(count(text) for one in texts for text in one)
        uncached = sum(count(text) for one, same in zip(texts, [0, *kept], strict=True) for text in one[same:])
        breaks = sum(same < len(one) for one, same in zip(texts, kept, strict=False))
        found = mean(recall(*pair) for pair in zip(asked, map(contexts_of, prompts[1::2]), strict=True))
        rows.append(Row(sent, uncached, breaks, found))
    return Row(*map(mean, zip(*rows, strict=True)))


def main(arguments: list[str] | None = None) -> int:
    """Print a table of all sets and windows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--windows", type=int, nargs="+", default=WINDOWS, metavar="TOKENS")
    parser.add_argument("--every", type=int, default=1, help="one of so many talks (default: 1)")
    args = parser.parse_args(arguments)
    sys.stdout.write("| set | window | tokens sent | not cached | breaks | recall |\n|---|---|---|---|---|---|\n")
    for questions in map(read, args.folders):
        for window in args.windows:
            row = measure(questions, window, args.every)
            sent = f"{row.sent:,.0f} | {row.uncached:,.0f} | {row.breaks:.1f} | {row.recall:.3f}"
            sys.stdout.write(f"| {questions.name} | {window:,} | {sent} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
