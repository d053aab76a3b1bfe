"""What all published systems have in common, and a system of a caller's own."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import pytest

from builders import count, numbered
from ctxassembly import (
    AnswerChain,
    AssemblyConfig,
    Chunk,
    ConfigError,
    Context,
    Conversation,
    Hit,
    InputError,
    Labels,
    MemoryIndex,
    MemoryStore,
    RetrievalConfig,
    aassemble,
    assemble,
    presets,
)
from ctxassembly.protocols import StageBegan, StageEnded
from ctxassembly.published import (
    Bookend,
    Call,
    FiveStage,
    Pipeline,
    SourceBlocks,
    Style,
    TextBlock,
    to_context,
)
from doors import Door
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

SYSTEMS = [FiveStage(), SourceBlocks(), Pipeline(min_chunk_tokens=0), Bookend()]
FILES = {"a.pdf": "Visits begin at two.", "b.pdf": "Visits end at eight.", "c.pdf": "Dogs stay outside."}
HITS = [
    Hit(Chunk(name, name, text, 0, metadata={"source": name}), 0.9 - n / 10)
    for n, (name, text) in enumerate(FILES.items())
]


@dataclass(frozen=True)
class OnePerFile:
    """The best chunk of each file, up to a number of characters."""

    max_characters: int = 2_000

    def flow(self, call: Call) -> Any:
        style = Style("numbered")
        best = yield from call.stage("one per file", call.hits, self.first_of_each)
        blocks = [TextBlock.of(style.heading(hit), hit) for hit in best]
        return (yield from to_context(call, blocks, style, max_tokens=self.max_characters))

    def first_of_each(self, hits: Any) -> Any:
        return [
            hit
            for n, hit in enumerate(hits)
            if hit.chunk.document_id not in {one.chunk.document_id for one in hits[:n]}
        ]


def test_a_system_of_ones_own_goes_through_every_door(door: Door):
    again = Hit(Chunk("a2", "a.pdf", "Ring the bell.", 1, metadata={"source": "a.pdf"}), 0.1)
    context = door(OnePerFile(), [*HITS, again], query="When do visits begin?")
    assert context.text == "\n\n".join(
        f"[{n}] Source: {name}\n{text}" for n, (name, text) in enumerate(FILES.items(), 1)
    )
    assert [citation.source for citation in context.citations] == list(FILES)
    assert [(stage.name, stage.chunks_in, stage.chunks_out) for stage in context.trace.stages] == [
        ("admit", 4, 4),
        ("one per file", 4, 3),
        ("render", 3, 3),
    ]
    assert [(one.chunk_id, one.reason) for one in context.trace.excluded] == [("a2", "budget")]
    assert context.trace.decisions[0].matches == ("visits", "begin")


def test_neighbors_of_a_system_pass_the_same_checks():
    stored = [Chunk(f"a{n}", "a", f"Text {n}.", n, metadata={"tenant": "x" if n < 3 else "y"}) for n in range(5)]
    context = assemble([Hit(stored[2], 0.8)], FiveStage(), store=MemoryStore(stored))
    assert "Text 1." in context.text
    assert "Text 3." not in context.text
    assert context.trace.unscoped == ("tenant",)
    everyone = assemble([Hit(stored[2], 0.8)], FiveStage(neighbors="unfiltered"), store=MemoryStore(stored))
    assert "Text 3." in everyone.text
    with pytest.raises(ConfigError, match="neighbors='filtered' needs the filter"):
        assemble([Hit(stored[2], 0.8)], FiveStage(neighbors="filtered"), store=MemoryStore(stored))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_context_is_whole(system: Any):
    context = assemble(HITS, system, query="When do visits begin?")
    assert context.token_count == count(context.text)
    assert Context.from_dict(context.to_dict()) == context
    assert pickle.loads(pickle.dumps(context)).text == context.text
    sources = [context.text[slice(*source.span)] for source in context.provenance]
    assert sorted(sources) == sorted(FILES.values())
    assert {decision.outcome for decision in context.trace.decisions} == {"kept"}
    assert context.to_html()
    assert [citation.snippet for citation in context.citations] == sources
    assert "[1]" in context.resolve("At two [1].").text


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_observer_sees_the_stages(system: Any):
    events: list[Any] = []
    context = assemble(HITS, system, on_stage=events.append)
    begun = [event.name for event in events if isinstance(event, StageBegan)]
    assert begun == [event.name for event in events if isinstance(event, StageEnded)]
    assert [stage.name for stage in context.trace.stages] == begun
    assert (begun[0], begun[-1]) == ("admit", "render")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_conversation_continues_the_labels(system: Any):
    conversation = Conversation()
    first = assemble(HITS, system, conversation=conversation)
    second = assemble(HITS, system, conversation=conversation.after(first))
    assert [citation.label for citation in (*first.citations, *second.citations)] == list("123456")
    assert [one.label for one in second.resolve("Said [1][5].").citations] == ["1", "5"]
    shared = Conversation(labels=Labels())
    labels = [one.label for _ in range(2) for one in assemble(HITS, system, conversation=shared).citations]
    assert labels == list("123456")


@pytest.mark.parametrize(
    "given", [FiveStage, "FIVE_STAGE", 3, type("NoFlow", (), {})()], ids=["class", "name", "number", "object"]
)
async def test_what_has_no_flow_is_no_config(given: Any):
    with pytest.raises(
        InputError, match=r"^config must be an AssemblyConfig, an object with flow\(call\), or None, got"
    ):
        assemble(HITS, given)
    with pytest.raises(InputError, match=r"^config must be"):
        await aassemble(HITS, given)
    for adapter in (ContextAssembler, ContextAssemblyPostprocessor):
        with pytest.raises(ConfigError, match=r"^config must be an AssemblyConfig or an object with flow\(call\)"):
            adapter(config=given)


def test_neighbors_of_an_adapter_need_a_system_that_has_some():
    assert ContextAssembler(config=FiveStage(), neighbors="unfiltered").assembly_settings.neighbors == "unfiltered"
    for adapter in (ContextAssembler, ContextAssemblyPostprocessor):
        with pytest.raises(ConfigError, match="Pipeline has no setting 'neighbors'"):
            adapter(config=Pipeline(), neighbors="unfiltered")


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_answer_chain_assembles_by_a_system(system: Any):
    index = MemoryIndex([hit.chunk for hit in HITS])
    asked: list[Any] = []

    def model(request: Any) -> str:
        asked.append(request)
        return "At two [1]."

    chain = AnswerChain.from_index(index, model, RetrievalConfig(strategy="keyword"), system)
    answer = chain.answer("When do visits begin?")
    assert answer.context is not None
    assert answer.context.text == assemble(answer.hits, system, query="When do visits begin?").text
    assert FILES["a.pdf"] in str(asked[-1].messages)


PRESETS = {
    "FIVE_STAGE": FiveStage(),
    "PUBLISHED_VOICE": FiveStage(format="minimal"),
    "SOURCE_BLOCKS": SourceBlocks(),
    "BOOKEND": Bookend(),
    "PUBLISHED_FACTUAL_QA": Pipeline.for_use("factual_qa"),
    "PUBLISHED_SUMMARIZATION": Pipeline.for_use("summarization"),
    "PUBLISHED_CITATION_HEAVY": Pipeline.for_use("citation_heavy"),
    "PUBLISHED_CONVERSATIONAL": Pipeline.for_use("conversational"),
    "PUBLISHED_TIGHT_BUDGET": Pipeline.for_use("tight_budget"),
}


def test_presets_are_instances():
    assert dict(presets.PUBLISHED) == PRESETS
    assert {name: getattr(presets, name) for name in PRESETS} == PRESETS
    assert replace(presets.FIVE_STAGE, expand_window=3).expand_window == 3


@pytest.mark.parametrize(
    ("write", "line"),
    [
        (lambda: AssemblyConfig(order="lost_in_middle"), "order='interleaved'"),  # type: ignore[arg-type]
        (lambda: AssemblyConfig(order="chronological"), "order='document_order'"),  # type: ignore[arg-type]
        (lambda: AssemblyConfig(order="bookend"), "order='edges'"),  # type: ignore[arg-type]
        (lambda: AssemblyConfig(ordering="relevance"), "order=..."),  # type: ignore[call-arg]
        (lambda: AssemblyConfig(expand_window=1), "window=..."),  # type: ignore[call-arg]
        (lambda: AssemblyConfig(max_context_chars=1), "max_characters=..."),  # type: ignore[call-arg]
        (lambda: AssemblyConfig.for_use("summarisation"), "for_use('summarization')"),
    ],
)
def test_a_published_name_in_our_settings_names_ours(write: Any, line: str):
    with pytest.raises(ConfigError) as caught:
        write()
    assert str(caught.value).endswith(f": write {line}")


@pytest.mark.parametrize("system", [FiveStage(exact=True), Bookend(600, exact=True), SourceBlocks(2_000, exact=True)])
def test_exact_holds_with_a_supplement_and_many_chunks(system: Any):
    hits = [Hit(Chunk(f"c{n}", f"d{n}", numbered(f"c{n}.", 5 * n + 1)), 1 - n / 40) for n in range(30)]
    system = replace(system, max_tokens=600) if isinstance(system, FiveStage) else system
    for supplement in (None, "A fact.", numbered("fact", 2_000)):
        context = assemble(hits, system, supplement=supplement)
        if isinstance(system, SourceBlocks):
            assert len(context.text) <= 2_000
        else:
            assert context.token_count == count(context.text) <= 600
        assert context.citations
        assert bool(context.supplement) is (supplement == "A fact." and not isinstance(system, FiveStage))


@pytest.mark.parametrize(
    ("system", "parameter", "value", "allowed"),
    [
        (FiveStage, "expand_window", 4, "an integer from 0 to 3"),
        (FiveStage, "max_tokens", 499, "an integer from 500 to 16,000"),
        (FiveStage, "language", "la", "one of 'en', 'nl', 'de', 'fr', 'es'"),
        (FiveStage, "supplement_separator", "a\nb", "a text on one line"),
        (FiveStage, "supplement_intents", "hours", "a tuple of strings"),
        (Pipeline, "ordering", "middle", "one of 'lost_in_middle', 'relevance', 'chronological'"),
        (Pipeline, "fuzzy", 0, "a number above 0 and at most 1, or None"),
        (Bookend, "budget", "much", "a ContextBudget or a number of tokens"),
        (Bookend, "semantic_threshold", 0, "a number above 0 and at most 1"),
        (SourceBlocks, "max_context_chars", 0, "an integer of at least 1"),
    ],
)
def test_a_value_out_of_range_is_an_error(system: Any, parameter: str, value: Any, allowed: str):
    with pytest.raises(ConfigError, match=f"^{parameter} must be {allowed}"):
        system(**{parameter: value})
