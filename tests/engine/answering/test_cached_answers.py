"""Answers kept in a cache of the caller's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from chain_parts import KEYWORDS, TEXTS, Scripted, hospital
from ctxassembly import (
    AnswerChain,
    AssemblyConfig,
    Chunk,
    ConfigError,
    Conversation,
    FilterNotSeenWarning,
    Hit,
    Labels,
    MemoryIndex,
)
from ctxassembly.answering import AnswerConfig, Exchange

A = {"tenant": "a"}


class Shelf(dict):
    def set(self, key, entry):
        self[key] = entry


def kept(model, cache, config=None) -> AnswerChain:
    return AnswerChain.from_index(hospital(), model, KEYWORDS, config=config, cache=cache)


def test_the_same_question_is_answered_once_with_all_that_it_rests_on():
    model, cache = Scripted('"free for the first hour" [1].'), Shelf()
    first = kept(model, cache).answer("Is parking free?", filter=A)
    again = kept(model, cache).answer("is  parking FREE?", filter=A)
    assert len(model.asked) == 1
    for name in ("text", "citations", "quotes", "quality", "context"):
        assert getattr(again, name) == getattr(first, name), name
    assert again.exchange.cited[0].chunk.text == first.exchange.cited[0].chunk.text
    assert [step.name for step in again.steps] == ["recall", "answer"]
    assert [event.text for event in kept(model, cache).stream("Is parking free?", filter=A)] == [first.text] * 2


def test_a_follow_up_finds_the_answer_of_the_question_that_it_means():
    model, cache = Scripted(understand={"question": "Is parking free?"}), Shelf()
    kept(model, cache).answer("Is parking free?", filter=A)
    answer = kept(model, cache).answer("And is it free?", history=[Exchange("Where do I park?", "Here.")], filter=A)
    assert answer.steps[1].name == "recall"


@pytest.mark.parametrize(
    "other", [{"filter": {"tenant": "b"}}, {"filter": A, "mode": "full"}, {"filter": None}], ids=str
)
def test_another_filter_or_mode_is_another_answer(other):
    model, cache = Scripted(), Shelf()
    kept(model, cache).answer("Is parking free?", filter=A)
    kept(model, cache).answer("Is parking free?", **other)
    assert len(model.asked) == len(cache) == 2


def test_other_settings_are_another_answer_and_abstentions_are_not_kept():
    model, cache = Scripted(), Shelf()
    kept(model, cache).answer("Is parking free?", filter=A)
    kept(model, cache, AnswerConfig(style="strict")).answer("Is parking free?", filter=A)
    assert len(cache) == 2
    kept(model, cache).answer("asdkjh qwe zzzz")
    assert len(cache) == 2


def test_a_filter_that_is_a_function_keeps_nothing_and_says_so_once():
    model, cache = Scripted(), Shelf()
    made = kept(model, cache)
    with pytest.warns(FilterNotSeenWarning, match="not cached: a filter that is a function can't be compared"):
        made.answer("Is parking free?", filter=lambda chunk: True)
    made.answer("Is parking free?", filter=lambda chunk: False)
    assert cache == {}


PARKING = "Where may the board park, and is parking free?"
WAYS = {
    "answer": lambda chain, **call: chain.answer(PARKING, **call),
    "aanswer": lambda chain, **call: asyncio.run(chain.aanswer(PARKING, **call)),
    "stream": lambda chain, **call: list(chain.stream(PARKING, **call))[-1],
    "astream": lambda chain, **call: asyncio.run(_last(chain.astream(PARKING, **call))),
}
SCOPES = {
    "call": lambda tenant: (hospital(), {"filter": {"tenant": tenant}}),
    "index.under": lambda tenant: (hospital().with_filter({"tenant": tenant}), {}),
    "under both": lambda tenant: (
        hospital().with_filter({"tenant": {"$in": ["a", "b"]}}).with_filter({"tenant": tenant}),
        {},
    ),
    "under a function": lambda tenant: (hospital().with_filter(lambda chunk: chunk.metadata["tenant"] == tenant), {}),
    "another index": lambda tenant: (MemoryIndex(_of(tenant)), {}),
    "an index of one's own": lambda tenant: (Own(_of(tenant)), {}),
    "a derived index": lambda tenant: (Derived(tenant), {}),
}


async def _last(events):
    return [event async for event in events][-1]


def _of(tenant):
    return [
        Chunk(f"{name}#0", name, text, 0, metadata={"tenant": owner})
        for name, (owner, text) in TEXTS.items()
        if owner == tenant
    ]


class Own:
    """An index of a caller's own, which searches as it likes."""

    def __init__(self, chunks):
        self.index = MemoryIndex(chunks)

    def find_terms(self, request):
        return self.index.find_terms(request)

    def search(self, request):
        return self.index.search(request)


class Derived(MemoryIndex):
    """An index of ours that filters by itself."""

    def __init__(self, tenant):
        super().__init__([*_of("a"), *_of("b")])
        self.tenant = tenant

    def search(self, request):
        return super().search(replace(request, filter={"tenant": self.tenant}))


@pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_tenant_never_gets_the_answer_of_another(scope, way):
    cache, texts = Shelf(), {}
    for tenant in ("a", "b", "a"):
        index, call = SCOPES[scope](tenant)
        chain = AnswerChain.from_index(index, Scripted(), KEYWORDS, cache=cache)
        texts[tenant] = WAYS[way](chain, **call).context.text
        assert {name for name, (owner, text) in TEXTS.items() if owner != tenant and text in texts[tenant]} == set()
    assert len(cache) == (0 if scope in ("under a function", "an index of one's own", "a derived index") else 2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Own(_of("a")), "Own may filter in a way that can't be seen"),
        (lambda: Derived("a"), "Derived may filter in"),
        (lambda: hospital().with_filter(lambda chunk: True), "a filter that is a function"),
    ],
)
def test_where_a_filter_can_not_be_seen_one_warning_says_so(make, said):
    chain = AnswerChain.from_index(make(), Scripted(), KEYWORDS, cache=Shelf())
    with pytest.warns(FilterNotSeenWarning, match=said):
        chain.answer("Is parking free?")
    chain.answer("Is parking free?")


def test_a_channel_of_ones_own_may_hide_a_filter():
    def channel(query, limit, condition):
        return [Hit(Chunk("own#0", "own", "Parking is free."))]

    chain = AnswerChain.from_index(hospital(), Scripted(), KEYWORDS, cache=Shelf(), channels={"keyword": channel})
    with pytest.warns(FilterNotSeenWarning, match=r"channels\['keyword'\] may filter in"):
        chain.answer("Is parking free?")


OPEN = AssemblyConfig(neighbors="unfiltered")


def test_who_lets_everybody_read_everything_hides_no_filter():
    shelf, index = Shelf(), Own(_of("a"))
    for _ in range(2):
        model = Scripted()
        AnswerChain.from_index(index, model, KEYWORDS, OPEN, cache=shelf).answer("Is parking free?")
    assert (len(shelf), model.asked) == (1, [])


def _channel(tenant):
    return lambda query, limit, condition: [Hit(chunk) for chunk in _of(tenant)][:limit]


@pytest.mark.parametrize(
    "over",
    [
        lambda tenant: {"index": Own(_of(tenant))},
        lambda tenant: {"index": MemoryIndex([]), "channels": {"keyword": _channel(tenant)}},
    ],
    ids=["an index of one's own", "a channel"],
)
def test_even_then_two_places_are_two_answers(over):
    shelf, given, asked = Shelf(), {tenant: over(tenant) for tenant in "ab"}, []
    for tenant in ("a", "b", "a"):
        model = Scripted()
        chain = AnswerChain.from_index(model=model, retrieval=KEYWORDS, assembly=OPEN, cache=shelf, **given[tenant])
        text = chain.answer(PARKING).context.text
        assert {owner for owner, said in TEXTS.values() if said in text} == {tenant}
        asked.append(len(model.asked))
    assert asked == [1, 1, 0]


def test_an_object_that_can_not_be_told_from_a_later_one_keeps_nothing():
    class Slotted:
        __slots__ = ("find_terms", "search")

        def __init__(self):
            index = MemoryIndex(_of("a"))
            self.find_terms, self.search = index.find_terms, index.search

    shelf = Shelf()
    with pytest.warns(
        FilterNotSeenWarning, match="Answers are not cached: Slotted can't be distinguished from another one"
    ):
        AnswerChain.from_index(Slotted(), Scripted(), KEYWORDS, OPEN, cache=shelf).answer("Is parking free?")
    assert shelf == {}


@pytest.mark.parametrize("value", [date(2024, 1, 2), Decimal("1.5"), ["x", 1], 2024], ids=str)
def test_a_filter_by_any_plain_value_is_in_the_key(value):
    shelf = Shelf()
    for _ in range(2):
        for given in ({"x": {"$ne": value}, **A}, {"x": {"$ne": "other"}, **A}, A):
            kept(Scripted(), shelf).answer("Is parking free?", filter={"$or": [given, A]})
    assert len(shelf) == 3


# Conversations

PRIVATE = [Exchange("I take methadone. May I have a sedation?", "Yes, tell the nurse.")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("config", "understand"),
    [
        (AnswerConfig(rewrite="off"), None),
        (AnswerConfig(), TimeoutError("late")),
        (AnswerConfig(), "no JSON"),
        (AnswerConfig(), {"question": 3}),
        (AnswerConfig(), {"intent": "parking"}),
        (AnswerConfig(rewrite="always"), {"question": None}),
    ],
    ids=["off", "late", "malformed", "of another type", "unsaid", "null against the rule"],
)
def test_a_question_that_leans_on_a_conversation_is_nobody_elses(config, understand, way):
    shelf = Shelf()
    private = Scripted("After methadone you may not park [1].", understand)
    WAYS[way](kept(private, shelf, config), history=PRIVATE, filter=A)
    assert shelf == {}
    other = WAYS[way](kept(Scripted(understand=understand), shelf, config), history=[Exchange("Hi", "Hi.")], filter=A)
    assert "methadone" not in other.text
    # And what is kept without a conversation answers none.
    kept(Scripted("Kept [1].", {"question": "Q?"}), shelf, config).answer(PARKING, filter=A)
    assert (
        WAYS[way](kept(Scripted(understand=understand), shelf, config), history=PRIVATE, filter=A).text != "Kept [1]."
    )


@pytest.mark.parametrize("understand", [{"question": "Is parking free?"}, {"question": None}], ids=str)
def test_an_answer_given_in_a_conversation_is_never_kept(understand):
    shelf = Shelf()
    kept(Scripted(understand=understand), shelf).answer("Is parking free?", history=PRIVATE, filter=A)
    assert shelf == {}
    kept(Scripted("Free [1]."), shelf).answer("Is parking free?", filter=A)
    answer = kept(Scripted(understand=understand), shelf).answer("Is parking free?", history=PRIVATE, filter=A)
    assert answer.text == "Free [1]."


def test_a_failing_cache_costs_no_answer():
    class Fails:
        def get(self, key):
            raise ConnectionError("no route to host")

        def set(self, key, entry):
            raise ConnectionError("disk full")

    answer = kept(Scripted(), Fails()).answer("Is parking free?", filter=A)
    assert answer.text == "Parking is free [1]."
    assert answer.notes == ("cache: ConnectionError: no route to host", "cache: ConnectionError: disk full")

    class Garbage(Shelf):
        def get(self, key):
            return "{}"

    assert "cache: KeyError" in kept(Scripted(), Garbage()).answer("Is parking free?", filter=A).notes[0]


async def test_an_awaited_answer_is_kept_too():
    model, cache = Scripted(), Shelf()
    await kept(model, cache).aanswer("Is parking free?", filter=A)
    await kept(model, cache).aanswer("Is parking free?", filter=A)
    assert len(model.asked) == 1


def test_a_kept_answer_is_only_read_while_its_labels_are_free():
    model, cache = Scripted(), Shelf()
    first = kept(model, cache).answer("Is parking free?", filter=A)
    shared = Conversation(labels=Labels())
    again = [kept(model, cache).answer("Is parking free?", filter=A, conversation=shared) for _ in range(2)]
    followed = kept(model, cache).answer("Is parking free?", filter=A, conversation=first.conversation)
    recalled = ["recall" in [step.name for step in answer.steps] for answer in (*again, followed)]
    assert recalled == [True, False, False]
    assert [answer.context.citations[0].label for answer in (first, *again, followed)] == ["1", "1", "3", "1"]


def test_what_can_not_work_is_refused():
    with pytest.raises(ConfigError, match=r"cache must be an object with get\(key\) and set\(key, entry\)"):
        AnswerChain.from_index(hospital(), Scripted(), KEYWORDS, cache=[])
