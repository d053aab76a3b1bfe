"""The languages that contexts and prompts are written in, one file of plain words each.

To add one, copy a file, translate each entry, put in its own function words, and add its name to `Code`: headers,
prompts, guards, the reading of answers and of queries follow. The words of every language are guarded in contexts of
all languages, since an answer doesn't show which context it has read.

Stop words are words of a query that say little about what it asks for: "what", "explain", "waarom", "zusammen". The
language of a query is unknown, and a stop word in one language may be the subject in another: the German "war" and the
Spanish "sea". So only the stop words of one language count: the language with the most stop words in the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from ctxassembly.errors import ConfigError

Code = Literal["en", "nl", "de", "fr", "es"]
_ENDING = re.compile(r"(?:(?<=\w{4})\w{1,2})?[\W_]*\Z")
"""The signs at the end of a line, and up to two letters before them: the ending of the last word, if it has a stem of
four letters or more."""


def strip_ending(line: str) -> str:
    """`line` without the ending of its last word, so that any form of the word is found. A single word is kept whole.

    Its stem alone would find every word that begins with it.
    """
    return (_ENDING.sub("", line) if " " in line else "") or line


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. Headers, prompts, guards and the reading of answers and queries are all made of these words.

    Each field is an entry of the language's file, the words of a list parted by blanks. An entry that begins with a
    blank is in double quotation marks. {} is where a value is filled in. Imperatives are formal, as to a stranger.
    """

    # In headers.
    numbered: str
    """The text after the label, with {source} and {page}. {page} is empty or one of the next two."""
    one_page: str
    many_pages: str
    row: str
    """With {} for the number of a table's row."""
    unknown: str
    """The name of a source that has none."""

    # Lines of our own, which no document may write: `guarded_lines` has them all. Write capitals with their accents;
    # guards find them without, too.
    summary: str
    """With {} for the summary of a page."""
    supplement: str
    """The line above supplementary text. Its last word is guarded in any form, so it should be one with endings."""
    context: str
    """The line above the context in a prompt."""
    nothing: str
    """The line in place of an empty context."""
    question: str
    """The word before the question."""

    # In answers.
    cited_as: tuple[str, ...]
    """Words before the number of a label, as in [source 2], in small letters."""
    quotes: tuple[str, ...]
    """Pairs of opening and closing quotation marks. Straight ones and single curly ones count in every language."""

    # In prompts, one sentence or two each, as `prompts` describes the styles.
    task: str
    only: str
    insufficient: str
    no_inference: str
    refuse: str
    """With {} for `not_enough`."""
    not_enough: str
    """The sentence of a strict answer if the context does not suffice, word for word; in English the published one."""
    first: str
    own_knowledge: str
    cite_label: str
    """With {} for an example or two."""
    cite_index: str
    """The same for a format whose chunks have an index in place of a label."""
    either: str
    """Two examples, with {} for each."""
    no_labels: str
    supplement_rule: str
    no_content: str
    """The answer if nothing usable was retrieved; in English the published one."""
    refusal: str
    """The answer in place of one that says what the caller forbids."""
    unanswered: str
    """The end of an answer, and a rule for it, with {} for a part of the question that could not be searched for."""
    concise: str
    draft: str
    """The word before an answer that is to be refined."""
    refine: str
    """The rule for that."""

    continues_above: str
    """The line below a header whose document the conversation has more of; {} is its label. Its pages follow."""

    # In the messages of an agent's tools, with {} for labels.
    given_above: str
    """The answer of a tool whose sources are in the message of another; {} is empty, or labels in brackets."""
    same_text_in: str
    """After it, with {} for other documents that have the text."""
    given_earlier: str
    """In place of a context that had to make room."""
    nothing_left_out: str
    """The answer to a request for what was left out, if nothing matches it."""
    left_out_sources: str
    """With {} for the sources of what was left out."""
    left_out_unreadable: str
    """The answer if the store fails."""

    # In queries: small letters, parted by blanks.
    stop_words: str
    """Articles, pronouns, prepositions and the like, which say little of what is asked for.

    Snowball's list (BSD-3-Clause, https://snowballstem.org/algorithms/) in NLTK's edition, as bm25s 0.3.16 (MIT) has
    it, less what is more often another word ("estado", "été"). No package of such words is a dependency: the longer
    lists of stop-words and stopwordsiso have "computer" and "research" among them, bm25s and NLTK bring much else.
    """
    question_words: str
    """More of them, our own: words that ask a question or say what to do with the answer."""

    # In texts, written as in queries.
    number_words: str
    """Each number word after its value. Compounds, such as "vierundzwanzig", are recognized by their parts. A word that
    is more often another one is left out, such as "once", eleven in Spanish. 1 is needed for compounds alone."""
    negations: str
    """Words that negate. A negation of two words is counted once: "ne" is listed, "pas" is not."""
    months: str
    """The twelve months in order, and the seven days from Monday on, written as inside a sentence."""
    weekdays: str

    def guarded_lines(self) -> tuple[str, ...]:
        """The beginnings of our lines in this language."""
        supplement = strip_ending(self.supplement)
        notes = (self.given_above, self.given_earlier, self.nothing_left_out, self.left_out_sources)
        begins = [line.partition("{")[0].rstrip(" .") for line in (self.summary, *notes)]
        return *begins, supplement, self.context, self.nothing, self.question, self.draft


def _read_language(code: str) -> Language:
    parser = ConfigParser(interpolation=None, delimiters="=")
    parser.read(Path(__file__).with_name(f"{code}.ini"), "utf-8")
    entries: dict[str, Any] = {name: entry.replace("\n", " ").strip('"') for name, entry in parser["language"].items()}
    entries |= {name: tuple(entries[name].split()) for name in ("cited_as", "quotes")}
    return Language(**entries)


LANGUAGES: Mapping[str, Language] = {code: _read_language(code) for code in get_args(Code)}


def language_of(code: str) -> Language:
    """Return the language of `code`.

    Raises:
        ConfigError: there is none.
    """
    if not isinstance(code, str) or code not in LANGUAGES:
        raise ConfigError("language", "one of " + ", ".join(map(repr, LANGUAGES)), code)
    return LANGUAGES[code]


def stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return the `words` that are stop words in the language, or languages, with the most stop words among them.

    >>> sorted(stop_words(["what", "caused", "the", "war"]))
    ['the', 'what']
    >>> sorted(stop_words(["warum", "begann", "war", "der", "krieg"]))
    ['der', 'war', 'warum']
    """
    words = frozenset(words)
    found = [listed & words for listed in _stop_words().values()]
    return frozenset().union(*(matches for matches in found if len(matches) == max(map(len, found))))


_WORD = re.compile(r"\w+")
_NAME_PARTICLES = re.compile(r"\b(?:van|von|de|del|du|ten|ter|zu)\b(?: (?:de[nr]?|la|las|los|het)\b)?(?= [A-Z])")
"""Function words that are part of a name, such as "van der" in "van der Berg"."""


def guess_language(text: str) -> str | None:
    """Return the language of a question by its function words; None if they don't show it.

    More than a quarter of its words, and at least two, must be function words of one language, more than of any other.
    That finds the language of .97 of English and Spanish questions and of .91 of German ones. Of 11,000 questions in
    nine languages one gets a wrong language.

    >>> [guess_language(text) for text in ("Waar is de cafetaria?", "cafetaria", "Dr. van der Berg phone number")]
    ['nl', None, None]
    """
    words = frozenset(_WORD.findall(_NAME_PARTICLES.sub("", text).casefold()))
    counts = {code: len(listed & words) for code, listed in _stop_words().items()}
    best = max(counts, key=lambda code: counts[code])
    is_clear = list(counts.values()).count(counts[best]) == 1
    return best if is_clear and counts[best] >= max(2, len(words) // 4 + 1) else None


@cache
def _stop_words() -> Mapping[str, frozenset[str]]:
    """Return the stop words by language."""
    return {
        code: frozenset(f"{language.stop_words} {language.question_words}".split())
        for code, language in LANGUAGES.items()
    }
