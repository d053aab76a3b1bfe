"""A model's context window shared out in zones, and the tokens they leave for retrieved text.

Kinds of text that compete for one room divide it by floors, caps and order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.history import Message, history_tokens
from ctxassembly.tokens.models import Model, model_info, window_of

ZONES = ("system", "query", "conversation", "generation", "buffer")

DEFAULT_OUTPUT_TOKENS = 1_024
"""Tokens that the published rule for models keeps for the answer."""
DOCUMENTS, CONVERSATION = "documents", "conversation"
"""The shares that are counted. Any other name is the caller's own."""


@dataclass(frozen=True, slots=True)
class Share:
    """One kind of text in the prompt, with the fewest and the most tokens that it gets.

    >>> Share("documents", floor=2_000, cap=8_000).limit(wanted=10_000)
    8000
    """

    name: str
    """"documents", "conversation", or a name of your own, such as "tool_results"."""
    floor: int = 0
    """Tokens that it gets before any share gets more than its floor, if it wants them."""
    cap: int | None = None
    """The most tokens that it gets; None means no cap."""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.strip()):
            raise ConfigError("Share.name", "a name that is not blank", self.name)
        check_int("Share.floor", self.floor, 0)
        if self.cap is not None:
            check_int("Share.cap", self.cap, max(self.floor, 1))

    def limit(self, wanted: int) -> int:
        """Return the tokens it may get of those `wanted`."""
        return max(0, wanted if self.cap is None else min(wanted, self.cap))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Zones of a model's context window, all in tokens; `context` has those left for retrieved text.

    The default zones are the published ones for a window of 128,000: system 4,000, context 32,000, conversation 8,000,
    query 1,000, generation 4,000, buffer 1,000.

    >>> TokenBudget().context, TokenBudget(context_cap=None).context
    (32000, 110000)

    Other uses divide the window differently:

    | use | zones | `context`, its share |
    |---|---|---|
    | document analysis | `TokenBudget(conversation=0, generation=8_000, context_cap=None)` | 114,000 (89 %) |
    | support chat | `TokenBudget(window=32_768, system=2_000, conversation=16_000, generation=1_000)` | 11,768 (36 %) |
    | single turns | `TokenBudget(window=8_192, system=500, conversation=0, generation=1_000)` | 4,692 (57 %) |

    Document analysis gives nearly all of a large window to the files, and the rest to a long answer. A chat keeps room
    for its history, which `trim_history` limits to `conversation`. A single turn has no history, which leaves more of a
    small window.

    With `shares`, documents, conversation and tool results share what the other zones leave, instead of a fixed zone
    each. The last share is reduced first, down to its floor:

    >>> shares = Share("conversation", floor=1_000, cap=4_000), Share("documents", floor=2_000), Share("tool_results")
    >>> budget = TokenBudget(window=16_000, shares=shares)
    >>> budget.divide({"conversation": 900, "documents": 4_000, "tool_results": 9_000})
    {'conversation': 900, 'documents': 4000, 'tool_results': 1100}
    """

    window: int = 128_000
    """The most tokens that the model takes, its answer included."""
    system: int = 4_000
    query: int = 1_000
    conversation: int = 8_000
    generation: int = 4_000
    buffer: int = 1_000
    """Room for tokens that nobody counted, such as role markers and tool definitions."""
    context_cap: int | None = 32_000
    """The most tokens of the context, even if the zones leave more; None means no cap."""
    encoding: str | Callable[[str], int] | None = None
    """The tiktoken encoding of the model, if it has one, or a function from a text to its number of tokens."""
    shares: tuple[Share, ...] = ()
    """What competes for the room that the prompt and the answer leave, most important first; one is "documents".
    `conversation` then is what the conversation wants, and `context_cap` what the documents want."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", check_shares(self.shares))
        check_int("TokenBudget.window", self.window, 1)
        for zone in ZONES:
            check_int(f"TokenBudget.{zone}", getattr(self, zone), 0)
        if self.context_cap is not None:
            check_int("TokenBudget.context_cap", self.context_cap, 1)
        if self.context < 1:
            spent = " + ".join(f"{zone} {getattr(self, zone):,}" for zone in ZONES)
            spent += "".join(f" + the floor of {share.name}, {share.floor:,}" for share in self.shares if share.floor)
            raise ConfigError("TokenBudget.window", f"more than the zones take together ({spent})", self.window)

    @property
    def context(self) -> int:
        """Tokens left for the context by the other zones, at most `context_cap`."""
        if self.shares:
            return self.divide(self._wanted)[DOCUMENTS]
        return self.room if self.context_cap is None else min(self.context_cap, self.room)

    @property
    def room(self) -> int:
        """Tokens that the other zones leave for `shares`; without shares, for the context alone."""
        left = self.window - self.system - self.query - self.generation - self.buffer
        return left if any(share.name == CONVERSATION for share in self.shares) else left - self.conversation

    def divide(self, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return the tokens that each of `shares` gets if it needs the tokens in `wanted`.

        None means that each takes all it can. A share is guaranteed what it gets then, so use this number for trimming:
        `trim_messages(max_tokens=...)` of LangChain, `Memory.from_defaults(token_limit=...)` of LlamaIndex.

        Raises:
            ConfigError: a name is none of the shares'.
        """
        names = [share.name for share in self.shares]
        if wanted is None:
            wanted = dict.fromkeys(names, self.room)
        if unknown := sorted(set(wanted) - set(names)):
            raise ConfigError("wanted", f"tokens by the names of the budget's shares, {names}", unknown)
        return divide(self.room, self.shares, wanted)

    @property
    def _wanted(self) -> dict[str, int]:
        """What each share wants; those that no zone speaks of want all they can get."""
        wanted = dict.fromkeys([share.name for share in self.shares], max(0, self.room))
        known = {CONVERSATION: self.conversation, DOCUMENTS: self.context_cap or self.room}
        return wanted | {name: known[name] for name in known if name in wanted}

    @property
    def cut_note(self) -> str | None:
        """A note for the trace if the documents get less than they want; None if they don't."""
        if self.shares:
            wanted = {name: self._wanted[name] for name in (CONVERSATION, DOCUMENTS) if name in self._wanted}
            if self.context_cap is None:
                wanted.pop(DOCUMENTS)  # they take what is left, whatever that is
            return division_note(self.shares, wanted, self.divide(self._wanted))
        if self.context_cap is None or self.context_cap <= self.context:
            return None
        return (
            f"budget: {self.context_cap:,} tokens cut to the {self.context:,} that a window of {self.window:,} leaves"
        )

    @property
    def total(self) -> int:
        """Tokens of all zones and shares: the most of the window that is ever used."""
        return self.window - self.room + (sum(self.divide(self._wanted).values()) if self.shares else self.context)

    @classmethod
    def for_model(
        cls,
        model: str | object,
        *,
        window: int | None = None,
        system_prompt: str = "",
        question: str = "",
        history: Sequence[Message] = (),
        generation: int | None = None,
        buffer: int = 64,
        context_cap: int | None = None,
        shares: Sequence[Share] = (),
    ) -> TokenBudget:
        """Return the budget of one request to `model`: its prompt, question and history are counted, not estimated.

        This is the other published rule: window - system - query - output - 64. Tokens are counted in the model's own
        encoding if it is one of OpenAI's, else in cl100k_base; raise `buffer` for what that misses.

        >>> budget = TokenBudget.for_model("llama3.2:3b", system_prompt="Answer from the sources.", question="Who?")
        >>> budget.window, budget.system, budget.query, budget.context
        (128000, 5, 2, 126905)

        Args:
            model: its name, or the model itself: a LlamaIndex LLM (read from its `metadata`) or a LangChain chat model
                (read from its `profile`). If these don't say the window, it is looked up by the model's name: local
                models in a published table, hosted ones in the package genai-prices.
            window: the window in tokens, in place of the one looked up; then any name will do.
            system_prompt: the instructions, without the retrieved text.
            question: the user's question.
            history: the messages before it, as strings or as objects or mappings with `content`.
            generation: tokens kept for the answer; by default 1,024, but at most half of the window, or the model's own
                limit if that is higher.
            buffer: tokens kept for text that nobody counted.
            context_cap: the most tokens of the context; None means no cap.
            shares: what competes for the room that is left, most important first.

        Raises:
            ConfigError: the model is unknown and no window is given, or the zones leave no token for the context.
            InputError: `model` is neither a name nor an object that names a model or a window.
            ImportError: the window of a hosted model has to be looked up, and genai-prices is not installed.
        """
        info = Model(model) if isinstance(model, str) else model_info(model)
        if info is None and window is None:
            allowed = "a name, or an LLM that says what it is"
            raise InputError(f"model must be {allowed}, got {safe_repr(model)}; give window=")
        info = info or Model()
        encoding = info.encoding
        count = counter_for(encoding or "cl100k_base")
        window = window if window is not None else info.window or window_of(info.name or "")
        if generation is None:
            generation = max(min(DEFAULT_OUTPUT_TOKENS, window // 2), info.max_output or 0)
        return cls(
            window=window,
            system=count(system_prompt),
            query=count(question),
            conversation=history_tokens(history, count),
            generation=generation,
            buffer=buffer,
            context_cap=context_cap,
            encoding=encoding,
            shares=tuple(shares),
        )


def check_shares(shares: Sequence[Share]) -> tuple[Share, ...]:
    """Return `shares` as a tuple.

    Raises:
        ConfigError: they are not all a Share, two have one name, or none is for documents.
    """
    if not isinstance(shares, (tuple, list)) or not all(isinstance(share, Share) for share in shares):
        raise ConfigError("TokenBudget.shares", "a tuple of Share", shares)
    names = [share.name for share in shares]
    if len(set(names)) < len(names) or (names and DOCUMENTS not in names):
        raise ConfigError("TokenBudget.shares", f"one Share for each name, one of them {DOCUMENTS!r}", names)
    return tuple(shares)


def divide(room: int, shares: Sequence[Share], wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens of each share, by its name; what `wanted` doesn't name wants none.

    First each gets its floor, then the rest of what it wants, up to its cap, both in the order of `shares`: so the last
    one gives way first. No share gets more when another one wants more, nor less when there is more room.

    >>> shares = Share("documents", floor=2_000), Share("conversation", floor=500, cap=4_000), Share("tool_results")
    >>> divide(6_000, shares, {"documents": 5_000, "conversation": 9_000, "tool_results": 3_000})
    {'documents': 5000, 'conversation': 1000, 'tool_results': 0}
    """
    limits = {share.name: share.limit(wanted.get(share.name, 0)) for share in shares}
    given = dict.fromkeys(limits, 0)
    left = max(0, room)
    floors = {share.name: min(share.floor, limits[share.name]) for share in shares}
    for targets in (floors, limits):
        for name, target in targets.items():
            added = min(target - given[name], left)
            given[name] += added
            left -= added
    return given


def division_note(shares: Sequence[Share], wanted: Mapping[str, int], given: Mapping[str, int]) -> str | None:
    """Return a note for the trace on the shares that give way; None if each gets what it wants, up to its cap.

    >>> shares = Share("documents", cap=4_000), Share("conversation")
    >>> division_note(shares, {"documents": 9_000, "conversation": 800}, {"documents": 4_000, "conversation": 500})
    'budget: conversation gave way, 500 of 800 tokens'
    """
    parts = [
        f"{share.name} gave way, {given[share.name]:,} of {limit:,} tokens"
        for share in shares
        if given[share.name] < (limit := share.limit(wanted.get(share.name, 0)))
    ]
    return f"budget: {'; '.join(parts)}" if parts else None
