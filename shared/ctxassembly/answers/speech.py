"""A text without its markers, as it is read aloud: nothing is left of them that a voice would stumble over."""

from __future__ import annotations

BLANKS = " \t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


class Spoken:
    """Joins what stands between markers, told of one after the other in pieces of any size.

    Blanks before a marker go with it; so do a comma or semicolon between two, and what separates a marker at the
    beginning of a line from its text. A blank that parted two words stays.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        """Blanks, and after a marker a comma, of which the next character decides."""
        self._after_mark = self._comma = self._parted = False
        self._begins_line = True

    def say(self, text: str) -> list[str]:
        """What can be said for sure, now that `text` has come."""
        while text:
            if self._after_mark and not self._comma and text[0] in ",;":
                self._comma = True
                self._held.append(text[0])
                text = text[1:]
            elif text[0] in BLANKS:
                body = text.lstrip(BLANKS)
                self._held.append(text[: len(text) - len(body)])
                text = body
            else:
                return self._settle(text)
        return []

    def mark(self) -> None:
        """Take note of a marker, which is left out."""
        self._parted = self._parted or bool(self._held)
        self._held.clear()
        self._after_mark, self._comma = True, False

    def rest(self) -> list[str]:
        """What is still held, at the end."""
        held, self._held = self._held, []
        return held

    def _settle(self, text: str) -> list[str]:
        said = self._held
        if self._after_mark and self._begins_line:
            said = []
        elif self._parted and not said and text[0].isalnum():
            said = [" "]
        kept = text.rstrip(BLANKS)
        self._held = [text[len(kept) :]] if len(kept) < len(text) else []
        self._after_mark = self._comma = self._parted = False
        self._begins_line = kept.endswith("\n")
        return [*said, kept]
