"""Texts that say what another one says."""
