"""Duplicates: texts that say what another one says already."""
