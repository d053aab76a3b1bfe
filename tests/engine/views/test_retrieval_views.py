"""How the hits were found, alone and in the page of their context."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from browser import CONTRAST, DARK, LIGHT, measured
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryIndex, RetrievalConfig, Retrieved, assemble, retrieve
from ctxassembly.retrieval import Boost, Question, RetrievalTrace, RetrievedChunk
from pages import read, unanchored

VECTORS = [[1.0, 0.0], [0.9, 0.1], [0.6, 0.8], [0.0, 1.0]]
TEXTS = ("Iron is measured early.", "Iron, and what binds it.", "Copper and iron.", "Zinc alone.")
CHUNKS = [
    Chunk(f"lab#{at}", f"lab{at}", text, 0, metadata={"source": f"lab{at}.pdf", "category": f"c{at}"})
    for at, text in enumerate(TEXTS)
]
INDEX = MemoryIndex(CHUNKS, VECTORS)
HOSTILE = "<script>alert(1)</script> </td></table>\u202e"


def retrieved(query: str | Question = "iron", **options) -> Retrieved:
    config = RetrievalConfig(**{"min_similarity": None, "rescue": "off", **options})
    return retrieve(query, config, index=INDEX, embed=lambda text: [1.0, 0.0])


def rows(found: Retrieved) -> list[list[str]]:
    return read(found.to_html()).rows("Vector and keyword")


def test_each_hit_has_its_rank_and_score_in_each_channel():
    found = retrieved(limit=3)
    for place, (row, one) in enumerate(zip(rows(found), found.chunks, strict=True)):
        assert row[0].startswith(f"{place + 1}. {one.chunk.id} ")
        assert row[1] == " + ".join(one.channels)
        for cell, channel, score in ((row[2], "vector", one.similarity), (row[3], "keyword", one.keyword_score)):
            rank = f"{one.ranks[channel] + 1}." if channel in one.ranks else "–"
            assert cell == f"{rank} {score:.3g}"
        assert row[4:6] == [f"{one.fused_score:.3g}", f"{one.score:.3g}"]


def test_a_boost_a_reranker_and_an_affinity_are_named_with_their_factors():
    boost = Boost("fresh", 3.0, {"category": "c2"})
    whys = [row[6] for row in rows(retrieved(boosts=(boost,)))]
    assert any("fresh × 3" in why and "(boost)" in why for why in whys)
    asked = Question("iron", intent="find")
    assert any("affinity:c0 × 0.5" in row[6] for row in rows(retrieved(asked, affinity={"find": {"c0": 0.5}})))
    config = RetrievalConfig(min_similarity=None, rescue="off")
    reranked = retrieve(
        "iron",
        config,
        index=INDEX,
        embed=lambda text: [1.0, 0.0],
        rerankers=[lambda query, chunks: [(1, 0.9), (0, 0.4)]],
    )
    assert "reranker 0.9" in rows(reranked)[0][6]


def test_the_words_of_the_query_that_a_hit_has_are_named():
    first, *_, last = rows(retrieved("iron or copper"))
    assert "has 2 of 3 words: iron, copper" in first[6]
    assert last[6] == "as fusion has it"


def test_a_rescued_hit_says_for_which_words():
    found = retrieved("iron or zinc", limit=2, rescue="last", keyword_weight=0.0)
    (why,) = [row[6] for row in rows(found) if "rescue" in row[1]]
    assert "rescued: no better chunk has “zinc”" in why


def test_what_was_found_and_lost_is_listed_with_the_step_and_the_reason():
    found = retrieved(limit=2)
    lost = read(found.to_html()).rows("Those that came the farthest")
    assert {row[0] for row in lost} == {chunk.id for chunk in CHUNKS} - {hit.chunk.id for hit in found.hits}
    assert lost[0][1:] == ["limit", "place 3 after fuse, where 2 are kept"]


def test_the_page_of_a_context_has_it_with_the_fate_of_each_hit():
    found = retrieved()
    context = assemble(found.hits, AssemblyConfig(max_tokens=30), query="iron")
    shown = read(context.to_html(retrieved=found)).rows("Vector and keyword")
    fates = {decision.chunk_id: f"{decision.outcome}: {decision.reason}" for decision in context.trace.decisions}
    assert [row[7] for row in shown] == [fates[one.chunk.id] for one in found.chunks]
    assert {row[7].split(":")[0] for row in shown} > {"dropped"}


def test_a_context_carries_its_retrieval_but_neither_saves_nor_compares_it():
    found = retrieved()
    context = assemble(found.hits)
    carrying = replace(context, retrieved=found)
    assert carrying == context
    assert Context.from_dict(carrying.to_dict()).retrieved is None
    assert pickle.loads(pickle.dumps(carrying)).retrieved == found
    assert "The steps of retrieval" in carrying._repr_html_()
    for shown in (carrying, context.view(retrieved=found), carrying.view()):
        assert unanchored(shown._repr_html_()) in unanchored(context.to_html(retrieved=found))


def test_nothing_found_is_said():
    assert "No hit says how it was found." in retrieved("").to_html()


def test_texts_ids_and_notes_can_do_nothing():
    chunk = Chunk(HOSTILE, HOSTILE, "Iron.", metadata={"source": HOSTILE})
    one = RetrievedChunk(chunk, 1.0, ("rescue",), because_of=(HOSTILE,), raised_by=HOSTILE, factors=((HOSTILE, 2.0),))
    found = Retrieved(HOSTILE, (one,), RetrievalTrace("none", notes=(HOSTILE,), terms={HOSTILE: 1.0}))
    for page in (found.to_html(), assemble(found.hits, query=HOSTILE).to_html(retrieved=found)):
        assert read(page).all("script") == []
        assert "\u202e" not in page


def test_many_hits_stay_below_a_megabyte_and_are_counted():
    many = tuple(RetrievedChunk(Chunk(f"{n}" + "i" * 200, f"d{n}", "Iron."), 1.0, ("vector",)) for n in range(2_000))
    page = Retrieved("iron", many, RetrievalTrace("vector_only")).to_html()
    assert len(page.encode()) < 1_000_000
    assert any(each.text.endswith("more hits") for each in read(page).all(class_="cxa-more"))


@pytest.mark.browser
@pytest.mark.parametrize("flag", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_of_it_can_be_read(flag):
    script = f"const host = hosts[0]; for (const each of host.querySelectorAll('details')) each.open = true; {CONTRAST}"
    texts, poor, _ = measured(script, retrieved(limit=2)._repr_html_(), flags=(flag,))
    assert texts > 20
    assert poor == []
