"""A line is read by its sentences only if enough of what stands in it stands in another one, too."""

from __future__ import annotations

import random
import re
from itertools import accumulate, pairwise

import pytest

from builders import candidate_of
from ctxassembly import Chunk
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.selection.repeated_sentences import FINGERPRINT_BYTES, PIECE_BYTES, may_share_sentences
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentence_rules import FULL_STOPS

SHORT = "Cards are issued on the ground floor."
SHARED = "Cards are issued to readers on the ground floor, which is open to all who come before nine."
_PIECE = re.compile(rf"(?=\S)(?:(?!\n\n)[^.!?{FULL_STOPS}])+")


def line(text: str, *kept: Span) -> DocumentText:
    """The line of one chunk, of which the slices `kept` stand, or all of it."""
    return DocumentText(candidate_of(Chunk(text, "A", text), 0, kept_spans=kept or None))


def only(text: str, *kept: str) -> DocumentText:
    """The line of one chunk, of which each of `kept` stands."""
    return line(text, *((text.index(part), text.index(part) + len(part)) for part in kept))


@pytest.mark.parametrize(
    ("rule", "one", "other", "both"),
    [
        ("what both have", line(f"South. {SHARED} It is far."), line(f"North.\n\n{SHARED} It is near."), True),
        ("nothing", line("South. The south wing is far from here."), line(f"North. {SHARED}"), False),
        ("too little", line(f"To South. {SHORT} It is far."), line(f"To North. {SHORT} It is near."), False),
        ("short ones in a row", line(f"South. {3 * SHORT} It is far."), line(f"North. {3 * SHORT} It is near."), True),
        ("white space and stops apart", line(f"It. {SHARED[:-1]}!".replace(" a", "\n  a")), line(SHARED), True),
        ("a sentence behind a heading", line(f"# Cards\n{SHARED}"), line(f"# Of the ground floor\n{SHARED}"), True),
        ("where it stands", only(f"South. {SHARED} It is far.", SHARED), line(f"North. {SHARED}"), True),
        ("not where it was cut", only(f"South. {SHARED} It is far.", "South.", "It is far."), line(SHARED), False),
        (
            "nor where a part of it was cut",
            only(f"South. {SHARED} It is far.", "ground floor, which is open to all who come before nine. It is"),
            line(SHARED),
            False,
        ),
        ("where only white space was cut", only(f"{SHARED} It is far.", SHARED[:5], SHARED[6:]), line(SHARED), True),
        ("nor where both were cut", *[only(f"South. {SHARED} It is far.", "South.")] * 2, False),
    ],
)
def test_what_two_lines_may_repeat(rule: str, one: DocumentText, other: DocumentText, both: bool):
    assert may_share_sentences([one, line("A third one has nothing of either."), other]) == ([0, 2] if both else [])


@pytest.mark.parametrize("seed", range(40))
def test_lines_that_share_a_kept_piece_are_found_and_no_others(seed: int):
    draw = random.Random(seed)
    sentences = [f"Of the wing {n} nothing else is known to anybody" for n in range(12)]
    ends = [". ", "! ", "。", "\n\n", "\n\n\n", ".\n", "\n", " "]

    def drawn() -> DocumentText:
        text = "".join(draw.choice(sentences) + draw.choice(ends) for _ in range(8))
        cuts = sorted(draw.sample(range(len(text)), 6))
        return line(text, *zip(cuts[::2], cuts[1::2], strict=True))

    def ends_of_pieces(text: str) -> set[str]:
        squeezed = ("".join(match[0].split()) for match in _PIECE.finditer(text))
        up_to = accumulate(piece for piece in squeezed if len(piece) > PIECE_BYTES)
        return {read[-FINGERPRINT_BYTES:] for read in up_to if len(read) >= FINGERPRINT_BYTES}

    def kept_text(given: DocumentText) -> str:
        (_, candidate), *_ = given.members
        kept, text = "", given.text
        for (start, end), (following, _) in pairwise([*candidate.spans, (len(text), len(text))]):
            gap_text = text[end:following]
            kept += text[start:end] + ("." if gap_text.strip() else gap_text)
        return kept

    lines = [drawn() for _ in range(4)]
    kept = [ends_of_pieces(kept_text(each)) for each in lines]
    sharing = {at for at, own in enumerate(kept) if any(own & other for n, other in enumerate(kept) if n != at)}
    assert sharing == set(may_share_sentences(lines))
