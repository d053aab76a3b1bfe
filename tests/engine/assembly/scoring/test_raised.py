"""What raises sentences beside the words of the query: titles as links, lines of one table."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble


def read(chunks: list[Chunk], query: str, room: int, **options: object) -> str:
    return assemble([Hit(one) for one in chunks], AssemblyConfig(max_tokens=room, **options), query=query).text  # type: ignore[arg-type]


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
    """A chunk that is mostly numbers is one thing: its last line has no word of the question."""
    labels = ["Cash", "Inventories", "Prepaid costs", "Goodwill", "Wages", "Debt", "Common stock", "Patents", "Land"]
    labels += ["Tax", "Leases", "Bonds", "Loans", "Total liabilities"]
    people = ("chairman", "treasurer", "auditor", "founder", "manager", "secretary", "lawyer", "spokesman")
    prose = "The {} of the company has an office in the main building of the company, next to the old river bridge."
    chunks = [
        Chunk("s0", "statement", as_lines(*labels), 0),
        *(Chunk(one, one, prose.format(one), 0) for one in people),
    ]
    text = read(chunks, "What were the inventories of the company?", 2_000, min_relevance=0.95)
    assert "Inventories\n1241" in text
    assert "Total liabilities\n1325" in text
