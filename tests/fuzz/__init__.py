"""Assemblies of every kind, each made from a number: `python -m fuzz --help`."""
