"""Benchmarks of the answer chain: what its steps cost, and what sub-questions find."""
