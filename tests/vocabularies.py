"""Imported for what it does: tiktoken reads the vocabularies that llama-index-core carries, and fetches none."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

if "TIKTOKEN_CACHE_DIR" not in os.environ and (carrier := find_spec("llama_index.core")) and carrier.origin:
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(carrier.origin).parent / "_static" / "tiktoken_cache")
