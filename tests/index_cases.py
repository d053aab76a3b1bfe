"""What every index must do: `MemoryIndex` over the same chunks has the expected answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import pytest

from ctxassembly import Chunk, ChunkRef, ConfigError, InputError, MemoryIndex, RetrievalConfig, explain
from ctxassembly.data.chunks import ChunkOrigin, OffsetRange
from ctxassembly.data.enrichment import ChunkNotes, DocumentNotes, WriteNotes
from ctxassembly.retrieval import FindTerms, QueryVocabulary, ScoredChunk, SearchChunks
from ctxassembly.testing import store_cases

ROWS: Mapping[str, Mapping[str, Any]] = {
    "a": {"tenant": "ours", "year": 2020, "ok": True, "tags": ["x", "y"], "at": {"page": 3}},
    "b": {"tenant": "theirs", "year": 2021, "ok": False, "tags": ["y"], "at": {"page": "3"}},
    "c": {"tenant": "O'Brien", "year": 1, "ok": 1, "at.page": 3},
    "d": {"tenant": "Éa", "year": "2020", "score": 1.5},
    "e": {},
    "f": {"tenant": None, "year": 2020.0, "tags": "x"},
}
"""Ids, and their metadata."""
EVERYONE = "abcdef"

FILTER_CASES: Sequence[tuple[Any, str]] = (
    (None, EVERYONE),
    ({}, EVERYONE),
    ({"tenant": "ours"}, "a"),
    ({"tenant": {"$eq": "O'Brien"}}, "c"),
    ({"tenant": "x' OR '1'='1"}, ""),
    ({"tenant": {"$ne": "ours"}}, "bcd"),  # a row without the key passes none
    ({"tenant": {"$in": ["ours", "Éa"]}}, "ad"),
    ({"tenant": {"$in": []}}, ""),
    ({"tenant": {"$nin": ["ours", "Éa"]}}, "bc"),
    ({"tenant": {"$nin": []}}, "abcd"),
    ({"tenant": {"$exists": True}}, "abcd"),
    ({"tenant": {"$exists": False}}, "ef"),
    ({"unknown": {"$exists": False}}, EVERYONE),
    ({"unknown": "x"}, ""),
    ({"unknown": {"$ne": "x"}}, ""),
    ({"year": 2020}, "af"),  # 2020.0 is 2020, "2020" isn't
    ({"year": "2020"}, "d"),
    ({"year": {"$gt": 2020}}, "b"),
    ({"year": {"$gte": 2020}}, "abf"),
    ({"year": {"$lt": 2020}}, "c"),
    ({"year": {"$lte": 2020}}, "acf"),
    ({"year": {"$gt": 2019, "$lt": 2021}}, "af"),
    ({"year": {"$gt": "1"}}, "d"),  # text with text alone
    ({"tenant": {"$gt": "ours"}}, "bd"),  # by code points
    ({"score": {"$gte": 1.5}}, "d"),
    ({"year": {"$in": [1, 2021]}}, "bc"),
    ({"ok": True}, "a"),  # True is not 1
    ({"ok": 1}, "c"),
    ({"ok": {"$in": [True, 1]}}, "ac"),
    ({"ok": False}, "b"),
    ({"tags": {"$eq": ["x", "y"]}}, "a"),
    ({"tags": "x"}, "f"),
    ({"tags": "y"}, ""),  # a list isn't its element
    ({"tags": {"$in": ["x", "y"]}}, "f"),
    ({"at.page": 3}, "ac"),
    ({"at.page": {"$exists": True}}, "abc"),
    ({"tenant": "ours", "year": 2020}, "a"),
    ({"tenant": "ours", "year": 2021}, ""),
    ({"$and": [{"tenant": "ours"}, {"year": 2020}]}, "a"),
    ({"$or": [{"tenant": "ours"}, {"year": 1}]}, "ac"),
    ({"$or": [{"$and": [{"tenant": "ours"}, {"year": 2021}]}, {"$and": [{"year": 1}, {"ok": 1}]}]}, "c"),
    ({"$and": [{"$or": [{"tenant": "ours"}, {"tenant": "theirs"}]}, {"year": {"$gt": 2020}}]}, "b"),
    ({"$not": {"tenant": "ours"}}, "bcd"),  # here neither
    ({"$not": {"$or": [{"tenant": "ours"}, {"unknown": "x"}]}}, ""),
    ({"$not": {"$not": {"tenant": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$nin": ["ours"]}}}, "a"),
    ({"$not": {"tenant": {"$in": []}}}, "abcd"),
    ({"$not": {"tenant": {"$in": ["ours"]}}}, "bcd"),
    ({"$not": {"tenant": {"$ne": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$like": "o%"}}}, "bcd"),
    ({"$not": {"tenant": {"$gt": "ours"}}}, "ac"),
    ({"$not": {"year": {"$between": [2020, 2021]}}}, "cd"),
    ({"$not": {"at.page": 3}}, "b"),
    ({"$not": {"tenant": {"$exists": True}}}, "ef"),
    ({"$not": [{"tenant": "ours"}, {"year": 1}]}, "bd"),
    ({"year": {"$between": [2020, 2021]}}, "abf"),
    ({"tenant": {"$like": "o%"}}, "a"),
    ({"tenant": {"$ilike": "o%"}}, "ac"),
    ({"tenant": {"$like": "%"}, "year": {"$like": "%"}}, "d"),
    ({"chunk_index": {"$lt": 2}}, "ab"),  # columns are read as well
    ({"document_id": "doc"}, EVERYONE),
    ({"document_id": {"$in": ["doc", "x"]}, "tenant": "ours"}, "a"),
    ({"chunk_index": {"$in": [2, 3]}}, "cd"),
    ({"chunk_index": {"$nin": [2, 3]}}, "abef"),
    ({"chunk_index": True}, ""),
)
"""Filters, and the ids of the rows that pass each."""

UNREADABLE: Sequence[Any] = (
    {"$and": []},
    {"$or": [{}]},
    {"$nor": [{"tenant": "ours"}]},
    {7: "x"},
    {"tenant": {"$regex": "x"}},
    {"tenant": None},
)
"""Filters that no index can read: each is an error, since without it all chunks would be found."""

MakeIndex = Callable[[Sequence[Chunk], "Sequence[Sequence[float]] | None"], Any]
"""A function from chunks, and a vector for each, to a new index of exactly these."""
DIMENSIONS = 8
"""The length of all vectors."""
_TEXTS: Mapping[str, str] = {
    "epilepsie": "Kinderepilepsie behandelt de kinderneuroloog. Epilepsie is een aandoening. Bel 088-1234567.",
    "hart": "Hartfalen behandelt de cardioloog. Een ECG (hartfilmpje) doet geen pijn. De cardioloog, de cardioloog!",
    "visit": "Park in the garage, or on P3. The route is well-known; see www.hospital.org/route.",
    "规定": "本院按照ISO27001认证. 饭后半小时吃药,每天三次. 东京的水",
    "lab": "Ferritin is measured in the morning, fasting. Één uur niets eten. Ferritin < 30 is low.",
}
_QUERIES = (
    "Wie behandelt epilepsie bij kinderen?", "cardioloog", "ferirtin fasting", "P3 or garage", "well-known route",
    "什么时候吃药?", "ISO27001的要求", "ＩＳＯ２７００１", "één uur", "088-1234567", "zzzz", "", "de de de",
    "a & b | !c", "o'brien \\ %", "wat is lab", "hospital",
)  # fmt: skip


def _vectors(count: int) -> list[list[float]]:
    return [[math.sin(place * 3 + step * 7 + 1) for step in range(DIMENSIONS)] for place in range(count)]


SAMPLE = tuple(
    Chunk(
        f"{name}#{at}",
        name,
        f"{sentence.removesuffix('.')}.",
        at,
        text.index(sentence),
        metadata={
            "title": name.title(),
            "level": at,
            **({} if at else {"questions": [f"Wat is {name}?", 'Who "does"?']}),
        },
    )
    for name, text in _TEXTS.items()
    for at, sentence in enumerate(text.split(". "))
)
"""Chunks of five documents in three languages."""
_SAMPLE_VECTORS = _vectors(len(SAMPLE))


class IndexCase(NamedTuple):
    """One rule of an index."""

    name: str
    check: Callable[[], None]
    """A function that raises AssertionError, naming the request and both answers, if the index breaks the rule."""


def index_cases(make_index: MakeIndex) -> Iterator[IndexCase]:
    """Yield cases for the indexes that `make_index` makes of chunks and of a vector for each.

    Scores may differ by a ten thousandth.
    """
    make_sample = cache(lambda: make_index(SAMPLE, _SAMPLE_VECTORS))
    expected = MemoryIndex(SAMPLE, _SAMPLE_VECTORS)
    for query in _QUERIES:
        yield IndexCase(f"words of {query!r}", partial(_check_words, make_sample, expected, query))
    for query in _QUERIES:
        yield IndexCase(f"search for {query!r}", partial(_check_searches, make_sample, expected, query))
    rows = [
        Chunk(id_, "doc", f"Ferritin is measured, as {id_} says.", at, metadata=row)
        for at, (id_, row) in enumerate(ROWS.items())
    ]
    make_rows = cache(lambda: make_index(rows, _vectors(len(rows))))
    for condition, ids in FILTER_CASES:
        yield IndexCase(f"filter {condition}", partial(_check_filter, make_rows, condition, set(ids)))
    for condition in UNREADABLE:
        yield IndexCase(f"unreadable filter {condition}", partial(_check_refused, make_rows, condition))
    yield IndexCase("two filters", partial(_check_two_filters, make_rows))
    yield IndexCase("tenants", partial(_check_tenants, make_index))
    yield IndexCase("near words under a filter", partial(_check_near_words, make_index))
    yield IndexCase("empty index", partial(_check_empty, make_index))
    for query, expect in _EXPECTED:
        yield IndexCase(f"explanation of {expect!r}", partial(_check_explained, make_sample, expected, query, expect))
    yield IndexCase("neighbors", partial(_check_neighbors, make_sample))
    yield IndexCase("neighbors by offset", partial(_check_fetched, make_index, _PLACED, _OFFSETS))
    yield IndexCase("documents by their titles", partial(_check_fetched, make_index, _TITLED, _MENTIONS))
    yield IndexCase("origin of a chunk", partial(_check_origin, make_index))
    yield IndexCase("notes of a model", partial(_check_notes, make_index))
    if hasattr(make_sample(), "add"):
        yield IndexCase("added chunks", partial(_check_added, make_index))
        yield IndexCase("changed and deleted chunks", partial(_check_changed, make_index))
        yield IndexCase("resumed run", partial(_check_resumed, make_index))


def _check_words(make: Callable[[], Any], expected: MemoryIndex, query: str) -> None:
    for max_terms, max_variants in ((32, 4), (3, 4), (32, 0)):
        request = FindTerms(query, max_terms, max_variants)
        found, wanted = make().find_terms(request), expected.find_terms(request)
        _check_equal(request, found.chunk_count, wanted.chunk_count)
        _check_equal(request, sorted(found.terms), sorted(wanted.terms))


def _check_searches(make: Callable[[], Any], expected: MemoryIndex, query: str) -> None:
    words = expected.find_terms(FindTerms(query, 32, 4))
    vector = _SAMPLE_VECTORS[len(query) % len(SAMPLE)]
    for limit in (2, 50):
        for request in _requests(limit, vector, words):
            _check_same(request, make().search(request), expected.search(request))


def _requests(limit: int, vector: Sequence[float], words: QueryVocabulary, condition: Any = None) -> list[SearchChunks]:
    """Return the requests by words, by vectors and by both."""
    return [
        SearchChunks(limit, None, words, condition),
        SearchChunks(limit, vector, None, condition),
        SearchChunks(limit, vector, words, condition),
    ]


def _check_same(request: Any, found: Iterable[ScoredChunk], wanted: Iterable[ScoredChunk]) -> None:
    """Compare chunks with scores and words, whatever their order."""
    by_id, wanted_by_id = ({one.chunk.id: one for one in answer} for answer in (found, wanted))
    _check_equal(request, sorted(by_id), sorted(wanted_by_id))
    for id_, one in by_id.items():
        other = wanted_by_id[id_]
        _check_equal(request, (one.chunk, sorted(one.terms)), (other.chunk, sorted(other.terms)))
        for score, wanted_score in ((one.similarity, other.similarity), (one.keyword_score, other.keyword_score)):
            is_equal = (
                score is wanted_score
                if score is None or wanted_score is None
                else math.isclose(score, wanted_score, rel_tol=1e-4, abs_tol=1e-5)
            )
            if not is_equal:
                raise AssertionError(f"{request}: {id_} must have {other}, has {one}")


def _check_equal(request: Any, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f"{request} must give {wanted}, gave {found}")


def _check_filter(make: Callable[[], Any], condition: Any, ids: set[str]) -> None:
    index = make()
    words, vector = index.find_terms(FindTerms("ferritin measured", 32, 4)), _vectors(1)[0]
    filtered = index.with_filter(condition)
    for request in _requests(10, vector, words, condition):
        _check_equal(request, {one.chunk.id for one in index.search(request)}, ids)
        unfiltered = replace(request, filter=None)
        _check_equal((condition, unfiltered), {one.chunk.id for one in filtered.search(unfiltered)}, ids)
    for refs in ([ChunkRef("doc")], [ChunkRef("doc", at) for at in range(len(ROWS))]):
        _check_equal((condition, refs), {chunk.id for chunk in filtered.fetch(refs)}, ids)


def _check_refused(make: Callable[[], Any], condition: Any) -> None:
    request = SearchChunks(10, _vectors(1)[0], None, condition)
    for ask in (lambda: make().search(request), lambda: make().with_filter(condition)):
        with pytest.raises(ConfigError):
            ask()


def _check_origin(make_index: MakeIndex) -> None:
    origin = ChunkOrigin((("page", 7), ("title", "Ü")), 5, "lab/7")
    hidden: dict[str, Any] = {
        "hidden_from_model": frozenset({"owner"}),
        "hidden_from_header": frozenset({"owner", "file"}),
    }
    given = Chunk("lab#7", "lab", "Ferritin.", start=2, origin=origin, metadata={"page": 7}, **hidden)
    found = make_index([given], _vectors(1)).fetch([ChunkRef("lab")])
    _check_equal("a chunk with an origin", found, [given])
    _check_equal("hidden keys", [getattr(found[0], name) for name in hidden], list(hidden.values()))


def _check_two_filters(make: Callable[[], Any]) -> None:
    index = make().with_filter({"year": {"$gte": 2020}})
    for request in _requests(10, _vectors(1)[0], index.find_terms(FindTerms("ferritin", 9, 0)), {"ok": True}):
        _check_equal(request, [one.chunk.id for one in index.search(request)], ["a"])
    twice = index.with_filter({"tenant": "theirs"})
    _check_equal("two filters", [chunk.id for chunk in twice.fetch([ChunkRef("doc")])], ["b"])
    found = [make().with_filter(None).holds_filter, index.holds_filter]
    _check_equal("holds_filter without and with a filter", found, [False, True])


def _check_tenants(make_index: MakeIndex) -> None:
    """Of 60 chunks the two of our tenant are the worst in both channels."""
    chunks = [
        Chunk(f"{tenant}#{at}", tenant, "Iron. " * times, at, metadata={"tenant": tenant} if tenant != "open" else {})
        for tenant, times, count in (("theirs", 3, 40), ("open", 2, 18), ("ours", 1, 2))
        for at in range(count)
    ]
    angles = {"theirs": 0.1, "open": 0.5, "ours": 1.0}
    vectors = [[math.cos(angles[one.document_id]), math.sin(angles[one.document_id]), *[0.0] * 6] for one in chunks]
    index, vector = make_index(chunks, vectors), [1.0, *[0.0] * 7]
    words = index.find_terms(FindTerms("iron", 9, 0))
    for condition in (
        {"tenant": "ours"},
        {"$not": {"tenant": "theirs"}},
        {"tenant": {"$ne": "theirs"}},
        {"tenant": {"$like": "%rs"}, "document_id": {"$nin": ["theirs"]}},
    ):
        for request in _requests(3, vector, words, condition):
            _check_equal(request, sorted(one.chunk.id for one in index.search(request)), ["ours#0", "ours#1"])


def _check_near_words(make_index: MakeIndex) -> None:
    """Words near a misspelt one come from chunks that pass the filter."""
    texts = {
        "acme": ("Ferritin and kinderepilepsie.", "Ferritine o'brien\\\\x."),
        "globex": ("Ferritinlayoff, kinderepilepsiecentrum.", "Ferritin o'briennn."),
    }
    chunks = [
        Chunk(f"{tenant}#{at}", tenant, text, at, metadata={"tenant": tenant, "level": at})
        for tenant, some in texts.items()
        for at, text in enumerate(some)
    ]
    index, expected = make_index(chunks, _vectors(len(chunks))), MemoryIndex(chunks, _vectors(len(chunks)))
    conditions: Sequence[Any] = (
        *({"tenant": tenant} for tenant in (*texts, "nobody")),
        {"tenant": "acme", "level": 1},
        {"$not": {"tenant": "acme"}},
        {"tenant": {"$ne": "globex"}},
        {},
    )
    for query in ("ferirtin", "epilepsie", "o'brienn", "layoff"):
        _check_equal(query, *(one.find_terms(FindTerms(query, 9, 4)) for one in (index, expected)))
        for condition in conditions:
            request = FindTerms(query, 9, 4, condition)
            _check_equal(request, *(one.find_terms(request) for one in (index, expected)))
            of_tenant = FindTerms(query, 9, 4, {"tenant": "acme"})
            narrowed = [one.with_filter(condition).find_terms(of_tenant) for one in (index, expected)]
            _check_equal((condition, of_tenant), *narrowed)
    near = expected.find_terms(FindTerms("layoff", 9, 4, {"tenant": "acme"}))
    _check_equal("words of another tenant", [term.variants for term in near.terms], [()])


def _check_empty(make_index: MakeIndex) -> None:
    index = make_index([], [])
    words = index.find_terms(FindTerms("ferritin", 9, 4))
    _check_equal("find_terms of an empty index", (words.chunk_count, [*words.terms]), (0, [("ferritin", 0, ())]))
    for request in _requests(3, _vectors(1)[0], words):
        _check_equal(request, [*index.search(request)], [])


_EXPECTED = (
    ("cardioloog", "hart#2"),  # found
    ("cardioloog", "hartfilmpje"),  # beyond the limit
    ("cardioloog", "Rest is low."),  # in no chunk
    ("cardioloog", "lab#0"),  # excluded by the filter
)


def _check_explained(make: Callable[[], Any], expected: MemoryIndex, query: str, expect: str) -> None:
    config, vector = RetrievalConfig(limit=1), _vectors(5)[4]
    for strategy in ("hybrid", "keyword"):
        found, wanted = (
            explain(
                query,
                expect,
                replace(config, strategy=strategy),
                index=index,
                embed=lambda _: vector,
                filter={"document_id": {"$ne": "lab"}},
            )
            for index in (make(), expected)
        )
        _check_equal((query, expect), found, wanted)


_PLACED = tuple(
    Chunk(f"{name}-{start}", name, f"Part {start} of {name}.", start=start)
    for name, starts in (("one", (0, 15, 30, 45, 60)), ("two", (0, 9)))
    for start in starts
)
_OFFSETS = (
    ChunkRef("one", around_offset=OffsetRange(30, 1)),
    ChunkRef("one", around_offset=OffsetRange(60, 1)),
    ChunkRef("two", around_offset=OffsetRange(0, 1)),
    ChunkRef("none", around_offset=OffsetRange(0, 1)),
)
_TITLED = tuple(
    Chunk(f"{name}#{at}", name, text, at, metadata=metadata)
    for name, texts, metadata in (
        ("iron", ("# Iron deficiency\n\nTired.", "# Ferritin levels\n\nLow."), {}),
        ("anemia", ("Pale.", "Iron deficiency causes it."), {"title": "Anemia of chronic disease in the old (part 2)"}),
        ("file", ("Blood.", "More blood."), {"source": "reports/blood_counts.pdf"}),
        ("other", ("Rest.",), {"title": "Anemia of chronic disease in the young"}),
    )
    for at, text in enumerate(texts)
)
_MENTIONS = (
    ChunkRef("none", named_in="Iron deficiency, or anemia of chronic disease in the old?"),
    ChunkRef("iron", named_in="Iron deficiency and Ferritin levels"),
    ChunkRef("none", named_in="see Blood counts"),
    ChunkRef("none", named_in=""),
)


def _check_fetched(make_index: MakeIndex, chunks: Sequence[Chunk], refs: Sequence[ChunkRef]) -> None:
    vectors = _vectors(len(chunks))
    index, expected = make_index(chunks[::-1], vectors), MemoryIndex(chunks)
    for condition in (None, {"document_id": {"$in": ["one", "iron"]}}, {"document_id": {"$ne": "iron"}}):
        for some in ([], *([ref] for ref in refs), [*refs, ChunkRef("iron", 1), ChunkRef("two", chunk_id="two-9")]):
            found, wanted = (
                sorted({chunk.id for chunk in one.with_filter(condition).fetch(some)}) for one in (index, expected)
            )
            _check_equal((condition, some), found, wanted)


def _check_notes(make_index: MakeIndex) -> None:
    """A model's notes are found and shown as in memory; filters don't read them, and a changed chunk loses them."""
    index, expected = make_index(SAMPLE, _SAMPLE_VECTORS), MemoryIndex(SAMPLE, _SAMPLE_VECTORS)
    for one in (index, expected):
        for at, outline in enumerate(one.enrichment.outlines(("level",))[:2]):
            texts = tuple(chunk.text for chunk in one.enrichment.read(outline).chunks)
            notes = tuple(
                ChunkNotes((f"Is fever {place} measured?",), f"On migraine {at}.") for place in range(len(texts))
            )
            document = DocumentNotes(f"About {outline.document_id}.", notes, {"category": "policy"})
            request = WriteNotes(outline, texts, document, _vectors(9)[-len(texts) :], "first model")
            if not one.enrichment.write(request):
                raise AssertionError(f"{request} must be written")
            unvectored = replace(request, vectors=None, fingerprint="second model")
            _check_equal("notes without vectors", one.enrichment.write(replace(unvectored, notes=None)), True)
        # Vectors alone, for a document without notes.
        outline = one.enrichment.outlines(("level",))[2]
        texts = tuple(chunk.text for chunk in one.enrichment.read(outline).chunks)
        bare = WriteNotes(outline, texts, None, _vectors(9)[: len(texts)], "third model")
        _check_equal("vectors without notes", one.enrichment.write(bare), True)
        one.enrichment.commit(3)
    _check_enriched(index, expected)
    stale = WriteNotes(index.enrichment.outlines(("level",))[0], ("another text",), None, None, "stale")
    _check_equal("notes on other texts", index.enrichment.write(stale), False)
    _check_enriched(index, expected)
    if hasattr(index, "add"):
        index.add(SAMPLE, _SAMPLE_VECTORS, progress=False)
        _check_enriched(index, expected)
        name = SAMPLE[0].document_id
        index.add([replace(SAMPLE[0], text="Zink.")], _SAMPLE_VECTORS[:1], replace=True, progress=False)
        marks = {one.document_id: one.fingerprints for one in index.enrichment.outlines(("level",))}
        _check_equal("marks of a changed document", marks[name], {""})
        words = index.find_terms(FindTerms("fever", 9, 0))
        kept = sum(
            len(one.keys) for one in index.enrichment.outlines(("level",)) if one.fingerprints == {"second model"}
        )
        _check_equal("chunks with a word of notes", [term.chunk_count for term in words.terms], [kept])


def _check_enriched(index: Any, expected: MemoryIndex) -> None:
    _check_all(index, expected, ("fever 1", "migraine measured", "epilepsie", "policy"))
    found, wanted = (
        [(one.document_id, one.content_hash, one.fingerprints) for one in of.enrichment.outlines(("level",))]
        for of in (index, expected)
    )
    _check_equal("outlines", found, wanted)
    for one, other in zip(index.enrichment.outlines(("level",)), expected.enrichment.outlines(("level",)), strict=True):
        read, wanted_document = index.enrichment.read(one), expected.enrichment.read(other)
        for name in ("contexts", "title", "questions"):
            _check_equal((one, name), getattr(read, name), getattr(wanted_document, name))
    words = index.find_terms(FindTerms("fever", 9, 0))
    _check_equal(
        "a filter by a model's label", [*index.search(SearchChunks(9, None, words, {"category": "policy"}))], []
    )


def _check_neighbors(make: Callable[[], Any]) -> None:
    for case in store_cases(SAMPLE):
        case.check(make().fetch(case.refs))


def _check_added(make_index: MakeIndex) -> None:
    """Chunks added to an index are found as if they had been there, and adding them twice changes nothing."""
    index = make_index(SAMPLE[:6], _SAMPLE_VECTORS[:6])
    for _ in range(2):
        index.add(SAMPLE[6:], _SAMPLE_VECTORS[6:], progress=False)
        _check_all(index, MemoryIndex(SAMPLE, _SAMPLE_VECTORS))


def _check_changed(make_index: MakeIndex) -> None:
    """A chunk with another text replaces the old one.

    Chunks that a document no longer has are deleted with `replace=True`; else they are an error, and are kept.
    """
    index = make_index(SAMPLE, _SAMPLE_VECTORS)
    changed = replace(SAMPLE[0], text="Zeldzame migraine.")
    with pytest.raises(InputError, match="stored chunks that weren't given"):
        index.add([changed], _SAMPLE_VECTORS[:1], progress=False)
    _check_all(index, MemoryIndex(SAMPLE, _SAMPLE_VECTORS))
    index.add([changed], _SAMPLE_VECTORS[:1], replace=True, progress=False)
    kept = [chunk for chunk in SAMPLE if chunk.document_id != changed.document_id]
    vectors = {chunk.id: vector for chunk, vector in zip(SAMPLE, _SAMPLE_VECTORS, strict=True)}
    _check_all(index, MemoryIndex([changed, *kept], vectors))
    _check_equal("migraine", [term.chunk_count for term in index.find_terms(FindTerms("migraine", 9, 0)).terms], [1])


def _check_all(index: Any, expected: MemoryIndex, queries: Sequence[str] = ("epilepsie", *_QUERIES)) -> None:
    for query in queries:
        words = FindTerms(query, 32, 0)
        _check_equal(words, sorted(index.find_terms(words).terms), sorted(expected.find_terms(words).terms))
        for request in _requests(50, _vectors(3)[2], expected.find_terms(words)):
            _check_same(request, index.search(request), expected.search(request))


def _check_resumed(make_index: MakeIndex) -> None:
    """After a run that failed, the next one stores what is missing, without embedding what is there."""
    chunks = [Chunk(f"d{at}", f"document {at // 2}", f"Leaflet number {at}.", at % 2) for at in range(1_200)]
    vectors = dict(zip((chunk.text for chunk in chunks), _vectors(len(chunks)), strict=True))
    index = make_index([], [])
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        if embedded and len(embedded) < len(chunks) and not is_second_run:
            raise ConnectionError("the model doesn't answer")
        embedded.extend(texts)
        return [vectors[text] for text in texts]

    is_second_run = False
    try:
        index.add(chunks, embed=embed, progress=False)
    except ConnectionError:
        is_second_run = True
    if not is_second_run or not embedded:
        raise AssertionError(f"1,200 chunks must be added in batches, were embedded {len(embedded)} at once")
    index.add(chunks, embed=embed, progress=False)
    _check_equal("texts embedded by both runs", sorted(embedded), sorted(vectors))
    words = index.find_terms(FindTerms("leaflet 1117", 9, 0))
    _check_equal("find_terms", sorted(words.terms), [("1117", 1, ()), ("leaflet", 1_200, ())])
    (found,) = index.search(SearchChunks(1, None, words, None))
    _check_equal("leaflet 1117", found.chunk.id, "d1117")
