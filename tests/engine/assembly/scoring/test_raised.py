"""What raises sentences beside the words of the query: the place of a hit, titles as links, lines of one table."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble


def read(chunks: list[Chunk], query: str, room: int, **options: str) -> str:
    return assemble([Hit(one) for one in chunks], AssemblyConfig(max_tokens=room, **options), query=query).text  # type: ignore[arg-type]


def test_a_good_place_of_a_search_for_words_outweighs_the_words_of_a_chunk() -> None:
    """One sentence of each answers alike. The last chunk has more of the words, the search preferred the first one."""
    first = "Rooms are let. A tenant pays a deposit of two months. Doors are shut. Cellars are dry. Stairs are swept."
    last = "A tenant pays a deposit of six weeks. A deposit is kept. A tenant is told. A deposit is given back."
    texts = [first, *(f"Cats sleep. Dogs bark. Birds sing. {number}." for number in range(10)), last]

    def fused(**metadata: int) -> str:
        chunks = [Chunk(f"c{n}", f"d{n}", text, metadata=metadata) for n, text in enumerate(texts)]
        return read(chunks, "Which deposit does a tenant pay?", 18, format="minimal")

    assert fused() == fused(page=1)
    assert "two months" not in fused()
    assert "two months" in fused(keyword_rank=0)


def test_a_document_that_a_best_sentence_names_is_in_a_tight_context() -> None:
    question = "In which city was the founder of the Lighthouse Choir born?"
    first = "The Lighthouse Choir of the harbor has a founder: it was made by Marta Quist in the old city."
    second = "She came from Aarhus, where her mother had a shop for sails, and sang there as a child until she left."
    kinds = ("Northern", "Southern", "Western", "Eastern", "Central", "Upper", "Lower", "Coastal")
    others = [
        Chunk(
            kind,
            kind,
            f"{kind} choirs of the city have a founder, and where the founder was born is known in the city.",
        )
        for kind in kinds
    ]
    choir = Chunk("choir", "choir", first, 0, metadata={"title": "Lighthouse Choir"})
    quist = Chunk("quist", "quist", second, 0, metadata={"title": "Marta Quist (singer)"})
    assert second in read([choir, *others, quist], question, 170)
    assert second not in read([choir, *others, Chunk("quist", "quist", second, 0)], question, 170)


def as_lines(*labels: str) -> str:
    """A part of a statement as PDFs give it: each label and each figure on a line of its own."""
    return "".join(f"{label}\n" + f"{1234 + 7 * n} \n" * 2 for n, label in enumerate(labels))


def test_a_context_has_the_rest_of_the_statement_that_was_asked_for() -> None:
    labels = (
        "Cash and equivalents",
        "Inventories of the company",
        "Prepaid costs",
        "Goodwill",
        "Other assets",
        "Total",
    )
    payable = ("Accounts payable", "Accrued wages", "Long-term debt", "Other debt", "Common stock", "Total liabilities")
    people = ("chairman", "treasurer", "auditor", "founder", "manager", "secretary", "lawyer", "spokesman")
    prose = "The {} of the company has an office in the main building of the company, next to the old river bridge."
    chunks = [
        Chunk("s0", "statement", as_lines(*labels), 0),
        *(Chunk(one, one, prose.format(one), 0) for one in people),
        Chunk("s1", "statement", as_lines(*payable), 1),
    ]
    text = read(chunks, "What were the inventories of the company?", 140, granularity="sentence")
    assert "Accounts payable\n1234" in text
    assert "Total liabilities\n1269" in text
