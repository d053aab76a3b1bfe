"""What an answer must not say, such as a dose, by patterns or by a function of the caller's."""

from __future__ import annotations

import re

from ctxassembly.config.answering import Forbidden
from ctxassembly.context import Context


def find_forbidden(context: Context, answer: str, forbidden: Forbidden) -> str | None:
    """Return the words of `answer` that are forbidden; None if there are none. Labels between words don't hide them.

    A function that returns True forbids the whole answer.
    """
    if not forbidden:
        return None
    texts = dict.fromkeys((answer, context.resolve(answer, "remove").text))
    if callable(forbidden):
        return next((text for text in texts if forbidden(text)), None)
    matches = (re.search(pattern, text, re.IGNORECASE) for pattern in forbidden for text in texts)
    return next((match[0] for match in matches if match), None)
