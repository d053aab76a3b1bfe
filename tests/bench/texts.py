"""Kinds of text to measure on, endless and without a download: words as often as in real text, in no real order.

A subject comes up again and again for some paragraphs, as in a document. English words are those of the Python
documentation that ships with the interpreter, code is its standard library's, and the rest is made of short lists.
"""

from __future__ import annotations

import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from typing import NamedTuple

Paragraphs = Callable[[Random], Iterator[str]]
"""Endless paragraphs, each with the blank line or line end after it."""


class Kind(NamedTuple):
    paragraphs: Paragraphs
    chunk_tokens: int = 350
    overlap_tokens: int = 70


class Words(NamedTuple):
    all: Sequence[str]
    often: Sequence[float]
    """How often each comes, added up."""
    between: str = " "
    end: str = "."


SUBJECT_WORDS, SUBJECT_PARAGRAPHS, SUBJECT_PART = 12, 16, 0.12
"""So many words are a subject's, for so many paragraphs, and are that part of all words there."""
REPEATED_PART = 0.05
"""Of all paragraphs."""
DUTCH = (
    "de van het een en in is dat op te voor met zijn die niet aan er om ook als dan maar bij door naar uit kan over"
    " wordt deze moet geen tot nog wel of alle andere indien waarbij volgens binnen tussen zonder worden daarom onder"
    " gebruikt vastgelegd beschreven beschikbaar geïnformeerd financiële verplicht uitgevoerd toegestaan aangeboden"
)
DUTCH_PARTS = (
    "gegevens bericht beheer dienst aanvraag overheid informatie beveiliging register standaard koppeling gebruikers"
    " toegang proces document kwaliteits veiligheids inkomens vergunning belasting werkgevers uitwisselings project"
)
CHINESE = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
    "十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形"
    "相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程"
    "展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做"
)
SPEAKERS = ("Project Manager", "Marketing", "User Interface", "Industrial Designer", "PhD D", "Professor B")
FILLERS = ("Yeah .", "Okay .", "Mm-hmm .", "Um ,", "So ,", "I mean ,", "Right .", "{vocalsound}", "you know ,", "Uh")
ASIDES = ("(Smith et al., 2019)", "[14,15]", "(Fig. 3b)", "(p < 0.05)", "in vitro", "β-catenin", "12.5 ± 0.8 nM")


def manual(draw: Random) -> Iterator[str]:
    """The paragraphs of the Python documentation in no order, and in another one when all are dealt."""
    while True:
        yield from draw.sample(_manual(), len(_manual()))


@cache
def _manual() -> list[str]:
    """Each paragraph once. Footnotes look like labels and would be escaped."""
    paragraphs = dict.fromkeys(paragraph for name in sorted(topics) for paragraph in topics[name].split("\n\n"))
    return [f"{paragraph}\n\n" for paragraph in paragraphs if not paragraph.startswith("[")]


def english(draw: Random) -> Iterator[str]:
    for subject in _subjects(draw, _english()):
        yield " ".join(_sentences(draw, _english(), subject, draw.randint(3, 7), 8, 30)) + "\n\n"


def papers(draw: Random) -> Iterator[str]:
    for number, subject in enumerate(_subjects(draw, _english())):
        if number % 6 == 0:
            yield f"{number // 6 % 8 + 1}.{number % 4 + 1} {' '.join(draw.sample(subject, 3)).title()}\n\n"
        sentences = _sentences(draw, _english(), (*subject, *ASIDES), draw.randint(4, 10), 14, 40)
        yield " ".join(sentences) + "\n\n"


def meetings(draw: Random) -> Iterator[str]:
    for subject in _subjects(draw, _english()):
        said = _sentences(draw, _english(), (*subject, *FILLERS), draw.choice((0, 1, 1, 1, 2, 4)), 2, 14)
        yield f"{draw.choice(SPEAKERS)}: {' '.join((draw.choice(FILLERS), *said))}\n"


def dutch(draw: Random) -> Iterator[str]:
    words = _dutch()
    for number, subject in enumerate(_subjects(draw, words)):
        if number % 4 == 0:
            yield f"{'#' * draw.randint(2, 4)} {' '.join(draw.sample(subject, 2)).capitalize()}\n\n"
        if number % 4 == 3:
            yield "".join(f"- {each}\n" for each in _sentences(draw, words, subject, 4, 4, 12)) + "\n"
        else:
            yield " ".join(_sentences(draw, words, subject, draw.randint(2, 5), 7, 24)) + "\n\n"


def chinese(draw: Random) -> Iterator[str]:
    words = Words([*CHINESE], _by_rank(len(CHINESE)), "", "。")
    for subject in _subjects(draw, words):
        pairs = [first + second for first, second in zip(subject, reversed(subject), strict=True)]
        yield "".join(_sentences(draw, words, (*pairs, ","), draw.randint(3, 7), 12, 45)) + "\n\n"


def code_and_tables(draw: Random) -> Iterator[str]:
    while True:
        yield from (f"{block}\n\n" for block in draw.choice(_files()).split("\n\n")[:30])
        yield _table(draw, _english().all)


def _table(draw: Random, words: Sequence[str]) -> str:
    names = draw.sample(words, 4)
    rows = (
        f"| {draw.choice(words)} | {draw.randint(1, 9_999)} | {draw.random():.3f} | {draw.choice(names)} |"
        for _ in range(draw.randint(5, 20))
    )
    return "\n".join((f"| {' | '.join(names)} |", "|---|---|---|---|", *rows, "", ""))


def repeating(paragraphs: Paragraphs) -> Paragraphs:
    """The same where some come again, as notices, quotes and copies do."""

    def repeated(draw: Random) -> Iterator[str]:
        seen = []
        for each in paragraphs(draw):
            seen.append(each)
            yield draw.choice(seen) if draw.random() < REPEATED_PART else each

    return repeated


MANUAL = Kind(manual)
KINDS = {
    "English prose": Kind(repeating(english)),
    "papers": Kind(repeating(papers)),
    "meetings": Kind(repeating(meetings)),
    "Dutch": Kind(repeating(dutch)),
    "Chinese": Kind(repeating(chinese)),
    "code and tables": Kind(repeating(code_and_tables), 50, 10),
}


def _subjects(draw: Random, words: Words) -> Iterator[list[str]]:
    """For each paragraph the words of its subject, of the rarer half."""
    while True:
        subject = draw.sample(words.all[len(words.all) // 2 :], SUBJECT_WORDS)
        yield from [subject] * SUBJECT_PARAGRAPHS


def _sentences(draw: Random, words: Words, subject: Sequence[str], number: int, least: int, most: int) -> list[str]:
    """`number` sentences of `least` to `most` words."""
    sentences = []
    for _ in range(number):
        chosen = draw.choices(words.all, cum_weights=words.often, k=draw.randint(least, most))
        chosen = [draw.choice(subject) if draw.random() < SUBJECT_PART else word for word in chosen]
        sentences.append(f"{chosen[0][:1].upper()}{words.between.join(chosen)[1:]}{words.end}")
    return sentences


@cache
def _english() -> Words:
    """The words of paragraphs that are prose, with the commas after them, the commonest first."""
    prose = (
        each for each in _manual() if each[0].isupper() and len(each) > 200 and not re.search(r"[=<>{}|]|\n ", each)
    )
    counted = Counter(re.findall(r"(?<!\S)[“\"(]?[A-Za-z’-]+[”\")]?,?(?=[\s.;:])", " ".join(prose)))
    words, often = zip(*counted.most_common(), strict=True)
    return Words(words, [*accumulate(often)])


@cache
def _dutch() -> Words:
    """Function words, and as many compounds as Dutch makes of nouns."""
    parts = DUTCH_PARTS.split()
    compounds = [first + second for first in parts for second in parts if first != second]
    words = [*DUTCH.split(), *parts, *Random(0).sample(compounds, len(compounds))]
    return Words(words, _by_rank(len(words)))


def _by_rank(number: int) -> list[float]:
    """Zipf's law."""
    return [*accumulate(1 / (rank + 3) for rank in range(number))]


@cache
def _files() -> list[str]:
    return [file.read_text("utf-8", "replace") for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))]
