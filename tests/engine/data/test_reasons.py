from __future__ import annotations

from typing import get_args

from ctxassembly.data import candidates


def test_every_reason_has_a_name_and_is_one_of_all():
    named = [
        value for name, value in vars(candidates).items() if name.isupper() and type(value) is str and name != "GAP"
    ]
    assert named == list(get_args(candidates.Reason))
