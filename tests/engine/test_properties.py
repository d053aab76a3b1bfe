"""What holds for every retrieval and every configuration, beside what `fuzz.invariants` checks."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import count, split
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.supplement import MAX_TOKENS
from strategies import Retrieval, assembled, effective, framed, retrievals, texts

unhurried = settings(max_examples=30, suppress_health_check=list(HealthCheck))

HEADER = {
    "numbered": r"\[\d+\](?: (?:Source: |Uit )[^\n]*)?\n",
    "source": r"\[SOURCE \d+\](?: [^\n]*)?\n",
    "xml": r"<chunk(?: (?:index|source|page|score)=(?:\"[^\"<>]*\"|'[^'<>]*'))*>\n",
    "grouped": r"## [^\n]*\n",
    "minimal": "",
    framed: r"=== \d+: [^\n]* ===\n",
}
SUMMARY = r"\[(?:Page|Pagina) context: [^\n]*\]\n"
KEYS = r"(?:(?:source|page): [^\n]*\n)*"
"""The lines of `header_keys`, as the strategies draw them."""
BETWEEN = r"(?:\\|\ufffd|&amp;|&lt;|&gt;|[\n ]\[\.\.\.\][\n ]|[\n ])*"
CUT = r"(?:[\n ]\[\.\.\.\])?"
END = {"xml": CUT + r"\n</chunk>", framed: CUT + r"\n---"}


STANDING = ("kept", "cut", "compressed")


@unhurried
@given(retrievals())
def test_every_character_of_a_passage_has_its_source_unless_it_is_neutralized(case: Retrieval):
    context = assembled(case)
    no_xml = "&<>\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
    replaced = re.compile(rf"[\ud800-\udfff{no_xml if case.options['format'] == 'xml' else ''}]")
    for passage in context.passages:
        start, end = passage.span
        written = [
            (source.chunk_id, at)
            for source in context.provenance
            if start <= source.span[0] and source.span[1] <= end
            for at in range(*source.chunk_span)
        ]
        if not written:
            continue
        expected = [(p.candidate.chunk.id, at) for p in passage.pieces for at in range(p.start, p.end)]
        text = {p.candidate.chunk.id: p.candidate.chunk.text for p in passage.pieces}
        left = iter(expected)
        missing: list[str] = []
        for place in written:
            for each in left:
                if each == place:
                    break
                missing.append(text[each[0]][each[1]])
            else:
                raise AssertionError(f"{place} is written twice or out of order")
        missing += [text[chunk_id][at] for chunk_id, at in left]
        assert not replaced.sub("", "".join(missing)).strip()


@unhurried
@given(retrievals())
def test_text_outside_the_provenance_is_our_own_markup_alone(case: Retrieval):
    context = assembled(case)
    form = case.options["format"]
    lead = f"(?:{HEADER[form]})?{KEYS if case.options['header_keys'] else ''}(?:{SUMMARY})?"
    allowed = re.compile(f"{lead}{BETWEEN}{END.get(form, CUT)}|{BETWEEN}{CUT}")
    spans = {source.span for source in context.provenance}
    for block in context.blocks:
        if block.citation is None:
            continue
        begin, end = block.span
        rest = list(context.text[begin:end])
        for start, stop in spans:
            if begin <= start < end:
                rest[start - begin : stop - begin] = [""] * (stop - start)
        assert allowed.fullmatch("".join(rest))


FORGED = re.compile(
    r"(?:\A|(?<=[\n\r\v\f\x85\u2028\u2029]))[ \t]*"
    r"(\[(?:\d+\]|\.\.\.\]|Page context:|Pagina context:|SOURCE \d+\])|--- (?:SUPPLEMENTARY INF|AANVULLENDE INF)ORMATI)"
)


@unhurried
@given(retrievals())
def test_no_line_of_a_document_passes_for_ours(case: Retrieval):
    context = assembled(case)
    forged = [found.start(1) for found in FORGED.finditer(context.text)]
    if case.options["format"] == "grouped":
        forged += [found.start(1) for found in re.finditer(r"^[ \t]*(## )", context.text, re.MULTILINE)]
    for source in context.provenance:
        assert not any(source.span[0] <= at < source.span[1] for at in forged)
        if case.options["format"] == "xml":
            assert not {*"<>&"} & {*context.text[slice(*source.span)]}


@unhurried
@given(retrievals())
def test_a_supplement_is_one_block_of_its_own_at_its_end_within_its_cap(case: Retrieval):
    context = assembled(case)
    own = [block for block in context.blocks if block.citation is None]
    given = case.supplement is not None and bool(case.supplement.text.strip())
    assert len(own) <= given
    assert sum(note.startswith("supplement: ") for note in context.trace.notes) == given
    for block in own:
        assert block is context.blocks[-1]
        assert context.supplement == block.text
        assert count(block.text, case.options["encoding"]) <= MAX_TOKENS
        assert [found.start(1) for found in FORGED.finditer(block.text)] == [0]
        start, end = block.span
        assert not any(start < source.span[1] and source.span[0] < end for source in context.provenance)
    without = assembled(replace(case, supplement=None))
    if not own:
        assert context.text == without.text
    elif without.trace.decisions:
        best = [each for each in (without.trace, context.trace) if each.decisions[0].outcome == "kept"]
        assert context.trace in best or without.trace not in best


@unhurried
@given(retrievals())
def test_while_everything_fits_nothing_gives_way_and_nothing_is_compressed(case: Retrieval):
    roomy = effective(case.options | {"max_tokens": 10**6, "max_characters": None, "fill": True, "cite": "document"})
    calm = {"compress": "none"}
    context = assembled(replace(case, options=roomy))
    # Sentences and chunks may begin with other white space.
    assert context.text.split() == assembled(replace(case, options=roomy | calm)).text.split()
    assert context.trace.shortened == ()
    assert context.trace.excluded == ()


@unhurried
@given(retrievals())
def test_the_order_in_which_a_store_answers_changes_nothing(case: Retrieval):
    turned = assembled(replace(case, stored=case.stored[::-1]))
    # Without places a store's order is all there is to go by; with two chunks in one place, too.
    places = [(c.document_id, c.index) for c in case.stored]
    if all(type(c.index) is int and c.index >= 0 and c.id for c in case.stored) and len(set(places)) == len(places):
        assert turned.text == assembled(case).text


@unhurried
@given(st.lists(texts(), min_size=1, max_size=3), st.integers(5, 80), st.data())
def test_a_document_retrieved_whole_stands_once_and_in_order(whole: list[str], size: int, data: st.DataObject):
    documents = {f"D{n}": text for n, text in enumerate(whole)}
    overlap = data.draw(st.integers(0, size - 1))
    size = max(size, max(map(len, whole)) // 12 + overlap)
    chunks = [
        chunk
        for document_id, text in documents.items()
        for chunk in split(document_id, text, size=size, overlap=overlap)
        if chunk.text.strip()
    ]
    hits = [Hit(chunk) for chunk in data.draw(st.permutations(chunks))]
    config = AssemblyConfig(max_tokens=10**6, dedup="none")
    context = assemble(hits, config)
    for passage in context.passages:
        text = documents[passage.document_id]
        first, last = passage.pieces[0], passage.pieces[-1]
        start = first.candidate.chunk.start + first.start
        end = last.candidate.chunk.start + last.end
        assert passage.text == text[start:end]
    for document_id, text in documents.items():
        told = [p.text for p in context.passages if p.document_id == document_id]
        assert "".join("".join(told).split()) == "".join(text.split())
    for source in context.provenance:
        assert context.text[slice(*source.span)] == documents[source.document_id][source.start : source.end]


@unhurried
@given(retrievals(), st.integers(1, 200))
def test_an_item_is_dropped_only_if_it_does_not_fit_beside_everything_ranked_above_it(case: Retrieval, limit: int):
    """The fill once more, each try an assembly of its own in an unlimited budget."""
    options = case.options | {"enabled": True, "granularity": "chunk", "dedup": "none", "cite": "document"}
    options = effective(options | {"compress": "none", "max_characters": None, "rank_by": "rank"})
    hits = [Hit(_placed_alone(chunk)) for chunk in {hit.chunk.id: hit.chunk for hit in case.hits}.values()]
    context = assemble(hits, AssemblyConfig(**options | {"max_tokens": limit}))
    free = AssemblyConfig(**options | {"max_tokens": 10**6})
    decided = {each.rank: each for each in context.trace.decisions}
    kept: list[Hit] = []
    for rank, hit in enumerate(hits):
        if decided[rank].reason == "empty":
            continue
        if assemble([*kept, hit], free).token_count <= limit:
            if decided[rank].outcome == "dropped" and assemble(kept, free).token_count == limit:
                continue  # at the limit nothing more is tried, not even a copy that adds no text
            kept.append(hit)
            assert decided[rank].outcome in ("kept", "contained")
        elif decided[rank].is_in_context or decided[rank].outcome == "contained":
            # The best one is cut to what fits. Any other fits with what comes after it: a chunk that fills a gap may
            # cost less than the gap's marker.
            return
    if kept:
        assert context.text == assemble(kept, free).text


def _placed_alone(chunk: Chunk) -> Chunk:
    """The chunk with nothing by which another chunk, dropped or not, changes its place or its block."""
    described = {key: value for key, value in chunk.metadata.items() if key != "page_summary"}
    # Offsets that contradict those of another chunk are ignored for the whole document.
    return replace(chunk, prev_id=None, next_id=None, start=None, metadata=described)
