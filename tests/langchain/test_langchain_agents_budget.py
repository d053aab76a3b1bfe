"""Whatever tools find, the prompt stays within the model's window: many turns, many calls, tools and system message."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent_samples import Scripted, agent, asked, calls, index, pages, prompt_tokens, search, tool_messages
from ctxassembly import AssemblyConfig, ConfigError, TokenBudget, resolve
from langchain_ctxassembly import ContextAssembler, ContextMiddleware, contexts_in

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

CORPUS = [document for name in ("one.pdf", "two.pdf", "three.pdf") for document in pages(name, 8, 9)]
TOOL = search(index(*CORPUS).as_retriever(search_kwargs={"k": 8}))
ANSWER = 100
FILLED = ContextAssembler(config=AssemblyConfig(fill=True))


def window(tokens: int, **zones: Any) -> TokenBudget:
    return TokenBudget(window=tokens, generation=ANSWER, system=0, query=0, conversation=0, **{"buffer": 0, **zones})


def taken(prompt: list[BaseMessage], tools: Any = (TOOL,)) -> int:
    return prompt_tokens(prompt, tools)


@pytest.mark.parametrize("most", [700, 1_000, 1_600, 2_500])
@pytest.mark.parametrize("queries", [1, 3])
def test_the_whole_prompt_stays_within_the_window(most: int, queries: int) -> None:
    model = Scripted(calls(*(f"topic{number}" for number in range(queries))), AIMessage("Done."))
    middleware = ContextMiddleware(FILLED, budget=window(most), tools=["search"])
    state = agent(model, TOOL, middleware=middleware, system_prompt="Cite. " * 50).invoke(asked("What is what?"))
    (context,) = contexts_in(state["messages"], ["search"])
    used = taken(model.prompts[-1])
    assert used + ANSWER <= most
    assert model.prompts[-1][0].type == "system"
    everything = ContextMiddleware(FILLED, budget=window(100_000), tools=["search"])
    again = Scripted(calls(*(f"topic{number}" for number in range(queries))), AIMessage("Done."))
    (whole,) = contexts_in(agent(again, TOOL, middleware=everything).invoke(asked("What is what?"))["messages"])
    if whole.token_count > context.token_count:  # then it is filled as far as sentences go
        assert used + ANSWER > most - 120
    assert context.trace.max_tokens < most


@pytest.mark.parametrize("queries", [1, 3])
def test_a_large_window_makes_no_context_longer_than_its_hits(queries: int) -> None:
    model = Scripted(calls(*(f"topic{number}" for number in range(queries))), AIMessage("Done."))
    state = agent(model, TOOL, middleware=ContextMiddleware(budget=window(20_000), tools=["search"])).invoke(asked("?"))
    (context,) = contexts_in(state["messages"], ["search"])
    assert context.trace.max_tokens == max(context.trace.hit_tokens, 1_000)


def test_an_unknown_window_is_warned_of_and_max_tokens_holds() -> None:
    model = Scripted(calls("topic0"), AIMessage("Done."), calls("topic1"), AIMessage("Done."), window=None)
    middleware = ContextMiddleware(ContextAssembler(config=AssemblyConfig(max_tokens=150)), tools=["search"])
    graph = agent(model, TOOL, middleware=middleware)
    with pytest.warns(UserWarning, match=r"window is unknown\. .*ContextMiddleware\(budget=128_000\)"):
        state = graph.invoke(asked("What is what?"))
    state = graph.invoke({"messages": [*state["messages"], ("user", "And?")]})  # it is said once
    assert all(100 < each.token_count <= 150 for each in contexts_in(state["messages"], ["search"]))


def test_a_context_has_a_limit_of_its_own() -> None:
    middleware = ContextMiddleware(budget=window(20_000, context_cap=200), tools=["search"])
    state = agent(Scripted(calls("topic0"), AIMessage("Done.")), TOOL, middleware=middleware).invoke(asked("?"))
    assert 100 < contexts_in(state["messages"], ["search"])[0].token_count <= 200


def test_a_conversation_that_is_too_long_by_itself_is_warned_of() -> None:
    model = Scripted(calls("topic0"), AIMessage("Done."))
    graph = agent(model, TOOL, middleware=ContextMiddleware(budget=window(700), tools=["search"]))
    with pytest.warns(
        UserWarning, match=r"The prompt exceeds the model's window by [\d,]+ tokens, even without any context"
    ):
        state = graph.invoke(asked("What is what? " * 300))
    (context,) = contexts_in(state["messages"], ["search"])
    assert context.token_count <= 1
    assert len(context.trace.decisions) == 8


def test_a_budget_may_count_as_the_model_does() -> None:
    def count(text: str) -> int:
        return 3 * len(text.split())

    model = Scripted(calls("topic0", "topic1"), AIMessage("Done."))
    middleware = ContextMiddleware(FILLED, budget=window(3_000, encoding=count), tools=["search"])
    state = agent(model, TOOL, middleware=middleware).invoke(asked("What is what?"))
    (context,) = contexts_in(state["messages"], ["search"])
    assert context.token_count == count(context.text) > 1_500
    assert sum(count(str(message.content)) for message in model.prompts[-1]) <= 3_000 - ANSWER


@pytest.mark.parametrize("own", [900, 1_020, 1_030, 1_300])
def test_a_small_window_is_known_and_kept_to(own: int) -> None:
    model = Scripted(calls("topic0", "topic1", "topic2"), AIMessage("Done."), window=own)
    agent(model, TOOL).invoke(asked("What is what?"))
    assert 200 < taken(model.prompts[-1]) <= own - own // 2 - 64


def test_a_window_without_room_for_any_context_is_an_error() -> None:
    model = Scripted(calls("topic0"), AIMessage("Done."), window=100)
    with pytest.raises(ConfigError, match=r"TokenBudget\.window must be more than the zones take together"):
        agent(model, TOOL).invoke(asked("What is what?"))


TURNS = 20


def conversation(middleware: Any, question: str = "What is {}?") -> tuple[Scripted, Any]:
    """Twenty turns, each with a search."""
    turns = [(calls(f"topic{number % 8}"), AIMessage(f"Yes {number} [{number + 1}].")) for number in range(TURNS)]
    model = Scripted(*[one for turn in turns for one in turn])
    graph: Any = create_agent(model, [TOOL], middleware=middleware, checkpointer=InMemorySaver())
    for number in range(TURNS):
        said = {"messages": [("user", question.format(f"topic{number % 8}"))]}
        state = graph.invoke(said, {"configurable": {"thread_id": "1"}})
    return model, state


def broken_prefixes(prompts: list[list[BaseMessage]]) -> int:
    """The prompts that don't begin with all of the one before, as a provider's cache needs it."""
    sent = [[(message.type, str(message.content)) for message in prompt] for prompt in prompts]
    return sum(after[: len(before)] != before for before, after in pairwise(sent))


@pytest.mark.parametrize(
    ("repeat", "most", "breaks"),
    [  # as the table in docs/prompt-caching.md has it
        ("never", 2_500, 12),
        ("never", 4_000, 2),
        ("never", 8_000, 0),
        ("always", 2_500, 13),
        ("always", 4_000, 6),
        ("always", 8_000, 2),
    ],
)
def test_the_beginning_of_the_prompt_changes_seldom_and_each_time_the_traces_say_so(
    repeat: Any, most: int, breaks: int
) -> None:
    assembler = ContextAssembler(config=AssemblyConfig(repeat=repeat))
    model, state = conversation([ContextMiddleware(assembler, budget=window(most), tools=["search"])])
    assert all(taken(prompt) + ANSWER <= most for prompt in model.prompts)
    assert broken_prefixes(model.prompts) <= breaks + 1  # ids of calls are random, and so are their tokens
    left_out = [one for one in tool_messages(state["messages"]) if "left out from here on" in str(one.content)]
    assert bool(left_out) == bool(broken_prefixes(model.prompts))
    traces = [context.trace for context in contexts_in(state["messages"], ["search"])]
    gave_way = [trace for trace in traces if trace.notes and trace.notes[-1].startswith("budget: gave way, ")]
    assert gave_way == traces[: len(left_out)]
    said = [match for trace in traces for note in trace.notes if (match := LEFT_OUT.fullmatch(note))]
    assert sum(int(match[1]) for match in said) <= len(left_out)


LEFT_OUT = re.compile(r"budget: (\d+) earlier contexts? left out from here on, [\d,]+ tokens")


def test_a_question_that_makes_a_full_prompt_exceed_the_window_makes_contexts_give_way() -> None:
    model, state = conversation(
        [ContextMiddleware(budget=window(7_000), tools=["search"])], question="What is {}?" + " Why?" * 100
    )
    assert all(taken(prompt) + ANSWER <= 7_000 for prompt in model.prompts)
    first = contexts_in(state["messages"], ["search"])[0]
    assert first.trace.notes[-1] == f"budget: gave way, {first.token_count:,} tokens left out from here on"
    assert resolve("As said [1].", state["messages"], tools=["search"]).citations
