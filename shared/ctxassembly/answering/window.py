"""What a model's window has room for: the prompts, the conversation and the context of one question together.

The window is taken from the assembly's `TokenBudget`, or from the model if it says its window. The zones of a budget
are estimates. Here the system prompt and the question are counted as they are sent. Where they, or the answer, take
more than their zones, the context gets that much less. The conversation gets what the context leaves. If the budget has
shares, they say what the context leaves to the conversation, and what the conversation leaves to the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ctxassembly.answering.requests import AnswerCall, Exchange, Message
from ctxassembly.answering.understand import first_exchange, most_exchanges, understanding_messages
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.shares import CONVERSATION, DOCUMENTS
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_guards import escape_labels
from ctxassembly.wording.prompts import system_prompt, user_prompt


def history_messages(history: Iterable[Exchange]) -> list[Message]:
    """Return the messages of a conversation, oldest first."""
    messages: list[Message] = []
    for exchange in history:
        messages += [{"role": "user", "content": exchange.question}, {"role": "assistant", "content": exchange.answer}]
    return messages


def last_exchanges(
    history: Sequence[Exchange], max_tokens: int, kept: int, count: Callable[[str], int]
) -> Sequence[Exchange]:
    """Return the last `kept` exchanges, and some before them: as many as `max_tokens` has room for."""
    start, tokens = len(history), 0
    while start > max(0, len(history) - most_exchanges(kept)):
        tokens += sum(count(message["content"]) for message in history_messages(history[start - 1 : start]))
        if tokens > max_tokens:
            break
        start -= 1
    return history[first_exchange(len(history), kept, start) :]


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
    """Return the last exchanges that the model can read to understand the question."""
    end = len(call.history)
    start = max(0, end - most_exchanges(config.history_exchanges))
    while start < end:
        messages = understanding_messages(call.question, call.history[start:], config, call.today, call.background)
        if free_tokens(budget, call, config, messages) >= 0:
            break
        start += 1
    return call.history[first_exchange(end, config.history_exchanges, start) :]


def with_background(system: str, background: str, form: str) -> str:
    """Return the system prompt followed by the `background`, no line of which can pass for a source."""
    return f"{system}\n\n{escape_labels(background, form if form in FORMATS else 'numbered')}" if background else system


def fit_context(
    budget: TokenBudget, call: AnswerCall, config: AnswerConfig, rules: Sequence[str]
) -> TokenBudget | None:
    """Return the budget of the context if the prompts leave less of the window than the assembly's; None otherwise.

    If the window has shares, it is always returned. `rules` come last in the system prompt.

    Raises:
        ConfigError: the prompts and the answer leave nothing of the assembly's TokenBudget.
    """
    count = counter_for(call.assembly.encoding).count
    form = call.assembly.format if isinstance(call.assembly.format, str) else "custom"
    language = call.language
    system = system_prompt(config.style, form=form, language=language, supplement=True, extra_rules=rules)
    system = with_background(system, call.background, form)
    user = user_prompt("", call.question, language=language, template=config.template)
    kept = last_exchanges(call.history, history_limit(budget, config), config.history_exchanges, count)
    said = sum(count(message["content"]) for message in history_messages(kept))
    shares = tuple(share for share in budget.shares if share.name in (CONVERSATION, DOCUMENTS))  # all that it sends
    zone = said if len(shares) > 1 else min(said, budget.conversation)
    counted: TokenBudget | None = None
    for conversation in dict.fromkeys((zone, 0)):  # rather no conversation than no context
        try:
            counted = replace(
                budget,
                system=count(system),
                query=count(user),
                conversation=conversation,
                generation=max(budget.generation, config.mode(call.mode).answer_tokens),
                context_cap=budget.context_cap if shares else call.assembly.token_limit,
                shares=shares,
            )
            break
        except ConfigError:
            if budget is call.assembly.max_tokens and not conversation:
                raise
    if counted is None:
        return None  # a model may take more than its description says
    return counted if shares or counted.context < call.assembly.token_limit else None


def history_limit(budget: TokenBudget | None, config: AnswerConfig) -> int:
    """Return the most tokens of the conversation, whatever else is sent."""
    caps = [share.cap for share in budget.shares if share.name == CONVERSATION and share.cap] if budget else []
    return min((config.history_tokens, *caps))
