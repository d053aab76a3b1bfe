"""Answers kept in a cache of the caller's, and who shares them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from chain_parts import KEYWORDS, TEXTS, Scripted, hospital
from ctxassembly import (
    AnswerChain,
    AssemblyConfig,
    ConfigError,
    Conversation,
    InputError,
    Labels,
    presets,
)
from ctxassembly.answering import AnswerConfig, Exchange, ModelReply

A = {"tenant": "a"}


class Shelf(dict):
    def set(self, key, entry):
        self[key] = entry


def kept(model, cache, config=None, scope="everybody", **given) -> AnswerChain:
    given = {"index": hospital(), "retrieval": KEYWORDS, "cache": cache, "cache_scope": scope, **given}
    return AnswerChain.from_index(model=model, config=config, **given)


def test_the_same_question_is_answered_once_with_all_that_it_rests_on():
    model, cache = Scripted('"free for the first hour" [1].'), Shelf()
    first = kept(model, cache).answer("Is parking free?", filter=A)
    again = kept(model, cache).answer("Is parking free?", filter=A)
    assert len(model.asked) == 1
    for name in ("text", "citations", "quotes", "quality", "context"):
        assert getattr(again, name) == getattr(first, name), name
    assert again.exchange == first.exchange
    assert [step.name for step in again.steps] == ["recall", "answer"]
    assert [event.text for event in kept(model, cache).stream("Is parking free?", filter=A)] == [first.text] * 2


@pytest.mark.parametrize("other", ["is parking free?", "Is  parking free?", "Is parking free? "])
@pytest.mark.parametrize("history", [[], [Exchange("Where is it?", "In the hall.")]], ids=["alone", "rewritten"])
def test_a_question_is_the_same_only_as_it_was_typed(other, history):
    # "Who pays for IT?" asks about a department, "who pays for it?" about whatever was spoken of.
    cache, model = Shelf(), Scripted(understand={"question": "Is parking in the hall free?"})
    for question in ("Is parking free?", other):
        kept(model, cache).answer(question, filter=A, history=history)
    assert len(cache) == 2


PARKING = "Where may the board park, and is parking free?"
WAYS = {
    "answer": lambda chain, **call: chain.answer(PARKING, **call),
    "aanswer": lambda chain, **call: asyncio.run(chain.aanswer(PARKING, **call)),
    "stream": lambda chain, **call: list(chain.stream(PARKING, **call))[-1],
    "astream": lambda chain, **call: asyncio.run(_last(chain.astream(PARKING, **call))),
}


async def _last(events):
    return [event async for event in events][-1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scope", [lambda call: call.filter["tenant"], lambda call: (call.mode, dict(call.filter))])
def test_those_share_answers_whom_the_caller_names(scope, way):
    cache, asked = Shelf(), []
    for tenant in ("a", "b", "a"):
        model = Scripted()
        text = WAYS[way](kept(model, cache, scope=scope), filter={"tenant": tenant}).context.text
        assert {name for name, (owner, said) in TEXTS.items() if owner != tenant and said in text} == set()
        asked.append(len(model.asked))
    assert (asked, len(cache)) == ([1, 1, 0], 2)


@pytest.mark.parametrize("scope", [b"acme", {"acme"}, object(), [object()], {"tenant": {1}}, float("nan")])
def test_a_scope_that_json_can_not_write_is_named(scope):
    with pytest.raises(InputError, match="cache_scope must be a str, int or bool, or a list, tuple or dict of these"):
        kept(Scripted(), Shelf(), scope=scope)
    with pytest.raises(InputError, match="cache_scope must be"):
        kept(Scripted(), Shelf(), scope=lambda call: scope).answer(PARKING)


async def _awaited_scope(call):
    return "all"


class _AwaitedScope:
    async def __call__(self, call):
        return "all"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cache": []}, r"cache must be an object with get\(key\) and set\(key, entry\)"),
        ({"cache_scope": None}, r"cache_scope=lambda call: call.filter\['tenant'\], or cache_scope='everybody'"),
        ({"cache": None}, "cache_scope= needs the cache whose answers are shared: add cache="),
        ({"cache_scope": _awaited_scope}, "a function that needn't be awaited"),
        ({"cache_scope": _AwaitedScope()}, "a function that needn't be awaited"),
    ],
)
def test_what_can_not_work_is_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        AnswerChain.from_index(hospital(), Scripted(), KEYWORDS, **{"cache": Shelf(), "cache_scope": "all", **given})


class Named(Scripted):
    def __init__(self, name):
        super().__init__()
        self.name = name


OTHERS = {
    "filter": {"filter": {"tenant": "b"}},
    "no filter": {"filter": None},
    "mode": {"mode": "full"},
    "history": {"history": [Exchange("Where is it?", "In the hall.")]},
    "understanding": {
        "history": [Exchange("Where is it?", "In the hall.")],
        "model": Scripted(understand={"question": "Is parking near the hall free?"}),
    },
    "answer": {"config": AnswerConfig(style="strict")},
    "answer.forbidden": {"config": AnswerConfig(forbidden=lambda text: False)},
    "retrieval": {"retrieval": replace(KEYWORDS, limit=3)},
    "assembly": {"assembly": AssemblyConfig(window=0)},
    "assembly.encoding": {"assembly": AssemblyConfig(encoding=len)},
    "assembly.neighbors": {"assembly": AssemblyConfig(neighbors="unfiltered")},
    "published": {"assembly": presets.FIVE_STAGE},
    "filters of the index": {"index": hospital().with_filter(A)},
    "channels": {"channels": {"questions": lambda query, limit, condition: []}},
    "model": {"model": Named("gpt-4o")},
    "function": {"model": lambda request: "Parking is free [1]."},
}


def test_each_setting_makes_another_key():
    cache = Shelf()
    for given in ({}, *OTHERS.values()):
        call = {"filter": A, **{name: given[name] for name in ("filter", "mode", "history") if name in given}}
        chain = {name: one for name, one in given.items() if name not in call}
        kept(chain.pop("model", None) or Scripted(understand="{}"), cache, **chain).answer(PARKING, **call)
    assert len(cache) == 1 + len(OTHERS)


@pytest.mark.parametrize(
    ("scope", "finish", "entries"),
    [("everybody", "stop", 1), (lambda call: None, "stop", 0), ("everybody", "length", 0)],
    ids=["whole", "of nobody", "cut"],
)
def test_neither_an_answer_for_nobody_nor_one_that_was_cut_is_kept(scope, finish, entries):
    cache = Shelf()
    for _ in range(2):
        kept(lambda request: ModelReply("Parking is free [1].", finish), cache, scope=scope).answer(PARKING, filter=A)
    assert len(cache) == entries


@pytest.mark.parametrize(
    "condition",
    [
        lambda chunk: True,
        partial(lambda chunk, tenant: True, tenant="a"),
        {"$or": [A, {"tenant": {"$eq": object()}}]},
    ],
    ids=["a function", "a partial function", "an object"],
)
def test_a_filter_that_can_not_be_compared_keeps_nothing_and_a_note_says_so(condition):
    model, cache = Scripted(), Shelf()
    answer = kept(model, cache).answer("Is parking free?", filter=condition)
    assert cache == {}
    assert [note for note in answer.notes if "cache: the filter can't be compared with another one" in note]


# Conversations

PRIVATE = [Exchange("I take methadone. May I have a sedation?", "Yes, tell the nurse.")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("understand", [{"question": PARKING}, {"question": None}, "no JSON"], ids=str)
def test_an_answer_given_in_a_conversation_is_kept_for_this_conversation_alone(understand, way):
    cache = Shelf()
    private = Scripted("After methadone you may not park [1].", understand)
    for _ in range(2):
        WAYS[way](kept(private, cache), history=PRIVATE, filter=A)
    assert (len(private.prompts("answer")), len(cache)) == (1, 1)
    for history in ([], [Exchange("Hi", "Hi.")], [*PRIVATE, Exchange("Hi", "Hi.")]):
        other = WAYS[way](kept(Scripted(understand=understand), cache), history=history, filter=A)
        assert "methadone" not in other.text


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


def test_a_kept_answer_is_only_read_while_its_labels_are_free():
    model, cache = Scripted(), Shelf()
    first = kept(model, cache).answer("Is parking free?", filter=A)
    shared = Conversation(labels=Labels())
    again = [kept(model, cache).answer("Is parking free?", filter=A, conversation=shared) for _ in range(2)]
    followed = kept(model, cache).answer("Is parking free?", filter=A, conversation=first.conversation)
    recalled = ["recall" in [step.name for step in answer.steps] for answer in (*again, followed)]
    assert recalled == [True, False, False]
    labels = [[one.label for one in answer.context.citations] for answer in (first, *again, followed)]
    assert labels == [["1"], ["1"], ["2"], ["1"]]
