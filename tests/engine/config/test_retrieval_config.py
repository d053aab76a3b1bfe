from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from ctxassembly import RetrievalConfig
from ctxassembly.errors import ConfigError
from ctxassembly.retrieval import Boost, entities, ranking
from ctxassembly.retrieval.search import Question

NAN, INF = float("nan"), float("inf")
CATEGORIES = ("practical", "appointments", "legal_admin", "clinical_info", "regulatory", "general")
FACTORS = "a mapping of intents to mappings of categories to factors"


@pytest.mark.parametrize(
    ("parameter", "allowed", "values"),
    [
        ("strategy", "one of 'hybrid', 'vector', 'keyword', 'graph'", ["bm25", None]),
        ("limit", "an integer of at least 1", [0, -1, 7.0, "7", None, True]),
        ("candidates", "an integer of at least 1, or None", [0, 28.0, "80", True]),
        ("candidates", "an integer of at least 20", [19]),
        ("min_similarity", "a number from -1 to 1, or None", [1.1, -1.1, "0.4", NAN, INF, True]),
        ("stop_word_weight", "a number from 0 to 1", [-0.1, 1.1, "0.75", None, NAN]),
        ("on_search_error", "one of 'degrade', 'raise'", ["ignore", None]),
        ("timeout_seconds", "a number above 0", [0, -1, "10", None, NAN, INF]),
        ("fusion", "one of 'convex', 'rrf'", ["max", None]),
        ("rrf_k", "a number above 0", [0, -1, "60", None, NAN]),
        ("query_prefix", "a string", [None, 3, ["query: "]]),
        ("supplement_similarity", "a number from -1 to 1, or None", [1.1, "0.8", NAN]),
        ("supplement_intents", "a tuple of strings", ["care", None, (3,)]),
        ("keyword_weight", "a number from 0 to 1", [-0.1, 1.1, "0.6", None, NAN, True]),
        ("adjacency", "a number from 0 to 1", [-0.1, 1.1, "0.2", None, NAN]),
        ("boosts", "a tuple of Boost", [None, ("category",), Boost("a", 1.2, {"b": 1})]),
        ("affinity", FACTORS, [None, [], {"navigate": 0.5}, {"navigate": None}]),
        ("affinity", "a number above 0", [{"navigate": {"a": 0}}, {"navigate": {"a": "x"}}]),
        ("rerank_candidates", "an integer of at least 1, or None", [0, 50.0, "50", True]),
        ("rescue", "one of 'last', 'first', 'off'", [True, None]),
        ("rescue_min_letters", "an integer of at least 1, or None", [0, 6.0, True]),
        ("min_evidence", "a number from 0 to 2, or None", [-0.1, 2.1, "1", NAN]),
    ],
)
def test_a_wrong_value_names_parameter_range_and_value(parameter: str, allowed: str, values: list[Any]):
    for value in values:
        with pytest.raises(ConfigError) as caught:
            RetrievalConfig(**{parameter: value})
        shown = value if allowed != "a number above 0" or parameter != "affinity" else value["navigate"]["a"]
        assert str(caught.value).partition(": write")[0] == f"{parameter} must be {allowed}, got {shown!r}"
        assert caught.value.parameter == parameter


def test_the_table_above_has_every_parameter():
    (mark,) = [m for m in test_a_wrong_value_names_parameter_range_and_value.pytestmark if m.name == "parametrize"]
    assert {row[0] for row in mark.args[1]} == {each.name for each in fields(RetrievalConfig)}


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("limit", [1, 500]),
        ("candidates", [None, 20, 1000]),
        ("min_similarity", [None, -1, 0.4, 1]),
        ("timeout_seconds", [0.01, 60]),
        ("keyword_weight", [0, 0.6, 1]),
        ("rescue_min_letters", [None, 1, 6]),
        ("min_evidence", [None, 0, 2]),
    ],
)
def test_the_ends_of_each_range_are_inside(parameter: str, values: list[Any]):
    for value in values:
        assert getattr(RetrievalConfig(**{parameter: value}), parameter) == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("", 1.2, {"a": 1}), "boost.name must be a non-empty string, got ''"),
        (("a", 0, {"a": 1}), "boost.factor must be a number above 0, got 0"),
        (("a", INF, {"a": 1}), "boost.factor must be a number above 0, got inf"),
        (("a", 1.2, {}), "boost.where must be a non-empty mapping of metadata keys to values, got {}"),
        (("a", 1.2, {"year": {"$after": 2020}}), r"filter\['year'\] must be a value or operators out of"),
    ],
)
def test_a_wrong_boost_is_an_error(given: tuple[Any, ...], message: str):
    with pytest.raises(ConfigError, match="^" + message):
        Boost(*given)


def test_help_explains_every_setting():
    explained = inspect.getdoc(RetrievalConfig) or ""
    for each in fields(RetrievalConfig):
        assert re.search(rf"^{each.name}: \S", explained, re.MULTILINE), each.name


def test_a_config_is_frozen_and_knows_no_other_setting():
    config = RetrievalConfig()
    with pytest.raises(FrozenInstanceError):
        config.limit = 7  # type: ignore[misc]
    with pytest.raises(TypeError, match="unexpected keyword argument 'top_k'"):
        RetrievalConfig(top_k=7)  # type: ignore[call-arg]
    assert RetrievalConfig(boosts=[Boost("a", 1.2, {"b": 1})]).boosts == (Boost("a", 1.2, {"b": 1}),)  # type: ignore[arg-type]


def test_candidates_are_four_times_the_limit():
    assert RetrievalConfig().candidates_per_channel == 80
    assert RetrievalConfig(limit=7).candidates_per_channel == 28
    assert RetrievalConfig(limit=7, candidates=9).candidates_per_channel == 9


@pytest.mark.parametrize(
    ("rule", "number", "expected"),
    [
        ("7 hits", lambda: RetrievalConfig.published().limit, 7),
        ("28 candidates a channel", lambda: RetrievalConfig.published().candidates_per_channel, 28),
        ("a similarity of .40 at least", lambda: RetrievalConfig.published().min_similarity, 0.40),
        ("reciprocal rank fusion", lambda: RetrievalConfig.published().fusion, "rrf"),
        ("with k = 60", lambda: RetrievalConfig.published().rrf_k, 60),
        ("rescued to the first places", lambda: RetrievalConfig.published().rescue, "first"),
        ("20 candidates reranked", lambda: RetrievalConfig.published().rerank_candidates, 20),
        ("six categories of content", lambda: tuple(RetrievalConfig.published().affinity), CATEGORIES),
        ("both channels alike", lambda: RetrievalConfig.published().keyword_weight, 0.5),
        ("all words by rareness alone", lambda: RetrievalConfig.published().stop_word_weight, 1.0),
        ("no chunk raised by another", lambda: RetrievalConfig.published().adjacency, 0.0),
        ("words from 6 letters are rescued", lambda: RetrievalConfig.published().rescue_min_letters, 6),
        ("at most two of them", lambda: ranking.MAX_RESCUED_TERMS, 2),
        ("rescued hits have .90", lambda: ranking.PUBLISHED_RESCUE_SCORE, 0.90),
        (
            "typed ones .90 to .95",
            lambda: (entities.PUBLISHED_INDIRECT_SCORE, entities.PUBLISHED_ENTITY_SCORE),
            (0.90, 0.95),
        ),
        ("lists .90", lambda: entities.PUBLISHED_LIST_SCORE, 0.90),
    ],
)
def test_published_numbers(rule: str, number, expected: Any):
    assert number() == expected, rule


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": None}, "text must be a string, got None"),
        ({"text": "a", "rewritten": 3}, "rewritten must be a string or None, got 3"),
        ({"text": "a", "intent": ["x"]}, "intent must be a string or None"),
        ({"text": "a", "boosts": ["x"]}, "boosts must be a tuple of Boost"),
    ],
)
def test_a_wrong_question_is_an_error(given: dict[str, Any], message: str):
    with pytest.raises((TypeError, ValueError), match=message):
        Question(**given)


def test_the_channels_give_as_many_as_are_reranked():
    assert RetrievalConfig(limit=20, rerank_candidates=100).candidates_per_channel == 100
    assert RetrievalConfig(limit=20, rerank_candidates=50).candidates_per_channel == 80
    assert RetrievalConfig(limit=20, candidates=60, rerank_candidates=100).candidates_per_channel == 60
