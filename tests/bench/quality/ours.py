"""ctxassembly's own configurations. Another one is another line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ctxassembly import AssemblyConfig, Context, MemoryStore, assemble, presets
from ctxassembly.config.assembly import MOST_TOKENS
from ctxassembly.protocols import Scorer
from ctxassembly.published import Bookend, FiveStage
from quality import minilm
from quality.data import QuestionSet, Span
from quality.filling import ENCODING, Answer, Case, Fill, Strategy

UNSET = AssemblyConfig()
"""Nothing set, nor a limit where the budget has the 8,000 tokens that a context has at most: it ends with its hits."""
CONFIGS: dict[str, AssemblyConfig | FiveStage | Bookend] = {
    "unset": UNSET,
    "default": AssemblyConfig(),
    "concise": presets.CONCISE,
    "auto": AssemblyConfig(fill=True),
    "sentence": AssemblyConfig(granularity="sentence", fill=True),
    "chunk": AssemblyConfig(granularity="chunk", fill=True),
    "chunk-by-rank": AssemblyConfig(granularity="chunk", rank_by="rank"),
    "passage": AssemblyConfig(granularity="passage", fill=True),
    "compress": AssemblyConfig(granularity="chunk", rank_by="rank", compress="extractive"),
    "five-stage": presets.FIVE_STAGE,  # whole documents
    "bookend": presets.BOOKEND,  # question sets carry no vectors: copies by their texts alone
    "disabled": AssemblyConfig(enabled=False),
}


class MiniLM:
    """The scorer of `auto-scored`: cosines of all-MiniLM-L6-v2."""

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = minilm.embed(texts).tolist()
        return vectors


def limited(config: AssemblyConfig | FiveStage | Bookend, budget: int) -> AssemblyConfig | FiveStage | Bookend:
    """The same with so many tokens for the rendered text."""
    if isinstance(config, FiveStage):
        return replace(config, max_tokens=max(budget, 500), exact=True)
    if isinstance(config, Bookend):
        return replace(config, budget=budget, exact=True)
    if config is UNSET and budget >= MOST_TOKENS:
        return config
    return replace(config, max_tokens=budget, encoding=ENCODING)


def ours(
    config: AssemblyConfig | FiveStage | Bookend, scorer: Scorer | None = None
) -> Callable[[QuestionSet], Strategy]:
    """The strategy of a configuration, with a store over all chunks of the set."""

    def make(questions: QuestionSet) -> Strategy:
        store = MemoryStore(questions.chunks.values())

        def strategy(case: Case) -> Fill:
            def fill(budget: int) -> Answer:
                store.requests.clear()
                context = assemble(
                    case.hits,
                    limited(config, budget),
                    query=case.question.text,
                    store=store,
                    scorer=scorer,
                )
                return answer(context, questions)

            return fill

        return strategy

    return make


def answer(context: Context, questions: QuestionSet) -> Answer:
    """A context of chunks of the set, with where its text comes from."""
    runs = []
    for source in context.provenance:
        # By the chunk's own offset: the engine gives none where it couldn't verify it.
        begin = questions.chunks[source.chunk_id].start or 0
        runs.append(Span(source.document_id, *(begin + at for at in source.chunk_span)))
    return Answer(context.text, tuple(runs))
