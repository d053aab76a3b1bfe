"""The published answer settings are whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxassembly import AnswerChain, AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig

INDEX = MemoryIndex([Chunk("p#0", "p", "Parkeren is gratis.", 0, metadata={"category": "practical"})], [[1.0]])
CATEGORIES = ["practical", "appointments", "general", "legal_admin", "clinical_info", "regulatory"]
ASKED: list[Any] = []


def ask(intent: str, said: str = "Gratis [1].") -> Any:
    ASKED.clear()

    def model(request: Any) -> str:
        ASKED.append(request)
        understood = {"intent": intent, "confidence": 1, "question": "Is parkeren gratis?"}
        return json.dumps(understood) if request.purpose == "understand" else said

    given = {"embed": lambda _: [1.0]}
    reading = AssemblyConfig(language="nl")
    chain = AnswerChain.from_index(
        INDEX, model, RetrievalConfig.published(), reading, AnswerConfig.published(), **given
    )
    return chain.answer("Is dat gratis?")


@pytest.mark.parametrize("label", ["out_of_scope_medical_advice", "off_topic", "other_hospital", "vague_input"])
def test_the_four_blocked_intents_end_the_chain(label: str) -> None:
    """The published rule: four intents are blocked, each with an answer of its own and without retrieval."""
    answer = ask(label)
    assert answer.abstention_reason == f"intent: {label} ends the chain"
    assert answer.text
    assert [request.purpose for request in ASKED] == ["understand"]
    blocked = [intent.label for intent in AnswerConfig.published().intents if intent.answer]
    assert (len(blocked), label in blocked) == (4, True)


def test_the_other_intents_are_the_published_categories_of_content() -> None:
    """The published rule: six categories of content; affinity goes by them."""
    assert [one.label for one in AnswerConfig.published().intents if not one.answer] == CATEGORIES
    answer = ask("legal_admin")
    assert answer.hits[0].chunk.id == "p#0"
    assert answer.retrieved["question"].chunks[0].factors == (("affinity:practical", 0.8),)


def test_template_rewriting_and_rules_are_the_published_dutch_ones() -> None:
    """The published settings: the Dutch template and rewriting, and "no medical advice"."""
    answer = ask("practical")
    understanding, asked = ASKED
    assert "De vraag als één volledige zin in het Nederlands" in understanding.messages[0]["content"]
    assert "- Geef geen medisch advies." in asked.messages[0]["content"]
    assert asked.messages[-1]["content"] == (f"Contextdocumenten:\n{answer.context.text}\n\nVraag: Is dat gratis?")


def test_full_reranks_the_published_20_candidates_to_15() -> None:
    """The published rule: "full" reranks 20 candidates to 15, "escalated" 100 to 20 with a floor of .35."""
    seen: list[int] = []

    def reranker(query: str, chunks: Any) -> Any:
        seen.append(len(chunks))
        return [(place, 1.0) for place in range(len(chunks))]

    many = MemoryIndex([Chunk(f"p#{at}", f"p{at}", "Parkeren.") for at in range(150)], [[1.0, 0.5]] * 150)
    config = AnswerConfig.published()
    given: dict[str, Any] = {"embed": lambda _: [1.0, 0.5], "rerankers": [reranker]}
    chain = AnswerChain.from_index(many, lambda _: "Gratis [1].", RetrievalConfig.published(), None, config, **given)
    hits = [len(chain.answer("Parkeren?", mode=mode).hits) for mode in ("full", "escalated")]
    assert (hits, seen) == ([15, 20], [20, 100])
