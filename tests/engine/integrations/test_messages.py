from __future__ import annotations

import pytest

from builders import hits_of
from ctxassembly import Chunk, assemble
from ctxassembly.errors import InputError
from ctxassembly.integrations.metadata import check_context


def test_a_context_is_taken_as_it_is():
    context = assemble(hits_of([Chunk("a", "A", "Text.")]))
    assert check_context(context, "this") is context


@pytest.mark.parametrize("given", [None, "text", ["a document"]])
def test_anything_else_is_refused_with_the_call_that_gives_one(given: object):
    with pytest.raises(InputError, match=r"^context must be a Context, got .*: assembled\(documents\) gives one$"):
        check_context(given, "assembled(documents)")
