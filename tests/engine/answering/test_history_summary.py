"""A summary of the exchanges that have no room in the prompt, and totals over the calls of a conversation."""

from __future__ import annotations

import json

import pytest

from chain_parts import Scripted, chain
from ctxassembly.answering import AnswerConfig, Exchange, TokenUsage, total_usage

A = {"tenant": "a"}
HISTORY = [Exchange(f"question {number}", f"answer {number}") for number in range(12)]
SUMMARY = "The user asked seven questions."


def asked(config: AnswerConfig, history=HISTORY, summary=SUMMARY, **given):
    model = Scripted(understand={"question": None})
    model.script["summarize"] = summary
    return chain(model, config, **given).answer("Is parking free?", history=history, filter=A), model


def test_the_exchanges_left_out_are_summarized_by_option():
    """The published rule: older history is summarized."""
    answer, model = asked(AnswerConfig(summarize_history=True))
    [request] = model.prompts("summarize")
    told = [json.loads(line) for line in request.messages[1]["content"].splitlines()]
    assert told == [{"user": one.question, "assistant": one.answer} for one in HISTORY[:4]]
    assert (request.max_tokens, request.is_streamed) == (300, False)
    system, *history, _ = model.prompts("answer")[0].messages
    assert [message["role"] for message in history] == ["user", "assistant"] * 9
    assert history[1]["content"] == SUMMARY
    assert history[2]["content"] == "question 4"
    assert SUMMARY not in system["content"]
    assert [note.partition("; ")[0] for note in answer.notes] == [
        "history: 8 messages summarized, beyond 5 exchanges or 8,000 tokens"
    ]
    assert [step.name for step in answer.steps] == ["understand", "retrieve", "assemble", "summarize", "answer"]
    assert answer.steps[3].outcome == "4 exchanges in 6 tokens"


def test_a_summary_says_of_how_many_exchanges_it_is():
    """The rule: it said "36 exchanges", and had read 12: say what was read."""
    long = [Exchange(f"question {number}", "word " * 150) for number in range(40)]
    answer, model = asked(AnswerConfig(summarize_history=True, history_tokens=2_000), long)
    [request] = model.prompts("summarize")
    read = [json.loads(line)["user"] for line in request.messages[1]["content"].splitlines()]
    count = len(read)
    kept = (len(model.prompts("answer")[0].messages) - 4) // 2
    assert read == [f"question {number}" for number in range(40 - kept - count, 40 - kept)]
    assert 0 < count < 40 - kept
    assert next(step for step in answer.steps if step.name == "summarize").outcome == (
        f"the last {count} of {40 - kept} exchanges in 6 tokens"
    )
    assert answer.notes[-1].startswith(
        f"history: {2 * count} messages summarized, {2 * (40 - kept - count)} left out, beyond "
    )


@pytest.mark.parametrize(
    ("summary", "note"),
    [
        (ConnectionError("429"), "summarize: ConnectionError: 429"),
        (" ", "summarize: no summary of 1 to 400 tokens came"),
        ("word " * 500, "summarize: no summary of 1 to 400 tokens came"),
    ],
)
def test_without_a_summary_there_is_an_answer_and_a_note(summary, note):
    answer, model = asked(AnswerConfig(summarize_history=True), summary=summary)
    assert note in answer.notes
    assert answer.notes[-1].startswith("history: 8 messages left out")
    assert model.prompts("answer")[0].messages[1]["content"] == "question 4"


def test_totals_over_the_calls_of_a_conversation():
    """The published rule: tokens are summed over calls."""
    answers = [asked(AnswerConfig(summarize_history=True), HISTORY[:length])[0] for length in (0, 3, 9)]
    assert total_usage(answers) == TokenUsage(calls=6, tokens_in=600, tokens_out=60)
    assert total_usage([]) == TokenUsage()
    assert total_usage(answers).elapsed_ms > 0
