"""The draft of a context: the candidates that are selected, and what it costs to select more.

Joining, ordering, rendering and counting meet here, so that the budget weighs exactly what is written in the end.

A layout is a value. Selection queries it (`fits`, `token_count_with`) as often as needed and gets another one from
`with_candidates`; no layout ever changes. Two layouts share all groups that don't differ, so another one costs no more
than the groups that change.

Each query uses the cheapest of three ways:

1. `might_fit` computes a lower bound of the tokens that candidates add, without joining or rendering anything.
2. Where counts add up, the groups that change are joined, rendered and counted, and exchanged in the sum of all
   (`measure.py`). So a trial costs what it changes, not what is selected already: without a query, 1,000 hits take a
   fifth of the time that the straightforward assembler takes (`tests/bench/README.md`).
3. Elsewhere all is rendered and counted: with an encoding that promises nothing, below the headers of a function of the
   caller's, and with less than a full header.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from ctxassembly.assembly.rendering.earlier import NOTHING_EARLIER, Earlier
from ctxassembly.assembly.rendering.groups import (
    DocumentGroup,
    GetJoin,
    GroupKey,
    Size,
    added_texts,
)
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.rendering.measure import EMPTY_SIZE, GetTokenStarts, PlacedRun, Typesetter
from ctxassembly.assembly.rendering.parts import Parts
from ctxassembly.assembly.rendering.render import Renderer
from ctxassembly.cached_property import cached_property
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import (
    NO_SUPPLEMENT,
    Candidate,
    CitationBlock,
    HeaderDetail,
    RenderedPart,
    RenderedSupplement,
)
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.tokens.counter import MAX_TOKEN_CHARS, TokenCounter
from ctxassembly.wording.metadata_labels import MetadataReader

MANY_CANDIDATES = 32
"""Number of candidates above which a lower bound is computed before anything is rendered."""


class Trial(NamedTuple):
    """A layout with `candidates` added: the groups that change, and the size of the whole context."""

    candidates: Sequence[Candidate]
    changed: Mapping[GroupKey, DocumentGroup]
    tokens: int
    characters: int
    total_size: Size
    """The sum of the sizes of its groups, where counts add up."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The selected candidates, grouped by document and in the configured order, and their rendered cost.

    A supplement comes after all of them, or before, and is in every count, but in no label.
    """

    typesetter: Typesetter
    token_count: int
    """Tokens of the whole context."""
    groups: Mapping[GroupKey, DocumentGroup] = field(default_factory=dict)
    last_group: DocumentGroup | None = None
    """The group that comes last in the order of documents."""
    total_size: Size = EMPTY_SIZE
    """The sum of the sizes of all groups, each with a separator after it, where counts add up."""
    last_trials: dict[bool, Trial] = field(default_factory=dict, init=False)
    """The last try with full headers that fits, and the last one that doesn't: candidates that fit are mostly selected
    next. A cache, no part of the value."""

    @property
    def config(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.typesetter.config

    @property
    def max_tokens(self) -> int:
        """The token budget."""
        return self.typesetter.config.token_limit

    @property
    def particulars(self) -> MetadataReader:
        """Reads the metadata that headers name."""
        return self.typesetter.renderer.particulars

    @property
    def is_empty(self) -> bool:
        """True if nothing is selected."""
        return not self.groups

    def has_candidate(self, candidate: Candidate) -> bool:
        """Return True if `candidate`, or a part of it, is selected."""
        return candidate.key in self._selected_keys

    def text_tokens(self, candidate: Candidate) -> int:
        """Return the tokens of the candidate's text alone; estimated where even its beginning is too much."""
        return self.typesetter.counter.estimate(candidate.text, self.max_tokens)

    def chars_per_token(self, candidate: Candidate) -> float:
        """Return the characters per token in the text of `candidate`: the best one's is a guess for the others."""
        return len(candidate.text) / max(self.text_tokens(candidate), 1)

    def cleared(self) -> Layout:
        """Return the layout of nothing but the supplement."""
        return Layout(self.typesetter, self.typesetter.counter.tokens(self.typesetter.supplement))

    def in_parts(self, parts: Parts) -> Layout:
        """Return the layout of nothing but the supplement, whose candidates will be read in `parts`."""
        return Layout(self.typesetter.in_parts(parts), self.token_count)

    def cut_at(self, token_starts: GetTokenStarts) -> Layout:
        """Return the same layout, whose text is counted between `token_starts`: most sentences were counted before."""
        return replace(self, typesetter=self.typesetter.cut_at(token_starts))

    def label_numbers(self) -> list[int]:
        """Return the number of each label."""
        return [number for placed_run in self._placed_runs for number in placed_run.numbers]

    def labels(self) -> list[CitationBlock]:
        """Return the labels, from the first one on."""
        return [label for placed_run in self._placed_runs for label in placed_run.rendered_labels]

    def blocks(self, detail: HeaderDetail = HeaderDetail.FULL) -> list[list[RenderedPart]]:
        """Return the parts of each label's block."""
        return [block for placed_run in self._placed_runs for block in self.typesetter.blocks(placed_run, detail)]

    def might_fit(self, candidates: Sequence[Candidate], detail: HeaderDetail = HeaderDetail.FULL) -> bool:
        """Return False only if `candidates` certainly don't fit, which is determined without rendering anything.

        Included text keeps its tokens, except for the headers and separators of documents that `candidates` join.
        """
        typesetter = self.typesetter
        if not typesetter.has_lower_bound or self.total_size.not_additive:
            return True
        free_tokens, texts, unjoined = self._free_tokens, list[str](), []
        is_part = len(candidates) == 1 and candidates[0].kept_spans is not None and detail is HeaderDetail.FULL
        parts = typesetter.parts if self.groups else None  # where nothing is included, it counts the same undivided
        for key, new in typesetter.group_candidates(candidates, parts).items():
            group = self.groups.get(key)
            if group is None or group.measured is None:
                unjoined.append(new)
                if is_part and new[0] is candidates[0]:
                    # Most beginnings that don't fit have no tokens left for a header; for whole chunks text decides.
                    free_tokens -= typesetter.min_header_tokens(new[0]) + self._separator_tokens
                continue
            measured = group.measured
            free_tokens += measured.total.fixed_tokens - measured.total.verbatim_tokens
            if not measured.total.contained_count:
                texts += added_texts(new, group.candidates, typesetter.get_join)
        # Of many documents the first few are mostly too much already: the others needn't be looked at.
        others = (text for new in unjoined for text in added_texts(new, (), typesetter.get_join))
        return not typesetter.counter.exceeds(chain(texts, others), free_tokens)

    def fits(self, candidates: Sequence[Candidate], detail: HeaderDetail = HeaderDetail.FULL) -> bool:
        """Return True if the context with `candidates` added keeps within `max_tokens` and `max_characters`."""
        trial = self._known_trial(candidates, detail)
        if trial is None:
            max_length = self.max_tokens * MAX_TOKEN_CHARS if self.typesetter.counter.additive else math.inf
            has_long = any(len(candidate.chunk.text) > max_length for candidate in candidates)
            # A part of a chunk is one of several tries: usually its first words already show that it is too long.
            is_part = len(candidates) == 1 and candidates[0].kept_spans is not None and detail is HeaderDetail.FULL
            if (has_long or is_part or len(candidates) > MANY_CANDIDATES) and not self.might_fit(candidates, detail):
                return False
            trial = self._trial(candidates, detail)
        return trial.tokens <= self.max_tokens and trial.characters <= self.max_characters

    def token_count_with(self, candidates: Sequence[Candidate], detail: HeaderDetail = HeaderDetail.FULL) -> int:
        """Return the tokens of the whole context with `candidates` added."""
        return self._trial(candidates, detail).tokens

    def header_share(self, candidate: Candidate, detail: HeaderDetail) -> float:
        """Return the share of the budget that header and footer of `candidate` take, in tokens or characters."""
        whole, bare = self._trial([candidate], detail), self._trial([candidate], HeaderDetail.NONE)
        tokens, characters = whole.tokens - bare.tokens, whole.characters - bare.characters
        return max(tokens / self.max_tokens, characters / self.max_characters)

    def with_candidates(self, candidates: Sequence[Candidate]) -> Layout:
        """Return the layout with `candidates` selected, too, whether they fit or not."""
        trial = self._trial(candidates, HeaderDetail.FULL)
        last_group = self._last_group_with(trial.changed) if trial.changed else self.last_group
        return Layout(self.typesetter, trial.tokens, {**self.groups, **trial.changed}, last_group, trial.total_size)

    @cached_property
    def _free_tokens(self) -> int:
        """The tokens that remain for new candidates, next to the text whose tokens can't change."""
        return self.max_tokens - self.typesetter.supplement.inner_count - self.total_size.fixed_tokens

    @cached_property
    def _separator_tokens(self) -> int:
        """The tokens of separators that remain if another group joins: all current separators but one."""
        if not self.typesetter.is_by_document:
            return 0
        longest = max([0, *(self.typesetter.measure_group(group).separator_tokens for group in self.groups.values())])
        return self.total_size.tokens - self.total_size.fixed_tokens - longest

    @cached_property
    def _selected_keys(self) -> frozenset[int]:
        return frozenset(candidate.key for group in self.groups.values() for candidate in group.candidates)

    @cached_property
    def _placed_runs(self) -> list[PlacedRun]:
        return self.typesetter.place_runs(self.groups.values())

    @property
    def max_characters(self) -> float:
        """The budget in characters; infinite if there is none."""
        return self.typesetter.config.max_characters or math.inf

    def _known_trial(self, candidates: Sequence[Candidate], detail: HeaderDetail) -> Trial | None:
        """Return the try of `candidates` if it is one of the last ones."""
        for trial in self.last_trials.values() if detail is HeaderDetail.FULL else ():
            if trial.candidates is candidates:
                return trial
        return None

    def _trial(self, candidates: Sequence[Candidate], detail: HeaderDetail) -> Trial:
        """Return the size of the whole context with `candidates`."""
        if (known := self._known_trial(candidates, detail)) is not None:
            return known
        typesetter = self.typesetter
        changed = typesetter.changed_groups(self.groups, candidates)
        total_size = self._total_size_with(changed) if detail is HeaderDetail.FULL else EMPTY_SIZE
        if total_size.labels and not total_size.not_additive:
            tokens, characters = self._size_with(changed, total_size)
        else:
            whole = typesetter.measure_all({**self.groups, **changed}.values(), detail)
            tokens, characters = typesetter.counter.tokens(whole), whole.characters
        trial = Trial(candidates, changed, tokens, characters, total_size)
        if detail is HeaderDetail.FULL:
            self.last_trials[trial.tokens <= self.max_tokens] = trial
        return trial

    def _total_size_with(self, changed: Mapping[GroupKey, DocumentGroup]) -> Size:
        """Return the sum of the sizes of all groups with `changed`, where counts add up."""
        typesetter, total = self.typesetter, self.total_size
        for key, group in changed.items() if typesetter.is_additive else ():
            if key in self.groups:
                total = total.minus(typesetter.measure_group(self.groups[key]).total)
            total = total.plus(typesetter.measure_group(group).total)
        return total

    def _size_with(self, changed: Mapping[GroupKey, DocumentGroup], total: Size) -> tuple[int, int]:
        """Return the tokens and characters of the whole context with `changed`, whose groups have `total`."""
        typesetter = self.typesetter
        tokens, characters = typesetter.label_digits(total.labels)
        tokens += total.tokens
        characters += total.characters
        supplement = typesetter.opening or typesetter.supplement
        if typesetter.opening or not supplement.characters:  # nothing comes after the last separator
            tokens -= self._last_separator_tokens(changed)
            characters -= typesetter.separator.characters
        return tokens + typesetter.counter.tokens(supplement), characters + supplement.characters

    def _last_separator_tokens(self, changed: Mapping[GroupKey, DocumentGroup]) -> int:
        """Return the tokens that a separator after all blocks adds."""
        typesetter = self.typesetter
        if typesetter.order == "documents":
            return typesetter.measure_group(self._last_group_with(changed)).separator_tokens
        run = typesetter.place_runs({**self.groups, **changed}.values())[-1].run
        if not typesetter.is_by_document:
            return typesetter.separator_tokens(run.labels[-1])
        key = (0, run.sort_keys.document_id)
        return typesetter.measure_group(changed[key] if key in changed else self.groups[key]).separator_tokens

    def _last_group_with(self, changed: Mapping[GroupKey, DocumentGroup]) -> DocumentGroup:
        """Return the group that comes last in the order of documents with `changed`."""
        last_group = self.last_group
        if (
            last_group is not None
            and last_group.key in changed
            and changed[last_group.key].sort_key < last_group.sort_key
        ):
            return max([*{**self.groups, **changed}.values()], key=_sort_key)
        others = [] if last_group is None or last_group.key in changed else [last_group]
        return max([*changed.values(), *others], key=_sort_key)


def empty_layout(
    config: AssemblyConfig,
    counter: TokenCounter,
    candidates: Iterable[Candidate] = (),
    supplement: RenderedSupplement = NO_SUPPLEMENT,
    get_join: GetJoin | None = None,
    earlier: Earlier = NOTHING_EARLIER,
) -> Layout:
    """Return the layout of nothing but a `supplement`, for some of `candidates` to be added."""
    summaries = _summaries(candidates, config.summary_key)
    renderer = Renderer(config, earlier, supplement.own_lines)
    typesetter = Typesetter(renderer, counter, get_join or Joins(config), summaries, supplement)
    return Layout(typesetter, counter.tokens(typesetter.supplement))


def _summaries(candidates: Iterable[Candidate], keys: Sequence[str]) -> Mapping[str, str]:
    """Return the first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    first_keys = {*keys, *(key.partition(".")[0] for key in keys)}
    for candidate in candidates:
        if candidate.chunk.metadata.keys().isdisjoint(first_keys):  # as in most chunks
            continue
        if summary := page_summary(candidate, keys):
            document_id, position = candidate.chunk.document_id, candidate.position
            if document_id not in found or position < found[document_id][0]:
                found[document_id] = (position, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}


def page_summary(candidate: Candidate, keys: Iterable[str]) -> str:
    """Return the page summary in the candidate's metadata; "" if there is none."""
    chunk = candidate.chunk
    for key in keys:
        value = get_path(chunk.metadata, key)
        if isinstance(value, str) and value.strip() and not chunk.is_hidden_from_model(key):
            return str.__str__(value)
    return ""


def _sort_key(group: DocumentGroup) -> tuple[tuple[int, int], str, int]:
    return group.sort_key
