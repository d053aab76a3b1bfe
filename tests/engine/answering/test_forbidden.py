"""An answer is checked for what it must not say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chain_parts import Scripted, chain
from ctxassembly import AnswerError
from ctxassembly.answering import Answer, AnswerConfig, AnswerPiece, ModelReply

A = {"tenant": "a"}
DOSE = (r"\b\d+ ?(mg|tablets)\b",)


def said(text: str, **settings):
    return chain(Scripted(text), AnswerConfig(**settings)).answer("Is parking free?", filter=A)


@pytest.mark.parametrize("text", ["Take 20 mg [1].", "Take 20 [1] MG.", "Take 20mg in the morning."])
def test_a_forbidden_answer_is_refused_as_published(text):
    """The published rule: an answer is checked for forbidden advice."""
    answer = said(text, forbidden=DOSE)
    assert answer.text == "I can't give advice on that."
    assert answer.abstention_reason.startswith("forbidden: the answer says '20")
    assert answer.notes == (answer.abstention_reason,)
    assert (answer.citations, answer.quality, answer.exchange.cited) == ((), None, ())
    assert "Take" not in str(answer.to_dict()["answer"])


def test_the_refusal_is_the_callers_or_in_the_language_of_the_question():
    assert said("Take 20 mg.", forbidden=DOSE, refusal="Ask your doctor.").text == "Ask your doctor."
    made = chain(Scripted("Take 20 mg."), AnswerConfig(forbidden=DOSE))
    assert made.answer("Wat kost parking in de ochtend?", filter=A).text == "Daarover kan ik geen advies geven."


def test_a_flagged_answer_is_kept_with_a_note():
    answer = said("Take 20 mg [1].", forbidden=DOSE, on_forbidden="flag")
    assert (answer.text, answer.abstention_reason) == ("Take 20 mg [1].", None)
    assert answer.notes == ("forbidden: the answer says '20 mg'",)
    assert len(answer.citations) == 1


@pytest.mark.parametrize("text", ["Take 20 mg [1].", "Parking is free [1]."])
def test_a_stream_gives_on_nothing_of_an_answer_that_may_be_refused(text):
    made = chain(Scripted(text), AnswerConfig(forbidden=DOSE))
    *pieces, answer = made.stream("Is parking free?", filter=A)
    assert isinstance(answer, Answer)
    assert [piece.text for piece in pieces] == [answer.text]
    assert pieces[0].labels == tuple(citation.label for citation in answer.citations)
    flagging = replace(made, config=AnswerConfig(forbidden=DOSE, on_forbidden="flag"))
    events = list(flagging.stream("Is parking free?", filter=A))
    assert sum(isinstance(event, AnswerPiece) for event in events) > 1


@pytest.mark.parametrize(("settings", "partial"), [({"on_forbidden": "flag"}, "Take 20 mg "), ({}, "")])
def test_an_error_on_the_way_has_no_more_than_was_given_on(settings, partial):
    class Broken(Scripted):
        def stream(self, request):
            yield ModelReply("Take 20 mg ")
            raise ConnectionError("lost")

    made = chain(Broken(), AnswerConfig(forbidden=DOSE, **settings))
    with pytest.raises(AnswerError) as error:
        list(made.stream("Is parking free?", filter=A))
    assert error.value.partial == partial
