"""Units that may not be read: the conversation has them, or a language model found nothing in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.data.candidates import Reason, Shortening

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


class Barred(NamedTuple):
    """What may not be read, and why. The maps are by the number of a chunk in the pool."""

    mask: Bools
    """Whether each unit may not be read."""
    reasons: Mapping[int, Reason]
    """For chunks of which nothing may be read."""
    by: Mapping[int, Shortening]
    """For chunks of which a part may not be read."""
    sent_as: Mapping[int, str]
    """The label under which the conversation has text of a chunk."""

    def plus(self, other: Barred) -> Barred:
        """Return both together."""
        maps = ({**own, **more} for own, more in zip(self[1:], other[1:], strict=True))
        return Barred(self.mask | other.mask, *maps)  # type: ignore[arg-type]


def nothing_barred(size: int) -> Barred:
    """Return that all of `size` units may be read."""
    return Barred(np.zeros(size, bool), {}, {}, {})
