"""Prompts, conversation and context are held to the model's window together."""

from __future__ import annotations

import pytest

from chain_parts import Scripted, chain
from ctxassembly import AssemblyConfig, Chunk, ConfigError, MemoryIndex, Share, TokenBudget
from ctxassembly.answering import AnswerConfig, Exchange, Mode
from ctxassembly.tokens.counter import counter_for

count = counter_for("cl100k_base")
SHORT = {"normal": Mode(answer_tokens=100)}
QUESTION = "Is parking free at the hospital?"
HISTORY = [Exchange(f"question {number}", "word " * 150) for number in range(5)]
PARKING = MemoryIndex(
    [
        Chunk(f"p#{n}", f"p{n}", " ".join(f"Parking is free on day {n} in zone {zone}." for zone in range(9)))
        for n in range(20)
    ]
)


def asked(budget: TokenBudget, history=(), question=QUESTION, **settings):
    model = Scripted(understand={"question": None})
    config = AnswerConfig(modes=SHORT, **settings)
    made = chain(model, config, index=PARKING, assembly=AssemblyConfig(max_tokens=budget, fill=True))
    answer = made.answer(question, history=history)
    return answer, model


def tokens(request) -> int:
    return sum(count(message["content"]) for message in request.messages)


@pytest.mark.parametrize("window", [500, 700, 1_000, 2_000, 4_000])
@pytest.mark.parametrize("conversation", [0, 100])
@pytest.mark.parametrize("rules", [(), ("Give no medical advice. " * 10,)])
def test_all_that_is_sent_fits_the_window_with_the_answer(window, conversation, rules):
    """The published rule: system prompt, query, history, context and answer share one window."""
    budget = TokenBudget(
        window=window, system=0, query=0, conversation=conversation, generation=50, buffer=64, context_cap=None
    )
    answer, model = asked(budget, HISTORY, extra_rules=rules)
    for request in model.asked:
        assert tokens(request) + 100 + 64 <= window
    assert answer.context.token_count > 0


def test_the_conversation_gets_what_the_context_leaves_and_a_note_says_what_is_left_out():
    budget = TokenBudget(window=1_000, system=200, query=50, conversation=300, generation=100, buffer=64)
    answer, model = asked(budget, HISTORY)
    said = model.prompts("answer")[0].messages
    assert [message["content"] for message in said if message["content"].startswith("question")] == [
        "question 2",
        "question 3",
        "question 4",
    ]
    assert answer.notes[-1].startswith("history: 4 messages left out, beyond 5 exchanges or ")


def test_a_question_that_fills_the_window_is_one_clear_error():
    budget = TokenBudget(window=1_000, system=50, query=50, conversation=0, generation=100, buffer=64)
    with pytest.raises(ConfigError, match=r"TokenBudget\.window must be more than the zones take together"):
        asked(budget, question=QUESTION * 200)


class Sized(Scripted):
    """A scripted model that knows its window."""

    def __init__(self, window):
        super().__init__(understand={"question": None})
        self.window = window

    def window_for(self, mode):
        return self.window


@pytest.mark.parametrize("window", [500, 700, 1_000, 4_000])
def test_a_model_that_knows_its_window_needs_no_budget(window):
    model, assembly = Sized(window), AssemblyConfig(fill=True)
    answer = chain(model, AnswerConfig(modes=SHORT), index=PARKING, assembly=assembly).answer(QUESTION, history=HISTORY)
    for request in model.asked:
        assert tokens(request) + 100 + 64 <= window
    trace = answer.context.trace
    if window < trace.hit_tokens:
        assert trace.notes[0].startswith(f"budget: {trace.hit_tokens:,} tokens cut to the ")
    else:  # the room that is left doesn't make a context longer than its hits
        assert trace.max_tokens == trace.hit_tokens


DOCUMENTS, CONVERSATION = Share("documents", floor=150, cap=900), Share("conversation", floor=170, cap=600)


@pytest.mark.parametrize("window", [450, 700, 1_000, 2_000, 6_000])
@pytest.mark.parametrize("shares", [(DOCUMENTS, CONVERSATION), (CONVERSATION, DOCUMENTS), (DOCUMENTS,)])
def test_shares_divide_what_the_prompt_as_sent_leaves(window: int, shares: tuple[Share, ...]):
    budget = TokenBudget(window=window, system=0, query=0, conversation=0, generation=50, buffer=64, shares=shares)
    answer, model = asked(budget, HISTORY)
    for request in model.asked:
        assert tokens(request) + 100 + 64 <= window
    history = sum(count(message["content"]) for message in model.prompts("answer")[0].messages[1:-1])
    assert 0 < answer.context.token_count <= 900
    if len(shares) == 2:
        assert history <= 600
    if window >= 700:
        assert answer.context.token_count > 100
    if len(shares) == 2 and window >= 1_000:
        assert history >= 150
