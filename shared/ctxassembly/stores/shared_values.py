"""The metadata by which the chunks of a document belong together, where text is computed from all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxassembly.assembly.expansion.access import MetadataAccess
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import SharedValues
from ctxassembly.data.metadata_keys import MetadataKeys


def shared_values(keys: MetadataKeys, varying_keys: Sequence[str]) -> Callable[[Chunk], SharedValues]:
    """Return the function from a chunk to what its neighbors have to share with it, where the filter is unknown."""
    config = AssemblyConfig(keys=keys, varying_keys=tuple(varying_keys))
    return lambda chunk: MetadataAccess(config).shared_values(chunk)  # it would keep all chunks
