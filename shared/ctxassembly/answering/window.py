"""What a model's window has room for: the prompts, the conversation and the context of one question together.

The window is taken from the assembly's `TokenBudget`, or from the model if it says its window. The zones of a budget
are estimates. Here the system prompt and the question are counted as they are sent. Where they, or the answer, take
more than their zones, the context gets that much less. The conversation gets what the context leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ctxassembly.answering.requests import AnswerCall, Exchange, Message
from ctxassembly.answering.understand import understanding_messages
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for
from ctxassembly.wording.prompts import system_prompt, user_prompt


def history_messages(history: Iterable[Exchange]) -> list[Message]:
    """Return the messages of a conversation, oldest first."""
    messages: list[Message] = []
    for exchange in history:
        messages += [{"role": "user", "content": exchange.question}, {"role": "assistant", "content": exchange.answer}]
    return messages


BUFFER_TOKENS = 64
"""Tokens of the model's window that are kept for role markers and the like, as `TokenBudget.for_model` does."""


def window_budget(call: AnswerCall, config: AnswerConfig) -> TokenBudget | None:
    """Return the assembly's budget, or one for the model's window; None if that is unknown or has no room."""
    limit = call.assembly.max_tokens
    if isinstance(limit, TokenBudget):
        return limit
    window = call.window_for(call.mode) if call.window_for else None
    generation = config.mode(call.mode).answer_tokens
    if window is None or window <= generation + BUFFER_TOKENS:
        return None
    return TokenBudget(
        window=window,
        system=0,
        query=0,
        conversation=0,
        generation=generation,
        buffer=BUFFER_TOKENS,
        context_cap=limit,
    )


def free_tokens(budget: TokenBudget, call: AnswerCall, config: AnswerConfig, messages: Iterable[Message]) -> int:
    """Return the tokens that `messages` and the answer leave of the window."""
    count = counter_for(call.assembly.encoding).count
    generation = max(budget.generation, config.mode(call.mode).answer_tokens)
    return budget.window - generation - budget.buffer - sum(count(message["content"]) for message in messages)


def fit_history(budget: TokenBudget, call: AnswerCall, config: AnswerConfig) -> Sequence[Exchange]:
    """Return the exchanges that the model can read to understand the question, the last ones."""
    history = call.history[-config.history_exchanges :]
    while history:
        messages = understanding_messages(call.question, history, config, call.today)
        if free_tokens(budget, call, config, messages) >= 0:
            break
        history = history[1:]
    return history


def fit_context(
    budget: TokenBudget, call: AnswerCall, config: AnswerConfig, rules: Sequence[str]
) -> TokenBudget | None:
    """Return the budget of the context if the prompts leave less of the window than the assembly's; None otherwise.

    `rules` come last in the system prompt.

    Raises:
        ConfigError: the prompts and the answer leave nothing of the assembly's TokenBudget.
    """
    count = counter_for(call.assembly.encoding).count
    form = call.assembly.format if isinstance(call.assembly.format, str) else "custom"
    language = call.language
    system = system_prompt(config.style, form=form, language=language, supplement=True, extra_rules=rules)
    user = user_prompt("", call.question, language=language, template=config.template)
    history = history_messages(call.history[-config.history_exchanges :])
    said = sum(count(message["content"]) for message in history)
    try:
        counted = replace(
            budget,
            system=count(system),
            query=count(user),
            conversation=min(said, budget.conversation, config.history_tokens),
            generation=max(budget.generation, config.mode(call.mode).answer_tokens),
            context_cap=call.assembly.token_limit,
        )
    except ConfigError:
        if budget is call.assembly.max_tokens:
            raise
        return None  # a model may take more than its description says
    return counted if counted.context < call.assembly.token_limit else None
