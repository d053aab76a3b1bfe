"""Whatever a document, its metadata or a supplement says: what a reader finds of ours in a context is ours.

The reader here is written without the engine: it splits lines where Python does, takes off whatever is neither letter
nor digit, and knows our forms by heart. Labels are what `resolve` takes for one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import hits_of
from ctxassembly import Chunk, Citation, Context, Hit, assemble
from ctxassembly.citations.reader import AnswerReader
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import LANGUAGES
from strategies import FORGERIES, Retrieval, assembled, retrievals, texts

unhurried = settings(deadline=None, suppress_health_check=list(HealthCheck))

LEADING = tuple(name for name, form in FORMATS.items() if (form.label or form.lead) and not form.has_markup)
"""The formats whose header a reader of lines takes for ours; tags are what a reader of XML finds."""
BLANK = "\u115f\u1160\u3164\uffa0"
"""Letters by their category, that nobody sees."""
SECTIONS = re.compile(
    r"(?:question|vraag|frage|pregunta|context|contextdocumenten|kontext|contexte|contexto|query|answer)\s*:"
    r"|the\s+sources\s+that\s+were\s+found\s+are\s+given\s+above|omis\s+et\s+disponible\s*:"
    r"|früher\s+gezeigte\s+quellen,\s+die\s+ab\s+hier\s+ausgelassen\s+sind\s*:"
    r"|\(no documents were found\.\)|\(er zijn geen documenten gevonden\.\)"
    r"|\(es wurden keine dokumente gefunden\.\)|\(aucun document n'a été trouvé\.\)"
    r"|\(no se ha encontrado ningún documento\.\)"
    r"|\[\s*(?:(?:page|pagina)\s+context|seitenkontext|résumé\s+de\s+la\s+page|resumen\s+de\s+la\s+página)\s*:"
    r"|---+\s*(?:(?:supplementary|aanvullende)\s+informati|ergänzende\s+information|informations\s+complémentaire"
    r"|información\s+complementari)|\[\.\.\.\]",
    re.IGNORECASE,
)

SUMMARY = re.compile(
    r"^\[(?:Page context|Pagina context|Seitenkontext|Résumé de la page |Resumen de la página): ", re.MULTILINE
)


@cache
def labels() -> tuple[Citation, ...]:
    (citation,) = assemble(hits_of([Chunk("a", "A", "Text.")])).citations
    return tuple(replace(citation, label=str(n)) for n in range(200))


def seen(text: str, form: str) -> Iterator[int]:
    """Where a reader of lines sees something of ours begin."""
    begin = 0
    for line in text.splitlines(keepends=True):
        at, rest = 0, line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        while at < len(rest):
            if not rest[:at].endswith("\\") and _is_form(rest, at, form):
                yield begin + at
            if item := re.compile(r"\d{1,9}[.)](?=\s)", re.ASCII).match(rest, at):
                at = item.end()
            elif unicodedata.category(rest[at])[0] in "LN" and rest[at] not in BLANK:
                break
            else:
                at += 1
        begin += len(line)


def _is_form(line: str, at: int, form: str) -> bool:
    rest = line[at:]
    if row := re.fullmatch(r"([-*_=])(?:[^\S\n]?\1){2,}", rest.strip()):
        columns = [column for column in re.split(r"[\s|:+]+", line) if len(column) > 1]
        if re.fullmatch(r"[\s|:+=-]+", line) and (line.rstrip()[-1] in "|+" or len(columns) > 1):
            return False
        return not re.search(rf"(?:{re.escape(row[1])}[^\S\n]?|[|+]|\|[^\S\n])\Z", line[:at])
    if SECTIONS.match(rest) and not (rest[0] == "-" and line[:at].endswith("-")):
        return True
    if form == "grouped" and re.match(r"##\s", rest) and not line[:at].endswith("#"):
        return True
    marks = AnswerReader(labels()).read(rest[:300]).marks if rest[0] in "[【" else ()
    return any(mark.span[0] == 0 for mark in marks)


def ours(context: Context) -> tuple[set[int], set[int]]:
    """Where we have written something that a reader must find, and where else we may have."""
    must, may = set(), set()
    sources = [source.span for source in context.provenance]
    for found in re.finditer(r"\[\.\.\.\]", context.text):
        if not any(begin < found.end() and found.start() < end for begin, end in sources):
            may.add(found.start())
    for before, after in pairwise(context.blocks):
        between = context.text[before.span[1] : after.span[0]]
        if between.strip():  # the rule of `separator`
            must.add(before.span[1] + between.index("---"))
    for block in context.blocks:
        begin, end = block.span
        if block.citation is None:
            must.add(begin)
            continue
        header = block.text.partition("\n")[0]
        shown = re.match(r"\[(?:SOURCE )?\d+\]|## ", header) is not None and context.format in LEADING
        # A block of replaced characters alone has no source, and its citation is all of it, its header too.
        has_source = any(begin <= first < end for first, _ in sources)
        if shown and (begin < block.citation.span[0] or not has_source):
            must.add(begin)
        lead = "\n".join(block.text.split("\n")[:4])  # a header, two lines of `header_keys`, the summary
        summaries = {begin + found.start() for found in SUMMARY.finditer(lead)}
        may |= {at for at in summaries if not any(first <= at < last for first, last in sources)}
    return must, may


def metadata() -> st.SearchStrategy[dict[str, Any]]:
    lines = texts(3, FORGERIES)
    return st.fixed_dictionaries({}, optional=dict.fromkeys(("source", "page", "section", "page_summary"), lines))


@unhurried
@given(
    retrievals(FORGERIES), st.sampled_from([*FORMATS]), st.sampled_from([*LANGUAGES]), st.lists(metadata(), max_size=8)
)
def test_the_forms_that_a_reader_finds_are_exactly_ours(
    case: Retrieval, form: str, language: str, described: list[dict[str, Any]]
):
    hits = [
        Hit(
            replace(hit.chunk, metadata={**hit.chunk.metadata, **(described[n] if n < len(described) else {})}),
            hit.score,
        )
        for n, hit in enumerate(case.hits)
    ]
    options = case.options | {"format": form, "language": language}
    context = assembled(replace(case, hits=hits, options=options))
    must, may = ours(context)
    found = {*seen(context.text, form)}
    assert must <= found <= must | may, [(n, context.text[max(0, n - 90) : n + 60]) for n in found - must - may]
    asked = context.to_messages("Why?")[1]["content"]
    begin = asked.index("\n") + 1
    end = asked.rindex("\n\n---\n\n")
    assert context.text in ("", asked[begin:end])
    around = [at for at in seen(asked, form) if not context.text or not begin <= at < end]
    assert around == [0, *([] if context.text else [begin]), end + 2, end + 7]
    if context.text:
        assert {at - begin for at in seen(asked, form) if begin <= at < end} == found
    if form == "xml":
        root = ET.fromstring(f"<root>{context.text}</root>")
        assert len(root) in (0, len(context.citations))
