"""Hits in, the context out, as one generator without I/O."""
