"""Files for readers to read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines import CODE, MARKDOWN, PROSE, TABLE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file of each kind, and token counters that need no network."""
    for name, text in {"a.txt": PROSE, "a.md": MARKDOWN, "a.csv": TABLE, "a.py": CODE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    spec = find_spec("llama_index.core")
    assert spec is not None
    assert spec.origin is not None
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(Path(spec.origin).parent / "_static" / "tiktoken_cache"))
    return tmp_path
