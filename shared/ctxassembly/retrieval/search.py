"""Searching: whom to ask for what, and what a failure means.

If a channel fails and another one answers, retrieval continues without it, and the trace has a note. Both channels of
the index are searched in one request; if that fails, each is searched alone, so that one failure affects one channel.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ctxassembly.config.retrieval import Boost, RetrievalConfig, Strategy, check_boosts
from ctxassembly.data.requests import Batch, EmbedTexts, FindTerms, SearchChannel, SearchChunks, SearchRequest
from ctxassembly.data.retrieval import (
    Channel,
    QueryVocabulary,
    RetrievalTrace,
    RetrievedChunk,
    ScoredChunk,
    SearchMethod,
    Step,
    StepName,
)
from ctxassembly.data.trace import StageBegan, StageEnded
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.retrieval.fusion import Classifier, merge_channels, to_scored_chunks
from ctxassembly.retrieval.taxonomy import UNRESOLVED, Resolution, Taxonomy
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tracing import Outputs, Stages
from ctxassembly.wording.languages import stop_words

MAX_TERMS = 32
"""Most words of a query to search for. The rarest are kept."""

_MAX_IDS = 20
"""Most ids of a step that an observer is shown."""


@dataclass(slots=True)
class RetrievalRecorder(Stages):
    """Notes for the trace of a retrieval, with the fields of `RetrievalTrace`."""

    steps: list[Step] = field(default_factory=list)
    queries: Mapping[Channel, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    evidence: float | None = None
    lowered: tuple[RetrievedChunk, ...] = ()
    keyword_matches: int | None = None
    failures: list[Exception] = field(default_factory=list)
    """The errors of channels that were done without."""

    def end(
        self, after: Sequence[RetrievedChunk], outputs: Outputs | None = None, *, is_noted: bool = True
    ) -> Generator[StageEnded, None, None]:
        """End the current step. A step that isn't noted changed nothing and isn't in the trace."""
        ids = tuple(one.chunk.id for one in after)
        if is_noted:
            self.steps.append(Step(cast(StepName, self.name), self.chunks_in, ids, self.lap()))
        if self.is_observed:
            shown = {"ids": list(ids[:_MAX_IDS])} if ids else {}
            yield self._end_event(len(ids), {**(outputs() if outputs else {}), **shown})

    def trace(self, search_method: SearchMethod) -> RetrievalTrace:
        """Return the trace of a retrieval that ends now."""
        return RetrievalTrace(
            search_method=search_method,
            steps=tuple(self.steps),
            notes=tuple(self.notes),
            queries=self.queries,
            names=self.names,
            terms=self.terms,
            round_trips=self.round_trips,
            evidence=self.evidence,
            lowered=self.lowered,
            keyword_matches=self.keyword_matches,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question, in the caller's words and as others have put it.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> followup = Question("And when?", rewritten="When is ferritin measured?")
    >>> retrieved = retrieve(followup, RetrievalConfig(strategy="keyword"), index=index)
    >>> [hit.chunk.id for hit in retrieved.hits], retrieved.query
    (['lab#0'], 'When is ferritin measured?')
    """

    text: str
    """The user's own words. Rescue looks for them; keyword search always asks for them."""
    rewritten: str | None = None
    """The words of a rewriting step, such as a follow-up made standalone. Vectors and assembly take them."""
    intent: str | None = None
    """The user's intent, by the labels of your own classifier. Affinity and lists depend on it."""
    boosts: tuple[Boost, ...] = ()
    """Factors for this question only, applied after the boosts of the config: for the category that it is about, or the
    documents of the conversation. Published: category 1.2, type of entity 1.1, conversation 1.25. The first two fire
    by themselves for the intent and what the taxonomy resolves, the third one in an answer chain."""
    filter: Any = None
    """The filter, in the form of the index. It holds in every channel, in rescue and among the chunks of lists."""

    def __post_init__(self) -> None:
        for name in ("text", "rewritten", "intent"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name != "text")):
                allowed = "a string" if name == "text" else "a string or None"
                raise InputError(f"{name} must be {allowed}, got {safe_repr(value)}")
        object.__setattr__(self, "boosts", check_boosts(self.boosts))

    def with_filter(self, filter: Any) -> Question:
        """Return the same question with `filter`.

        Raises:
            InputError: it has one already.
        """
        if self.filter is not None:
            raise InputError("filter is given twice: in the Question and as an argument")
        return replace(self, filter=filter)

    @property
    def effective_query(self) -> str:
        """The rewritten question, or the text where there is none."""
        return self.rewritten or self.text


MAX_VARIANTS = 4
"""Words of the index looked up for a word that no chunk has."""
CHANNELS_BY_STRATEGY: Mapping[Strategy, frozenset[Channel]] = {
    "hybrid": frozenset({"vector", "keyword"}),
    "vector": frozenset({"vector"}),
    "keyword": frozenset({"keyword"}),
    "graph": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The services that can be asked, and what is known of the field."""

    has_index: bool = True
    external_channels: frozenset[Channel] = frozenset()
    """The channels that a custom retriever serves."""
    can_embed: bool = False
    reranker_count: int = 0
    """The number of rerankers; where one fails, the next is asked."""
    taxonomy: Taxonomy | None = None
    category_of: Classifier | None = None
    """None reads "category" of a chunk's metadata."""
    is_watched: bool = False
    """True if steps are reported to `on_stage`."""


def channels_to_search(config: RetrievalConfig, capabilities: Capabilities) -> frozenset[Channel]:
    """Return the channels of the strategy; a custom channel of questions joins the channels of "hybrid"."""
    questions = capabilities.external_channels & {"questions"} if config.strategy == "hybrid" else frozenset()
    return CHANNELS_BY_STRATEGY[config.strategy] | questions


def check_capabilities(config: RetrievalConfig, capabilities: Capabilities) -> None:
    """Check that every service that `config` needs is there.

    Raises:
        ConfigError: `strategy` needs an index, embeddings or a taxonomy that isn't there.
    """
    own_channels = CHANNELS_BY_STRATEGY[config.strategy] - capabilities.external_channels
    if own_channels and not capabilities.has_index:
        own = ", ".join(f"{name!r}: retriever" for name in sorted(own_channels))
        remedy = f"pass index= or channels={{{own}}}"
        raise ConfigError.worded("index", f"strategy={config.strategy!r} needs an index: {remedy}")
    if "vector" in own_channels and not capabilities.can_embed:
        remedy = "pass one, or write config=RetrievalConfig(strategy='keyword')"
        raise ConfigError.worded("embed", f"strategy={config.strategy!r} needs an embedding model: {remedy}")
    if config.strategy == "graph" and capabilities.taxonomy is None:
        raise ConfigError.worded("taxonomy", "strategy='graph' needs a taxonomy: pass taxonomy=")


def start_retrieval(
    question: Question, capabilities: Capabilities, clock: Callable[[], float]
) -> Generator[StageBegan | StageEnded, None, tuple[RetrievalRecorder, Resolution]]:
    """Return the log of a retrieval with the query of each channel, and what the taxonomy resolves."""
    log = RetrievalRecorder(clock, capabilities.is_watched)
    yield from log.begin("resolve", inputs={"query": question.effective_query})
    resolution = user_resolution = UNRESOLVED
    if capabilities.taxonomy is not None:
        resolution = capabilities.taxonomy.resolve(question.effective_query, question.filter)
        user_resolution = capabilities.taxonomy.resolve(question.text, question.filter)
    log.names = resolution.names
    texts = dict.fromkeys((question.effective_query, question.text))
    # Vectors, and assembly, take the question as it is meant, and the names that it resolves to. Words take the same,
    # the user's own, and the names of those. Rescue looks for the words of the question alone: nobody asked for names.
    log.queries = {
        "vector": " ".join((question.effective_query, *resolution.names)),
        "keyword": " ".join((*texts, *dict.fromkeys((*resolution.names, *user_resolution.names)))),
        "rescue": " ".join(texts),
        **({"questions": question.effective_query} if "questions" in capabilities.external_channels else {}),
    }
    yield from log.end((), lambda: {"names": [*resolution.names]} if resolution.names else {})
    return log, resolution


def search_channels(
    question: Question, config: RetrievalConfig, capabilities: Capabilities, log: RetrievalRecorder
) -> Generator[Batch, Any, tuple[list[ScoredChunk], QueryVocabulary | None]]:
    """Return the union of the channels' results, and the words searched."""
    channels = channels_to_search(config, capabilities)
    own_channels = channels - capabilities.external_channels
    preparations: dict[Channel, SearchRequest] = {}
    if "vector" in own_channels:
        preparations["vector"] = EmbedTexts((config.query_prefix + log.queries["vector"],))
    if "keyword" in own_channels:
        preparations["keyword"] = FindTerms(log.queries["keyword"], MAX_TERMS, MAX_VARIANTS, question.filter)
    prepared = yield from send_requests(preparations, config, log)
    vector = prepared["vector"][0] if "vector" in prepared else None
    vocabulary = _with_stop_word_weight(prepared["keyword"], config.stop_word_weight) if "keyword" in prepared else None
    log.terms = vocabulary.weights if vocabulary else {}

    requests: dict[Channel, SearchRequest] = {
        channel: SearchChannel(channel, log.queries[channel], config.candidates_per_channel, question.filter)
        for channel in sorted(channels & capabilities.external_channels)
    }
    if prepared:
        # One request for both channels of the index, so that each chunk that either finds gets both scores.
        own = SearchChunks(config.candidates_per_channel, vector, vocabulary, question.filter)
        requests["vector" if vector is not None else "keyword"] = own
    replies = yield from send_requests(requests, config, log)
    if channels and not replies:
        first, named = log.failures[0], "; ".join(map(describe_error, log.failures))
        raise StoreError(f"no channel answered: {named}") from first
    scored = [
        to_scored_chunks(channel, answer) if isinstance(requests.get(channel), SearchChannel) else answer
        for channel, answer in replies.items()
    ]
    return merge_channels(scored), vocabulary


def send_requests(
    requests: Mapping[Channel, SearchRequest], config: RetrievalConfig, log: RetrievalRecorder
) -> Generator[Batch, Any, dict[Channel, Any]]:
    """Return the replies by channel. A failure is noted, or raised if `on_search_error="raise"`."""
    if not requests:
        return {}
    log.round_trips += sum(not isinstance(request, EmbedTexts) for request in requests.values())
    outcomes = yield Batch(tuple(requests.values()))
    replies: dict[Channel, Any] = {}
    separate_requests: dict[Channel, SearchRequest] = {}
    for (channel, request), answer in zip(requests.items(), outcomes, strict=True):
        if not isinstance(answer, Exception):
            replies[channel] = answer
        elif isinstance(answer, ConfigError):
            raise answer  # such as a filter that can't be read: going on without the channel would hide it
        elif config.on_search_error == "raise":
            raise StoreError(f"the {channel} channel failed: {describe_error(answer)}") from answer
        elif isinstance(request, SearchChunks) and _is_hybrid_search(request) and not isinstance(answer, TimeoutError):
            separate_requests = {"vector": replace(request, vocabulary=None), "keyword": replace(request, vector=None)}
        else:
            log.failures.append(answer)
            name = "vector and keyword" if _is_hybrid_search(request) else channel
            log.notes.append(f"{name}: failed ({describe_error(answer)}), done without")
    if separate_requests:
        # Both were in one request, and one of them may be at fault, for example with vectors of another model.
        replies |= yield from send_requests(separate_requests, config, log)
    return replies


def _with_stop_word_weight(vocabulary: QueryVocabulary, stop_word_weight: float) -> QueryVocabulary:
    """Return the words of a query, with function words reduced to `stop_word_weight` of their weight.

    "What" and "explain" are rare in documents, so by rareness alone they would say much.
    """
    found_stop_words = sorted(stop_words({term.text for term in vocabulary.terms}))
    return replace(vocabulary, factors={**dict.fromkeys(found_stop_words, stop_word_weight), **vocabulary.factors})


def _is_hybrid_search(request: SearchRequest) -> bool:
    """Return True for a search of the index by vectors and words."""
    return isinstance(request, SearchChunks) and request.vector is not None and request.vocabulary is not None
