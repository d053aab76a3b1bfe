"""Whatever is wrong with a dict, `Context.from_dict` raises InputError alone."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Conversation, Hit, InputError, MemoryStore, assemble
from ctxassembly.adapters.metadata import block_metadata
from ctxassembly.conversations.messages import dropped_sources_note, see_above_note
from ctxassembly.conversations.sources import known_in
from ctxassembly.data.chunks import ChunkOrigin
from langchain_ctxassembly.convert.search_results import search_results

CHUNKS = [Chunk(f"a{n}", "A", f"Drink water {n}.", n, metadata={"source": "a.pdf", "page": n}) for n in range(5)]
GOOD = json.loads(json.dumps(assemble([Hit(CHUNKS[2], 0.9)], query="Water?", store=MemoryStore(CHUNKS)).to_dict()))
MISSING = object()


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(10_000):
        found = [found]
    return found


ODD: dict[str, Any] = {
    **{repr(each): each for each in (None, 0, -1, 7, 1.5, True, "", "x", [], {}, [None], [[]], {"a": 1}, b"x")},
    "huge": 10**400,
    "NaN": float("nan"),
    "digits": "9" * 5_000,
    "surrogate": "\ud800",
    "deep": deep(),
    "missing": MISSING,
}


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*above, key))


def one_of_each(seed: str, good: Any = GOOD) -> list[tuple[Any, ...]]:
    """A place of each field: of the places that differ only in their list indexes, another one for each seed."""
    by_field: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for place in places(good):
        by_field.setdefault(tuple("*" if isinstance(key, int) else key for key in place), []).append(place)
    random = Random(seed)
    return [random.choice(each) for each in by_field.values()]


def broken_at(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A copy of `value` with something odd at that place; what is beside the way there is shared."""
    if not place:
        return odd
    broken = copy.copy(value)
    if len(place) == 1 and odd is MISSING:
        del broken[place[0]]
    else:
        broken[place[0]] = broken_at(value[place[0]], place[1:], odd)
    return broken


@pytest.mark.parametrize("given", [None, 7, "text", b"x", [], [1], {}, {"text": "x"}, object(), deep()])
def test_something_else(given: Any) -> None:
    with pytest.raises(InputError, match=r"Context\.to_dict\(\)"):
        Context.from_dict(given)


LONG = " ".join(f"Floor {n} has a room with a bed." for n in range(40))
RICH = [
    Hit(
        Chunk("a", "A", "Drink water. Eat nothing. [2] Source: b.pdf", 0, 0, metadata={"source": "a.pdf", "page": 1}),
        0.9,
    ),
    Hit(Chunk("b", "B", "Water is free of charge. " + LONG, metadata={"source": "b.pdf", "Header 1": "Setup"}), 0.5),
    Hit(
        Chunk("c", "C", "Drink water. Eat nothing. [2] Source: b.pdf", origin=ChunkOrigin((("page", 7),), near=3)), 0.4
    ),
]


def rich() -> Any:
    config = AssemblyConfig(max_tokens=150, neighbors="unfiltered")
    context = assemble(
        [*RICH, Hit(CHUNKS[2], 0.3)], config, query="Water?", store=MemoryStore(CHUNKS), supplement="Call us."
    )
    assert context.trace.shortened
    assert len(context.blocks) > 2
    return json.loads(json.dumps(context.to_dict()))


def use_all_of(context: Context) -> None:
    """Everything public that a context offers."""
    said = 'Drink [1], "Eat nothing" [2].'
    made = [context.text, str(context), repr(context), context.supplement, context.has_labels, context.query]
    made += [passage.text + "".join(passage.chunk_ids) for passage in context.passages]
    made += [context.resolve(said), [*context.stream([said])], context.sources(), context.check_quotes(said)]
    made += [context.to_messages("Why?"), context._repr_html_(), context.to_html(evidence=["Drink water", ("A", 0, 5)])]
    made += [context.view(evidence=["nothing"]).evidence, str(context.trace)]
    made += [context.trace.excluded_tokens, Conversation.from_messages(context), dropped_sources_note(context)]
    made += [context.cites(citation, hit.chunk) for citation in context.citations for hit in context.hits]
    made += [
        search_results(context),
        block_metadata(context),
        see_above_note(context, RICH),
        [*known_in(context)],
    ]
    again = Context.from_dict(json.loads(json.dumps(context.to_dict(), allow_nan=False)))
    assert again == context or "nan" in repr(context)
    assert copy.deepcopy(context) == copy.copy(context) or "nan" in repr(context)
    pickle.loads(pickle.dumps(context))


@pytest.mark.parametrize("name", ODD)
def test_a_context_of_a_broken_dict_works_or_there_is_none(name: str) -> None:
    good = rich()
    failed: dict[tuple[Any, ...], str] = {}
    for place in one_of_each(name, good):
        try:
            context = Context.from_dict(broken_at(good, place, ODD[name]))
        except InputError:
            continue
        try:
            use_all_of(context)
        except Exception as error:  # noqa: BLE001 - whatever it is, it came too late
            failed[place] = repr(error)[:90]
    assert not failed, failed


def test_an_unbroken_dict_gives_the_context_again() -> None:
    use_all_of(Context.from_dict(rich()))
