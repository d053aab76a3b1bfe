"""`enrich` over an index in memory: effect, price, progress, concurrency, failures, and what it must leave alone."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ConfigError,
    InputError,
    MemoryIndex,
    MemoryStore,
    RetrievalConfig,
    assemble,
    retrieve,
)
from ctxassembly.answering import AskModel, ModelReply
from ctxassembly.enrichment import EnrichmentConfig, aenrich, enrich, estimate_enrichment, question_chunks
from enrichment_samples import TEXTS, Scripted, chunks, given, notes_on

KEYWORD = RetrievalConfig(strategy="keyword")


def index(**metadata: Any) -> MemoryIndex:
    return MemoryIndex(chunks(**metadata))


def found(over: MemoryIndex, query: str, **given: Any) -> list[str]:
    return [hit.chunk.id for hit in retrieve(query, KEYWORD, index=over, **given).hits]


@pytest.mark.parametrize("word", ["visitfrage2", "visitkontext2"])
def test_a_chunk_is_found_by_words_of_its_notes_alone(word: str):
    over = index()
    assert found(over, word) == []
    enrich(over, Scripted(), progress=False)
    assert found(over, word)[:1] == ["visit#1"]


def without_query(shown: object) -> str:
    """What is shown, without the words of the question itself, which are among the matches of a hit."""
    return repr(shown).replace("labkontext1", "").replace("labfrage1", "")


def test_a_context_never_shows_what_a_chunk_is_found_by():
    """Context and questions: neither in a hit nor in a neighbor, a header, a citation or the trace's texts."""
    over = index()
    enrich(over, Scripted(), progress=False)
    hits = retrieve("labkontext1 labfrage1", KEYWORD, index=over).hits
    context = assemble(hits, AssemblyConfig(window=1, cite="chunk"), store=over.with_filter(None), query="labkontext1")
    assert TEXTS["lab"][0] in context.text
    assert TEXTS["lab"][1] in context.text
    for hidden in ("kontext", "frage", "Zusammenhang", "geprüft"):
        assert hidden not in context.text
        assert hidden not in without_query([hit.chunk for hit in hits])
        assert hidden not in without_query((context.citations, context.provenance, context.passages))
    assert context.text.count("[Page context: Überblick lab.]") == 1


# Resuming


def test_a_run_that_is_ended_goes_on_where_it_was():
    over, titles = index(), []

    def model(request: AskModel) -> Any:
        titles.append(given(request)["title"].partition(".")[0])
        if len(titles) == 3:
            raise KeyboardInterrupt
        return json.dumps(notes_on(request))

    with pytest.raises(KeyboardInterrupt):
        enrich(over, model, EnrichmentConfig(concurrency=1), progress=False)
    assert enrich(over, model, progress=False).documents == 1
    assert titles == ["diet", "lab", "visit", "visit"]


def test_a_limit_leaves_the_rest_for_the_next_run():
    over, model = index(), Scripted()
    first = enrich(over, model, limit=2, progress=False)
    assert (first.documents, first.remaining, model.titles) == (2, 1, ["diet", "lab"])
    assert estimate_enrichment(over).documents == 1
    assert enrich(over, model, limit=2, progress=False).remaining == 0
    assert enrich(over, model, limit=0, progress=False).documents == 0


def test_only_the_documents_under_a_filter_are_asked_for():
    over = MemoryIndex([*chunks({"a": ("One.",)}, tenant="ours"), *chunks({"b": ("Two.",)}, tenant="theirs")])
    model = Scripted()
    enrich(over.with_filter({"tenant": "ours"}), model, progress=False)
    assert model.titles == ["a"]
    assert found(over, "afrage1") == ["a#0"]  # the index that it was made of has them too


# Price and progress


@pytest.mark.parametrize("texts", [TEXTS, {"long": ["word " * 700] * 30, "short": ["word"]}], ids=["short", "long"])
def test_the_price_is_told_before_the_first_call_and_holds(texts: Any):
    model = Scripted()
    estimate = enrich(MemoryIndex(chunks(texts)), model, progress=False).estimate
    assert estimate == estimate_enrichment(MemoryIndex(chunks(texts)))
    assert estimate.calls == len(model.requests)
    assert estimate.max_tokens_out == sum(request.max_tokens or 0 for request in model.requests)
    from ctxassembly.tokens.counter import counter_for

    count = counter_for("cl100k_base")
    read = sum(count(message["content"]) for request in model.requests for message in request.messages)
    assert read <= estimate.tokens_in <= 1.1 * read + 50


# Models that fail


def answer_by_title(**answers: Any) -> Scripted:
    def answer(request: AskModel) -> Any:
        made = answers.get(given(request)["title"].partition(".")[0], notes_on)
        if isinstance(made, Exception):
            raise made
        return made(request) if callable(made) else made

    return Scripted(answer)


def test_a_document_that_fails_is_named_and_tried_again():
    over = index()
    result = enrich(over, answer_by_title(lab=ConnectionError("refused"), visit="I won't."), progress=False)
    assert result.documents == 1
    assert result.failed["lab"] == "ConnectionError: refused"
    assert "no usable field" in result.failed["visit"]
    assert not {"lab#0", "visit#0"} & {*found(over, "labfrage1"), *found(over, "visitfrage1")}
    assert found(over, "dietfrage1") == ["diet#0"]
    model = Scripted()
    assert (enrich(over, model, progress=False).failed, model.titles) == ({}, ["lab", "visit"])
    assert found(over, "labfrage1")[0] == "lab#0"


def test_a_run_in_which_all_fails_stops(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctxassembly.enrichment.run.MAX_FAILURES", 3)
    over = MemoryIndex(chunks({f"d{at:02}": ("Text.",) for at in range(30)}))
    model = Scripted(lambda _: "no")
    result = enrich(over, model, EnrichmentConfig(concurrency=2), progress=False)
    assert result.stop_reason.startswith("3 documents in a row failed, the last one by the reply has no usable field")
    assert (len(result.failed), result.remaining) == (3, 27)
    time.sleep(0.1)
    assert len(model.requests) <= 3 + 2
    assert "stopped: 3 documents in a row" in str(result)


# Concurrency


async def test_no_more_documents_are_under_way_than_allowed():
    over = MemoryIndex(chunks({f"d{at:02}": ("Text.",) for at in range(12)}))
    running: list[int] = [0]

    async def ask(request: AskModel) -> ModelReply:
        running.append(running[-1] + 1)
        await asyncio.sleep(0.01)
        running.append(running[-1] - 1)
        return Scripted().ask(request)

    result = await aenrich(over, ask, EnrichmentConfig(concurrency=3), progress=False)
    assert (result.documents, max(running)) == (12, 3)


async def test_awaited_it_is_the_same():
    one, other = index(), index()
    called, model = Scripted(), Scripted()

    async def ask(request: AskModel) -> ModelReply:
        await asyncio.sleep(0)
        return model.ask(request)

    async def embed(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    expected = enrich(one, called, embed=lambda texts: [[float(len(text)), 1.0] for text in texts], progress=False)
    assert await aenrich(other, ask, embed=embed, progress=False) == expected
    assert model.titles == called.titles
    assert found(other, "visitfrage2") == found(one, "visitfrage2")
    assert (await aenrich(other, ask, progress=False)).documents == 0


# Misuse


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": None}, InputError, "model must be a function"),
        (
            {"index": MemoryStore([])},
            InputError,
            "index must be a PostgresIndex, QdrantIndex or MemoryIndex",
        ),
        ({"limit": -1}, ConfigError, "limit must be an integer from 0 or None"),
        ({"embed": 7}, InputError, "embed must be a function from texts to vectors"),
    ],
)
async def test_misuse_is_told_before_the_model_is_asked(arguments: Any, error: Any, message: str):
    model = Scripted()
    whole = {"index": index(), "model": model, "progress": False, **arguments}
    with pytest.raises(error, match=message):
        enrich(whole.pop("index"), whole.pop("model"), whole.pop("config", None), **whole)
    whole = {"index": index(), "model": model, "progress": False, **arguments}
    with pytest.raises(error, match=message):
        await aenrich(whole.pop("index"), whole.pop("model"), whole.pop("config", None), **whole)
    assert model.requests == []


# Tenants


HANDBOOKS = [
    Chunk(f"{tenant}#{at}", "handbook.pdf", text, at, metadata={"tenant": tenant, "page": at + 1})
    for tenant, texts in {
        "acme": ("Laptops are locked at night.", "Holidays are asked for in May."),
        "globex": ("The director earns 900,000.",),
    }.items()
    for at, text in enumerate(texts)
]


def told(request: AskModel) -> dict[str, Any]:
    """A summary, a category, contexts and questions of all texts that the model was given."""
    texts = " ".join(one["text"] for one in given(request)["chunks"])
    each = {"context": f"Beside {texts}", "questions": [f"Why {texts}"]}
    chunks = [{"chunk": one["chunk"], **each} for one in given(request)["chunks"]]
    return {"summary": f"On: {texts}", "place": f"At {texts}", "chunks": chunks}


@pytest.mark.parametrize("key", ["tenant", "acl", "version", "access.group"])
def test_notes_on_a_document_are_of_its_own_tenant_alone(key: str):
    chunks = [replace(chunk, metadata=nested(key, chunk.metadata["tenant"])) for chunk in HANDBOOKS]
    over, model = MemoryIndex(chunks), Scripted(told)
    result = enrich(over, model, progress=False)
    assert (result.documents, result.chunks, len(model.requests)) == (2, 3, 2)
    assert result.estimate.split_by == (key,)
    assert f"documents 2 (split by {key!r})" in str(result.estimate)
    of_acme = over.with_filter({key: "acme"})
    hits = retrieve("laptops holidays director 900,000", KEYWORD, index=of_acme).hits
    assert "Laptops" in assemble(hits, store=of_acme).text
    assert "900,000" not in repr(hits) + assemble(hits, store=of_acme).text
    assert not [hit for hit in retrieve("director", KEYWORD, index=of_acme).hits if hit.score]
    asked = list(question_chunks(over))
    assert not [one for one in asked if "900,000" in one.text and one.metadata.get(key) == "acme"]
    assert enrich(over, model, progress=False).documents == 0


def nested(key: str, value: str) -> dict[str, Any]:
    outer, _, inner = key.partition(".")
    return {outer: {inner: value} if inner else value, "page": 3}


def test_a_key_that_varies_in_a_document_splits_it_unless_it_is_told():
    chunks = [replace(chunk, metadata={"madde_no": chunk.id}) for chunk in HANDBOOKS]
    estimate = estimate_enrichment(MemoryIndex(chunks))
    assert (estimate.documents, estimate.split_by) == (3, ("madde_no",))
    estimate = estimate_enrichment(MemoryIndex(chunks), EnrichmentConfig(varying_keys=("madde_no",)))
    assert (estimate.documents, estimate.split_by) == (1, ())
    with pytest.raises(ConfigError, match="varying_keys must be a tuple of non-empty strings"):
        EnrichmentConfig(varying_keys=("",))
