"""More effort by itself: after dissatisfaction, where nothing was found, and where an answer is weak."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chain_parts import KEYWORDS, chain
from ctxassembly import AnswerError, Chunk, MemoryIndex
from ctxassembly.answering import Answer, AnswerConfig, Exchange, Intent, Mode

TEXTS = (
    "Parking: parking is in the garage, parking is signposted.",
    "Parking costs two euros an hour.",
    "The cafeteria opens at eight.",
)
INDEX = MemoryIndex([Chunk(f"{n}#0", str(n), text) for n, text in enumerate(TEXTS)])
MODES = {"normal": Mode(), "escalated": Mode(limit=20)}
OFF = Intent("off", "Poems.", answer="Sorry.")
EARLIER = [Exchange("What does parking cost?", "It is in the garage [1].")]


@dataclass(frozen=True)
class Case:
    """A question, what a model makes of it, and the words of the evidence."""

    question: str
    evidence: str
    understood: dict[str, Any] = field(default_factory=dict)
    history: tuple[Exchange, ...] = ()
    weak: str = "I don't have enough information in the provided context to answer this question."
    """What the model answers where the context hasn't the evidence."""
    expected: str | None = None
    """The beginning of the note; None if more effort isn't called for."""


CASES = {
    "found at once": Case("When does the cafeteria open?", "opens at eight"),
    "not enough": Case("What does parking cost?", "two euros", expected="the context doesn't suffice"),
    "unlabeled": Case("What does parking cost?", "two euros", weak="It is free.", expected="0 of 1 sentences"),
    "invented quote": Case(
        "What does parking cost?",
        "two euros",
        weak='It is "four euros" [1].',
        expected="0 unknown labels, 1 quotes not found",
    ),
    "dissatisfied": Case(
        "No, that is not what I asked.",
        "two euros",
        {"question": "What does parking cost?", "dissatisfied": True},
        tuple(EARLIER),
        expected="the user is dissatisfied",
    ),
    "content": Case(
        "Thanks. And the cafeteria?",
        "opens at eight",
        {"question": "When does the cafeteria open?", "dissatisfied": False},
        tuple(EARLIER),
    ),
    "nothing there": Case("xyzzy", "nowhere", expected="retrieval: nothing usable was found"),
    "another subject": Case("A poem, please", "Sorry.", {"intent": "off", "confidence": 1}),
}


def ask(case: Case, *, harder: bool = True, streamed: bool = False) -> tuple[Answer, list[str]]:
    """The answer, and the modes in which the model was asked for it."""
    modes = []

    def model(request):
        if request.purpose == "understand":
            return json.dumps({"intent": "on", "confidence": 1, "question": None, **case.understood})
        modes.append(request.mode)
        context = request.messages[-1]["content"]
        at = context.find(case.evidence)
        label = re.findall(r"\[(\d+)\] Source", context[:at])[-1:] if at >= 0 else []
        return f"It is {case.evidence} [{label[0]}]." if label else case.weak

    config = AnswerConfig(
        modes=MODES, think_harder="escalated" if harder else None, intents=(OFF, Intent("on", "All."))
    )
    made = chain(model, config, index=INDEX, retrieval=replace(KEYWORDS, limit=1, rescue="off", adjacency=0.0))
    if streamed:
        *pieces, answer = made.stream(case.question, history=case.history)
        assert "".join(piece.text for piece in pieces) == answer.text
    else:
        answer = made.answer(case.question, history=case.history)
    return answer, modes


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_question_is_thought_about_harder_exactly_where_that_may_help(case: Case, streamed: bool):
    """The published rule: think harder after dissatisfaction, abstention or low quality."""
    answer, modes = ask(case, streamed=streamed)
    [note] = [note for note in answer.notes if note.startswith("think harder")] or [None]
    assert (note is None) == (case.expected is None)
    assert note is None or note.startswith(f"think harder: {case.expected}")
    if case.expected and "retrieval" not in case.expected:
        assert modes == (["escalated"] if case.understood else ["normal", "escalated"])
        assert answer.mode == "escalated"


def test_the_first_answer_is_kept_if_the_model_fails_then():
    def model(request):
        if request.mode == "escalated":
            raise ConnectionError("429")
        return "It is free."

    config = AnswerConfig(modes=MODES, think_harder="escalated")
    answer = chain(model, config, index=INDEX).answer("What does parking cost?")
    assert answer.text == "It is free."
    assert answer.notes[-1].startswith("think harder: the first answer is kept (AnswerError")
    with pytest.raises(AnswerError):
        chain(model, config, index=INDEX).answer("What does parking cost?", mode="escalated")
