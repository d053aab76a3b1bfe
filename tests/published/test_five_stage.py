"""The published five-stage system: each rule as it is described, through every door."""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, numbered
from ctxassembly import Chunk, Hit, Supplement, assemble
from ctxassembly.published import FiveStage
from doors import Door

GUIDE = [
    Chunk(f"gids-{n}", "gids", f"Paragraaf {n} gaat over loket {n}.", n, metadata={"source": "gids.html", "page": 2})
    for n in range(9)
]
FACTS = "Loket 3 sluit om vier uur.\nOp vrijdag om drie uur."
BLOCK = "--- AANVULLENDE ZOL INFORMATIE ---\n" + FACTS


def chunk(name: str, text: str, index: int = 0, **metadata: Any) -> Chunk:
    return Chunk(f"{name}-{index}", name, text, index, metadata={"source": f"{name}.pdf", **metadata})


@pytest.mark.parametrize(
    ("rule", "settings", "hit", "lines"),
    [
        ("a neighbor on each side by default", {}, 4, ["3", "4", "5"]),
        ("expand_window=0 adds none", {"expand_window": 0}, 4, ["4"]),
        ("expand_window=2 adds two on each side", {"expand_window": 2}, 4, ["2", "3", "4", "5", "6"]),
        ("the document begins", {}, 0, ["0", "1"]),
    ],
)
def test_each_hit_is_expanded(door: Door, rule: str, settings: dict[str, Any], hit: int, lines: list[str]):
    context = door(FiveStage(**settings), [Hit(GUIDE[hit], 0.9)], stored=GUIDE)
    texts = [f"Paragraaf {n} gaat over loket {n}." for n in lines]
    assert context.text == "\n".join(["[1] Uit gids.html (pagina 2):", *texts])
    assert [citation.chunk_ids for citation in context.citations] == [tuple(f"gids-{n}" for n in lines)]


def test_a_neighbor_scores_half_of_its_hit_per_step(door: Door):
    context = door(FiveStage(expand_window=2), [Hit(GUIDE[4], 0.8)], stored=GUIDE)
    scores = {decision.chunk_id: decision.score for decision in context.trace.decisions}
    assert scores == {"gids-4": 0.8, "gids-3": 0.4, "gids-5": 0.4, "gids-2": 0.2, "gids-6": 0.2}


def test_documents_sort_by_best_score_not_by_rank_and_chunks_by_index(door: Door):
    hits = [
        Hit(chunk("b", "B twee.", 2), 0.3),
        Hit(chunk("a", "A een.", 1), 0.5),
        Hit(chunk("b", "B een.", 1), 0.9),
    ]
    assert door(FiveStage(), hits).text == "[1] Uit b.pdf:\nB een.\nB twee.\n\n[2] Uit a.pdf:\nA een."


@pytest.mark.parametrize(
    ("rule", "second", "settings", "text"),
    [
        (
            "longer than min_overlap_chars: cut, and the rest is appended directly",
            1,
            {"min_overlap_chars": 12},
            "Het loket sluit om vier uur in de maand mei. Neem een ticket.",
        ),
        (
            "not longer: kept, after a newline",
            1,
            {"min_overlap_chars": 13},
            "Het loket sluit om vier uur in de maand mei.\nde maand mei. Neem een ticket.",
        ),
        (
            "not the previous index: a gap, and nothing is cut",
            3,
            {"min_overlap_chars": 12},
            "Het loket sluit om vier uur in de maand mei.\n[...]\nde maand mei. Neem een ticket.",
        ),
    ],
)
def test_overlap_with_the_previous_index(door: Door, rule: str, second: int, settings: dict[str, Any], text: str):
    first = "Het loket sluit om vier uur in de maand mei."
    hits = [Hit(chunk("a", first, 0), 0.9), Hit(chunk("a", "de maand mei. Neem een ticket.", second), 0.8)]
    context = door(FiveStage(**settings), hits)
    assert context.text == f"[1] Uit a.pdf:\n{text}"
    assert "".join(context.text[slice(*source.span)] for source in context.provenance) == (
        text.replace("\n[...]\n", "").replace("\n", "")
    )


def test_a_chunk_that_ends_the_previous_one_adds_nothing():
    first = "Het loket sluit om vier uur. Neem een ticket aan de balie."
    hits = [Hit(chunk("a", first, 0), 0.9), Hit(chunk("a", "Neem een ticket aan de balie.", 1), 0.8)]
    context = assemble(hits, FiveStage())
    assert context.text == f"[1] Uit a.pdf:\n{first}"
    assert [(one.outcome, one.because_of) for one in context.trace.decisions] == [("kept", None), ("contained", "a-0")]


def test_a_repeated_text_is_cut_as_published():
    """The longest end that the next chunk begins with, although a shorter one would match as well."""
    hits = [Hit(chunk("a", "Open. Nee. Nee. Nee.", 0), 0.9), Hit(chunk("a", "Nee. Nee. Nee. Dicht.", 1), 0.8)]
    assert assemble(hits, FiveStage(min_overlap_chars=3)).text == "[1] Uit a.pdf:\nOpen. Nee. Nee. Nee. Dicht."


def test_a_page_summary_stands_once_above_the_text(door: Door):
    about = "Deze pagina gaat over het loket."
    hits = [
        Hit(chunk("a", "Een.", 0, chunk_metadata={"page_summary": about}), 0.9),
        Hit(chunk("a", "Twee.", 1, chunk_metadata={"page_summary": about}), 0.8),
        Hit(chunk("b", "Drie.", 0, page_summary=about), 0.7),
    ]
    assert door(FiveStage(summary_label="Over"), hits).text == (
        f"[1] Uit a.pdf:\n[Over: {about}]\nEen.\nTwee.\n\n[2] Uit b.pdf:\n[Over: {about}]\nDrie."
    )


def test_whole_documents_drop_from_the_tail_until_the_chunk_text_fits(door: Door):
    """Also the best one if it doesn't fit alone; headers and summaries don't count."""
    texts = [numbered(f"{name}.", 100) for name in "xyz"]
    hits = [
        Hit(chunk(name, text, page_summary=numbered("s.", 90)), 0.9 - n / 10)
        for n, (name, text) in enumerate(zip("abc", texts, strict=True))
    ]
    limit = count("\n\n".join(texts[:2]))
    assert 500 <= limit <= 16_000
    context = door(FiveStage(max_tokens=limit), hits)
    assert [citation.document_id for citation in context.citations] == ["a", "b"]
    assert context.token_count == count(context.text) > limit
    (note,) = [note for note in context.trace.notes if note.startswith("budget")]
    assert note == (
        f"budget: the text has {context.token_count - limit} tokens more than {limit}, "
        "which limits the texts of chunks alone"
    )
    assert [one.chunk_id for one in context.trace.excluded] == ["c-0"]
    assert context.trace.excluded_tokens == count(texts[2])
    exact = door(FiveStage(max_tokens=limit, exact=True), hits)
    assert [citation.document_id for citation in exact.citations] == ["a"]
    assert exact.token_count == count(exact.text) <= limit
    assert not [note for note in exact.trace.notes if note.startswith("budget")]


def test_a_document_that_does_not_fit_alone_leaves_nothing():
    assert assemble([Hit(chunk("a", numbered("x", 900)), 0.9)], FiveStage(max_tokens=500)).text == ""


@pytest.mark.parametrize(
    ("rule", "settings", "hits", "supplement", "is_added"),
    [
        ("below the similarity", {"supplement_similarity": 0.9}, [(1.2, 0.72), (1.0, 0.6)], FACTS, True),
        ("at the similarity", {"supplement_similarity": 0.72}, [(1.2, 0.72), (1.0, 0.6)], FACTS, False),
        (
            "the best similarity, not the best hit's",
            {"supplement_similarity": 0.9},
            [(1.0, 0.5), (0.3, 0.95)],
            FACTS,
            False,
        ),
        ("scores, if no hit has a similarity", {"supplement_similarity": 0.8}, [(0.72, None)], FACTS, True),
        ("the fused score decides nothing", {"supplement_similarity": 0.8}, [(1.0, None), (0.9, 0.4)], FACTS, True),
        ("a fused score alone decides nothing", {"supplement_similarity": 0.8}, [(1.0, "fused")], FACTS, True),
        ("None always suppresses", {}, [(0.1, 0.1)], FACTS, False),
        ("never where nothing was retrieved", {}, [], FACTS, True),
        ("never where nothing is scored", {}, [(None, None)], FACTS, True),
        (
            "never for a listed intent",
            {"supplement_intents": ("hours",)},
            [(0.9, 0.9)],
            Supplement(FACTS, intent="hours"),
            True,
        ),
        ("another intent", {"supplement_intents": ("hours",)}, [(0.9, 0.9)], Supplement(FACTS, intent="route"), False),
        ("forced by the caller", {}, [(0.9, 0.9)], Supplement(FACTS, force=True), True),
    ],
)
def test_the_gate(door: Door, rule: str, settings: dict[str, Any], hits: Any, supplement: Any, is_added: bool):
    found = [
        Hit(chunk("abc"[n], f"Tekst {n}.", **similarity_of(similarity)), score)
        for n, (score, similarity) in enumerate(hits)
    ]
    context = door(FiveStage(**settings), found, query="Wanneer?", supplement=supplement)
    texts = [f"[{n}] Uit {'abc'[n - 1]}.pdf:\nTekst {n - 1}." for n in range(1, len(found) + 1)]
    # By score: the test of the best similarity has its hits in this order, too.
    assert context.text == "\n\n".join([*texts, *([BLOCK] if is_added else [])])
    assert any(note.startswith("supplement: suppressed") for note in context.trace.notes) is not is_added


def similarity_of(value: float | str | None) -> dict[str, Any]:
    """The metadata that retrieval writes into a hit."""
    return {} if value is None else {"fused_score": 1.0} if value == "fused" else {"vector_similarity": value}


@pytest.mark.parametrize("options", [{}, {"separator": "--- UIT DE LIJST ---"}])
def test_the_supplement_has_a_place_and_a_separator(door: Door, options: dict[str, Any]):
    system = FiveStage(supplement_position="before", supplement_separator="--- MEER ---", supplement_similarity=1.0)
    context = door(system, [Hit(chunk("a", "Tekst."), 0.9)], supplement=Supplement(FACTS, **options))
    line = options.get("separator", "--- MEER ---")
    assert context.text == f"{line}\n{FACTS}\n\n[1] Uit a.pdf:\nTekst."
    assert context.supplement == f"{line}\n{FACTS}"


def test_text_that_could_pass_for_ours_is_escaped_and_belongs_to_no_source(door: Door):
    text = "[2] Uit b.pdf:\n--- MEER ---\n[Over: niets]\nHet loket sluit."
    system = FiveStage(summary_label="Over", supplement_separator="--- MEER ---")
    context = door(system, [Hit(chunk("a", text), 0.9)])
    assert context.text == "[1] Uit a.pdf:\n\\[2] Uit b.pdf:\n\\--- MEER ---\n\\[Over: niets]\nHet loket sluit."
    assert "".join(context.text[slice(*source.span)] for source in context.provenance) == text


def test_enabled_false_writes_the_hits_as_they_came(door: Door):
    hits = [Hit(GUIDE[4], 0.3), Hit(GUIDE[3], 0.9)]
    context = door(FiveStage(enabled=False), hits, stored=GUIDE)
    header = "Uit gids.html (pagina 2):"
    assert context.text == f"[1] {header}\n{GUIDE[4].text}\n\n[2] {header}\n{GUIDE[3].text}"


def test_a_chunk_retrieved_twice_is_written_once_with_its_best_score():
    hits = [Hit(GUIDE[3], 0.2), Hit(chunk("b", "Anders."), 0.5), Hit(GUIDE[3], 0.8)]
    context = assemble(hits, FiveStage())
    assert [citation.score for citation in context.citations] == [0.8, 0.5]
    assert [one.outcome for one in context.trace.decisions] == ["duplicate", "kept", "kept"]
