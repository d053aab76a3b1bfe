"""Why chunks, or parts of them, may not be read: the conversation has them, or a model found nothing in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctxassembly.data.candidates import Reason, Shortening


class Barred(NamedTuple):
    """The reasons, each by the number of a chunk in the pool."""

    reasons: Mapping[int, Reason] = {}
    """For chunks of which nothing may be read."""
    by: Mapping[int, Shortening] = {}
    """For chunks of which a part may not be read."""
    sent_as: Mapping[int, str] = {}
    """The label under which the conversation has text of a chunk."""
