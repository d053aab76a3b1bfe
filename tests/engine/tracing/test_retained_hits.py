from __future__ import annotations

import pickle

from builders import hits_of, numbered, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from ctxassembly.tracing import MAX_HIT_CHARS, MAX_SHOWN_HITS


def many(number: int) -> list[Hit]:
    return hits_of([Chunk(f"{n}", f"doc{n % 50}", numbered(f"w{n}x", 150), n) for n in range(number)])


def test_a_pickled_context_is_a_few_times_its_text_however_many_hits_there_were() -> None:
    context = assemble(many(3_000), AssemblyConfig(max_tokens=4_000))
    decisions = len(pickle.dumps(context.trace))
    assert len(pickle.dumps(context)) - decisions <= 15 * len(context.text)
    assert len(pickle.dumps(many(3_000))) > 10 * len(pickle.dumps(context))


def test_the_first_hits_are_kept_as_they_came() -> None:
    hits = many(100)
    context = assemble(hits, AssemblyConfig(max_tokens=1_000))
    assert [(each.rank, each.chunk, each.score) for each in context.hits] == [
        (rank, hit.chunk, hit.score) for rank, hit in enumerate(hits[:MAX_SHOWN_HITS])
    ]


def test_of_a_long_text_two_ends_are_kept_and_no_vector() -> None:
    long = Chunk("long", "A", "begin " + "x" * 1_000_000 + " end", vector=[1.0] * 3)
    (kept,) = assemble([Hit(long, 0.5)]).hits
    assert (kept.characters, len(kept.chunk.text), kept.chunk.vector) == (len(long.text), MAX_HIT_CHARS, None)
    assert kept.chunk.text.startswith("begin x")
    assert kept.chunk.text.endswith("x end")


def test_the_views_show_what_is_kept() -> None:
    context = assemble(hits_of([words_of("A", n) for n in range(60)]), AssemblyConfig(max_tokens=300))
    again: Context = pickle.loads(pickle.dumps(context))
    assert again.to_html() == context.to_html()
    assert "20 more fragments" in context.to_html()
