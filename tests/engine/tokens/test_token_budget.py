from __future__ import annotations

import pickle
import re
import sys
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from builders import count, hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, TokenBudget, assemble
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.tokens.counter import counter_for

PROMPT, QUESTION = "Answer from the context alone.", "How long do I fast before a gastroscopy?"
HISTORY = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning"}]


def test_the_published_zones():
    """4,000 system, 32,000 context, 8,000 conversation, 1,000 query, 4,000 generation, 1,000 buffer of 128,000."""
    budget = TokenBudget()
    assert (budget.window, budget.system, budget.context, budget.conversation) == (128_000, 4_000, 32_000, 8_000)
    assert (budget.query, budget.generation, budget.buffer) == (1_000, 4_000, 1_000)


@pytest.mark.parametrize(
    ("use", "context", "share"),
    [
        # 128,000 - 4,000 - 1,000 - 0 - 8,000 - 1,000
        ("document analysis", 114_000, 89),
        # 32,768 - 2,000 - 1,000 - 16,000 - 1,000 - 1,000
        ("support chat", 11_768, 36),
        # 8,192 - 500 - 1,000 - 0 - 1,000 - 1,000
        ("single turns", 4_692, 57),
    ],
)
def test_the_zones_of_each_use_leave_what_the_docstring_says(use: str, context: int, share: int):
    rows = re.findall(r"\| ([\w ]+) \| `(TokenBudget\(.+\))` \| ([\d,]+ \(\d+ %\)) \|", TokenBudget.__doc__ or "")
    assert len(rows) == 3
    ((zones, written),) = [row[1:] for row in rows if row[0] == use]
    budget = eval(zones, {"TokenBudget": TokenBudget})
    assert budget.context == AssemblyConfig(max_tokens=budget).token_limit == context
    assert written == f"{context:,} ({share} %)"
    assert round(100 * context / budget.window) == share


WINDOWS = {"mistral": 8_192, "gemma2:9b": 8_192, "qwen2.5:3b": 32_768, "gpt-4o": 128_000}
WINDOWS |= dict.fromkeys(("llama3.2", "llama3.2:3b", "qwen2.5:14b", "deepseek-r1:8b"), 128_000)


def test_a_model_has_its_window():
    assert {model: TokenBudget.for_model(model).window for model in WINDOWS} == WINDOWS
    assert TokenBudget.for_model("llama3.2", context_cap=20_000).context == 20_000
    assert TokenBudget.for_model("in-house-7b", window=16_000, generation=1_000).context == 14_936
    with pytest.raises(ConfigError, match=r"model must be one of mistral, .*give window=, got 'gpt-17'"):
        TokenBudget.for_model("gpt-17")


def test_what_is_really_there_is_counted():
    """Published: window - system - query - output - 64, with 1,024 for the output."""
    assert TokenBudget.for_model("mistral").context == 8_192 - 1_024 - 64
    budget = TokenBudget.for_model(
        "mistral", system_prompt=PROMPT, question=QUESTION, history=HISTORY, generation=1_000
    )
    assert budget.conversation == sum(count(message["content"]) for message in HISTORY)
    assert budget.context == 8_192 - count(PROMPT) - count(QUESTION) - budget.conversation - 1_000 - 64


def test_a_limit_above_the_window_is_cut_to_it_with_a_note():
    """Published: 8,000 tokens for mistral are cut to the 7,094 that its window leaves, with 10 for the prompt."""
    prompt = "one two three four five six seven eight nine ten"
    budget = TokenBudget.for_model("mistral", system_prompt=prompt, context_cap=8_000)
    long = " ".join(f"Sentence {n} of a long document." for n in range(2_000))
    context = assemble(hits_of([Chunk("A0", "A", long, 0)]), AssemblyConfig(max_tokens=budget))
    assert budget.context == context.trace.max_tokens == 7_094
    assert 7_000 < context.token_count <= 7_094
    assert context.trace.notes[0] == "budget: 8,000 tokens cut to the 7,094 that a window of 8,192 leaves"


@pytest.mark.parametrize("max_tokens", [8_000, TokenBudget(), TokenBudget(window=50_000, context_cap=None)])
def test_a_limit_within_the_window_has_no_note(max_tokens: Any):
    notes = assemble(hits_of([words_of("A", 0)]), AssemblyConfig(max_tokens=max_tokens)).trace.notes
    assert not any(note.startswith("budget: ") for note in notes)


def test_a_model_is_counted_in_its_own_encoding():
    budget = TokenBudget.for_model("gpt-4o", question="Скільки годин не їсти?")
    assert budget.query == count("Скільки годин не їсти?", "o200k_base") != count("Скільки годин не їсти?")
    assert AssemblyConfig(max_tokens=budget).encoding == "o200k_base"
    assert replace(AssemblyConfig(max_tokens=budget), window=2).encoding == "o200k_base"
    assert TokenBudget.for_model("gpt-oss-120b", window=128_000).encoding == "o200k_harmony"
    assert AssemblyConfig(max_tokens=TokenBudget.for_model("mistral")).encoding == "cl100k_base"


@pytest.mark.parametrize("encoding", [len, "o200k_harmony", "cl100k_base"])
def test_another_encoding_beside_that_of_the_model_is_an_error(encoding: Any):
    with pytest.raises(
        ConfigError, match=r"contradicts the TokenBudget, which counts by 'o200k_base': remove encoding="
    ):
        AssemblyConfig(max_tokens=TokenBudget.for_model("gpt-4o"), encoding=encoding)
    assert AssemblyConfig(max_tokens=TokenBudget.for_model("mistral"), encoding=encoding).encoding == encoding


def test_the_total_is_what_all_zones_take():
    """Published: 50,000 of a window of 128,000."""
    assert TokenBudget().total == 50_000
    assert TokenBudget.for_model("mistral").total == 8_192


class Said:
    """A model that says of itself what is given."""

    def __init__(self, **said: Any) -> None:
        self.__dict__.update(said)


@pytest.mark.parametrize(
    ("rule", "model", "window", "generation"),
    [
        ("LlamaIndex", Said(metadata=Said(model_name="own", context_window=4_096, num_output=256)), 4_096, 1_024),
        ("an answer may be longer", Said(metadata=Said(context_window=9_000, num_output=2_000)), 9_000, 2_000),
        ("by its name", Said(metadata=Said(model_name="mistral", context_window=3_900, num_output=-1)), 8_192, 1_024),
        ("LangChain", Said(profile={"max_input_tokens": 200_000, "max_output_tokens": 64_000}), 200_000, 1_024),
        ("LangChain", Said(profile={"max_input_tokens": 9_000}, max_tokens=3_000, model="own"), 9_000, 3_000),
        ("no profile", Said(profile=None, metadata={"a": 1}, model_name="gpt-4o"), 128_000, 1_024),
    ],
)
def test_a_model_at_hand_says_what_it_takes(rule: str, model: Any, window: int, generation: int):
    budget = TokenBudget.for_model(model)
    assert (budget.window, budget.generation) == (window, generation)
    assert TokenBudget.for_model(model, generation=7).generation == 7


def test_a_config_whose_encoding_nobody_gave_takes_that_of_a_budget_given_later():
    budget = TokenBudget.for_model("gpt-4o")
    for config in (AssemblyConfig(), pickle.loads(pickle.dumps(AssemblyConfig())), deepcopy(AssemblyConfig())):
        assert config.encoding == "cl100k_base"
        assert repr(config.encoding) == "'cl100k_base'"
        assert replace(config, max_tokens=budget).encoding == "o200k_base"
        assert counter_for(config.encoding) is counter_for("cl100k_base")


class Unreachable:
    @property
    def metadata(self) -> Any:
        raise ConnectionError("refused")


@pytest.mark.parametrize("model", [None, 7, Said(profile={}), Unreachable()])
def test_one_that_says_nothing_needs_a_window(model: Any):
    with pytest.raises(InputError, match=r"^model must be a name, or an LLM that says what it is, .*give window="):
        TokenBudget.for_model(model)
    assert TokenBudget.for_model(model, window=9_000).window == 9_000


def test_zones_that_add_up_to_more_than_the_window_are_named():
    named = r"more than the zones take together \(system 7 \+ query 0 \+ .* generation 9,000 \+ buffer 64\), got 8192"
    with pytest.raises(ConfigError, match=named):
        TokenBudget.for_model("mistral", system_prompt="one two three four five six seven", generation=9_000)


def test_a_hosted_model_needs_its_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    with pytest.raises(ImportError, match=r"pip install 'ctxassembly\[models\]'"):
        TokenBudget.for_model("gpt-4o")
    assert TokenBudget.for_model("mistral").window == 8_192
    assert TokenBudget.for_model("gpt-4o", window=128_000).encoding == "o200k_base"


@pytest.mark.parametrize("window", [200, 1_000, 1_029, 1_030, 1_500, 2_048, 2_100])
def test_the_answer_takes_at_most_half_of_a_small_window(window: int):
    """The published 1,024 tokens would leave no token of 1,030, and 100 of 1,200."""
    for model in (
        Said(metadata=Said(model_name="tiny", context_window=window)),
        Said(profile={"max_input_tokens": window}),
    ):
        budget = TokenBudget.for_model(model)
        assert budget.generation == min(1_024, window // 2)
        assert budget.context == window - budget.generation - 64
