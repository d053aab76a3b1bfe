"""What only the whole document knows, found once, while all of its chunks are at hand: pure functions on texts."""
