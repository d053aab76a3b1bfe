"""The assembly itself: its stages in order, as a generator that asks for I/O instead of doing it.

It yields a request and is sent the reply, or thrown the error of the service: `FetchChunks` for neighbors,
`EmbedTexts` for vectors, `ScoreTexts` for scores of sentences, `CompressTexts` for extracts of a language model.
So sync and async callers share every line of it, and failures are handled here once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from ctxassembly.assembly.arguments import AssemblyCall, Services, check_call, unused_settings
from ctxassembly.assembly.decisions import RenderedSelection, make_decisions
from ctxassembly.assembly.dedup.dedup import Duplicates, check_vectors
from ctxassembly.assembly.expansion.admit import AdmittedHits, admit_hits
from ctxassembly.assembly.expansion.expand import expand_hits
from ctxassembly.assembly.expansion.fetch import fetch_policy
from ctxassembly.assembly.rendering.cite import cite
from ctxassembly.assembly.rendering.earlier import Earlier, SentChunk
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.rendering.render import BLOCK_SEPARATOR
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.selection.already_sent import Unsent, known_labels, leave_out_sent
from ctxassembly.assembly.selection.best_first import MAX_PARTS
from ctxassembly.assembly.selection.result import Selection
from ctxassembly.assembly.selection.scorer import request_scores
from ctxassembly.assembly.selection.select import select
from ctxassembly.assembly.selection.supplement import render_supplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.messages import given_above_note
from ctxassembly.data.candidates import (
    ALREADY_SENT,
    BELOW_CUTOFF,
    EMPTY,
    OUTSIDE_WINDOW,
    REPEATED,
    Candidate,
    CitationBlock,
    HeaderDetail,
    RenderedPart,
    RenderedSupplement,
)
from ctxassembly.data.chunks import RetrievedFragment
from ctxassembly.data.citations import Block
from ctxassembly.data.requests import Request
from ctxassembly.data.trace import Decision, Shortened, Trace
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import TokenCounter, counter_for
from ctxassembly.tracing import Lineage, TraceRecorder, count_by_reason, retain_hits
from ctxassembly.wording.formats import infer_format
from ctxassembly.wording.metadata_labels import MetadataReader

AssemblyFlow = Generator[Request, Sequence[Any], Context]


def assemble_flow(call: AssemblyCall, services: Services, clock: Callable[[], float]) -> AssemblyFlow:
    """Return the context for the hits of `call`. `clock` gives seconds and is used for the trace only.

    Raises:
        InputError: an argument of the call is of another type.
        ConfigError: semantic deduplication with neither embeddings nor a vector in a hit; compression by a language
            model without one; neighbors that have to be filtered, and no filter.
    """
    config, query = check_call(call, services)
    counter = counter_for(config.encoding)
    lineage, log = Lineage(), TraceRecorder(clock, services.is_observed)
    if isinstance(config.max_tokens, TokenBudget) and (cut_note := config.max_tokens.cut_note):
        log.notes.append(cut_note)
    if unused := unused_settings(config, has_store=services.store is not None):
        log.notes.append(f"enabled=False: hits are written as they came, without {' and '.join(unused)}")

    yield from log.begin("admit", len(call.hits) if isinstance(call.hits, Sequence) else 0)
    admitted = admit_hits(call.hits)
    log.notes += admitted.notes
    yield from log.end(len(admitted.candidates), lambda: count_by_reason([EMPTY] * len(admitted.empty)))

    if config.enabled and config.dedup == "semantic" and not services.can_embed:
        check_vectors((*admitted.candidates, *admitted.empty))
    duplicates = Duplicates(config, lineage, log.notes.append, can_embed=services.can_embed)
    policy = fetch_policy(config, query, services.store)
    neighbors, candidates = yield from expand_hits(admitted, config, policy, duplicates, log)
    all_candidates = (*admitted.candidates, *neighbors)
    joins = Joins(config)

    supplement = render_supplement(call.supplement, candidates, query, config, counter)
    unsent = Unsent(candidates, {})
    relevance = Relevance(candidates, query, config, counter, joins)
    if call.conversation is not None:
        yield from log.begin("conversation", len(candidates))
        unsent, relevance = _leave_out_sent(call.conversation, relevance)
        config = relevance.config
        lineage.record_forms(unsent.candidates)
        yield from log.end(len(unsent.candidates), lambda: {ALREADY_SENT: len(candidates) - len(unsent.candidates)})
    if services.can_score:
        relevance = yield from request_scores(relevance, supplement, log)
    if call.conversation is None or call.conversation.labels is None:
        result = yield from select(relevance, supplement, log)
    else:
        labels, citable = call.conversation.labels, (*all_candidates, *candidates)
        config, result = yield from _select_with_labels(labels, relevance, citable, supplement, log)
    lineage.record_forms((*result.candidates, *result.shortened.values()))
    lineage.record_duplicates(result.repeated_by, REPEATED)

    yield from log.begin("render", len(result.selected))
    rendered = _render(result, config, counter)
    cited_count = sum(len(passage.chunk_ids) for passage in rendered.cited.passages)
    yield from log.end(
        cited_count,
        lambda: {
            "labels": len(rendered.labels),
            "tokens": result.token_count,
            "characters": len(rendered.cited.text),
        },
    )

    decisions = make_decisions(all_candidates, admitted.empty, lineage, rendered, unsent.labels, query)
    trace = _build_trace(admitted, rendered, decisions, config, log)
    context = _build_context(rendered, trace, query, config, retain_hits(admitted.hits))
    if call.conversation is None:
        return context
    context = replace(context, earlier_citations=call.conversation.citations)
    if context.text or not unsent.labels:
        return context
    return _with_given_above(
        context, unsent, _sources_of_copies(all_candidates, lineage, unsent, config), config, counter
    )


def _leave_out_sent(conversation: Conversation, relevance: Relevance) -> tuple[Unsent, Relevance]:
    """Return the candidates of `relevance` without what `conversation` has, and the relevance with its labels."""
    config, candidates = relevance.config, relevance.candidates
    first_label = max(config.first_label, conversation.next_label)
    config = replace(config, first_label=first_label)
    unsent, sent_chunks = Unsent(tuple(candidates), {}), dict[tuple[str, int], SentChunk]()
    if config.enabled and config.repeat == "never":
        unsent, sent_chunks = leave_out_sent(candidates, conversation, relevance.joins)
    source_of = MetadataReader(config.keys, config.language).source
    labels = known_labels(conversation, (candidate.chunk for candidate in candidates), source_of, config)
    max_label = first_label + len(candidates) * MAX_PARTS * conversation.label_step
    earlier = Earlier(labels, max_label, sent_chunks, conversation.label_step)
    return unsent, replace(relevance, candidates=unsent.candidates, config=config, scored=candidates, earlier=earlier)


def _sources_of_copies(
    candidates: Sequence[Candidate], lineage: Lineage, unsent: Unsent, config: AssemblyConfig
) -> list[str]:
    """Return the names of the other documents that have the text of candidates which were left out as sent."""
    copies, reader = lineage.duplicates(), MetadataReader(config.keys, config.language, for_header=True)
    pairs = ((copies[one.key][0], one.chunk) for one in candidates if one.key in copies)
    return [
        reader.source(chunk)
        for original, chunk in pairs
        if original.key in unsent.labels and original.chunk.document_id != chunk.document_id
    ]


def _with_given_above(
    context: Context, unsent: Unsent, other_sources: Sequence[str], config: AssemblyConfig, counter: TokenCounter
) -> Context:
    """Return the empty `context` with a line that says where everything is, if that fits."""
    for sources in (other_sources, ()):
        text = given_above_note(context, unsent.labels.values(), sources)
        tokens = counter.count(text)
        if tokens <= config.token_limit and len(text) <= (config.max_characters or len(text)):
            trace = replace(context.trace, token_count=tokens, character_count=len(text))
            blocks = (Block(text, (0, len(text)), None),)
            return replace(context, text=text, token_count=tokens, blocks=blocks, trace=trace)
    return context


def _select_with_labels(
    labels: Labels,
    relevance: Relevance,
    citable: Sequence[Candidate],
    supplement: RenderedSupplement,
    log: TraceRecorder,
) -> Generator[Request, Sequence[Any], tuple[AssemblyConfig, Selection]]:
    """Return the selection and its config, whose first label is the next one of `labels`.

    A header is longer or shorter by its number, so the numbers are needed before the selection and their count is
    known only after it: as many as could be used are reserved, and the rest is released. `citable` are all forms of the
    candidates: a document id that two texts share is one before expansion and may be two after it.
    """
    config = relevance.config
    is_per_document = config.enabled and config.cite == "document"
    max_labels = len({candidate.chunk.document_id if is_per_document else candidate.key for candidate in citable})
    max_labels *= MAX_PARTS if config.order == "auto" else 1
    used_end = first = labels.reserve(max_labels, config.first_label)
    end = first + max_labels
    config = replace(config, first_label=first)
    try:
        earlier = replace(relevance.earlier, max_label=end, label_step=1)
        result = yield from select(replace(relevance, config=config, earlier=earlier), supplement, log)
        used_end = max([first, *(number + 1 for number in result.layout.label_numbers())])
    finally:
        labels.release(used_end, end)
    return config, result


def _render(selection: Selection, config: AssemblyConfig, counter: TokenCounter) -> RenderedSelection:
    """Render and cite `selection`."""
    layout = selection.layout
    kept = [(candidate, candidate.text) for candidate in selection.selected]
    tokens = layout.token_count - counter.tokens(layout.typesetter.supplement)
    chars_per_token = sum([len(text) for _, text in kept]) / max(tokens, 1)
    shortened = {
        candidate.key: _shortening_record(candidate, text, counter, chars_per_token, config.token_limit)
        for candidate, text in kept
        if candidate.kept_spans is not None
    }
    labels = layout.labels()
    blocks: list[tuple[CitationBlock | None, Sequence[RenderedPart]]] = [
        *zip(labels, layout.blocks(selection.header_detail), strict=True)
    ]
    if supplement := selection.supplement.parts:
        blocks.insert(0 if selection.supplement.is_first else len(blocks), (None, supplement))
    # A header leaves out what the model is not to read; whoever reads a citation may.
    has_hidden_keys = any(candidate.chunk.hidden_from_header for candidate, _ in kept)
    metadata_reader = MetadataReader(config.keys, config.language) if has_hidden_keys else layout.particulars
    cited = cite(blocks, layout.label_numbers(), BLOCK_SEPARATOR, metadata_reader, shortened)
    return RenderedSelection(selection, labels, shortened, metadata_reader, cited)


def _shortening_record(
    candidate: Candidate, kept_text: str, counter: TokenCounter, chars_per_token: float, max_tokens: int
) -> Shortened:
    """Return the record of a shortened candidate, with its tokens before and after."""
    chunk = candidate.chunk
    reason = candidate.shortened_by or "budget"
    texts = chunk.text.strip(), kept_text.strip()
    if reason == "sentence":  # so are nearly all: counting them would take as long as counting the context
        before, after = [max(round(len(text) / chars_per_token), 1) for text in texts]
    else:
        before, after = [counter.estimate(text, max_tokens) for text in texts]
    return Shortened(chunk.id, reason, before, after)


def _build_trace(
    admitted: AdmittedHits,
    rendered: RenderedSelection,
    decisions: tuple[Decision, ...],
    config: AssemblyConfig,
    log: TraceRecorder,
) -> Trace:
    """Return the trace, with the figures of its summary."""
    selection = rendered.selection
    not_for_budget = (BELOW_CUTOFF, OUTSIDE_WINDOW)
    uncounted = {key for key, exclusion in selection.exclusions.items() if exclusion.reason in not_for_budget}
    uncounted |= selection.repeated_by.keys()
    documents = {candidate.chunk.document_id for candidate in selection.candidates if candidate.key not in uncounted}
    return Trace(
        decisions=decisions,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(admitted.hits),
        chunks=len(decisions) - [decision.reason for decision in decisions].count(OUTSIDE_WINDOW),
        round_trips=log.round_trips,
        missing=log.missing,
        unscoped=log.unscoped,
        token_count=selection.token_count,
        max_tokens=config.token_limit,
        character_count=len(rendered.cited.text),
        max_characters=config.max_characters,
        documents_dropped=len(documents - {candidate.chunk.document_id for candidate in selection.selected}),
    )


def _build_context(
    rendered: RenderedSelection,
    trace: Trace,
    query: str | None,
    config: AssemblyConfig,
    hits: tuple[RetrievedFragment, ...],
) -> Context:
    cited = rendered.cited
    return Context(
        text=cited.text,
        token_count=trace.token_count,
        passages=cited.passages,
        citations=tuple(block.citation for block in cited.blocks if block.citation is not None),
        blocks=cited.blocks,
        provenance=cited.provenance,
        trace=trace,
        query=query,
        format=_answer_format(rendered, config),
        language=config.language,
        keys=config.keys,
        hits=hits,
        encoding=str(config.encoding) if isinstance(config.encoding, str) else config.encoding,
        sanitized=config.sanitize,
    )


def _answer_format(rendered: RenderedSelection, config: AssemblyConfig) -> str:
    """Return the format whose labels an answer should use; for a caller's function it is derived from its headers."""
    detail = rendered.selection.header_detail
    if detail is HeaderDetail.NONE:  # then it is what the minimal format gives: no label to ask for
        return "minimal"
    if isinstance(config.format, str):
        return config.format
    numbers = (block.citation.label for block in rendered.cited.blocks if block.citation is not None)
    blocks = rendered.selection.layout.blocks(detail)
    headers = (block[0].text if block[0].candidate is None else "" for block in blocks)
    return infer_format(dict(zip(numbers, headers, strict=True)))
