"""Shares: what each candidate has of the text that all of them make together."""

from __future__ import annotations

from typing import NamedTuple

from ctxassembly.data.candidates import Candidate


class Share(NamedTuple):
    """The part of the text that a candidate has, from `begin` to `end`, and the places of the units that it is in."""

    candidate: Candidate
    begin: int
    end: int
    places: range
