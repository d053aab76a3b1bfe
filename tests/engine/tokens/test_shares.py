from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, ConfigError, Share, TokenBudget, assemble
from ctxassembly.tokens.budget import divide

NAMES = ("documents", "conversation", "tool_results", "memory")
TOKENS = st.integers(0, 3_000)


@st.composite
def share(draw: Any, name: str) -> Share:
    floor = draw(TOKENS)
    return Share(name, floor, draw(st.none() | st.integers(max(floor, 1), 5_000)))


@st.composite
def divisions(draw: Any) -> tuple[int, tuple[Share, ...], dict[str, int]]:
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, 4))]
    shares = tuple(draw(share(name)) for name in names)
    return draw(TOKENS), shares, {name: draw(TOKENS) for name in names}


@given(divisions())
def test_each_gets_its_floor_then_what_is_left_and_the_last_share_gives_way_first(division):
    room, shares, wanted = division
    got = divide(room, shares, wanted)
    floors = {each.name: min(each.floor, wanted[each.name]) for each in shares}
    assert sum(got.values()) <= room
    assert sum(floors.values()) > room or all(got[name] >= floor for name, floor in floors.items())
    for index, each in enumerate(shares):
        assert 0 <= got[each.name] <= each.limit(wanted[each.name])
        later = [other.name for other in shares[index + 1 :]]
        if got[each.name] < each.limit(wanted[each.name]):
            assert sum(got.values()) == room
            assert all(got[name] <= floors[name] for name in later)
        if got[each.name] < floors[each.name]:
            assert not any(got[name] for name in later)
    least = divide(room, shares, dict.fromkeys(wanted, room))
    assert all(got[each.name] >= min(least[each.name], wanted[each.name]) for each in shares)


@given(divisions(), st.integers(0, 500))
def test_more_room_takes_from_nobody_and_a_larger_want_gives_nobody_else_more(division, more):
    room, shares, wanted = division
    got, larger = divide(room, shares, wanted), divide(room + more, shares, wanted)
    assert all(larger[name] >= got[name] for name in got)
    first = shares[0].name
    for name in got:
        greedy = divide(room, shares, wanted | {name: wanted[name] + more})
        assert greedy[name] >= got[name]
        assert all(greedy[other] <= got[other] for other in got if other != name)
    assert divide(room, shares, {first: wanted[first]})[first] >= got[first]


SHARES = Share("conversation", floor=500, cap=2_000), Share("documents", floor=1_000), Share("tool_results", floor=200)
SMALL = TokenBudget(
    window=6_000, system=500, query=100, conversation=0, generation=300, buffer=100, context_cap=8_000, shares=SHARES
)


@pytest.mark.parametrize(("said", "context"), [(0, 4_800), (400, 4_400), (900, 3_900), (2_000, 2_800), (9_000, 2_800)])
def test_the_context_gets_what_the_conversation_leaves_of_the_room(said: int, context: int):
    budget = replace(SMALL, conversation=said)
    assert (budget.room, budget.context) == (5_000, context)
    assert AssemblyConfig(max_tokens=budget).token_limit == context
    assert budget.total <= budget.window


def test_a_conversation_without_a_share_keeps_its_zone():
    budget = replace(SMALL, conversation=700, shares=(Share("documents"),))
    assert (budget.room, budget.context, budget.total) == (4_300, 4_300, 6_000)


def test_the_trace_says_what_gave_way():
    text = " ".join(f"Sentence {number} of a long document." for number in range(2_000))
    limit = replace(SMALL, conversation=9_000)
    context = assemble(hits_of([Chunk("A0", "A", text, 0)]), AssemblyConfig(max_tokens=limit))
    assert 2_700 < context.token_count <= 2_800
    assert context.trace.notes[0] == "budget: documents gave way, 2,800 of 8,000 tokens"
    last = replace(limit, shares=(SHARES[1], SHARES[0]))
    notes = assemble(hits_of([Chunk("A0", "A", text, 0)]), AssemblyConfig(max_tokens=last)).trace.notes
    assert notes[0] == "budget: documents gave way, 4,500 of 8,000 tokens; conversation gave way, 500 of 2,000 tokens"
    assert replace(limit, conversation=0, context_cap=2_000).cut_note is None
    assert replace(limit, context_cap=None).cut_note is None


def test_each_share_knows_what_it_always_has():
    assert SMALL.divide() == {"conversation": 2_000, "documents": 2_800, "tool_results": 200}
    assert SMALL.divide({"documents": 100}) == {"conversation": 0, "documents": 100, "tool_results": 0}
    assert TokenBudget().divide() == {}


def test_a_request_counts_what_the_conversation_wants():
    history = [{"role": "user", "content": "Hello " * 900}]
    budget = TokenBudget.for_model("mistral", history=history, shares=SHARES)
    assert budget.conversation == 901
    assert budget.context == 8_192 - 1_024 - 64 - 901 - 200


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (TokenBudget, {"shares": "documents"}, "TokenBudget.shares must be a tuple of Share"),
        (TokenBudget, {"shares": (Share("documents"),) * 2}, "one Share for each name, one of them 'documents'"),
        (TokenBudget, {"shares": (Share("memory"),)}, "one Share for each name, one of them 'documents'"),
        (
            TokenBudget,
            {"shares": (Share("memory", floor=9_000), Share("documents")), "window": 15_000},
            "TokenBudget.window must be more than the zones take together",
        ),
        (Share, {"name": " "}, "Share.name must be a name that is not blank"),
        (Share, {"name": "memory", "floor": -1}, "Share.floor must be an integer of at least 0"),
        (Share, {"name": "memory", "floor": 9, "cap": 8}, "Share.cap must be an integer of at least 9"),
        (SMALL.divide, {"wanted": {"memories": 3}}, "wanted must be tokens by the names of the budget's shares"),
    ],
)
def test_wrong_shares_are_errors(make: Any, wrong: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=re.escape(message)):
        make(**wrong)
