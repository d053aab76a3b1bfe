"""The lines of a table are raised where one of them is among the best sentences."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

QUESTION = "What were the inventories of the company?"
LABELS = ["Cash and equivalents", "Inventories of the company", "Prepaid costs", "Goodwill", "Other assets", "Total"]
PAYABLE = ["Accounts payable", "Accrued wages", "Long-term debt", "Other debt", "Common stock", "Total liabilities"]
PROSE = [
    f"The {word} of the company has an office in the main building of the company, next to the old river bridge."
    for word in ("chairman", "treasurer", "auditor", "founder", "manager", "secretary", "lawyer", "spokesman")
]


def as_lines(labels: list[str], cells: int = 2) -> str:
    """A part of a statement as PDFs give it: each label and each figure on a line of its own."""
    return "".join(f"{label}\n" + f"{1234 + 7 * n} \n" * cells for n, label in enumerate(labels))


def test_a_context_has_the_rest_of_the_statement_that_was_asked_for():
    hits = [
        Hit(Chunk("s0", "statement", as_lines(LABELS), 0)),
        *(Hit(Chunk(f"o{n}", f"other{n}", text, 0)) for n, text in enumerate(PROSE)),
        Hit(Chunk("s1", "statement", as_lines(PAYABLE), 1)),
    ]
    context = assemble(hits, AssemblyConfig(max_tokens=140, granularity="sentence"), query=QUESTION)
    assert "Accounts payable\n1234" in context.text
    assert "Total liabilities\n1269" in context.text
