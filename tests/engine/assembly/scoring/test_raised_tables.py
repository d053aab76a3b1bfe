"""The lines of a table are raised where one of them is among the best sentences."""

from __future__ import annotations

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.scoring.tables import raise_tables
from ctxassembly.data.candidates import Candidate
from ctxassembly.tokens.counter import counter_for

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


def as_rows(labels: list[str]) -> str:
    return "".join(f"| {label} | {1234 + 7 * n} | {2345 + 3 * n} |\n" for n, label in enumerate(labels))


def scored(*texts: str) -> ScoredSentences:
    """The sentences of a document of the chunks `texts`, and of others in prose."""
    chunks = [Chunk(f"s{n}", "statement", text, n) for n, text in enumerate(texts)]
    others = [Chunk(f"o{n}", f"other{n}", text, 0) for n, text in enumerate(PROSE)]
    candidates = [Candidate(rank, one, rank, position=one.index or 0) for rank, one in enumerate([*chunks, *others])]
    config = AssemblyConfig()
    return Relevance(candidates, QUESTION, config, counter_for("cl100k_base"), Joins(config)).sentences


def scores_of(sentences: ScoredSentences, words: str) -> list[float]:
    """The scores of the sentences with `words`, relative to the line that answers."""
    texts = [sentences.sentence_text(at) for at in range(len(sentences.continues))]
    answer = next(at for at, text in enumerate(texts) if "Inventories of the company" in text)
    return [float(sentences.scores[at] - sentences.scores[answer]) for at, text in enumerate(texts) if words in text]


@pytest.mark.parametrize("table", [as_lines, as_rows])
def test_a_table_that_goes_on_in_the_next_chunk_is_raised_whole(table):
    sentences = scored(table(LABELS), table(PAYABLE))
    assert min(min(scores_of(sentences, label)) for label in (*LABELS, *PAYABLE)) >= -1


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{label} are listed elsewhere" for label in (*LABELS, *PAYABLE)),  # no figures
        as_lines(LABELS[1:2]),  # too short
        as_lines(LABELS[1:2])
        + "The notes on the next pages are a part of this statement. " * 3
        + as_lines(PAYABLE[:1]),
    ],
)
def test_short_lines_of_another_kind_are_not(text: str):
    sentences = scored(text)
    assert raise_tables(sentences).scores.tolist() == sentences.scores.tolist()


def test_lines_far_from_the_best_one_are_not():
    sentences = scored(as_lines(LABELS), as_lines([f"Asset {n}" for n in range(200)]))
    assert scores_of(sentences, "Asset 9")[0] >= -1 > scores_of(sentences, "Asset 199")[0]


def test_no_line_rises_above_the_one_that_answers():
    sentences = scored(as_lines(LABELS), as_lines(PAYABLE))
    assert all(max(scores_of(sentences, label)) < 0 for label in PAYABLE)


def test_a_context_has_the_rest_of_the_statement_that_was_asked_for():
    hits = [
        Hit(Chunk("s0", "statement", as_lines(LABELS), 0)),
        *(Hit(Chunk(f"o{n}", f"other{n}", text, 0)) for n, text in enumerate(PROSE)),
        Hit(Chunk("s1", "statement", as_lines(PAYABLE), 1)),
    ]
    context = assemble(hits, AssemblyConfig(max_tokens=140, granularity="sentence"), query=QUESTION)
    assert "Accounts payable\n1234" in context.text
    assert "Total liabilities\n1269" in context.text
