from __future__ import annotations

from typing import Any

import pytest

from adapter_doors import DOORS, Door


@pytest.fixture(params=DOORS.values(), ids=DOORS)
def door(request: Any) -> Door:
    """Each adapter, called and awaited."""
    found: Door = request.param
    return found
