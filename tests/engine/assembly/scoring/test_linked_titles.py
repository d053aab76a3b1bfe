"""Documents that the question or the best sentences mention by title have their sentences raised."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

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


def test_a_document_that_a_best_sentence_names_is_in_a_tight_context() -> None:
    config = AssemblyConfig(max_tokens=170)
    with_titles = assemble([Hit(one) for one in CHUNKS], config, query=QUESTION)
    without_title = assemble([Hit(one) for one in (*CHUNKS[:-1], chunk("quist", SECOND))], config, query=QUESTION)
    assert SECOND in with_titles.text
    assert SECOND not in without_title.text
