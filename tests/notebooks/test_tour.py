"""What the notebooks share."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from tour.model import QuotingChatModel, QuotingLLM
from tour.questions import Question

ONE = "The lark sings at dawn, high above the open fields."
TWO = "The owl sings at night, deep in the silent woods."


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
