"""The record of a language: every word of it that we write, guard, read or pass to a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
