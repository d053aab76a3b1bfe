"""What became of each chunk, and why."""
