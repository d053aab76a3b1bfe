"""The settings that might have kept a lost piece of evidence, by the layer that lost it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ctxassembly.config.assembly import DEFAULT_MIN_RELEVANCE, AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.errors import ConfigError
from ctxassembly.evaluate.diagnosis import Layer
from ctxassembly.evaluate.pipeline import Settings

ADVICE: Mapping[Layer, str] = {
    "not in the corpus": "add the document, or check the reader: tables and scans lose text",
    "stale": "index the document again",
    "split apart": "split into larger chunks or with more overlap",
    "filtered": "the filter is never widened here; check the filter and the metadata of the chunk",
    "not found": "the question has other words: try a better embedder, a rewritten question, or `enrich`",
    "not cited": "ask for a citation of each claim, or check the answer",
}
"""What would help and can't be tried by changing a setting."""


def settings_to_try(layer: Layer, current: Settings, *, has_rerankers: bool, can_embed: bool) -> list[Settings]:
    """Return the settings that might keep evidence which `layer` lost, each with one change of `current`.

    >>> tried = settings_to_try("over budget", Settings(), has_rerankers=False, can_embed=True)
    >>> [settings.name for settings in tried]
    ['max_tokens=16000']
    """
    retrieval, assembly = current.retrieval, current.assembly
    tried = []
    if layer in ("not found", "ranked out", "reranked away") and has_rerankers:
        tried.append(replace(current, reranks=False, name="no reranker"))
    parts: tuple[tuple[str, Any, Mapping[Layer, Sequence[Mapping[str, Any]]]], ...] = (
        ("retrieval", retrieval, _retrieval_changes(retrieval, can_embed=can_embed)),
        ("assembly", assembly, _assembly_changes(assembly)),
    )
    for part, config, changes_by_layer in parts:
        for changes in changes_by_layer.get(layer, ()):
            if name := _change_name(config, changes):
                with suppress(ConfigError):  # the change contradicts the other settings
                    tried.append(replace(current, **{part: replace(config, **changes), "name": name}))
    return tried


def _change_name(config: object, changes: Mapping[str, Any]) -> str:
    """Return the values of `changes` that aren't the present ones of `config`."""
    return ", ".join(f"{key}={value!r}" for key, value in changes.items() if getattr(config, key) != value)


def _retrieval_changes(config: RetrievalConfig, *, can_embed: bool) -> Mapping[Layer, Sequence[Mapping[str, Any]]]:
    """Return the changes to try for each layer, the most likely first."""
    wider = {"limit": 2 * config.limit}
    search: list[Mapping[str, Any]] = [wider, {"candidates": 4 * config.candidates_per_channel}]
    if config.strategy == "hybrid":
        search += ({"keyword_weight": 0.3}, {"keyword_weight": 0.9})
    elif can_embed:
        search.append({"strategy": "hybrid"})
    return {
        "split apart": [wider],
        "not found": search,
        "not fused": [{"min_similarity": None}],
        "reranked away": [wider],
        "ranked out": search,
        "refused": [{"min_evidence": None}],
    }


def _assembly_changes(config: AssemblyConfig) -> Mapping[Layer, Sequence[Mapping[str, Any]]]:
    """Return the changes to try for each layer, the most likely first."""
    roomier = {"max_tokens": 2 * config.token_limit}
    filled = {"fill": True, "min_relevance": DEFAULT_MIN_RELEVANCE}
    return {
        "split apart": [{"window": 3}, {"candidate_window": 8}, roomier, filled],
        "deduplicated": [{"dedup": "exact"}, {"dedup_sentences": False}, {"dedup": "none"}],
        "not relevant enough": [
            {"min_chunk_tokens": 0},
            {"relevance_floor": None},
            {"min_relevance": config.min_relevance / 2},
            filled,
        ],
        "over budget": [
            {"max_characters": None},
            {"max_chunk_tokens": None},
            {"granularity": "auto"},
            roomier,
        ],
    }
