from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import ConfigError, EnrichmentConfig


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"language": ""}, "language"),
        ({"language": 7}, "language"),
        ({"summary": 1}, "summary"),
        ({"context": None}, "context"),
        ({"questions": 6}, "questions"),
        ({"questions": -1}, "questions"),
        ({"questions": True}, "questions"),
        ({"summary": False, "questions": 0, "context": False}, "summary, questions and context"),
        ({"call_tokens": 99}, "call_tokens"),
        ({"reply_tokens": 999}, "reply_tokens"),
        ({"encoding": ""}, "encoding"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 65}, "concurrency"),
        ({"max_failures": 0}, "max_failures"),
    ],
)
def test_a_wrong_value_names_its_parameter(settings: dict[str, Any], parameter: str):
    with pytest.raises(ConfigError) as error:
        EnrichmentConfig(**settings)
    assert error.value.parameter == parameter


def test_a_reply_has_room_for_the_chunks_of_a_call():
    for settings in ({}, {"questions": 5}, {"questions": 0}, {"summary": False}, {"reply_tokens": 1_000}):
        config = EnrichmentConfig(**settings)  # type: ignore[arg-type]
        assert config.max_reply_tokens(config.chunks_per_call) <= config.reply_tokens
        assert config.max_reply_tokens(config.chunks_per_call + 1) > config.reply_tokens
    alone = EnrichmentConfig(questions=0, context=False)
    assert alone.max_reply_tokens(1_000) == alone.max_reply_tokens(0) == 350
