from __future__ import annotations

from types import SimpleNamespace

import pytest

from ctxassembly import trim_history
from ctxassembly.errors import ConfigError, InputError
from strategies import words

SAID = [{"role": role, "content": f"{role} {n} says five words"} for n in range(8) for role in ("user", "assistant")]
"""Eight exchanges of ten words."""


def test_while_everything_fits_everything_stays():
    history = trim_history(SAID, 80, words)
    assert history.messages == tuple(SAID)
    assert (history.left_out, history.token_count) == ((), 80)


@pytest.mark.parametrize(
    ("rule", "limit", "keep", "kept"),
    [
        ("the last n exchanges (5) stay", 79, 5, 5),
        ("older ones are trimmed, even where one more would fit", 70, 2, 2),
        ("within the conversation zone", 39, 5, 3),
        ("whole exchanges: half of one never stands", 15, 5, 1),
        ("nothing fits", 9, 5, 0),
        ("no exchange is to be kept", 79, 0, 0),
    ],
)
def test_the_last_exchanges_stay(rule: str, limit: int, keep: int, kept: int):
    history = trim_history(SAID, limit, words, keep_exchanges=keep)
    assert list(history.messages) == SAID[len(SAID) - 2 * kept :]
    assert list(history.left_out) == SAID[: len(SAID) - 2 * kept]
    assert history.token_count == 10 * kept <= limit


@pytest.mark.parametrize(
    "messages",
    [
        ["one two", "three four"],
        [SimpleNamespace(type="human", content="one two"), SimpleNamespace(type="ai", content="three four")],
        [SimpleNamespace(role=SimpleNamespace(value="user"), content="one two three four")],
    ],
)
def test_messages_of_any_framework_are_counted(messages: list):
    assert trim_history(messages, 4, words).token_count == 4


def test_wrong_values_are_errors():
    with pytest.raises(ConfigError, match="max_tokens must be an integer of at least 0, got -1"):
        trim_history(SAID, -1, words)
    with pytest.raises(ConfigError, match="keep_exchanges"):
        trim_history(SAID, 1, words, keep_exchanges=-1)
    with pytest.raises(InputError, match="a message must be a string or have a text as its content"):
        trim_history([{"role": "user", "content": None}], 1, words)


@pytest.mark.parametrize("limit", [0, 4, 80, 10_000])
@pytest.mark.parametrize("keep", [0, 1, 2, 100])
def test_a_number_of_exchanges_can_be_forced(limit: int, keep: int):
    """The rule: exactly the last N, whatever they count and whatever fits."""
    history = trim_history(SAID, limit, words, keep_exchanges=keep, force=True)
    asked = [message for message in history.messages if message["role"] == "user"]
    everything = [message for message in SAID if message["role"] == "user"]
    assert asked == everything[max(0, len(everything) - keep) :]
    assert (*history.left_out, *history.messages) == tuple(SAID)
    assert history.token_count == sum(words(message["content"]) for message in history.messages)
