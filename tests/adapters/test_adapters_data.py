"""Text that no model reads, through both adapters: data: addresses and base64 give way to the alt text."""

from __future__ import annotations

import random
from base64 import b64encode
from itertools import pairwise

import pytest

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, Context, Conversation, Hit, assemble

DATA = b64encode(random.Random(1).randbytes(3_000)).decode()
LINES = "\n".join(DATA[at : at + 76] for at in range(0, len(DATA), 76))
PNG = f"data:image/png;base64,{DATA}"
GIF = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0 L9 9'/></svg>"

REPLACED = {
    "Markdown": (f"Bring it.\n\n![scan]({PNG})\n\nDrink water.", "Bring it.\n\nscan\n\nDrink water."),
    "Markdown with a title": (f'Eerst ![de scan]({PNG} "Scan 1") dan water.', "Eerst de scan dan water."),
    "a small image": (f"Zuerst ![ein Punkt]({GIF}) trinken.", "Zuerst ein Punkt trinken."),
    "an image in a link": (f"[![图]({PNG})](https://a.example) 喝水。", "[图](https://a.example) 喝水。"),
    "a link": (f"See [the form]({PNG}) first.", "See the form first."),
    "references of Markdown": (f"See ![scan][i].\n\n[i]: <{PNG}>\n\nDrink.", "See ![scan][i].\n\n\n\nDrink."),
    "HTML": (f'Avant <img src="{PNG}" alt="le plan d\'accès" width=3> après.', "Avant le plan d'accès après."),
    "HTML, the alt text first": (f"A <img class=x alt='скан' src='{PNG}'/> b.", "A скан b."),
    "HTML without quotation marks": (f"A <img src={PNG} alt=scan> b.", "A scan b."),
    "HTML without an alt text": (f'<p>A <img src="{PNG}"> b.</p>', "<p>A  b.</p>"),
    "an image of text": (f'A <img alt="map" src="data:image/svg+xml;utf8,{SVG}"> b.', "A map b."),
    "an image with signs": (
        "A ![map](data:image/svg+xml,%3Csvg%20xmlns%3D%22http%3A%2F%2Fw3.org%22%3E) b.",
        "A map b.",
    ),
    "CSS": (f".a {{background: url({PNG})}} .b {{margin: 0}}", ".a {background: url()} .b {margin: 0}"),
    "CSS in quotation marks": (f".a {{background: url('{PNG}')}}", ".a {background: url('')}"),
    "JSON": (f'{{"image/png": "{DATA}", "text": "ok"}}', '{"image/png": "", "text": "ok"}'),
    "bare": (f"Anexo: {DATA} fin.", "Anexo:  fin."),
    "bare in lines": (f"Attachment:\n\n{LINES}\n\nDrink water.", "Attachment:\n\n\n\nDrink water."),
    "an address in lines": (f"x data:image/png;base64,{LINES}\n\nDrink.", "x \n\nDrink."),
    "an image that is cut off": (f"Drink water. ![scan]({PNG[:300]}", "Drink water. scan"),
}


def check_sources(context: Context, chunks: list[Chunk]) -> None:
    """Each source is the slice of its chunk that it says, and the sources and the glue are all of the text."""
    texts = {chunk.id: chunk.text for chunk in chunks}
    for source in context.provenance:
        assert context.text[slice(*source.span)] == texts[source.chunk_id][slice(*source.chunk_span)]
    for first, second in pairwise(context.provenance):
        assert first.span[1] <= second.span[0]


@pytest.mark.parametrize("query", [None, "water"])
@pytest.mark.parametrize(("given", "shown"), REPLACED.values(), ids=REPLACED)
def test_the_alt_text_stands_for_what_no_model_reads(door: Door, given: str, shown: str, query: str | None) -> None:
    chunk = Chunk("a", "a", given, 0, start=7, metadata={"source": "a.md"})
    context = door.context([chunk], query, config=AssemblyConfig(fill=True))
    assert context.text == f"[1] Source: a.md\n{shown}"
    check_sources(context, [chunk])
    removed = f"data: {len(given) - len(shown):,} characters of data: addresses and base64 are left out (first: 'a')"
    assert removed in context.trace.notes
    assert context.passages[0].text == shown
    assert context.citations[0].snippet == shown[:200]


@pytest.mark.parametrize(
    "text",
    [
        "The data: a/b, c. The metadata:foo/bar,baz and data:train/test,valid sets.",
        f"The checksum is {'0123456789abcdef' * 8}.",
        f"The sequence is {'ACGT' * 100}.",
        f"The word is {'Donaudampfschifffahrt' * 12}.",
        f"See https://hospital.example/{'a1/B2/' * 8}.",
        'A <img src="a.png" alt="map"> and ![map](map.png).',
        "长" * 400,
    ],
    ids=["prose", "a hash", "genes", "a long word", "an address", "images elsewhere", "Chinese"],
)
def test_what_a_model_may_read_stays(door: Door, text: str) -> None:
    context = door.context([Chunk("a", "a", text, 0, metadata={"source": "a.md"})])
    assert context.text == f"[1] Source: a.md\n{text}"
    assert not any(note.startswith("data:") for note in context.trace.notes)


@pytest.mark.parametrize("query", [None, "Who may drink water?"])
@pytest.mark.parametrize(("size", "overlap"), [(500, 0), (500, 60), (300, 20)])
def test_an_image_cut_over_many_chunks_is_left_out_of_all(
    door: Door, size: int, overlap: int, query: str | None
) -> None:
    whole = f"{'Bring your card. ' * 9}\n\n![the scan]({PNG})\n\nDrink water. {'Then rest. ' * 9}"
    starts = range(0, len(whole), size - overlap)
    chunks = [
        Chunk(f"a#{at}", "a", whole[start : start + size], at, start=start, metadata={"source": "a.md"})
        for at, start in enumerate(starts)
    ]
    context = door.context(chunks, query, config=AssemblyConfig(fill=True))
    assert context.text.startswith("[1] Source: a.md\nBring your card.")
    assert "the scan\n\nDrink water. Then rest." in context.text
    assert len(context.text) < 400
    check_sources(context, chunks)
    fates = {decision.chunk_id: decision.outcome for decision in context.trace.decisions}
    assert fates["a#0"] == fates[chunks[-1].id] == "kept"
    assert {decision.reason for decision in context.trace.decisions if decision.outcome == "dropped"} == {"empty"}


def test_a_hit_of_data_alone_is_named_as_empty(door: Door) -> None:
    chunks = [Chunk(name, name, text, 0, metadata={"source": name}) for name, text in (("a", DATA), ("b", "Drink."))]
    context = door.context(chunks, "What may I drink?")
    assert context.text == "[1] Source: b\nDrink."
    assert [(one.chunk_id, one.outcome, one.reason) for one in context.trace.decisions] == [
        ("a", "dropped", "empty"),
        ("b", "kept", "hit"),
    ]
    assert door.context(chunks[:1]).text == ""
    assert [one.reason for one in door.context(chunks[:1]).trace.decisions] == ["empty"]


def test_what_the_conversation_has_around_data_is_not_sent_again() -> None:
    chunk = Chunk("a", "a", f"Bring it. ![scan]({PNG}) Drink water.", 0, metadata={"source": "a.md"})
    conversation = Conversation()
    context = assemble([Hit(chunk)], conversation=conversation)
    again = assemble([Hit(chunk)], conversation=conversation.after(context))
    assert "Drink" not in again.text


def test_switched_off_nothing_is_replaced() -> None:
    context = assemble([Hit(Chunk("a", "a", f"![scan]({GIF})"))], AssemblyConfig(enabled=False))
    assert GIF in context.text


def test_the_budget_is_for_what_is_read() -> None:
    text = "Bring your card. " * 20 + f"![scan]({PNG}) Drink water until two hours before."
    context = assemble([Hit(Chunk("a", "a", text, 0))], AssemblyConfig(max_tokens=150), query="water")
    assert "Drink water until two hours before." in context.text
    assert context.trace.shortened == ()


def test_a_model_that_compresses_reads_no_data() -> None:
    text = "Bring your card. " * 20 + f"![scan]({PNG}) Drink water until two hours before. " + "Then rest. " * 20
    prompts = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return "1"

    config = AssemblyConfig(max_tokens=40, compress="llm")
    assemble([Hit(Chunk("a", "a", text, 0))], config, query="water", llm=model)
    assert prompts
    assert not any(DATA[:20] in prompt for prompt in prompts)
