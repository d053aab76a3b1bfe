"""What a language is to us: every word that we write, guard, read or tell a model in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENDING = re.compile(r"(?:(?<=\w{4})\w{1,2})?[\W_]*\Z")
"""The signs at the end of a line, and the letters before them that another form of its last word may not have."""


def without_ending(line: str) -> str:
    """`line` as far as it has to be there; one word alone is all of it, or any word that begins alike would be it."""
    return (_ENDING.sub("", line) if " " in line else "") or line


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. Headers, prompts, guards and the reading of answers and queries are all made of these words.

    {} stands for what is filled in. Imperatives are formal, as one writes to a stranger.
    """

    # In headers.
    numbered: str
    """Follows the label, with {source} and {page}, which is empty or one of the next two."""
    one_page: str
    many_pages: str
    row: str
    """With {} for the number of a table's row."""
    unknown: str
    """Stands for a source that has no name."""

    # Lines of their own. No document may write them: `guarded_lines` has them all. Capitals have their accents here;
    # without them they are guarded as well.
    summary: str
    """With {} for the summary of a page."""
    supplement: str
    """Above supplementary text. Its last word is guarded in any form, so that word should have one."""
    context: str
    """Above the context in a prompt."""
    nothing: str
    """In the place of a context that is empty."""
    question: str
    """Before the question."""

    # In answers.
    cited_as: tuple[str, ...]
    """What may stand before the number of a label, as in [source 2], in small letters."""
    quotes: tuple[tuple[str, str], ...]
    """What begins and what ends a quote. Straight ones and single curly ones count in every language."""

    # In prompts, one sentence or two each, as `prompts` describes the styles.
    task: str
    only: str
    insufficient: str
    no_inference: str
    refuse: str
    """With {} for `not_enough`."""
    not_enough: str
    """What a strict answer says, word for word, where the context does not suffice."""
    first: str
    own_knowledge: str
    cite_label: str
    """With {} for an example or two."""
    cite_index: str
    """The same, of chunks that are told by an index."""
    either: str
    """Two examples, with {} for each."""
    no_labels: str
    supplement_rule: str
    concise: str

    # In queries: small letters, parted by blanks.
    function_words: str
    """Articles, pronouns, prepositions and the like, which say little of what is asked for.

    Those of Snowball (BSD-3-Clause, https://snowballstem.org/algorithms/) in NLTK's edition, as bm25s 0.3.16 (MIT) has
    them, less what is more often another word ("estado", "été"). No package of such words is a dependency: the longer
    lists of stop-words and stopwordsiso have "computer" and "research" among them, bm25s and NLTK bring much else.
    """
    asking_words: str
    """More of them, our own: words that ask a question or tell what to do with the answer."""

    def guarded_lines(self) -> tuple[str, ...]:
        """How our lines in this language begin."""
        supplement = without_ending(self.supplement)
        return self.summary.partition("{")[0], supplement, self.context, self.nothing, self.question
