"""How one chunk continues another: by index, links, offsets, or overlap."""
