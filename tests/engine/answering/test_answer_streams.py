"""Answers that are streamed, awaited, cancelled, and many at once."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chain_parts import Scripted, chain, hospital
from ctxassembly import AnswerError
from ctxassembly.answering import Answer, AnswerConfig, AnswerPiece, Intent, ModelReply

A = {"tenant": "a"}
SAID = 'Parking is free [1]. "free for the first hour" [1].'


def test_the_text_comes_first_with_its_labels_and_then_the_answer():
    *pieces, answer = chain(Scripted(SAID)).stream("Is parking free?", filter=A)
    assert all(isinstance(piece, AnswerPiece) for piece in pieces)
    assert isinstance(answer, Answer)
    assert "".join(piece.text for piece in pieces) == answer.text == SAID
    assert len(pieces) > 3
    assert [label for piece in pieces for label in piece.labels] == ["1", "1"]
    assert answer.quotes[0].found
    assert answer.steps[-1].tokens_out == len(SAID.split())


class Breaks(Scripted):
    def stream(self, request):
        yield ModelReply("Parking is ")
        raise ConnectionError("reset")


def test_a_stream_that_breaks_is_an_error_and_no_answer():
    events = chain(Breaks()).stream("Is parking free?", filter=A)
    assert next(events).text == "Parking is "
    with pytest.raises(AnswerError, match="the model failed: ConnectionError: reset") as caught:
        next(events)
    assert (caught.value.partial, type(caught.value.__cause__)) == ("Parking is ", ConnectionError)


class Hangs(Scripted):
    def stream(self, request):
        yield ModelReply("Parking ")
        time.sleep(30)


def test_a_stream_that_stalls_is_given_up_at_its_deadline():
    events = chain(Hangs(), AnswerConfig(answer_seconds=0.2)).stream("Is parking free?", filter=A)
    assert next(events).text == "Parking "
    with pytest.raises(AnswerError, match=r"no answer within 0\.2 s"):
        next(events)


def test_a_reader_who_goes_away_stops_the_model():
    model = Scripted(SAID)
    events = chain(model).stream("Is parking free?", filter=A)
    next(events)
    assert model.closed == 0
    events.close()
    assert model.closed == 1


class Async:
    """A model that can only be awaited."""

    def __init__(self, said=SAID):
        self.said, self.closed = said, 0

    async def aask(self, request):
        await asyncio.sleep(0)
        if request.purpose == "understand":
            return '{"intent": "practical", "confidence": 1}'
        return self.said

    async def astream(self, request):
        try:
            for word in self.said.split(" "):
                await asyncio.sleep(0)
                yield f"{word} "
        finally:
            self.closed += 1


async def test_awaited_answers_are_the_same():
    config = AnswerConfig(intents=(Intent("practical", "Parking."),))
    answer = await chain(Async(), config).aanswer("Is parking free?", filter=A)
    assert answer.understanding.intent == "practical"
    assert answer.text == SAID
    *pieces, streamed = [event async for event in chain(Async()).astream("Is parking free?", filter=A)]
    assert "".join(piece.text for piece in pieces) == streamed.text == f"{SAID} "
    assert streamed.citations == answer.citations


@pytest.mark.parametrize("model", [Scripted(SAID), lambda request: SAID])
async def test_a_model_that_can_only_be_called_is_called_in_a_thread(model):
    assert (await chain(model).aanswer("Is parking free?", filter=A)).text == SAID
    *_, answer = [event async for event in chain(model).astream("Is parking free?", filter=A)]
    assert answer.text == SAID


ASKED = {"Is parking free?": "parking", "When is ferritin measured?": "lab", "How long is a gastroscopy?": "scopy"}


def echo(request):
    """The first source of the context, cited."""
    return request.messages[-1]["content"].split("Source: ")[1].split(".pdf")[0] + " [1]."


async def test_many_conversations_in_threads_and_on_one_loop_keep_to_themselves():
    made = chain(echo, index=hospital())
    questions = list(ASKED) * 20
    with ThreadPoolExecutor(8) as pool:
        called = list(pool.map(lambda question: made.answer(question, filter=A), questions))
    awaited = await asyncio.gather(*(made.aanswer(question, filter=A) for question in questions))
    for answers in (called, awaited):
        assert [answer.text for answer in answers] == [f"{ASKED[question]} [1]." for question in questions]


class EndsBy(Scripted):
    finish: str | None = "stop"

    def stream(self, request):
        yield ModelReply("Parking is ")
        yield None
        yield ModelReply("free [1].", self.finish)
        yield None


async def test_none_is_a_piece_without_text_and_ends_nothing():
    *_, answer = chain(EndsBy()).stream("Is parking free?", filter=A)
    assert (answer.text, answer.is_truncated, answer.notes) == ("Parking is free [1].", False, ())
    *_, awaited = [event async for event in chain(EndsBy()).astream("Is parking free?", filter=A)]
    assert awaited.text == "Parking is free [1]."


async def test_a_stream_that_is_cut_says_so():
    model = EndsBy()
    model.finish = "length"
    *_, answer = chain(model).stream("Is parking free?", filter=A)
    assert answer.is_truncated
    assert answer.to_dict()["is_truncated"] is True
    assert answer.notes == (
        "answer: cut, the model ended by 'length': raise answer_tokens of the mode, or the model's own limit",
    )
