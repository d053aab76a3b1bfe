"""What the notebooks share."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from tour.model import QuotingChatModel, QuotingLLM, quoted
from tour.questions import LEAST_CHARS, Question, sections, without_headings
from tour.repeats import repeated

ONE = "The lark sings at dawn, high above the open fields."
TWO = "The owl sings at night, deep in the silent woods."


def test_repeated_counts_what_an_earlier_text_has() -> None:
    assert repeated([ONE, f"  {ONE}\n{TWO}"]) == len(ONE) / (2 * len(ONE) + len(TWO))


def test_what_stands_once_or_is_short_is_not_repeated() -> None:
    assert repeated([f"{ONE}\nshort\n", f"{TWO}\nshort\n"]) == 0
    assert repeated([]) == 0


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


def test_the_model_has_nothing_to_say_about_nothing() -> None:
    assert quoted("Context:\n(No documents were found.)\n\n---\n\nQuestion: Why?") == "The context has no sources."


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


def test_the_evidence_stands_in_the_chunks_and_the_headings_do_not() -> None:
    chunks, asked = sections()
    texts = "\n".join(chunk.text for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert min(Question(text, evidence, ()).recall(texts) for text, evidence in asked) == 1.0
    assert "\n*****" not in texts
