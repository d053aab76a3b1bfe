"""Evidence that one chunk continues another: indexes, links, offsets, and overlap of the texts."""
