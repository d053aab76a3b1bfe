"""Text that no model reads: `data:` addresses and long runs of base64. They are cut out of the joined text.

An image leaves its alt text. What is around a cut stays verbatim: `Text` says where the cuts are, so that each
character still leads back to its chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from ctxassembly.assembly.join import Text, place_of
from ctxassembly.assembly.pool import Pool
from ctxassembly.data.chunks import Span
from ctxassembly.safe_repr import safe_repr

MIN_RUN = 200
"""Characters of the shortest base64 that nothing announces: a hash, a key or a long word is shorter."""
_BASE64 = "[A-Za-z0-9+/]"
_LINES = (
    rf"(?:\r?\n[ \t]*{_BASE64}{{60,}})*"
    rf"(?:\r?\n[ \t]*(?:{_BASE64}+(?==)|(?=[a-z]*[0-9+/]){_BASE64}{{8,}}(?=[\s\"')>]|$))|)={{0,2}}"
)
"""Further lines of base64. The last one may be short, if it ends as base64 does, or has a digit."""
_LONG_RUN = re.compile(rf"[^A-Za-z0-9+/]{_BASE64}{{60}}")
"""What all base64 has, and hardly any other text: to see that there is none takes little time."""
_PAYLOAD = r"[^\s\"'<>()\[\]\\]"
_DATA = (
    rf"(?:(?<!\w)data:(?:[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*?"
    rf"(?:;base64,{_PAYLOAD}*{_LINES}|,{_PAYLOAD}{{32,}}|[^,\s]{{0,60}},<svg\b(?:(?!data:)[^\n]){{0,20000}}?</svg>))"
)
_TITLE = r"(?: +(?:\"[^\"\n]*\"|'[^'\n]*'))?"
_UNREAD = re.compile(
    rf"!?\[(?P<alt>[^\[\]]{{0,500}})\]\(\s*<?{_DATA}>?{_TITLE}(?:\s*\))?"  # Markdown
    rf"|^ {{0,3}}\[[^\]\n]{{1,99}}\]: *<?{_DATA}>?{_TITLE}"  # its references
    rf"|(?P<tag><img\b(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)"
    rf"|{_DATA}|(?P<run>(?<!{_BASE64}){_BASE64}{{60,}}{_LINES})",
    re.MULTILINE | re.IGNORECASE,
)
_ADDRESS = re.compile(_DATA, re.IGNORECASE)
_ALT = re.compile(r"\salt\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)
_KINDS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))


def without_unread(text: Text, pool: Pool) -> tuple[Text, Pool, list[str]]:
    """Return `text` without what no model reads, the pool without chunks of nothing else, and a note; if there is any.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = "Bring it. ![the scan](data:image/png;base64,iVBORw0KGgo=) Drink water."
    >>> print(assemble([Hit(Chunk("a", "a", said, metadata={"source": "a.md"}))]))
    [1] Source: a.md
    Bring it. the scan Drink water.
    """
    spans = [*_unread_spans(text.text)] if "data:" in text.text or _LONG_RUN.search(text.text) else []
    if not spans:
        return text, pool, []
    gone = [0, *accumulate(end - start for start, end in spans)]
    cuts = [start - before for (start, _), before in zip(spans, gone, strict=False)]
    kept = zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text.text)], strict=True)
    whole = "".join(text.text[start:end] for start, end in kept)
    cut = text._replace(text=whole, cuts=cuts, gone=gone, origins=text.begins)
    begins, owns, ends = ([place_of(cut, at) for at in places] for places in (text.begins, text.owns, text.ends))
    breaks, opens = ([_next_text(whole, place_of(cut, at)) for at in places] for places in (text.breaks, text.opens))
    read = [number for number, (start, end) in enumerate(zip(begins, ends, strict=True)) if whole[start:end].strip()]
    firsts = {bisect_right(pool.documents, number) - 1: at for at, number in reversed([*enumerate(read)])}
    rows = (begins, text.headers, owns, ends, text.begins)
    begins, headers, owns, ends, origins = ([row[number] for number in read] for row in rows)
    breaks, opens = sorted({at for at in breaks if at < len(whole)}), [opens[document] for document in sorted(firsts)]
    cut = Text(whole, begins, headers, owns, ends, breaks, opens, cuts, gone, origins)
    unread = [one for number, one in enumerate(pool.candidates) if number not in {*read}]
    first = pool.candidates[max(bisect_right(text.owns, spans[0][0]) - 1, 0)].chunk.id
    note = f"data: {gone[-1]:,} characters of data: addresses and base64 are left out (first: {safe_repr(first, 40)})"
    return cut, Pool([pool.candidates[number] for number in read], sorted(firsts.values()), unread, pool.copies), [note]


def _next_text(text: str, at: int) -> int:
    """Return where the next text begins, from `at` on."""
    return len(text) - len(text[at:].lstrip())


def _unread_spans(text: str) -> Iterator[Span]:
    """Yield the spans to cut, in order."""
    for found in _UNREAD.finditer(text):
        start, end = alt = found.span()
        if (run := found["run"]) is not None and not (len(run) >= MIN_RUN and all(one.search(run) for one in _KINDS)):
            continue
        if found["tag"] is not None and not _ADDRESS.search(found["tag"]):
            continue
        if found["alt"] is not None:
            alt = found.span("alt")
        elif found["tag"] is not None and (said := _ALT.search(text, start, end)):
            alt = said.span(said.lastindex or 0)
        yield from ((start, alt[0]), (alt[1], end)) if alt != (start, end) else ((start, end),)
