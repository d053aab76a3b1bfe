"""Answers kept in a cache of the caller's."""

from __future__ import annotations

import pytest

from chain_parts import KEYWORDS, Scripted, hospital
from ctxassembly import AnswerChain, AnswerConfig, ConfigError, Exchange, InputError, Labels

A = {"tenant": "a"}


class Shelf(dict):
    def set(self, key, entry):
        self[key] = entry


def kept(model, cache, config=None) -> AnswerChain:
    return AnswerChain.over(hospital(), model, KEYWORDS, config=config, cache=cache)


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


def test_a_filter_that_is_a_function_keeps_nothing():
    model, cache = Scripted(), Shelf()
    made = kept(model, cache)
    made.answer("Is parking free?", filter=lambda chunk: True)
    made.answer("Is parking free?", filter=lambda chunk: False)
    assert cache == {}


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


def test_what_can_not_work_is_refused():
    with pytest.raises(ConfigError, match="cache must be None where the source has labels="):
        AnswerChain.over(hospital(), Scripted(), KEYWORDS, labels=Labels(), cache=Shelf())
    with pytest.raises(InputError, match=r"cache must have get\(key\) and set\(key, entry\)"):
        AnswerChain.over(hospital(), Scripted(), KEYWORDS, cache=[])
