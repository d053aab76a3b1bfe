"""The contexts of a comparison side by side: on a page, and on a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore
from ctxassembly.comparison import Comparison, compare, side_by_side
from ctxassembly.comparison.align import ContextSentence, decisions_by_chunk, explain_absence
from pages import Element, documents, read
from stopwatch import grows_less, takes_less

HOSTILE = "<script>alert(1)</script> </table></div> \u202e"


def compared(**options) -> Comparison:
    chunks = documents()
    hits = [Hit(chunks[1], 0.9), Hit(chunks[9], 0.8)]
    configs = [AssemblyConfig(), AssemblyConfig(window=0), AssemblyConfig(max_tokens=100)]
    return compare(hits, configs, store=MemoryStore(chunks), **options)


def columns(comparison: Comparison) -> list[list[Element]]:
    """The cells of each context, from top to bottom."""
    (table,) = read(comparison.to_html()).all("table", "cxa-both")
    rows = [[cell for cell in row.children if cell.name == "td"] for row in table.all("tr")]
    return list(map(list, zip(*filter(None, rows), strict=True)))


def said(cell: Element) -> str:
    return "".join(each.text for each in cell.all(class_="cxa-says"))


def test_each_column_is_the_text_of_its_context():
    comparison = compared()
    for row, cells in zip(comparison.rows, columns(comparison), strict=True):
        shown = " ".join(map(said, cells))
        assert shown.split() == " ".join(passage.text for passage in row.context.passages).split()


def test_what_all_have_stands_in_one_line_and_what_one_lacks_is_marked():
    hits = hits_of([Chunk("a", "A", "Drink water.\n"), Chunk("b", "B", "Eat nothing.\n")])
    rows = compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], names=["roomy", "tight"])
    roomy, tight = columns(rows)
    assert [each.classes for each in roomy] == [["cxa-same"], ["cxa-only"]]
    assert [each.classes for each in tight] == [["cxa-same"], ["cxa-none"]]
    assert tight[1].text == "tightnot here: budget"


def test_the_evidence_is_marked_in_each_text_and_has_a_row():
    hits = hits_of([Chunk("a", "A", "Drink water. Then rest.\n"), Chunk("b", "B", "Eat nothing at all.\n")])
    configs = [AssemblyConfig(), AssemblyConfig(max_tokens=14)]
    comparison = compare(hits, configs, names=["roomy", "tight"], evidence=["water. Then", "Nothing AT all", "Sleep."])
    marks = [["".join(each.text for each in cell.all("mark")) for cell in cells] for cells in columns(comparison)]
    assert marks == [["water. Then", "nothing at all"], ["water. Then", ""]]
    shown = [[" ".join(cell.split()) for cell in row] for row in read(comparison.to_html()).rows("What became of each")]
    assert [row[0] for row in shown] == ["1 water. Then", "2 Nothing AT all", "3 Sleep."]
    assert [row[1] for row in shown][:2] == ["readhit 1", "readhit 2"]
    assert shown[1][2].startswith("lostretrieved as hit 2, dropped: budget")
    assert [row.evidence for row in comparison.rows] == [2 / 3, 1 / 3]


def test_evidence_is_marked_inside_what_only_one_has():
    long = Chunk("a", "A", "Water and clear tea and black coffee may be taken until two hours before the operation.")
    configs = [AssemblyConfig(), AssemblyConfig(max_tokens=15, overflow="truncate", granularity="chunk")]
    (cell,), (beside,) = columns(compare([Hit(long)], configs, evidence=["hours before the operation", "clear tea"]))
    assert "".join(each.text for each in cell.all("mark") if each.attributes["title"] == "evidence 1") == (
        "hours before the operation"
    )
    assert said(cell) == long.text
    assert "cxa-only" in cell.classes
    assert "clear tea" in [each.text for each in beside.all("mark")]


def test_code_has_a_typeface_of_one_width():
    code = Chunk("a", "A", "def area(r):\n    square = r * r\n    return 3.14159 * square")
    comparison = compare([Hit(code)], [AssemblyConfig(), AssemblyConfig(window=0)])
    assert all(each.all(class_="cxa-mono") for cells in columns(comparison) for each in cells)
    assert read(comparison.slider().to_html()).all(class_="cxa-mono")


def test_a_context_that_differs_in_nothing_has_no_mark():
    tree = read(compare(hits_of([words_of("A", 0)]), [AssemblyConfig(), AssemblyConfig(window=0)]).to_html())
    (table,) = tree.all("table", "cxa-both")
    assert table.all(class_="cxa-only") == []
    assert table.all(class_="cxa-none") == []


def test_text_that_was_moved_is_not_called_missing():
    chunks = [Chunk(f"a#{n}", "A", f"Sentence {n} stands alone here.", index=3 * n) for n in range(3)]
    hits = [Hit(chunk, 1 - place / 10) for place, chunk in enumerate((chunks[2], chunks[0], chunks[1]))]
    configs = [AssemblyConfig(cite="chunk", order=order) for order in ("relevance", "document_order")]
    cells = [cell for column in columns(compare(hits, configs)) for cell in column if "cxa-none" in cell.classes]
    assert cells
    assert all("elsewhere in this document" in cell.text for cell in cells)


def test_the_reasons_are_those_of_the_context_that_lacks_it():
    hits = hits_of([Chunk("a", "A", "Water. " * 40), Chunk("b", "B", "Tea. " * 60)])
    (row,) = compare(hits, [AssemblyConfig(max_tokens=120, granularity="chunk")]).rows
    decisions = decisions_by_chunk(row.context)
    tea, unknown = ContextSentence("Tea.", "Tea.", "b"), ContextSentence("Tea.", "Tea.", "c")
    assert explain_absence([tea], frozenset(), decisions) == "not here: budget"
    assert explain_absence([unknown], frozenset(), decisions) == "not here: not fetched"
    assert explain_absence([tea], frozenset({"Tea."}), decisions) == "elsewhere in this document"


def test_one_context_alone_has_nothing_beside_it():
    tree = read(compare(hits_of([words_of("A", 0)]), [AssemblyConfig()]).to_html())
    assert tree.all("table", "cxa-both") == []


def test_texts_and_names_can_do_nothing():
    chunk = Chunk(HOSTILE, HOSTILE, HOSTILE, metadata={"source": HOSTILE})
    comparison = compare([Hit(chunk)], [AssemblyConfig(), AssemblyConfig(min_chunk_tokens=900)], names=[HOSTILE, "x"])
    assert read(comparison.to_html()).all("script") == []
    assert "\u202e" not in comparison.to_html()
    assert "\u202e" not in printed(comparison)


def test_a_page_stays_below_a_megabyte_and_counts_the_rest(monkeypatch):
    chunks = [Chunk(f"d{n}", f"d{n}", f"<{n}> " * 4_000) for n in range(20)]
    comparison = compare(hits_of(chunks), [AssemblyConfig(max_tokens=90_000), AssemblyConfig(max_tokens=200_000)])
    html = comparison.to_html()
    assert len(html.encode()) < 1_000_000
    (more,) = read(html).all(class_="cxa-more")
    assert more.text.endswith("more characters")
    monkeypatch.setattr(side_by_side, "SIDE_BY_SIDE_BYTES", 100_000_000)
    assert read(comparison.to_html()).all(class_="cxa-more") == []


def printed(comparison: Comparison, width: int = 200) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(comparison)
    return console.file.getvalue()


def test_full_contexts_are_compared_in_time_that_grows_with_their_text():
    def prepared(size: int):
        chunks = [Chunk(f"d{n}", f"d{n % 10}", numbered_sentences(n), index=2 * n) for n in range(20 * size)]
        configs = [AssemblyConfig(max_tokens=8_000 * size), AssemblyConfig(max_tokens=5_000 * size)]
        comparison = compare(hits_of(chunks), configs)
        assert comparison.rows[0].tokens > 6_000 * size
        return comparison._repr_html_

    assert takes_less(prepared(1), 0.5)
    assert grows_less(prepared, 1, 4, 10)


def numbered_sentences(chunk: int) -> str:
    return " ".join(f"Sentence {n} of chunk {chunk} says this." for n in range(40))
