"""A question to retrieve for: all that one call may say besides the settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.config.retrieval import Boost, checked_boosts
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown


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
    """The words of a rewriting step, such as a follow-up made to stand alone. Vectors and assembly take them."""
    intent: str | None = None
    """The user's intent, by the labels of your own classifier. Affinity and lists depend on it."""
    boosts: tuple[Boost, ...] = ()
    """Factors for this question alone, after those of the config: the category that it is about, the documents of the
    conversation. Published: category 1.2, type of entity 1.1, conversation 1.25."""
    filter: Any = None
    """The filter, in the form of the index. It holds in every channel, in rescue and among the chunks of lists."""

    def __post_init__(self) -> None:
        for name in ("text", "rewritten", "intent"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name != "text")):
                raise InputError(f"{name} must be a string{'' if name == 'text' else ' or None'}, got {shown(value)}")
        object.__setattr__(self, "boosts", checked_boosts(self.boosts))

    def under(self, filter: Any) -> Question:
        """The same question with that filter.

        Raises:
            InputError: it has one already.
        """
        if self.filter is not None:
            raise InputError("filter is given twice: in the Question and beside it")
        return replace(self, filter=filter)

    @property
    def meant(self) -> str:
        """The rewritten question, or the text where there is none."""
        return self.rewritten or self.text
