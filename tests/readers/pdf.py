"""A real PDF, as a printer makes one: text in lines, a page's label beside its number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from pypdf import PdfWriter

PAGES, WORDS, LINE = 32, 240, 8
GAP = "[...]"
_WORD = re.compile(r"p(\d+)w(\d+)")


def write_pdf(path: Path, pages: int = PAGES, front_matter: int = 0) -> Path:
    """A PDF of words that tell their place, its first pages numbered i, ii, iii and the others from 1."""
    printed = path.with_suffix(".printed")
    with PdfPages(printed) as document:
        for page in range(pages):
            figure = Figure(figsize=(8.27, 11.69))
            figure.text(0.05, 0.97, _text(page), va="top", fontsize=7)
            document.savefig(figure)
    writer = PdfWriter()
    writer.append(printed)
    if front_matter:
        writer.set_page_label(0, front_matter - 1, style="/r")
        writer.set_page_label(front_matter, pages - 1, style="/D")
    writer.write(path)
    printed.unlink()
    return path


def _text(page: int) -> str:
    words = [f"p{page}w{at}{'.' if at % 12 == 11 else ''}" for at in range(WORDS)]
    return "\n".join(" ".join(words[at : at + LINE]) for at in range(0, WORDS, LINE))


def places(text: str) -> list[tuple[int, int]]:
    """Page, from 0, and number of each word."""
    return [(int(page), int(word)) for page, word in _WORD.findall(text)]


def breaks(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the text goes on without a marker, and shouldn't: the words before and after."""
    return [
        (before, after)
        for passage in text.split(GAP)
        for before, after in pairwise(places(passage))
        if after != (before[0], before[1] + 1) and (before[1], after) != (WORDS - 1, (before[0] + 1, 0))
    ]


def crosses(text: str, page: int) -> bool:
    """Whether the text goes on from `page` to the one after it."""
    ends = ((page, WORDS - 1), (page + 1, 0))
    return any(pair == ends for passage in text.split(GAP) for pair in pairwise(places(passage)))


def pages_of(texts: Iterable[str]) -> set[int]:
    return {page for text in texts for page, _ in places(text)}
