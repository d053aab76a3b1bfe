from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import ConfigError
from ctxassembly.answering import AnswerConfig, Intent
from ctxassembly.wording.prompts import STYLES


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"intents": ("practical",)}, "intents"),
        ({"default_intent": "practical"}, "default_intent"),
        ({"rewrite": "never"}, "rewrite"),
        ({"decompose": True}, "decompose"),
        ({"modes": {"normal": 1_000}}, "modes"),
        ({"style": "polite"}, "style"),
        ({"style": None}, "style"),
        ({"style": ["strict"]}, "style"),
        ({"extra_rules": "Give no medical advice."}, "extra_rules"),
        ({"extra_rules": ("Be brief.", 7)}, "extra_rules"),
        ({"extra_rules": None}, "extra_rules"),
        ({"template": ""}, "template"),
        ({"rewrite_prompt": " "}, "rewrite_prompt"),
        ({"history_exchanges": 0}, "history_exchanges"),
        ({"forbidden": "dose"}, "forbidden"),
        ({"forbidden": ("(",)}, "forbidden"),
        ({"forbidden": ("",)}, "forbidden"),
        ({"on_forbidden": "delete"}, "on_forbidden"),
        ({"think_harder": "hardest"}, "think_harder"),
        ({"think_harder": True}, "think_harder"),
        ({"refusal": " "}, "refusal"),
        ({"history_tokens": -1}, "history_tokens"),
        ({"no_content": ""}, "no_content"),
        ({"voice": None}, "voice"),
        ({"answer_seconds": float("nan")}, "answer_seconds"),
    ],
)
def test_a_wrong_value_names_its_parameter(settings: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ConfigError) as error:
        AnswerConfig(**settings)
    assert error.value.parameter == parameter


def test_a_style_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="style must be one of 'grounded', 'strict', 'soft', got 'polite'"):
        AnswerConfig(style="polite")


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_a_prompt_is_one(style: str) -> None:
    assert AnswerConfig(style=style).style == style


def test_lists_are_kept_as_tuples_that_nobody_can_change() -> None:
    rules, intents = ["Give no medical advice."], [Intent("practical", "Parking.")]
    config = AnswerConfig(extra_rules=rules, intents=intents)  # type: ignore[arg-type]
    rules.append("Be rude.")
    intents.clear()
    assert config.extra_rules == ("Give no medical advice.",)
    assert [intent.label for intent in config.intents] == ["practical"]
