"""The settings: what each allows and refuses, which have no effect together, and the published numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, ConfigError, RetrievalConfig, TokenBudget
from ctxassembly.answering import AnswerConfig, Intent
from ctxassembly.enrichment import EnrichmentConfig
from ctxassembly.retrieval import Boost, Question
from ctxassembly.wording.formats import FORMATS as OWN
from ctxassembly.wording.languages import LANGUAGES

NAN, INF = float("nan"), float("inf")
SWITCH = "True or False"
LIMIT = "an integer of at least 1, or None"
SHARE = "a number from 0 to 1"
COSINE = "a number from -1 to 1, or None"
THRESHOLD = "a number above 0 and at most 1"
POSITIVE = "a number above 0"


def one_of(*names: str) -> str:
    return f"one of {str([*names])[1:-1]}"


ORDERS = ("auto", "documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable")
FORMATS = f"{one_of(*OWN)}, or a function from Heading to str"
FACTORS = "a mapping of intents to mappings of categories to factors"
ASSEMBLY = [
    ("enabled", SWITCH, ["yes", 1, None], [False]),
    ("dedup_sentences", SWITCH, [None], [False]),
    ("sanitize", SWITCH, [1], [True]),
    ("window", "an integer from 0 to 3", [-1, 4, 1.0, "1", None, True], [0, 3]),
    ("neighbor_decay", SHARE, [-0.1, 1.1, "0.5", None, NAN, INF, True], [0, 1]),
    (
        "max_tokens",
        "an integer of at least 1, a TokenBudget, or None",
        [0, 8000.0, "8000", True],
        [None, 1, 1_000_000],
    ),
    ("max_characters", LIMIT, [0, 24_000.0, True], [None, 1]),
    ("encoding", "the name of a tiktoken encoding or a function str -> int", ["", None, 7], ["o200k_base", len]),
    ("granularity", one_of("passage", "chunk", "sentence", "auto"), ["page", "Chunk", None], ["passage"]),
    ("rank_by", one_of("query", "rank"), ["score"], ["rank"]),
    ("candidate_window", "an integer from 0 to 16, or None", [-1, 17, True], [None, 0, 16]),
    ("min_relevance", SHARE, [-0.1, 1.1, None], [0, 1]),
    ("fill", SWITCH, [None], [True]),
    ("compress", one_of("none", "extractive", "llm"), ["LLM", None], ["llm"]),
    ("dedup", one_of("exact", "near", "semantic", "none"), ["fuzzy", None, True], ["semantic"]),
    ("repeat", one_of("never", "always"), ["once"], ["always"]),
    ("near_threshold", THRESHOLD, [0, 1.01, NAN], [0.01, 1]),
    ("semantic_threshold", THRESHOLD, [0, 1.01, None], [0.01, 1]),
    ("prefer_version", one_of("score", "newest"), ["oldest"], ["newest"]),
    ("min_overlap_chars", "an integer of at least 0", [-1, 20.0], [0]),
    ("max_overlap_chars", LIMIT, [0, "350"], [None, 21]),
    ("max_overlap_chars", "an integer of at least 21", [20], []),
    ("format", FORMATS, ["markdown", None, ["xml"]], [*OWN, str]),
    ("language", one_of(*LANGUAGES), ["xx", "NL", None], [*LANGUAGES]),
    ("header_keys", "a tuple of metadata keys", [None, ("",), (7,)], [(), ("author", "a.b")]),
    ("cite", one_of("document", "passage", "chunk"), ["page"], ["chunk"]),
    ("first_label", "an integer from 1 to 900,000", [0, 1.0, "4", 900_001], [900_000]),
    ("order", one_of(*ORDERS), ["best", None, ["edges"]], ORDERS),
    ("supplement_threshold", "a number, a function of query and score, or None", ["0.5", NAN], [None, -3.5, bool]),
    ("summary_key", "a metadata key or a non-empty tuple of keys", ["", None, (), ("a", "")], [("a.b", "c")]),
    ("on_store_error", one_of("degrade", "raise"), ["ignore"], ["raise"]),
    ("neighbors", one_of("auto", "filtered", "unfiltered"), ["all", True], ["filtered"]),
    ("varying_keys", "a tuple of metadata keys", [None, [1]], [("line",)]),
    ("keys", "a MetadataKeys", [{"page": "p"}, None], []),
    ("page_base", "an integer from 0 to 1, or None", [2, True], [0]),
]
RETRIEVAL = [
    ("strategy", one_of("hybrid", "vector", "keyword", "graph"), ["bm25", None], ["graph"]),
    ("limit", "an integer of at least 1", [0, 7.0, "7", None, True], [1]),
    ("candidates", LIMIT, [0, "80"], [None, 20]),
    ("candidates", "an integer of at least 20", [19], []),
    ("min_similarity", COSINE, [1.1, NAN, True], [None, -1, 1]),
    ("stop_word_weight", SHARE, [1.1, None], [0]),
    ("on_search_error", one_of("degrade", "raise"), ["ignore"], ["raise"]),
    ("timeout_seconds", POSITIVE, [0, None, INF], [0.01]),
    ("fusion", one_of("convex", "rrf"), ["max"], ["rrf"]),
    ("rrf_k", POSITIVE, [0], [1]),
    ("query_prefix", "a string", [None, 3], ["query: "]),
    ("supplement_similarity", COSINE, [1.1], [None]),
    ("supplement_intents", "a tuple of strings", ["care", None, (3,)], [("care",)]),
    ("keyword_weight", SHARE, [-0.1, True], [0, 1]),
    ("adjacency", SHARE, [1.1], [0]),
    ("boosts", "a tuple of Boost", [None, ("category",), Boost("a", 1.2, {"b": 1})], [(Boost("a", 1.2, {"b": 1}),)]),
    ("affinity", FACTORS, [None, [], {"navigate": 0.5}], [{"navigate": {"a": 0.5}}]),
    ("rerank_candidates", LIMIT, [0, "50"], [None, 1]),
    ("rescue", one_of("last", "first", "off"), [True], ["off"]),
    ("rescue_min_letters", LIMIT, [0], [1]),
    ("min_evidence", "a number from 0 to 2, or None", [-0.1, 2.1], [None, 2]),
]
ROWS = [(cls, *row) for cls, table in ((AssemblyConfig, ASSEMBLY), (RetrievalConfig, RETRIEVAL)) for row in table]


@pytest.mark.parametrize(
    ("cls", "parameter", "allowed", "wrong", "right"), ROWS, ids=[f"{row[0].__name__}-{row[1]}" for row in ROWS]
)
def test_a_wrong_value_names_parameter_range_and_value(
    cls: type, parameter: str, allowed: str, wrong: list[Any], right: list[Any]
):
    for value in wrong:
        with pytest.raises(ConfigError) as caught:
            cls(**{parameter: value})
        assert str(caught.value).partition(": write")[0] == f"{parameter} must be {allowed}, got {value!r}"
        assert (caught.value.parameter, isinstance(caught.value, ValueError)) == (parameter, True)
    for value in right:
        assert getattr(cls(**{parameter: value}), parameter) == value


def test_the_table_above_has_every_parameter():
    for cls, table in ((AssemblyConfig, ASSEMBLY), (RetrievalConfig, RETRIEVAL)):
        assert {row[0] for row in table} == {each.name for each in fields(cls)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"intents": ("practical",)}, "intents must be a tuple of Intent"),
        ({"default_intent": "practical"}, "default_intent must be None or the label of one of intents"),
        ({"rewrite": "never"}, "rewrite must be one of"),
        ({"modes": {"normal": 1_000}}, "modes must be a mapping of names to Mode"),
        ({"style": "polite"}, "style must be one of 'grounded', 'strict', 'soft', got 'polite'"),
        ({"extra_rules": "Give no medical advice."}, "extra_rules must be a tuple of strings"),
        ({"template": ""}, "template must be a non-empty string, or None"),
        ({"history_exchanges": 0}, "history_exchanges must be an integer of at least 1"),
        ({"forbidden": "dose"}, "forbidden must be a function, or a tuple of regular expressions"),
        ({"forbidden": ("(",)}, "forbidden must be a function, or a tuple of regular expressions"),
        ({"think_harder": "hardest"}, "think_harder must be None or one of"),
        ({"answer_seconds": NAN}, "answer_seconds must be a number above 0"),
    ],
)
def test_wrong_settings_of_an_answer_chain(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match="^" + message):
        AnswerConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"language": ""}, "language"),
        ({"questions": 6}, "questions"),
        ({"categories": ("facts", "")}, "categories"),
        ({"entity_types": ["doctor"]}, "entity_types"),
        ({"concurrency": 65}, "concurrency"),
        (
            {"summary": False, "questions": 0, "context": False, "categories": (), "place": False, "date": False},
            "summary, questions and context",
        ),
    ],
)
def test_wrong_settings_of_enrichment(settings: dict[str, Any], parameter: str):
    with pytest.raises(ConfigError, match=f"^{parameter} must be "):
        EnrichmentConfig(**settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Boost("", 1.2, {"a": 1}), "boost.name must be a non-empty string, got ''"),
        (lambda: Boost("a", INF, {"a": 1}), "boost.factor must be a number above 0, got inf"),
        (lambda: Boost("a", 1.2, {}), "boost.where must be a non-empty mapping of metadata keys to values, got {}"),
        (lambda: Boost("a", 1.2, {"year": {"$after": 1}}), r"filter\['year'\] must be a value or operators out of"),
        (lambda: RetrievalConfig(affinity={"find": {"a": 0}}), "affinity must be a number above 0, got 0"),
        (lambda: Question(None), "text must be a string, got None"),  # type: ignore[arg-type]
        (lambda: Question("a", boosts=["x"]), "boosts must be a tuple of Boost"),  # type: ignore[arg-type]
        (lambda: TokenBudget(window=None), "TokenBudget.window must be an integer of at least 1, got None"),  # type: ignore[arg-type]
        (lambda: TokenBudget(buffer=True), "TokenBudget.buffer must be an integer of at least 0, got True"),
        (
            lambda: TokenBudget(window=18_000),
            r"TokenBudget.window must be more than the zones take together .*got 18000",
        ),
        (lambda: AssemblyConfig(max_tokens=2**63), "max_tokens must be .*: the most is 9,223,372,036,"),
        (lambda: AssemblyConfig(fill=True, min_relevance=0.5), r"min_relevance=0\.5 has no effect with fill=True"),
    ],
)
def test_what_else_is_made_of_wrong_values(make: Any, message: str):
    with pytest.raises((ConfigError, TypeError), match="^" + message):
        make()


@pytest.mark.parametrize(
    ("zones", "context"),
    [
        ({}, 32_000),
        ({"window": 20_000}, 2_000),
        ({"context_cap": None}, 110_000),
        (dict.fromkeys(("system", "query", "conversation", "generation", "buffer"), 0), 32_000),
        ({"window": 18_001}, 1),
    ],
)
def test_a_token_budget_leaves_the_smaller_of_its_cap_and_what_the_zones_leave(zones: dict[str, Any], context: int):
    assert AssemblyConfig(max_tokens=TokenBudget(**zones)).token_limit == context


@pytest.mark.parametrize(
    ("others", "parameter", "value"),
    [
        ({"granularity": "sentence"}, "compress", "llm"),
        ({"granularity": "passage"}, "candidate_window", 0),
        ({"rank_by": "rank"}, "min_relevance", 0),
        ({"rank_by": "rank"}, "candidate_window", 3),
    ],
)
def test_what_has_no_effect_beside_another_setting_is_an_error(others: dict[str, Any], parameter: str, value: Any):
    ((name, chosen),) = others.items()
    with pytest.raises(ConfigError, match=rf"^{parameter}=.* has no effect with {name}='{chosen}': remove it, or"):
        AssemblyConfig(**others, **{parameter: value})
    AssemblyConfig(**{parameter: value})
    AssemblyConfig(**others)


def test_by_rank_sentences_are_chunks_which_are_compressed():
    AssemblyConfig(granularity="sentence", rank_by="rank", compress="extractive")


def test_lists_are_kept_as_tuples_that_nobody_can_change():
    rules, intents = ["Give no medical advice."], [Intent("practical", "Parking.")]
    config = AnswerConfig(extra_rules=rules, intents=intents)  # type: ignore[arg-type]
    rules.append("Be rude.")
    intents.clear()
    assert config.extra_rules == ("Give no medical advice.",)
    assert [intent.label for intent in config.intents] == ["practical"]


@pytest.mark.parametrize(
    ("settings", "candidates"),
    [
        ({}, 80),
        ({"limit": 7}, 28),
        ({"limit": 7, "candidates": 9}, 9),
        ({"rerank_candidates": 100}, 100),
        ({"rerank_candidates": 50}, 80),
        ({"candidates": 60, "rerank_candidates": 100}, 60),
    ],
)
def test_candidates_are_four_times_the_limit_or_as_many_as_are_reranked(settings: dict[str, Any], candidates: int):
    assert RetrievalConfig(**settings).candidates_per_channel == candidates


PUBLISHED = {
    "limit": 7,
    "candidates_per_channel": 28,
    "min_similarity": 0.40,
    "fusion": "rrf",
    "rrf_k": 60,
    "keyword_weight": 0.5,
    "adjacency": 0.0,
    "stop_word_weight": 1.0,
    "rescue": "first",
    "rescue_min_letters": 6,
    "rerank_candidates": 20,
}


def test_published_numbers():
    published = RetrievalConfig.published()
    assert {name: getattr(published, name) for name in PUBLISHED} == PUBLISHED
    categories = ("practical", "appointments", "legal_admin", "clinical_info", "regulatory", "general")
    assert tuple(published.affinity) == categories


def test_a_reply_has_room_for_the_chunks_of_a_call():
    for settings in ({}, {"questions": 5}, {"questions": 0}, {"summary": False}):
        config = EnrichmentConfig(**settings)  # type: ignore[arg-type]
        assert (
            config.max_reply_tokens(config.chunks_per_call)
            <= 4_000
            < config.max_reply_tokens(config.chunks_per_call + 1)
        )
