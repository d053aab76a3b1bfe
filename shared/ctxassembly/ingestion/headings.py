"""The headings above each line of a document: Markdown, underlined ones, and "Article 17. Title"."""

from __future__ import annotations

import re

_ATX = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#:.])\1{2,}\s*$")
_NUMBERED = re.compile(
    r"((?i:Part|Title|Chapter|Section|Article|Art\.|Step|Teil|Kapitel|Abschnitt|Artikel|Titre|Chapitre|Artículo|Capítulo"
    r"|Hoofdstuk|§))\s*[\dIVXLC]+[a-z]?\b[.:)]?\s*(?:.{0,120}[^.,;:])?$"
)
_TAGGED = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_WORD = re.compile(r"\w")
_MARKDOWN = re.compile(r"\.(?:md|mdx|markdown|qmd|rmd|ipynb)$", re.IGNORECASE)
_COMMENTED = re.compile(
    r"\.(?:pyi?|sh|bash|zsh|ya?ml|toml|ini|cfg|conf|env|properties|rb?|pl|ps1|jl|exs?|nix|tf|mk|cmake|awk|cron)$"
    r"|(?:^|/)(?:Makefile|Dockerfile|crontab)$",
    re.IGNORECASE,
)
"""The names of files in which "#" begins a comment."""
_NUMBERED_RANKS = {
    **dict.fromkeys(("part", "teil", "title", "titre"), 7),
    **dict.fromkeys(("chapter", "kapitel", "chapitre", "capítulo", "hoofdstuk"), 8),
    **dict.fromkeys(("section", "abschnitt"), 9),
}
"""Below the six ranks of Markdown; all others are below these."""
_STOPS = ".!?\u3002\uff01\uff1f\u061f\u0964"
LOWEST = 99
MAX_TITLE = 120
"""Characters of an underlined heading."""


class HeadingReader:
    """Reads a document line by line, and knows the headings that the next line is under.

    A line with "#" is a heading in a file of Markdown. In any other one it may be a comment: it is a heading if a blank
    line is below it, and never in code.
    """

    def __init__(self, name: str = "") -> None:
        self._is_markdown, self._has_comments = bool(_MARKDOWN.search(name)), bool(_COMMENTED.search(name))
        self._path: list[tuple[int, str]] = []
        self._before_comment: list[tuple[int, str]] | None = None
        """The path before the last line, if that may be a comment."""
        self._marks: list[str] = []
        """The signs that headings are underlined with, highest first, as in reStructuredText."""

    def read(self, line: str, before: str, earlier: str) -> None:
        """Read a `line`, with the one `before` it and the one `earlier` than that."""
        bare = line.strip()
        if bare and self._before_comment is not None:
            self._path = self._before_comment
        self._before_comment = None
        # Indented text is an example or a quotation, and a line inside a paragraph is no title.
        is_title = not earlier.strip() if before[:1].strip() else _UNDERLINE.match(earlier)
        if atx := self._heading(bare):
            other = _ATX.match(before.strip())
            self._before_comment = None if self._is_markdown else self._path
            if other is None or other[1] != atx[1]:
                self._enter(len(atx[1]), atx[2])
            elif self._path[-1:] == [(len(atx[1]), other[2])]:  # two in a row are comments in code
                self._path.pop()
        elif tagged := _TAGGED.search(bare):
            self._enter(int(tagged[1]), _TAG.sub("", tagged[2]).strip())
        elif is_title and self._is_underline(line, before.strip()):
            if line[0] not in self._marks:
                self._marks.append(line[0])
            self._enter(self._marks.index(line[0]) + 1, before.strip())
        elif (rank := _numbered_rank(bare)) is not None and _is_ended(before):
            self._enter(rank, bare)

    def above(self, first: str, second: str) -> list[str]:
        """Return the headings above a text that begins with these two lines; its own heading isn't among them."""
        rank = LOWEST
        if atx := self._heading(first):
            rank = len(atx[1])
        elif tagged := _TAGGED.match(first):
            rank = int(tagged[1])
        elif (numbered := _numbered_rank(first)) is not None:
            rank = numbered
        elif second[:1] in self._marks and self._is_underline(second.strip(), first.strip()):
            rank = self._marks.index(second[0]) + 1
        return [title for level, title in self._path if level < rank]

    def _heading(self, line: str) -> re.Match[str] | None:
        return None if self._has_comments else _ATX.match(line)

    def _is_underline(self, line: str, title: str) -> bool:
        is_title = _WORD.search(title) and "|" not in title and title[-1] not in _STOPS
        is_title = is_title and len(title) <= min(MAX_TITLE, len(line) + 3)
        return bool(is_title and _UNDERLINE.match(line))

    def _enter(self, rank: int, title: str) -> None:
        self._path = [*(each for each in self._path if each[0] < rank), (rank, title)]


def _is_ended(line: str) -> bool:
    """Return True unless a sentence in `line` goes on in the next one, as in "see also / Section 3 of the contract"."""
    bare = line.strip()
    return not bare or not (bare[-1].isalnum() or bare[-1] == ",") or _numbered_rank(bare) is not None


def _numbered_rank(line: str) -> int | None:
    """Return the rank of a heading like "Article 17. Title"; None if the line is another one, or a sentence."""
    numbered = None if line[:1].islower() else _NUMBERED.match(line)
    return _NUMBERED_RANKS.get(numbered[1].lower(), 10) if numbered else None
