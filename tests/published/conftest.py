from __future__ import annotations

import pytest

from doors import DOORS, Door


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    return DOORS[request.param]
