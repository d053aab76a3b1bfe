"""Code and YAML whose splitter stripped the indentation of a chunk."""

from __future__ import annotations

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.assembly.adjacency.indentation import is_indentation_lost

CLASS = "class Pool:\n    def open(self):\n        self.water = True\n        return self.water"
METHOD = "def close(self):\n        self.water = False\n        return self.water"
FUNCTION = "def pools():\n    return [Pool()]\n\n\ndef count():\n    return len(pools())"
YAML = "services:\n  web:\n    image: nginx\n    restart: always\n    ports:"
PORTS = '- "80:80"\n  db:\n    image: postgres'
PROSE = "The pool opens at nine.\n\n- Bring a towel\n  and soap\n- Bring a coin"


@pytest.mark.parametrize(
    ("rule", "first", "second", "gap_chars", "expected"),
    [
        ("the next line is too deep", CLASS, METHOD, None, True),
        ("the line before opens a block", YAML, PORTS, None, True),
        ("the offsets have room for it", CLASS, "self.x = 1\nself.y = 2", 9, True),
        ("a function of the top level", CLASS, FUNCTION, None, False),
        ("a function after blank lines", CLASS, FUNCTION, 3, False),
        ("indentation that is there", CLASS, f"    {METHOD}", 1, False),
        ("prose", "The pool opens at nine.", "Bring a towel.", 2, False),
        ("a list in prose", PROSE, "and a key\n  for the locker\n- Bring shoes", 5, False),
        ("the end of a block", "x = {\n  'a': (1,\n  2,", "}\ny = {\n  'b': 2,\n}", None, False),
        ("a text without lines", "One.", "Two.", None, False),
    ],
)
def test_lost_indentation(rule: str, first: str, second: str, gap_chars: int | None, expected: bool):
    assert is_indentation_lost(Chunk("a", "A", first), Chunk("b", "A", second), gap_chars) is expected


def test_such_chunks_have_a_marker_between_them():
    chunks = [Chunk("a", "A", CLASS, 0), Chunk("b", "A", METHOD, 1), Chunk("c", "A", FUNCTION, 2)]
    text = assemble(hits_of(chunks), AssemblyConfig(format="minimal")).text
    assert text == f"{CLASS}\n[...]\n{METHOD}\n{FUNCTION}"
