"""What holds of every context, whatever is chosen: seen from outside, on texts of any sizes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders import count, hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, assemble

QUERY = "When is ferritin measured?"
ANSWER = "Ferritin is measured in the morning, before breakfast."
HEADER = count("\n\n[10] Source: unknown\n")


@st.composite
def documents(draw: st.DrawFn) -> list[Chunk]:
    """Chunks of a document each, of sentences that say something alone; one has the answer."""
    made = []
    for name in range(draw(st.integers(1, 6))):
        sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
        known = "it is known that all visitors of the house wait until noon."
        sentences = [f"Of {'room ' * size}{name} {at} {known}" for at, size in enumerate(sizes)]
        made.append(Chunk(f"{name}", f"{name}", " ".join(sentences), 0))
    text = made[-1].text.replace("Of room", f"{ANSWER} Of room", 1)
    made[-1] = Chunk(made[-1].id, made[-1].document_id, text, 0)
    return made


def read(chunks: list[Chunk], max_tokens: int | None, **options: bool) -> Context:
    config = AssemblyConfig(max_tokens=max_tokens, **options)
    context = assemble(hits_of(chunks), config, query=QUERY)
    assert context.token_count == count(context.text) <= context.trace.max_tokens
    return context


@given(documents(), st.integers(20, 600))
def test_filled_a_context_leaves_out_no_sentence_that_would_fit(chunks: list[Chunk], max_tokens: int):
    context = read(chunks, max_tokens, fill=True)
    for chunk in chunks:
        for sentence in chunk.text.replace(". ", ".\n").splitlines():
            if sentence not in context.text:
                assert context.token_count + HEADER + count(sentence) > max_tokens


@given(documents(), st.lists(st.integers(15, 800), min_size=2, max_size=4), st.booleans())
def test_a_larger_limit_never_loses_the_best_sentence_which_is_read_under_the_first_label(
    chunks: list[Chunk], limits: list[int], fill: bool
):
    for max_tokens in sorted(limits):
        context = read(chunks, max_tokens, fill=fill)
        assert ANSWER in (context.blocks[0].text if max_tokens > 40 else context.text + ANSWER)


@given(documents())
def test_by_default_a_context_costs_no_more_than_the_hits_joined(chunks: list[Chunk]):
    context = read(chunks, None)
    joined = count("\n\n".join(chunk.text for chunk in chunks))
    assert context.trace.hit_tokens == joined
    assert context.trace.max_tokens == min(max(joined, 1_000), 8_000)
