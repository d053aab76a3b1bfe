"""Fixtures of the LangChain tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(params=["strict", "permissive"])
def silently(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """With LANGGRAPH_STRICT_MSGPACK=true and without, no checkpoint may have anything to say."""
    from langgraph.checkpoint.serde import _msgpack, jsonplus

    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", request.param == "strict")
    monkeypatch.setattr(_msgpack, "STRICT_MSGPACK_ENABLED", request.param == "strict")
    for name in ("_warned_unregistered_types", "_warned_blocked_types", "_warned_unreconstructable_types"):
        monkeypatch.setattr(jsonplus, name, set())
    caplog.set_level(logging.WARNING)
    yield request.param
    assert [each.getMessage() for each in caplog.get_records("call")] == []
