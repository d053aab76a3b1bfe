"""Turns of the speaker whom a query names, in several scripts, and texts that only look like a dialogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.speakers import mentioned_turns
from ctxassembly.text.sentences import sentence_spans
from stopwatch import grows_less

MEETING = """\
[00:01:02] Sarah Jones: The remote costs too much. Rubber is dear.
We can't pay for it.

00:02 Dr. Li: I see. Go on.
Speaker 2 (00:03:10): Agreed.
**Project Manager:** Let us vote.
Sarah Jones: Then wood.
Speaker 1: No.
"""
SARAH = ["[00:01:02] Sarah Jones: The remote costs too much. ", "Rubber is dear.\n", "We can't pay for it.\n\n"]
SARAH_TOO = "Sarah Jones: Then wood.\n"
CHINESE = "王芳：预算不够。我们付不起。\n李医生：好的。\n王芳：谢谢。\n"
WANG = ["王芳：预算不够。", "我们付不起。\n"]
RUSSIAN = "Анна Петрова: Денег нет. Совсем.\nИван: Да.\nАнна Петрова: Жаль.\n"
ARABIC = "أحمد: نعم.\nليلى: لا. أبدا.\nأحمد: حسنا.\n"
HINDI = "डॉ. शर्मा: दवा लें।\nमीरा: ठीक है।\nडॉ. शर्मा: धन्यवाद।\n"
GLOSSARY = "Ferritin: a protein that stores iron. It is measured in the morning.\nHeme: a part of hemoglobin.\n"
NOTES = "Note: bring your card. It is scanned.\nSource: the leaflet.\nNote: come early.\n"
LOG = "12:00:01 WARN disk: full\n12:00:02 WARN disk: full\nhttp://a.b: gone\n"


def turns(texts: Sequence[str], query: str) -> list[float]:
    """1 for each sentence of the documents `texts` in a turn of a speaker whom `query` names."""
    starts = [0, *accumulate(map(len, texts))]
    whole = "".join(texts)
    found = mentioned_turns(whole, starts[:-1], range(len(whole)), query)
    sentences = [base + start for base, text in zip(starts, texts, strict=False) for start, _ in sentence_spans(text)]
    return [float(any(begin <= start < end for begin, end in found)) for start in sentences]


def said(text: str, query: str) -> list[str]:
    """The sentences in turns of a speaker whom `query` names."""
    return [
        text[start:end]
        for (start, end), value in zip(sentence_spans(text), turns([text], query), strict=False)
        if value
    ]


@pytest.mark.parametrize(
    ("rule", "text", "query", "expected"),
    [
        ("a name, and what goes on", MEETING, "What did Sarah Jones say about rubber?", [*SARAH, SARAH_TOO]),
        ("a word of it with a capital", MEETING, "What does Jones want?", [*SARAH, SARAH_TOO]),
        ("but no small one", MEETING, "What about the project?", []),
        ("nor one that the query begins with", MEETING, "Project costs, please", []),
        ("with a title, in small letters", MEETING, "what did dr li say", ["00:02 Dr. Li: I see. ", "Go on.\n"]),
        ("with a number", MEETING, "What did Speaker 2 say?", ["Speaker 2 (00:03:10): Agreed.\n"]),
        ("a part, in bold", MEETING, "What did the project manager ask?", ["**Project Manager:** Let us vote.\n"]),
        (
            "with a colon of full width",
            CHINESE,
            "王芳说了什么？",
            ["王芳：预算不够。", "我们付不起。\n", "王芳：谢谢。\n"],
        ),
        ("in scripts without blanks", CHINESE, "李医生说了什么？", ["李医生：好的。\n"]),
        ("in Russian", RUSSIAN, "Почему Иван молчит?", ["Иван: Да.\n"]),
        ("in Arabic", ARABIC, "ماذا قالت ليلى؟", ["ليلى: لا. ", "أبدا.\n"]),
        ("in Hindi", HINDI, "मीरा ने क्या कहा?", ["मीरा: ठीक है।\n"]),
        ("nobody is named", MEETING, "How much is rubber?", []),
        ("in a glossary no name comes again", GLOSSARY, "What is ferritin?", []),
        ("a note is not asked for", NOTES, "What do I bring?", []),
        ("a label that is asked for is one", NOTES, "Which source?", ["Source: the leaflet.\n"]),
        ("a single speaker has it all", "Ann: One.\nAnn: Two.\n", "What did Ann say?", []),
        ("an interview's A isn't the article", "Q: Is it?\nA: Yes.\nQ: Why?\n", "What is a fever?", []),
        ("a function word is no name", "You: Hi.\nBot: Hi.\nYou: Go.\n", "How do you install it?", []),
        ("a log has no speakers", LOG, "Is the disk full?", []),
        ("an address neither", "See http://x.y: no.\nSee http://x.y: no.\nSo.", "What does http say?", []),
        ("nor a sentence with a colon", "We need this and that too: a.\nb\n" * 2, "What do we need?", []),
    ],
)
def test_the_turns_of_whom_a_query_names(rule: str, text: str, query: str, expected: list[str]):
    assert said(text, query) == expected


def test_a_turn_ends_where_another_text_begins():
    assert turns(["Ann: One.\nBo: Two.\nAnn: Three.\n", "Four.\n"], "What did Ann say?") == [1, 0, 1, 0]


@pytest.mark.parametrize("text", [GLOSSARY, LOG, "Plain text. No colon. " * 9])
def test_without_speakers_no_value_changes(text: str, monkeypatch: pytest.MonkeyPatch):
    def values() -> list[float]:
        seen: list[float] = []

        def spy(*given: object, **options: object) -> object:
            found = score_sentences(*given, **options)  # type: ignore[arg-type]
            seen.extend(found.scores.tolist())
            return found

        monkeypatch.setattr("ctxassembly.assembly.scoring.features.score_sentences", spy)
        assemble([Hit(Chunk("a", "A", text))], AssemblyConfig(max_tokens=15), query="What is ferritin, a disk?")
        return seen

    before = values()
    monkeypatch.setattr("ctxassembly.assembly.scoring.features.mentioned_turns", lambda *_: [])
    assert values() == before != []


def test_the_speaker_asked_for_is_heard_first():
    """Both say something of the remote in as many words: only the name tells whose turn is asked for."""
    turns = [
        "Tom Baker: I like the remote. It should be made of cheap yellow plastic, which everybody likes.\n",
        "Sarah Jones: I like the remote. It should be made of rubber and wood, which last much longer.\n",
    ]
    hit = Hit(Chunk("a", "A", "".join(turns * 2)))
    for name, material, other in (("Sarah Jones", "rubber", "plastic"), ("Tom Baker", "plastic", "rubber")):
        query = f"What did {name} say about the remote?"
        context = assemble([hit], AssemblyConfig(max_tokens=40), query=query)
        assert context.token_count <= 40
        assert material in context.text
        assert other not in context.text


@given(st.text("Ann: Bo\n[01：*.\x00\u202e"), st.text("Ann Bo*"))
def test_any_text_will_do(text: str, query: str):
    assert len(turns([text], query)) in (0, len(sentence_spans(text)))


@pytest.mark.parametrize("piece", ["Ann: a\nBo: b\n", "a" * 39 + " ", "[00:00:00] " * 3 + "\n", "\n", "** ", "A. B "])
def test_time_is_linear(piece: str):
    def looking(length: int) -> Callable[[], object]:
        text = (piece * (length // len(piece) + 1))[:length]
        query = "What did Ann say to A. B about it?"
        return lambda: mentioned_turns(text, [0], range(0, length, 3), query)

    assert grows_less(looking, 10_000, 320_000, 300)


@pytest.mark.parametrize(
    ("rule", "text", "word", "named"),
    [
        ("a speaker whom the query names", "Yes.\nSarah Jones: No.", "Sarah", True),
        ("the first words of a document", "Sarah Jones: No.", "Sarah", True),
        ("of which any is a word of the query", "Sarah Jones: No.", "Jones", True),
        ("far from a line break, too", f"{'It ends. ' * 20}\nSarah Jones: No.", "Sarah", True),
        ("code that has a word of the query", "class Budget:\n    pass", "Budget", False),
        ("a word of the query behind the colon", "Sarah Jones: I say no", "say", False),
    ],
)
def test_turns_are_looked_for_only_where_one_may_be_of_whom_the_query_names(
    rule: str, text: str, word: str, named: bool
):
    dialogue = "Li Wei: Yes.\nLi Wei: No."
    start = len(dialogue)
    query = "What did Sarah Jones say of the budget?"
    found = mentioned_turns(dialogue + text, [0, start], [start + text.index(word)], query)
    assert bool(found) is named, rule
