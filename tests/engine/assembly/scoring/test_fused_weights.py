"""Hits that a search for words found: their order has the words of the chunks, which then weigh less."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

QUERY = "Which deposit does a tenant pay?"
TEXTS = [
    "The sum is two months of rent. The tenant pays it in parts. It is kept apart.",
    "A deposit is a deposit. The tenant who pays a deposit pays a deposit. Deposit, tenant, pay.",
    "Cats sleep. Dogs bark. Birds sing.",
]


def test_a_good_place_outweighs_the_words_of_a_chunk():
    """One sentence of each answers alike. The last chunk has more of the words, the search preferred the first one."""
    first = "Rooms are let. A tenant pays a deposit of two months. Doors are shut. Cellars are dry. Stairs are swept."
    last = "A tenant pays a deposit of six weeks. A deposit is kept. A tenant is told. A deposit is given back."
    texts = [first, *(f"{TEXTS[2]} {number}." for number in range(10)), last]

    def read(**metadata: int) -> str:
        chunks = [Chunk(f"c{n}", f"d{n}", text, metadata=metadata) for n, text in enumerate(texts)]
        return assemble(list(map(Hit, chunks)), AssemblyConfig(max_tokens=18, format="minimal"), query=QUERY).text

    assert read() == read(page=1)
    assert "two months" not in read()
    assert "two months" in read(keyword_rank=0)
