"""What the notebooks share."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from tour.model import QuotingChatModel, QuotingLLM
from tour.questions import LEAST_CHARS, Question, without_headings
from tour.repeats import repeated

ONE = "The lark sings at dawn, high above the open fields."
TWO = "The owl sings at night, deep in the silent woods."


def test_repeated_counts_what_an_earlier_text_has() -> None:
    assert repeated([ONE, f"  {ONE}\n{TWO}"]) == len(ONE) / (2 * len(ONE) + len(TWO))


def test_the_model_quotes_what_it_was_given_with_the_right_labels() -> None:
    hits = [
        Hit(Chunk("l", "lark", f"Birds sing. {ONE}")),
        Hit(Chunk("o", "owl", f"{TWO} They all sing, and do so well.")),
    ]
    context = assemble(hits, AssemblyConfig(max_tokens=200))
    question = "Where does the owl sing at night?"
    answer = QuotingChatModel().invoke(context.to_messages(question)).text
    assert answer == f"“{TWO}” [2]\n“{ONE}” [1]"
    assert [quote.found for quote in context.check_quotes(answer)] == [True, True]
    assert QuotingLLM().complete(f"{context.text}\n\nQuery: {question}\nAnswer: ").text == answer


def test_recall_is_the_share_of_the_evidence_that_stands_there() -> None:
    question = Question("Who sings?", f"{ONE} {TWO}", ())
    assert question.recall(f"[1]\n{ONE}\n{TWO}") == 1.0
    assert 0.4 < question.recall(f"[1]\n{TWO[:-1]}\n{ONE}") < 0.6
    assert question.recall("") == 0.0


def test_headings_are_questions_and_leave_the_text() -> None:
    long, short = "A lark sings. " * LEAST_CHARS, "See below."
    text = f"Birds\n*****\n\n{long}\n\nMore.\n\nOwls\n====\n\n{short}\n\nLarks\n====\n\n{long}\n"
    bare, asked = without_headings("birds", text)
    assert asked == [("Birds", long.rstrip()), ("Birds: Larks", long.rstrip())]
    assert "Owls" not in bare
    assert "====" not in bare
    assert bare.count(long) == 2
