"""An answer without its markers, as it is read aloud: no blank or comma of theirs is left to stumble over."""

from __future__ import annotations

BLANKS = " \t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


class Spoken:
    """Joins the text around markers, which comes in pieces of any size.

    Blanks before a marker go with it. So do a comma or semicolon between two markers, and whatever parts a marker at
    the beginning of a line from its text. A blank that parts two words stays.

    >>> spoken, said = Spoken(), []
    >>> for text in ("Drink water ", None, ", ", None, " and rest ", None, "."):
    ...     said += spoken.say(text) if text else spoken.mark() or []
    >>> "".join(said + spoken.rest())
    'Drink water and rest.'
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        """Blanks, and a comma after a marker: the next character decides whether they are said."""
        self._after_mark = self._comma = self._parted = False
        self._begins_line = True

    def say(self, text: str) -> list[str]:
        """The text that is settled once `text` has come."""
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
        """Leave out a marker that comes here."""
        self._parted = self._parted or bool(self._held)
        self._held.clear()
        self._after_mark, self._comma = True, False

    def rest(self) -> list[str]:
        """The text still held back at the end of the answer."""
        held, self._held = self._held, []
        return held

    def _settle(self, text: str) -> list[str]:
        """Decide on the held blanks by `text`, which begins with none, and hold back the blanks at its end."""
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
