from __future__ import annotations

import doctest
import inspect
import re
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from ctxassembly import AssemblyConfig, MetadataKeys, TokenBudget
from ctxassembly.errors import ConfigError, CtxAssemblyError
from ctxassembly.wording.formats import FORMATS as OWN
from ctxassembly.wording.languages import LANGUAGES

WHOLE = "an integer"
ORDERS = "one of 'auto', 'documents', 'relevance', 'edges', 'interleaved', 'document_order', 'reverse', 'stable'"
FORMATS = f"one of {str([*OWN])[1:-1]}, or a function from Heading to str"


@pytest.mark.parametrize(
    ("parameter", "allowed", "values"),
    [
        ("enabled", "True or False", ["yes", 1, None]),
        ("dedup_sentences", "True or False", ["no", 1, None]),
        ("sanitize", "True or False", ["yes", 1, None]),
        ("window", "an integer from 0 to 3", [-1, 4, 1.0, "1", None, True]),
        ("neighbor_decay", "a number from 0 to 1", [-0.1, 1.1, "0.5", None, float("nan"), float("inf"), True]),
        ("max_tokens", "an integer of at least 1, or a TokenBudget", [0, -8000, 8000.0, "8000", None, True]),
        ("max_characters", "an integer of at least 1, or None", [0, -1, 24_000.0, "24000", True]),
        ("encoding", "the name of a tiktoken encoding or a function str -> int", ["", None, 7]),
        ("granularity", "one of 'passage', 'chunk', 'sentence', 'auto'", ["page", "Chunk", None, 1]),
        ("rank_by", "one of 'query', 'rank'", ["score", None]),
        ("candidate_window", "an integer from 0 to 16, or None", [-1, 17, 3.0, True]),
        ("min_relevance", "a number from 0 to 1", [-0.1, 1.1, "0.5", float("nan"), True, None]),
        ("fill", "True or False", ["yes", 1, None]),
        ("compress", "one of 'none', 'extractive', 'llm'", ["LLM", None, True]),
        ("dedup", "one of 'exact', 'near', 'semantic', 'none'", ["fuzzy", None, True]),
        ("repeat", "one of 'never', 'always'", ["once", None, True]),
        ("near_threshold", "a number above 0 and at most 1", [0, -0.9, 1.01, "0.9", None, float("nan"), True]),
        ("semantic_threshold", "a number above 0 and at most 1", [0, -0.9, 1.01, "0.92", None, float("nan"), True]),
        ("prefer_version", "one of 'score', 'newest'", ["oldest", None]),
        ("min_overlap_chars", "an integer of at least 0", [-1, 20.0, "20", None]),
        ("max_overlap_chars", "an integer of at least 1, or None", [0, 350.0, "350"]),
        ("max_overlap_chars", "an integer of at least 21", [20]),
        ("format", FORMATS, ["markdown", None, ["xml"]]),
        ("language", f"one of {str([*LANGUAGES])[1:-1]}", ["xx", "NL", None, ["de"]]),
        ("header_keys", "a tuple of metadata keys", [None, 7, ("",), (7,)]),
        ("cite", "one of 'document', 'passage', 'chunk'", ["page", None]),
        ("first_label", "an integer from 1 to 900,000", [0, -1, 1.0, "4", None, True, 900_001]),
        ("order", ORDERS, ["best", None, ["edges"]]),
        ("supplement_threshold", "a number, a function of query and score, or None", ["0.5", float("nan"), True]),
        ("summary_key", "a metadata key or a non-empty tuple of keys", ["", None, 7, (), ("a", "")]),
        ("on_store_error", "one of 'degrade', 'raise'", ["ignore", None]),
        ("neighbors", "one of 'auto', 'filtered', 'unfiltered'", ["all", None, True]),
        ("varying_keys", "a tuple of metadata keys", [None, 7, ("",), [1]]),
        ("keys", "a MetadataKeys", [{"page": "p"}, None]),
        ("page_base", "an integer from 0 to 1, or None", [2, -1, 0.0, "1", True]),
    ],
)
def test_a_wrong_value_names_parameter_range_and_value(parameter: str, allowed: str, values: list[Any]):
    for value in values:
        with pytest.raises(ConfigError) as caught:
            AssemblyConfig(**{parameter: value})
        assert str(caught.value).partition(": write")[0] == f"{parameter} must be {allowed}, got {value!r}"
        assert caught.value.parameter == parameter


def test_the_table_above_has_every_parameter():

    (mark,) = [m for m in test_a_wrong_value_names_parameter_range_and_value.pytestmark if m.name == "parametrize"]
    assert {row[0] for row in mark.args[1]} == {each.name for each in fields(AssemblyConfig)}


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("window", [0, 1, 2, 3]),
        ("neighbor_decay", [0, 0.5, 1]),
        ("max_tokens", [1, 1_000_000]),
        ("encoding", ["o200k_base", len]),
        ("max_characters", [None, 1, 24_000]),
        ("compress", ["none", "extractive", "llm"]),
        ("min_overlap_chars", [0, 20]),
        ("max_overlap_chars", [None, 21, 350]),
        ("granularity", ["passage", "chunk", "sentence", "auto"]),
        ("rank_by", ["query", "rank"]),
        ("candidate_window", [None, 0, 16]),
        ("min_relevance", [0, 0.5, 1]),
        ("fill", [False, True]),
        ("format", [*OWN, str]),
        ("language", [*LANGUAGES]),
        ("header_keys", [(), ("author", "a.b")]),
        ("order", ["documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]),
        ("supplement_threshold", [None, 0, -3.5, 0.9, bool]),
        ("cite", ["document", "passage", "chunk"]),
        ("dedup", ["exact", "near", "semantic", "none"]),
        ("near_threshold", [0.01, 0.85, 1]),
        ("semantic_threshold", [0.01, 0.85, 1.0]),
        ("prefer_version", ["score", "newest"]),
        ("on_store_error", ["degrade", "raise"]),
        ("summary_key", [("chunk_metadata.page_summary",), ("page_summary", "summary")]),
    ],
)
def test_the_ends_of_each_range_are_inside(parameter: str, values: list[Any]):
    for value in values:
        assert getattr(AssemblyConfig(**{parameter: value}), parameter) == value


def test_a_config_error_is_a_value_error_and_one_of_ours():
    assert issubclass(ConfigError, ValueError)
    assert issubclass(ConfigError, CtxAssemblyError)


def test_a_config_is_frozen_and_equal_by_value():
    config = AssemblyConfig()
    with pytest.raises(FrozenInstanceError):
        config.window = 2  # type: ignore[misc]
    assert config == AssemblyConfig(window=1, keys=MetadataKeys())


@pytest.mark.parametrize(
    ("rule", "zones", "context"),
    [
        ("min(cap, what is left)", {}, 32_000),
        ("min(cap, what is left)", {"window": 20_000}, 2_000),
        ("context_cap=None means no cap", {"context_cap": None}, 110_000),
        (
            "every zone may be 0 but the window",
            dict.fromkeys(("system", "query", "conversation", "generation", "buffer"), 0),
            32_000,
        ),
        ("one token is enough", {"window": 18_001}, 1),
    ],
)
def test_the_zones_of_a_token_budget(rule: str, zones: dict[str, Any], context: int):
    budget = TokenBudget(**zones)
    assert budget.context == context
    assert AssemblyConfig(max_tokens=budget).token_limit == context


@pytest.mark.parametrize(
    ("parameter", "allowed", "value"),
    [
        ("window", "an integer of at least 1", 0),
        ("window", "an integer of at least 1", None),
        ("system", "an integer of at least 0", -1),
        ("query", "an integer of at least 0", "1"),
        ("conversation", "an integer of at least 0", 1.5),
        ("generation", "an integer of at least 0", None),
        ("buffer", "an integer of at least 0", True),
        ("context_cap", "an integer of at least 1", 0),
    ],
)
def test_a_wrong_zone_names_itself(parameter: str, allowed: str, value: Any):
    with pytest.raises(ConfigError) as caught:
        TokenBudget(**{parameter: value})
    assert str(caught.value).partition(": write")[0] == f"TokenBudget.{parameter} must be {allowed}, got {value!r}"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"max_tokens": "2000"}, "got '2000': write max_tokens=2000"),
        ({"max_tokens": 2000.0}, "got 2000.0: write max_tokens=2000"),
        ({"max_tokens": np.int64(2000)}, "got np.int64(2000): write max_tokens=2000"),
        ({"min_relevance": np.float32(0.5)}, "got np.float32(0.5): write min_relevance=0.5"),
        ({"max_tokens": "many"}, "got 'many'"),
        ({"max_tokens": -5.0}, "got -5.0"),
        ({"order": "5"}, "got '5'"),
    ],
)
def test_a_number_of_another_type_is_shown_as_it_is_written(given: dict[str, Any], hint: str):
    with pytest.raises(ConfigError, match=re.escape(hint) + r"\Z"):
        AssemblyConfig(**given)


def test_zones_that_leave_nothing_name_what_they_take():
    with pytest.raises(ConfigError) as caught:
        TokenBudget(window=18_000)
    assert str(caught.value) == (
        "TokenBudget.window must be more than the zones take together "
        "(system 4,000 + query 1,000 + conversation 8,000 + generation 4,000 + buffer 1,000), got 18000"
    )


@pytest.mark.parametrize(
    ("others", "parameter", "value"),
    [
        ({"granularity": "sentence"}, "compress", "llm"),
        ({"granularity": "passage"}, "candidate_window", 0),
        ({"rank_by": "rank"}, "min_relevance", 0),
        ({"rank_by": "rank"}, "candidate_window", 3),
    ],
)
def test_what_has_no_effect_beside_another_setting_is_an_error(others: dict[str, str], parameter: str, value: Any):
    ((name, chosen),) = others.items()
    with pytest.raises(ConfigError, match=rf"^{parameter}=.* has no effect with {name}='{chosen}': remove it, or"):
        AssemblyConfig(**others, **{parameter: value})
    AssemblyConfig(**{parameter: value})
    AssemblyConfig(**others)


def test_a_filled_budget_has_no_minimum_relevance():
    with pytest.raises(ConfigError, match=r"^min_relevance=0\.5 has no effect with fill=True, .*: remove one of them$"):
        AssemblyConfig(fill=True, min_relevance=0.5)
    for others in ({}, {"rank_by": "rank"}, {"enabled": False}):
        assert AssemblyConfig(**others, fill=True).fill


def test_by_rank_sentences_are_chunks_which_are_compressed():
    AssemblyConfig(granularity="sentence", rank_by="rank", compress="extractive")


def test_help_explains_every_setting():
    explained = inspect.getdoc(AssemblyConfig) or ""
    for each in fields(AssemblyConfig):
        assert re.search(rf"^{each.name}: \S", explained, re.MULTILINE), each.name
    failed, tried = doctest.DocTestRunner().run(doctest.DocTestFinder(recurse=False).find(AssemblyConfig)[0])
    assert (failed, tried > 0) == (0, True)
