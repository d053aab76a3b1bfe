from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import ConfigError
from ctxassembly.config.enrichment import REPLY_TOKENS
from ctxassembly.enrichment import EnrichmentConfig

NO_LABELS = {"categories": (), "place": False, "date": False}


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
        ({"summary": False, "questions": 0, "context": False, **NO_LABELS}, "summary, questions and context"),
        ({"categories": "facts"}, "categories"),
        ({"categories": ("facts", "")}, "categories"),
        ({"entity_types": ["doctor"]}, "entity_types"),
        ({"place": None}, "place"),
        ({"date": 1}, "date"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 65}, "concurrency"),
    ],
)
def test_a_wrong_value_names_its_parameter(settings: dict[str, Any], parameter: str):
    with pytest.raises(ConfigError) as error:
        EnrichmentConfig(**settings)
    assert error.value.parameter == parameter


def test_a_reply_has_room_for_the_chunks_of_a_call():
    for settings in ({}, {"questions": 5}, {"questions": 0}, {"summary": False}):
        config = EnrichmentConfig(**settings)  # type: ignore[arg-type]
        assert config.max_reply_tokens(config.chunks_per_call) <= REPLY_TOKENS
        assert config.max_reply_tokens(config.chunks_per_call + 1) > REPLY_TOKENS
    alone = EnrichmentConfig(questions=0, context=False, **NO_LABELS)  # type: ignore[arg-type]
    assert alone.max_reply_tokens(1_000) == alone.max_reply_tokens(0) == 350
