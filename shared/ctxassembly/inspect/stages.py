"""The chunks on their way through the stages: how many are left, tokens saved, time taken."""

from __future__ import annotations

from ctxassembly.data.citations import Assembled
from ctxassembly.inspect.markup import Html, joined, tag
from ctxassembly.inspect.savings import LEFT_OUT, Saved, left_out, saved
from ctxassembly.inspect.tables import meter, number, row, table
from ctxassembly.inspect.tally import funnel

DOES = {
    "admit": "checks what was retrieved",
    "dedup": "removes exact copies",
    "expand": "fetches neighbours",
    "near dedup": "removes what is nearly the same",
    "semantic dedup": "removes what means the same",
    "score": "asks a scorer about sentences",
    "budget": "keeps what has room",
    "repeats": "says once what passages share",
    "render": "joins, labels, writes",
}
"""The purpose of each stage."""


def stages(context: Assembled) -> Html:
    """A table of the stages, and tables of the tokens saved and of the chunks left out."""
    trace = context.trace
    most = max((max(stage.chunks_in, stage.chunks_out) for stage in trace.stages), default=0) or 1
    savings = saved(context)
    rows = [
        row(
            joined(stage.name, " ", tag("span", DOES.get(stage.name, ""), class_="cxa-does")),
            f"{stage.chunks_in:,} → {stage.chunks_out:,}",
            meter(stage.chunks_out / most),
            number(_tokens(savings, place)),
            number(stage.elapsed_ms, 2),
            numbers=(1, 3, 4),
        )
        for place, stage in enumerate(trace.stages)
    ]
    way = " → ".join(map(number, funnel(trace))) or "0"
    columns = ("stage", "chunks", "what is left", "tokens saved", "ms")
    steps = table(f"{way} chunks", columns, rows, (1, 3, 4))
    return tag(
        "div",
        steps,
        tag("div", _saved([saving for saving in savings if saving.rule != LEFT_OUT]), _left_out(context)),
        class_="cxa-halves",
    )


def _tokens(savings: list[Saved], place: int) -> int | None:
    """Tokens that the stage at `place` saved; None if it saved none, or nobody knows."""
    known = [saving.tokens for saving in savings if saving.stage == place and saving.tokens is not None]
    return sum(known) if known else None


def _saved(savings: list[Saved]) -> Html:
    if not savings:
        return tag("p", "Nothing was there to be saved.", class_="cxa-soft")
    rows = []
    for saving in savings:
        partly = "" if saving.tokens is None or saving.counted == saving.chunks else f" (of {saving.counted:,} chunks)"
        rows.append(row(saving.rule, number(saving.chunks), number(saving.tokens) + partly, numbers=(1, 2)))
    return table("What the model needn’t read", ("rule", "chunks", "tokens saved"), rows, (1, 2))


def _left_out(context: Assembled) -> Html:
    found = left_out(context.trace)
    if not found:
        return tag("p", "Nothing was left out.", class_="cxa-soft")
    rows = [row(rule.reason, number(rule.chunks), number(rule.tokens or None), numbers=(1, 2)) for rule in found]
    return table("What was left out, and what it would have cost", ("reason", "chunks", "tokens"), rows, (1, 2))
