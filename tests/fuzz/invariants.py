"""What holds for every assembly, whatever it is given."""

from __future__ import annotations

import itertools
import json
import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

from builders import count
from ctxassembly import Context, Hit
from ctxassembly.tokens.budget import TokenBudget
from fuzz.cases import LOOKALIKES, Case

STANDING = ("kept", "cut", "compressed")


def check(context: Context, case: Case) -> None:
    """Nothing.

    Raises:
        AssertionError: something doesn't hold.
    """
    within_the_budget(context, case)
    unforged(context)
    decided(context, len(case.hits))
    traced(context, odd=bool(case.odd))
    cited(context, case)
    if not case.odd:
        of_the_hits(context, case.hits, [each.text for each in case.stored])


def within_the_budget(context: Context, case: Case) -> None:
    config = case.config
    limit = config.max_tokens.context if isinstance(config.max_tokens, TokenBudget) else config.max_tokens
    if limit is None:  # as many as the hits joined have, within bounds
        limit = context.trace.max_tokens
        assert limit <= 8_000
    counted = count(context.text, config.encoding)
    # Where a tokenizer counts tokens in an empty text, a context can't have fewer.
    assert context.token_count == context.trace.token_count == counted <= max(limit, count("", config.encoding))
    assert counted <= limit or not context.text
    assert context.trace.character_count == len(context.text) <= (config.max_characters or len(context.text))
    assert context.text.isascii() or context.text.encode()


def unforged(context: Context) -> None:
    """No line that looks like ours begins a line of the text."""
    assert not [line for line in context.text.splitlines() if line.strip().startswith(LOOKALIKES)]


def decided(context: Context, hits: int) -> None:
    """Every hit is in the trace with a reason, and what is in the context is what it says."""
    trace = context.trace
    assert trace.hits == hits
    assert sorted(each.rank for each in trace.decisions if each.distance == 0) == list(range(hits))
    standing = {chunk_id for passage in context.passages for chunk_id in passage.chunk_ids}
    assert standing <= {each.chunk_id for each in trace.decisions if each.outcome in STANDING}
    for each in trace.decisions:
        assert each.reason
        assert type(each.chunk_id) is type(each.document_id) is str
        # Of what stands in part, another chunk may have the sentences that were taken out.
        assert each.because_of is None or each.outcome in ("contained", "duplicate", "cut", "compressed")
        assert each.because_of is not None or each.outcome not in ("contained", "duplicate")
        assert each.because_of is None or each.because_of in standing
        assert each.outcome not in STANDING or each.chunk_id in standing
    assert len(trace.notes) == len([note for note in trace.notes if note and len(note) < 2_000])


def traced(context: Context, *, odd: bool = False) -> None:
    """Trace and citations are JSON that any reader takes, and a context survives a cache."""
    kept = context.to_dict()
    again = pickle.loads(pickle.dumps(context))
    assert (again.text, again.trace, repr(again.to_dict()["citations"])) == (
        context.text,
        context.trace,
        repr(kept["citations"]),
    )
    again = Context.from_dict(json.loads(json.dumps(kept, allow_nan=False, ensure_ascii=False).encode()))
    assert again.to_dict() == kept
    assert (again.text, again.trace.summary) == (context.text, context.trace.summary)
    if not odd:  # values that JSON has not come back as text or as lists
        assert again.sources() == context.sources()
    assert str(context.trace)


def cited(context: Context, case: Case) -> None:
    """Blocks are the text, labels count on, spans are where they say, and a character has one source."""
    text = context.text
    assert "\n\n".join(block.text for block in context.blocks) == text == text.strip()
    labeled = [block for block in context.blocks if block.citation is not None]
    assert len(context.blocks) - len(labeled) <= (case.supplement is not None)
    at = 0
    for source in context.provenance:
        assert at <= source.span[0] < source.span[1] <= len(text)
        at = source.span[1]
    chunks = {
        (piece.candidate.chunk.id, piece.candidate.chunk.text)
        for passage in context.passages
        for piece in passage.pieces
    }
    texts = Counter(chunk_id for chunk_id, _ in chunks)
    sources = Counter(source.chunk_id for source in context.provenance)
    for source in context.provenance:
        # Where copies stay, two texts may have one id.
        own = [whole[slice(*source.chunk_span)] for chunk_id, whole in chunks if chunk_id == source.chunk_id]
        assert text[slice(*source.span)] in own
        assert (source.start is None) == (source.end is None)
    assert not sources or labeled
    numbers = itertools.count(case.options.get("first_label", 1))
    for number, block in zip(numbers, labeled, strict=False):
        citation = block.citation
        assert citation is not None
        assert citation.label == str(number)
        assert text[slice(*block.span)] == block.text
        assert block.span[0] <= citation.span[0] <= citation.span[1] <= block.span[1]
        inside = [
            each for each in context.provenance if block.span[0] <= each.span[0] and each.span[1] <= block.span[1]
        ]
        assert {each.chunk_id for each in inside} <= set(citation.chunk_ids)
        assert not inside or citation.span == (inside[0].span[0], inside[-1].span[1])
        if context.format == "numbered":
            assert block.text.startswith(f"[{number}]")
        elif context.format == "source":
            assert block.text.startswith(f"[SOURCE {number}]")
    if case.config.enabled and case.config.dedup != "none":
        # Different texts that share an id are both told by it.
        own_ids = [each for each in context.provenance if texts[each.chunk_id] == 1]
        written = [(each.chunk_id, place) for each in own_ids for place in range(*each.chunk_span)]
        assert len(written) == len(set(written)), "a character has two sources"


def of_the_hits(context: Context, hits: Sequence[Hit], stored: Sequence[str]) -> None:
    """What stands in the context stands in what was handed in."""
    texts: dict[str, list[str]] = {}
    for hit in hits:
        texts.setdefault(hit.chunk.id, []).append(hit.chunk.text)
    for source in context.provenance:
        written = context.text[slice(*source.span)]
        assert any(written in text for text in (*texts.get(source.chunk_id, ()), *stored))


def shows(context: Context) -> None:
    """What a reader does with it afterwards."""
    page = context.to_html()
    assert "<html" in page
    assert "<script" not in page
    for style in ("grounded", "strict", "soft"):
        system, user = context.to_messages("What is it?", style)
        assert context.text in user["content"] or not context.text
        assert system["role"] == "system"
    labels = [citation.label for citation in context.citations]
    answer = " ".join(f"So it is [{label}]." for label in labels) + " And [9999], [0], 【3】, \ud800."
    resolved = context.resolve(answer)
    if context.has_labels:
        assert [citation.label for citation in resolved.citations] == labels
    assert context.resolve("").citations == ()
    context.check_quotes(f'It says "{context.text[:80]}" [1].')
    assert len(context.sources()) <= max(len(context.passages), 0)


def the_same(first: Context, again: Context) -> None:
    """Two contexts of the same input."""
    assert first.text == again.text
    one, other = first.to_dict(), again.to_dict()
    assert one["citations"] == other["citations"]
    assert one["trace"]["decisions"] == other["trace"]["decisions"]
    assert first.trace.notes == again.trace.notes


def fingerprint(case: Case) -> list[Any]:
    """Which objects the input is made of, and what is in those that may change."""
    return [
        [(id(hit), id(hit.chunk), *(id(getattr(hit.chunk, name)) for name in _FIELDS)) for hit in case.hits],
        [(id(chunk), *(id(getattr(chunk, name)) for name in _FIELDS)) for chunk in case.stored],
        [_held(hit.chunk.metadata) for hit in case.hits],
        [_held(chunk.metadata) for chunk in case.stored],
    ]


_FIELDS = ("id", "document_id", "text", "index", "start", "metadata", "vector")


def _shown(value: Any) -> str:
    try:
        return repr(value)[:2_000]
    except Exception:  # noqa: BLE001 - there are values that can't be shown
        return ""


def _held(metadata: Any) -> Any:
    if type(metadata) is not dict:
        return None
    return [(key, id(value), _shown(value)) for key, value in metadata.items()]
