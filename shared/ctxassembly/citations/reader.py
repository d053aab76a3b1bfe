r"""The citations of an answer: one reader for answers that come whole and for streams.

A marker is `[1]`, `[1, 2]`, `[1][2]`, `[1-3]`, `[SOURCE 2]` or `【3】`. Some text looks like a marker and cites
nothing:

- code between backticks. Three or more reach to the next as many, or to the end of the answer; one or two that aren't
  closed in their line, within `CODE_CHARS`, are ordinary characters;
- `\[1]`. The context writes a label so where a document forges it, and an answer may copy that;
- thoughts between `<think>` and `</think>`, and whatever is before a `</think>` that nothing opened: some servers open
  it in the prompt. What was read up to there is forgotten;
- an index, after a single small letter, a name with an underscore or inside a call: `x[1]`, `my_list[1][2]`; or after
  any word, before an assignment, an attribute or a call: `list[2] = 5`. After any other word a bracket is a marker if
  its label is known, since many models write "word[1]"; if not, it isn't reported as unknown;
- an interval or a list, before a unit or after a sign: `[2, 3] kg`, `x = [2, 3]`;
- a reference of the source's own that the answer quotes: "... according to [2] in all cases." A marker is the source's
  own, and not the model's, if some passage has the quote from its beginning, through the marker, up to the next marker
  or to the end of the quote. Without quotation marks it is, if some passage has the words around it, and the sentence
  has another marker after it: the model's own.

`[1](https://...)` is a citation with a link target. The target shares the fate of its marker: kept, renumbered along
with it, or removed.

How a stream is read. Each decision about a character depends on at most `LOOKBACK` characters before it and a bounded
number after it, and is made only when those have come. So it makes no difference where the answer is cut into pieces,
and time is linear whatever the answer holds. The longest wait is for a marker that some source has as well, after a
quotation mark in the same line: until the line ends, or the longest quote would. Only what is before an unopened
`</think>` has been put out by then, with labels of its own.

In the code, a method that reads one construct (code, a bracket, plain text) returns the offset at which it ends, after
putting its text out; or None if more of the answer is needed to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from ctxassembly.citations.markers import MARKER, MARKER_BEGUN, SpokenText, labels_in, relabel
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Citation
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.words import is_spaced, normalize_wording
from ctxassembly.wording.label_forms import BRACKETS
from ctxassembly.wording.languages import LANGUAGES

QUOTE_CHARS = 1_000
"""Characters of the longest quote: a quotation mark that is never closed must not swallow the answer."""
_CLOSING: dict[str, str] = {}
"""The marks that end a quote, by the mark that begins it, of all languages: an answer may be in another one than its
context."""
for _pair in (pair for language in LANGUAGES.values() for pair in language.quotes):
    _CLOSING[_pair[0]] = "".join(sorted({*_CLOSING.get(_pair[0], ""), _pair[1]}))
QUOTE_PATTERN = re.compile(
    "|".join(
        (
            f'"([^"\\n]{{0,{QUOTE_CHARS}}})"',
            *(f"{left}([^{left}{right}\\n]{{1,{QUOTE_CHARS}}})[{right}]" for left, right in _CLOSING.items()),
            # Single ones look like apostrophes. They open or close only where no letter is on the other side, and
            # `check_quotes` takes them only around several words.
            rf"(?<!\w)'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)'(?!\w)",
            rf"(?<!\w)‘(?=\S)((?:[^‘’\n]|(?<=\w)’(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)’(?!\w)",
        )
    )
)
FIRST_SINGLE_GROUP = 2 + len(_CLOSING)
"""The first group of `QUOTE_PATTERN` for single quotation marks."""
LOOKAHEAD = QUOTE_CHARS + 3
"""Characters after a marker that decide whether it is quoted: the longest quote, and one more."""
LOOKBACK = 4 * QUOTE_CHARS
"""Characters before a marker, within its line, that are searched for quotes."""
COPIED_CHARS, MIN_COPIED_CHARS = 24, 8
"""Characters after a marker that a source must have as well if it is copied, and the least of the words before it."""
_OPENING = re.compile(f"[\"'‘{''.join(_CLOSING)}]")
_LEFT = "".join(left for left, _ in BRACKETS)
_MARKER = re.compile(rf"[{re.escape(_LEFT)}]")
_BREAK = re.compile(r"[\n\[\]【】［］。！？]|(?<=[.!?])\s")
"""What ends the words around a marker: a sentence, a line, another bracket."""
_CITED = re.compile(
    rf"[^\n]*?(?:([{re.escape(_LEFT)}])|[.!?]\s+[^\s{re.escape(_LEFT)}]|[。！？] ?[^\s{re.escape(_LEFT)}]|\n)"
)
"""The rest of a sentence, up to a further marker if it has one."""
_EDGE_CHARACTERS = " \t.,;:!?…"


def normalize_quote(quote: str) -> str:
    """Return the words of a quote in the form that is searched, without punctuation at the ends.

    >>> normalize_quote("“Eat  nothing.”"[1:-1])
    'eat nothing'
    """
    return normalize_wording(quote).strip(_EDGE_CHARACTERS)


def answer_begin(answer: str) -> int:
    """Return where `answer` begins after the thoughts of a model."""
    said = answer.lower()
    return max([0, *(said.rfind(tag) + len(tag) for tag in THINKING_TAGS if "/" in tag and tag in said)])


def contains_quote(text: str, quote: str) -> bool:
    """Return True if a source's `text` has the words searched, with or without backslashes added by a context."""
    return quote in text or ("\\" in quote and quote.replace("\\", "") in text)


class SourceQuotes:
    """Checks whether the markers of an answer are quoted from a source. Markers must be checked in order."""

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._texts = texts
        """A function that gives the wording of all passages, called for the first marker."""
        self._passages: Sequence[str] | None = None
        self._is_in_sources: dict[str, bool] = {}
        self._searched_to = 0
        self._current_quote: Span = (0, 0)

    def is_in_sources(self, written: str) -> bool:
        """Return True if some source has the marker as it is written."""
        written = normalize_wording(written)
        if written not in self._is_in_sources:
            if self._passages is None:
                self._passages = tuple(self._texts())
            self._is_in_sources[written] = any(written in passage for passage in self._passages)
        return self._is_in_sources[written]

    def can_be_quoted(self, text: str, base: int, at: int) -> bool:
        """Return False if the marker `at` isn't in a quote, so that the end of one needn't be awaited.

        `text` begins at offset `base` of the answer, at least `LOOKBACK` characters before the marker.
        """
        if self._current_quote[1] > at + base:
            return True
        opening = _OPENING.search(text, self._search_start(text, base, at), at)
        self._searched_to = (opening.start() if opening else at) + base
        return opening is not None

    def is_copied(self, text: str, marker: Span, words: int, after: str = "") -> bool:
        """Return True if some source has the marker with so many `words` before it, and with what is `after` it."""
        at, end = marker
        before = _BREAK.split(text[max(at - QUOTE_CHARS // 4, 0) : at])[-1]
        last = before.split()[-words:]
        has_blanks = bool(last) and is_spaced(last[-1])
        said = " ".join(last) if has_blanks else "".join(last)[-4:]
        if len(said) < (MIN_COPIED_CHARS if has_blanks else 3):
            return False
        copied = normalize_wording(said + before[len(before.rstrip()) :] + text[at:end] + after)
        return any(contains_quote(passage, copied) for passage in self._passages or ())

    def is_quoted(self, text: str, base: int, marker: Span) -> bool:
        """Return True if the marker is a source's own.

        Ask once `text` has `LOOKAHEAD` characters from the marker on, the rest of its line, or the rest of the answer.
        """
        at, end = marker
        quote = self._find_quote(text, base, at)
        if quote is None:
            return False
        another = _MARKER.search(text, end, quote[1] - 1)
        words = normalize_quote(text[quote[0] + 1 : another.start() if another else quote[1] - 1])
        return any(contains_quote(passage, words) for passage in self._passages or ())

    def _find_quote(self, text: str, base: int, at: int) -> Span | None:
        """Return the quote around `at` with its quotation marks. Each mark that may open a quote is tried only once."""
        if self._current_quote[1] <= at + base:
            begin = self._search_start(text, base, at)
            while opening := _OPENING.search(text, begin, at):
                begin = opening.end()
                if found := QUOTE_PATTERN.match(text, opening.start(), at + LOOKAHEAD):
                    begin = found.end()
                    if begin > at:
                        self._current_quote = (found.start() + base, begin + base)
            self._searched_to = begin + base
        begin, end = self._current_quote
        return (begin - base, end - base) if end > at + base else None

    def _search_start(self, text: str, base: int, at: int) -> int:
        """Return the beginning of the line of `at`, or of the part of it that has not been searched yet."""
        begin = max(at - LOOKBACK, self._searched_to - base, 0)
        return max(text.rfind("\n", begin, at) + 1, begin)


Mode = Literal["keep", "renumber", "remove"]
"""Markers stay as they are, or count 1 to n by first use, or are removed, for speech.

Renumbering leaves unknown labels as they are.
"""

CODE_CHARS = 1_000
"""Characters of the longest inline code: the most text that a stray backtick holds back."""
CHARS_BEFORE = 64
"""Characters before a marker that decide whether it is an index or escaped."""

_BRACKETED = re.compile("|".join(rf"\{left}({MARKER})\{right}" for left, right in BRACKETS), re.IGNORECASE)
_BRACKET_OPEN = re.compile(rf"[{re.escape(_LEFT)}]{MARKER_BEGUN}", re.IGNORECASE)
_TARGET = re.compile(r"\((?=[^\s()]{0,500}[/#:.])[^\s()]{0,500}\)")
_TARGET_OPEN = re.compile(r"(?:\([^\s()]{0,500})?\Z")
_INDEXED = re.compile(r"(?:(?<!\w)[a-z]|_\w{0,40}|[A-Za-z0-9_]\([^()\s]{1,40})(?:\[[0-9]{1,6}\])*\Z")
_AS_INDEX = re.compile(
    r"((?:\[[0-9]{1,6}\])*)(?: ?(?:[-+*/%|&^]|//|\*\*|<<|>>)?=(?!>)|\.[a-z_]|\((?![^\s()]*[/#:.])|\+\+|--)"
)
"""What makes a bracket after any word an index, after further ones."""
_AS_INDEX_OPEN = re.compile(r"(?:\[[0-9]{1,6}\])*(?:\[[0-9]{0,6}| ?[-+*/%|&^<>=.]{0,3})\Z")
_INTERVAL = re.compile(r" ?[0-9.]{1,6} ?(?:[,;，；]|[-–—]) ?[0-9.]{1,6} ?")
_UNITS = (
    "[kmµ]?g|[kmµc]m|m[²³]?|[mcd]?l|h|s|ms|min|[kMG]?[WVJ]|[kMG]?Hz|[kMGT]B|[kh]?Pa|bar|mmHg|m?mol|km/h|[°º][CF]?|%|‰|€|\\$"
    "|£|euros?|EUR|USD|seconds?|minutes?|hours?|days?|weeks?|months?|years?|Minuten|Stunden|Tagen?|Wochen|Monaten?|Jahren?"
    "|[mM]et(?:er|re)s?|mètres?|metros?|[lL]it(?:er|re)s?|[kK]ilo(?:gram(?:m|s)?)?|[gG]ram(?:m|s)?|degrees?|Grad|percent|Euro"
    "|minuten|uur|dagen|weken|maanden|jaar|heures|jours|semaines|mois|ans|horas|días|semanas|meses|años"
)
_UNIT = re.compile(rf" ?(?:(?:{_UNITS})(?!\w)|公斤|千克|毫克|毫升|小时|[克升天年日]|時間)")
_BEFORE_LIST = re.compile("[=∈] ?$")
UNIT_CHARS = 12
"""Characters after an interval that have its unit."""
_NAMES = ("think", "thinking", "thought", "reasoning", "seed:think")
THINKING_TAGS = tuple(
    f"{left}{slash}{name}{right}" for left, right in ("<>", "[]", "◁▷") for slash in ("/", "") for name in _NAMES
)
"""The tags around a model's thoughts, in small letters."""
_TAG_CHARS = max(map(len, THINKING_TAGS))
_BACKTICKS = re.compile(r"`{1,100}")
_FENCE_LENGTH = 3
"""Backticks that begin code of several lines."""
_SPECIAL = re.compile(rf"[`<◁{re.escape(_LEFT)}]")


class Mark(NamedTuple):
    """A marker in an answer."""

    span: Span
    """Start and end in the answer as it was given."""
    labels: tuple[str, ...]
    """The labels of the marker that the context has."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """An answer with its citations.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"Ask the {name}.")) for name in ("nurse", "surgeon")])
    >>> resolved = context.resolve("Ask the surgeon [2], or anybody [9].")
    >>> resolved.text, [citation.document_id for citation in resolved.citations], resolved.unknown
    ('Ask the surgeon [1], or anybody [9].', ['surgeon'], ('9',))
    >>> [citation.document_id for citation in resolved.unused]
    ['nurse']
    """

    text: str
    """The answer, its markers kept, renumbered or removed."""
    citations: tuple[Citation, ...]
    """The citations used, in order of first use. With mode="renumber", label n in `text` is the n-th of them."""
    unknown: tuple[str, ...]
    """Labels in the answer that the context doesn't have."""
    unused: tuple[Citation, ...]
    """The citations that the answer doesn't use, in the order of the context."""
    is_unlabeled: bool
    """True if the context shows labels and the answer, which is not empty, has no marker."""
    marks: tuple[Mark, ...]
    """The markers of the answer, in order."""


class AnswerReader:
    """A reader of an answer that arrives in pieces of any size.

    `feed` returns the text that no later piece can change. After `close`, `resolved` has the citations.

    >>> reader = AnswerReader([], mode="remove")
    >>> [reader.feed(piece) for piece in ("Drink wa", "ter [", "1", "].")], reader.close()
    (['Drink wa', 'ter', '', '.'], '')
    >>> reader.resolved.unknown
    ('1',)
    """

    def __init__(
        self,
        citations: Sequence[Citation],
        *,
        has_labels: bool = True,
        mode: Mode = "renumber",
        texts: Callable[[], Iterable[str]] = tuple,
        earlier: Sequence[Citation] = (),
    ) -> None:
        """Create the reader.

        `texts` gives the wording of the passages: a marker that is quoted from one of them cites nothing. Labels that
        `citations` don't have are looked up in the `earlier` ones.
        """
        if mode not in get_args(Mode):
            raise ConfigError("mode", "one of " + ", ".join(map(repr, get_args(Mode))), mode)
        self._citations: Mapping[str, Citation] = {one.label: one for one in (*earlier, *citations)}
        self._own = dict.fromkeys(citation.label for citation in citations)
        self._has_labels = has_labels
        self._mode = mode
        self._quotations = SourceQuotes(texts)
        self._spoken = SpokenText()
        # `_text` is the part of the answer in memory: `LOOKBACK` characters that were read, then, from `_position` on,
        # those to be read. It begins at offset `_base` of the answer.
        self._text, self._position, self._base = "", 0, 0
        self._fence = ""
        """What ends the code or the thought that is being read."""
        self._is_closed, self._is_blank = False, True
        self._used: dict[str, str] = {}
        self._unknown: dict[str, None] = {}
        self.marks: list[Mark] = []
        """The markers so far, in order."""
        self.code: list[Span] = []
        """Spans of code, in the answer as it was given."""
        self._pending: list[str] = []
        self._emitted: list[str] = []

    def feed(self, piece: str) -> str:
        """Return the text that is settled after this piece; mostly the piece itself.

        Raises:
            InputError: the piece is no string, or the answer was closed.
        """
        check_answer(piece)
        if self._is_closed:
            raise InputError("the answer was closed, and takes no further piece")
        dropped = max(0, self._position - LOOKBACK)
        self._text = self._text[dropped:] + piece
        self._position, self._base = self._position - dropped, self._base + dropped
        self._is_blank = self._is_blank and not piece.strip()
        return self._read()

    def close(self) -> str:
        """End the answer, and return the rest of its text; empty if it is closed again."""
        self._is_closed = True
        return self._read()

    def read(self, answer: str) -> Resolved:
        """Read a whole answer, and return its citations.

        >>> AnswerReader([]).read("Drink water [1].").unknown
        ('1',)
        """
        self.feed(answer)
        self.close()
        return self.resolved

    def stream(self, pieces: Iterable[str]) -> Generator[str, None, Resolved]:
        """Yield the settled text after each piece, unless it is empty; return the resolved answer."""
        for piece in pieces:
            if settled := self.feed(piece):
                yield settled
        if settled := self.close():
            yield settled
        return self.resolved

    @property
    def resolved(self) -> Resolved:
        """The citations so far; complete after `close`."""
        return Resolved(
            text="".join(self._emitted),
            citations=tuple(self._citations[label] for label in self._used),
            unknown=tuple(self._unknown),
            unused=tuple(self._citations[label] for label in self._own if label not in self._used),
            is_unlabeled=self._has_labels and bool(self._citations) and not self.marks and not self._is_blank,
            marks=tuple(self.marks),
        )

    def _read(self) -> str:
        while self._position < len(self._text):
            at = self._position
            if self._fence:
                end = self._read_code(at)
            elif self._text[at] == "`":
                end = self._read_backticks(at)
            else:
                end = self._read_tag(at)
            if end is None:
                break
            self._position = end
        if self._is_closed:
            self._pending += self._spoken.close()
        settled = "".join(self._pending)
        self._pending.clear()
        if settled:
            self._emitted.append(settled)
        return settled

    def _read_tag(self, at: int) -> int | None:
        """Read a tag around thoughts; whatever else is here is a bracket or plain text."""
        text = self._text
        begun = text[at : at + _TAG_CHARS].lower()
        if not self._is_closed and any(begun != tag and tag.startswith(begun) for tag in THINKING_TAGS):
            return None
        tag = next((tag for tag in THINKING_TAGS if begun.startswith(tag)), "")
        if not tag:
            return self._read_bracket(at) if text[at] in _LEFT else self._read_plain(at)
        if "/" in tag:
            self._used.clear()
            self._unknown.clear()
            self.marks.clear()
            self.code[:] = [(0, self._base + at)]
        else:
            self._fence = f"{text[at]}/{text[at + 1 : at + len(tag)]}"
        return self._emit_code(at + len(tag))

    def _read_plain(self, at: int) -> int:
        """Read text up to the next character that may begin a marker or code."""
        special = _SPECIAL.search(self._text, at + 1)
        return self._emit(special.start() if special else len(self._text))

    def _read_backticks(self, at: int) -> int | None:
        """Read inline code, which is closed by as many backticks in the same line, or what begins longer code."""
        text = self._text
        if text[at - 1 : at] == "\\":
            return self._emit(at + 1)
        begin = next(_BACKTICKS.finditer(text, at)).end()
        if begin == len(text) and not self._is_closed:
            return None
        newline = text.rfind("\n", 0, at)
        begins_line = (newline >= 0 or not self._base) and not text[newline + 1 : at].strip()
        if begin - at >= _FENCE_LENGTH and begins_line:
            self._fence = text[at:begin]
            return self._emit_code(begin)
        stop = min(len(text), begin + CODE_CHARS)
        newline = text.find("\n", begin, stop)
        is_decided = newline >= 0 or stop == begin + CODE_CHARS or self._is_closed
        stop = newline if newline >= 0 else stop
        closing = re.compile(rf"(?<!`)`{{{begin - at}}}(?!`)").search(text, begin, stop)
        if not is_decided and (not closing or closing.end() == stop):
            return None
        return self._emit_code(closing.end()) if closing else self._emit(begin)

    def _read_code(self, at: int) -> int | None:
        """Read what has come of code of several lines, or of a thought."""
        text = self._text
        closing = text.find(self._fence, at)
        if closing >= 0:
            end = closing + len(self._fence)
            self._fence = ""
            return self._emit_code(end)
        # The last characters may be the first of its end.
        begun = next((size for size in range(len(self._fence) - 1, 0, -1) if text.endswith(self._fence[:size])), 0)
        end = len(text) if self._is_closed else max(len(text) - begun, at)
        return self._emit_code(end) if end > at else None

    def _read_bracket(self, at: int) -> int | None:
        """Read a bracket: a marker with the link target after it, or plain text."""
        text = self._text
        if _BRACKET_OPEN.match(text, at) and not self._is_closed:
            return None
        found = _BRACKETED.match(text, at)
        if not found:
            return self._read_plain(at)
        end = found.end()
        if _TARGET_OPEN.match(text, end) and not self._is_closed:
            return None
        inner = found[found.lastindex or 0]
        labels = labels_in(inner)
        before = text[max(0, at - CHARS_BEFORE) : at]
        if not labels or before.endswith("\\") or _INDEXED.search(before):
            return self._emit(end)
        text_end = self._text_end(at, end, inner, is_known=any(label in self._citations for label in labels))
        if text_end != at:
            return text_end and self._emit(text_end)
        known = tuple(label for label in labels if label in self._citations)
        for label in known:
            self._used.setdefault(label, str(len(self._used) + 1))
        self._unknown |= dict.fromkeys(label for label in labels if label not in known)
        self.marks.append(Mark((self._base + at, self._base + end), known))
        target = _TARGET.match(text, end)
        whole_end = target.end() if target else end
        if self._mode == "remove":
            self._spoken.skip_marker()
        elif self._mode == "keep":  # copied: a marker written again may differ in its blanks
            self._pending.append(text[at:whole_end])
        else:
            renumbered = relabel(inner, lambda label: self._used.get(label, label))
            self._pending.append(text[at] + renumbered + text[end - 1 : whole_end])
        return whole_end

    def _text_end(self, at: int, end: int, inner: str, *, is_known: bool) -> int | None:
        """Return where text ends that only looks like a marker; `at` if it is one, None if more must come first."""
        text = self._text
        if text[at] == "[" and text[max(at - 1, 0)].isalnum():
            if not is_known:
                return end
            if _AS_INDEX_OPEN.match(text, end) and not self._is_closed:
                return None
            if index := _AS_INDEX.match(text, end):
                return index.end(1)
        if _INTERVAL.fullmatch(inner) and self._awaits(end, UNIT_CHARS):
            return None
        if _INTERVAL.fullmatch(inner) and (_UNIT.match(text, end) or _BEFORE_LIST.search(text, max(at - 2, 0), at)):
            return end
        is_quoted = self._is_quoted(at, end)
        return None if is_quoted is None else end if is_quoted else at

    def _is_quoted(self, at: int, end: int) -> bool | None:
        """Return True if the marker is quoted or copied from a source; None if more of the answer decides."""
        text, quotations = self._text, self._quotations
        if not quotations.is_in_sources(text[at:end]):
            return False
        if quotations.is_copied(text, (at, end), 2):
            if not _MARKER.search(text, end) and self._awaits(end, COPIED_CHARS):
                return None
            after = _BREAK.split(text[end : end + COPIED_CHARS])[0]
            if any(map(str.isalnum, after)):
                is_copied = quotations.is_copied(text, (at, end), 2, after)
            else:  # alone at the end of a sentence, it may be the model's own
                is_copied = bool(_MARKER.match(text, end + len(after))) and quotations.is_copied(text, (at, end), 3)
            following = _CITED.match(text, end) if is_copied else None
            if is_copied and following is None and self._awaits(end, LOOKAHEAD):
                return None
            if following and following[1]:
                return True
        if not quotations.can_be_quoted(text, self._base, at):
            return False
        return None if self._awaits(at, LOOKAHEAD) else quotations.is_quoted(text, self._base, (at, end))

    def _awaits(self, at: int, characters: int) -> bool:
        """Return True if so many characters from `at` on, or the rest of the line, have yet to come."""
        return not self._is_closed and len(self._text) < at + characters and self._text.find("\n", at) < 0

    def _emit(self, end: int) -> int:
        said = self._text[self._position : end]
        self._pending += self._spoken.feed(said) if self._mode == "remove" else [said]
        return end

    def _emit_code(self, end: int) -> int:
        self.code.append((self._base + self._position, self._base + end))
        return self._emit(end)


def check_answer(answer: object) -> None:
    """Check an answer, or a piece of one.

    Raises:
        InputError: it is no string.
    """
    if not isinstance(answer, str):
        raise InputError(f"an answer must be text, got {safe_repr(answer, 80)}")
