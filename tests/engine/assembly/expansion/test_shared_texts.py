"""One text in several documents: the copy whose document the question names is kept, and all sources are named."""

from __future__ import annotations

import pytest

from builders import decision, hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble

DEVICES = {"Router X1": "red", "Camera Z9": "green", "Lampe Q7": "blue"}
SHARED = "Resetting: hold the button."


def manual(device: str, named_in: str, pages: int, shared: str = SHARED) -> list[Chunk]:
    """The manual of a `device`, which only its id, title, file name or first line names."""
    number = str([*DEVICES].index(device))
    source = f"{device.replace(' ', '_')}.pdf" if named_in == "source" else f"{number}.pdf"
    metadata = {"source": source} | ({"title": f"Manual of the {device}"} if named_in == "title" else {})
    first = f"# {device}" if named_in == "first line" else "# Manual"
    texts = [
        first,
        *[f"Page {n} of {number}." for n in range(pages)],
        shared,
        f"Then it shows a {DEVICES[device]} light.",
    ]
    name = device if named_in == "id" else number
    return [Chunk(f"{number}#{n}", name, text, n, metadata=metadata) for n, text in enumerate(texts)]


def ask(query: str, manuals: list[list[Chunk]], **options: object) -> Context:
    hits = hits_of([manual[-2] for manual in manuals])
    config = AssemblyConfig(neighbors="unfiltered", **options)  # type: ignore[arg-type]
    return assemble(hits, config, query=query, store=MemoryStore([chunk for manual in manuals for chunk in manual]))


@pytest.mark.parametrize("named_in", ["id", "title", "source", "first line"])
@pytest.mark.parametrize("pages", [0, 9])
@pytest.mark.parametrize("asked", DEVICES)
@pytest.mark.parametrize(
    ("shared", "query"),
    [
        (SHARED, "What light does the {} show after resetting?"),
        ("R\u00fccksetzen: Taste halten.", "Welches Licht zeigt {} nach dem R\u00fccksetzen?"),
    ],
)
def test_the_copy_whose_document_the_question_names_is_kept(
    named_in: str, pages: int, asked: str, shared: str, query: str
):
    manuals = [manual(device, named_in, pages, shared) for device in DEVICES]
    for given in (manuals, manuals[::-1]):
        context = ask(query.format(asked), given, max_tokens=60)
        assert f"{shared}\nThen it shows a {DEVICES[asked]} light." in context.text
        assert context.text.count(shared) == context.text.count(" light.") == 1


def test_what_is_next_to_each_copy_competes():
    """Nothing names a device, but what is below the text in one manual says what is asked for."""
    manuals = [manual(device, "", 0) for device in DEVICES]
    for given in (manuals, manuals[::-1]):
        assert f"{SHARED}\nThen it shows a blue light." in ask("When is the light blue?", given, max_tokens=40).text


def test_all_sources_of_a_shared_text_are_named_and_the_trace_has_the_copies():
    manuals = [manual(device, "source", 0) for device in DEVICES]
    context = ask("What light does the Camera Z9 show after resetting?", manuals)
    cited = next(
        citation for citation in context.citations if SHARED in citation.snippet or "1#1" in citation.chunk_ids
    )
    assert (cited.source, cited.same_text_in) == ("Camera_Z9.pdf", ("Router_X1.pdf", "Lampe_Q7.pdf"))
    assert (decision(context, "0#1").outcome, decision(context, "0#1").because_of) == ("duplicate", "1#1")
    assert decision(context, "1#1").rank == 1


def test_a_true_copy_of_a_document_stands_once():
    twins = [[Chunk(f"{name}#{n}", name, f"Line {n} of it.", n) for n in range(3)] for name in ("A", "B")]
    hits = hits_of([twin[1] for twin in twins])
    context = assemble(
        hits, AssemblyConfig(neighbors="unfiltered"), query="Which line?", store=MemoryStore([*twins[0], *twins[1]])
    )
    assert [citation.document_id for citation in context.citations] == ["A"]
    assert context.text.count("Line") == 3
