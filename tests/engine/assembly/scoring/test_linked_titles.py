"""Documents that the question or the best sentences mention by title have their sentences raised."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MetadataKeys, assemble
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.data.candidates import Candidate
from ctxassembly.tokens.counter import counter_for

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
FIRST = "The Lighthouse Choir of the harbor has a founder: it was made by Marta Quist in the old city."
SECOND = (
    "She came from Aarhus, where her mother had a shop for sails and ropes, and sang there as a child until she left."
)
OTHERS = [
    f"{name} choirs of the city have a founder, and where the founder was born is known in the city."
    for name in ("Northern", "Southern", "Western", "Eastern", "Central", "Upper", "Lower", "Coastal")
]


def chunk(document: str, text: str, title: str = "", index: int = 0) -> Chunk:
    return Chunk(f"{document}#{index}", document, text, index, metadata={"title": title} if title else {})


CHOIR, QUIST = chunk("choir", FIRST, "Lighthouse Choir"), chunk("quist", SECOND, "Marta Quist (singer)")
OTHER_CHUNKS = [chunk(f"other{number}", text) for number, text in enumerate(OTHERS)]
CHUNKS = [CHOIR, *OTHER_CHUNKS, QUIST]


def best_scores(chunks: Sequence[Chunk], query: str = QUESTION, keys: MetadataKeys | None = None) -> dict[str, float]:
    """Return the score of each chunk's best sentence, relative to the best of all."""
    candidates = [Candidate(rank, one, rank, position=one.index or 0) for rank, one in enumerate(chunks)]
    config = AssemblyConfig(keys=keys or MetadataKeys())
    sentences = Relevance(candidates, query, config, counter_for("cl100k_base"), Joins(config)).sentences
    best = float(sentences.scores.max())
    return {
        span.candidate.chunk.id: float(sentences.scores[span.sentence_range.start : span.sentence_range.stop].max())
        - best
        for span in sentences.candidate_spans
    }


def test_a_document_that_a_best_sentence_names_is_in_a_tight_context() -> None:
    config = AssemblyConfig(max_tokens=170)
    with_titles = assemble([Hit(one) for one in CHUNKS], config, query=QUESTION)
    without_title = assemble([Hit(one) for one in (*CHUNKS[:-1], chunk("quist", SECOND))], config, query=QUESTION)
    assert SECOND in with_titles.text
    assert SECOND not in without_title.text


def test_the_question_itself_links_all_of_a_document_alike() -> None:
    titled, untitled = (
        best_scores([*OTHER_CHUNKS, *(chunk("quist", SECOND, title, index) for index in (0, 5))], "Marta Quist: where?")
        for title in ("Marta Quist", "")
    )
    gains = [titled[name] - untitled[name] for name in ("quist#0", "quist#5")]
    assert gains == pytest.approx([3, 3])


def test_the_first_chunk_gains_more_than_the_rest_of_a_linked_document() -> None:
    rest = chunk("quist", "Later she went to sea.", "Marta Quist", 5)
    linked, unlinked = best_scores([*CHUNKS, rest]), best_scores([*CHUNKS[1:], rest])
    gain = {key: linked[key] - unlinked[key] for key in ("quist#0", "quist#5")}
    assert gain["quist#0"] > gain["quist#5"] > 0.5


def test_a_document_does_not_link_itself() -> None:
    named = [chunk("choir", FIRST, "Marta Quist"), *OTHER_CHUNKS]
    assert best_scores(named) == best_scores([chunk("choir", FIRST), *OTHER_CHUNKS])


def test_a_title_in_a_sentence_that_is_not_among_the_best_links_nothing() -> None:
    aside = chunk("aside", "Nothing of that kind is by Marta Quist.", "Aside")
    unrelated = [*OTHER_CHUNKS, aside]
    assert best_scores([*unrelated, QUIST])["quist#0"] == best_scores([*unrelated, chunk("quist", SECOND)])["quist#0"]


def test_no_sentence_rises_above_the_best() -> None:
    assert max(best_scores(CHUNKS).values()) == 0
    best = max(CHUNKS, key=lambda one: best_scores(CHUNKS)[one.id])
    assert best is max(CHUNKS[:-1], key=lambda one: best_scores(CHUNKS[:-1])[one.id])


def test_titles_under_the_keys_of_the_caller_link() -> None:
    renamed = [*CHUNKS[:-1], Chunk("quist#0", "quist", SECOND, 0, metadata={"name": "Marta Quist"})]
    linked, unlinked = best_scores(renamed, keys=MetadataKeys(title="name")), best_scores(renamed)
    assert linked["quist#0"] > unlinked["quist#0"]
